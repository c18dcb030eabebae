// SPDX-License-Identifier: Apache-2.0
// The token cache's own policy and document 001's: the code that is in the module.
#include <new>
#include <vector>

#include "sim/core.hpp"
#include "sim/policy.hpp"

namespace ds::sim {
namespace {

class Ds : public Policy {
public:
    Ds(uint32_t capacity, uint32_t uniques, ds_policy_mode mode) : slots_(uniques, none) {
        if (ds_policy_init(&policy_, capacity, mode) < 0)  // make_policy() has looked at the rest
            throw std::bad_alloc();
    }
    ~Ds() override { ds_policy_destroy(&policy_); }
    Ds(const Ds &) = delete;
    Ds &operator=(const Ds &) = delete;

    bool access(uint32_t id) override {
        uint32_t slot = slots_[id], victim = none;

        if (slot != none) {
            ds_policy_hit(&policy_, slot);
            return true;
        }
        slots_[id] = ds_policy_miss(&policy_, id, 3, &victim);
        if (victim != none)
            slots_[victim] = none;
        return false;
    }

protected:
    ds_policy policy_{};

private:
    static constexpr uint32_t none = DS_POLICY_NONE;

    std::vector<uint32_t> slots_;  // by object
};

/// Time follows uses, by 1024 ns a tick: last uses differ as finely as in run(), and a trace would
/// need 2^36 uses for their 30 bits to wrap. Nobody leaves because he was idle, nor from the
/// trials, counts age with uses. What adaptive-001 is told is that DMA is not busy and the
/// processor is: only its trials raise its thresholds.
class Ds001 : public Ds {
public:
    Ds001(uint32_t capacity, uint32_t uniques, ds_policy_mode mode) : Ds(capacity, uniques, mode) {
        params().demote_from_l1_idle_ns = UINT64_MAX;
    }

    ds_policy_params &params() { return policy_.base->params; }

    bool access(uint32_t id) override {
        bool hit = Ds::access(id);

        hits_ += hit;
        if (++uses_ % between == 0)
            tick();
        return hit;
    }

private:
    static constexpr uint64_t between = 64;  // as in run()
    static constexpr uint64_t unit_ns = 1024;

    void tick() {
        ds_policy_load load{
            .dma = 0,
            .l1 = static_cast<uint32_t>((hits_ - hits_then_) * 1000 / (uses_ - uses_then_)),
            .l2 = 0,
            .cpu = 1000,
            .moves = 0,
            .waits = 0,
            .blocking = false};
        if (!ds_policy_tick(&policy_, uses_ / between * unit_ns, uses_, &load))
            return;
        hits_then_ = hits_;
        uses_then_ = uses_;
    }

    uint64_t uses_ = 0, hits_ = 0, uses_then_ = 0, hits_then_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_ds(uint32_t capacity, uint32_t, const Trace &trace) {
    return std::make_unique<Ds>(capacity, trace.uniques, DS_POLICY_DEFAULT);
}

std::unique_ptr<Policy> make_literal_001(uint32_t capacity, uint32_t threshold,
                                         const Trace &trace) {
    return make_literal_001(capacity, threshold, trace, DS_POLICY_ALPHA);
}

std::unique_ptr<Policy> make_literal_001(uint32_t capacity, uint32_t threshold, const Trace &trace,
                                         uint32_t alpha) {
    auto policy = std::make_unique<Ds001>(capacity, trace.uniques, DS_POLICY_LITERAL_001);

    policy->params().promote_to_l1_threshold = threshold;
    policy->params().alpha = alpha;
    return policy;
}

std::unique_ptr<Policy> make_adaptive_001(uint32_t capacity, uint32_t, const Trace &trace) {
    return std::make_unique<Ds001>(capacity, trace.uniques, DS_POLICY_ADAPTIVE_001);
}

}  // namespace ds::sim
