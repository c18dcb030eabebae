// SPDX-License-Identifier: Apache-2.0
// A version of the packets: what it can ask, and how.
#pragma once

#include <memory>

#include "rdm/counts.hpp"
#include "rdm/link.hpp"
#include "rdm/piece.hpp"

namespace ds::rdm {

class Wire {
public:
    virtual ~Wire() = default;

    /// 0, or -EOPNOTSUPP, -EMSGSIZE.
    virtual int check(const ds_rdm_request &request) const = 0;

    /// Bytes of the longest READ or WRITE of this kind.
    virtual uint32_t most(uint8_t op) const = 0;

    /// What it takes of the window.
    virtual uint64_t cost(const Piece &piece) const = 0;

    /// May it be sent now?
    enum class Ready { yes, wait, open };
    virtual Ready ready(const Piece &piece, const Pieces &pieces) const = 0;

    /// Gives the piece what it is known by on the wire.
    virtual void name(Piece &piece, uint32_t tag) = 0;

    /// Sends its packets, or those that still lack an answer.
    virtual int send(Piece &piece) = 0;

    virtual bool answered(const Piece &piece) const = 0;

    /// Takes one packet from the front of what was received. The piece that it answers,
    /// or null.
    virtual Piece *take(Bytes &bytes, Pieces &pieces, ds_packet &reply) = 0;

    /// An answer is late: must all that is under way be sent again?
    virtual int late(bool &all) = 0;

    /// The server has opened a session, or knows it no more.
    virtual void opened(uint64_t) {}
    virtual void forgotten(uint64_t) {}

    /// Nobody waits for its answer any more, but some of its packets may be at the server.
    virtual void given_up(const Piece &) {}

    /// Does a change that comes again get the answer of then?
    virtual bool remembered() const = 0;

    /// An end of the session is to be sent, if there is one.
    virtual bool closing(Piece &) { return false; }
};

struct Space {
    uint32_t number = 0;
    uint32_t tenant = 0;
    std::optional<std::array<uint8_t, DS_PACKET_KEY_LEN>> key;
};

std::unique_ptr<Wire> make_wire1(Link &link, Counts &counts, uint32_t space, bool writes_answered);
std::unique_ptr<Wire> make_wire2(Link &link, Counts &counts, const Space &space);

}  // namespace ds::rdm
