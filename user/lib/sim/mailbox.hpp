// SPDX-License-Identifier: Apache-2.0
// The mailbox of the host in virtual time: the core's own, and handlers that take one request after
// the other from it.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/core.hpp"
#include "sim/run.hpp"

namespace ds::sim {

class Engine;

/// ds_expand, whose owner is an engine. What is asked for is a change of the engine's, of which the
/// token is copied when the host has answered.
class Mailbox {
public:
    /// Throws Failure.
    Mailbox(Engine &engine, const RunOptions &options);
    ~Mailbox() { ds_expand_destroy(&held_.box); }
    Mailbox(const Mailbox &) = delete;
    Mailbox &operator=(const Mailbox &) = delete;

    const ds_expand_stats &stats() const { return held_.box.stats; }

    /// Asks for a token that change @p number moves. False if the mailbox has no room.
    bool ask(uint32_t number, uint32_t token, bool urgent, uint64_t now);
    /// The change has ended. True if it waited.
    bool leave(uint32_t number);
    /// The token has ended.
    void revoked(uint32_t token) { ds_expand_revoked(&held_.box, token); }
    /// The time of Engine::host_event has come: a handler is done.
    void work(uint64_t now);
    /// The time of Engine::timeout_event has come.
    void expire(uint64_t now);

private:
    struct Waiter : ds_expand_waiter {
        Mailbox *mailbox;
        uint32_t number;
        ds_token_desc copy;
    };
    struct Job {
        ds_expand_job job;
        uint64_t done;
    };

    static Mailbox &of(ds_expand *box);
    int locate(uint32_t token, uint32_t offset, uint32_t *page) const;
    void told(Waiter &waiter, int ret);
    void take();
    void set_timer(uint64_t after);

    static const ds_expand_ops ops;

    /// For what the core calls, which knows its own part only.
    struct Held {
        ds_expand box;
        Mailbox *owner;
    };

    Held held_;
    Engine &engine_;
    uint32_t handlers_;
    std::vector<Job> jobs_;  // that handlers have
    std::deque<Waiter> waiters_;
    std::vector<Waiter *> waiter_of_;  // by the number of the change
    std::vector<Waiter *> free_waiters_;
    bool timer_set_ = false;
    uint64_t now_ = 0;
};

}  // namespace ds::sim
