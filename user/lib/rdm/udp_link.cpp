// SPDX-License-Identifier: Apache-2.0
#include "rdm/udp_link.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "fabric/clock.hpp"
#include "rdm/core.hpp"

namespace ds::rdm {
namespace {

constexpr int ip_and_udp = 20 + 8;
constexpr int longest_datagram = 65535;
constexpr int wanted_room = 4 << 20;  // of the socket: as much of it as the system allows
constexpr int least = DS_PACKET1_DATA_AT + DS_PACKET1_UNIT;

}  // namespace

int UdpLink::open(uint32_t ipv4, uint16_t port, std::unique_ptr<Link> &link) {
    std::unique_ptr<UdpLink> made(new UdpLink(ipv4, port));
    int rc = made->renew();

    if (rc == 0)
        link = std::move(made);
    return rc;
}

// A new port: the server answers where the question came from.
int UdpLink::renew() {
    fabric::Fd made(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    int discover = IP_PMTUDISC_DO;
    sockaddr_in to{};

    to.sin_family = AF_INET;
    to.sin_port = htons(port_);
    to.sin_addr.s_addr = ipv4_;
    if (!made.open() ||
        setsockopt(made.get(), IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof(discover)) ||
        setsockopt(made.get(), SOL_SOCKET, SO_RCVBUF, &wanted_room, sizeof(wanted_room)) ||
        connect(made.get(), reinterpret_cast<sockaddr *>(&to), sizeof(to)))
        return -errno;
    socket_ = std::move(made);
    return read_mtu();
}

int UdpLink::read_mtu() {
    int mtu = 0;
    socklen_t size = sizeof(mtu);

    if (getsockopt(socket_.get(), IPPROTO_IP, IP_MTU, &mtu, &size))
        return -errno;
    int most = std::min(mtu, longest_datagram) - ip_and_udp;
    if (most < least)
        return -EMSGSIZE;
    most_ = static_cast<uint32_t>(most);
    return 0;
}

// ICMP has told us something, perhaps of an earlier packet. That nobody listens is final
// if nobody ever has; all else counts as a loss.
int UdpLink::note(int error) {
    error_ = -error;
    if (error == ECONNREFUSED && !answered_)
        return error_;
    return error == EMSGSIZE ? read_mtu() : 0;
}

int UdpLink::send(Bytes packet, uint32_t) {
    ssize_t sent;

    do
        sent = ::send(socket_.get(), packet.data(), packet.size(), 0);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? note(errno) : 0;
}

int UdpLink::receive(uint64_t ns, Bytes &bytes) {
    bytes = {};
    for (;;) {
        ssize_t got = recv(socket_.get(), room_.data(), room_.size(), MSG_DONTWAIT);
        if (got >= 0) {
            answered_ = true;
            error_ = 0;
            bytes = {room_.data(), static_cast<size_t>(got)};
            return 0;
        }
        if (errno != EAGAIN && errno != EINTR) {
            if (int rc = note(errno); rc < 0)
                return rc;
            continue;
        }
        uint64_t now = fabric::monotonic_ns();
        if (now >= ns)
            return 0;
        pollfd wait{socket_.get(), POLLIN, 0};
        timespec left = fabric::to_timespec(ns - now);
        // A signal is no reason to end: the caller's handler has run, and time goes on.
        ppoll(&wait, 1, &left, nullptr);
    }
}

}  // namespace ds::rdm
