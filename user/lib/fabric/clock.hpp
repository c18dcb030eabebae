// SPDX-License-Identifier: Apache-2.0
// The clock of the backends that run in real time: CLOCK_MONOTONIC, in ns.
#pragma once

#include <time.h>

#include <cerrno>
#include <cstdint>

namespace ds::fabric {

inline timespec to_timespec(uint64_t ns) {
    constexpr uint64_t s = 1'000'000'000;
    return {.tv_sec = static_cast<time_t>(ns / s), .tv_nsec = static_cast<long>(ns % s)};
}

inline uint64_t monotonic_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

/// Signals do not end it.
inline void sleep_until_monotonic(uint64_t ns) {
    timespec until = to_timespec(ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

}  // namespace ds::fabric
