// SPDX-License-Identifier: Apache-2.0
// A log-linear histogram: quantiles of many 64-bit values in bounded memory.
//
// Each power of two is cut into 2^sub_bits equal buckets, so that a reported
// quantile is at most one part in 2^sub_bits above the exact one (here 0.8 %).
// Values below 2^sub_bits are exact. Histograms of several threads are merged.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace dsctl {

class Histogram {
public:
    static constexpr unsigned sub_bits = 7;

    void record(uint64_t value) {
        counts_[bucket_of(value)]++;
        count_++;
        sum_ += static_cast<double>(value);
        min_ = std::min(min_, value);
        max_ = std::max(max_, value);
    }

    void merge(const Histogram &other) {
        for (size_t i = 0; i < counts_.size(); i++)
            counts_[i] += other.counts_[i];
        count_ += other.count_;
        sum_ += other.sum_;
        min_ = std::min(min_, other.min_);
        max_ = std::max(max_, other.max_);
    }

    uint64_t count() const { return count_; }
    uint64_t min() const { return count_ ? min_ : 0; }
    uint64_t max() const { return max_; }
    double mean() const { return count_ ? sum_ / static_cast<double>(count_) : 0; }

    // The smallest value that at least the share q (0 to 1) of all values does
    // not exceed, rounded up to the end of its bucket but not above max().
    uint64_t quantile(double q) const {
        uint64_t rank = std::max<uint64_t>(1, rank_of(q));
        uint64_t seen = 0;

        if (count_ == 0)
            return 0;
        for (size_t i = 0; i < counts_.size(); i++) {
            seen += counts_[i];
            if (seen >= rank)
                return std::clamp(last_of(i), min_, max_);
        }
        return max_;
    }

    static size_t bucket_of(uint64_t value) {
        if (value >> sub_bits == 0)
            return value;
        unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - sub_bits;
        return (size_t(shift) << sub_bits) + (value >> shift);
    }

    // The largest value that falls into a bucket.
    static uint64_t last_of(size_t bucket) {
        if (bucket >> (sub_bits + 1) == 0)
            return bucket;
        unsigned shift = static_cast<unsigned>(bucket >> sub_bits) - 1;
        uint64_t top = (bucket & ((size_t(1) << sub_bits) - 1)) + (size_t(1) << sub_bits);
        return (top << shift) + ((uint64_t(1) << shift) - 1);
    }

private:
    uint64_t rank_of(double q) const {
        double exact = std::clamp(q, 0.0, 1.0) * static_cast<double>(count_);
        uint64_t rank = static_cast<uint64_t>(exact);

        return std::min(count_, rank + (static_cast<double>(rank) < exact));
    }

    std::vector<uint64_t> counts_ = std::vector<uint64_t>((65 - sub_bits) << sub_bits);
    uint64_t count_ = 0;
    uint64_t min_ = std::numeric_limits<uint64_t>::max();
    uint64_t max_ = 0;
    double sum_ = 0;
};

}  // namespace dsctl
