// SPDX-License-Identifier: Apache-2.0
#include "rdma_netlink.hpp"

#include <infiniband/verbs.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <rdma/rdma_netlink.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>

#include "sysfs.hpp"

namespace dsctl {

namespace {

constexpr uint8_t type_gsi = 1;  // of enum ib_qp_type, which user space has no name for

using Attributes = std::array<nlattr *, RDMA_NLDEV_ATTR_MAX>;
using Each = std::function<void(const Attributes &)>;

int on_valid(nl_msg *message, void *context) {
    Attributes attributes;

    if (nlmsg_parse(nlmsg_hdr(message), 0, attributes.data(), RDMA_NLDEV_ATTR_MAX - 1, nullptr) ==
        0)
        (*static_cast<const Each *>(context))(attributes);
    return NL_OK;
}

// A list that failed in its middle ends as others do, but with an errno, at which libnl does not
// look.
int on_finish(nl_msg *message, void *context) {
    const nlmsghdr *header = nlmsg_hdr(message);

    if (nlmsg_datalen(header) >= static_cast<int>(sizeof(int)))
        std::memcpy(context, nlmsg_data(header), sizeof(int));
    return NL_STOP;
}

class Socket {
public:
    Socket() : sock_(nl_socket_alloc(), nl_socket_free) {
        if (sock_ && nl_connect(sock_.get(), NETLINK_RDMA) < 0)
            sock_.reset();
    }

    // Of one device, or of all. False if the kernel does not know the command, or could not list
    // all.
    bool dump(rdma_nldev_command command, std::optional<uint32_t> device, const Each &each) {
        int type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
        std::unique_ptr<nl_msg, decltype(&nlmsg_free)> message(
            nlmsg_alloc_simple(type, NLM_F_REQUEST | NLM_F_DUMP), nlmsg_free);

        if (!sock_ || !message)
            return false;
        if (device && nla_put_u32(message.get(), RDMA_NLDEV_ATTR_DEV_INDEX, *device) < 0)
            return false;
        nl_socket_modify_cb(sock_.get(), NL_CB_VALID, NL_CB_CUSTOM, on_valid,
                            const_cast<Each *>(&each));
        int ended = 0;
        nl_socket_modify_cb(sock_.get(), NL_CB_FINISH, NL_CB_CUSTOM, on_finish, &ended);
        return nl_send_auto(sock_.get(), message.get()) >= 0 &&
               nl_recvmsgs_default(sock_.get()) >= 0 && ended >= 0;
    }

private:
    std::unique_ptr<nl_sock, decltype(&nl_socket_free)> sock_;
};

std::optional<uint32_t> index_of(Socket &socket, const std::string &device) {
    std::optional<uint32_t> index;

    socket.dump(RDMA_NLDEV_CMD_GET, std::nullopt, [&](const Attributes &attributes) {
        nlattr *name = attributes[RDMA_NLDEV_ATTR_DEV_NAME];
        if (name && device == nla_get_string(name) && attributes[RDMA_NLDEV_ATTR_DEV_INDEX])
            index = nla_get_u32(attributes[RDMA_NLDEV_ATTR_DEV_INDEX]);
    });
    return index;
}

bool is_dead_gsi(nlattr *entry) {
    Attributes fields;

    return nla_parse_nested(fields.data(), RDMA_NLDEV_ATTR_MAX - 1, entry, nullptr) == 0 &&
           fields[RDMA_NLDEV_ATTR_RES_TYPE] && fields[RDMA_NLDEV_ATTR_RES_STATE] &&
           nla_get_u8(fields[RDMA_NLDEV_ATTR_RES_TYPE]) == type_gsi &&
           nla_get_u8(fields[RDMA_NLDEV_ATTR_RES_STATE]) == IBV_QPS_ERR;
}

// Which command lists the objects of a type, and where in its messages they and their numbers are.
struct List {
    ds_token_type type;
    rdma_nldev_command command;
    rdma_nldev_attr table;
    rdma_nldev_attr number;
};

constexpr List lists[] = {
    {DS_TOKEN_PD, RDMA_NLDEV_CMD_RES_PD_GET, RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PDN},
    {DS_TOKEN_CQ, RDMA_NLDEV_CMD_RES_CQ_GET, RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQN},
    {DS_TOKEN_MR, RDMA_NLDEV_CMD_RES_MR_GET, RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MRN},
    {DS_TOKEN_QP, RDMA_NLDEV_CMD_RES_QP_GET, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_LQPN},
};

uint32_t u32_or(const Attributes &fields, rdma_nldev_attr attr, uint32_t otherwise) {
    return fields[attr] ? nla_get_u32(fields[attr]) : otherwise;
}

uint8_t u8_or_zero(const Attributes &fields, rdma_nldev_attr attr) {
    return fields[attr] ? nla_get_u8(fields[attr]) : uint8_t{0};
}

std::string owner_of(const Attributes &fields) {
    if (nlattr *name = fields[RDMA_NLDEV_ATTR_RES_KERN_NAME])
        return "[" + std::string(nla_get_string(name)) + "]";
    uint32_t pid = u32_or(fields, RDMA_NLDEV_ATTR_RES_PID, 0);
    return read_line("/proc/" + std::to_string(pid) + "/comm").value_or(std::to_string(pid));
}

Maker maker_of(const Attributes &fields) {
    if (nlattr *name = fields[RDMA_NLDEV_ATTR_RES_KERN_NAME])
        return std::string_view(nla_get_string(name)) == "ds" ? Maker::ds : Maker::other;
    return Maker::program;
}

RdmaObject object_of(const List &list, const Attributes &fields) {
    RdmaObject found{.object = {},
                     .number = u32_or(fields, list.number, 0),
                     .owner = owner_of(fields),
                     .maker = maker_of(fields)};
    ds_token_object &object = found.object;

    object.type = list.type;
    object.pd = DS_TOKEN_NO_PD;
    if (list.type == DS_TOKEN_MR || list.type == DS_TOKEN_QP)
        object.pd = u32_or(fields, RDMA_NLDEV_ATTR_RES_PDN, DS_TOKEN_NO_PD);
    if (list.type != DS_TOKEN_MR)
        object.number = found.number;
    switch (list.type) {
    case DS_TOKEN_MR:
        object.lkey = u32_or(fields, RDMA_NLDEV_ATTR_RES_LKEY, 0);
        object.rkey = u32_or(fields, RDMA_NLDEV_ATTR_RES_RKEY, 0);
        if (nlattr *length = fields[RDMA_NLDEV_ATTR_RES_MRLEN])
            object.length = nla_get_u64(length);
        break;
    case DS_TOKEN_CQ:
        object.entries = u32_or(fields, RDMA_NLDEV_ATTR_RES_CQE, 0);
        break;
    case DS_TOKEN_QP:
        object.qp_type = u8_or_zero(fields, RDMA_NLDEV_ATTR_RES_TYPE);
        object.state = u8_or_zero(fields, RDMA_NLDEV_ATTR_RES_STATE);
        break;
    case DS_TOKEN_PD:
        break;
    }
    return found;
}

bool add_objects(Socket &socket, uint32_t device, const List &list,
                 std::vector<RdmaObject> &objects) {
    return socket.dump(list.command, device, [&](const Attributes &attributes) {
        nlattr *entry;
        int rest;

        if (attributes[list.table])
            nla_for_each_nested(entry, attributes[list.table], rest) {
                Attributes fields;
                if (nla_parse_nested(fields.data(), RDMA_NLDEV_ATTR_MAX - 1, entry, nullptr) == 0)
                    objects.push_back(object_of(list, fields));
            }
    });
}

}  // namespace

std::optional<std::vector<RdmaObject>> list_objects(const std::string &device) {
    std::vector<RdmaObject> objects;
    Socket socket;
    auto index = index_of(socket, device);

    for (const List &list : lists)
        if (!index || !add_objects(socket, *index, list, objects))
            return std::nullopt;
    return objects;
}

std::optional<bool> management_is_dead(const std::string &device) {
    Socket socket;
    bool dead = false;
    auto index = index_of(socket, device);

    if (!index)
        return std::nullopt;
    bool told = socket.dump(RDMA_NLDEV_CMD_RES_QP_GET, index, [&](const Attributes &attributes) {
        nlattr *entry;
        int rest;

        if (attributes[RDMA_NLDEV_ATTR_RES_QP])
            nla_for_each_nested(entry, attributes[RDMA_NLDEV_ATTR_RES_QP], rest) {
                dead |= is_dead_gsi(entry);
            }
    });
    return told ? std::optional(dead) : std::nullopt;
}

}  // namespace dsctl
