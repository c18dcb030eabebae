// SPDX-License-Identifier: Apache-2.0
// dsctl peer: the hosts that this host connects to.
#include "kernel.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

constexpr uint32_t default_wait_ms = 10000;

void put_port(const Call &call, nl::Message &request) {
    if (auto port = call.maybe("--port"))
        request.put(attr::port, static_cast<uint16_t>(*port));
}

Exit add(Call &call) {
    std::string host = call.text("ADDR");
    nl::Message request(DS_CMD_PEER_ADD);
    uint64_t wait = call.maybe("--wait").value_or(call.timeout_ms(default_wait_ms));
    Kernel kernel(call);

    put_address(request, host);
    request.put(attr::domain, kernel.domain(call));
    put_port(call, request);
    request.put(attr::timeout_ms, kernel_wait(wait));
    call.out.trace("waiting up to " + std::to_string(wait) + " ms for " + host);

    nl::Message reply = kernel.call(request, "connect to " + host);
    uint32_t node = reply.get_or(attr::node, 0);
    Json row{{"node", node}, {"address", address_of(request)}};
    call.out.respond(row);
    call.out.done("connected to node " + std::to_string(node) + " at " + host,
                  std::to_string(node));
    return Exit::ok;
}

Exit del(Call &call) {
    std::string peer = call.text("PEER");
    nl::Message request(DS_CMD_PEER_DEL);

    if (auto node = parse_number(peer))
        request.put(attr::node, static_cast<uint32_t>(*node));
    else
        put_address(request, peer);
    put_port(call, request);
    Kernel(call).call(request, "delete peer " + peer);
    call.out.respond(to_json(request));
    call.out.done("peer " + peer + " is deleted");
    return Exit::ok;
}

Exit show(Call &call) {
    std::vector<Row> rows;

    for (const nl::Message &message : Kernel(call).dump(DS_CMD_PEER_GET, "list the peers")) {
        std::string state(message.state_name());
        uint32_t node = message.get_or(attr::node, 0);
        auto mtu = message.get(attr::mtu);
        auto rtt = message.get(attr::rtt_ns);
        call.out.respond(to_json(message));
        rows.push_back({node ? std::to_string(node) : "?",
                        address_of(message),
                        {state, state_style(state)},
                        message.get_or(attr::passive, 0) ? "in" : "out",
                        std::to_string(message.get_or(attr::domain, 0)),
                        std::to_string(message.get_or(attr::lanes, 0)),
                        mtu ? std::to_string(*mtu) : "-",
                        rtt ? ns_text(static_cast<double>(*rtt)) : "-",
                        clause(message.get_or(attr::reason, ""))});
    }
    call.out.table({{"NODE", true},
                    {"ADDRESS"},
                    {"STATE"},
                    {"DIR"},
                    {"DOMAIN", true},
                    {"LANES", true},
                    {"MTU", true},
                    {"RTT", true},
                    {"REASON", false, true}},
                   rows);
    return Exit::ok;
}

constexpr Param port{.name = "--port",
                     .value = "P",
                     .kind = Kind::number,
                     .help = "port of its listener, if it is not the same as this host's",
                     .min = 1,
                     .max = 65535};

const Object object{
    .name = "peer",
    .summary = "hosts that this host connects to",
    .verbs =
        {
            {
                .name = "show",
                .summary =
                    "Show the peers: connections that we made (out) and that others made (in).",
                .params = {},
                .examples = {{"peer show", "all connections and their state"},
                             {"peer show -j", "the same for a program"}},
                .run = show,
            },
            {
                .name = "add",
                .summary = "Connect to a host and stay connected.",
                .params =
                    {
                        {.name = "ADDR", .help = "IPv4 or IPv6 address, or name, of the host"},
                        {.name = "--domain",
                         .value = "N",
                         .kind = Kind::number,
                         .help = "trust domain; may be left out if there is only one",
                         .names = "domains",
                         .min = 1,
                         .max = 65535},
                        port,
                        {.name = "--wait",
                         .value = "MS",
                         .kind = Kind::duration,
                         .help = "longest wait for the connection, up to 20s (default --timeout, "
                                 "or 10s)",
                         .min = 1,
                         .max = max_kernel_wait_ms},
                    },
                .examples = {{"peer add 10.77.0.2", "connect to the host with this address"},
                             {"peer add 10.77.0.2 --domain 1 --wait 20s",
                              "in domain 1, with more patience"}},
                .run = add,
                .details =
                    "When the wait ends without a connection (status 8) the peer stays, and the "
                    "kernel goes on trying; 'peer del' ends that.",
            },
            {
                .name = "del",
                .summary = "End the connection to a host.",
                .params = {{.name = "PEER", .help = "node number or address", .names = "peers"},
                           port},
                .examples = {{"peer del 2", "disconnect from node 2"},
                             {"peer del 10.77.0.2", "or by its address"}},
                .run = del,
                .details =
                    "Returns when no operation is in flight any more. Servers of spaces that "
                    "are on that host become 'down'.",
            },
        },
};

const Register registered(object);

}  // namespace

}  // namespace dsctl
