// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * The test peer: a DS host in user space, made to misbehave.
 */
#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string_view>

#include "attack.hpp"
#include "endure.hpp"
#include "server.hpp"
#include "tap.hpp"

namespace peer {

void Target::run(const std::string &command) const {
    std::string line = control + " " + command + " > /dev/null 2>&1";
    if (std::system(line.c_str()))
        throw Broken("the command failed: " + control + " " + command);
}

namespace {

const char usage_text[] =
    "A DS host in user space that misbehaves.\n"
    "\n"
    "  dspeer attack [OPTIONS] [GROUP...]   as a client, of --host\n"
    "  dspeer serve [OPTIONS]               as a server, on --port and those behind it\n"
    "  dspeer endure [OPTIONS]              with ds.ko of this host, such a server's faults\n"
    "\n"
    "Groups of attacks: good request handshake lane message segment memory flood. Without one: "
    "all. Prints TAP, a line\n"
    "an attack. tests/peer/in_vm.sh makes the segments that the attacks expect.\n"
    "\n"
    "Options:\n"
    "  --host ADDRESS    host under test (10.77.0.2)\n"
    "  --port PORT       its port (18527)\n"
    "  --node N          its number (2)\n"
    "  --group G         group of hosts (0)\n"
    "  --key FILE        key of domain 1\n"
    "  --other-key FILE  key of domain 2\n"
    "  --other-from A    a second local address\n"
    "  --control WORDS   command that runs a command on the host under test (\"on 2\")\n"
    "  --flood N         connection requests of the large flood (500)\n"
    "  --only TEXT       only attacks with TEXT in their name\n";

struct Group {
    const char *name;
    std::span<const Attack> (*attacks)();
};

const Group groups[] = {
    {"good", good_cases},       {"request", request_attacks}, {"handshake", handshake_attacks},
    {"lane", lane_attacks},     {"message", message_attacks}, {"segment", segment_attacks},
    {"memory", memory_attacks}, {"fence", fence_attacks},     {"flood", flood_attacks},
};

struct Options {
    Target target = {{"10.77.0.2", DS_WIRE_PORT, {}}, {}, 2, 0, {}, {}, 500, "on 2"};
    std::string only;
    std::vector<std::string> words;
};

[[noreturn]] void usage(int status) {
    std::cerr << usage_text;
    std::exit(status);
}

Options parse(int argc, char **argv) {
    static const option known[] = {
        {"host", 1, nullptr, 'h'},  {"port", 1, nullptr, 'p'},       {"node", 1, nullptr, 'n'},
        {"group", 1, nullptr, 'g'}, {"key", 1, nullptr, 'k'},        {"other-key", 1, nullptr, 'K'},
        {"only", 1, nullptr, 'o'},  {"other-from", 1, nullptr, 'f'}, {"control", 1, nullptr, 'c'},
        {"flood", 1, nullptr, 'F'}, {"help", 0, nullptr, '?'},       {}};
    Options options;
    Target &target = options.target;
    int letter;
    while ((letter = getopt_long(argc, argv, "", known, nullptr)) != -1) {
        switch (letter) {
        case 'h':
            target.address.host = optarg;
            break;
        case 'p':
            target.address.port = static_cast<std::uint16_t>(std::stoul(optarg));
            break;
        case 'n':
            target.node = static_cast<std::uint32_t>(std::stoul(optarg));
            break;
        case 'g':
            target.group = std::stoull(optarg, nullptr, 0);
            break;
        case 'k':
            target.key = read_key(optarg);
            break;
        case 'K':
            target.other_key = read_key(optarg);
            break;
        case 'f':
            target.other_from = optarg;
            break;
        case 'c':
            target.control = optarg;
            break;
        case 'F':
            options.target.flood = std::stoi(optarg);
            break;
        case 'o':
            options.only = optarg;
            break;
        default:
            usage(2);
        }
    }
    options.words.assign(argv + optind, argv + argc);
    return options;
}

std::vector<const Attack *> chosen(const Options &options) {
    std::vector<const Attack *> attacks;
    for (const Group &group : groups) {
        bool wanted = options.words.size() == 1;
        for (std::size_t i = 1; i < options.words.size(); i++)
            wanted |= options.words[i] == group.name;
        if (!wanted)
            continue;
        for (const Attack &attack : group.attacks())
            if (std::string_view(attack.name).find(options.only) != std::string_view::npos)
                attacks.push_back(&attack);
    }
    return attacks;
}

int attack(const Options &options) {
    auto attacks = chosen(options);
    if (attacks.empty())
        usage(2);
    Tap tap;
    tap.plan(attacks.size());
    for (const Attack *attack : attacks)
        tap.test(std::string(attack->name) + ": " + attack->wanted,
                 [&] { attack->run(options.target); });
    return tap.all_ok() ? 0 : 1;
}

// As its other self it is the same host, but for the key that it has.
[[noreturn]] void serve_as_both(const Target &target) {
    const Identity self = target.identity();
    Identity other = self;
    other.host.domain = Target::other_domain;
    other.key = target.other_key;
    serve(self, other, target.address.port);
}

}  // namespace
}  // namespace peer

int main(int argc, char **argv) {
    try {
        peer::Options options = peer::parse(argc, argv);
        std::string command = options.words.empty() ? "" : options.words[0];
        if (command == "attack")
            return peer::attack(options);
        if (command == "serve")
            peer::serve_as_both(options.target);
        if (command == "endure")
            return peer::endure(options.target) ? 0 : 1;
        peer::usage(2);
    } catch (const std::exception &error) {
        std::cout << "Bail out! dspeer: " << error.what() << std::endl;
        return 3;
    }
}
