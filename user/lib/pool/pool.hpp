// SPDX-License-Identifier: Apache-2.0
// ds::pool::Pool: a space that several clients use as one pool of nodes.
//
// A pool is a space with a superblock. Who joins it claims a client number, takes
// extents of the memory servers and hands out their nodes (docs/addresses.md has
// the places). What it holds when it ends it gives back; what the dead
// hold others take back: who joins, who finds the pool full, and who fences.
//
// The client table is on server 0. Its words are only ever touched by CAS:
//
//     held 1 | 0 2 | client 13 | incarnation 16 | 0 32
//
// A number that is free keeps the incarnation of its last holder, and nothing else.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <ds/layout.h>
#include <ds/fabric.hpp>

#include "pool/extent_table.hpp"
#include "pool/scratch.hpp"

struct ds_space;

namespace ds::pool {

using Owner = fabric::Owner;

struct NodeAddress {
    uint64_t addr;        ///< 0: none
    uint16_t generation;  ///< to be stamped into the node and into every pointer to it
};

class Pool {
public:
    /// Makes a pool of a space of zeros. -EEXIST: there is one, or something else.
    static int format(ds_space *space);

    /// Joins it, with all rights on @p space, which has to stay open as long as the
    /// pool. -ENOENT: not formatted; -EINVAL: something else, or a pool of other servers;
    /// -EOPNOTSUPP: of a newer version, or the backend cannot; -EUSERS: as many clients as can
    /// be; -EBUSY: the fabric has joined one already; -EACCES.
    static int join(ds_space *space, std::unique_ptr<Pool> &pool);

    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;

    /// Gives back the nodes that were not handed out, and the number. If a server does
    /// not answer, the number and what is there are left for the next one who joins.
    /// No operation of this client may be under way.
    ~Pool();

    ds_space *space() const { return space_; }
    Owner self() const { return self_; }
    uint32_t servers() const;

    /// A node of 1 KiB for this height above the leaves. The servers take turns; one
    /// that is full, or has not answered in @p timeout_ms (0: that of the space), is
    /// passed over. One to which a node was given back has to answer before it is asked
    /// for another. The dead are looked for in the same time when all are full. Any
    /// thread. -ENOSPC; -ESHUTDOWN: fenced, which is noticed here only when a server is
    /// asked; what the last server that was passed over said.
    int alloc_node(unsigned height, NodeAddress &node, uint32_t timeout_ms = 0);

    /// The same if it needs no access to a server and no wait: else false. Any thread.
    bool node_at_hand(unsigned height, NodeAddress &node);

    /// Takes back a node that nothing was ever linked to. If there is no memory to remember it,
    /// it is free again when its extent is. Waits for no server. Any thread.
    void free_node(unsigned height, NodeAddress node) noexcept;

    /// When it returns 0, no operation of @p owner is under way or will ever be. Its
    /// extents are given back and its number can be claimed, now or, if a server
    /// does not answer, by who fences or joins later. -ETIMEDOUT: an operation of it has been
    /// under way for @p timeout_ms, or a server has not answered; try again: the time that
    /// was waited counts. -ENOTCONN: a server of the space is not connected, so nobody can
    /// tell. -EINVAL. Any thread.
    int fence(Owner owner, uint32_t timeout_ms = 10'000);

    /// 1: the process of @p owner is gone, or it has left. 0: it is there, or nobody
    /// knows by then. Any thread.
    int is_gone(Owner owner, uint32_t timeout_ms = 0);

    /// 1: the process of @p owner is there, or its host does not tell. 0: it is gone, or
    /// nobody knows. Any thread.
    int is_alive(Owner owner);

private:
    /// An extent of ours, and the node of it to be handed out next.
    struct Held {
        Extent extent;
        uint32_t next;
    };

    /// What we have of a region.
    struct Region {
        std::vector<std::optional<Held>> held;        // by server
        std::vector<bool> full;                       // by server
        std::vector<std::vector<NodeAddress>> spare;  // by server: given back
        uint32_t turn;  // counts nodes; the server is next that it names
    };

    Pool(ds_space *space, Owner self, uint64_t place);

    int open();
    uint32_t server_of(NodeAddress node) const;
    bool has_spare(const Region &region, uint32_t server);
    bool take_spare(Region &region, uint32_t server, NodeAddress &node);
    bool take_spare(Region &region, NodeAddress &node);
    int look(uint32_t server);
    int take(Region &region, uint32_t number, uint32_t timeout_ms, NodeAddress &node);
    int take_from(Region &region, uint32_t number, uint32_t server, NodeAddress &node);
    int give_back(Region &region, uint32_t server);
    int give_back_all(uint32_t server);

    ds_space *space_;
    Owner self_;
    uint64_t place_;
    std::mutex lock_;  // held also while a server is waited for
    uint32_t sweep_from_ = 0;
    Scratch scratch_;
    std::vector<std::unique_ptr<ExtentTable>> servers_;
    // By server: it did not answer the last time, or perhaps did not who gave a node back.
    std::vector<std::atomic<bool>> silent_;
    std::mutex spare_lock_;  // innermost; guards the spare nodes
    Region regions_[DS_REGION_COUNT];
};

}  // namespace ds::pool
