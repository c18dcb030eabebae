// SPDX-License-Identifier: Apache-2.0
// W-TinyLFU (Einziger, Friedman and Manes, ACM ToS 2017): what leaves the window comes into the
// main part only if it was used more often than what would have to go there. The main part is a
// segmented LRU with four fifths for what was used again.
#include <algorithm>

#include "sim/lists.hpp"
#include "sim/policy.hpp"
#include "sim/sketch.hpp"

namespace ds::sim {
namespace {

class WTinyLfu : public Policy {
public:
    WTinyLfu(uint32_t capacity, uint32_t percent, uint32_t uniques)
        : capacity_(capacity),
          window_(static_cast<uint32_t>(std::max<uint64_t>(1, uint64_t(capacity) * percent / 100))),
          protected_(static_cast<uint32_t>(uint64_t(capacity - window_) * 8 / 10)),
          sketch_(capacity, uniques),
          lists_(uniques, 3) {}

    bool access(uint32_t id) override {
        uint32_t where = lists_.where(id);

        sketch_.add(id);
        if (where == nowhere) {
            lists_.put(window, id);
            if (lists_.size(window) > window_)
                leave_window();
            return false;
        }
        if (where == probation) {
            lists_.put(guarded, id);
            if (lists_.size(guarded) > protected_)
                lists_.put(probation, lists_.back(guarded));
        } else {
            lists_.to_front(where, id);
        }
        return true;
    }

private:
    enum List : uint32_t { window, probation, guarded, nowhere };

    void leave_window() {
        uint32_t candidate = lists_.back(window);
        uint32_t used = window_ + lists_.size(probation) + lists_.size(guarded);

        if (used < capacity_)
            return lists_.put(probation, candidate);
        uint32_t victim = lists_.back(lists_.empty(probation) ? guarded : probation);
        if (victim == Lists::none || sketch_.count(candidate) <= sketch_.count(victim))
            return lists_.put(nowhere, candidate);
        lists_.put(nowhere, victim);
        lists_.put(probation, candidate);
    }

    uint32_t capacity_;
    uint32_t window_;
    uint32_t protected_;
    Sketch sketch_;
    Places lists_;
};

}  // namespace

std::unique_ptr<Policy> make_wtinylfu(uint32_t capacity, uint32_t window, const Trace &trace) {
    return std::make_unique<WTinyLfu>(capacity, window, trace.uniques);
}

}  // namespace ds::sim
