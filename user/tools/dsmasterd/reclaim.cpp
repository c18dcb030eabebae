// SPDX-License-Identifier: Apache-2.0
// Space that comes back: of versions that are gone, and of clients that are.
#include <cerrno>

#include <ds/fabric.hpp>

#include "fabric/crash_point.hpp"
#include "master.hpp"

namespace dsmasterd {
namespace {

constexpr uint32_t clear_patience_ms = 1000;

}  // namespace

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
    std::vector<Version> failed;
    for (Version &v : retired_)
        (clear_seals_of(v) ? cleared_ : failed).push_back(std::move(v));
    retired_ = std::move(failed);  // a server that cannot be reached: later
}

// From then on no reader takes what is there for this version, whatever is written.
bool Master::clear_seals_of(const Version &version) {
    std::vector<ds_operation> ops;
    auto run = [&] {
        int rc = space_->engine->execute(ops, clear_patience_ms, nullptr);
        ops.clear();
        return rc == 0;
    };
    constexpr size_t most = 256;
    for (size_t i = 0; i < version.locations.size(); i++) {
        Location location = version.locations[i];
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
        if (ops.size() == most && !run())
            return false;
    }
    return ops.empty() || run();
}

// Their space is free when that is on the disk.
void Master::forget_cleared() {
    if (cleared_.empty())
        return;
    ds::crash_point("master_seals_cleared");
    try {
        catalogue_.database().begin();
        for (const Version &v : cleared_)
            catalogue_.forget(v.version);
        catalogue_.database().commit();
    } catch (const Full &) {
        abandon();
        return;
    }
    for (const Version &v : cleared_) {
        account_.retired -= v.space();
        map_.give(v.division, v.replicas, v.locations);
    }
    cleared_.clear();
}

// ---- Clients that are gone ----

// Gives back what was reserved for clients of whom no write is under way or will be.
void Master::reap() {
    for (Client client : catalogue_.clients()) {
        if (!is_gone(client))
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

bool Master::is_gone(Client client) {
    ds::fabric::Owner owner{.client = client.client, .incarnation = client.incarnation};
    return pool_.is_gone(owner) == 1 && pool_.fence(owner) == 0;
}

}  // namespace dsmasterd
