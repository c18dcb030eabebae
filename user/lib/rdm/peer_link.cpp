// SPDX-License-Identifier: Apache-2.0
#include "rdm/peer_link.hpp"

#include <cerrno>
#include <utility>

#include <ds/wire.h>

#include "fabric/clock.hpp"

namespace ds::rdm {
namespace {

// The peer is there, but this time there was no answer.
bool passes(int rc) {
    return rc == -ETIMEDOUT || rc == -EBUSY || rc == -EAGAIN || rc == -ECONNRESET;
}

}  // namespace

const uint32_t PeerLink::service = DS_SERVICE_PACKET;

PeerLink::PeerLink(Exchange exchange, uint32_t most)
    : exchange_(std::move(exchange)), most_(most & ~7u) {
    out_.reserve(most_);
}

int PeerLink::send(Bytes packet, uint32_t reply) {
    if (out_.size() + packet.size() > most_ || replies_ + reply > most_)
        if (int rc = flush(); rc < 0)
            return rc;
    out_.insert(out_.end(), packet.begin(), packet.end());
    out_.resize((out_.size() + 7) & ~size_t{7});
    replies_ += reply;
    return 0;
}

int PeerLink::flush() {
    if (out_.empty())
        return 0;
    std::vector<uint8_t> room(most_);
    Answer answer = exchange_(out_, room);

    out_.clear();
    replies_ = 0;
    uint64_t message = message_++;
    if (answer.status < 0) {
        error_ = answer.status;
        if (!answer.arrived)
            unsent_ = message;
        return passes(answer.status) ? 0 : answer.status;
    }
    error_ = 0;
    room.resize(answer.length);
    if (!room.empty())
        in_.push_back(std::move(room));
    return 0;
}

// What has not come with its message does not come any more.
int PeerLink::receive(uint64_t ns, Bytes &bytes) {
    bytes = {};
    if (in_.empty()) {
        fabric::sleep_until_monotonic(ns);
        return 0;
    }
    taken_ = std::move(in_.front());
    in_.erase(in_.begin());
    bytes = taken_;
    return 0;
}

}  // namespace ds::rdm
