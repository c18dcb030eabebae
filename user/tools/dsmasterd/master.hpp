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
//
// Replicas that are lost are made anew (repair.cpp), by a second thread as far as
// that takes long (copier.hpp).
#pragma once

#include <ds/ds.h>

#include <atomic>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "catalogue.hpp"
#include "copier.hpp"
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
    /// @p pool is replaced when the master has to join it anew. @p space gets the
    /// master's patience: who waits for one server keeps all clients waiting.
    Master(ds_space *space, std::unique_ptr<ds::pool::Pool> &pool, Catalogue &catalogue,
           const Shape &shape, uint32_t epoch);

    /// Answers what comes to the port, until @p stop.
    void serve(ds_service *service, const std::atomic<bool> &stop);

    const Account &account() const { return account_; }

private:
    using Bytes = std::span<const std::byte>;

    struct Request {
        ds_message message;
        std::vector<std::byte> bytes;
        bool waited = false;  ///< for space, and is not tried once more
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
    /// What is gone of a retired version, and what is left of it.
    struct Cleared {
        Version gone, left;
    };
    struct Server {
        uint64_t memory = 0;        ///< that was seen last
        int64_t changed = 0;        ///< the latest version that may have been put before
        uint64_t silent_since = 0;  ///< ns; 0: it answers
        bool seen = false;          ///< since we were started
    };
    /// The object that is being repaired.
    struct Patient {
        int64_t version = 0;
        uint64_t shard = 0;    ///< that is next
        uint64_t missing = 0;  ///< replicas of shards before that
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
    void cancel_waiting(const ds::store::wire::Head &abort);
    int32_t lookup(Bytes bytes, Reply &reply);
    int32_t remove(Bytes bytes, Reply &reply);
    int32_t list(Bytes bytes, Reply &reply);
    int32_t stat(Bytes bytes, Reply &reply);
    int32_t repair(Bytes bytes);
    ds::store::wire::Head head_for(const ds::store::wire::Head &request, size_t length) const;
    void place(const ds::store::wire::Head &request, const Version &version, uint32_t first_shard,
               Reply &reply) const;
    int32_t without_reservation(const ds::store::wire::Named &named);
    void set_newest(const std::string &key, const Version &version,
                    const std::optional<Version> &current);
    void retire(const Version &version);

    // Space that comes back (reclaim.cpp).
    void reclaim();
    void clear_seals();
    Cleared clear_seals_of(Version version);
    void forget(const Cleared &cleared);
    void settle_cleared();
    void forget_cleared();
    void reap();
    bool is_gone(Client client);
    void heard(int rc);

    // Replicas that are lost (repair.cpp).
    Client self() const;
    void watch();
    void rejoin();
    int join();
    void note(uint32_t server, const Sighting &sighting, uint64_t now);
    void doubt(uint32_t server);
    void doubt(std::string_view key);
    bool may_be_lost(ds::store::wire::Location at, int64_t version) const;
    bool repair_next();
    void end_round();
    void plan(Slice slice);
    void plan_shard(Slice &slice, size_t first);
    bool swap_in(const Slice &slice);

    ds_space *space_;
    std::unique_ptr<ds::pool::Pool> &pool_;
    Catalogue &catalogue_;
    const Shape shape_;
    uint32_t epoch_;
    uint64_t sequence_ = 0;
    SpaceMap map_;
    Account account_;
    Effects effects_;
    std::vector<Request> requests_;
    std::vector<Version> retired_;
    std::vector<Cleared> cleared_;
    uint64_t next_reap_ = 0;    // ns
    uint64_t next_forget_ = 0;  // ns; later if the disk is full
    std::unique_ptr<ds_buffer, decltype(&ds_buffer_free)> zeros_;

    std::vector<Server> servers_;
    bool looked_ = false;       // at the servers
    bool fenced_ = false;       // until we have joined anew: nothing is changed
    uint64_t next_rejoin_ = 0;  // ns
    bool pool_lost_ = false;    // with the client table, on server 0
    std::set<std::string, std::less<>> incomplete_;  // keys: a replica is lost or in doubt
    std::string cursor_;                             // the first of them that is still to come
    Patient patient_;
    uint64_t next_round_ = 0;       // ns; over all of them
    std::optional<Slice> written_;  // whose end is not yet on the disk
    Copier copier_;
};

}  // namespace dsmasterd
