// SPDX-License-Identifier: Apache-2.0
#include "rdm/client.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fabric/clock.hpp"
#include "rdm/reason.hpp"

namespace ds::rdm {
namespace {

using fabric::monotonic_ns;

constexpr unsigned drained_at_once = 1024;  // before the clock is looked at again
constexpr uint64_t farewell = 200 * millisecond;

// A server says these before it looks for what it remembers of a change: they are about the
// packet that has come, not about others of the same change.
bool of_one_packet(uint32_t reason) {
    return reason == DS_PACKET_MALFORMED || reason == DS_PACKET_OPCODE ||
           reason == DS_PACKET_NO_SPACE || reason == DS_PACKET_MEMORY || reason == DS_PACKET_MTU;
}

}  // namespace

Client::Client(std::unique_ptr<Link> link, uint32_t timeout_ms)
    : link_(std::move(link)), timeout_ns_(timeout_ms * millisecond) {}

// A server that does not hear of the end forgets the session in its own time.
Client::~Client() {
    Piece piece;
    Plan plan({}, *wire_);

    if (!wire_->closing(piece))
        return;
    plan_ = &plan;
    if (begin(std::move(piece)) < 0)
        return;
    each([](Piece &p) { p.deadline_ns = p.sent_ns + farewell; });
    run(1);
}

int Client::execute(std::span<ds_rdm_request> requests, uint32_t depth) {
    Plan plan(requests, *wire_);

    try {
        plan_ = &plan;
        if (int rc = run(depth); rc < 0)
            fail(rc);
    } catch (...) {
        abandon();  // the pieces know the caller's memory
        throw;
    }
    return plan.finish();
}

int Client::run(uint32_t depth) {
    for (;;) {
        int rc = start(depth);
        if (rc == 0)
            rc = link_->flush();
        if (rc < 0)
            return rc;
        if (under_way_ == 0 && again_.empty() && !plan_->next())
            return 0;
        rc = receive();
        if (rc == 0)
            rc = send_late();
        if (rc < 0)
            return rc;
    }
}

int Client::start(uint32_t depth) {
    int rc = 0;

    while (start_one(depth, rc)) {
    }
    return rc;
}

// False: no more at the moment.
bool Client::start_one(uint32_t depth, int &rc) {
    Piece *next = again_.empty() ? plan_->next() : &again_.back();

    if (!next || under_way_ >= depth || !window_.allows(taken_, wire_->cost(*next)))
        return false;
    switch (wire_->ready(*next, pieces_)) {
    case Wire::Ready::wait:
        return false;
    case Wire::Ready::open: {
        Piece open;
        open.ask.op = DS_PACKET_OPEN;
        rc = begin(std::move(open));
        return false;
    }
    case Wire::Ready::yes:
        break;
    }
    Piece piece = std::move(*next);
    if (again_.empty())
        plan_->taken();
    else
        again_.pop_back();
    rc = begin(std::move(piece));
    return rc == 0;
}

int Client::begin(Piece piece) {
    auto place = std::ranges::find_if(pieces_, [](const Place &p) { return !p; });
    auto index = static_cast<uint32_t>(place - pieces_.begin());
    uint64_t now = monotonic_ns();

    wire_->name(piece, tags_++ * static_cast<uint32_t>(pieces_.size()) + index);
    piece.order = order_++;
    if (piece.deadline_ns == 0)
        piece.deadline_ns = now + timeout_ns_;
    under_way_++;
    piece.cost = wire_->cost(piece);
    taken_ += piece.cost;
    place->emplace(std::move(piece));
    int rc = send(**place, now);
    if (rc == 0 && !wire_->answered(**place))
        end(**place, 0, DS_PACKET_OK, DS_UNKNOWN);
    return rc;
}

int Client::send(Piece &piece, uint64_t now) {
    int rc = wire_->send(piece);

    piece.tries++;
    piece.whole |= rc == 0;
    piece.message = link_->message();
    piece.sent_ns = now;
    piece.resend_ns = now + round_trip_.timeout(piece.tries);
    return rc;
}

uint64_t Client::wake_ns() const {
    uint64_t wake = UINT64_MAX;

    for (const Place &place : pieces_)
        if (place)
            wake = std::min({wake, place->resend_ns, place->deadline_ns});
    return wake;
}

// Waits for something, then takes all that is there.
int Client::receive() {
    uint64_t until = wake_ns();
    Bytes bytes;

    for (unsigned i = 0; i < drained_at_once && under_way_; i++) {
        if (int rc = link_->receive(until, bytes); rc < 0)
            return rc;
        if (bytes.empty())
            return 0;
        if (int rc = take(bytes); rc < 0)
            return rc;
        until = 0;
    }
    return 0;
}

int Client::take(Bytes bytes) {
    counts_.bytes_in += bytes.size();
    while (!bytes.empty()) {
        ds_packet reply;
        if (Piece *piece = wire_->take(bytes, pieces_, reply)) {
            counts_.received++;
            answered(*piece, reply);
        } else {
            counts_.ignored++;
        }
    }
    return 0;
}

void Client::answered(Piece &piece, const ds_packet &reply) {
    if (piece.tries == 1 && !piece.busy)
        round_trip_.sample(monotonic_ns() - piece.sent_ns);
    if (piece.ask.op == DS_PACKET_CLOSE)
        return end(piece, 0, DS_PACKET_OK, DS_EXECUTED);
    if (reply.status)
        return refused(piece, reply);
    window_.answered();
    switch (piece.ask.op) {
    case DS_PACKET_OPEN:
        wire_->opened(reply.session);
        return end(piece, 0, DS_PACKET_OK, DS_EXECUTED);
    case DS_PACKET_READ:
        return read(piece, reply);
    case DS_PACKET_PING: {
        bool same = reply.part == piece.ask.part &&
                    (!reply.part || !memcmp(reply.data, piece.ask.data, reply.part));
        return end(piece, same ? 0 : -EPROTO, DS_PACKET_OK, DS_EXECUTED);
    }
    default:
        plan_->answer(piece, reply);
        return end(piece, 0, DS_PACKET_OK, DS_EXECUTED);
    }
}

void Client::read(Piece &piece, const ds_packet &reply) {
    if (!piece.missing.remove(reply.offset, reply.offset + reply.part)) {
        counts_.received--;
        counts_.ignored++;
        return;
    }
    memcpy(piece.into + reply.offset, reply.data, reply.part);
    if (piece.missing.empty())
        return end(piece, 0, DS_PACKET_OK, DS_EXECUTED);
    // As long as parts come the rest is on its way.
    piece.resend_ns = monotonic_ns() + round_trip_.timeout(piece.tries);
}

// Is it known that a request so refused has changed nothing?
uint32_t Client::outcome_of(const Piece &piece, uint32_t reason) const {
    if (reason == DS_PACKET_IO || reason == DS_PACKET_SESSION || reason == DS_PACKET_SEQUENCE)
        return DS_UNKNOWN;
    bool again = piece.changes() && piece.tries > 1;
    return again && (of_one_packet(reason) || !wire_->remembered()) ? DS_UNKNOWN : DS_NOT_EXECUTED;
}

void Client::refused(Piece &piece, const ds_packet &reply) {
    int rc = errno_of(reply.status);

    if (reply.status == DS_PACKET_BUSY) {
        piece.busy = true;  // asked again when it is late
        return;
    }
    if (piece.ask.op == DS_PACKET_OPEN)
        no_session(rc, reply.status);
    if (reply.status == DS_PACKET_SESSION) {
        wire_->forgotten(piece.ask.session);
        if (piece.tries == 1 && monotonic_ns() < piece.deadline_ns) {
            Piece fresh = piece;
            fresh.tries = 0;
            again_.push_back(std::move(fresh));
            return end(piece, 0, DS_PACKET_OK, DS_NOT_EXECUTED);
        }
    }
    if (of_one_packet(reply.status))
        return give_up(piece, rc, reply.status, outcome_of(piece, reply.status));
    end(piece, rc, reply.status, outcome_of(piece, reply.status));
}

// What has waited too long is sent again, or given up.
int Client::send_late() {
    uint64_t now = monotonic_ns();
    bool any = false, all = false;

    expire(now);
    each([&](Piece &piece) { any |= piece.resend_ns <= now; });
    if (!any)
        return 0;
    counts_.lost++;
    window_.lost();
    int rc = wire_->late(all);
    each([&](Piece &piece) {
        if (rc == 0 && (all || piece.resend_ns <= now))
            rc = send(piece, now);
    });
    return rc;
}

void Client::expire(uint64_t now) {
    each([&](Piece &piece) {
        if (piece.deadline_ns > now)
            return;
        int rc = piece.busy ? -EBUSY : link_->error() ? link_->error() : -ETIMEDOUT;
        uint32_t reason = piece.busy ? DS_PACKET_BUSY : DS_PACKET_OK;
        if (piece.ask.op == DS_PACKET_OPEN)
            no_session(rc, reason);
        give_up(piece, rc, reason, piece.changes() ? DS_UNKNOWN : DS_NOT_EXECUTED);
    });
}

void Client::end(Piece &piece, int status, uint32_t reason, uint32_t outcome) {
    bool requested = piece.ask.op != DS_PACKET_OPEN && piece.ask.op != DS_PACKET_CLOSE;
    bool repeated = status == 0 && outcome == DS_NOT_EXECUTED;  // is in again_

    if (requested && !repeated)
        plan_->ended(piece, status, reason, outcome);
    under_way_--;
    taken_ -= piece.cost;
    std::ranges::find_if(pieces_, [&](const Place &p) { return p && &*p == &piece; })->reset();
}

// Other packets of it may still arrive.
void Client::give_up(Piece &piece, int status, uint32_t reason, uint32_t outcome) {
    wire_->given_up(piece);
    end(piece, status, reason, outcome);
}

bool Client::surely_unsent(const Piece &piece) const {
    return !piece.changes() || !piece.whole ||
           (piece.tries == 1 && piece.message == link_->unsent());
}

// Nothing can be changed.
void Client::no_session(int rc, uint32_t reason) {
    for (const Piece &waiting : again_)
        plan_->ended(waiting, rc, reason, DS_NOT_EXECUTED);
    again_.clear();
    plan_->give_up_changes(rc, reason);
}

// The link is of no use any more.
void Client::fail(int rc) {
    each([&](Piece &piece) {
        give_up(piece, rc, DS_PACKET_OK, surely_unsent(piece) ? DS_NOT_EXECUTED : DS_UNKNOWN);
    });
    no_session(rc, DS_PACKET_OK);
    plan_->give_up(rc);
}

void Client::abandon() {
    each([&](Piece &piece) { wire_->given_up(piece); });
    pieces_.fill(std::nullopt);
    again_.clear();
    under_way_ = 0;
    taken_ = 0;
}

}  // namespace ds::rdm
