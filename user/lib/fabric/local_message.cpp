// SPDX-License-Identifier: Apache-2.0
#include "fabric/local_message.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "fabric/clock.hpp"

namespace ds::fabric {
namespace {

constexpr uint64_t ms = 1'000'000;  // ns

template <class Call>
int at_address(const Fd &fd, const std::string &name, Call &&call) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name.size() >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    std::memcpy(address.sun_path, name.data(), name.size());
    return call(fd.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) < 0
               ? -errno
               : 0;
}

}  // namespace

int send_frame(int fd, const Frame &frame, std::span<const std::byte> payload) {
    std::array<iovec, 2> parts{{
        {const_cast<Frame *>(&frame), sizeof(frame)},
        {const_cast<std::byte *>(payload.data()), payload.size()},
    }};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

ssize_t receive_frame(int fd, Frame &frame, std::span<std::byte> payload) {
    std::array<iovec, 2> parts{{
        {&frame, sizeof(frame)},
        {payload.data(), payload.size()},
    }};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    ssize_t length = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0)
        return -errno;
    if (length == 0)
        return -EPIPE;
    if (length < static_cast<ssize_t>(sizeof(frame)) || message.msg_flags & MSG_TRUNC ||
        frame.magic != Frame::known || frame.reserved != 0)
        return -EPROTO;
    return length - static_cast<ssize_t>(sizeof(frame));
}

int wait_for(int fd, short events, uint64_t deadline) {
    for (;;) {
        uint64_t now = monotonic_ns();
        if (now >= deadline)
            return -ETIMEDOUT;
        pollfd ready{fd, events, 0};
        uint64_t wait = std::min<uint64_t>((deadline - now + ms - 1) / ms, INT_MAX);
        int n = poll(&ready, 1, static_cast<int>(wait));
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return -errno;
    }
}

int PortFolder::locate(const char *path, PortFolder &folder) {
    std::unique_ptr<char, decltype(&std::free)> whole(realpath(path, nullptr), std::free);
    if (!whole)
        return -errno;
    folder.path_ = std::string(whole.get()) + ".ports";
    return 0;
}

int PortFolder::open(Fd &fd) const {
    fd = Fd(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return fd.open() ? 0 : -errno;
}

int PortFolder::make(mode_t mode, Fd &fd) const {
    // Who may read the file may look into the folder.
    mode_t folder_mode = (mode & 0666) | (mode & 0444) >> 2;
    if (mkdir(path_.c_str(), folder_mode) < 0 && errno != EEXIST)
        return -errno;
    return open(fd);
}

std::string PortFolder::socket_of(const Fd &folder, uint32_t port) {
    return "/proc/self/fd/" + std::to_string(folder.get()) + "/" + std::to_string(port);
}

int make_socket(Fd &fd) {
    fd = Fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    return fd.open() ? 0 : -errno;
}

int bind_to(const Fd &fd, const std::string &name) {
    return at_address(fd, name, ::bind);
}

int connect_to(const Fd &fd, const std::string &name) {
    return at_address(fd, name, ::connect);
}

}  // namespace ds::fabric
