// SPDX-License-Identifier: Apache-2.0
#include "interrupt.hpp"

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

}  // namespace dsctl
