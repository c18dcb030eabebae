// SPDX-License-Identifier: Apache-2.0
#include "netlink/socket.hpp"

#include <linux/netlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <netlink/socket.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace ds::netlink {
namespace {

// The kernel answers within the system call that asks, so this only ends a
// wait for an answer that was lost.
constexpr timeval answer_timeout{30, 0};

// More than the longest request has: a part of an import.
constexpr size_t request_room = 1 << 16;

// Room for bursts of events between two reads.
constexpr int receive_buffer = 1 << 20;

Error library_error(int nle) {
    switch (nle < 0 ? -nle : nle) {
    case NLE_AGAIN:
        return Error::from(ETIMEDOUT, "The kernel did not answer a netlink request within 30 s.");
    case NLE_NOMEM:
        return Error::from(ENOBUFS);
    case NLE_PERM:
        return Error::from(EPERM);
    default:
        return Error::from(EIO, std::string("Netlink: ") + nl_geterror(nle) + ".");
    }
}

int enable(nl_sock *sock, int option) {
    int on = 1;
    return setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, option, &on, sizeof(on));
}

}  // namespace

Socket::Socket() : sock_(nl_socket_alloc()), cb_(nl_cb_alloc(NL_CB_DEFAULT)) {
    if (!sock_ || !cb_)
        throw std::bad_alloc();
    nl_cb_set(cb_, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, on_seq, this);
    nl_cb_set(cb_, NL_CB_VALID, NL_CB_CUSTOM, on_message, this);
    nl_cb_set(cb_, NL_CB_FINISH, NL_CB_CUSTOM, on_done, this);
    nl_cb_set(cb_, NL_CB_ACK, NL_CB_CUSTOM, on_ack, this);
    nl_cb_set(cb_, NL_CB_DUMP_INTR, NL_CB_CUSTOM, on_interrupted, this);
    nl_cb_err(cb_, NL_CB_CUSTOM, on_error, this);
}

Socket::~Socket() {
    nl_cb_put(cb_);
    nl_socket_free(sock_);
}

Result<std::unique_ptr<Socket>> Socket::open() {
    std::unique_ptr<Socket> socket(new Socket);
    nl_sock *sock = socket->sock_;
    if (int rc = genl_connect(sock); rc < 0)
        return library_error(rc);
    setsockopt(nl_socket_get_fd(sock), SOL_SOCKET, SO_RCVTIMEO, &answer_timeout,
               sizeof(answer_timeout));
    nl_socket_set_buffer_size(sock, receive_buffer, 0);
    if (enable(sock, NETLINK_EXT_ACK) < 0 || enable(sock, NETLINK_CAP_ACK) < 0)
        return Error::from(errno);
    if (auto ok = socket->resolve(); !ok)
        return ok.error();
    nl_socket_disable_auto_ack(sock);
    return socket;
}

Result<void> Socket::resolve() {
    family_ = genl_ctrl_resolve(sock_, DS_GENL_NAME);
    if (family_ >= 0)
        return {};
    if (family_ != -NLE_OBJ_NOTFOUND)
        return library_error(family_);
    return Error{ENOENT, "The kernel has no netlink family \"" DS_GENL_NAME "\".",
                 "Load the module ds.ko on this host; `dsctl doctor` finds what it lacks."};
}

Result<void> Socket::send(const Message &request, int flags) {
    std::unique_ptr<nl_msg, decltype(&nlmsg_free)> msg(nlmsg_alloc_size(request_room), nlmsg_free);
    if (!msg)
        return Error::from(ENOMEM);
    if (!genlmsg_put(msg.get(), NL_AUTO_PORT, NL_AUTO_SEQ, family_, 0, NLM_F_REQUEST | flags,
                     request.command(), DS_GENL_VERSION))
        return Error::from(EMSGSIZE);
    if (int rc = request.encode(msg.get()); rc < 0)
        return Error::from(rc);
    nl_complete_msg(sock_, msg.get());

    nlmsghdr *header = nlmsg_hdr(msg.get());
    auto *bytes = reinterpret_cast<uint8_t *>(header);
    sent_.assign(bytes, bytes + header->nlmsg_len);
    seq_ = header->nlmsg_seq;
    if (int rc = nl_send(sock_, msg.get()); rc < 0)
        return library_error(rc);
    return {};
}

Result<void> Socket::exchange(const Message &request, int flags,
                              std::function<void(Message)> take) {
    take_ = std::move(take);
    error_.reset();
    done_ = interrupted_ = false;
    if (auto sent = send(request, flags); !sent)
        return sent;
    while (!done_ && !error_) {
        int rc = nl_recvmsgs(sock_, cb_);
        if (rc < 0 && !error_)
            return library_error(rc);
    }
    return error_ ? Result<void>(*error_) : Result<void>();
}

Result<void> Socket::join(const char *group) {
    int id = genl_ctrl_resolve_grp(sock_, DS_GENL_NAME, group);
    if (id < 0)
        return library_error(id);
    if (int rc = nl_socket_add_membership(sock_, id); rc < 0)
        return library_error(rc);
    return {};
}

Result<void> Socket::receive(std::function<void(Message)> take) {
    take_ = std::move(take);
    error_.reset();
    seq_ = 0;
    if (int rc = nl_recvmsgs(sock_, cb_); rc < 0)
        return library_error(rc);
    return error_ ? Result<void>(*error_) : Result<void>();
}

int Socket::fd() const {
    return nl_socket_get_fd(sock_);
}

// An answer to an earlier request, one that timed out, is not for this one.
int Socket::on_seq(nl_msg *msg, void *self) {
    return nlmsg_hdr(msg)->nlmsg_seq == static_cast<Socket *>(self)->seq_ ? NL_OK : NL_SKIP;
}

int Socket::on_message(nl_msg *msg, void *self) {
    auto *socket = static_cast<Socket *>(self);
    Result<Message> message = Message::decode(nlmsg_hdr(msg));
    if (message)
        socket->take_(std::move(*message));
    else
        socket->error_ = message.error();
    return NL_OK;
}

int Socket::on_ack(nl_msg *, void *self) {
    static_cast<Socket *>(self)->done_ = true;
    return NL_STOP;
}

int Socket::on_interrupted(nl_msg *, void *self) {
    static_cast<Socket *>(self)->interrupted_ = true;
    return NL_OK;
}

int Socket::on_error(sockaddr_nl *, nlmsgerr *error, void *self) {
    auto *socket = static_cast<Socket *>(self);
    const nlmsghdr *header = reinterpret_cast<nlmsghdr *>(error) - 1;
    // The request follows the code, only its head if the kernel capped it;
    // behind that are the attributes of the extended acknowledgement.
    int skip = sizeof(*error);
    if (!(header->nlmsg_flags & NLM_F_CAPPED))
        skip += static_cast<int>(NLMSG_ALIGN(error->msg.nlmsg_len) - NLMSG_HDRLEN);
    int length = static_cast<int>(header->nlmsg_len) - NLMSG_HDRLEN - skip;
    if (!(header->nlmsg_flags & NLM_F_ACK_TLVS))
        length = 0;
    auto *attrs = reinterpret_cast<nlattr *>(reinterpret_cast<char *>(error) + skip);
    socket->error_ = socket->describe(error->error, attrs, length);
    return NL_STOP;
}

// The end of a dump carries the dump's own error, which libnl does not look at.
int Socket::on_done(nl_msg *msg, void *self) {
    auto *socket = static_cast<Socket *>(self);
    nlmsghdr *header = nlmsg_hdr(msg);
    int length = nlmsg_datalen(header);
    int code = 0;
    if (length >= static_cast<int>(sizeof(code)))
        std::memcpy(&code, nlmsg_data(header), sizeof(code));
    if (code < 0) {
        auto *data = static_cast<char *>(nlmsg_data(header));
        bool tlvs = header->nlmsg_flags & NLM_F_ACK_TLVS;
        socket->error_ = socket->describe(code, reinterpret_cast<nlattr *>(data + sizeof(code)),
                                          tlvs ? length - static_cast<int>(sizeof(code)) : 0);
    }
    socket->done_ = true;
    return NL_STOP;
}

Error Socket::describe(int code, const nlattr *attrs, int length) const {
    std::string sentence;
    const nlattr *offset = nullptr;
    const nlattr *missing = nullptr;
    for (const nlattr *a = attrs; length > 0 && nla_ok(a, length); a = nla_next(a, &length)) {
        auto *data = static_cast<const char *>(nla_data(a));
        switch (nla_type(a)) {
        case NLMSGERR_ATTR_MSG:
            sentence.assign(data, strnlen(data, static_cast<size_t>(nla_len(a))));
            break;
        case NLMSGERR_ATTR_OFFS:
            offset = a;
            break;
        case NLMSGERR_ATTR_MISS_TYPE:
            missing = a;
            break;
        }
    }
    if (sentence.empty())
        sentence = ds_strerror(code);
    return Error::from(code, sentence + culprit(offset, missing));
}

// " (attribute servers)", or nothing when the kernel blames no attribute.
std::string Socket::culprit(const nlattr *offset, const nlattr *missing) const {
    if (missing && nla_len(missing) == 4) {
        const AttrInfo *info = find_attr(static_cast<uint16_t>(nla_get_u32(missing)));
        if (info)
            return " (attribute " + std::string(info->name) + " is missing)";
    }
    if (offset && nla_len(offset) == 4) {
        size_t at = nla_get_u32(offset);
        nlattr attr;
        if (at + sizeof(attr) > sent_.size())
            return {};
        std::memcpy(&attr, sent_.data() + at, sizeof(attr));
        const AttrInfo *info = find_attr(static_cast<uint16_t>(attr.nla_type & NLA_TYPE_MASK));
        if (info)
            return " (attribute " + std::string(info->name) + ")";
    }
    return {};
}

}  // namespace ds::netlink
