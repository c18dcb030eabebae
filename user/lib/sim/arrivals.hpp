// SPDX-License-Identifier: Apache-2.0
// When the next request of a run begins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace ds::sim {

/// Open: one after the other at a rate, however long they take. Closed: so many are under way, and
/// each that is done is followed by another one at once.
class Arrivals {
public:
    static constexpr uint64_t none_yet = std::numeric_limits<uint64_t>::max();

    static Arrivals open(double requests_per_us) {
        return Arrivals(static_cast<uint64_t>(1e6 / requests_per_us), {});
    }
    static Arrivals closed(uint32_t outstanding) {
        return Arrivals(0, std::vector<uint64_t>(outstanding));
    }

    /// In ns; none_yet until another one is done.
    uint64_t next() const {
        if (gap_ps_)
            return next_ps_ / 1000;
        return idle_.empty() ? none_yet : idle_.front();
    }
    void begin() {
        if (gap_ps_) {
            next_ps_ += gap_ps_;
            return;
        }
        std::ranges::pop_heap(idle_, std::greater());
        idle_.pop_back();
    }
    void done(uint64_t at) {
        if (gap_ps_)
            return;
        idle_.push_back(at);
        std::ranges::push_heap(idle_, std::greater());
    }

private:
    Arrivals(uint64_t gap_ps, std::vector<uint64_t> idle)
        : gap_ps_(gap_ps), idle_(std::move(idle)) {}

    uint64_t gap_ps_;  // 0: closed
    uint64_t next_ps_ = 0;
    std::vector<uint64_t> idle_;  // a heap: when those that may begin were done
};

}  // namespace ds::sim
