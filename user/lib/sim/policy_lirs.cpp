// SPDX-License-Identifier: Apache-2.0
// LIRS (Jiang and Zhang, SIGMETRICS 2002): the stack orders by recency; what is used twice in
// it is worth keeping. A hundredth of the cache is for the others, and twice its capacity of
// those that left are remembered.
#include <algorithm>

#include "sim/lists.hpp"
#include "sim/policy.hpp"

namespace ds::sim {
namespace {

class Lirs : public Policy {
public:
    Lirs(uint32_t capacity, uint32_t uniques)
        : capacity_(capacity),
          most_kept_(capacity - std::max(1u, capacity / 100)),
          stack_(uniques, 1),
          others_(uniques, 2),
          where_(uniques, nowhere) {}

    bool access(uint32_t id) override {
        switch (where_[id]) {
        case kept:
            stack_.to_front(0, id);
            prune();
            return true;
        case resident:
            use_again(id);
            return true;
        case gone:
        case nowhere:
            miss(id);
            return false;
        }
        return false;
    }

private:
    // resident and gone are also the numbers of their lists.
    enum Where : uint8_t { resident, gone, kept, nowhere };

    void put(Where where, uint32_t id) {
        if (where_[id] == resident || where_[id] == gone)
            others_.remove(where_[id], id);
        kept_ += (where == kept) - (where_[id] == kept);
        where_[id] = where;
        if (where == resident || where == gone)
            others_.push_front(where, id);
    }

    void to_top(uint32_t id) {
        if (stack_.linked(id))
            stack_.to_front(0, id);
        else
            stack_.push_front(0, id);
    }

    void use_again(uint32_t id) {
        bool near = stack_.linked(id);

        to_top(id);
        put(near ? kept : resident, id);
        settle();
    }

    void miss(uint32_t id) {
        if (kept_ < most_kept_ && others_.empty(resident)) {
            put(kept, id);
            to_top(id);
            return;
        }
        bool near = where_[id] == gone;
        if (kept_ + others_.size(resident) == capacity_)
            evict();
        to_top(id);
        put(near ? kept : resident, id);
        settle();
    }

    void evict() {
        uint32_t id = others_.back(resident);

        put(stack_.linked(id) ? gone : nowhere, id);
        if (others_.size(gone) > 2 * capacity_) {
            uint32_t oldest = others_.back(gone);
            stack_.remove(0, oldest);
            put(nowhere, oldest);
        }
    }

    /// The kept one that was used longest ago makes room for one more.
    void settle() {
        prune();
        while (kept_ > most_kept_) {
            put(resident, stack_.pop_back(0));
            prune();
        }
    }

    /// At the bottom of the stack is a kept one: below it nobody is used twice.
    void prune() {
        uint32_t id;

        while ((id = stack_.back(0)) != Lists::none && where_[id] != kept) {
            stack_.remove(0, id);
            if (where_[id] == gone)
                put(nowhere, id);
        }
    }

    uint32_t capacity_;
    uint32_t most_kept_;
    uint32_t kept_ = 0;
    Lists stack_;
    Lists others_;
    std::vector<Where> where_;
};

}  // namespace

std::unique_ptr<Policy> make_lirs(uint32_t capacity, uint32_t, const Trace &trace) {
    return std::make_unique<Lirs>(capacity, trace.uniques);
}

}  // namespace ds::sim
