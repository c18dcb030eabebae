// SPDX-License-Identifier: Apache-2.0
// SIEVE (Zhang and others, NSDI 2024).
#include "sim/lists.hpp"
#include "sim/policy.hpp"

namespace ds::sim {
namespace {

class Sieve : public Policy {
public:
    Sieve(uint32_t capacity, uint32_t uniques)
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
    /// From where the hand stands towards the front, then again from the back.
    void evict() {
        uint32_t id = hand_ == Lists::none ? lists_.back(0) : hand_;

        while (used_[id]) {
            used_[id] = 0;
            id = lists_.before(id);
            if (id == Lists::none)
                id = lists_.back(0);
        }
        hand_ = lists_.before(id);
        lists_.remove(0, id);
    }

    uint32_t capacity_;
    Lists lists_;
    std::vector<uint8_t> used_;
    uint32_t hand_ = Lists::none;
};

}  // namespace

std::unique_ptr<Policy> make_sieve(uint32_t capacity, uint32_t, const Trace &trace) {
    return std::make_unique<Sieve>(capacity, trace.uniques);
}

}  // namespace ds::sim
