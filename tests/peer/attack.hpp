// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Tests of the test peer: each is a function, one TAP line, and what must come of it.
 */
#ifndef DSPEER_ATTACK_HPP
#define DSPEER_ATTACK_HPP

#include <functional>
#include <span>

#include "client.hpp"

namespace peer {

/**
 * The host under test and what this peer knows. The segments are those that
 * in_vm.sh makes there, in this order.
 */
struct Target {
    Address address;
    std::string other_from;  // another local address, for cookies that travel
    std::uint32_t node;      // number of the host under test
    std::uint64_t group;
    Key key;              // of domain 1
    Key other_key;        // of domain 2
    int flood;            // connection requests of the large flood
    std::string control;  // command prefix that runs a command on that host, e.g. "on 2"

    static constexpr std::uint32_t domain = 1, other_domain = 2, honest_node = 1, self_node = 3,
                                   second_node = 4;
    enum Segment : std::uint64_t {
        honest = 1,   // used by the honest host all the time
        scratch = 2,  // ours: 9 MiB, read, write, atomic
        read_only = 3,
        no_atomic = 4,
        foreign = 5,  // of domain 2
        revoked = 6,  // for revoking
    };
    static constexpr std::uint64_t scratch_length = 9 << 20;

    // A host has one connection to another: who wants two at a time is two hosts.
    Identity identity() const { return {self_node, group, domain, key}; }
    Identity other_identity() const { return {second_node, group, other_domain, other_key}; }
    Client client() const { return {address, identity()}; }
    Client second_client() const { return {address, {second_node, group, domain, key}}; }

    /** Run a command on the host under test; Broken if it fails. */
    void run(const std::string &command) const;
};

struct Attack {
    const char *name;
    const char *wanted;  // what must come of it
    std::function<void(const Target &)> run;
};

std::span<const Attack> good_cases();
std::span<const Attack> request_attacks();
std::span<const Attack> handshake_attacks();
std::span<const Attack> lane_attacks();
std::span<const Attack> message_attacks();
std::span<const Attack> fence_attacks();
std::span<const Attack> segment_attacks();
std::span<const Attack> memory_attacks();
std::span<const Attack> flood_attacks();

/** The control connection was ended, with this reason if one is given. */
void expect_end(const Ending &ending, std::optional<unsigned> reason, const std::string &what);

/** The connection request was refused for this reason. */
void expect_refused(const Answer &answer, unsigned reason, const std::string &what);

}  // namespace peer

#endif
