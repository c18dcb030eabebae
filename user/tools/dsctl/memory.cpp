// SPDX-License-Identifier: Apache-2.0
#include "memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace dsctl {

uint64_t meminfo(std::string_view name) {
    std::ifstream file("/proc/meminfo");

    for (std::string word; file >> word;)
        if (word == std::string(name) + ":") {
            uint64_t kib = 0;
            file >> kib;
            return kib << 10;
        }
    return 0;
}

// That of 'ulimit -v', less what is taken of it already.
static uint64_t left_of_limit() {
    std::ifstream file("/proc/self/statm");
    uint64_t pages = 0;
    rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || !(file >> pages))
        return UINT64_MAX;
    return limit.rlim_cur - std::min(limit.rlim_cur, pages * sysconf(_SC_PAGESIZE));
}

uint64_t memory_at_hand() {
    uint64_t available = meminfo("MemAvailable");

    return std::min(available ? available : UINT64_MAX, left_of_limit());
}

}  // namespace dsctl
