// SPDX-License-Identifier: Apache-2.0
#include "sim/mailbox.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sim/engine.hpp"

namespace ds::sim {

const ds_expand_ops Mailbox::ops = {
    .allowed = [](ds_expand *, u32, u32) -> int { return 0; },
    .locate = [](ds_expand *b, u32 token, u32 offset, u32 *page) -> int {
        return of(b).locate(token, offset, page);
    },
    .produce = nullptr,  // of ds_expand_serve(), for hosts that take no time
    .stage = [](ds_expand *b, u32 token, const ds_token_desc *) -> int {
        return of(b).engine_.stage(token, of(b).now_);
    },
    .neighbours = [](ds_expand *b, u32, u32 token, u32 *tokens, u32 most) -> u32 {
        return ds_fetch_to_stage(of(b).engine_.cache_.get(), token, tokens, most);
    },
};

Mailbox &Mailbox::of(ds_expand *box) {
    return *container_of(box, Held, box)->owner;
}

Mailbox::Mailbox(Engine &engine, const RunOptions &options)
    : held_{{}, this}, engine_(engine), handlers_(*options.handlers) {
    or_refuse(ds_expand_init(&held_.box, &ops, values_of(options, ds_expand_params).data()),
              "a mailbox");
}

// ---- the requester ----

bool Mailbox::ask(uint32_t number, uint32_t token, bool urgent, uint64_t now) {
    ds_expand_req req{.token = token,
                      .offset = ds_token_index(token),
                      .requester = 0,
                      .priority = urgent ? DS_EXPAND_URGENT : DS_EXPAND_BACKGROUND};

    if (free_waiters_.empty())
        free_waiters_.push_back(&waiters_.emplace_back());
    Waiter *waiter = free_waiters_.back();
    waiter->base.done = [](ds_waiter *w, int ret) {
        Waiter &mine = *static_cast<Waiter *>(container_of(w, ds_expand_waiter, base));
        mine.mailbox->told(mine, ret);
    };
    waiter->buffer = &waiter->copy;
    waiter->mailbox = this;
    waiter->number = number;
    now_ = now;
    if (ds_expand_ask(&held_.box, &req, waiter, now) != -EINPROGRESS)
        return false;
    free_waiters_.pop_back();
    if (number >= waiter_of_.size())
        waiter_of_.resize(number + 1);
    waiter_of_[number] = waiter;
    set_timer(held_.box.params[DS_EXPAND_TIMEOUT_NS]);
    take();
    return true;
}

bool Mailbox::leave(uint32_t number) {
    if (number >= waiter_of_.size() || !waiter_of_[number])
        return false;
    Waiter *waiter = std::exchange(waiter_of_[number], nullptr);
    ds_expand_cancel(&held_.box, waiter);
    free_waiters_.push_back(waiter);
    return true;
}

void Mailbox::told(Waiter &waiter, int ret) {
    waiter_of_[waiter.number] = nullptr;
    free_waiters_.push_back(&waiter);
    engine_.answered(waiter.number, ret, now_);
}

// ---- the host ----

void Mailbox::work(uint64_t now) {
    static const ds_token_desc nothing{};

    now_ = now;
    // Who is told may ask again, and another job begins.
    for (size_t i = 0; i < jobs_.size();) {
        if (jobs_[i].done > now) {
            i++;
            continue;
        }
        Job job = jobs_[i];
        jobs_.erase(jobs_.begin() + static_cast<ptrdiff_t>(i));
        u32 token = job.job.token, page = 0;
        ds_expand_complete(&held_.box, &job.job, locate(token, ds_token_index(token), &page),
                           &nothing);
        i = 0;
    }
    take();
}

void Mailbox::expire(uint64_t now) {
    now_ = now;
    timer_set_ = false;
    uint64_t next = ds_expand_expire(&held_.box, now);
    if (next != DS_EXPAND_NEVER)
        set_timer(next);
}

void Mailbox::take() {
    Job next{};

    while (jobs_.size() < handlers_ && ds_expand_take(&held_.box, &next.job)) {
        next.done = engine_.model_.expand(now_);
        engine_.host_ns_ += next.done - now_;
        jobs_.push_back(next);
        engine_.agenda_.add(next.done, Engine::host_event);
    }
}

// One event at most is under way for it.
void Mailbox::set_timer(uint64_t after) {
    if (!std::exchange(timer_set_, true))
        engine_.agenda_.add(now_ + after, Engine::timeout_event);
}

// ---- tokens ----

// A token's place at home is its index.
int Mailbox::locate(uint32_t token, uint32_t offset, uint32_t *page) const {
    u64 word = 0;

    if (int rc = ds_token_find(&engine_.cache_->table, token, &word); rc)
        return rc;
    *page = offset / DS_FETCH_HOME_PAGE;
    return offset == ds_token_index(token) ? 0 : -ESTALE;
}

// ---- the engine's part ----

// What change @p number moves is at home, and the host is asked for it. True if it is on its way
// now.
bool Engine::ask_host(uint32_t number, uint64_t now) {
    const ds_cache_change &moves = changes_[number].moves;
    ds_cache_move last = moves.moves[moves.count - 1];

    if (!mailbox_->ask(number, last.move.token, last.move.to == 1, now)) {
        give_up(number, now);
        free_changes_.push_back(number);
        return false;
    }
    log(now, EventLog::Move::expand, last.move.token, 3, last.move.to);
    changes_[number].away = send_away(changes_[number], now);
    return true;
}

void Engine::answered(uint32_t number, int ret, uint64_t now) {
    const ds_cache_change &moves = changes_[number].moves;
    const ds_cache_move &last = moves.moves[moves.count - 1];

    if (!ret) {
        copy_at(std::max(now, changes_[number].away), number, now);
        return;
    }
    // The answer for a token that has ended comes to nobody; so this is one that is late.
    log(now, EventLog::Move::expire, last.move.token, last.from, last.move.to);
    give_up(number, now);
    free_changes_.push_back(number);
}

// Brings a token to L2 that nobody has asked for yet: it is there at once, as who left for it is
// gone. What that takes is taken from the links.
int Engine::stage(uint32_t token, uint64_t now) {
    ds_cache_change moves;
    int rc = ds_change_stage(cache_.get(), token, &moves);

    for (const ds_cache_move &move : std::span(moves.moves, moves.count)) {
        if (move.ret)
            continue;
        bool staged = move.move.to == 2;
        result_.moved.at(move.move.to)++;
        result_.prestaged += staged;
        log(now, staged ? EventLog::Move::stage : EventLog::Move::evict, move.move.token, move.from,
            move.move.to);
        if (is_copied(move))
            copied(move, now);
    }
    result_.virtual_ns = std::max(result_.virtual_ns, now);
    return rc;
}

}  // namespace ds::sim
