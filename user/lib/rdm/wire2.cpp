// SPDX-License-Identifier: Apache-2.0
// Version 2: tags, sessions, sequence numbers, packets in parts.
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "rdm/pace.hpp"
#include "rdm/wire.hpp"

namespace ds::rdm {
namespace {

constexpr uint32_t head = sizeof(ds_packet2_header);

// Should there be none, a chance one is as good against accidents: two clients that open
// sessions have sessions of their own all the same.
uint64_t random_number() {
    uint64_t number;

    return getrandom(&number, sizeof(number), 0) == sizeof(number) ? number : ds_mono_ns();
}

/// The place of the next packet in a message.
constexpr size_t aligned(size_t size) {
    return (size + 7) & ~size_t{7};
}

class Wire2 : public Wire {
public:
    Wire2(Link &link, Counts &counts, const Space &space)
        : link_(link), counts_(counts), space_(space) {}

    int check(const ds_rdm_request &request) const override {
        return request.opcode == DS_PACKET_PING && request.length > room() ? -EMSGSIZE : 0;
    }
    uint32_t most(uint8_t op) const override;
    uint64_t cost(const Piece &piece) const override;
    Ready ready(const Piece &piece, const Pieces &pieces) const override;
    void name(Piece &piece, uint32_t tag) override;
    int send(Piece &piece) override;
    bool answered(const Piece &) const override { return true; }
    Piece *take(Bytes &bytes, Pieces &pieces, ds_packet &reply) override;
    int late(bool &all) override {
        all = false;
        return 0;
    }
    bool remembered() const override { return true; }
    void opened(uint64_t session) override {
        session_ = session;
        seq_ = 0;
        counts_.sessions++;
    }
    void forgotten(uint64_t session) override {
        if (session_ == session)
            session_ = 0;
    }
    void given_up(const Piece &piece) override;
    bool closing(Piece &piece) override;

private:
    const uint8_t *key() const { return space_.key ? space_.key->data() : nullptr; }
    uint32_t room() const { return std::min(link_.most(), link_.most_reply()) - head; }
    uint32_t part_of_write() const { return room() - room() % DS_PACKET_BLOCK; }
    bool in_parts(const Piece &piece) const {
        return piece.writes() && piece.ask.length > std::max(part_of_write(), 1u);
    }
    int send_read(Piece &piece);
    int send_write(Piece &piece);
    int put(const Piece &piece, ds_packet packet, uint32_t reply_data);
    static bool fits(const Piece &piece, const ds_packet &reply);

    Link &link_;
    Counts &counts_;
    Space space_;
    uint64_t session_ = 0;
    uint64_t seq_ = 0;
    // READ and PING need no session; a server gives back what they have there.
    uint64_t once_ = random_number();
    const uint32_t first_tag_ = static_cast<uint32_t>(random_number() * Pieces().size());
    std::vector<uint8_t> packet_;
};

// A WRITE in parts has whole blocks in a packet; where none fits, it has one part.
uint32_t Wire2::most(uint8_t op) const {
    if (op != DS_PACKET_READ && room() < DS_PACKET_BLOCK)
        return room();
    return DS_PACKET_MAX_LENGTH;
}

uint64_t Wire2::cost(const Piece &piece) const {
    uint64_t length = piece.ask.length, part = piece.writes() ? part_of_write() : room();

    if (!piece.writes() && piece.ask.op != DS_PACKET_READ)
        return Window::cost(1, head);
    part = std::clamp<uint64_t>(part, 1, length);
    return Window::cost((length + part - 1) / part, head + part);
}

// The server holds few WRITEs of which parts are missing. Sequence numbers that wait for an answer
// are within the window of the newest.
Wire::Ready Wire2::ready(const Piece &piece, const Pieces &pieces) const {
    if (!piece.changes())
        return Ready::yes;
    if (session_ == 0) {
        bool opening = std::ranges::any_of(
            pieces, [](const auto &other) { return other && other->ask.op == DS_PACKET_OPEN; });
        return opening ? Ready::wait : Ready::open;
    }
    auto parted =
        std::ranges::count_if(pieces, [&](const auto &other) { return other && in_parts(*other); });
    if (in_parts(piece) && parted >= DS_SESSION_PARTED)
        return Ready::wait;
    bool all_recent = std::ranges::all_of(pieces, [&](const auto &other) {
        return !other || !other->changes() || other->ask.session != session_ ||
               other->ask.seq + DS_PACKET_WINDOW > seq_ + 1;
    });
    return all_recent ? Ready::yes : Ready::wait;
}

void Wire2::name(Piece &piece, uint32_t tag) {
    piece.ask.tag = tag + first_tag_;
    piece.ask.tenant = space_.tenant;
    piece.ask.space = space_.number;
    if (piece.changes()) {
        piece.ask.session = session_;
        piece.ask.seq = ++seq_;
    } else if (piece.ask.op == DS_PACKET_OPEN) {
        piece.ask.seq = random_number();
    } else if (piece.ask.op != DS_PACKET_CLOSE) {
        piece.ask.session = once_++;
    }
}

int Wire2::put(const Piece &piece, ds_packet packet, uint32_t reply_data) {
    packet_.resize(head + (packet.op == DS_PACKET_READ ? 0 : packet.part));
    uint32_t size = ds_packet2_build(packet_.data(), &packet, false, key());
    counts_.sent++;
    counts_.resent += piece.tries > 0;
    counts_.bytes_out += size;
    return link_.send({packet_.data(), size}, static_cast<uint32_t>(aligned(head + reply_data)));
}

int Wire2::send_read(Piece &piece) {
    uint64_t most = link_.most_reply() - head;

    for (const Missing::Range &range : piece.missing.ranges()) {
        for (uint64_t from = range.from; from < range.to; from += most) {
            ds_packet packet = piece.ask;
            packet.offset = from;
            packet.part = static_cast<uint32_t>(std::min(most, range.to - from));
            if (int rc = put(piece, packet, packet.part); rc < 0)
                return rc;
        }
    }
    return 0;
}

int Wire2::send_write(Piece &piece) {
    uint64_t step = part_of_write();

    // The route takes less than when the piece was made, and no block any more.
    if (piece.ask.length <= room())
        step = piece.ask.length;
    if (step == 0)
        return -EMSGSIZE;
    for (uint64_t from = 0; from < piece.ask.length; from += step) {
        ds_packet packet = piece.ask;
        packet.offset = from;
        packet.part = static_cast<uint32_t>(std::min<uint64_t>(step, piece.ask.length - from));
        packet.data = piece.ask.data + from;
        if (int rc = put(piece, packet, 0); rc < 0)
            return rc;
    }
    return 0;
}

int Wire2::send(Piece &piece) {
    ds_packet packet = piece.ask;

    if (piece.ask.op == DS_PACKET_READ)
        return send_read(piece);
    if (piece.writes())
        return send_write(piece);
    if (piece.ask.op == DS_PACKET_CAS || piece.ask.op == DS_PACKET_FETCH_ADD) {
        packet.data = reinterpret_cast<const uint8_t *>(&piece.operands);
        packet.part = sizeof(piece.operands);
    }
    return put(piece, packet, packet.part);
}

// The tag names the piece; does the rest agree? The session is no other client's, and no earlier
// one's: a reply that somebody has kept answers nothing. OPEN has its random number for that.
bool Wire2::fits(const Piece &piece, const ds_packet &reply) {
    const ds_packet &ask = piece.ask;

    if (reply.op != ask.op || reply.space != ask.space || reply.tenant != ask.tenant ||
        reply.seq != ask.seq || (ask.op != DS_PACKET_OPEN && reply.session != ask.session))
        return false;
    if (ask.op != DS_PACKET_READ || reply.status)
        return true;
    return reply.address == ask.address && reply.length == ask.length && reply.part &&
           reply.offset < ask.length && reply.part <= ask.length - reply.offset;
}

Piece *Wire2::take(Bytes &bytes, Pieces &pieces, ds_packet &reply) {
    int size = ds_packet2_parse(bytes.data(), static_cast<uint32_t>(bytes.size()), true, &reply);
    const void *packet = bytes.data();

    if (size < 0) {
        bytes = {};
        return nullptr;
    }
    bytes = bytes.subspan(std::min(aligned(static_cast<size_t>(size)), bytes.size()));
    if (!ds_packet2_authentic(packet, static_cast<uint32_t>(size), key()))
        return nullptr;
    auto &place = pieces[reply.tag % pieces.size()];
    return place && place->ask.tag == reply.tag && fits(*place, reply) ? &*place : nullptr;
}

// The next change has a number with which this one leaves the window: the server gives back the
// room that it has for its parts, and does not make it any more. Those before it that still wait
// for an answer keep the next one waiting, see ready().
void Wire2::given_up(const Piece &piece) {
    if (piece.changes() && piece.ask.session == session_)
        seq_ = std::max<uint64_t>(seq_, piece.ask.seq + DS_PACKET_WINDOW - 1);
}

bool Wire2::closing(Piece &piece) {
    if (session_ == 0)
        return false;
    piece.ask.op = DS_PACKET_CLOSE;
    piece.ask.session = session_;
    return true;
}

}  // namespace

std::unique_ptr<Wire> make_wire2(Link &link, Counts &counts, const Space &space) {
    return std::make_unique<Wire2>(link, counts, space);
}

}  // namespace ds::rdm
