// SPDX-License-Identifier: Apache-2.0
// dsctl: the command of DS. See dsctl(8).
#include <fcntl.h>
#include <unistd.h>
#include <cstdio>

#include "error.hpp"
#include "help.hpp"
#include "run.hpp"

// A file that is opened shall not come to stand where standard output, say, was closed, and be
// written to. What wants to use what was closed fails as before.
static void hold_standard_files() {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv) {
    hold_standard_files();
    if (argc < 2) {
        std::fputs(dsctl::help().c_str(), stderr);
        return static_cast<int>(dsctl::Exit::usage);
    }
    return dsctl::run({argv + 1, argv + argc});
}
