// SPDX-License-Identifier: Apache-2.0
// 2Q, full version (Johnson and Shasha, VLDB 1994): a quarter for what was used once, a ghost
// of half the capacity.
#include "sim/lists.hpp"
#include "sim/policy.hpp"

namespace ds::sim {
namespace {

class TwoQueues : public Policy {
public:
    TwoQueues(uint32_t capacity, uint32_t uniques)
        : capacity_(capacity), lists_(uniques, 3), where_(uniques, nowhere) {}

    bool access(uint32_t id) override {
        if (where_[id] == often)
            lists_.to_front(often, id);
        if (where_[id] == often || where_[id] == once)
            return true;
        // Making room may push it out of the ghost, which must not matter.
        List to = where_[id] == ghost ? often : once;
        if (lists_.size(once) + lists_.size(often) == capacity_)
            evict();
        put(to, id);
        return false;
    }

private:
    enum List : uint8_t { once, often, ghost, nowhere };

    void put(List list, uint32_t id) {
        if (where_[id] != nowhere)
            lists_.remove(where_[id], id);
        where_[id] = list;
        if (list != nowhere)
            lists_.push_front(list, id);
    }

    void evict() {
        if (lists_.size(once) <= capacity_ / 4)
            return put(nowhere, lists_.back(often));
        put(ghost, lists_.back(once));
        if (lists_.size(ghost) > capacity_ / 2)
            put(nowhere, lists_.back(ghost));
    }

    uint32_t capacity_;
    Lists lists_;
    std::vector<List> where_;
};

}  // namespace

std::unique_ptr<Policy> make_2q(uint32_t capacity, uint32_t, const Trace &trace) {
    return std::make_unique<TwoQueues>(capacity, trace.uniques);
}

}  // namespace ds::sim
