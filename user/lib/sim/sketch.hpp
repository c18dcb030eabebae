// SPDX-License-Identifier: Apache-2.0
// How often something was used lately, in four counters of four bits that others share.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ds::sim {

/// A count-min sketch (Cormode and Muthukrishnan, 2005) with halving.
class Sketch {
public:
    /// Of a cache with @p entries, and @p objects that there are: more counters than for these are
    /// of no use.
    explicit Sketch(uint32_t entries, uint32_t objects = UINT32_MAX)
        : width_(4 * std::bit_ceil(uint64_t(std::max(16u, std::min(entries, objects))))),
          halve_at_(10 * uint64_t(entries)),
          rows_(4 * width_) {}

    void add(uint32_t id) {
        bool added = false;

        for (uint32_t row = 0; row < 4; row++) {
            uint8_t &count = rows_[place(id, row)];
            added |= count < most;
            count = static_cast<uint8_t>(count + (count < most));
        }
        if (added && ++added_ == halve_at_)
            halve();
    }

    uint32_t count(uint32_t id) const {
        uint8_t least = most;

        for (uint32_t row = 0; row < 4; row++)
            least = std::min(least, rows_[place(id, row)]);
        return least;
    }

private:
    static constexpr uint8_t most = 15;

    size_t place(uint32_t id, uint32_t row) const {
        static constexpr uint64_t seeds[] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9,
                                             0x94d049bb133111eb, 0xd6e8feb86659fd93};
        uint64_t hash = (id + seeds[row]) * seeds[row];
        hash = (hash ^ (hash >> 32)) * seeds[row];
        return row * width_ + ((hash >> 32) & (width_ - 1));
    }

    void halve() {
        for (uint8_t &count : rows_)
            count /= 2;
        added_ /= 2;
    }

    uint64_t width_;  // of a row, a power of two
    uint64_t halve_at_;
    uint64_t added_ = 0;
    std::vector<uint8_t> rows_;
};

}  // namespace ds::sim
