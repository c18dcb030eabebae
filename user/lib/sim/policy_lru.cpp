// SPDX-License-Identifier: Apache-2.0
#include "sim/lists.hpp"
#include "sim/policy.hpp"

namespace ds::sim {
namespace {

class Lru : public Policy {
public:
    Lru(uint32_t capacity, uint32_t uniques) : capacity_(capacity), lists_(uniques, 1) {}

    bool access(uint32_t id) override {
        if (lists_.linked(id)) {
            lists_.to_front(0, id);
            return true;
        }
        if (lists_.size(0) == capacity_)
            lists_.pop_back(0);
        lists_.push_front(0, id);
        return false;
    }

private:
    uint32_t capacity_;
    Lists lists_;
};

}  // namespace

std::unique_ptr<Policy> make_lru(uint32_t capacity, uint32_t, const Trace &trace) {
    return std::make_unique<Lru>(capacity, trace.uniques);
}

}  // namespace ds::sim
