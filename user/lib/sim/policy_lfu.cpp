// SPDX-License-Identifier: Apache-2.0
// LFU: of those used least often, the one used longest ago goes. All counts are halved each
// ten times the capacity of accesses, so that old fame fades.
#include <algorithm>

#include "sim/lists.hpp"
#include "sim/policy.hpp"

namespace ds::sim {
namespace {

class Lfu : public Policy {
public:
    Lfu(uint32_t capacity, uint32_t uniques)
        : capacity_(capacity), lists_(uniques, most + 1), uses_(uniques), last_(uniques) {}

    bool access(uint32_t id) override {
        bool hit = lists_.linked(id);

        if (++now_ % (10 * uint64_t(capacity_)) == 0)
            halve();
        if (hit) {
            uint32_t uses = uses_[id];
            put(id, std::min(most, uses + 1));
        } else {
            if (size_ == capacity_)
                evict();
            size_++;
            insert(id, 1);
        }
        return hit;
    }

private:
    static constexpr uint32_t most = 255;  // so many lists, one a count

    void insert(uint32_t id, uint32_t uses) {
        lists_.push_front(uses, id);
        uses_[id] = static_cast<uint8_t>(uses);
        last_[id] = now_;
        least_ = std::min(least_, uses);
    }

    void put(uint32_t id, uint32_t uses) {
        lists_.remove(uses_[id], id);
        insert(id, uses);
    }

    void evict() {
        while (lists_.empty(least_))
            least_++;
        lists_.pop_back(least_);
        size_--;
    }

    /// Neighbouring lists become one, in the order of last use.
    void halve() {
        for (uint32_t uses = 0; uses <= most; uses++)
            while (!lists_.empty(uses))
                ageing_.push_back(lists_.pop_back(uses));
        std::sort(ageing_.begin(), ageing_.end(),
                  [&](uint32_t a, uint32_t b) { return last_[a] < last_[b]; });
        least_ = 0;
        for (uint32_t id : ageing_) {
            uses_[id] /= 2;
            lists_.push_front(uses_[id], id);
        }
        ageing_.clear();
    }

    uint32_t capacity_;
    uint32_t size_ = 0;
    uint32_t least_ = 0;  // no list before it has anything
    uint64_t now_ = 0;
    Lists lists_;
    std::vector<uint8_t> uses_;
    std::vector<uint64_t> last_;
    std::vector<uint32_t> ageing_;
};

}  // namespace

std::unique_ptr<Policy> make_lfu(uint32_t capacity, uint32_t, const Trace &trace) {
    return std::make_unique<Lfu>(capacity, trace.uniques);
}

}  // namespace ds::sim
