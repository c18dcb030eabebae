// SPDX-License-Identifier: Apache-2.0
#include "store/store.hpp"

#include <algorithm>
#include <cerrno>

#include "store/label.hpp"

namespace ds::store {
namespace {

// For what calls have left behind that had no more time.
constexpr uint32_t settle_ms = 1000;

// The slices of a shard go over one queue pair, in order; so many shards spread over all of them.
constexpr uint64_t lanes = 64;

wire::Named name_of(std::string_view key, int64_t version) {
    return {.head = {},
            .version = version,
            .first_shard = 0,
            .key_length = static_cast<uint16_t>(key.size()),
            .reserved = 0};
}

}  // namespace

Store::Store(ds_fabric *fabric, const ds_store_options &options)
    : fabric_(fabric),
      link_(fabric, options.node ? options.node : 1, options.port ? options.port : DS_STORE_PORT),
      rooms_(std::make_shared<Rooms>(fabric)),
      traffic_(fabric) {}

Store::~Store() {
    traffic_.settle(link_.deadline(settle_ms));
    pool_.reset();
    ds_space_close(space_);
}

int Store::open(ds_fabric *fabric, const ds_store_options &options, std::unique_ptr<Store> &store) {
    std::unique_ptr<Store> made(new Store(fabric, options));
    uint64_t deadline = made->link_.deadline(options.timeout_ms);
    if (int rc =
            ds_space_open(fabric, options.space ? options.space : 1, DS_ACCESS_ALL, &made->space_);
        rc < 0)
        return rc;
    ds_space_set_timeout(made->space_, options.timeout_ms);
    struct ds_space_info info {};
    info.size = sizeof(info);
    ds_space_get_info(made->space_, &info);
    made->bounds_ = {.servers = info.servers, .server_shift = info.server_shift};
    made->base_ = info.base;

    Answer answer;
    wire::Hello hello;
    struct Ask {
        wire::Head head;
    };
    if (int rc = made->link_.call(wire::hello, Ask{}, {}, deadline, answer); rc < 0)
        return rc;
    if (!answer.take(hello))
        return -EPROTO;
    uint64_t label;
    if (int rc = read_label(made->space_, label); rc < 0)
        return rc;
    if (label != hello.head.store || hello.servers != info.servers ||
        hello.server_shift != info.server_shift)
        return -EXDEV;
    if (int rc = pool::Pool::join(made->space_, made->pool_); rc < 0)
        return rc;
    made->link_.use(label, made->pool_->self());
    store = std::move(made);
    return 0;
}

int Store::borrow(const Division &division, std::shared_ptr<Room> &room) {
    return rooms_->borrow(division.whole() + unit, room);
}

// Sends off a chain: these bytes, one after the other, those that are none left out.
std::shared_ptr<Flight> Store::transfer(uint16_t opcode, std::shared_ptr<Room> room, uint64_t shard,
                                        wire::Location location, std::initializer_list<Bytes> chain,
                                        uint64_t deadline) {
    std::vector<ds_operation> ops;
    for (const Bytes &bytes : chain) {
        if (bytes.from == bytes.to)
            continue;
        ds_operation op{};
        op.opcode = opcode;
        op.lane = static_cast<uint16_t>(1 + shard % lanes);
        // A WRITE writes the same each time, where nobody else does.
        op.flags = DS_OP_CHAIN | (opcode == DS_OP_WRITE ? DS_OPERATION_IDEMPOTENT : 0);
        op.space = space_;
        op.buffer = room->buffer.get();
        op.addr = address(location) + bytes.from;
        op.length = bytes.to - bytes.from;
        op.buffer_offset = bytes.from;
        ops.push_back(op);
    }
    ops.back().flags &= ~uint32_t{DS_OP_CHAIN};
    return traffic_.start(ops, std::move(room), link_.left(deadline));
}

Identity Store::identity(std::string_view key, const Place &place) const {
    return {.store = link_.store(),
            .key_hash = hash_of(key),
            .version = place.version,
            .division = place.division};
}

uint64_t Store::address(wire::Location location) const {
    return base_ + (uint64_t{server_of(location)} << bounds_.server_shift) + offset_of(location);
}

// ---- What the master alone does ----

int Store::del(std::string_view key, int64_t version, uint32_t timeout_ms) {
    uint64_t deadline = link_.deadline(timeout_ms);
    wire::Placement newest;
    places_.forget(std::string(key));
    link_.settle(deadline);
    if (int rc = find_newest(key, deadline, newest); rc < 0)
        return rc;
    if (version != 0 && version != newest.version)
        return -ESTALE;
    Answer answer;
    int rc = link_.call(wire::remove, name_of(key, newest.version), {key}, deadline, answer);
    // Perhaps by the first of our requests. Or it was overwritten, and the delete came before that.
    bool is_gone = rc == -ENOENT || rc == -ESTALE;
    bool may_be_ours = answer.repeated || (rc == -ESTALE && version == 0);
    return is_gone && may_be_ours ? 0 : rc;
}

int Store::find_newest(std::string_view key, uint64_t deadline, wire::Placement &newest) {
    Answer answer;
    if (int rc = link_.call(wire::lookup, name_of(key, 0), {key}, deadline, answer); rc < 0)
        return rc;
    return answer.take(newest) ? 0 : -EPROTO;
}

int Store::stat(std::string_view key, uint32_t timeout_ms, ds_store_object &object) {
    wire::Placement placement;
    if (int rc = find_newest(key, link_.deadline(timeout_ms), placement); rc < 0)
        return rc;
    object = {};
    object.replicas = placement.replicas;
    object.version = placement.version;
    object.length = placement.length;
    object.time_ns = placement.time_ns;
    return 0;
}

int Store::repair(std::string_view key, uint32_t timeout_ms) {
    wire::Named named = name_of(key, 0);
    Answer answer;
    return link_.call(wire::repair, named, {key}, link_.deadline(timeout_ms), answer);
}

int Store::list(std::string_view prefix, std::string_view after, uint32_t timeout_ms,
                ds_store_entry_fn entry, void *arg) {
    uint64_t deadline = link_.deadline(timeout_ms);
    std::string cursor(after);
    wire::Listed listed{};
    do {
        wire::List list{.head = {},
                        .limit = UINT32_MAX,
                        .prefix_length = static_cast<uint16_t>(prefix.size()),
                        .after_length = static_cast<uint16_t>(cursor.size())};
        Answer answer;
        if (int rc = link_.call(wire::list, list, {prefix, cursor}, deadline, answer); rc < 0)
            return rc;
        if (!answer.take(listed))
            return -EPROTO;
        size_t at = sizeof(listed);
        for (uint32_t i = 0; i < listed.count; i++) {
            wire::Entry e;
            if (answer.bytes.size() - at < sizeof(e))
                return -EPROTO;
            std::memcpy(&e, answer.bytes.data() + at, sizeof(e));
            at += sizeof(e);
            if (answer.bytes.size() - at < round_up(e.key_length, 8))
                return -EPROTO;
            std::string_view key(reinterpret_cast<const char *>(answer.bytes.data()) + at,
                                 e.key_length);
            // Behind the last one: so a list has an end, whatever the master says.
            if (key <= cursor || !key.starts_with(prefix) || key.size() > wire::max_key)
                return -EPROTO;
            cursor = key;
            at += round_up(e.key_length, 8);
            ds_store_object object{};
            object.size = sizeof(object);
            object.replicas = e.replicas;
            object.version = e.version;
            object.length = e.length;
            object.time_ns = e.time_ns;
            if (entry(arg, cursor.data(), cursor.size(), &object))
                return 0;
        }
    } while (listed.more && listed.count > 0);
    return 0;
}

int Store::totals(uint32_t timeout_ms, ds_store_totals &totals,
                  std::span<ds_store_server> servers) {
    uint64_t deadline = link_.deadline(timeout_ms);
    totals = {};
    for (uint32_t first = 0; first < bounds_.servers;) {
        Answer answer;
        wire::Totals t;
        if (int rc =
                link_.call(wire::stat, wire::Stat{.head = {}, .first_server = first, .reserved = 0},
                           {}, deadline, answer);
            rc < 0)
            return rc;
        if (!answer.take(t) || t.first_server != first || t.count == 0 ||
            t.count > bounds_.servers - first ||
            answer.bytes.size() != sizeof(t) + t.count * sizeof(wire::Server))
            return -EPROTO;
        uint64_t largest = totals.largest;
        for (uint32_t i = 0; i < t.count; i++) {
            wire::Server s;
            std::memcpy(&s, answer.bytes.data() + sizeof(t) + i * sizeof(s), sizeof(s));
            largest = std::max(largest, s.largest);
            if (first + i < servers.size())
                servers[first + i] = {.total = s.total,
                                      .free = s.free,
                                      .largest = s.largest,
                                      .down = s.down,
                                      .reserved = 0};
        }
        totals = {.size = 0,
                  .servers = t.servers,
                  .objects = t.objects,
                  .object_bytes = t.object_bytes,
                  .total = t.total,
                  .used = t.used,
                  .reserved = t.reserved,
                  .retired = t.retired,
                  .free = t.free,
                  .largest = largest,
                  .epoch = t.head.epoch,
                  .reservations = t.reservations,
                  .incomplete = t.incomplete};
        first += t.count;
    }
    return 0;
}

}  // namespace ds::store
