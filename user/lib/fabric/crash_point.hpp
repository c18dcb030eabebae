// SPDX-License-Identifier: Apache-2.0
// Named places where a test kills the process, and where it lets others go
// first. Off by default; then each costs a load and a branch.
//
//   DS_CRASH_POINT=NAME or NAME:N   SIGKILL when the process comes to the point
//                                   NAME for the N-th time, N from 1
//   DS_STOP_POINT=NAME or NAME:N    the same with SIGSTOP
//   DS_TEAR=N or N:US               one time in N that the local fabric is about
//                                   to copy a word, on average, it waits for up to
//                                   US microseconds (200)
//
// The environment is read once.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>

namespace ds {

struct TestPoints {
    TestPoints();

    void crash_at(std::string point, uint64_t times, int signal = SIGKILL);
    void tear(uint64_t one_in, uint64_t longest_us, uint64_t seed);

    bool crash_armed = false;
    bool tear_armed = false;

    // What the two calls below do when they are armed.
    void at_crash_point(const char *name);
    void at_tear_point();

private:
    std::string name_;
    uint64_t left_ = 0;
    int signal_ = SIGKILL;
    uint64_t one_in_ = 0;
    uint64_t longest_us_ = 0;
    uint64_t random_ = 0;
};

extern TestPoints test_points;

inline void crash_point(const char *name) {
    if (test_points.crash_armed) [[unlikely]]
        test_points.at_crash_point(name);
}

inline void tear_point() {
    if (test_points.tear_armed) [[unlikely]]
        test_points.at_tear_point();
}

}  // namespace ds
