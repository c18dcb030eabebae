// SPDX-License-Identifier: Apache-2.0
// Tokens on their way. The core says who moves, and claims them; when time has passed it is told
// that they have come. In between the host's driver is asked for what comes from L3, who has to
// leave is copied away, then the token itself is copied.
#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "sim/engine.hpp"

namespace ds::sim {
namespace {

constexpr unsigned most_tries = 8;

std::span<ds_cache_move> moves_of(ds_cache_change &change) {
    return {change.moves, change.count};
}

std::span<const ds_cache_move> moves_of(const ds_cache_change &change) {
    return {change.moves, change.count};
}

}  // namespace

// A token that is not in L1 was used. True if it is on its way now.
bool Engine::promote(uint32_t token, uint64_t now) {
    uint32_t number = begin_change(token);

    if (number == none)
        return false;
    start(number, now);
    Change &change = changes_[number];
    const ds_cache_move &last = moves_of(change.moves).back();
    result_.expands += last.from == 3;
    if (last.from == 3 && mailbox_)
        return ask_host(number, now);
    uint64_t until = send_away(change, now);
    if (last.from == 3) {
        uint64_t answered = model_.expand(now);
        host_ns_ += answered - now;
        until = std::max(until, answered);
        log(now, EventLog::Move::expand, token, 3, last.move.to);
    }
    copy_at(until, number, now);
    return true;
}

// What the core wants to be moved after a miss; none if nothing.
uint32_t Engine::begin_change(uint32_t token) {
    uint32_t number = spare_change();

    if (ds_cache_miss_begin(cache_.get(), token, &changes_[number].moves))
        return none;
    promotions_++;
    return number;
}

// Document 001: L1 is left when idle, too, and L2 if there is no room besides.
uint32_t Engine::demote_idle(uint64_t now) {
    ds_cache *cache = cache_.get();
    uint32_t demoted = 0;
    uint32_t l1_slot = ds_policy_idle(&cache->policy);
    uint32_t l2_slot = ds_change_idle_in_l2(cache, now);

    for (unsigned tier = 1; tier <= 2; tier++) {
        if (tier == 1 ? l1_slot == DS_POLICY_NONE : l2_slot == DS_L2_NONE)
            continue;
        uint32_t number = spare_change();
        Change &change = changes_[number];
        change.moves.count = 0;
        int rc = tier == 1 ? ds_change_vacate(cache, &change.moves, l1_slot)
                           : ds_change_add(cache, &change.moves,
                                           ds_l2_slot_of(&cache->table.l2, l2_slot)->token, 3, 0);
        if (rc || !change.moves.count) {
            ds_change_end(cache, &change.moves, rc);
            continue;
        }
        // Nobody else gets his slot until he has left.
        if (tier == 1)
            ds_policy_pin(&cache->policy, l1_slot, true);
        start(number, now);
        change.idle = true;
        demoted++;
        copy_at(send_away(change, now), number, now);
    }
    return demoted;
}

// Is anybody but the last one copied?
bool Engine::drives_out(const Change &change) {
    return std::ranges::any_of(moves_of(change.moves).first(change.moves.count - 1), is_copied);
}

// All but the last one are copied. Returns when they are.
uint64_t Engine::send_away(const Change &change, uint64_t now) {
    uint64_t until = now;

    for (const ds_cache_move &move : moves_of(change.moves).first(change.moves.count - 1)) {
        if (is_copied(move))
            until = std::max(until, copied(move, now));
    }
    return until;
}

// Between where it is and its home nothing is copied if the home is as new.
bool Engine::is_copied(const ds_cache_move &move) {
    return move.move.to != 3 || move.move.word & DS_WORD_DIRTY;
}

// Returns when it will have been. What a batch sends from or to one page goes together, as what it
// fetches does.
uint64_t Engine::copied(const ds_cache_move &move, uint64_t now) {
    uint32_t token = move.move.token, bytes = bytes_of_token(token);
    bool joins = batch_ && batch_->joins(move);

    result_.copies++;
    return joins ? model_.copy_too(move.from, move.move.to, bytes, now)
                 : model_.copy(move.from, move.move.to, bytes, now);
}

// The next event.
void Engine::happen() {
    auto [time, order, what] = agenda_.take();

    if (what == none) {
        timer_set_ = false;
        flush_if_due(time);
    } else if (what == host_event) {
        mailbox_->work(time);
    } else if (what == timeout_event) {
        mailbox_->expire(time);
    } else if (what == tick_event) {
        tick_by_time(time);
    } else if (changes_[what].over) {
        free_changes_.push_back(what);
    } else if (changes_[what].copied) {
        arrive(what, time);
    } else {
        copy(what, time);
    }
    if (events_)
        events_->relieve();
}

void Engine::copy_at(uint64_t time, uint32_t number, uint64_t now) {
    if (time > now)
        agenda_.add(time, number);
    else
        copy(number, now);
}

void Engine::copy(uint32_t number, uint64_t now) {
    Change &change = changes_[number];
    ds_cache_move &last = moves_of(change.moves).back();

    change.copied = true;
    ds_move_copy(&cache_->table, &last.move);
    if (change.fetched) {
        agenda_.add(std::max(now, std::exchange(change.fetched, 0)), number);
    } else if (is_copied(last)) {
        agenda_.add(copied(last, now), number);
    } else {
        agenda_.add(now, number);
    }
}

void Engine::arrive(uint32_t number, uint64_t now) {
    Change &change = changes_[number];
    const ds_cache_move &last = moves_of(change.moves).back();

    if (!is_written_to(change)) {
        ds_change_end(cache_.get(), &change.moves, 0);
        finish(number, now);
    } else if (++change.tries < most_tries) {
        agenda_.add(copy_again(change, now), number);
        return;
    } else {
        result_.aborts++;
        log(now, EventLog::Move::abort, last.move.token, last.from, last.move.to);
        give_up(number, now);
    }
    free_changes_.push_back(number);
}

bool Engine::is_written_to(const Change &change) {
    return std::ranges::any_of(moves_of(change.moves), [](const ds_cache_move &move) {
        return ds_move_is_void(&move.move);
    });
}

// Returns when it will have been copied.
uint64_t Engine::copy_again(Change &change, uint64_t now) {
    uint64_t until = now;

    for (ds_cache_move &move : moves_of(change.moves)) {
        if (!ds_move_is_void(&move.move))
            continue;
        ds_move_copy(&cache_->table, &move.move);
        result_.copied_again++;
        until = std::max(until, copied(move, now));
    }
    return until;
}

// All stay where they were. The event, if there is one, will find that it is over.
void Engine::give_up(uint32_t number, uint64_t now) {
    ds_change_end(cache_.get(), &changes_[number].moves, -ECANCELED);
    changes_[number].over = true;
    finish(number, now);
    // There is no event then.
    if (mailbox_ && mailbox_->leave(number))
        free_changes_.push_back(number);
}

void Engine::cancel(uint32_t number, uint64_t now) {
    const ds_cache_move &last = moves_of(changes_[number].moves).back();

    result_.cancels++;
    log(now, EventLog::Move::cancel, last.move.token, last.from, last.move.to);
    give_up(number, now);
}

// Whoever was idle in L1 has left his slot, or stays there.
void Engine::leave_slot(const ds_cache_move &move) {
    if (move.ret)
        ds_policy_pin(&cache_->policy, move.slot, false);
    else
        ds_policy_forget(&cache_->policy, move.slot);
}

// They are no longer on their way.
void Engine::finish(uint32_t number, uint64_t now) {
    Change &change = changes_[number];
    uint64_t moved = 0;

    for (const ds_cache_move &move : moves_of(change.moves)) {
        bool last = &move == &moves_of(change.moves).back();
        change_of(move.move.token) = none;
        if (change.idle && move.from == 1)
            leave_slot(move);
        if (move.ret)
            continue;
        moved++;
        result_.moved.at(move.move.to)++;
        log(now,
            !last         ? EventLog::Move::evict
            : change.idle ? EventLog::Move::demote
                          : EventLog::Move::promote,
            move.move.token, move.from, move.move.to);
    }
    if (moved)
        result_.move_times.record(now - change.begun, moved);
    result_.virtual_ns = std::max(result_.virtual_ns, now);
    if (change.waiters != none)
        wake(std::exchange(change.waiters, none), now);
}

// In the order in which they came.
void Engine::wake(uint32_t waiters, uint64_t now) {
    uint32_t first = none;

    while (waiters != none) {
        uint32_t next = waiters_[waiters].next;
        waiters_[waiters].next = first;
        first = std::exchange(waiters, next);
    }
    while (first != none) {
        Waiter waiter = waiters_[first];
        waiters_[first].next = free_waiter_;
        free_waiter_ = std::exchange(first, waiter.next);
        uint32_t token = tokens_[waiter.ask.object];
        bool write = waiter.ask.write;
        unsigned tier = waiter.left == Left::use
                            ? touch(token, write)
                            : reach(token, write && waiter.left == Left::write);
        serve(waiter.ask, tier, now);
    }
}

// One that is nobody's until it starts.
uint32_t Engine::spare_change() {
    if (free_changes_.empty())
        add_change();
    return free_changes_.back();
}

void Engine::add_change() {
    free_changes_.push_back(static_cast<uint32_t>(changes_.size()));
    changes_.emplace_back();
}

// Whoever asks for one of its tokens finds it.
void Engine::start(uint32_t number, uint64_t now) {
    Change &change = changes_[number];

    free_changes_.pop_back();
    change.waiters = none;
    change.begun = now;
    change.fetched = change.away = 0;
    change.tries = 0;
    change.idle = change.copied = change.over = false;
    for (const ds_cache_move &move : moves_of(change.moves))
        change_of(move.move.token) = number;
}

void Engine::log_move(uint64_t now, EventLog::Move what, uint32_t token, unsigned from,
                      unsigned to) {
    uint32_t object = objects_[ds_token_index(token)];
    events_->move(now, what, trace_.keys.empty() ? object : trace_.keys[object], from, to);
}

}  // namespace ds::sim
