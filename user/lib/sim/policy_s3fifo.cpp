// SPDX-License-Identifier: Apache-2.0
// S3-FIFO (Yang and others, SOSP 2023), as its paper says: a tenth for the small queue, a
// ghost as long as the main queue.
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
          where_(uniques, nowhere),
          uses_(uniques) {}

    bool access(uint32_t id) override {
        if (where_[id] == small || where_[id] == main) {
            uses_[id] = std::min<uint8_t>(3, uses_[id] + 1);
            return true;
        }
        // It may leave the ghost while room is made.
        while (lists_.size(small) + lists_.size(main) >= capacity_)
            evict();
        uses_[id] = 0;
        put(where_[id] == ghost ? main : small, id);
        return false;
    }

private:
    enum List : uint8_t { small, main, ghost, nowhere };

    void put(List list, uint32_t id) {
        if (where_[id] != nowhere)
            lists_.remove(where_[id], id);
        where_[id] = list;
        if (list != nowhere)
            lists_.push_front(list, id);
    }

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
            put(main, id);
        }
    }

    void evict_main() {
        for (;;) {
            uint32_t id = lists_.back(main);
            if (uses_[id] == 0)
                return put(nowhere, id);
            uses_[id]--;
            lists_.to_front(main, id);
        }
    }

    void remember(uint32_t id) {
        put(ghost, id);
        if (lists_.size(ghost) > ghost_)
            put(nowhere, lists_.back(ghost));
    }

    uint32_t capacity_;
    uint32_t small_;
    uint32_t ghost_;
    Lists lists_;
    std::vector<List> where_;
    std::vector<uint8_t> uses_;
};

}  // namespace

std::unique_ptr<Policy> make_s3fifo(uint32_t capacity, uint32_t, const Trace &trace) {
    return std::make_unique<S3Fifo>(capacity, trace.uniques);
}

}  // namespace ds::sim
