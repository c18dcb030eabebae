// SPDX-License-Identifier: Apache-2.0
// A log-linear histogram: percentiles of many times in bounded memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace ds::sim {

/// Each power of two is cut into 2^sub_bits equal buckets. All sums are integers, so that times
/// come to the same in any order.
class Percentiles {
public:
    static constexpr unsigned sub_bits = 7;

    /// A time that came @p times, at least once.
    void record(uint64_t ns, uint64_t times = 1) {
        size_t bucket = bucket_of(ns);
        if (bucket >= counts_.size()) [[unlikely]]
            counts_.resize(bucket + 1);
        counts_[bucket] += times;
        count_ += times;
        sum_ += static_cast<unsigned __int128>(ns) * times;
        min_ = std::min(min_, ns);
        max_ = std::max(max_, ns);
    }

    uint64_t count() const { return count_; }
    uint64_t min() const { return count_ ? min_ : 0; }
    uint64_t max() const { return max_; }
    double mean() const {
        return count_ ? static_cast<double>(sum_) / static_cast<double>(count_) : 0;
    }

    /// The smallest time that at least @p per_100000 in 100,000 of all times do not exceed
    /// (99,900 is P99.9), or up to one part in 128 more. 0 if there are none.
    uint64_t at(uint32_t per_100000) const;

    /// The same of the share @p q, 0 to 1.
    uint64_t quantile(double q) const;

    uint64_t p50() const { return at(50'000); }
    uint64_t p99() const { return at(99'000); }
    uint64_t p999() const { return at(99'900); }

    static size_t bucket_of(uint64_t ns) {
        unsigned shift = std::max(static_cast<int>(std::bit_width(ns)) - 1 - int(sub_bits), 0);
        return (size_t(shift) << sub_bits) + (ns >> shift);
    }
    /// The largest time that falls into a bucket.
    static uint64_t last_of(size_t bucket);

private:
    uint64_t ranked(uint64_t rank) const;

    std::vector<uint64_t> counts_;  // as far as the largest time
    uint64_t count_ = 0;
    unsigned __int128 sum_ = 0;
    uint64_t min_ = std::numeric_limits<uint64_t>::max();
    uint64_t max_ = 0;
};

}  // namespace ds::sim
