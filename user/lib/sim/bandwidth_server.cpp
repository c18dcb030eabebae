// SPDX-License-Identifier: Apache-2.0
#include "sim/bandwidth_server.hpp"

#include <algorithm>
#include <cmath>

namespace ds::sim {
namespace {

constexpr uint64_t ps = 1000;  // in a ns

}  // namespace

uint64_t BandwidthServer::serve(uint64_t now, uint64_t bytes) {
    auto service = static_cast<uint64_t>(std::llround(static_cast<double>(bytes) * ps_per_byte_));

    busy_until_ps_ = std::max(now * ps, busy_until_ps_) + service;
    busy_ps_ += service;
    return (busy_until_ps_ + ps - 1) / ps;
}

double BandwidthServer::utilisation(uint64_t now) {
    uint64_t busy = busy_before(now * ps);
    uint64_t window = now * ps - window_start_ps_;
    double share =
        window ? static_cast<double>(busy - window_busy_ps_) / static_cast<double>(window) : 0;

    window_start_ps_ = now * ps;
    window_busy_ps_ = busy;
    return share;
}

}  // namespace ds::sim
