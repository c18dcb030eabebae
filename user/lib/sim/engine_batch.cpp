// SPDX-License-Identifier: Apache-2.0
// Misses that are fetched together: what the core's batch asks of its owner. A DMA operation is
// under way from the moment of the flush, and what it brings is installed and served when it ends.
#include <algorithm>
#include <cerrno>
#include <ranges>
#include <utility>
#include <vector>

#include "sim/engine.hpp"

namespace ds::sim {
const ds_batch_ops Batch::ops = {
    .page = [](ds_batch *b, u32 token) -> u32 {
        return ds_fetch_page(of(b).engine_.cache_.get(), token);
    },
    .fetch = [](ds_batch *b, u32 page, ds_batch_item *items, u32 count) -> int {
        return of(b).fetch(page, {items, count});
    },
    .neighbours = [](ds_batch *b, u32 page, u32 token, u32 *tokens, u32 most) -> u32 {
        return ds_fetch_neighbours(of(b).engine_.cache_.get(), page, token, tokens, most);
    },
    .install = [](ds_batch *b, const ds_batch_item *item) -> int { return of(b).install(*item); },
    .room = nullptr,
    .pause = nullptr,
};

Batch &Batch::of(ds_batch *batch) {
    return *container_of(batch, Held, batch)->owner;
}

Batch::Batch(Engine &engine, const RunOptions &options) : held_{{}, this}, engine_(engine) {
    or_refuse(ds_batch_init(&held_.batch, &ops, values_of(options, ds_batch_params).data()),
              "a batch");
}

bool Batch::add(const Ask &ask, uint32_t token, uint64_t now) {
    if (free_waiters_.empty())
        free_waiters_.push_back(&waiters_.emplace_back());
    Waiter *waiter = free_waiters_.back();
    waiter->done = [](ds_waiter *w, int) {
        Waiter &mine = *static_cast<Waiter *>(w);
        mine.batch->told(mine);
    };
    waiter->batch = this;
    waiter->ask = ask;
    now_ = fetched_ = now;
    switch (ds_batch_add(&held_.batch, token, waiter, now)) {
    case -EINPROGRESS:
        free_waiters_.pop_back();
        waiter->before = std::exchange(last_of(token), waiter);
        return true;
    case -EAGAIN:
    case -ENOSPC:
        return false;
    default:
        // It was at hand, whatever the policy wants of it.
        serve(ask, token, now);
        return true;
    }
}

Batch::Waiter *&Batch::last_of(uint32_t token) {
    uint32_t index = ds_token_index(token);

    if (index >= last_.size())
        last_.resize(index + DS_TOKEN_PAGE);
    return last_[index];
}

// What is written goes where the token is, if need be when it has come there.
void Batch::serve(const Ask &ask, uint32_t token, uint64_t now) {
    uint32_t change = engine_.change_of(token);

    if (!ask.write)
        engine_.serve(ask, 1, now);
    else if (engine_.cache_->table.blocking && change != Engine::none)
        engine_.wait(ask, change, Engine::Left::write);
    else
        engine_.serve(ask, engine_.reach(token, true), now);
}

// What was put off is flushed like what waits: when there is enough of it, or after some time.
uint64_t Batch::due(uint64_t now) {
    const u64 *params = held_.batch.params;
    uint64_t due = ds_batch_due(&held_.batch, now);
    uint64_t end = put_off_since_ + params[DS_PREFETCH_TIMER_NS];

    if (put_off_.empty())
        return due;
    if (put_off_.size() >= params[DS_PREFETCH_BATCH_THRESHOLD] || now >= end)
        return 0;
    return std::min(due, end - now);
}

void Batch::flush(uint64_t now) {
    now_ = fetched_ = now;
    left_.clear();
    flushing_ = true;
    for (uint32_t change : std::exchange(put_off_, {}))
        go_on(change);
    ds_batch_flush(&held_.batch, now);
    flushing_ = false;
}

void Batch::revoked(uint32_t token, uint64_t now) {
    std::vector<Waiter *> waiters;

    for (Waiter *w = std::exchange(last_of(token), nullptr); w; w = w->before) {
        ds_batch_cancel(&held_.batch, token, w);
        waiters.push_back(w);
    }
    for (Waiter *w : std::views::reverse(waiters)) {
        engine_.result_.waits++;
        engine_.serve(w->ask, engine_.reach(token, w->ask.write), now);
        free_waiters_.push_back(w);
    }
}

bool Batch::joins(const ds_cache_move &move) {
    // Without L2 at one end, home is written to.
    uint32_t page =
        move.page == DS_L2_NONE ? ds_token_index(move.move.token) / DS_FETCH_HOME_PAGE : move.page;

    return flushing_ && !left_.insert({move.from, move.move.to, page}).second;
}

int Batch::fetch(uint32_t page, std::span<ds_batch_item> items) {
    unsigned tier = page & DS_FETCH_L2 ? 2 : 3;
    uint32_t bytes = 0;

    if (engine_.model_.saturated(tier, now_))
        return -EBUSY;
    for (ds_batch_item &item : items) {
        item.ret = ds_token_find(&engine_.cache_->table, item.token, &item.word);
        bytes += engine_.bytes_of_token(item.token);
    }
    fetched_ = engine_.model_.access(tier, false, bytes, now_);
    return 0;
}

int Batch::install(const ds_batch_item &item) {
    Engine &engine = engine_;
    u64 word = 0;

    if (ds_token_find(&engine.cache_->table, item.token, &word) || !ds_word_same(word, item.word))
        return -ESTALE;
    ds_cache_used(engine.cache_.get(), item.token, item.joined);
    uint32_t number = engine.begin_change(item.token);
    if (number == Engine::none)
        return -EPERM;
    engine.start(number, item.since);
    engine.changes_[number].fetched = fetched_;
    if (flushing_ || !Engine::drives_out(engine.changes_[number])) {
        go_on(number);
        return 0;
    }
    // It was at hand. Who leaves for it goes with others, and not by an operation of his own.
    if (put_off_.empty())
        put_off_since_ = now_;
    put_off_.push_back(number);
    return 0;
}

void Batch::go_on(uint32_t change) {
    if (engine_.changes_[change].over)
        engine_.free_changes_.push_back(change);
    else
        engine_.copy_at(engine_.send_away(engine_.changes_[change], now_), change, now_);
}

// Who came last is told first, but they are served in the order in which they came.
void Batch::told(Waiter &waiter) {
    told_.push_back(&waiter);
    if (waiter.before)
        return;
    last_of(engine_.tokens_[waiter.ask.object]) = nullptr;
    for (Waiter *w : std::views::reverse(told_)) {
        arrived(w->ask);
        free_waiters_.push_back(w);
    }
    told_.clear();
}

// The token is at hand soon. If it comes into L1, then there.
void Batch::arrived(const Ask &ask) {
    uint32_t token = engine_.tokens_[ask.object];
    uint32_t change = engine_.change_of(token);

    if (change != Engine::none) {
        engine_.wait(ask, change, Engine::Left::write);
        return;
    }
    engine_.result_.waits++;
    unsigned tier = engine_.reach(token, ask.write);
    if (ask.write)
        engine_.serve(ask, tier, now_);
    else
        engine_.served(ask, fetched_);
}

// As in the module a use counts now, where the token is, and a miss when the token is installed.
// When it is served it does not count again.
void Engine::access_batched(const Ask &ask, uint32_t token, uint64_t now) {
    u64 word = 0;

    ds_token_find(&cache_->table, token, &word);
    unsigned tier = touch(token, false);
    found(ask.object, tier);
    if (!can_rise(token, tier) || ds_word_is_moving(word) || !batch_->add(ask, token, now))
        serve(ask, reach(token, ask.write), now);
    flush_if_due(now);
}

// Otherwise there is an event for when it is.
void Engine::flush_if_due(uint64_t now) {
    uint64_t due = batch_->due(now);

    while (due == 0) {
        batch_->flush(now);
        due = batch_->due(now);
    }
    if (due == DS_BATCH_NEVER || timer_set_)
        return;
    timer_set_ = true;
    agenda_.add(now + due, none);
}

}  // namespace ds::sim
