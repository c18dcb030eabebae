// SPDX-License-Identifier: Apache-2.0
// OPT (Belady, 1966): what will be used again last goes first, and that may be what was just
// asked for. No policy that knows less, or must keep everything, has more hits.
#include <algorithm>

#include "sim/policy.hpp"

namespace ds::sim {
namespace {

class Opt : public Policy {
public:
    Opt(uint32_t capacity, const Trace &trace) : capacity_(capacity), cached_(trace.uniques) {
        std::vector<uint32_t> after(trace.uniques, never);

        next_.resize(trace.accesses());
        uint32_t at = static_cast<uint32_t>(next_.size());
        for (auto r = trace.requests.rbegin(); r != trace.requests.rend(); ++r) {
            if (!r->access())
                continue;
            next_[--at] = after[r->id];
            after[r->id] = at;
        }
    }

    bool access(uint32_t id) override {
        bool hit = cached_[id];
        uint32_t next = next_[now_++];

        size_ -= hit;
        cached_[id] = 0;
        if (next == never || (size_ == capacity_ && !evict_later_than(next)))
            return hit;
        cached_[id] = 1;
        size_++;
        push({next, id});
        return hit;
    }

private:
    static constexpr uint32_t never = UINT32_MAX;

    struct Use {
        uint32_t when;
        uint32_t id;
        bool operator<(const Use &other) const { return when < other.when; }
    };

    /// The cache is full, so the last use to come is that of something in it.
    bool evict_later_than(uint32_t when) {
        if (uses_.front().when < when)
            return false;
        std::pop_heap(uses_.begin(), uses_.end());
        cached_[uses_.back().id] = 0;
        uses_.pop_back();
        size_--;
        return true;
    }

    /// Uses that are over stay at the bottom of the heap, until there are too many.
    void push(Use use) {
        if (uses_.size() > 4 * size_t(capacity_)) {
            std::erase_if(uses_, [&](Use old) { return old.when < now_; });
            std::make_heap(uses_.begin(), uses_.end());
        }
        uses_.push_back(use);
        std::push_heap(uses_.begin(), uses_.end());
    }

    uint32_t capacity_;
    uint32_t size_ = 0;
    uint32_t now_ = 0;
    std::vector<uint32_t> next_;  // access to the same object
    std::vector<uint8_t> cached_;
    std::vector<Use> uses_;
};

}  // namespace

std::unique_ptr<Policy> make_opt(uint32_t capacity, uint32_t, const Trace &trace) {
    return std::make_unique<Opt>(capacity, trace);
}

}  // namespace ds::sim
