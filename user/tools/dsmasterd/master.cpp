// SPDX-License-Identifier: Apache-2.0
#include "master.hpp"

#include <ds/layout.h>

#include <cerrno>
#include <cstdio>

#include "fabric/crash_point.hpp"
#include "fabric/engine.hpp"
#include "fabric/handles.hpp"

namespace dsmasterd {
namespace {

namespace wire = ds::store::wire;

constexpr uint32_t patience_ms = 1000;  // with a server that does not answer
constexpr size_t most_in_a_batch = 256;
constexpr uint32_t idle_ms = 200;
constexpr uint32_t repair_ms = 2;  // until it is asked whether a slice is done
constexpr uint64_t idle_ns = 200'000'000;
constexpr uint64_t look_ns = 1'000'000;
constexpr uint64_t reap_pause = 1'000'000'000;  // ns

uint64_t root_region(uint32_t server_shift) {
    return DS_LAYOUT_LEVEL1_OFFSET << (server_shift - DS_LAYOUT_SERVER_SHIFT);
}

void add(Account &to, const Account &what) {
    to.objects += what.objects;
    to.object_bytes += what.object_bytes;
    to.reservations += what.reservations;
    to.used += what.used;
    to.reserved += what.reserved;
    to.retired += what.retired;
}

}  // namespace

Master::Master(ds_space *space, std::unique_ptr<ds::pool::Pool> &pool, Catalogue &catalogue,
               const Shape &shape, uint32_t epoch)
    : space_(space),
      pool_(pool),
      catalogue_(catalogue),
      shape_(shape),
      epoch_(epoch),
      map_(shape.servers, shape.server_shift, root_region(shape.server_shift)),
      zeros_(nullptr, ds_buffer_free),
      servers_(shape.servers),
      copier_(space) {
    ds_space_set_timeout(space, patience_ms);
    auto take = [this](const Version &v) {
        if (!map_.take_at(v.division, v.replicas, v.locations))
            throw Broken("the metadata contradict themselves: version " +
                         std::to_string(v.version) + " has space that is another's, or none");
    };
    catalogue.each_object([&](std::string_view, const Version &v) {
        take(v);
        account_.objects++;
        account_.object_bytes += v.division.length;
        account_.used += v.space();
    });
    catalogue.each_reservation([&](const Version &v) {
        take(v);
        account_.reservations++;
        account_.reserved += v.space();
    });
    catalogue.each_retired([&](const Version &v) {
        take(v);
        account_.retired += v.space();
        retired_.push_back(v);
    });
    ds::fabric::BufferInfo info{};
    if (space->engine->fabric().create_buffer(ds::store::seal_align, -1, info) < 0)
        throw std::bad_alloc();
    zeros_.reset(new ds_buffer{space->engine, info});
    for (uint32_t server = 0; server < shape.servers; server++)
        servers_[server].memory = catalogue.memory_of(server);
}

void Master::serve(ds_service *service, const std::atomic<bool> &stop) {
    // Which servers are there is known before anybody is answered.
    for (; !stop && !looked_; watch())
        space_->engine->fabric().sleep_until(space_->engine->fabric().now_ns() + look_ns);
    reclaim();
    while (!stop) {
        uint64_t now = space_->engine->fabric().now_ns();
        bool forget = !cleared_.empty() && now >= next_forget_;
        bool busy = !requests_.empty() || forget;
        collect(service, busy ? 0 : copier_.busy() ? repair_ms : idle_ms);
        if (!requests_.empty())
            run_batch(service);
        else if (forget)
            forget_cleared();
        now = space_->engine->fabric().now_ns();
        if (now >= next_reap_) {
            next_reap_ = now + reap_pause;
            reclaim();
        }
        clear_seals();
        watch();
    }
}

// All that has come, but no more than a batch; if nothing has, what comes in time.
void Master::collect(ds_service *service, uint32_t timeout_ms) {
    for (size_t received = requests_.size(); received < most_in_a_batch; received++) {
        Request request{.message = {}, .bytes = std::vector<std::byte>(wire::most_bytes)};
        int rc = ds_service_receive(service, received == 0 ? timeout_ms : 0, request.bytes.data(),
                                    wire::most_bytes, &request.message);
        if (rc == -EAGAIN || rc == -ETIMEDOUT)
            return;
        if (rc < 0 && !requests_.empty())
            return;  // first those that could be
        if (rc < 0) {
            std::fprintf(stderr, "dsmasterd: cannot receive: %s\n", ds_strerror(rc));
            space_->engine->fabric().sleep_until(space_->engine->fabric().now_ns() + idle_ns);
            return;
        }
        request.bytes.resize(request.message.length);
        if (request.message.want_reply)
            requests_.push_back(std::move(request));
    }
}

void Master::run_batch(ds_service *service) {
    std::vector<Reply> replies(requests_.size());
    if (!run_together(replies))
        run_alone(replies);
    ds::crash_point("master_before_replies");

    std::vector<Request> again;
    for (size_t i = 0; i < requests_.size(); i++) {
        if (replies[i].status == -ENOSPC && !requests_[i].waited) {
            again.push_back(std::move(requests_[i]));
            again.back().waited = true;
            continue;
        }
        // A client that is gone is no concern of ours.
        ds_service_reply(service, requests_[i].message.cookie, replies[i].status,
                         replies[i].bytes.data(), static_cast<uint32_t>(replies[i].bytes.size()));
    }
    requests_ = std::move(again);
    ds::crash_point("master_after_replies");
    if (!requests_.empty())
        reclaim();
}

bool Master::run_together(std::vector<Reply> &replies) {
    try {
        catalogue_.database().begin();
        for (const Cleared &c : cleared_)
            forget(c);
        for (size_t i = 0; i < requests_.size(); i++)
            replies[i].status = answer(requests_[i], replies[i]);
        ds::crash_point("master_before_commit");
        catalogue_.database().commit();
    } catch (const Full &) {
        abandon();
        return false;
    }
    settle_cleared();
    apply();
    return true;
}

// One after the other, so that what needs no disk gets its answer.
void Master::run_alone(std::vector<Reply> &replies) {
    for (size_t i = 0; i < requests_.size(); i++) {
        Reply reply;
        try {
            catalogue_.database().begin();
            reply.status = answer(requests_[i], reply);
            catalogue_.database().commit();
            apply();
        } catch (const Full &full) {
            abandon();
            std::fprintf(stderr,
                         "dsmasterd: refused a change: the metadata cannot be written: %s\n"
                         "  fix: make room in the file system of the store's folder\n",
                         full.what());
            reply = {.status = -EROFS, .bytes = {}};
        }
        replies[i] = std::move(reply);
    }
}

void Master::abandon() {
    catalogue_.database().rollback();
    for (const Version &v : effects_.taken)
        map_.give(v.division, v.replicas, v.locations);
    effects_ = {};
}

void Master::apply() {
    add(account_, effects_.account);
    for (const Version &v : effects_.given)
        map_.give(v.division, v.replicas, v.locations);
    for (Version &v : effects_.retired)
        retired_.push_back(std::move(v));
    effects_ = {};
}

}  // namespace dsmasterd
