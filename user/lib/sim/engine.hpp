// SPDX-License-Identifier: Apache-2.0
// The inside of run(): requests and moves in the order of virtual time.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "sim/arrivals.hpp"
#include "sim/core.hpp"
#include "sim/run.hpp"

namespace ds::sim {

/// ds_cache, whole from beginning to end of an object.
class Cache {
public:
    /// Throws Failure.
    Cache(uint32_t objects, uint32_t l1, ds_policy_mode mode);
    ~Cache();
    Cache(const Cache &) = delete;
    Cache &operator=(const Cache &) = delete;

    ds_cache *operator->() { return &cache_; }
    ds_cache *get() { return &cache_; }

private:
    ds_cache cache_{};
};

class Engine;

/// An access under way.
struct Ask {
    uint64_t start;
    uint32_t object;
    bool write;
};

/// ds_batch, whose owner is an engine.
class Batch {
public:
    /// Throws Failure.
    Batch(Engine &engine, const RunOptions &options);
    ~Batch() { ds_batch_destroy(&held_.batch); }
    Batch(const Batch &) = delete;
    Batch &operator=(const Batch &) = delete;

    const ds_batch_stats &stats() const { return held_.batch.stats; }

    /// An access that missed. False if it has to see for itself.
    bool add(const Ask &ask, uint32_t token, uint64_t now);
    /// In ns, 0 for now, DS_BATCH_NEVER.
    uint64_t due(uint64_t now) { return ds_batch_due(&held_.batch, now); }
    void flush(uint64_t now);

private:
    struct Waiter : ds_waiter {
        Batch *batch;
        Ask ask;
    };

    static Batch &of(ds_batch *batch);
    uint32_t page(uint32_t token) const;
    int fetch(std::span<ds_batch_item> items);
    uint32_t neighbours(uint32_t page, uint32_t token, std::span<uint32_t> tokens) const;
    int install(const ds_batch_item &item);
    void told(Waiter &waiter);

    static const ds_batch_ops ops;

    /// For what the core calls, which knows its own part only.
    struct Held {
        ds_batch batch;
        Batch *owner;
    };

    Held held_;
    Engine &engine_;
    std::deque<Waiter> waiters_;
    std::vector<Waiter *> free_waiters_;
    uint64_t now_ = 0;
    uint64_t fetched_ = 0;  // when what was fetched last is at hand
};

class Engine {
public:
    Engine(const Trace &trace, const RunOptions &options, EventLog *events);

    RunResult run(std::atomic<uint64_t> *progress);

private:
    static constexpr uint32_t none = UINT32_MAX;

    struct Waiter {
        Ask ask;
        uint32_t next;
    };
    /// A token on its way into L1, and the one that leaves its slot for that; or only that one.
    struct Move {
        struct ds_move in, out;
        uint32_t coming, leaving;  // objects, or none
        uint32_t coming_waiters, leaving_waiters;
        uint32_t slot;
        uint64_t fetched;  // when a batch has the token at hand; else 0
        uint8_t from;   // tier of the coming one
        uint8_t tries;  // copies that a write made void
        bool copied;    // the coming one's copy is under way
        bool over;      // given up before its event
    };
    struct Event {
        uint64_t time;
        uint64_t order;  // of equal times
        uint32_t move;  // none: the timer of the batch

        bool operator>(const Event &other) const {
            return time != other.time ? time > other.time : order > other.order;
        }
    };

    // engine.cpp: requests
    void begin_objects();
    void begin(uint32_t place, uint64_t now);
    void access(const Ask &ask, uint64_t now);
    unsigned touch(uint32_t token, bool write);
    void serve(const Ask &ask, unsigned tier, uint64_t now);
    void served(const Ask &ask, uint64_t done);
    void wait(const Ask &ask, uint32_t move);
    uint32_t token_of(uint32_t object);
    void end(uint32_t object, uint64_t now);
    void tick(uint64_t now);

    // engine_move.cpp: tokens on their way
    bool promote(uint32_t object, uint32_t token, uint64_t now);
    uint32_t begin_coming(uint32_t object, uint32_t token, uint64_t now, uint64_t &until);
    void demote_idle(uint64_t now);
    bool begin_leaving(uint32_t number, uint64_t now, uint64_t &until);
    void happen();
    void leave(uint32_t number, uint64_t now);
    void copy(uint32_t number, uint64_t now);
    void arrive(uint32_t number, uint64_t now);
    void give_up(uint32_t number, uint64_t now);
    void finish(uint32_t number, uint64_t now);
    void wake(uint32_t &waiters, uint64_t now);
    uint32_t new_move(uint32_t slot, uint32_t coming, unsigned from);
    void schedule(uint64_t time, uint32_t move);
    void log(uint64_t now, EventLog::Move what, uint32_t object, unsigned from, unsigned to);
    uint32_t &move_of(uint32_t token) { return moves_of_[ds_token_index(token)]; }

    // engine_batch.cpp: misses that are fetched together
    void access_batched(const Ask &ask, uint32_t token, uint64_t now);
    void flush_if_due(uint64_t now);

    uint32_t bytes_of(uint32_t object) const { return class_of(object).bytes; }
    const EntryClass &class_of(uint32_t object) const {
        return entry_classes[classes_.empty() ? 0 : classes_[object]];
    }

    friend class Batch;

    const Trace &trace_;
    const RunOptions &options_;
    EventLog *events_;
    Random random_;
    Cache cache_;
    TierModel model_;
    Arrivals arrivals_;
    RunResult result_;

    std::vector<uint8_t> classes_;    // by object; empty: all are tokens
    std::vector<uint32_t> tokens_;    // by object; 0: there is none
    std::vector<uint32_t> objects_;   // by index of the token
    std::vector<uint32_t> moves_of_;  // by index of the token
    std::vector<uint8_t> filling_;    // by slot of L1: somebody is on the way there

    std::vector<Move> moves_;
    std::vector<uint32_t> free_moves_;
    std::vector<Event> agenda_;  // a heap
    uint64_t ordered_ = 0;
    std::vector<Waiter> waiters_;
    uint32_t free_waiter_ = none;

    std::optional<Batch> batch_;
    bool timer_set_ = false;  // its event is in the agenda

    // What adaptive-001 is told, since it was told last.
    struct Load {
        uint64_t at_ns = 0, uses = 0, l1 = 0, l2 = 0, pcie_bytes = 0, host_ns = 0;
    };
    Load load_then_;
    uint64_t host_ns_ = 0;  // that accesses to L3 and expands were under way
};

}  // namespace ds::sim
