// SPDX-License-Identifier: Apache-2.0
// dsctl: the command of DS. See dsctl(8).
#include <cstdio>

#include "error.hpp"
#include "help.hpp"
#include "run.hpp"

int main(int argc, char **argv) {
    if (argc < 2) {
        std::fputs(dsctl::help().c_str(), stderr);
        return static_cast<int>(dsctl::Exit::usage);
    }
    return dsctl::run({argv + 1, argv + argc});
}
