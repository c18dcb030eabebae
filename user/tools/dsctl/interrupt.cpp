// SPDX-License-Identifier: Apache-2.0
#include "interrupt.hpp"

#include <poll.h>

#include <csignal>

namespace dsctl {

static volatile std::sig_atomic_t seen;

void watch_interrupts() {
    struct sigaction action = {};

    action.sa_handler = [](int) { seen = 1; };
    // A second one kills, should the first wait not end.
    action.sa_flags = SA_RESETHAND;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() {
    return seen;
}

void sleep_until(std::chrono::steady_clock::time_point time) {
    using std::chrono::nanoseconds;
    using std::chrono::seconds;
    sigset_t blocked, before;

    // Between a look and the wait no signal is taken, so none is missed.
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    while (!seen) {
        nanoseconds left = time - std::chrono::steady_clock::now();
        if (left <= nanoseconds::zero())
            break;
        seconds whole = std::chrono::floor<seconds>(left);
        timespec wait{.tv_sec = whole.count(), .tv_nsec = (left - whole).count()};
        ppoll(nullptr, 0, &wait, &before);
    }
    sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace dsctl
