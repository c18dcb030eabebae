// SPDX-License-Identifier: Apache-2.0
// S3-FIFO (Yang and others, SOSP 2023): a tenth for the small queue, a ghost as long as the main
// queue. Who goes from the small queue to the main one drives nobody out there, as in its authors'
// libCacheSim: room is made for newcomers only.
#include <algorithm>

#include "sim/lists.hpp"
#include "sim/policy.hpp"

namespace ds::sim {
namespace {

class S3Fifo : public Policy {
public:
    S3Fifo(uint32_t capacity, uint32_t uniques)
        : capacity_(capacity),
          small_(std::max(1u, capacity / 10)),
          ghost_(capacity - small_),
          lists_(uniques, 3),
          uses_(uniques) {}

    bool access(uint32_t id) override {
        if (lists_.where(id) == small || lists_.where(id) == main) {
            uses_[id] = std::min<uint8_t>(3, uses_[id] + 1);
            return true;
        }
        // It may leave the ghost while room is made.
        while (lists_.size(small) + lists_.size(main) >= capacity_)
            evict();
        uses_[id] = 0;
        lists_.put(lists_.where(id) == ghost ? main : small, id);
        return false;
    }

private:
    enum List : uint32_t { small, main, ghost, nowhere };

    void evict() {
        if (lists_.size(small) >= small_ || lists_.empty(main))
            evict_small();
        else
            evict_main();
    }

    void evict_small() {
        while (!lists_.empty(small)) {
            uint32_t id = lists_.back(small);
            if (uses_[id] <= 1)
                return remember(id);
            uses_[id] = 0;
            lists_.put(main, id);
        }
    }

    void evict_main() {
        for (;;) {
            uint32_t id = lists_.back(main);
            if (uses_[id] == 0)
                return lists_.put(nowhere, id);
            uses_[id]--;
            lists_.to_front(main, id);
        }
    }

    void remember(uint32_t id) {
        lists_.put(ghost, id);
        if (lists_.size(ghost) > ghost_)
            lists_.put(nowhere, lists_.back(ghost));
    }

    uint32_t capacity_;
    uint32_t small_;
    uint32_t ghost_;
    Places lists_;
    std::vector<uint8_t> uses_;
};

}  // namespace

std::unique_ptr<Policy> make_s3fifo(uint32_t capacity, uint32_t, const Trace &trace) {
    return std::make_unique<S3Fifo>(capacity, trace.uniques);
}

}  // namespace ds::sim
