// SPDX-License-Identifier: Apache-2.0
// Ctrl-C for commands that have something to say, or to remove, before they end.
#pragma once

#include <poll.h>

#include <chrono>

namespace dsctl {

// From here on the first SIGINT or SIGTERM does not kill; it ends waits (EINTR). The second one
// does, should the first wait not end.
void watch_interrupts();

// A signal that ends dsctl removes this file first, if there is one; nullptr: none any more. The
// name stays as long. What dsctl was told to ignore, as in the background, is ignored.
void remove_if_killed(const char *path);

bool interrupted();

// Until @p time or an interrupt, also one that came before.
void sleep_until(std::chrono::steady_clock::time_point time);

// The same, but at most until @p file has something, or any signal has come.
void wait_until(std::chrono::steady_clock::time_point time, pollfd *file);

}  // namespace dsctl
