// SPDX-License-Identifier: Apache-2.0
// Replicas that are lost: because their server is down, because it came back
// with other memory, because a byte of them is damaged.
//
// Whose replica may be lost is in incomplete_, by its key, and rounds are made over
// all of those. A slice of an object at a time, the copier looks at the replicas;
// extents for new ones are reserved, on the disk; the copier writes them, data and
// then seals; one transaction puts them in the place of the lost ones, which are
// retired. A crash leaves a reservation of a client that is gone, or all of it done.
//
// Memory is known by its number. A server's is remembered only when no object is in doubt
// any more, and no put is under way that was begun while it had another: so a master that
// is killed before looks again.
#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "fabric/crash_point.hpp"
#include "fabric/engine.hpp"
#include "fabric/handles.hpp"
#include "master.hpp"
#include "term.hpp"

namespace dsmasterd {
namespace {

constexpr uint64_t second = 1'000'000'000;    // ns
constexpr uint64_t down_after = 3 * second;   // without an answer
constexpr uint64_t round_pause = 5 * second;  // if something is left
constexpr uint64_t shards_at_once = 16;

}  // namespace

using ds::store::Division;
using ds::store::make_version;
using ds::store::server_of;
using ds::store::wire::Location;

Client Master::self() const {
    return pool_ ? Client{.client = pool_->self().client, .incarnation = pool_->self().incarnation}
                 : Client{};
}

// What the copier has to say, and what it shall do next.
void Master::watch() {
    uint64_t now = space_->engine->fabric().now_ns();
    if (auto sightings = copier_.sightings()) {
        looked_ = true;
        for (uint32_t server = 0; server < servers_.size(); server++)
            note(server, (*sightings)[server], now);
    }
    if (auto slice = copier_.take()) {
        if (slice->copies.empty())
            plan(std::move(*slice));
        else
            written_ = std::move(slice);
    }
    if (copier_.busy())
        return;
    if (fenced_ && !written_ && now >= next_rejoin_)
        rejoin();
    if (now < next_round_ || !pool_)
        return;
    if (written_) {
        if (swap_in(*written_))
            written_.reset();
        else
            next_round_ = now + second;
        return;
    }
    while (!repair_next()) {
    }
}

// Somebody took us for dead, while this host hung or was cut off.
// Nothing is reserved for us now that we would still write. We leave the pool once more if that
// was not done in time with the Pool: no look says that we are fenced when we have left.
void Master::rejoin() {
    ds::fabric::Fabric &fabric = space_->engine->fabric();
    pool_.reset();
    int rc = fabric.withdraw(space_->info);
    // While server 0 is away that is all: to try it would take all the time that we have.
    if (rc == 0 && !servers_[0].silent_since)
        rc = join();
    fenced_ = !pool_;
    next_rejoin_ = fabric.now_ns() + second;
    if (rc < 0)
        std::fprintf(stderr, "dsmasterd: cannot join the pool anew: %s\n", ds_strerror(rc));
}

// It begins a term, as another master may have done since.
int Master::join() {
    uint32_t epoch;
    int rc = ds::pool::Pool::join(space_, pool_);
    try {
        if (rc == 0)
            rc = begin_term(space_, *pool_, catalogue_, epoch);
    } catch (const Full &) {
        rc = -EROFS;
    }
    if (rc < 0) {
        pool_.reset();
        return rc;
    }
    epoch_ = epoch;
    sequence_ = 0;
    return 0;
}

// ---- What is in doubt ----

void Master::note(uint32_t server, const Sighting &sighting, uint64_t now) {
    Server &s = servers_[server];
    bool was_down = map_.is_down(server);
    if (sighting.status == -ESHUTDOWN) {
        fenced_ = true;  // and the server may well be there
        return;
    }
    if (sighting.status < 0) {
        s.silent_since = s.silent_since ? s.silent_since : now;
        // What was never there has not gone for a moment only.
        if (was_down || (s.seen && now - s.silent_since < down_after))
            return;
        map_.set_down(server, true);
        doubt(server);
        std::fprintf(stderr, "dsmasterd: server %u does not answer: %zu objects lack a replica\n",
                     server, incomplete_.size());
        return;
    }
    s.silent_since = 0;
    map_.set_down(server, false);
    if (sighting.memory != s.memory) {
        if (s.memory)
            std::fprintf(stderr, "dsmasterd: server %u has other memory than before\n", server);
        pool_lost_ |= server == 0 && s.seen;
        s.changed = make_version(epoch_, sequence_);
        s.memory = sighting.memory;
        doubt(server);
    }
    s.seen = true;
    if (was_down) {
        std::fprintf(stderr, "dsmasterd: server %u is up\n", server);
        next_round_ = 0;
    }
}

// All that has a replica on the server.
void Master::doubt(uint32_t server) {
    catalogue_.each_object([&](std::string_view key, const Version &version) {
        if (std::ranges::any_of(version.locations,
                                [=](Location at) { return server_of(at) == server; }))
            doubt(key);
    });
    next_round_ = 0;
}

void Master::doubt(std::string_view key) {
    incomplete_.emplace(key);
    patient_.missing += key == cursor_;  // what was seen of it so far does not count
    next_round_ = 0;
}

// Whether what was written there for this version is perhaps there no more: its server
// is down, or has other memory than when the version was begun.
bool Master::may_be_lost(Location at, int64_t version) const {
    uint32_t server = server_of(at);
    return map_.is_down(server) || version <= servers_[server].changed;
}

// ---- Rounds ----

// Has the copier look at the next slice. False if it shall be called again.
bool Master::repair_next() {
    auto next = incomplete_.lower_bound(cursor_);
    if (next == incomplete_.end()) {
        end_round();
        return true;
    }
    cursor_ = *next;
    auto version = catalogue_.find(cursor_);
    if (version && version->version != patient_.version)
        patient_ = {.version = version->version};
    if (!version || patient_.shard >= version->division.shards()) {
        if (!version || patient_.missing == 0)
            incomplete_.erase(next);
        cursor_ += '\0';  // the least key behind it
        patient_ = {};
        return false;
    }
    uint64_t count = std::min(shards_at_once, version->division.shards() - patient_.shard);
    auto first = version->locations.begin() + patient_.shard * version->replicas;
    Slice slice{
        .key = cursor_,
        .object = {.store = shape_.store,
                   .key_hash = ds::store::hash_of(cursor_),
                   .version = version->version,
                   .division = version->division},
        .replicas = version->replicas,
        .first = patient_.shard,
        .locations = {first, first + count * version->replicas},
        .away = {},
        .found = {},
        .copies = {},
    };
    for (uint32_t server = 0; server < servers_.size(); server++)
        if (map_.is_down(server))
            slice.away.insert(server);
    patient_.shard += count;
    copier_.start(std::move(slice));
    return true;
}

void Master::end_round() {
    cursor_.clear();
    patient_ = {};
    next_round_ = space_->engine->fabric().now_ns() + round_pause;
    if (!incomplete_.empty())
        return;
    try {
        for (uint32_t server = 0; server < servers_.size(); server++) {
            const Server &s = servers_[server];
            // What was begun before is in doubt when it is committed, be it to a later master.
            if (s.memory != catalogue_.memory_of(server) &&
                !catalogue_.has_reservation_up_to(s.changed))
                catalogue_.set_memory(server, s.memory);
        }
    } catch (const Full &) {
        // At the end of the next round.
    }
}

// ---- A slice ----

// Reserves extents for what is lost, and has them written.
void Master::plan(Slice slice) {
    try {
        catalogue_.database().begin();
        for (size_t i = 0; i < slice.locations.size(); i += slice.replicas)
            plan_shard(slice, i);
        catalogue_.database().commit();
    } catch (const Full &) {
        abandon();
        patient_.missing++;
        return;
    }
    apply();
    ds::crash_point("master_reserved");
    if (!slice.copies.empty())
        copier_.start(std::move(slice));
}

// The shard whose replicas begin at @p first. What is away may come back soon, as
// long as its server is not down.
void Master::plan_shard(Slice &slice, size_t first) {
    std::vector<size_t> lost;
    std::set<uint32_t> kept;  // servers of the others
    bool source = false;
    for (size_t i = first; i < first + slice.replicas; i++) {
        uint32_t server = server_of(slice.locations[i]);
        patient_.missing += slice.found[i] != Found::whole;
        source |= slice.found[i] == Found::whole;
        if (slice.found[i] == Found::flawed ||
            (slice.found[i] == Found::away && map_.is_down(server)))
            lost.push_back(i);
        else
            kept.insert(server);
    }
    if (!source)
        return;
    for (size_t i : lost) {
        Division division = slice.object.division.alone(slice.shard(i));
        auto to = map_.take_one(division.extent(0), kept);
        if (!to)
            return;
        kept.insert(server_of(*to));
        int64_t number = make_version(epoch_, ++sequence_);
        Version extent = {.version = number,
                          .division = division,
                          .replicas = 1,
                          .time_ns = 0,
                          .locations = {*to}};
        effects_.taken.push_back(extent);
        effects_.account.reservations++;
        effects_.account.reserved += extent.space();
        catalogue_.add({.version = std::move(extent),
                        .client = self(),
                        .request = static_cast<uint64_t>(number),
                        .key = slice.key,
                        .must_not_exist = false,
                        .overtaken = false});
        slice.copies.push_back({.index = i, .to = *to, .reservation = number});
    }
}

// Puts the copies in the place of what was lost, which is retired; so is a copy that
// is no good, or whose object is gone. False if it cannot be written to the disk.
bool Master::swap_in(const Slice &slice) {
    uint64_t swapped = 0;
    try {
        catalogue_.database().begin();
        auto object = catalogue_.find(slice.key);
        bool there = object && object->version == slice.object.version;
        for (const Copy &copy : slice.copies) {
            // Nothing else may have the space until we are gone.
            if (copy.end == Copy::End::unknown)
                continue;
            Version extent = catalogue_.find_reservation(copy.reservation)->version;
            catalogue_.remove_reservation(copy.reservation);
            effects_.account.reservations--;
            effects_.account.reserved -= extent.space();
            if (there && copy.end == Copy::End::done) {
                std::swap(object->locations[slice.first * slice.replicas + copy.index],
                          extent.locations[0]);
                swapped++;
                if (may_be_lost(copy.to, copy.reservation))
                    doubt(slice.key);
            }
            retire(extent);
        }
        if (swapped > 0)
            catalogue_.set(slice.key, *object);
        catalogue_.database().commit();
    } catch (const Full &) {
        abandon();
        return false;
    }
    apply();
    if (slice.object.version == patient_.version)
        patient_.missing -= swapped;
    ds::crash_point("master_swapped");
    return true;
}

}  // namespace dsmasterd
