// SPDX-License-Identifier: Apache-2.0
// Space that comes back: of versions that are gone, and of clients that are.
#include <algorithm>
#include <cerrno>
#include <utility>

#include <ds/fabric.hpp>

#include "abi/errors.hpp"
#include "fabric/crash_point.hpp"
#include "master.hpp"

namespace dsmasterd {
namespace {

constexpr uint32_t clear_patience_ms = 1000;
constexpr uint32_t fence_patience_ms = 1000;      // nobody is answered meanwhile
constexpr uint64_t forget_pause = 1'000'000'000;  // ns

}  // namespace

using ds::store::nowhere;
using ds::store::offset_of;
using ds::store::server_of;
using ds::store::wire::Location;

void Master::reclaim() {
    reap();
    clear_seals();
    forget_cleared();
}

// ---- Versions that are gone ----

void Master::clear_seals() {
    std::vector<Version> later;
    auto answers = [this](Location location) {
        return location != nowhere && !servers_[server_of(location)].silent_since;
    };
    for (Version &v : retired_) {
        if (std::ranges::none_of(v.locations, answers)) {
            later.push_back(std::move(v));
            continue;
        }
        Cleared cleared = clear_seals_of(std::move(v));
        if (cleared.gone.space() > 0)
            cleared_.push_back(std::move(cleared));
        else
            later.push_back(std::move(cleared.left));
    }
    retired_ = std::move(later);
}

// From then on no reader takes what is there for this version, whatever is written.
// What is on a server that does not answer is left for later.
Master::Cleared Master::clear_seals_of(Version version) {
    std::vector<ds_operation> ops;
    std::vector<size_t> indices;
    for (size_t i = 0; i < version.locations.size(); i++) {
        Location location = version.locations[i];
        if (location == nowhere || servers_[server_of(location)].silent_since)
            continue;
        uint64_t server = uint64_t{server_of(location)} << shape_.server_shift;
        ds_operation op{};
        op.opcode = DS_OP_WRITE;
        op.flags = DS_OPERATION_IDEMPOTENT;
        op.space = space_;
        op.buffer = zeros_.get();
        op.addr = space_->info.base + server + offset_of(location) +
                  version.division.seal(i / version.replicas);
        op.length = ds::store::seal_align;
        ops.push_back(op);
        indices.push_back(i);
    }
    Cleared cleared{.gone = version, .left = std::move(version)};
    std::ranges::fill(cleared.gone.locations, nowhere);
    if (ops.empty())
        return cleared;
    std::vector<ds_result> results(ops.size());
    space_->engine->execute(ops, clear_patience_ms, results.data());
    for (size_t n = 0; n < ops.size(); n++) {
        Location &location = cleared.left.locations[indices[n]];
        if (results[n].status == 0)
            cleared.gone.locations[indices[n]] = std::exchange(location, nowhere);
        else
            servers_[server_of(location)].silent_since = space_->engine->fabric().now_ns();
    }
    return cleared;
}

void Master::forget(const Cleared &cleared) {
    if (cleared.left.space() > 0)
        catalogue_.retire(cleared.left);
    else
        catalogue_.forget(cleared.gone.version);
}

// That is on the disk: their space is free.
void Master::settle_cleared() {
    for (Cleared &c : cleared_) {
        account_.retired -= c.gone.space();
        map_.give(c.gone.division, c.gone.replicas, c.gone.locations);
        if (c.left.space() > 0)
            retired_.push_back(std::move(c.left));
    }
    cleared_.clear();
}

void Master::forget_cleared() {
    if (cleared_.empty())
        return;
    ds::crash_point("master_seals_cleared");
    try {
        catalogue_.database().begin();
        for (const Cleared &c : cleared_)
            forget(c);
        catalogue_.database().commit();
    } catch (const Full &) {
        abandon();
        next_forget_ = space_->engine->fabric().now_ns() + forget_pause;
        return;
    }
    settle_cleared();
}

// ---- Clients that are gone ----

// Gives back what was reserved for clients of whom no write is under way or will be.
void Master::reap() {
    for (Client client : catalogue_.clients()) {
        if (client == self() || !is_gone(client))
            continue;
        try {
            catalogue_.database().begin();
            for (int64_t version : catalogue_.reservations_of(client)) {
                Version gone = catalogue_.find_reservation(version)->version;
                catalogue_.remove_reservation(version);
                effects_.account.reservations--;
                effects_.account.reserved -= gone.space();
                effects_.given.push_back(std::move(gone));
            }
            catalogue_.database().commit();
            apply();
        } catch (const Full &) {
            abandon();
        }
    }
}

// Nobody knows while the client table is away, or if it is another one.
bool Master::is_gone(Client client) {
    ds::fabric::Owner owner{.client = client.client, .incarnation = client.incarnation};
    if (servers_[0].silent_since || pool_lost_ || !pool_)
        return false;
    int gone = pool_->is_gone(owner, fence_patience_ms);
    heard(gone);
    return gone == 1 && pool_->fence(owner, fence_patience_ms) == 0;
}

// What came of asking the client table. When that took all the time that there is, nobody
// asks again before a look says that server 0 is there.
void Master::heard(int rc) {
    if (rc < 0 && ds::is_transient(rc))
        servers_[0].silent_since = space_->engine->fabric().now_ns();
}

}  // namespace dsmasterd
