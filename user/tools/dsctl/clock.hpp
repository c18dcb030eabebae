// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dsctl {

// The time of day in UTC: "2031-02-03T04:05:06.789Z".
std::string timestamp();

// Processor time of this process so far, in all its threads.
double cpu_seconds();

}  // namespace dsctl
