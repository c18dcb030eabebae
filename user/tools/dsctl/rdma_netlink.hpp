// SPDX-License-Identifier: Apache-2.0
// What RDMA's own netlink family tells of devices (rdma(8) shows the same).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ds/token.h>

namespace dsctl {

// Is queue pair 1 of the device in error, by which hosts agree to connect? Nothing
// repairs it then but to make the device anew. Nothing: the kernel does not tell.
std::optional<bool> management_is_dead(const std::string &device);

// Who made an object, by the kernel's word: what rdma_cm made for ds.ko is "other" there.
enum class Maker { ds, program, other };

// A PD, CQ, MR or QP of a device.
struct RdmaObject {
    ds_token_object object;
    uint32_t number;    // of the kernel's list; what rdma(8) calls pdn, cqn, mrn, lqpn
    std::string owner;  // "[ib_core]" is a module, "ibv_rc_pingpong" a program
    Maker maker;

    auto key() const { return std::pair(object.type, number); }
};

// All of them, PDs first. Nothing: there is no such device, or the kernel does not tell.
std::optional<std::vector<RdmaObject>> list_objects(const std::string &device);

}  // namespace dsctl
