// SPDX-License-Identifier: Apache-2.0
// How far a pass over requests has come, for those who show it.
#pragma once

#include <atomic>
#include <cstdint>

namespace ds::sim {

/// Counts requests; those who look see every 16384th.
class Step {
public:
    /// @p seen: may be null.
    explicit Step(std::atomic<uint64_t> *seen) : seen_(seen) {}

    void next() {
        if (++count_ % period == 0 && seen_)
            *seen_ = count_;
    }

private:
    static constexpr uint64_t period = 1 << 14;

    std::atomic<uint64_t> *seen_;
    uint64_t count_ = 0;
};

}  // namespace ds::sim
