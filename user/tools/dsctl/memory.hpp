// SPDX-License-Identifier: Apache-2.0
// Memory of this host.
#pragma once

#include <cstdint>
#include <string_view>

namespace dsctl {

// Bytes of a line of /proc/meminfo; 0 if there is no such line.
uint64_t meminfo(std::string_view name);

// Bytes that this process can take without swapping, and within its limit, as far as that is known.
uint64_t memory_at_hand();

}  // namespace dsctl
