// SPDX-License-Identifier: Apache-2.0
// A server of the packet service for tests of dsctl: the core that ds.ko runs, in a process.
//
//     rdm_server 1|2|storm|liar
//
// By version 1, whose writes it answers; by version 2; the same over a network that loses,
// doubles, delays and breaks packets; or with memory in which a byte changes by itself.
// Space 5 of tenant 9, 64 MiB. Prints its port, ends when standard input does.
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "user_rdm_server.hpp"

int main(int argc, char **argv) {
    std::string_view how = argc == 2 ? argv[1] : "";
    rdmtest::Weather weather;
    char byte;

    if (how != "1" && how != "2" && how != "storm" && how != "liar")
        return 2;
    if (how == "storm")
        weather = {.lost = 15, .doubled = 60, .late = 20, .broken = 15};
    rdmtest::Server server(64 << 20);
    server.forgetful = how == "liar";
    rdmtest::UdpServer udp(server, how == "1" ? 1 : 2, weather);
    std::printf("%u\n", udp.port);
    std::fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    return 0;
}
