// SPDX-License-Identifier: Apache-2.0
#include "fabric/local_message_sender.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <ds/fabric.h>

#include "fabric/clock.hpp"

namespace ds::fabric {
namespace {

constexpr uint64_t ms = 1'000'000;  // ns
constexpr size_t max_idle = 16;     // connections of a port

}  // namespace

int LocalSender::send(ds_ioc_msg_send &message) {
    bool one_way = message.flags & DS_SEND_ONE_WAY;
    message.out_outcome = DS_NOT_EXECUTED;
    if (message.service < DS_SERVICE_USER_FIRST || message.service > DS_SERVICE_USER_LAST ||
        (one_way && (message.reply || message.reply_size)))
        return -EINVAL;
    if (message.length > local_max_payload)
        return -E2BIG;
    if (message.node < 1 || message.node > nodes_)
        return -ENOTCONN;
    uint32_t patience = message.timeout_ms ? message.timeout_ms : DS_TIMEOUT_DEFAULT;
    uint64_t deadline = monotonic_ns() + patience * ms;

    Fd connection;
    if (int rc = start(message, deadline, connection); rc < 0)
        return rc;
    message.out_outcome = DS_UNKNOWN;
    int rc = one_way ? 0 : finish(message, deadline, connection);
    if (rc == 0 || rc == -EMSGSIZE)
        keep(message.service, std::move(connection));
    return rc;
}

int LocalSender::connect(uint32_t port, Fd &connection) const {
    Fd folder;
    int rc = folder_.open(folder);
    if (rc == 0)
        rc = make_socket(connection);
    if (rc == 0)
        rc = connect_to(connection, PortFolder::socket_of(folder, port));
    if (rc == -ENOENT)
        return -ECONNREFUSED;
    return rc == -EAGAIN ? -EBUSY : rc;  // as many wait to connect as may
}

// Sends it through a connection that a service holds, as far as one can know.
int LocalSender::start(const ds_ioc_msg_send &message, uint64_t deadline, Fd &connection) {
    Frame frame{.type = message.flags & DS_SEND_ONE_WAY ? Frame::one_way : Frame::request};
    std::span payload(reinterpret_cast<const std::byte *>(message.data),
                      message.length);  // NOLINT(performance-no-int-to-ptr)
    for (;;) {
        bool used = take_idle(message.service, connection);
        if (!used)
            if (int rc = connect(message.service, connection); rc < 0)
                return rc;
        int rc = send_frame(connection.get(), frame, payload);
        while (rc == -EAGAIN || rc == -EINTR) {
            if (int waited = wait_for(connection.get(), POLLOUT, deadline); waited < 0)
                return waited;
            rc = send_frame(connection.get(), frame, payload);
        }
        if (rc == 0)
            return 0;
        bool gone = rc == -EPIPE || rc == -ECONNRESET;
        if (!gone || !used)
            return gone ? -ECONNREFUSED : rc;
        // The service that it led to has ended. There may be another.
    }
}

int LocalSender::finish(ds_ioc_msg_send &message, uint64_t deadline, const Fd &connection) {
    Frame frame;
    std::array<std::byte, local_max_payload> payload;
    ssize_t length;
    do {
        if (int rc = wait_for(connection.get(), POLLIN, deadline); rc < 0)
            return rc;
        length = receive_frame(connection.get(), frame, payload);
    } while (length == -EAGAIN || length == -EINTR);
    if (length == -EPIPE)
        return -ECONNRESET;
    if (length == -ECONNRESET) {  // it was still unread in the service's socket
        message.out_outcome = DS_NOT_EXECUTED;
        return -ECONNREFUSED;
    }
    if (length < 0)
        return static_cast<int>(length);
    if (frame.type == Frame::refusal) {
        message.out_outcome = DS_NOT_EXECUTED;
        return frame.status < 0 ? frame.status : -EPROTO;
    }
    if (frame.type != Frame::reply)
        return -EPROTO;
    message.out_outcome = DS_EXECUTED;
    message.out_status = frame.status;
    message.out_reply_length = static_cast<uint32_t>(length);
    if (message.out_reply_length > message.reply_size)
        return -EMSGSIZE;
    if (length > 0)
        std::memcpy(reinterpret_cast<void *>(message.reply),
                    payload.data(),  // NOLINT(performance-no-int-to-ptr)
                    static_cast<size_t>(length));
    return 0;
}

bool LocalSender::take_idle(uint32_t port, Fd &connection) {
    std::lock_guard guard(lock_);
    std::vector<Fd> &idle = idle_[port];
    if (idle.empty())
        return false;
    connection = std::move(idle.back());
    idle.pop_back();
    return true;
}

void LocalSender::keep(uint32_t port, Fd connection) {
    std::lock_guard guard(lock_);
    std::vector<Fd> &idle = idle_[port];
    if (idle.size() < max_idle)
        idle.push_back(std::move(connection));
}

}  // namespace ds::fabric
