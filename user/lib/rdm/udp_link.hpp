// SPDX-License-Identifier: Apache-2.0
// Packets in UDP datagrams, none longer than the route takes without fragments.
#pragma once

#include <memory>
#include <vector>

#include "fabric/fd.hpp"
#include "rdm/link.hpp"

namespace ds::rdm {

class UdpLink : public Link {
public:
    /// @p ipv4 in network byte order. A negative errno if there is no route.
    static int open(uint32_t ipv4, uint16_t port, std::unique_ptr<Link> &link);

    uint32_t most() const override { return most_; }
    uint32_t most_reply() const override { return UINT32_MAX; }
    int send(Bytes packet, uint32_t reply) override;
    int flush() override { return 0; }
    int receive(uint64_t ns, Bytes &bytes) override;
    int renew() override;
    int error() const override { return error_; }

private:
    UdpLink(uint32_t ipv4, uint16_t port) : ipv4_(ipv4), port_(port), room_(65536) {}
    int read_mtu();
    int note(int error);

    uint32_t ipv4_;
    uint16_t port_;
    uint32_t most_ = 0;
    int error_ = 0;
    bool answered_ = false;  // ever
    fabric::Fd socket_;
    std::vector<uint8_t> room_;
};

}  // namespace ds::rdm
