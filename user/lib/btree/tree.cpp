// SPDX-License-Identifier: Apache-2.0
#include "btree/tree.hpp"

#include <cerrno>

#include "fabric/crash_point.hpp"

namespace ds::btree {
namespace {

// Of a lease: others wait that long for a lock, and a batch may meet several servers that fall
// silent, or be of several requests.
constexpr uint64_t patience_part = 8;

}  // namespace

Tree::Tree(std::shared_ptr<Client> client, uint16_t id, const Options &options)
    : client_(std::move(client)),
      pool_(client_->pool()),
      map_(client_->map()),
      id_(id),
      options_(options),
      driver_(client_->space(), options.timeout_ms, options.lease_ns / patience_part),
      rooms_(client_->space()),
      cache_(options.cache_bytes) {}

Task<int> Tree::open() {
    Io io = this->io();
    io.fetch_add(Anchor::root(map_, id_), 0).then().fetch_add(Anchor::kind(map_, id_), 0);
    co_await driver_.trip(io);
    if (io.status() < 0)
        co_return io.status();
    uint64_t kind = io.result(1).value;
    root_ = Pointer{io.result(0).value};
    if (!root_)
        co_return -ENOENT;
    if (kind != Anchor::make_kind(id_))
        co_return kind >> 48 == Anchor::magic ? -EOPNOTSUPP : damaged(Anchor::kind(map_, id_));
    co_return root_.valid(map_) ? 0 : damaged(Anchor::root(map_, id_));
}

Task<int> Tree::create() {
    int rc = co_await open();
    if (rc != -ENOENT)
        co_return rc == 0 ? -EEXIST : rc;
    Io io = this->io();
    io.cas(Anchor::kind(map_, id_), 0, Anchor::make_kind(id_));
    co_await driver_.trip(io);
    if (io.status() < 0)
        co_return io.status();
    uint64_t kind = io.result(0).value;
    if (kind && kind != Anchor::make_kind(id_))
        co_return -EOPNOTSUPP;
    crash_point("tree.create");

    Room room = rooms_.take();
    Spare spare(pool_, 0);
    if (rc = co_await provide(spare); rc < 0)
        co_return rc;
    const pool::NodeAddress place = spare.place;
    Pointer at = Pointer::make(map_, 0, place.addr, place.generation);
    HeadBody body{};
    body.last = 1;
    body.tree = id_;
    make(room.node(), expected(at), body);
    if (rc = co_await write_new(at, room, spare); rc < 0)
        co_return rc;
    spare.used();  // as in grow()
    int swung = co_await swing_root(Pointer{}, at);
    if (swung == 0)
        pool_.free_node(0, place);
    if (swung <= 0)
        co_return swung == 0 ? -EEXIST : swung;
    co_return 0;
}

}  // namespace ds::btree
