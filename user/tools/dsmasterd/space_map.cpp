// SPDX-License-Identifier: Apache-2.0
#include "space_map.hpp"

#include <algorithm>
#include <numeric>

namespace dsmasterd {

using ds::store::Division;
using ds::store::make_location;
using ds::store::nowhere;
using ds::store::offset_of;
using ds::store::server_of;
using ds::store::wire::Location;

FreeExtents::FreeExtents(uint64_t first, uint64_t end) : total_(end - first) {
    add(first, total_);
    free_ = total_;
}

void FreeExtents::add(uint64_t offset, uint64_t length) {
    if (length == 0)
        return;
    by_offset_.emplace(offset, length);
    by_length_.emplace(length, offset);
}

void FreeExtents::erase(Extents::iterator extent) {
    by_length_.erase({extent->second, extent->first});
    by_offset_.erase(extent);
}

std::optional<uint64_t> FreeExtents::take(uint64_t length) {
    auto best = by_length_.lower_bound({length, 0});
    if (best == by_length_.end())
        return std::nullopt;
    uint64_t offset = best->second;
    take_at(offset, length);
    return offset;
}

bool FreeExtents::take_at(uint64_t offset, uint64_t length) {
    auto extent = by_offset_.upper_bound(offset);
    if (extent == by_offset_.begin())
        return false;
    --extent;
    auto [start, whole] = *extent;
    if (offset - start > whole || length > whole - (offset - start))
        return false;
    erase(extent);
    add(start, offset - start);
    add(offset + length, start + whole - (offset + length));
    free_ -= length;
    return true;
}

void FreeExtents::give(uint64_t offset, uint64_t length) {
    free_ += length;
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + length) {
        length += next->second;
        auto joined = next++;
        erase(joined);
    }
    if (next != by_offset_.begin()) {
        auto before = std::prev(next);
        if (before->first + before->second == offset) {
            offset = before->first;
            length += before->second;
            erase(before);
        }
    }
    add(offset, length);
}

SpaceMap::SpaceMap(uint32_t servers, uint32_t shift, uint64_t kept) {
    for (uint32_t i = 0; i < servers; i++)
        servers_.emplace_back(kept, uint64_t{1} << shift);
    down_.resize(servers);
}

uint32_t SpaceMap::up() const {
    return static_cast<uint32_t>(std::count(down_.begin(), down_.end(), false));
}

std::optional<std::vector<Location>> SpaceMap::take(const Division &object, uint32_t replicas) {
    std::vector<Location> locations;
    // A large one that cannot fit is not tried shard by shard.
    uint64_t room = 0;
    for (uint32_t server = 0; server < servers_.size(); server++)
        room += down_[server] ? 0 : servers_[server].free();
    if (object.space() > room / replicas)
        return std::nullopt;
    for (uint64_t shard = 0; shard < object.shards(); shard++)
        if (!take_shard(object.extent(shard), replicas, locations)) {
            give(object, replicas, locations);
            return std::nullopt;
        }
    return locations;
}

// Those that are up, the ones with the most free space first; equals take turns.
std::vector<uint32_t> SpaceMap::order() {
    auto count = static_cast<uint32_t>(servers_.size());
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), turn_++);
    for (uint32_t &server : order)
        server %= count;
    std::erase_if(order, [this](uint32_t server) { return down_[server]; });
    std::stable_sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
        return servers_[a].free() > servers_[b].free();
    });
    return order;
}

std::optional<Location> SpaceMap::take_one(uint64_t length, const std::set<uint32_t> &but) {
    for (uint32_t server : order())
        if (!but.contains(server))
            if (auto offset = servers_[server].take(length))
                return make_location(server, *offset);
    return std::nullopt;
}

bool SpaceMap::take_shard(uint64_t length, uint32_t replicas, std::vector<Location> &locations) {
    size_t before = locations.size();
    for (uint32_t server : order()) {
        if (locations.size() - before == replicas)
            break;
        if (auto offset = servers_[server].take(length))
            locations.push_back(make_location(server, *offset));
    }
    if (locations.size() - before == replicas)
        return true;
    for (; locations.size() > before; locations.pop_back())
        servers_[server_of(locations.back())].give(offset_of(locations.back()), length);
    return false;
}

void SpaceMap::give(const Division &object, uint32_t replicas,
                    std::span<const Location> locations) {
    for (size_t i = 0; i < locations.size(); i++)
        if (locations[i] != nowhere)
            servers_[server_of(locations[i])].give(offset_of(locations[i]),
                                                   object.extent(i / replicas));
}

bool SpaceMap::take_at(const Division &object, uint32_t replicas,
                       std::span<const Location> locations) {
    if (replicas == 0 || locations.size() != object.shards() * replicas)
        return false;
    for (size_t i = 0; i < locations.size(); i++) {
        if (locations[i] == nowhere)
            continue;
        bool ours = server_of(locations[i]) < servers_.size();
        if (ours && servers_[server_of(locations[i])].take_at(offset_of(locations[i]),
                                                              object.extent(i / replicas)))
            continue;
        give(object, replicas, locations.first(i));
        return false;
    }
    return true;
}

uint64_t SpaceMap::total() const {
    return std::accumulate(servers_.begin(), servers_.end(), uint64_t{0},
                           [](uint64_t sum, const FreeExtents &s) { return sum + s.total(); });
}

uint64_t SpaceMap::free() const {
    return std::accumulate(servers_.begin(), servers_.end(), uint64_t{0},
                           [](uint64_t sum, const FreeExtents &s) { return sum + s.free(); });
}

}  // namespace dsmasterd
