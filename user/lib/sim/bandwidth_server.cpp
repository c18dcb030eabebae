// SPDX-License-Identifier: Apache-2.0
#include "sim/bandwidth_server.hpp"

#include <cmath>

namespace ds::sim {

void BandwidthServer::set_bytes(uint64_t bytes) {
    last_bytes_ = bytes;
    last_service_ps_ =
        static_cast<uint64_t>(std::llround(static_cast<double>(bytes) * ps_per_byte_));
}

}  // namespace ds::sim
