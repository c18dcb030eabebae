// SPDX-License-Identifier: Apache-2.0
// 2Q, full version (Johnson and Shasha, VLDB 1994): a quarter for what was used once, a ghost
// of half the capacity.
#include "sim/lists.hpp"
#include "sim/policy.hpp"

namespace ds::sim {
namespace {

class TwoQueues : public Policy {
public:
    TwoQueues(uint32_t capacity, uint32_t uniques) : capacity_(capacity), lists_(uniques, 3) {}

    bool access(uint32_t id) override {
        if (lists_.where(id) == often)
            lists_.to_front(often, id);
        if (lists_.where(id) == often || lists_.where(id) == once)
            return true;
        // Making room may push it out of the ghost, which must not matter.
        uint32_t to = lists_.where(id) == ghost ? often : once;
        if (lists_.size(once) + lists_.size(often) == capacity_)
            evict();
        lists_.put(to, id);
        return false;
    }

private:
    enum List : uint32_t { once, often, ghost, nowhere };

    void evict() {
        if (lists_.size(once) <= capacity_ / 4)
            return lists_.put(nowhere, lists_.back(often));
        lists_.put(ghost, lists_.back(once));
        if (lists_.size(ghost) > capacity_ / 2)
            lists_.put(nowhere, lists_.back(ghost));
    }

    uint32_t capacity_;
    Places lists_;
};

}  // namespace

std::unique_ptr<Policy> make_2q(uint32_t capacity, uint32_t, const Trace &trace) {
    return std::make_unique<TwoQueues>(capacity, trace.uniques);
}

}  // namespace ds::sim
