// SPDX-License-Identifier: Apache-2.0
// What RDMA's own netlink family tells of devices (rdma(8) shows the same).
#pragma once

#include <optional>
#include <string>

namespace dsctl {

// Is queue pair 1 of the device in error, by which hosts agree to connect? Nothing
// repairs it then but to make the device anew. Nothing: the kernel does not tell.
std::optional<bool> management_is_dead(const std::string &device);

}  // namespace dsctl
