// SPDX-License-Identifier: Apache-2.0
#include "sim/bandwidth_server.hpp"

#include <cmath>

namespace ds::sim {

void BandwidthServer::set_bytes(uint64_t bytes) {
    last_bytes_ = bytes;
    last_service_ps_ =
        static_cast<uint64_t>(std::llround(static_cast<double>(bytes) * ps_per_byte_));
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
