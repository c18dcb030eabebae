// SPDX-License-Identifier: Apache-2.0
// Packets in messages to a peer's packet service: as many in one as it holds, and the
// answers to them in its answer. A call is a round trip, and only one is under way.
#pragma once

#include <functional>
#include <vector>

#include "rdm/link.hpp"

namespace ds::rdm {

class PeerLink : public Link {
public:
    /// Port of the service; here because ds/wire.h has another ds_service than ds/message.h.
    static const uint32_t service;

    /// Sends a message and waits for its answer: 0 and what it is in length, or a negative
    /// errno and whether the message may have arrived.
    struct Answer {
        int status;
        uint32_t length;
        bool arrived;
    };
    using Exchange = std::function<Answer(Bytes message, std::span<uint8_t> room)>;

    PeerLink(Exchange exchange, uint32_t most);

    uint32_t most() const override { return most_; }
    uint32_t most_reply() const override { return most_; }
    int send(Bytes packet, uint32_t reply) override;
    int flush() override;
    int receive(uint64_t ns, Bytes &bytes) override;
    int renew() override { return 0; }
    int error() const override { return error_; }
    uint64_t message() const override { return message_; }
    uint64_t unsent() const override { return unsent_; }

private:
    Exchange exchange_;
    uint32_t most_;
    std::vector<uint8_t> out_;
    uint32_t replies_ = 0;  // bytes that will answer it
    std::vector<std::vector<uint8_t>> in_;
    std::vector<uint8_t> taken_;
    uint64_t message_ = 1;
    uint64_t unsent_ = 0;
    int error_ = 0;
};

}  // namespace ds::rdm
