// SPDX-License-Identifier: Apache-2.0
// doctor: RDMA devices, their ports and their MTU.
#include <memory>

#include <infiniband/verbs.h>

#include "doctor.hpp"
#include "rdma_netlink.hpp"
#include "sysfs.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

const std::string class_dir = "/sys/class/infiniband/";

unsigned bytes_of(ibv_mtu mtu) {
    return 128u << mtu;
}

using Context = std::unique_ptr<ibv_context, decltype(&ibv_close_device)>;

Context open_device(const std::string &name) {
    int count = 0;
    ibv_device **list = ibv_get_device_list(&count);
    ibv_context *context = nullptr;

    for (int i = 0; list && i < count; i++)
        if (name == ibv_get_device_name(list[i]))
            context = ibv_open_device(list[i]);
    if (list)
        ibv_free_device_list(list);
    return Context(context, ibv_close_device);
}

// The network device behind a port, for the remedies.
std::string netdev_of(const std::string &device) {
    return read_line(class_dir + device + "/ports/1/gid_attrs/ndevs/0").value_or("NETDEV");
}

void check_mtu(Findings &findings, const std::string &device, const std::string &link,
               uint8_t port) {
    Context context = open_device(device);
    ibv_port_attr attributes;

    if (!context || ibv_query_port(context.get(), port, &attributes) != 0) {
        findings.push_back({"mtu " + link, Health::skipped,
                            "cannot ask the device; 'modprobe ib_uverbs' lets it be asked"});
        return;
    }
    unsigned active = bytes_of(attributes.active_mtu);
    if (active < 4096)
        findings.push_back({"mtu " + link, Health::warning,
                            format("%u bytes a packet, 4096 would be faster", active),
                            "run 'ip link set dev " + netdev_of(device) +
                                " mtu 4200' on both ends, "
                                "then delete and add the RDMA link"});
    else
        findings.push_back({"mtu " + link, Health::ok, format("%u bytes a packet", active)});
}

// Soft-RoCE of some kernels, 6.12 among them, takes a packet that the network
// device's queue refuses for an error of the queue pair, also of this one.
void check_management(Findings &findings, const std::string &device) {
    std::string check = "management " + device;
    auto dead = management_is_dead(device);

    if (!dead)
        findings.push_back({check, Health::skipped, "this kernel does not tell of queue pairs"});
    else if (*dead)
        findings.push_back({check, Health::failed,
                            "the kernel lost queue pair 1: no host can connect by this device",
                            "make the device anew; for soft-RoCE: 'rdma link delete " + device +
                                "', then 'rdma link add " + device + " type rxe netdev " +
                                netdev_of(device) + "'; DS connects again by itself"});
    else
        findings.push_back({check, Health::ok, "queue pair 1 works"});
}

}  // namespace

void check_links(Findings &findings) {
    auto devices = entries(class_dir);

    if (devices.empty())
        findings.push_back({"rdma link", Health::failed, "this host has no RDMA device",
                            "for soft-RoCE: 'modprobe rdma_rxe', then "
                            "'rdma link add rxe0 type rxe netdev NETDEV'"});
    for (const std::string &device : devices) {
        check_management(findings, device);
        for (const std::string &port : entries(class_dir + device + "/ports")) {
            std::string link = device + "/" + port;
            std::string state =
                read_line(class_dir + device + "/ports/" + port + "/state").value_or("?");
            if (state.find("ACTIVE") == std::string::npos) {
                findings.push_back({"rdma link " + link, Health::failed, "state " + state,
                                    "run 'ip link set dev " + netdev_of(device) +
                                        " up' and look at the cable and the switch"});
                continue;
            }
            findings.push_back({"rdma link " + link, Health::ok, "active"});
            check_mtu(findings, device, link, static_cast<uint8_t>(parse_number(port).value_or(1)));
        }
    }
}

}  // namespace dsctl
