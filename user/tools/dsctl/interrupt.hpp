// SPDX-License-Identifier: Apache-2.0
// Ctrl-C for commands that have something to say before they end.
#pragma once

namespace dsctl {

// From here on SIGINT and SIGTERM do not kill; they end waits (EINTR).
void watch_interrupts();

bool interrupted();

}  // namespace dsctl
