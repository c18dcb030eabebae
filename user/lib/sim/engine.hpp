// SPDX-License-Identifier: Apache-2.0
// The inside of run(): requests and moves in the order of virtual time.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "sim/agenda.hpp"
#include "sim/arrivals.hpp"
#include "sim/core.hpp"
#include "sim/kinds.hpp"
#include "sim/mailbox.hpp"
#include "sim/run.hpp"

namespace ds::sim {

class Engine;

/// What the core says when it refuses to make @p what: throws std::bad_alloc, or Failure.
[[noreturn]] void refuse(int rc, const char *what);
inline void or_refuse(int rc, const char *what) {
    if (rc)
        refuse(rc, what);
}

/// The value that a parameter was given, or none.
std::optional<u64> given(const RunOptions &options, const ds_param &param);
/// Those of all of a table, or what they are if nobody says another one.
std::vector<u64> values_of(const RunOptions &options, std::span<const ds_param> table);

/// ds_cache, whole from beginning to end of an object.
class Cache {
public:
    /// Throws Failure.
    Cache(Engine &owner, uint32_t objects, const RunOptions &options);
    ~Cache();
    Cache(const Cache &) = delete;
    Cache &operator=(const Cache &) = delete;

    ds_cache *operator->() { return &held_.cache; }
    ds_cache *get() { return &held_.cache; }
    const ds_cache *operator->() const { return &held_.cache; }
    const ds_cache *get() const { return &held_.cache; }

    static Engine &owner(const ds_cache *cache);

private:
    /// For what the core calls, which knows its own part only.
    struct Held {
        ds_cache cache;
        Engine *owner;
    };

    Held held_;
};

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
    uint64_t due(uint64_t now);
    void flush(uint64_t now);
    /// The token ends now: who waits for it came before that, and is served where it is.
    void revoked(uint32_t token, uint64_t now);
    /// Does what leaves go with what left before for the same flush, as it is of the same page?
    bool joins(const ds_cache_move &move);

private:
    struct Waiter : ds_waiter {
        Batch *batch;
        Ask ask;
        Waiter *before;  // who waits for the same token, and came before; null: nobody
    };

    static Batch &of(ds_batch *batch);
    int fetch(uint32_t page, std::span<ds_batch_item> items);
    int install(const ds_batch_item &item);
    void told(Waiter &waiter);
    void go_on(uint32_t change);
    void arrived(const Ask &ask);
    void serve(const Ask &ask, uint32_t token, uint64_t now);
    Waiter *&last_of(uint32_t token);

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
    std::vector<Waiter *> last_;  // of those who wait for a token, by its index
    std::vector<Waiter *> told_;  // of one token, of which not all have been told
    uint64_t now_ = 0;
    uint64_t fetched_ = 0;           // when what was fetched last is at hand
    std::vector<uint32_t> put_off_;  // changes that go on with the next flush
    uint64_t put_off_since_ = 0;     // of the first
    bool flushing_ = false;
    std::set<std::array<uint32_t, 3>> left_;  // in this flush: from, to and page
};

class Engine {
public:
    Engine(const Trace &trace, const RunOptions &options, EventLog *events);

    RunResult run(std::atomic<uint64_t> *progress);

private:
    static constexpr uint32_t none = UINT32_MAX;
    static constexpr uint32_t host_event = none - 1, timeout_event = none - 2,
                              tick_event = none - 3;

    /// What is left to do with the token when a waiter is served.
    enum class Left : uint8_t { use, write, nothing };
    struct Waiter {
        Ask ask;
        uint32_t next;
        Left left;
    };
    /// Tokens on their way, as the core moves them together: each comes to the slot that the one
    /// before it leaves. The last one was asked for, or is idle.
    struct Change {
        ds_cache_change moves;
        uint32_t waiters;  // a list
        uint64_t begun;
        uint64_t fetched;  // when a batch has the token at hand; else 0
        uint64_t away;     // when others have left, if the host is asked meanwhile
        uint8_t tries;     // copies that a write made void
        bool idle;         // of L1 or L2: only leaves
        bool copied;       // its copy is under way
        bool over;         // given up before its event
    };
    // engine.cpp: requests
    void tell_kinds();
    void begin_objects();
    void ask_for(uint32_t token, u64 word);
    void look_ahead(std::span<const Request> requests, const u64 *&soon);
    void begin(Request request, uint32_t place, uint64_t now);
    void access(const Ask &ask, uint64_t now);
    void found(uint32_t object, unsigned tier) {
        result_.found[tier]++;
        if (!kinds_.empty())
            result_.kinds[kinds_[object]].found[tier]++;
    }
    unsigned touch(uint32_t token, bool write);
    unsigned reach(uint32_t token, bool write);
    [[noreturn]] static void refuse_token(int rc);
    unsigned tier_of(uint32_t token);
    void serve(const Ask &ask, unsigned tier, uint64_t now);
    void served(const Ask &ask, uint64_t done);
    void wait(const Ask &ask, uint32_t change, Left left);
    uint32_t token_of(uint32_t object) {
        uint32_t token = tokens_[object];
        return token ? token : make_token(object);
    }
    uint32_t make_token(uint32_t object);
    void end(uint32_t object, uint64_t now);
    uint32_t tick(uint64_t now);
    bool has_idlers(unsigned tier) const;
    std::optional<std::pair<uint64_t, uint64_t>> idle_times() const;
    uint64_t idle_round() const;
    uint64_t tick_pause() const;
    void tick_by_time(uint64_t now);
    void tick_after(uint64_t ns, uint64_t now);
    void tell_load(uint64_t now);

    // engine_move.cpp: tokens on their way
    bool promote(uint32_t token, uint64_t now);
    uint32_t begin_change(uint32_t token);
    uint32_t demote_idle(uint64_t now);
    static bool drives_out(const Change &change);
    uint64_t send_away(const Change &change, uint64_t now);
    static bool is_copied(const ds_cache_move &move);
    uint64_t copied(const ds_cache_move &move, uint64_t now);
    void happen();
    void copy_at(uint64_t time, uint32_t number, uint64_t now);
    void copy(uint32_t number, uint64_t now);
    void arrive(uint32_t number, uint64_t now);
    static bool is_written_to(const Change &change);
    uint64_t copy_again(Change &change, uint64_t now);
    void give_up(uint32_t number, uint64_t now);
    void cancel(uint32_t number, uint64_t now);
    void leave_slot(const ds_cache_move &move);
    void finish(uint32_t number, uint64_t now);
    void wake(uint32_t waiters, uint64_t now);
    uint32_t spare_change();
    void add_change();
    void start(uint32_t number, uint64_t now);
    void log(uint64_t now, EventLog::Move what, uint32_t token, unsigned from, unsigned to) {
        if (events_)
            log_move(now, what, token, from, to);
    }
    void log_move(uint64_t now, EventLog::Move what, uint32_t token, unsigned from, unsigned to);
    uint32_t &change_of(uint32_t token) { return changes_of_[ds_token_index(token)]; }

    // engine_batch.cpp: misses that are fetched together
    void access_batched(const Ask &ask, uint32_t token, uint64_t now);
    void flush_if_due(uint64_t now);

    // mailbox.cpp: the host is asked
    bool ask_host(uint32_t number, uint64_t now);
    void answered(uint32_t number, int ret, uint64_t now);
    int stage(uint32_t token, uint64_t now);

    uint32_t bytes_of(uint32_t object) const { return class_of(object).bytes; }
    uint32_t bytes_of_token(uint32_t token) const {
        return classes_ ? bytes_of(objects_[ds_token_index(token)]) : entry_classes[0].bytes;
    }
    const EntryClass &class_of(uint32_t object) const {
        return entry_classes[classes_ ? kinds_[object] : 0];
    }

    // May it be in a tier above?
    bool can_rise(uint32_t token, unsigned tier) const {
        return tier > 1 && (ds_cache_allows(cache_.get(), token, 1) ||
                            (tier == 3 && ds_cache_allows(cache_.get(), token, 2)));
    }

    friend class Batch;
    friend class Mailbox;

    const Trace &trace_;
    const RunOptions &options_;
    EventLog *events_;
    Random random_;
    Cache cache_;
    TierModel model_;
    Arrivals arrivals_;
    RunResult result_;

    bool classes_;                      // the kinds are classes, else all are tokens
    std::vector<uint8_t> kinds_;        // by object; empty: nobody knows
    std::vector<uint32_t> tokens_;      // by object; 0: there is none
    std::vector<uint32_t> objects_;     // by index of the token
    std::vector<uint32_t> changes_of_;  // by index of the token

    std::vector<Change> changes_;
    std::vector<uint32_t> free_changes_;
    Agenda agenda_;  // of changes, and none: the timer of the batch; or one of the events above
    std::vector<Waiter> waiters_;
    uint32_t free_waiter_ = none;

    std::optional<Batch> batch_;
    bool timer_set_ = false;  // its event is in the agenda
    std::optional<Mailbox> mailbox_;

    // What adaptive-001 is told, since it was told last.
    struct Load {
        uint64_t at_ns = 0;
        std::array<uint64_t, 4> found{};
        uint64_t pcie_bytes = 0, host_ns = 0, moves = 0, waits = 0;
    };
    Load load_then_;
    uint64_t promotions_ = 0;  // that began
    struct TickTimer {
        uint64_t at = UINT64_MAX;  // of the next one
        uint64_t set_at = 0;       // when it was said to come then
        uint64_t accesses = 0;     // at the last one
        uint64_t quiet_since = 0;  // the last one that was not quiet
    };
    TickTimer tick_timer_;
    bool ended_ = false;    // there are no requests any more
    uint64_t host_ns_ = 0;  // that accesses to L3 and expands were under way
};

// Uses the token, of which nobody reads what it says. Returns the tier in which it is.
inline unsigned Engine::touch(uint32_t token, bool write) {
    int tier = ds_cache_touch(cache_.get(), token);

    if (write && tier > 0)
        if (int rc = ds_token_add_posted(&cache_->table, token, 1); rc)
            tier = rc;
    if (tier < 0)
        refuse_token(tier);
    return static_cast<unsigned>(tier);
}

[[gnu::always_inline]] inline void Engine::serve(const Ask &ask, unsigned tier, uint64_t now) {
    uint64_t done = model_.access(tier, ask.write, bytes_of(ask.object), now);

    if (tier == 3)
        host_ns_ += done - now;
    served(ask, done);
}

[[gnu::always_inline]] inline void Engine::served(const Ask &ask, uint64_t done) {
    result_.times.record(done - ask.start);
    result_.virtual_ns = std::max(result_.virtual_ns, done);
    arrivals_.done(done);
}

}  // namespace ds::sim
