// SPDX-License-Identifier: Apache-2.0
// The master's second thread: what takes as long as memory servers take. It
// looks which of them are there, reads replicas, and copies them.
//
// It knows no metadata. The master hands it a slice of an object, and takes that
// back when it is done: once to see which replicas are whole, and once more, with
// the places for new ones reserved, to have those written.
#pragma once

#include <ds/ds.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "store/shard.hpp"

namespace dsmasterd {

/// A look at a server.
struct Sighting {
    int status;       ///< 0: it has answered; -ESHUTDOWN: we are fenced
    uint64_t memory;  ///< the number of its memory (store/label.hpp)
};

/// A shard of a replica.
enum class Found {
    whole,
    flawed,  ///< it is not what its seal should say
    away,    ///< its server does not answer
};

/// A shard of a replica that is made anew.
struct Copy {
    enum class End {
        failed,
        done,
        unknown,  ///< a write may still be under way
    };
    size_t index;  ///< of the location that it is to replace
    ds::store::wire::Location to;
    int64_t reservation;
    End end = End::failed;
};

/// Some shards of an object.
struct Slice {
    std::string key;
    ds::store::Identity object;
    uint32_t replicas;
    uint64_t first;                                    ///< shard
    std::vector<ds::store::wire::Location> locations;  ///< from there on, shard by shard
    std::set<uint32_t> away;                           ///< servers that are not asked
    std::vector<Found> found;                          ///< for each location
    std::vector<Copy> copies;

    uint64_t shard(size_t index) const { return first + index / replicas; }
};

class Copier {
public:
    explicit Copier(ds_space *space);
    Copier(const Copier &) = delete;
    Copier &operator=(const Copier &) = delete;
    ~Copier();

    /// Fills found; if there are copies, writes those. One slice at a time.
    void start(Slice slice);
    bool busy();

    /// The slice, when it is done.
    std::optional<Slice> take();

    /// What was seen of each server since the last call, if anything was.
    std::optional<std::vector<Sighting>> sightings();

private:
    void run();
    std::vector<Sighting> look();
    void survey(Slice &slice);
    void copy(Slice &slice);
    Copy::End copy_one(Slice &slice, const Copy &copy);
    int read(const Slice &slice, size_t index);
    Copy::End write(const Slice &slice, const Copy &copy);
    bool have_buffer();
    std::byte *bytes() const;
    std::vector<ds_operation> chain(ds_opcode opcode, const Slice &slice, size_t index,
                                    ds::store::wire::Location at) const;

    ds_space *space_;
    std::mt19937_64 random_{std::random_device{}()};
    std::unique_ptr<ds_buffer, decltype(&ds_buffer_free)> buffer_;  // for a shard and its seal

    std::mutex lock_;
    std::condition_variable wake_;
    bool stop_ = false;
    std::optional<Slice> todo_, done_;
    bool working_ = false;
    std::optional<std::vector<Sighting>> sightings_;
    std::thread thread_;
};

}  // namespace dsmasterd
