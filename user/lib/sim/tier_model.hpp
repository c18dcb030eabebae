// SPDX-License-Identifier: Apache-2.0
// The three tiers in virtual time: how long an access or a copy takes, and what goes over the
// links.
#pragma once

#include <cstdint>

#include "sim/bandwidth_server.hpp"
#include "sim/latency.hpp"

namespace ds::sim {

/// A link to a tier, and what went over it.
struct Link {
    BandwidthServer server;
    uint64_t operations = 0;
    uint64_t bytes = 0;

    uint64_t serve(uint64_t now, uint32_t size) {
        operations++;
        return serve_too(now, size);
    }

    /// With the operation before.
    uint64_t serve_too(uint64_t now, uint32_t size) {
        bytes += size;
        return server.serve(now, size);
    }
};

struct TierTimes {
    Latencies latencies;
    double cxl_bytes_per_ns = ds::sim::cxl_bytes_per_ns;
    double pcie_bytes_per_ns = ds::sim::pcie_bytes_per_ns;

    bool operator==(const TierTimes &) const = default;
};

/// Each call is later in virtual time than the one before, or at the same time; all return when it
/// is over. Bytes go over a link one transfer after the other; the latency begins behind that.
class TierModel {
public:
    TierModel(const TierTimes &times, uint64_t seed)
        : times_(times.latencies),
          random_(Random(seed).stream(0)),
          cxl_{BandwidthServer(times.cxl_bytes_per_ns)},
          pcie_{BandwidthServer(times.pcie_bytes_per_ns)} {}

    uint64_t access(unsigned tier, bool write, uint32_t bytes, uint64_t now) {
        switch (tier) {
        case 1:
            return now + draw(times_.l1);
        case 2:
            return cxl_.serve(now, bytes) + draw(times_.l2);
        default:
            return pcie_.serve(now, bytes) + draw(write ? times_.l3_write : times_.l3_read);
        }
    }

    /// A NIC gives its link so much to do at most before it begins another batch.
    bool saturated(unsigned tier, uint64_t now) const {
        return (tier == 2 ? cxl_ : pcie_).server.behind(now) >= saturated_ns;
    }

    /// A token is copied from one tier to another: what has L2 at one end goes over the CXL port.
    uint64_t copy(unsigned from, unsigned to, uint32_t bytes, uint64_t now) {
        return from == 2 || to == 2 ? access(2, to == 2, bytes, now)
                                    : access(3, to == 3, bytes, now);
    }

    /// The same in one operation with another copy of the same way: only its bytes are added.
    uint64_t copy_too(unsigned from, unsigned to, uint32_t bytes, uint64_t now) {
        if (from == 2 || to == 2)
            return cxl_.serve_too(now, bytes) + times_.l2.median_ns();
        return pcie_.serve_too(now, bytes) +
               (to == 3 ? times_.l3_write : times_.l3_read).median_ns();
    }

    /// The host's driver answers an expand request.
    uint64_t expand(uint64_t now) { return now + draw(times_.expand); }

    const Link &cxl() const { return cxl_; }
    const Link &pcie() const { return pcie_; }

private:
    static constexpr uint64_t saturated_ns = 1000;

    uint64_t draw(const Latency &latency) { return latency.draw(random_, drawn_++); }

    Latencies times_;
    Random::Stream random_;
    uint64_t drawn_ = 0;
    Link cxl_, pcie_;
};

}  // namespace ds::sim
