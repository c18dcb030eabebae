// SPDX-License-Identifier: Apache-2.0
// What lies in this process's sockets that those at the other ends have not read. Other threads
// may open and close them, which the thread sanitizer has for a race unless the call is one that
// it does not know.
#pragma once

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

struct Unread {
    uint64_t sockets = 0, bytes = 0;
};

inline Unread unread() {
    Unread all;
    for (const auto &entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        int bytes = 0;
        if (syscall(SYS_ioctl, std::stoi(entry.path().filename()), SIOCOUTQ, &bytes) != 0 ||
            bytes == 0)
            continue;
        all.sockets++;
        all.bytes += static_cast<uint64_t>(bytes);
    }
    return all;
}
