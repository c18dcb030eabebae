// SPDX-License-Identifier: Apache-2.0
// ds::fabric::Liveness: asks the kernel over netlink which peers are connected.
#pragma once

#include <mutex>
#include <optional>

#include <ds/netlink.hpp>

namespace ds::fabric {

class Liveness {
public:
    /// 1: connected, 0: known and not connected, -ENOENT: unknown, or another
    /// negative errno. Any thread may call it.
    int node(uint32_t number);

private:
    std::mutex lock_;
    std::optional<netlink::Client> client_;  // opened by the first question
};

}  // namespace ds::fabric
