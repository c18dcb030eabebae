// SPDX-License-Identifier: Apache-2.0
#include "rdma_netlink.hpp"

#include <infiniband/verbs.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <rdma/rdma_netlink.h>

#include <array>
#include <functional>
#include <memory>

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

class Socket {
public:
    Socket() : sock_(nl_socket_alloc(), nl_socket_free) {
        if (sock_ && nl_connect(sock_.get(), NETLINK_RDMA) < 0)
            sock_.reset();
    }

    // Of one device, or of all. False if the kernel does not know the command.
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
        return nl_send_auto(sock_.get(), message.get()) >= 0 &&
               nl_recvmsgs_default(sock_.get()) >= 0;
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

}  // namespace

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
