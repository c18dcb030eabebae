// SPDX-License-Identifier: Apache-2.0
#include "store/placement.hpp"

#include <algorithm>
#include <cerrno>

namespace ds::store {
namespace {

// Shards of other sizes may come; these fit into buffers and into one operation.
constexpr unsigned min_shift = 12, max_shift = 22;

bool is_possible(const wire::Placement &p, uint32_t first, const Answer &answer) {
    Division division{.length = p.length, .shift = p.shard_shift};
    return p.version > 0 && p.replicas >= 1 && p.replicas <= wire::max_replicas &&
           p.shard_shift >= min_shift && p.shard_shift <= max_shift &&
           p.length <= uint64_t{UINT32_MAX} << p.shard_shift && p.shards == division.shards() &&
           p.first_shard == first && p.count >= 1 && p.count <= p.shards - first &&
           answer.bytes.size() ==
               sizeof(p) + uint64_t{p.count} * p.replicas * sizeof(wire::Location);
}

bool is_within(const Bounds &bounds, const Division &division, uint64_t shard,
               wire::Location location) {
    uint64_t room = uint64_t{1} << bounds.server_shift;
    uint64_t length = division.extent(shard);
    return server_of(location) < bounds.servers && offset_of(location) % unit == 0 &&
           length <= room && offset_of(location) <= room - length;
}

// Adds the locations of one answer.
int take_part(const Bounds &bounds, const Answer &answer, Place &place) {
    auto first = static_cast<uint32_t>(place.locations.size() / place.replicas);
    wire::Placement p;
    if (!answer.take(p) || !is_possible(p, first, answer) || p.version != place.version ||
        p.replicas != place.replicas || p.length != place.division.length)
        return -EPROTO;
    for (size_t i = 0; i < size_t{p.count} * p.replicas; i++) {
        wire::Location location;
        std::memcpy(&location, answer.bytes.data() + sizeof(p) + i * sizeof(location),
                    sizeof(location));
        if (!is_within(bounds, place.division, first + i / p.replicas, location))
            return -EPROTO;
        place.locations.push_back(location);
    }
    return 0;
}

int ask(Link &link, std::string_view key, int64_t version, uint32_t first, uint64_t deadline,
        Answer &answer) {
    wire::Named named{.head = {},
                      .version = version,
                      .first_shard = first,
                      .key_length = static_cast<uint16_t>(key.size()),
                      .reserved = 0};
    return link.call(wire::lookup, named, {key}, deadline, answer);
}

}  // namespace

int take_place(Link &link, const Bounds &bounds, std::string_view key, uint64_t deadline,
               Answer &answer, Place &place) {
    wire::Placement p;
    if (!answer.take(p) || !is_possible(p, 0, answer))
        return -EPROTO;
    place = {.version = p.version,
             .time_ns = p.time_ns,
             .replicas = p.replicas,
             .division = {.length = p.length, .shift = p.shard_shift},
             .locations = {}};
    for (;;) {
        if (int rc = take_part(bounds, answer, place); rc < 0)
            return rc;
        auto shards = static_cast<uint32_t>(place.locations.size() / place.replicas);
        if (shards == p.shards)
            return 0;
        if (int rc = ask(link, key, p.version, shards, deadline, answer); rc < 0)
            return rc;
    }
}

int look_up(Link &link, const Bounds &bounds, std::string_view key, int64_t version,
            uint64_t deadline, Place &place) {
    for (;;) {
        Answer answer;
        int rc = ask(link, key, version, 0, deadline, answer);
        if (rc == 0)
            rc = take_place(link, bounds, key, deadline, answer, place);
        // Overwritten between two parts of the answer: there is another one now.
        if (rc != -ESTALE || version != 0)
            return rc;
        if (link.has_passed(deadline))
            return -ETIMEDOUT;
    }
}

std::shared_ptr<const Place> PlaceCache::find(const std::string &key) {
    std::lock_guard guard(lock_);
    auto found = by_key_.find(key);
    if (found == by_key_.end())
        return nullptr;
    recent_.splice(recent_.begin(), recent_, found->second);
    return found->second->place;
}

void PlaceCache::keep(const std::string &key, std::shared_ptr<const Place> place) {
    std::lock_guard guard(lock_);
    if (auto found = by_key_.find(key); found != by_key_.end()) {
        if (found->second->place->version < place->version)
            found->second->place = std::move(place);
        return;
    }
    recent_.push_front({key, std::move(place)});
    by_key_.emplace(recent_.front().key, recent_.begin());
    if (recent_.size() > most) {
        by_key_.erase(recent_.back().key);
        recent_.pop_back();
    }
}

void PlaceCache::forget(const std::string &key) {
    std::lock_guard guard(lock_);
    auto found = by_key_.find(key);
    if (found == by_key_.end())
        return;
    auto entry = found->second;
    by_key_.erase(found);
    recent_.erase(entry);
}

}  // namespace ds::store
