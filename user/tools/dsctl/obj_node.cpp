// SPDX-License-Identifier: Apache-2.0
// dsctl node: this host: its number, its trust domains and its RDMA devices.
#include <algorithm>

#include "file.hpp"
#include "kernel.hpp"
#include "keyfile.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

Exit show(Call &call) {
    Kernel kernel(call);
    nl::Message node = kernel.call(nl::Message(DS_CMD_NODE_GET), "read the node");
    Json json = to_json(node);
    uint32_t id = node.get_or(attr::node, 0);

    call.out.respond(json);
    if (id == 0)
        call.out.warn("this host has no node number: set one with 'dsctl node set ID'");
    std::vector<std::pair<std::string, Cell>> fields{
        {"node", id ? Cell(std::to_string(id)) : Cell("not set", Style::warning)},
    };
    for (const auto &[name, value] : json.members())
        if (name != "node")
            fields.emplace_back(name, value.text());
    if (!call.out.json())
        call.out.fields(fields);
    return Exit::ok;
}

Exit set(Call &call) {
    nl::Message request(DS_CMD_NODE_SET);
    std::string id = call.text("ID");
    Json row{{"node", call.number("ID")}};

    request.put(attr::node, static_cast<uint32_t>(call.number("ID")));
    if (auto group = call.maybe("--group")) {
        request.put(attr::group, *group);
        row["group"] = *group;
    }
    Kernel(call).call(request, "set the node number");
    call.out.respond(row);
    call.out.done("this host is node " + id);
    return Exit::ok;
}

nl::Message domain_request(Call &call, uint8_t command) {
    nl::Message request(command);

    request.put(attr::domain, static_cast<uint32_t>(call.number("ID")));
    call.out.respond({{"domain", call.number("ID")}});
    return request;
}

Exit domain_add(Call &call) {
    std::vector<uint8_t> key = read_key(call.text("--key"), domain_key_bytes, call.out);
    nl::Message request = domain_request(call, DS_CMD_DOMAIN_ADD);

    request.put(attr::key, key);
    Kernel(call).call(request, "add trust domain " + call.text("ID"));
    call.out.done("trust domain " + call.text("ID") + " is set");
    return Exit::ok;
}

Exit domain_del(Call &call) {
    nl::Message request = domain_request(call, DS_CMD_DOMAIN_DEL);

    Kernel(call).call(request, "delete trust domain " + call.text("ID"));
    call.out.done("trust domain " + call.text("ID") + " is deleted");
    return Exit::ok;
}

Exit domain_show(Call &call) {
    std::vector<Row> rows;

    for (const nl::Message &message :
         Kernel(call).dump(DS_CMD_DOMAIN_GET, "list the trust domains")) {
        call.out.respond(to_json(message));
        rows.push_back({std::to_string(message.get_or(attr::domain, 0))});
    }
    call.out.table({{"DOMAIN", true}}, rows);
    return Exit::ok;
}

Exit keygen(Call &call) {
    call.check_output("FILE", "the key");
    make_key(call.text("FILE"), domain_key_bytes);
    call.out.respond({{"file", call.text("FILE")}});
    if (!is_stdout(call.text("FILE")))
        call.out.done("a new key is in " + call.text("FILE") +
                      "; copy it to each host of the domain");
    return Exit::ok;
}

Exit dev(Call &call) {
    std::vector<Row> rows;

    for (const nl::Message &message : Kernel(call).dump(DS_CMD_DEV_GET, "list the RDMA devices")) {
        std::string state(message.state_name());
        call.out.respond(to_json(message));
        rows.push_back({message.get_or(attr::device, "?"),
                        {state, state_style(state)},
                        std::to_string(message.get_or(attr::mtu, 0)),
                        clause(message.get_or(attr::reason, ""))});
    }
    call.out.table({{"DEVICE"}, {"STATE"}, {"MTU", true}, {"REASON", false, true}}, rows);
    if (rows.empty())
        call.out.warn(
            "no RDMA device: for soft-RoCE run "
            "'rdma link add rxe0 type rxe netdev NETDEV'");
    return Exit::ok;
}

const Verb dev_verb(std::string_view name, std::string_view command) {
    return {
        .name = name,
        .summary = "Show the RDMA devices: used by DS, or refused and why.",
        .params = {},
        .examples = {{command, "devices and why DS does not use some of them"}},
        .run = dev,
    };
}

const Param domain_id{.name = "ID",
                      .kind = Kind::number,
                      .help = "number of the domain",
                      .names = "domains",
                      .min = 1,
                      .max = 65535};

const Object node{
    .name = "node",
    .summary = "this host: its number, trust domains and RDMA devices",
    .verbs =
        {
            {
                .name = "show",
                .summary = "Show this host's number, group and identity.",
                .params = {},
                .examples = {{"node show", "who this host is"}},
                .run = show,
            },
            {
                .name = "set",
                .summary = "Set this host's number.",
                .params =
                    {
                        {.name = "ID",
                         .kind = Kind::number,
                         .help = "node number, unique in the group",
                         .min = 1,
                         .max = 65535},
                        {.name = "--group",
                         .value = "G",
                         .kind = Kind::number,
                         .help = "only hosts of one group connect to each other"},
                    },
                .examples = {{"node set 1", "this host is node 1"},
                             {"node set 1 --group 7", "and belongs to group 7"}},
                .run = set,
                .details = "Do this first: it is refused once a domain or a peer exists.",
            },
            {
                .name = "keygen",
                .summary = "Make a random domain key in a new file that only you can read.",
                .params = {{.name = "FILE", .kind = Kind::file, .help = "file to make"}},
                .examples = {{"node keygen /etc/ds/domain1.key", "a key for domain 1"}},
                .run = keygen,
            },
            {
                .name = "domain add",
                .summary = "Add a trust domain with its key.",
                .params = {for_new(domain_id),
                           {.name = "--key",
                            .value = "FILE",
                            .kind = Kind::file,
                            .help = "file with the key: 32 bytes or 64 hexadecimal digits",
                            .required = true}},
                .examples = {{"node domain add 1 --key /etc/ds/domain1.key",
                              "trust the hosts that have this key"}},
                .run = domain_add,
                .details = "Hosts that have the same key under the same number trust each other.",
            },
            {
                .name = "domain del",
                .summary = "Delete a trust domain that nothing uses.",
                .params = {domain_id},
                .examples = {{"node domain del 1", "no longer trust domain 1"}},
                .run = domain_del,
            },
            {
                .name = "domain show",
                .summary = "Show the trust domains.",
                .params = {},
                .examples = {{"node domain show", "domains of this host"}},
                .run = domain_show,
            },
            dev_verb("dev", "node dev"),
        },
};

const Object dev_object{
    .name = "dev",
    .summary = "RDMA devices, used or refused (as 'node dev')",
    .verbs = {dev_verb("show", "dev show")},
};

const Register registered_node(node);
const Register registered_dev(dev_object);

}  // namespace

}  // namespace dsctl
