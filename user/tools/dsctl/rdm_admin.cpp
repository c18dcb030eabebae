// SPDX-License-Identifier: Apache-2.0
// rdm space, listen, peer: what this host serves by packets, where, and to whom.
#include <arpa/inet.h>

#include <ds/packet.h>

#include "file.hpp"
#include "kernel.hpp"
#include "keyfile.hpp"
#include "rdm.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

// By enum ds_packet_kind.
constexpr std::string_view kinds[] = {"direct", "segments", "hash"};

std::string kind_text(uint32_t kind) {
    return std::string(kind < std::size(kinds) ? kinds[kind] : "unknown");
}

uint32_t kind_of(const std::string &text) {
    for (uint32_t kind = 0; kind < std::size(kinds); kind++)
        if (kinds[kind] == text)
            return kind;
    throw usage("no translation '" + text + "'");
}

// The log2 of --page.
uint32_t page_shift(const Call &call) {
    uint64_t page = call.number("--page");
    uint32_t shift = DS_PACKET_PAGE_SHIFT_MIN;

    while (shift < DS_PACKET_PAGE_SHIFT_MAX && uint64_t(1) << shift < page)
        shift++;
    if (uint64_t(1) << shift != page)
        throw usage("--page is a power of two, not " + call.text("--page"));
    return shift;
}

Json space_row(const nl::Message &space) {
    Json row = to_json(space);

    row["kind"] = kind_text(space.get_or(attr::kind, 0));
    row["keyed"] = space.get_or(attr::keyed, 0) != 0;
    return row;
}

Json listen_row(const nl::Message &listener) {
    return {{"wire", listener.get_or(attr::wire, 0)},
            {"address", address_of(listener)},
            {"port", listener.get_or(attr::port, 0)},
            {"write_replies", (listener.get_or(attr::flags, 0) & DS_RDM_ANSWER_WRITES) != 0}};
}

nl::Message listener(Call &call, uint8_t command) {
    nl::Message request(command);
    uint32_t wire = static_cast<uint32_t>(call.number("--wire"));
    auto [ipv4, port] = parse_endpoint(call.text("ADDR"), "ADDR");

    if (port == 0)
        port = wire == 1 ? DS_PACKET1_PORT : DS_PACKET2_PORT;
    request.put(attr::wire, wire).put(attr::ipv4, ipv4).put(attr::port, port);
    return request;
}

std::string listener_text(const nl::Message &request) {
    return format("version %u at %s:%u", request.get_or(attr::wire, 0), address_of(request).c_str(),
                  request.get_or(attr::port, 0));
}

nl::Message peer(Call &call, uint8_t command) {
    nl::Message request(command);
    auto [ipv4, port] = parse_endpoint(call.text("ADDR"), "ADDR");

    if (port)
        throw usage("a host is ADDR, without a port");
    request.put(attr::ipv4, ipv4);
    return request;
}

}  // namespace

Exit rdm_space_add(Call &call) {
    nl::Message request(DS_CMD_RDM_SPACE_ADD);
    std::vector<uint8_t> key;

    request.put(attr::rdm_space, static_cast<uint32_t>(call.number("ID")));
    request.put(attr::segment, call.number("--segment"));
    request.put(attr::kind, kind_of(call.text("--kind")));
    request.put(attr::page_shift, page_shift(call));
    request.put(attr::tenant, static_cast<uint32_t>(call.number("--tenant")));
    if (auto size = call.maybe("--size"))
        request.put(attr::length, *size);
    if (call.has("--access"))
        request.put(attr::access, parse_access(call.text("--access")));
    Json row = space_row(request);
    row["keyed"] = call.has("--key-file");
    if (call.has("--key-file"))
        request.put(attr::mac_key, read_key(call.text("--key-file"), packet_key_bytes, call.out));
    Kernel(call).call(request, "add space " + call.text("ID") + " of the packet service");
    call.out.respond(row);
    call.out.done("space " + call.text("ID") + " serves segment " + call.text("--segment"));
    return Exit::ok;
}

Exit rdm_space_del(Call &call) {
    nl::Message request(DS_CMD_RDM_SPACE_DEL);

    request.put(attr::rdm_space, static_cast<uint32_t>(call.number("ID")));
    Kernel(call).call(request, "delete space " + call.text("ID") + " of the packet service");
    call.out.respond(to_json(request));
    call.out.done("space " + call.text("ID") + " is deleted; its segment stays");
    return Exit::ok;
}

Exit rdm_space_show(Call &call) {
    std::vector<Row> rows;

    for (const nl::Message &space :
         Kernel(call).dump(DS_CMD_RDM_SPACE_GET, "list the spaces of the packet service")) {
        call.out.respond(space_row(space));
        rows.push_back({std::to_string(space.get_or(attr::rdm_space, 0)),
                        std::to_string(space.get_or(attr::segment, 0)),
                        bytes_text(space.get_or(attr::length, 0)),
                        kind_text(space.get_or(attr::kind, 0)),
                        bytes_text(uint64_t(1) << space.get_or(attr::page_shift, 0)),
                        std::to_string(space.get_or(attr::tenant, 0)),
                        access_text(space.get_or(attr::access, 0)),
                        space.get_or(attr::keyed, 0) ? "yes" : "no",
                        std::to_string(space.get_or(attr::allocations, 0)),
                        bytes_text(space.get_or(attr::free, 0)),
                        std::to_string(space.get_or(attr::sessions, 0))});
    }
    call.out.table({{"SPACE", true},
                    {"SEGMENT", true},
                    {"LENGTH", true},
                    {"KIND"},
                    {"PAGE", true},
                    {"TENANT", true},
                    {"ACCESS"},
                    {"KEY"},
                    {"ALLOCATIONS", true},
                    {"FREE", true},
                    {"SESSIONS", true}},
                   rows);
    return Exit::ok;
}

Exit rdm_listen_add(Call &call) {
    nl::Message request = listener(call, DS_CMD_RDM_LISTEN_ADD);

    if (call.has("--write-replies")) {
        if (request.get_or(attr::wire, 0) != 1)
            throw usage("--write-replies is for --wire 1: version 2 answers all writes");
        request.put(attr::flags, uint32_t{DS_RDM_ANSWER_WRITES});
    }
    Kernel(call).call(request, "receive packets of " + listener_text(request));
    call.out.respond(listen_row(request));
    call.out.done("packets of " + listener_text(request) + " are served");
    return Exit::ok;
}

Exit rdm_listen_del(Call &call) {
    nl::Message request = listener(call, DS_CMD_RDM_LISTEN_DEL);

    Kernel(call).call(request, "end receiving packets of " + listener_text(request));
    call.out.respond(listen_row(request));
    call.out.done("packets of " + listener_text(request) + " are not served any more");
    return Exit::ok;
}

Exit rdm_listen_show(Call &call) {
    std::vector<Row> rows;

    for (const nl::Message &message :
         Kernel(call).dump(DS_CMD_RDM_LISTEN_GET, "list where packets are received")) {
        bool replies = message.get_or(attr::flags, 0) & DS_RDM_ANSWER_WRITES;
        bool first = message.get_or(attr::wire, 0) == 1;
        call.out.respond(listen_row(message));
        rows.push_back({std::to_string(message.get_or(attr::wire, 0)), address_of(message),
                        std::to_string(message.get_or(attr::port, 0)),
                        !first || replies ? "answered" : "not answered"});
    }
    call.out.table({{"WIRE", true}, {"ADDRESS"}, {"PORT", true}, {"WRITES"}}, rows);
    return Exit::ok;
}

Exit rdm_peer_add(Call &call) {
    nl::Message request = peer(call, DS_CMD_RDM_PEER_ADD);

    if (auto tenant = call.maybe("--tenant"))
        request.put(attr::tenant, static_cast<uint32_t>(*tenant));
    Kernel(call).call(request, "let " + address_of(request) + " send packets");
    call.out.respond(to_json(request));
    call.out.done(address_of(request) + " may send packets");
    return Exit::ok;
}

Exit rdm_peer_del(Call &call) {
    nl::Message request = peer(call, DS_CMD_RDM_PEER_DEL);

    Kernel(call).call(request, "forbid " + address_of(request) + " to send packets");
    call.out.respond(to_json(request));
    call.out.done(address_of(request) + " may not send packets any more");
    return Exit::ok;
}

Exit rdm_peer_show(Call &call) {
    std::vector<Row> rows;

    for (const nl::Message &message :
         Kernel(call).dump(DS_CMD_RDM_PEER_GET, "list the hosts that may send packets")) {
        auto tenant = message.get(attr::tenant);
        call.out.respond(to_json(message));
        rows.push_back({address_of(message), tenant ? std::to_string(*tenant) : "any"});
    }
    call.out.table({{"ADDRESS"}, {"TENANT"}}, rows);
    return Exit::ok;
}

Exit rdm_keygen(Call &call) {
    call.check_output("FILE", "the key");
    make_key(call.text("FILE"), packet_key_bytes);
    call.out.respond({{"file", call.text("FILE")}});
    if (!is_stdout(call.text("FILE")))
        call.out.done("a new key is in " + call.text("FILE") +
                      "; copy it to the server and to each client of the space");
    return Exit::ok;
}

Exit rdm_selftest(Call &call) {
    nl::Message request(DS_CMD_RDM_SELFTEST);

    request.put(attr::value, call.number("--count"));
    nl::Message reply = Kernel(call).call(request, "run the selftest of the packet service");
    uint64_t passed = reply.get_or(attr::passed, 0), failed = reply.get_or(attr::failed, 0);
    call.out.respond({{"passed", passed}, {"failed", failed}});
    if (failed || !passed)
        throw Error(Exit::failed, "DS-RDM-001",
                    format("%llu of %llu requests were answered wrongly", 0ULL + failed,
                           0ULL + passed + failed),
                    "report it, with the output of 'dsctl version --all' and 'uname -a'");
    call.out.done(format("all of %llu requests were answered rightly", 0ULL + passed));
    return Exit::ok;
}

}  // namespace dsctl
