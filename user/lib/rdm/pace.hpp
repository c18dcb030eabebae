// SPDX-License-Identifier: Apache-2.0
// How long to wait for an answer, and how much to have under way.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ds::rdm {

constexpr uint64_t millisecond = 1'000'000;

/// The time after which an answer counts as lost: smoothed round trip and four times
/// its deviation (Jacobson, 1988), from answers to what was sent once only (Karn).
class RoundTrip {
public:
    static constexpr uint64_t shortest = 20 * millisecond;
    static constexpr uint64_t longest = 1000 * millisecond;

    void sample(uint64_t ns) {
        if (smoothed_ == 0) {
            smoothed_ = ns;
            deviation_ = ns / 2;
            return;
        }
        uint64_t off = ns > smoothed_ ? ns - smoothed_ : smoothed_ - ns;
        deviation_ += off / 4 - deviation_ / 4;
        smoothed_ += ns / 8 - smoothed_ / 8;
    }

    uint64_t smoothed() const { return smoothed_; }

    /// @p tries: how often the same was sent.
    uint64_t timeout(unsigned tries) const {
        uint64_t first =
            smoothed_ ? std::max(shortest, smoothed_ + 4 * deviation_) : 100 * millisecond;
        return std::min(longest, first << std::min(tries - 1, 10u));
    }

private:
    uint64_t smoothed_ = 0;
    uint64_t deviation_ = 0;
};

/// Room that packets under way may take, in either direction: more with each answer,
/// half at a loss. A server keeps at most 128 packets of a host waiting, and a socket
/// of the usual size not many more.
class Window {
public:
    /// What @p count packets of @p bytes each take.
    static uint64_t cost(uint64_t count, uint64_t bytes) {
        return count * ((bytes + unit - 1) / unit);
    }

    bool allows(uint64_t under_way, uint64_t cost) const {
        return under_way == 0 || under_way + cost <= size_;
    }
    void answered() { size_ = std::min(largest, size_ + 1); }
    void lost() { size_ = std::max(smallest, size_ / 2); }

private:
    static constexpr uint64_t unit = 2 << 10;
    static constexpr uint64_t smallest = 8;
    static constexpr uint64_t largest = 112;

    uint64_t size_ = 64;
};

}  // namespace ds::rdm
