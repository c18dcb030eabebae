// SPDX-License-Identifier: Apache-2.0
// Runs requests: sends them, sends again what gets no answer, and ends each in its time.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <ds/rdm.h>

#include "rdm/pace.hpp"
#include "rdm/plan.hpp"

namespace ds::rdm {

class Client {
public:
    Client(std::unique_ptr<Link> link, uint32_t timeout_ms);
    ~Client();

    /// Before all else.
    void use_wire1(uint32_t space, bool writes_answered) {
        wire_ = make_wire1(*link_, counts_, space, writes_answered);
    }
    void use_wire2(const Space &space) { wire_ = make_wire2(*link_, counts_, space); }

    int execute(std::span<ds_rdm_request> requests, uint32_t depth);

    const Counts &counts() const { return counts_; }
    uint64_t rtt_ns() const { return round_trip_.smoothed(); }
    uint32_t mtu() const { return link_->most(); }

private:
    using Place = std::optional<Piece>;

    int run(uint32_t depth);
    int start(uint32_t depth);
    bool start_one(uint32_t depth, int &rc);
    int begin(Piece piece);
    int send(Piece &piece, uint64_t now);
    int receive();
    int take(Bytes bytes);
    void answered(Piece &piece, const ds_packet &reply);
    void opened(Piece &piece, const ds_packet &reply);
    void read(Piece &piece, const ds_packet &reply);
    void refused(Piece &piece, const ds_packet &reply);
    int send_late();
    void expire(uint64_t now);
    void end(Piece &piece, int status, uint32_t reason, uint32_t outcome);
    void give_up(Piece &piece, int status, uint32_t reason, uint32_t outcome);
    void no_session(int rc, uint32_t reason);
    void fail(int rc);
    void abandon();
    bool surely_unsent(const Piece &piece) const;
    uint32_t outcome_of(const Piece &piece, uint32_t reason) const;
    uint64_t wake_ns() const;

    template <class Visit>
    void each(Visit &&visit) {
        for (Place &place : pieces_)
            if (place)
                visit(*place);
    }

    std::unique_ptr<Link> link_;
    std::unique_ptr<Wire> wire_;
    const uint64_t timeout_ns_;
    Counts counts_;
    RoundTrip round_trip_;
    Window window_;
    Pieces pieces_;
    uint32_t under_way_ = 0;
    uint64_t taken_ = 0;  // of the window
    uint32_t tags_ = 0;
    uint64_t order_ = 0;
    std::vector<Piece> again_;  // never executed, in a session that is no more
    Plan *plan_ = nullptr;      // of the call that runs
};

}  // namespace ds::rdm
