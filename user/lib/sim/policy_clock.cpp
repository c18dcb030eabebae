// SPDX-License-Identifier: Apache-2.0
#include "sim/lists.hpp"
#include "sim/policy.hpp"

namespace ds::sim {
namespace {

/// The hand stands at the back of the list, and the clock turns below it.
class Clock : public Policy {
public:
    Clock(uint32_t capacity, uint32_t uniques)
        : capacity_(capacity), lists_(uniques, 1), used_(uniques) {}

    bool access(uint32_t id) override {
        if (lists_.linked(id)) {
            used_[id] = 1;
            return true;
        }
        if (lists_.size(0) == capacity_)
            evict();
        lists_.push_front(0, id);
        used_[id] = 0;
        return false;
    }

private:
    void evict() {
        uint32_t id;

        while (used_[id = lists_.back(0)]) {
            used_[id] = 0;
            lists_.to_front(0, id);
        }
        lists_.remove(0, id);
    }

    uint32_t capacity_;
    Lists lists_;
    std::vector<uint8_t> used_;
};

}  // namespace

std::unique_ptr<Policy> make_clock(uint32_t capacity, uint32_t, const Trace &trace) {
    return std::make_unique<Clock>(capacity, trace.uniques);
}

}  // namespace ds::sim
