// SPDX-License-Identifier: Apache-2.0
// Which parts of the servers are free. In memory only: the metadata say what is
// in use, and at a start it is taken out again.
//
// A server's free extents are kept by their offset, to join neighbours, and by
// their length, to take the smallest one that is large enough.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "store/shard.hpp"

namespace dsmasterd {

/// The free extents of one server.
class FreeExtents {
public:
    /// All of [first, end) is free.
    FreeExtents(uint64_t first, uint64_t end);

    std::optional<uint64_t> take(uint64_t length);

    /// Takes exactly this. False if a part of it is not free.
    bool take_at(uint64_t offset, uint64_t length);

    /// Gives back what was taken.
    void give(uint64_t offset, uint64_t length);

    uint64_t total() const { return total_; }
    uint64_t free() const { return free_; }
    uint64_t largest() const { return by_length_.empty() ? 0 : by_length_.rbegin()->first; }

private:
    using Extents = std::map<uint64_t, uint64_t>;  // length by offset

    void add(uint64_t offset, uint64_t length);
    void erase(Extents::iterator extent);

    uint64_t total_;
    uint64_t free_ = 0;
    Extents by_offset_;
    std::set<std::pair<uint64_t, uint64_t>> by_length_;  // length, offset
};

class SpaceMap {
public:
    /// Servers of 2^shift bytes, of which the first @p kept are not the store's.
    SpaceMap(uint32_t servers, uint32_t shift, uint64_t kept);

    /// Nothing is taken from a server that is down.
    void set_down(uint32_t server, bool down) { down_[server] = down; }
    bool is_down(uint32_t server) const { return down_[server]; }
    uint32_t up() const;

    /// Space for all shards, for each of them on @p replicas servers: shard by
    /// shard. Nothing if there is not enough.
    std::optional<std::vector<ds::store::wire::Location>> take(const ds::store::Division &object,
                                                               uint32_t replicas);

    /// Space for one shard, on none of the servers @p but.
    std::optional<ds::store::wire::Location> take_one(uint64_t length,
                                                      const std::set<uint32_t> &but);

    /// Takes what an object has, or what is left of it. False if it is not free, or
    /// not the store's.
    bool take_at(const ds::store::Division &object, uint32_t replicas,
                 std::span<const ds::store::wire::Location> locations);

    /// Gives back what was taken, or the first locations of it.
    void give(const ds::store::Division &object, uint32_t replicas,
              std::span<const ds::store::wire::Location> locations);

    std::span<const FreeExtents> servers() const { return servers_; }
    uint64_t total() const;
    uint64_t free() const;

private:
    std::vector<uint32_t> order();
    bool take_shard(uint64_t length, uint32_t replicas,
                    std::vector<ds::store::wire::Location> &locations);

    std::vector<FreeExtents> servers_;
    std::vector<bool> down_;
    uint32_t turn_ = 0;  // where to begin the search
};

}  // namespace dsmasterd
