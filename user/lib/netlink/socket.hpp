// SPDX-License-Identifier: Apache-2.0
// Generic netlink socket of the family "ds" that understands extended
// acknowledgements, which libnl 3.7 does not parse.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <ds/netlink.hpp>

struct nl_sock;
struct nl_cb;
struct nlattr;
struct nlmsgerr;
struct sockaddr_nl;

namespace ds::netlink {

class Socket {
public:
    static Result<std::unique_ptr<Socket>> open();
    ~Socket();
    Socket(const Socket &) = delete;
    Socket &operator=(const Socket &) = delete;

    /// Sends @p request with @p flags (NLM_F_ACK or NLM_F_DUMP) and hands every
    /// object of the answer to @p take, until the kernel says that it is done.
    Result<void> exchange(const Message &request, int flags, std::function<void(Message)> take);

    /// After exchange() of a dump: the objects changed meanwhile.
    bool interrupted() const { return interrupted_; }

    Result<void> join(const char *group);
    /// Reads one datagram of events.
    Result<void> receive(std::function<void(Message)> take);

    int fd() const;

private:
    Socket();
    Result<void> resolve();
    Result<void> send(const Message &request, int flags);
    Error describe(int code, const nlattr *attrs, int length) const;
    std::string culprit(const nlattr *offset, const nlattr *missing) const;

    static int on_seq(nl_msg *msg, void *self);
    static int on_message(nl_msg *msg, void *self);
    static int on_error(sockaddr_nl *from, nlmsgerr *error, void *self);
    static int on_done(nl_msg *msg, void *self);
    static int on_ack(nl_msg *msg, void *self);
    static int on_interrupted(nl_msg *msg, void *self);

    nl_sock *sock_;
    nl_cb *cb_;
    int family_ = 0;

    // State of the exchange under way.
    Bytes sent_;  // the request, to name the attribute at an offset
    uint32_t seq_ = 0;
    std::function<void(Message)> take_;
    std::optional<Error> error_;
    bool done_ = false;
    bool interrupted_ = false;
};

}  // namespace ds::netlink
