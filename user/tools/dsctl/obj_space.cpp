// SPDX-License-Identifier: Apache-2.0
// dsctl space: address maps over the memory of other hosts.
#include <ds/layout.h>

#include "fabric_choice.hpp"
#include "map.hpp"
#include "space_admin.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

Exit add(Call &call) {
    nl::Message request(DS_CMD_SPACE_ADD);
    Kernel kernel(call);
    uint32_t shift = chosen_shift(call).value_or(DS_LAYOUT_SERVER_SHIFT);

    request.put(attr::space, static_cast<uint32_t>(call.number("ID")));
    request.put(attr::servers, static_cast<uint32_t>(call.number("--servers")));
    request.put(attr::server_shift, shift);
    if (call.has("--access"))
        request.put(attr::access, parse_access(call.text("--access")));
    if (auto uid = call.maybe("--uid"))
        request.put(attr::uid, static_cast<uint32_t>(*uid));
    request.put(attr::domain, kernel.domain(call));
    kernel.call(request, "add space " + call.text("ID"));
    call.out.respond(to_json(request));
    call.out.done("space " + call.text("ID") + " has " + call.text("--servers") + " server(s) of " +
                  bytes_text(uint64_t(1) << shift));
    return Exit::ok;
}

Exit del(Call &call) {
    nl::Message request(DS_CMD_SPACE_DEL);

    request.put(attr::space, static_cast<uint32_t>(call.number("ID")));
    Kernel(call).call(request, "delete space " + call.text("ID"));
    call.out.respond({{"space", call.number("ID")}});
    call.out.done("space " + call.text("ID") + " is deleted");
    return Exit::ok;
}

Row space_row(const nl::Message &space, const Map &map) {
    auto uid = space.get(attr::uid);

    return {std::to_string(space.get_or(attr::space, 0)),
            std::to_string(space.get_or(attr::domain, 0)),
            std::to_string(map.servers),
            std::to_string(space.get_or(attr::attached, 0)),
            bytes_text(map.server_bytes()),
            access_text(space.get_or(attr::access, 0)),
            uid ? std::to_string(*uid) : "all",
            hex(map.base()),
            hex(map.last())};
}

Row server_row(const nl::Message &server, const Map &map) {
    std::string state(server.state_name());
    uint32_t index = server.get_or(attr::server, 0);

    return {std::to_string(server.get_or(attr::space, 0)),
            std::to_string(index),
            {state, state_style(state)},
            std::to_string(server.get_or(attr::node, 0)),
            std::to_string(server.get_or(attr::segment, 0)),
            bytes_text(server.get_or(attr::length, 0)),
            access_text(server.get_or(attr::access, 0)),
            hex(map.base(index))};
}

Exit show(Call &call) {
    if (auto path = local_file(call.settings))
        return space_show_local(call, *path);
    Kernel kernel(call);
    std::vector<Row> spaces, servers;

    for (const nl::Message &space : kernel.dump(DS_CMD_SPACE_GET, "list the spaces")) {
        uint32_t id = space.get_or(attr::space, 0);
        Map map = map_of(space);
        Json json = to_json(space);
        json["first"] = map.base();
        json["last"] = map.last();
        json["attachments"] = Json::array();
        for (const nl::Message &server : attachments(kernel, id)) {
            json["attachments"].push_back(to_json(server));
            servers.push_back(server_row(server, map));
        }
        call.out.respond(json);
        spaces.push_back(space_row(space, map));
    }
    call.out.table({{"SPACE", true},
                    {"DOMAIN", true},
                    {"SERVERS", true},
                    {"ATTACHED", true},
                    {"SERVER SIZE", true},
                    {"ACCESS"},
                    {"USER"},
                    {"FIRST"},
                    {"LAST"}},
                   spaces);
    if (servers.empty())
        return Exit::ok;
    call.out.line("");
    call.out.table({{"SPACE", true},
                    {"SERVER", true},
                    {"STATE"},
                    {"NODE", true},
                    {"SEGMENT", true},
                    {"LENGTH", true},
                    {"ACCESS"},
                    {"FIRST"}},
                   servers);
    return Exit::ok;
}

const Param space_id{.name = "ID",
                     .kind = Kind::number,
                     .help = "number of the space",
                     .names = "spaces",
                     .min = 1,
                     .max = UINT32_MAX};

const Object object{
    .name = "space",
    .summary = "address maps over the memory of other hosts",
    .verbs =
        {
            {
                .name = "show",
                .summary = "Show the spaces and the segments attached to them, or the space of a "
                           "file.",
                .params = {},
                .examples = {{"space show", "spaces and their servers"}},
                .run = show,
            },
            {
                .name = "add",
                .summary = "Make a space without memory.",
                .params = {for_new(space_id),
                           {.name = "--servers",
                            .value = "N",
                            .kind = Kind::number,
                            .help = "memory servers of the space",
                            .fallback = "1",
                            .min = 1,
                            .max = DS_LAYOUT_MAX_SERVERS},
                           size_option,
                           shift_option,
                           domain_option,
                           {.name = "--access",
                            .value = "RWA",
                            .help = "r read, w write, a atomics: what may be had (default rwa)"},
                           {.name = "--uid",
                            .value = "UID",
                            .kind = Kind::number,
                            .help = "only this user may open it",
                            .max = UINT32_MAX - 1}},
                .examples =
                    {{"space add 1 --servers 2 --size 64M", "space 1: two servers of 64 MiB each"},
                     {"space add 2 --uid 1000 --access r", "space 2: read-only, for user 1000"}},
                .run = add,
                .details = "Server i begins at 0x10000000 + i x its size. 'seg attach' puts memory "
                           "behind a server, and makes the space by itself if there is none.",
            },
            {
                .name = "create",
                .summary = "Make a file that holds a space, for --fabric local:PATH.",
                .params = {{.name = "NUMBER",
                            .kind = Kind::number,
                            .help = "number of the space",
                            .fallback = "1",
                            .optional = true,
                            .min = 1,
                            .max = UINT32_MAX},
                           {.name = "--servers",
                            .value = "N",
                            .kind = Kind::number,
                            .help = "memory servers of the space",
                            .fallback = "1",
                            .min = 1,
                            .max = DS_LAYOUT_MAX_SERVERS},
                           {.name = "--server-size",
                            .value = "BYTES",
                            .kind = Kind::size,
                            .help = "bytes of a server: a power of two from 16M to 1T",
                            .fallback = "16M",
                            .min = 1,
                            .max = uint64_t(1) << (DS_LAYOUT_SERVER_SHIFT + DS_LAYOUT_MAX_K)},
                           {.name = "--access",
                            .value = "RWA",
                            .help = "r read, w write, a atomics: what may be had (default rwa)"}},
                .examples = {{"space create --servers 2 --fabric local:/tmp/pool",
                              "a pool of two servers in a file"}},
                .run = space_create,
                .details =
                    "It needs neither the kernel module nor root. Processes that open the file "
                    "with the same --fabric share its memory; server i counts as node i + 1. The "
                    "file takes room on the disk only where something was written.",
            },
            {
                .name = "del",
                .summary = "Detach all servers of a space and delete it.",
                .params = {space_id},
                .examples = {{"space del 1", "delete space 1"}},
                .run = del,
                .details =
                    "Returns when no operation is in flight any more. The data stays where it "
                    "is, in the segments.",
            },
        },
};

const Register registered(object);

}  // namespace

}  // namespace dsctl
