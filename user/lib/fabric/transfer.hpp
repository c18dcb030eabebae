// SPDX-License-Identifier: Apache-2.0
// ds::fabric::Transfer: from the caller's operations to pieces that a backend
// takes, and from their ends back to results. It does no I/O and takes no locks.
//
// Division. A READ or WRITE is cut where a server ends and where it is longer
// than the backend's limit. The pieces of an operation that stands alone are
// chains of their own; those within a chain stay in that chain.
//
// Retry. A chain that did not end well is taken up again at its first piece
// that did not happen, if every piece from there on may be run (again):
//   - its status is one that may pass, and
//   - it did not happen; or nobody knows, and it is a READ or an idempotent WRITE.
// An atomic of which nobody knows is never run again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include <ds/ds.h>
#include <ds/fabric.hpp>

namespace ds::fabric {

/// A chain of pieces: [first, first + count). It shrinks when it is taken up
/// again behind pieces that happened.
struct Part {
    uint32_t first;
    uint32_t count;
    uint32_t attempts = 0;
    bool open = true;      ///< is to be run (again), or has not ended
    bool running = false;  ///< is with the backend
    uint64_t due = 0;      ///< ns; not to be run before
};

/// Pieces for which a backend did not wait: [first, first + count).
struct LatePieces {
    uint32_t first;
    uint32_t count;
    Late late;
};

class Engine;

class Transfer {
public:
    Transfer() = default;
    Transfer(const Transfer &) = delete;
    Transfer &operator=(const Transfer &) = delete;

    /// Checks and divides, for operations on spaces and buffers of @p engine.
    /// On failure @p wrong is the index of the operation to blame.
    int plan(const Engine *engine, const Limits &limits, std::span<const ds_operation> ops,
             size_t &wrong);

    std::vector<Part> &parts() { return parts_; }
    size_t pieces() const { return pieces_.size(); }
    std::span<ds_op> ops(uint32_t first, uint32_t count) {
        return std::span(pieces_).subspan(first, count);
    }
    std::span<ds_cqe> ends(uint32_t first, uint32_t count) {
        return std::span(ends_).subspan(first, count);
    }

    /// After an attempt: leaves in @p part what has not happened, and returns
    /// whether that may be run again.
    bool may_rerun(Part &part) const;

    /// What the backend has not ended. It may be of a part that is not open any more.
    std::list<LatePieces> &lates() { return lates_; }
    bool is_late() const { return !lates_.empty(); }
    bool is_late(const Part &part) const;
    template <class Want>
    bool has_late(Want &&want) const {
        return std::ranges::any_of(lates_, [&](const LatePieces &l) {
            for (uint32_t i = l.first; i < l.first + l.count; i++)
                if (is_under_way(ends_[i]) && want(pieces_[i]))
                    return true;
            return false;
        });
    }

    /// Is one of these operations to be run (again), or has it not ended?
    bool is_open(size_t first, size_t count) const;
    /// Do not run them again, nor wait for them. They have their chains to themselves.
    void give_up(size_t first, size_t count);
    uint8_t opcode(size_t operation) const { return pieces_[starts_[operation]].opcode; }
    ds_result result(size_t operation) const;

private:
    void add(const Limits &limits, const ds_operation &op);
    void end_chain(size_t first_piece, bool alone);

    std::vector<ds_op> pieces_;
    std::vector<ds_cqe> ends_;
    std::vector<Part> parts_;
    std::vector<uint32_t> starts_;   // first piece of each operation, and the end
    std::vector<uint32_t> part_of_;  // of each piece
    std::vector<bool> idempotent_;   // of each piece
    std::list<LatePieces> lates_;
};

}  // namespace ds::fabric
