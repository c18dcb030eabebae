// SPDX-License-Identifier: Apache-2.0
#include "clock.hpp"

#include <sys/resource.h>

#include <ctime>

#include "units.hpp"

namespace dsctl {

std::string timestamp() {
    timespec now;
    tm parts;
    char text[32];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    return format("%s.%03ldZ", text, now.tv_nsec / 1000000);
}

double cpu_seconds() {
    rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](const timeval &time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace dsctl
