// SPDX-License-Identifier: Apache-2.0
// The configuration of ds.ko over generic netlink, with errors as dsctl reports
// them, and netlink messages as JSON.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include <ds/netlink.hpp>

#include "call.hpp"

namespace dsctl {

namespace nl = ds::netlink;
namespace attr = ds::netlink::attr;

class Kernel {
public:
    // Throws Exit::unreachable if ds.ko is not loaded.
    Kernel();

    // For a verb that is about ds.ko; throws also if --fabric names a file.
    explicit Kernel(const Call &call);

    // Makes a change. what completes "cannot ...".
    nl::Message call(const nl::Message &request, const std::string &what);

    // All objects that a GET command lists.
    std::vector<nl::Message> dump(uint8_t command, const std::string &what);

    // The trust domain that the user named, or the only one that there is.
    uint32_t domain(const Call &call, std::string_view option = "--domain");

private:
    nl::Client client_;
};

// The longest wait that ds.ko takes, and a wait cut down to it.
constexpr uint32_t max_kernel_wait_ms = 20000;
uint32_t kernel_wait(uint64_t ms);

// An error of libdsuser as an error of dsctl.
Error kernel_error(const ds::Error &error, const std::string &what, const std::string &remedy = "");

// The module is not there, or nothing answers.
Error not_loaded();

// All attributes by their names; addresses, access, states and ids as text.
Json to_json(const nl::Message &message);

// "10.77.0.2", "fe80::1", "" if the message has none.
std::string address_of(const nl::Message &message);

// Puts an IPv4 or IPv6 address, or a host's name, into a request. AF_INET: only IPv4 will do.
void put_address(nl::Message &message, const std::string &host, int family = AF_UNSPEC);

// "rwa" and DS_ACCESS_*.
std::string access_text(uint32_t access);
uint32_t parse_access(const std::string &text);

// The name of a user, or the number.
std::string user_name(uint32_t uid);

// How a state is coloured.
Style state_style(std::string_view state);

}  // namespace dsctl
