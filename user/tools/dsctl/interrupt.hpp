// SPDX-License-Identifier: Apache-2.0
// Ctrl-C for commands that have something to say, or to remove, before they end.
#pragma once

#include <poll.h>

#include <chrono>
#include <csignal>

namespace dsctl {

// From here on the first SIGINT, SIGTERM, SIGHUP or SIGQUIT does not kill; it ends waits (EINTR).
// The second one does, should the first wait not end. SIGHUP and SIGQUIT are ignored if they were.
void watch_interrupts();

// Signals do again what they did before. What has come, interrupted() still says.
void unwatch_interrupts();

// A signal that ends dsctl, whichever but SIGKILL, removes this file first, if there is one;
// nullptr: none any more. The name stays as long. What dsctl was told to ignore, as in the
// background, is ignored.
void remove_if_killed(const char *path);

// As long as it is there, this thread takes no signal.
class Blocked {
public:
    Blocked();
    ~Blocked();
    Blocked(const Blocked &) = delete;
    Blocked &operator=(const Blocked &) = delete;

protected:
    sigset_t before_;
};

bool interrupted();

// Until @p time or an interrupt, also one that came before.
void sleep_until(std::chrono::steady_clock::time_point time);

// The same, but at most until @p file has something, or any signal has come.
void wait_until(std::chrono::steady_clock::time_point time, pollfd *file);

}  // namespace dsctl
