// SPDX-License-Identifier: Apache-2.0
#include "space_admin.hpp"

#include <algorithm>
#include <bit>

#include "units.hpp"

namespace dsctl {

constinit const Param servers_option{.name = "--servers",
                                     .value = "N",
                                     .kind = Kind::number,
                                     .help = "memory servers of the space",
                                     .min = 1,
                                     .max = DS_LAYOUT_MAX_SERVERS};
constinit const Param size_option{
    .name = "--size",
    .value = "BYTES",
    .kind = Kind::size,
    .help = "bytes of a server: a power of two from 16M to 1T (default 16M)",
    .min = 1,
    .max = uint64_t(1) << (DS_LAYOUT_SERVER_SHIFT + DS_LAYOUT_MAX_K)};
constinit const Param shift_option{.name = "--shift",
                                   .value = "LOG2",
                                   .kind = Kind::number,
                                   .help = "the same as a power of two, 24 to 40",
                                   .min = DS_LAYOUT_SERVER_SHIFT,
                                   .max = DS_LAYOUT_SERVER_SHIFT + DS_LAYOUT_MAX_K};
constinit const Param domain_option{.name = "--domain",
                                    .value = "N",
                                    .kind = Kind::number,
                                    .help = "trust domain; may be left out if there is only one",
                                    .names = "domains",
                                    .min = 1,
                                    .max = 65535};

uint32_t shift_for(uint64_t bytes) {
    return std::max<uint32_t>(static_cast<uint32_t>(std::bit_width(bytes - 1)),
                              DS_LAYOUT_SERVER_SHIFT);
}

std::optional<uint32_t> chosen_shift(const Call &call) {
    if (call.has("--size") && call.has("--shift"))
        throw usage("--size and --shift say the same: give one of them");
    if (auto shift = call.maybe("--shift"))
        return static_cast<uint32_t>(*shift);
    auto size = call.maybe("--size");
    if (!size)
        return std::nullopt;
    return shift_for(*size);
}

std::optional<nl::Message> find_space(Kernel &kernel, uint32_t id) {
    for (nl::Message &message : kernel.dump(DS_CMD_SPACE_GET, "list the spaces"))
        if (message.get(attr::space) == id)
            return std::move(message);
    return std::nullopt;
}

Map map_of_space(Kernel &kernel, uint32_t id) {
    auto space = find_space(kernel, id);

    if (!space)
        throw Error(Exit::not_found, "DS-SPC-001", format("there is no space %u", id),
                    "look at 'dsctl space show', or make it with 'dsctl space add'");
    return map_of(*space);
}

Map map_of(const nl::Message &space) {
    return Map{space.get_or(attr::servers, 0), space.get_or(attr::server_shift, 0)};
}

std::vector<nl::Message> attachments(Kernel &kernel, uint32_t id) {
    std::vector<nl::Message> list = kernel.dump(DS_CMD_ATTACH_GET, "list the servers of spaces");

    std::erase_if(list, [&](const nl::Message &message) { return message.get(attr::space) != id; });
    std::sort(list.begin(), list.end(), [](const nl::Message &a, const nl::Message &b) {
        return a.get(attr::server) < b.get(attr::server);
    });
    return list;
}

}  // namespace dsctl
