// SPDX-License-Identifier: Apache-2.0
// The master of a store: answers requests about its metadata, in batches that
// are one transaction each, and takes space back.
//
// One thread. Requests that have come while the last batch was written to the
// disk are the next batch: so the more clients wait, the more share a write.
// Replies go out when the transaction is on the disk, not before.
//
// Space goes through three states, each of which is in the metadata:
//
//     free -> reserved -> used -> retired -> free
//
// It is free again when that is on the disk and no more before, so that after
// a crash nothing is given out that the metadata still call somebody's.
#pragma once

#include <ds/ds.h>

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "catalogue.hpp"
#include "pool/pool.hpp"
#include "space_map.hpp"
#include "store/wire.hpp"

namespace dsmasterd {

/// What the space is used for. Bytes, but for the two numbers.
struct Account {
    uint64_t objects = 0;
    uint64_t object_bytes = 0;
    uint64_t reservations = 0;
    uint64_t used = 0;
    uint64_t reserved = 0;
    uint64_t retired = 0;
};

class Master {
public:
    /// Builds the map of free space from the metadata. Throws Broken if they
    /// contradict themselves.
    Master(ds_space *space, ds::pool::Pool &pool, Catalogue &catalogue, const Shape &shape,
           uint32_t epoch);

    /// Answers what comes to the port, until @p stop.
    void serve(ds_service *service, const std::atomic<bool> &stop);

    const Account &account() const { return account_; }

private:
    using Bytes = std::span<const std::byte>;

    struct Request {
        ds_message message;
        std::vector<std::byte> bytes;
        bool waited = false;  ///< has found no space, and is tried once more
    };
    struct Reply {
        int32_t status = 0;
        std::vector<std::byte> bytes;
    };
    /// What a transaction changes in memory, when it is on the disk; or, for what
    /// is taken, when it is not.
    struct Effects {
        Account account;
        std::vector<Version> taken, given, retired;
    };

    // The batches.
    void collect(ds_service *service, uint32_t timeout_ms);
    void run_batch(ds_service *service);
    bool run_together(std::vector<Reply> &replies);
    void run_alone(std::vector<Reply> &replies);
    void abandon();
    void apply();

    // Requests (requests.cpp).
    int32_t answer(const Request &request, Reply &reply);
    int32_t hello(const ds::store::wire::Head &head, Reply &reply);
    int32_t begin(Bytes bytes, Reply &reply);
    int32_t commit(Bytes bytes, Reply &reply);
    int32_t abort(Bytes bytes, Reply &reply);
    int32_t lookup(Bytes bytes, Reply &reply);
    int32_t remove(Bytes bytes, Reply &reply);
    int32_t list(Bytes bytes, Reply &reply);
    int32_t stat(Bytes bytes, Reply &reply);
    ds::store::wire::Head head_for(const ds::store::wire::Head &request, size_t length) const;
    void place(const ds::store::wire::Head &request, const Version &version, uint32_t first_shard,
               Reply &reply) const;
    int32_t without_reservation(const ds::store::wire::Named &named) const;
    void set_newest(const std::string &key, const Version &version,
                    const std::optional<Version> &current);
    void retire(const Version &version);

    // Space that comes back (reclaim.cpp).
    void reclaim();
    void clear_seals();
    bool clear_seals_of(const Version &version);
    void forget_cleared();
    void reap();
    bool is_gone(Client client);

    ds_space *space_;
    ds::pool::Pool &pool_;
    Catalogue &catalogue_;
    const Shape shape_;
    const uint32_t epoch_;
    uint64_t sequence_ = 0;
    SpaceMap map_;
    Account account_;
    Effects effects_;
    std::vector<Request> requests_;
    std::vector<Version> retired_, cleared_;
    uint64_t next_reap_ = 0;  // ns
    std::unique_ptr<ds_buffer, decltype(&ds_buffer_free)> zeros_;
};

}  // namespace dsmasterd
