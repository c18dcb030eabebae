// SPDX-License-Identifier: Apache-2.0
// LRU stack distances of a stream of requests.
#pragma once

#include <cstdint>
#include <vector>

namespace ds::sim {

/// The order in which ids were last used. A bit for each time at which an id was last used, and
/// how many bits are set in each block and in each group of blocks: a touch costs three
/// counters, a distance the sum of what lies behind one bit. Times are renumbered when they run
/// out, so memory is for the ids only, however long the stream is.
class ReuseDistance {
public:
    /// @p ids: ids are below this number, 2^31 at most; about 13 bytes of memory each.
    explicit ReuseDistance(uint32_t ids);

    bool seen(uint32_t id) const { return last_[id] != 0; }

    /// How many other ids have been touched since @p id was. It must have been seen.
    uint32_t distance(uint32_t id) const;

    /// @p id is the last one used.
    void touch(uint32_t id);

private:
    void mark(uint32_t time);
    void clear(uint32_t time);
    void renumber();

    std::vector<uint32_t> last_;    // by id: time of last use, 0 if none
    std::vector<uint32_t> owner_;   // by time: the id then used; the bit says if it is its last
    std::vector<uint64_t> bits_;    // by time
    std::vector<uint16_t> blocks_;  // bits set in each
    std::vector<uint32_t> groups_;
    uint32_t now_ = 0;
};

}  // namespace ds::sim
