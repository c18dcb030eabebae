// SPDX-License-Identifier: Apache-2.0
// ds::pool::ExtentTable: the extents of one memory server (kernel/rdm/extent.h),
// taken and given back by remote operations.
#pragma once

#include <ds/fabric.hpp>

#include "pool/scratch.hpp"

extern "C" {
#include <rdm/extent.h>
}

namespace ds::pool {

/// Nodes that a client has taken from a server.
struct Extent {
    uint32_t index;       ///< in the server's table
    uint16_t generation;  ///< to be stamped into nodes and pointers
    uint32_t used;        ///< nodes at its start that are another client's
    uint32_t nodes;
    uint64_t addr;  ///< of its first node, in the space
};

/// Used by one thread at a time. Errors of the functions: those of kernel/rdm/extent.h
/// and of ds_execute().
class ExtentTable {
public:
    /// @p scratch is open and lives longer than this.
    ExtentTable(ds_space *space, uint32_t server, Scratch &scratch);
    ExtentTable(const ExtentTable &) = delete;
    ExtentTable &operator=(const ExtentTable &) = delete;

    /// -ENOSPC: the region (enum ds_region) is full.
    int take(uint32_t region, fabric::Owner owner, Extent &extent);
    /// Gives it back with @p used nodes in use. 0 also if it may have been given back before.
    int give_back(uint32_t index, fabric::Owner owner, uint32_t used);
    /// Gives back what a client had that does nothing any more.
    int reclaim(fabric::Owner owner);
    /// Whether a change was made here of which nobody knows if it happened: who took may
    /// have more than he was told of.
    bool unsure() const { return unsure_; }
    /// Counts them all.
    int count(ds_extent_tally &tally) const;

private:
    static int read(void *self, u64 offset, u64 *words, u32 count);
    static int cas(void *self, u64 offset, u64 before, u64 after, u64 *found);
    static constexpr ds_extent_ops ops{.read = read, .cas = cas};

    ds_space *space_;
    const uint64_t base_;  // of the server
    Scratch &scratch_;
    bool unsure_ = false;
    ds_extents extents_;
};

}  // namespace ds::pool
