// SPDX-License-Identifier: Apache-2.0
// A link or a memory port in virtual time: one transfer after the other.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ds::sim {

/// Times in ns from the start of the run, in calls that never go back in time; inside it counts
/// in picoseconds, because 64 bytes take less than 2 ns on a CXL port.
class BandwidthServer {
public:
    /// 200 days: a run ends before, so that no sum of times is too large.
    static constexpr uint64_t most_ns = 200ULL * 86'400 * 1'000'000'000;

    /// @p bytes_per_ns: above 0.
    explicit BandwidthServer(double bytes_per_ns) : ps_per_byte_(1000 / bytes_per_ns) {}

    /// A transfer asked for at @p now. Returns when its last byte is over, rounded up.
    uint64_t serve(uint64_t now, uint64_t bytes) {
        if (bytes != last_bytes_)
            set_bytes(bytes);
        busy_until_ps_ = std::max(now * ps, busy_until_ps_) + last_service_ps_;
        return (busy_until_ps_ + ps - 1) / ps;
    }

    /// How long a transfer asked for at @p now would wait for others.
    uint64_t behind(uint64_t now) const {
        return busy_until_ps_ > now * ps ? busy_until_ps_ / ps - now : 0;
    }

private:
    static constexpr uint64_t ps = 1000;  // in a ns

    void set_bytes(uint64_t bytes);

    double ps_per_byte_;
    uint64_t last_bytes_ = 0;  // most transfers are as long as the one before
    uint64_t last_service_ps_ = 0;
    uint64_t busy_until_ps_ = 0;
};

}  // namespace ds::sim
