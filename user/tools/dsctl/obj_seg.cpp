// SPDX-License-Identifier: Apache-2.0
// dsctl seg: memory that this host exports, and memory of others that it attaches.
#include <fcntl.h>
#include <cerrno>
#include <cstring>

#include <ds/layout.h>

#include "fabric/fd.hpp"
#include "map.hpp"
#include "space_admin.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

// The file that stands behind a segment; the kernel takes a hold of it for itself.
ds::fabric::Fd open_backing(const std::string &path) {
    ds::fabric::Fd file(open(path.c_str(), O_RDWR | O_CLOEXEC));

    if (!file.open())
        throw from_errno("SEG", errno, "cannot open '" + path + "': " + errno_text(errno),
                         "make it first, as with 'truncate -s SIZE FILE', with the right to write");
    return file;
}

Exit add(Call &call) {
    nl::Message request(DS_CMD_SEG_ADD);
    uint64_t size = call.number("SIZE");
    Kernel kernel(call);

    if (size % 4096)
        throw usage("SIZE is a multiple of 4096 bytes, not " + call.text("SIZE"));
    request.put(attr::length, size);
    request.put(attr::access, parse_access(call.text("--access")));
    if (auto numa = call.maybe("--numa"))
        request.put(attr::numa_node, static_cast<int32_t>(*numa));
    if (call.has("--name"))
        request.put(attr::name, call.text("--name"));
    request.put(attr::domain, kernel.domain(call));
    Json row = to_json(request);
    ds::fabric::Fd file;
    if (call.has("--file")) {
        file = open_backing(call.text("--file"));
        request.put(attr::fd, static_cast<uint32_t>(file.get()));
        row["file"] = call.text("--file");
    }

    uint64_t id = kernel.call(request, "export " + bytes_text(size)).get_or(attr::segment, 0);
    row["segment"] = id;
    call.out.respond(row);
    call.out.done("segment " + std::to_string(id) + " exports " + bytes_text(size) + " to domain " +
                      std::to_string(request.get_or(attr::domain, 0)),
                  std::to_string(id));
    return Exit::ok;
}

Exit change(Call &call, uint8_t command, const std::string &verb, const std::string &done) {
    nl::Message request(command);

    request.put(attr::segment, call.number("ID"));
    Kernel(call).call(request, verb + " segment " + call.text("ID"));
    call.out.respond({{"segment", call.number("ID")}});
    call.out.done("segment " + call.text("ID") + " is " + done);
    return Exit::ok;
}

Exit del(Call &call) {
    return change(call, DS_CMD_SEG_DEL, "delete", "deleted; no host can reach it any more");
}

Exit revoke(Call &call) {
    return change(call, DS_CMD_SEG_REVOKE, "revoke",
                  "revoked: the data stays, all keys given out are dead");
}

Exit show(Call &call) {
    std::vector<Row> rows;

    for (const nl::Message &segment : Kernel(call).dump(DS_CMD_SEG_GET, "list the segments")) {
        int32_t numa = segment.get_or(attr::numa_node, -1);
        call.out.respond(to_json(segment));
        rows.push_back({std::to_string(segment.get_or(attr::segment, 0)),
                        segment.get_or(attr::name, ""), bytes_text(segment.get_or(attr::length, 0)),
                        std::to_string(segment.get_or(attr::domain, 0)),
                        access_text(segment.get_or(attr::access, 0)),
                        numa < 0 ? "any" : std::to_string(numa),
                        std::to_string(segment.get_or(attr::attached, 0)),
                        std::to_string(segment.get_or(attr::chunks, 0))});
    }
    call.out.table({{"SEGMENT", true},
                    {"NAME", false, true},
                    {"LENGTH", true},
                    {"DOMAIN", true},
                    {"ACCESS"},
                    {"NUMA"},
                    {"ATTACHED", true},
                    {"CHUNKS", true}},
                   rows);
    return Exit::ok;
}

// What NODE:SEGMENT names.
std::pair<uint32_t, uint64_t> parse_target(const std::string &text) {
    size_t colon = text.find(':');
    auto node = parse_number(text.substr(0, colon));
    auto segment = colon == std::string::npos ? std::nullopt : parse_number(text.substr(colon + 1));

    if (!node || !segment || *node < 1 || *node > 65535)
        throw usage("TARGET is NODE:SEGMENT, as 2:1, not '" + text + "'");
    return {static_cast<uint32_t>(*node), *segment};
}

// The first server without a segment, in a space of the given number of servers.
uint32_t free_server(Kernel &kernel, uint32_t space, uint32_t servers) {
    uint32_t free = 0;

    for (const nl::Message &message : attachments(kernel, space))
        if (message.get(attr::server) == free)
            free++;
    if (free == servers)
        throw Error(Exit::exists, "DS-SPC-002",
                    format("all %u servers of space %u are attached", servers, space),
                    "detach one with 'dsctl seg detach', or make a larger space");
    return free;
}

// Makes the space. Returns its number of servers.
uint32_t make_space(Call &call, Kernel &kernel, uint32_t space, uint32_t server) {
    nl::Message request(DS_CMD_SPACE_ADD);
    uint32_t servers = static_cast<uint32_t>(call.maybe("--servers").value_or(server + 1));
    uint32_t shift = chosen_shift(call).value_or(DS_LAYOUT_SERVER_SHIFT);

    request.put(attr::space, space);
    request.put(attr::servers, servers);
    request.put(attr::server_shift, shift);
    request.put(attr::domain, kernel.domain(call));
    kernel.call(request, format("add space %u", space));
    return servers;
}

// The options for a new space must agree with a space that is there.
void check_agrees(Call &call, const nl::Message &space) {
    auto shift = chosen_shift(call);
    auto servers = call.maybe("--servers");

    if ((shift && shift != space.get(attr::server_shift)) ||
        (servers && *servers != space.get_or(attr::servers, 0)))
        throw Error(Exit::exists, "DS-SPC-003",
                    format("space %s exists with %u server(s) of %s", call.text("--space").c_str(),
                           space.get_or(attr::servers, 0),
                           bytes_text(uint64_t(1) << space.get_or(attr::server_shift, 0)).c_str()),
                    "leave out --servers, --size and --shift, or choose another space");
}

Exit attach(Call &call) {
    auto [node, segment] = parse_target(call.text("TARGET"));
    uint32_t space = static_cast<uint32_t>(call.number("--space"));
    auto server = call.maybe("--server");
    Kernel kernel(call);
    auto found = find_space(kernel, space);
    bool made = !found;

    if (found)
        check_agrees(call, *found);
    uint32_t servers =
        found ? found->get_or(attr::servers, 0)
              : make_space(call, kernel, space, static_cast<uint32_t>(server.value_or(0)));
    uint32_t index = server ? static_cast<uint32_t>(*server) : free_server(kernel, space, servers);

    nl::Message request(DS_CMD_ATTACH_ADD);
    request.put(attr::space, space).put(attr::server, index);
    request.put(attr::node, node).put(attr::segment, segment);
    if (call.settings.timeout_ms)
        request.put(attr::timeout_ms, kernel_wait(*call.settings.timeout_ms));
    try {
        kernel.call(request, format("attach segment %llu of node %u",
                                    static_cast<unsigned long long>(segment), node));
    } catch (const Error &) {
        // A space that only this command wanted goes again.
        if (made)
            kernel.call(nl::Message(DS_CMD_SPACE_DEL).put(attr::space, space),
                        format("delete space %u again", space));
        throw;
    }
    Json row = to_json(request);
    row["space_made"] = made;
    call.out.respond(row);
    if (made)
        call.out.done(format("space %u is new: %u server(s) in domain %u", space, servers,
                             find_space(kernel, space)->get_or(attr::domain, 0)));
    call.out.done(format("server %u of space %u is segment %llu of node %u", index, space,
                         static_cast<unsigned long long>(segment), node),
                  std::to_string(index));
    return Exit::ok;
}

Exit detach(Call &call) {
    nl::Message request(DS_CMD_ATTACH_DEL);
    std::string what = "server " + call.text("--server") + " of space " + call.text("--space");

    request.put(attr::space, static_cast<uint32_t>(call.number("--space")));
    request.put(attr::server, static_cast<uint32_t>(call.number("--server")));
    Kernel(call).call(request, "detach " + what);
    call.out.respond(to_json(request));
    call.out.done(what + " is detached");
    return Exit::ok;
}

const Param segment_id{
    .name = "ID", .kind = Kind::number, .help = "number of the segment", .names = "segments"};
const Param space_number{.name = "--space",
                         .value = "S",
                         .kind = Kind::number,
                         .help = "number of the space",
                         .required = true,
                         .names = "spaces",
                         .min = 1,
                         .max = UINT32_MAX};

const Object object{
    .name = "seg",
    .summary = "memory that this host exports, and attaching others' memory",
    .verbs =
        {
            {
                .name = "show",
                .summary = "Show the segments that this host exports.",
                .params = {},
                .examples = {{"seg show", "what this host exports and how many hosts use it"}},
                .run = show,
            },
            {
                .name = "add",
                .summary = "Export memory of this host.",
                .params =
                    {
                        {.name = "SIZE",
                         .kind = Kind::size,
                         .help = "bytes, as 16M; a multiple of 4096",
                         .min = 4096},
                        domain_option,
                        {.name = "--access",
                         .value = "RWA",
                         .help = "r read, w write, a atomics: what attachers may do",
                         .fallback = "rwa"},
                        {.name = "--numa",
                         .value = "N",
                         .kind = Kind::number,
                         .help = "NUMA node of the memory",
                         .max = 1023},
                        {.name = "--name",
                         .value = "TEXT",
                         .help = "a name of at most 31 characters"},
                        {.name = "--file",
                         .value = "FILE",
                         .kind = Kind::file,
                         .help = "what it holds at first, and where persistent writes go"},
                    },
                .examples = {{"seg add 64M", "export 64 MiB; prints the segment's number"},
                             {"seg add 32M --numa 0 --name pool1 --access rw",
                              "from NUMA node 0, without atomics"},
                             {"seg add 1M --file /dev/pmem0", "its content outlives the module"},
                             {"-q seg add 16M", "print the number only, for a script"}},
                .run = add,
                .details =
                    "The memory is taken at once. The segment lives until it is deleted or the "
                    "module is unloaded. A file or block device behind it is read when it is "
                    "added; of what is written later, only the persistent writes of 'rdm write' "
                    "reach it.",
            },
            {
                .name = "del",
                .summary = "Take a segment away from its users and free its memory.",
                .params = {segment_id},
                .examples = {{"seg del 1", "segment 1 is gone, its data too"}},
                .run = del,
                .details = "Returns when no host can reach the memory any more.",
            },
            {
                .name = "revoke",
                .summary = "Take all keys of a segment away; keep its data.",
                .params = {segment_id},
                .examples = {{"seg revoke 1", "users of segment 1 must attach it again"}},
                .run = revoke,
            },
            {
                .name = "attach",
                .summary = "Make a segment of another host a server of a space.",
                .params = {{.name = "TARGET", .help = "NODE:SEGMENT, as 2:1", .names = "targets"},
                           space_number,
                           {.name = "--server",
                            .value = "I",
                            .kind = Kind::number,
                            .help = "index of the server (default: the first free one)",
                            .max = DS_LAYOUT_MAX_SERVERS - 1},
                           servers_option,
                           size_option,
                           shift_option,
                           domain_option},
                .examples = {{"seg attach 2:1 --space 1 --servers 2 --size 64M",
                              "segment 1 of node 2 is server 0 of a new space"},
                             {"seg attach 3:1 --space 1",
                              "segment 1 of node 3 is the next server of it"}},
                .run = attach,
                .details =
                    "If the space does not exist it is made: with --servers (default: enough "
                    "for this one), --size or --shift, and --domain. A segment may be shorter "
                    "than a server, but not longer.",
            },
            {
                .name = "detach",
                .summary = "Take a server out of a space.",
                .params = {space_number,
                           {.name = "--server",
                            .value = "I",
                            .kind = Kind::number,
                            .help = "index of the server",
                            .required = true,
                            .max = DS_LAYOUT_MAX_SERVERS - 1}},
                .examples = {{"seg detach --space 1 --server 0",
                              "server 0 has no memory any more"}},
                .run = detach,
                .details = "Returns when no operation is in flight any more. The data stays in the "
                           "segment.",
            },
        },
};

const Register registered(object);

}  // namespace

}  // namespace dsctl
