// SPDX-License-Identifier: Apache-2.0
// Tokens on their way, by the steps of the core: claimed at once, copied, and there when the copy
// is over. A token that comes from L3 is asked for at the host's driver first; one that leaves L1
// and is dirty is written home first.
#include <algorithm>
#include <cerrno>
#include <functional>
#include <utility>

#include "sim/engine.hpp"

namespace ds::sim {
namespace {

constexpr unsigned most_tries = 8;

}  // namespace

// A token that is not in L1 was used. True if it is on its way there now.
bool Engine::promote(uint32_t object, uint32_t token, uint64_t now) {
    uint64_t until = now;
    uint32_t number = begin_coming(object, token, now, until);

    if (number == none)
        return false;
    if (moves_[number].from == 3) {
        uint64_t answered = model_.expand(now);
        host_ns_ += answered - now;
        until = std::max(until, answered);
        log(now, EventLog::Move::expand, object, 3, 1);
    }
    schedule(until, number);
    return true;
}

// A move into L1, if the policy wants one: it may be copied when @p until has come, which is later
// than now if somebody has to be written home first. None if not.
uint32_t Engine::begin_coming(uint32_t object, uint32_t token, uint64_t now, uint64_t &until) {
    u64 word = 0;
    uint32_t victim;

    ds_token_find(&cache_->table, token, &word);
    if (!class_of(object).in_l1 || ds_word_is_moving(word) || ds_word_tier(word) == 1)
        return none;
    uint32_t slot = ds_policy_miss(&cache_->policy, ds_token_index(token), &victim);
    if (slot == DS_POLICY_NONE)
        return none;

    uint32_t number = new_move(slot, object, ds_word_tier(word));
    Move &move = moves_[number];
    // Who was promised a slot that another is on the way to does not get it.
    bool begun = !filling_[slot] && !ds_move_begin(&cache_->table, &move.in, token, 1, slot);
    if (begun && !begin_leaving(number, now, until)) {
        ds_move_abort(&cache_->table, &move.in);
        begun = false;
    }
    if (!begun) {
        result_.refused++;
        ds_policy_forget(&cache_->policy, slot);
        free_moves_.push_back(number);
        return none;
    }
    filling_[slot] = 1;
    move_of(token) = number;
    return number;
}

// Who is in the slot of a move begins to go home, which takes until @p until if it is dirty. False
// if it cannot.
bool Engine::begin_leaving(uint32_t number, uint64_t now, uint64_t &until) {
    Move &move = moves_[number];
    uint32_t token = cache_->table.l1.slots[move.slot].token;
    u64 word = 0;

    if (ds_token_find(&cache_->table, token, &word) || ds_word_tier(word) != 1 ||
        ds_word_l1_slot(word) != move.slot)
        return true;
    if (ds_move_begin(&cache_->table, &move.out, token, 3, 0))
        return false;
    move.leaving = objects_[ds_token_index(token)];
    move_of(token) = number;
    ds_move_copy(&cache_->table, &move.out);
    if (word & DS_WORD_DIRTY) {
        until = model_.access(3, true, bytes_of(move.leaving), now);
        result_.written_back++;
    } else {
        leave(number, now);
    }
    return true;
}

// Document 001: L1 is left when idle, too.
void Engine::demote_idle(uint64_t now) {
    uint32_t slot = ds_policy_idle(&cache_->policy);

    if (slot == DS_POLICY_NONE || filling_[slot])
        return;
    uint32_t number = new_move(slot, none, 0);
    uint64_t until = now;
    ds_policy_forget(&cache_->policy, slot);
    if (begin_leaving(number, now, until) && moves_[number].leaving != none)
        schedule(until, number);
    else
        free_moves_.push_back(number);
}

// The next event.
void Engine::happen() {
    Event event = agenda_.front();

    std::ranges::pop_heap(agenda_, std::greater());
    agenda_.pop_back();
    if (event.move == none) {
        timer_set_ = false;
        flush_if_due(event.time);
        return;
    }
    Move &move = moves_[event.move];
    if (move.over)
        free_moves_.push_back(event.move);
    else if (move.copied)
        arrive(event.move, event.time);
    else if (move.leaving != none)
        leave(event.move, event.time);
    else
        copy(event.move, event.time);
}

// What was dirty has been written home, or nothing was.
void Engine::leave(uint32_t number, uint64_t now) {
    Move &move = moves_[number];
    bool at_once = !(move.out.word & DS_WORD_DIRTY);

    if (ds_move_commit(&cache_->table, &move.out)) {
        if (++move.tries == most_tries) {
            result_.aborts++;
            log(now, EventLog::Move::abort, move.leaving, 1, 3);
            give_up(number, now);
            free_moves_.push_back(number);
            return;
        }
        ds_move_copy(&cache_->table, &move.out);
        result_.copied_again++;
        result_.written_back++;
        schedule(model_.access(3, true, bytes_of(move.leaving), now), number);
        return;
    }
    move_of(move.out.token) = none;
    result_.moved[3]++;
    log(now, move.coming == none ? EventLog::Move::demote : EventLog::Move::evict, move.leaving, 1,
        3);
    move.leaving = none;
    wake(move.leaving_waiters, now);
    if (at_once)
        return;
    if (move.coming == none)
        free_moves_.push_back(number);
    else
        copy(number, now);
}

void Engine::copy(uint32_t number, uint64_t now) {
    Move &move = moves_[number];

    ds_move_copy(&cache_->table, &move.in);
    move.copied = true;
    if (uint64_t fetched = std::exchange(move.fetched, 0)) {
        schedule(std::max(now, fetched), number);
        return;
    }
    result_.copies++;
    schedule(model_.access(move.from, false, bytes_of(move.coming), now), number);
}

void Engine::arrive(uint32_t number, uint64_t now) {
    Move &move = moves_[number];

    if (!ds_move_commit(&cache_->table, &move.in)) {
        result_.moved[1]++;
        log(now, EventLog::Move::promote, move.coming, move.from, 1);
        finish(number, now);
    } else if (++move.tries < most_tries) {
        result_.copied_again++;
        copy(number, now);
        return;
    } else {
        result_.aborts++;
        log(now, EventLog::Move::abort, move.coming, move.from, 1);
        give_up(number, now);
    }
    free_moves_.push_back(number);
}

// All of a move stays where it was. Its event, if there is one, will find that it is over.
void Engine::give_up(uint32_t number, uint64_t now) {
    Move &move = moves_[number];

    if (move.leaving != none)
        ds_move_abort(&cache_->table, &move.out);
    if (move.coming != none) {
        ds_move_abort(&cache_->table, &move.in);
        ds_policy_forget(&cache_->policy, move.slot);
    }
    finish(number, now);
    move.over = true;
}

// No token is on its way by this move any more.
void Engine::finish(uint32_t number, uint64_t now) {
    Move &move = moves_[number];

    if (move.leaving != none)
        move_of(move.out.token) = none;
    if (move.coming != none) {
        move_of(move.in.token) = none;
        filling_[move.slot] = 0;
    }
    result_.virtual_ns = std::max(result_.virtual_ns, now);
    wake(move.leaving_waiters, now);
    wake(move.coming_waiters, now);
}

// In the order in which they came.
void Engine::wake(uint32_t &waiters, uint64_t now) {
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
        serve(waiter.ask, touch(tokens_[waiter.ask.object], waiter.ask.write), now);
    }
}

uint32_t Engine::new_move(uint32_t slot, uint32_t coming, unsigned from) {
    uint32_t number = static_cast<uint32_t>(moves_.size());

    if (free_moves_.empty()) {
        moves_.emplace_back();
    } else {
        number = free_moves_.back();
        free_moves_.pop_back();
    }
    moves_[number] = {.in = {},
                      .out = {},
                      .coming = coming,
                      .leaving = none,
                      .coming_waiters = none,
                      .leaving_waiters = none,
                      .slot = slot,
                      .fetched = 0,
                      .from = static_cast<uint8_t>(from),
                      .tries = 0,
                      .copied = false,
                      .over = false};
    return number;
}

void Engine::schedule(uint64_t time, uint32_t move) {
    agenda_.push_back({time, ordered_++, move});
    std::ranges::push_heap(agenda_, std::greater());
}

void Engine::log(uint64_t now, EventLog::Move what, uint32_t object, unsigned from, unsigned to) {
    if (events_)
        events_->move(now, what, trace_.keys.empty() ? object : trace_.keys[object], from, to);
}

}  // namespace ds::sim
