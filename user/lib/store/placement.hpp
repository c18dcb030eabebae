// SPDX-License-Identifier: Apache-2.0
// Where a version of an object is, as the master says.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/link.hpp"
#include "store/shard.hpp"

namespace ds::store {

struct Place {
    int64_t version;
    uint64_t time_ns;
    uint32_t replicas;
    Division division;
    std::vector<wire::Location> locations;  ///< shard by shard

    wire::Location location(uint64_t shard, uint32_t replica) const {
        return locations[shard * replicas + replica];
    }
};

/// What a master's answer may name.
struct Bounds {
    uint32_t servers;
    uint32_t server_shift;
};

/// Reads the answer to a begin or lookup, and asks for the rest of the locations.
/// -EPROTO: it names what cannot be; -ESTALE: the version is gone.
int take_place(Link &link, const Bounds &bounds, std::string_view key, uint64_t deadline,
               Answer &answer, Place &place);

/// Asks where the object is.
int look_up(Link &link, const Bounds &bounds, std::string_view key, int64_t version,
            uint64_t deadline, Place &place);

/// What was found, for calls that may take what is not the newest.
class PlaceCache {
public:
    std::shared_ptr<const Place> find(const std::string &key);
    void keep(const std::string &key, std::shared_ptr<const Place> place);
    void forget(const std::string &key);

private:
    static constexpr size_t most = 4096;
    struct Found {
        std::string key;
        std::shared_ptr<const Place> place;
    };

    std::mutex lock_;
    std::list<Found> recent_;  // the latest first
    std::unordered_map<std::string_view, std::list<Found>::iterator> by_key_;
};

}  // namespace ds::store
