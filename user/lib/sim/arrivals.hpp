// SPDX-License-Identifier: Apache-2.0
// When the next request of a run begins.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace ds::sim {

/// Open: one after the other at a rate, or at times that are given, however long they take. Closed:
/// so many are under way, and each that is done is followed by another one at once.
class Arrivals {
public:
    static constexpr uint64_t none_yet = std::numeric_limits<uint64_t>::max();

    static Arrivals open(double requests_per_us) {
        return Arrivals(static_cast<uint64_t>(std::ceil(1e3 * double(ns) / requests_per_us)), {},
                        {});
    }
    /// @p times in ns, of each request, from the first one's on. What is said to be earlier than
    /// the one before it comes with that. They must outlive this.
    static Arrivals at(std::span<const uint64_t> times) { return Arrivals(0, times, {}); }
    static Arrivals closed(uint32_t outstanding) {
        return Arrivals(0, {}, std::vector<uint64_t>(outstanding));
    }

    /// In ns; none_yet until another one is done.
    uint64_t next() const {
        if (!closed_)
            return next_ns_;
        return idle_.empty() ? none_yet : idle_.front();
    }
    void begin() {
        if (gap_) {
            next_ += gap_;
            next_ns_ = static_cast<uint64_t>(next_ / ns);
        } else if (closed_) {
            std::ranges::pop_heap(idle_, std::greater());
            idle_.pop_back();
        } else {
            begin_given();
        }
    }
    void done(uint64_t at) {
        if (closed_)
            done_closed(at);
    }

private:
    static constexpr uint64_t ns = uint64_t(1) << 32;  // parts of one

    Arrivals(uint64_t gap, std::span<const uint64_t> times, std::vector<uint64_t> idle)
        : gap_(gap), times_(times), idle_(std::move(idle)), closed_(!idle_.empty()) {}

    void done_closed(uint64_t at) {
        idle_.push_back(at);
        std::ranges::push_heap(idle_, std::greater());
    }

    void begin_given() {
        if (++begun_ < times_.size() && times_[begun_] > times_[0])
            next_ns_ = std::max(next_ns_, times_[begun_] - times_[0]);
    }

    uint64_t gap_;  // in parts of a ns; 0: at given times, or closed
    unsigned __int128 next_ = 0;
    std::span<const uint64_t> times_;
    size_t begun_ = 0;
    uint64_t next_ns_ = 0;        // unless closed
    std::vector<uint64_t> idle_;  // a heap: when those that may begin were done
    bool closed_;
};

}  // namespace ds::sim
