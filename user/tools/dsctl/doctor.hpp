// SPDX-License-Identifier: Apache-2.0
// The checks of 'dsctl doctor'. Each adds one or more findings.
#pragma once

#include <string>
#include <vector>

namespace dsctl {

enum class Health { ok, warning, failed, skipped };

struct Finding {
    std::string check;
    Health health;
    std::string detail;
    std::string remedy = "";  // of a warning or a failure
};

using Findings = std::vector<Finding>;

// doctor_host.cpp
void check_module(Findings &findings);  // loaded, version, /dev/ds
void check_limits(Findings &findings);  // RLIMIT_MEMLOCK, crc32 of rxe
void check_log(Findings &findings);     // bugs and warnings in the kernel's log

// doctor_links.cpp
void check_links(Findings &findings);  // RDMA devices, ports, MTU

// doctor_config.cpp
void check_configuration(Findings &findings);  // node, domains, devices, peers, servers

// True if the text of a kernel log record tells of a bug in the kernel.
bool is_splat(const std::string &record);

}  // namespace dsctl
