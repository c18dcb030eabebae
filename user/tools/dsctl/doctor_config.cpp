// SPDX-License-Identifier: Apache-2.0
// doctor: what the module is told: node number, domains, devices, peers, spaces.
#include "doctor.hpp"
#include "kernel.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

void check_node(Findings &findings, Kernel &kernel) {
    uint32_t node =
        kernel.call(nl::Message(DS_CMD_NODE_GET), "read the node").get_or(attr::node, 0);

    if (node)
        findings.push_back({"node number", Health::ok, "node " + std::to_string(node)});
    else
        findings.push_back({"node number", Health::failed, "not set",
                            "run 'dsctl node set ID', with another ID on each host"});
}

void check_domains(Findings &findings, Kernel &kernel) {
    size_t count = kernel.dump(DS_CMD_DOMAIN_GET, "list the trust domains").size();

    if (count)
        findings.push_back({"trust domain", Health::ok, std::to_string(count) + " set"});
    else
        findings.push_back({"trust domain", Health::failed, "none is set",
                            "run 'dsctl node keygen FILE' once, copy FILE, and run "
                            "'dsctl node domain add 1 --key FILE' on each host"});
}

void check_devices(Findings &findings, Kernel &kernel) {
    for (const nl::Message &device : kernel.dump(DS_CMD_DEV_GET, "list the RDMA devices")) {
        std::string check = "device " + device.get_or(attr::device, "?");
        if (device.get(attr::state) == DS_DEV_USED)
            findings.push_back({check, Health::ok, "used by DS"});
        else
            findings.push_back(
                {check, Health::warning,
                 "not used: " + clause(device.get_or(attr::reason, "no reason is known")),
                 "use a RoCE or InfiniBand device with atomics"});
    }
}

void check_peers(Findings &findings, Kernel &kernel) {
    for (const nl::Message &peer : kernel.dump(DS_CMD_PEER_GET, "list the peers")) {
        uint32_t node = peer.get_or(attr::node, 0);
        std::string check = node ? format("peer %u", node) : "peer " + address_of(peer);
        if (peer.get(attr::state) == DS_PEER_UP)
            findings.push_back({check, Health::ok, "up"});
        else
            findings.push_back({check, Health::failed,
                                std::string(peer.state_name()) + ": " +
                                    clause(peer.get_or(attr::reason, "no reason is known")),
                                "see that the host runs, that 'ping " + address_of(peer) +
                                    "' works, and that node number, group and key match"});
    }
}

void check_servers(Findings &findings, Kernel &kernel) {
    for (const nl::Message &server : kernel.dump(DS_CMD_ATTACH_GET, "list the servers of spaces")) {
        uint32_t state = server.get_or(attr::state, 0);
        std::string check = format("space %u server %u", server.get_or(attr::space, 0),
                                   server.get_or(attr::server, 0));
        std::string target =
            format("%u:SEGMENT --space %u --server %u", server.get_or(attr::node, 0),
                   server.get_or(attr::space, 0), server.get_or(attr::server, 0));
        if (state == DS_ATTACH_UP)
            findings.push_back({check, Health::ok, "up"});
        else if (state == DS_ATTACH_DOWN)
            findings.push_back({check, Health::failed, "down: its node is not connected",
                                "bring the node back; the server comes back by itself"});
        else
            findings.push_back(
                {check, Health::failed, std::string(server.state_name()),
                 "run 'dsctl seg attach " + target + "' with a segment of the node"});
    }
}

}  // namespace

void check_configuration(Findings &findings) {
    try {
        Kernel kernel;
        check_node(findings, kernel);
        check_domains(findings, kernel);
        check_devices(findings, kernel);
        check_peers(findings, kernel);
        check_servers(findings, kernel);
    } catch (const Error &error) {
        findings.push_back({"configuration", Health::skipped, error.sentence});
    }
}

}  // namespace dsctl
