// SPDX-License-Identifier: Apache-2.0
// Ctrl-C for commands that have something to say before they end.
#pragma once

#include <poll.h>

#include <chrono>

namespace dsctl {

// From here on SIGINT and SIGTERM do not kill; they end waits (EINTR).
void watch_interrupts();

bool interrupted();

// Until @p time or an interrupt, also one that came before.
void sleep_until(std::chrono::steady_clock::time_point time);

// The same, but at most until @p file has something, or any signal has come.
void wait_until(std::chrono::steady_clock::time_point time, pollfd *file);

}  // namespace dsctl
