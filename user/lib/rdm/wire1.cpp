// SPDX-License-Identifier: Apache-2.0
// Version 1: no tags. A reply is known by what it says, and by the order of requests.
#include <algorithm>
#include <cerrno>
#include <vector>

#include "rdm/pace.hpp"
#include "rdm/wire.hpp"

namespace ds::rdm {
namespace {

class Wire1 : public Wire {
public:
    Wire1(Link &link, Counts &counts, uint32_t space, bool writes_answered)
        : link_(link), counts_(counts), space_(space), writes_answered_(writes_answered) {}

    int check(const ds_rdm_request &request) const override;
    uint32_t most(uint8_t op) const override;
    uint64_t cost(const Piece &piece) const override {
        return Window::cost(1, piece.ask.op == DS_PACKET_ALLOC ? 0 : piece.ask.length);
    }
    Ready ready(const Piece &piece, const Pieces &pieces) const override;
    void name(Piece &piece, uint32_t) override { piece.ask.space = space_; }
    int send(Piece &piece) override;
    bool answered(const Piece &piece) const override {
        return piece.ask.op != DS_PACKET_WRITE || writes_answered_;
    }
    Piece *take(Bytes &bytes, Pieces &pieces, ds_packet &reply) override;
    int late(bool &all) override;
    bool remembered() const override { return false; }

private:
    bool counted(uint64_t counter);
    static bool fits(const Piece &piece, const ds_packet &reply);

    Link &link_;
    Counts &counts_;
    uint32_t space_;
    bool writes_answered_;
    uint64_t newest_ = 0;  // counter of replies, 0 if none has come by this way
    std::vector<uint8_t> packet_;
};

int Wire1::check(const ds_rdm_request &request) const {
    switch (request.opcode) {
    case DS_PACKET_READ:
    case DS_PACKET_WRITE:
    case DS_PACKET_WRITE_PERSISTENT:
        return 0;
    case DS_PACKET_ALLOC:
        return request.operand ? -EOPNOTSUPP : 0;
    default:
        return -EOPNOTSUPP;
    }
}

// What fits into one packet, in whole units.
uint32_t Wire1::most(uint8_t) const {
    uint32_t room = link_.most() - ds_packet1_size(0);

    return std::min(room - room % DS_PACKET1_UNIT, DS_PACKET_MAX_LENGTH);
}

// Two ALLOCs under way, and replies could not be told from each other.
Wire::Ready Wire1::ready(const Piece &piece, const Pieces &pieces) const {
    bool alone =
        piece.ask.op != DS_PACKET_ALLOC || std::ranges::none_of(pieces, [](const auto &other) {
            return other && other->ask.op == DS_PACKET_ALLOC;
        });
    return alone ? Ready::yes : Ready::wait;
}

int Wire1::send(Piece &piece) {
    ds_packet packet = piece.ask;

    if (piece.writes())
        packet.part = static_cast<uint32_t>(packet.length);
    packet_.resize(ds_packet1_size(packet.part));
    uint32_t size = ds_packet1_request(packet_.data(), &packet);
    counts_.sent++;
    counts_.resent += piece.tries > 0;
    counts_.bytes_out += size;
    return link_.send({packet_.data(), size}, 0);
}

// The server counts its replies: what was jumped over is lost, or comes late.
bool Wire1::counted(uint64_t counter) {
    if (newest_ == 0)
        newest_ = counter - 1;
    if (counter <= newest_)
        return false;
    counts_.lost += counter - newest_ - 1;
    newest_ = counter;
    return true;
}

// Of an error it is not known whether a READ or a WRITE has failed.
bool Wire1::fits(const Piece &piece, const ds_packet &reply) {
    if (piece.ask.op == DS_PACKET_ALLOC || reply.op == DS_PACKET_ALLOC)
        return piece.ask.op == reply.op;
    if (piece.ask.address != reply.address)
        return false;
    return reply.status || (reply.length == piece.ask.length &&
                            (reply.op == DS_PACKET_READ) == (piece.ask.op == DS_PACKET_READ));
}

// The oldest one that it can be meant for.
Piece *Wire1::take(Bytes &bytes, Pieces &pieces, ds_packet &reply) {
    u64 counter;
    int rc =
        ds_packet1_parse_reply(bytes.data(), static_cast<uint32_t>(bytes.size()), &reply, &counter);
    Piece *found = nullptr;

    bytes = {};
    if (rc < 0 || reply.space != space_ || counter == 0 || !counted(counter))
        return nullptr;
    for (auto &piece : pieces)
        if (piece && fits(*piece, reply) && (!found || piece->order < found->order))
            found = &*piece;
    return found;
}

// A reply that still comes to what was sent before could be taken for one to what is
// sent now: so nothing that comes by the old way is seen any more.
int Wire1::late(bool &all) {
    all = true;
    newest_ = 0;
    return link_.renew();
}

}  // namespace

std::unique_ptr<Wire> make_wire1(Link &link, Counts &counts, uint32_t space, bool writes_answered) {
    return std::make_unique<Wire1>(link, counts, space, writes_answered);
}

}  // namespace ds::rdm
