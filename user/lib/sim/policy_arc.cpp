// SPDX-License-Identifier: Apache-2.0
// ARC (Megiddo and Modha, FAST 2003): T1 and T2 hold what was used once and more often, B1 and
// B2 remember what left them.
#include <algorithm>

#include "sim/lists.hpp"
#include "sim/policy.hpp"

namespace ds::sim {
namespace {

class Arc : public Policy {
public:
    Arc(uint32_t capacity, uint32_t uniques) : capacity_(capacity), lists_(uniques, 4) {}

    bool access(uint32_t id) override {
        switch (lists_.where(id)) {
        case t1:
        case t2:
            lists_.put(t2, id);
            return true;
        case b1:
            target_ = std::min<double>(capacity_, target_ + share(b2, b1));
            replace(false);
            lists_.put(t2, id);
            return false;
        case b2:
            target_ = std::max(0.0, target_ - share(b1, b2));
            replace(true);
            lists_.put(t2, id);
            return false;
        case nowhere:
            make_room();
            lists_.put(t1, id);
        }
        return false;
    }

private:
    enum List : uint32_t { t1, t2, b1, b2, nowhere };

    double share(List other, List own) const {
        return std::max(1.0, static_cast<double>(lists_.size(other)) / lists_.size(own));
    }

    /// Moves one from T1 or T2 into the memory behind it.
    void replace(bool of_b2) {
        uint32_t once = lists_.size(t1);

        if (once > 0 && (once > target_ || (of_b2 && once == target_)))
            lists_.put(b1, lists_.back(t1));
        else
            lists_.put(b2, lists_.back(t2));
    }

    void make_room() {
        uint32_t once = lists_.size(t1) + lists_.size(b1);
        uint32_t all = once + lists_.size(t2) + lists_.size(b2);

        if (once == capacity_) {
            if (lists_.size(t1) == capacity_)
                return lists_.put(nowhere, lists_.back(t1));
            lists_.put(nowhere, lists_.back(b1));
            replace(false);
        } else if (all >= capacity_) {
            if (all == 2 * capacity_)
                lists_.put(nowhere, lists_.back(b2));
            replace(false);
        }
    }

    uint32_t capacity_;
    double target_ = 0;  // size of T1
    Places lists_;
};

}  // namespace

std::unique_ptr<Policy> make_arc(uint32_t capacity, uint32_t, const Trace &trace) {
    return std::make_unique<Arc>(capacity, trace.uniques);
}

}  // namespace ds::sim
