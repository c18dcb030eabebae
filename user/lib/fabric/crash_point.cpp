// SPDX-License-Identifier: Apache-2.0
#include "fabric/crash_point.hpp"

#include <sched.h>
#include <time.h>

#include <cstdlib>
#include <mutex>
#include <utility>

namespace ds {
namespace {

std::mutex lock;

}  // namespace

TestPoints test_points;

TestPoints::TestPoints() {
    const std::pair<const char *, int> plans[] = {{"DS_CRASH_POINT", SIGKILL},
                                                  {"DS_STOP_POINT", SIGSTOP}};
    for (auto [variable, signal] : plans) {
        const char *plan = std::getenv(variable);
        if (!plan)
            continue;
        std::string name = plan;
        size_t colon = name.rfind(':');
        bool counted = colon != std::string::npos;
        uint64_t times = counted ? std::strtoull(plan + colon + 1, nullptr, 10) : 1;
        crash_at(name.substr(0, colon), times, signal);
    }
    if (const char *plan = std::getenv("DS_TEAR")) {
        char *end;
        uint64_t one_in = std::strtoull(plan, &end, 10);
        tear(one_in, *end == ':' ? std::strtoull(end + 1, nullptr, 10) : 200, 1);
    }
}

void TestPoints::crash_at(std::string point, uint64_t times, int signal) {
    name_ = std::move(point);
    left_ = times;
    signal_ = signal;
    crash_armed = times > 0;
}

void TestPoints::tear(uint64_t one_in, uint64_t longest_us, uint64_t seed) {
    one_in_ = one_in;
    longest_us_ = longest_us;
    random_ = seed;
    tear_armed = one_in > 0 && longest_us > 0;
}

void TestPoints::at_crash_point(const char *name) {
    std::lock_guard guard(lock);
    if (name_ == name && --left_ == 0)
        std::raise(signal_);
}

void TestPoints::at_tear_point() {
    uint64_t now;
    {
        std::lock_guard guard(lock);
        random_ = random_ * 6364136223846793005u + 1442695040888963407u;
        now = random_ >> 33;
    }
    if (now % one_in_)
        return;
    if (now & 64) {
        sched_yield();
        return;
    }
    timespec pause{0, static_cast<long>((now >> 7) % longest_us_ * 1000)};
    nanosleep(&pause, nullptr);
}

}  // namespace ds
