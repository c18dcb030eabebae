// SPDX-License-Identifier: Apache-2.0
// Requests as pieces, one after the other, and what came of each request.
#pragma once

#include <span>
#include <vector>

#include "rdm/wire.hpp"

namespace ds::rdm {

class Plan {
public:
    /// Marks those that cannot be sent at all as ended.
    Plan(std::span<ds_rdm_request> requests, const Wire &wire);

    /// The next piece, or null. It is the same until taken().
    Piece *next();
    void taken();

    /// The piece has ended so; @p executed: enum ds_outcome.
    void ended(const Piece &piece, int status, uint32_t reason, uint32_t executed);

    /// What has not begun will not.
    void give_up(int status);
    /// The same of what changes something.
    void give_up_changes(int status, uint32_t reason);

    void answer(const Piece &piece, const ds_packet &reply);

    /// Writes the outcomes. Returns the first error, or 0.
    int finish();

private:
    /// What the pieces of a request came to.
    struct Sum {
        bool executed = false;
        bool not_executed = false;
        bool unknown = false;
    };

    bool fill(Piece &piece) const;

    std::span<ds_rdm_request> requests_;
    const Wire &wire_;
    std::vector<Sum> sums_;
    size_t request_ = 0;
    uint64_t offset_ = 0;
    Piece piece_;
    bool filled_ = false;
    int given_up_ = 0;
    int changes_given_up_ = 0;
    uint32_t changes_reason_ = 0;
};

}  // namespace ds::rdm
