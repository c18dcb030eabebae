// SPDX-License-Identifier: Apache-2.0
// One node: read it, lock it, change it; what dead clients left at it.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "abi/errors.hpp"
#include "btree/tree.hpp"
#include "fabric/crash_point.hpp"

namespace ds::btree {
namespace {

constexpr uint64_t us = 1'000;  // ns

// Readings of the same torn bytes, with nobody at work there, until they count
// as damaged.
constexpr unsigned damaged_after = 32;

// 4 us, 8 us, ... 1 ms; a part of it is left to chance, so that those who
// collided do not collide again.
uint64_t pause_after(unsigned tries, uint32_t chance) {
    uint64_t most = 4 * us << std::min(tries, 8u);
    return most / 2 + (chance * 0x9e3779b9u >> 8) % (most / 2);
}

// The first of what was left, which goes to the end if it stays, also if the task ends on its way.
struct Leaving {
    explicit Leaving(std::list<Left> &lefts) : lefts(lefts) {
        list.splice(list.end(), lefts, lefts.begin());
    }
    Leaving(const Leaving &) = delete;
    Leaving &operator=(const Leaving &) = delete;
    ~Leaving() {
        if (stays)
            lefts.splice(lefts.end(), list);
    }

    std::list<Left> &lefts;
    std::list<Left> list;
    bool stays = true;
};

}  // namespace

Expected Tree::expected(Pointer at) const {
    return {.addr = at.addr(map_),
            .generation = at.generation(),
            .tree = id_,
            .level = static_cast<uint8_t>(at.level())};
}

int Tree::damaged(uint64_t addr) {
    damaged_ = addr;
    return -EBADMSG;
}

// Torn bytes are read again while somebody may be writing them. If it is always
// the same holder of the lock who could, lock() finds out whether he lives, and
// repairs the node if he does not.
Task<int> Tree::read_node(Pointer at, Room &room) {
    const Expected what = expected(at);
    const uint64_t end = deadline();
    Sight bytes;
    unsigned same = 0;
    for (unsigned tries = 0;; tries++) {
        Io io = this->io();
        io.read(what.addr, room);
        co_await driver_.trip(io);
        if (io.status() < 0)
            co_return io.status();
        Verdict verdict = btree::check(room.node(), what);
        if (verdict.ok())
            co_return 0;
        if (!verdict.passes())
            co_return -ESTALE;
        driver_.counters.torn_retries++;
        const uint64_t now = driver_.now();
        const LockWord lock{room.node().head.lock};
        const uint64_t since = sights_.see(what.addr, lock, now);
        if (now >= end)
            co_return -ETIMEDOUT;

        uint64_t seen = verdict.line ? room.node().line(verdict.line).crc : room.node().head.crc;
        same = !lock.held() && bytes.what == seen ? same + 1 : 0;
        bytes.see(seen, now);
        if (same > damaged_after)
            co_return damaged(what.addr);
        if (lock.held() && now - since >= options_.lease_ns) {
            Locked locked(*this);
            if (int rc = co_await this->lock(at, locked); rc < 0)
                co_return rc;
            if (int rc = co_await unlock(locked); rc < 0)
                co_return rc;
        } else if (tries > 4) {
            co_await driver_.pause(pause_after(tries - 4, static_cast<uint32_t>(now)));
        }
    }
}

// 1: the holder is gone and the lock may be taken from @p word; 0: not now. He is waited for
// less than a lease at a time, as others may wait for what this client holds.
int Tree::may_take_over(LockWord word, uint64_t since, uint64_t end) {
    if (!word.held())
        return 0;
    if (client_->made(word))
        return !client_->in_use(word);
    const uint64_t now = driver_.now();
    if (now - since < options_.lease_ns || now >= end)
        return 0;
    const uint64_t patience = std::min(end - now, options_.lease_ns / 2);
    int rc = pool_.fence({word.client(), word.incarnation()},
                         static_cast<uint32_t>(patience / (1000 * us) + 1));
    return rc == 0 ? 1 : rc == -EBUSY || rc == -ETIMEDOUT ? 0 : rc;
}

Task<int> Tree::lock(Pointer at, Locked &locked) {
    locked.let_go();
    locked.at = at;
    locked.addr = at.addr(map_);
    locked.doubtful = false;
    locked.turn = co_await driver_.turn(locked.addr);
    if (!locked.room)
        locked.room = rooms_.take();
    locked.left.resize(1);
    const uint64_t end = deadline();
    LockWord before;  // what the lock is taken from
    for (unsigned tries = 0;; tries++) {
        const bool take_over = before.held();
        client_->done_with(locked.word);
        locked.word = client_->new_word(take_over ? LockWord::repair : LockWord::change);
        locked.held = true;
        Io io = this->io();
        io.cas(locked.addr, before.word, locked.word.word).then().read(locked.addr, locked.room);
        co_await driver_.trip(io);
        const ds_result cas = io.result(0);
        bool mine = cas.status == 0 && cas.value == before.word;
        if (cas.status < 0) {
            locked.held = cas.outcome == DS_UNKNOWN;
            if (!locked.held)
                co_return cas.status;
            int held = co_await holds(locked);
            locked.held = held != 0;
            if (held < 0 || (held == 0 && driver_.now() >= end))
                co_return cas.status;
            if (held == 0)
                continue;  // it did not happen, and will not
            mine = true;
        }
        if (mine) {
            crash_point("tree.locked");
            co_return co_await own(locked, io.result(1).status == 0, take_over);
        }

        locked.held = false;
        driver_.counters.lock_retries++;
        uint64_t since = sights_.see(locked.addr, LockWord{cas.value}, driver_.now());
        if (driver_.now() >= end)
            co_return -ETIMEDOUT;
        int may = may_take_over(LockWord{cas.value}, since, end);
        if (may < 0)
            co_return may;
        before.word = may ? cas.value : 0;
        if (!may)
            co_await driver_.pause(pause_after(tries, locked.word.sequence()));
    }
}

// The lock is held: makes the node whole. On failure the lock is given back, but not while
// there may be something to repair: who finds it free would not know of that.
Task<int> Tree::own(Locked &locked, bool was_read, bool taken_over) {
    int rc = 0;
    bool repaired = !taken_over;
    for (unsigned tries = 0; tries < 3; tries++) {
        if (!std::exchange(was_read, false)) {
            Io io = this->io();
            io.read(locked.addr, locked.room);
            co_await driver_.trip(io);
            if (rc = io.status(); rc < 0)
                break;
        }
        if (!repaired) {
            if (rc = co_await repair(locked); rc < 0)
                break;
            repaired = true;
        }
        Verdict verdict = btree::check(locked.node(), expected(locked.at));
        if (verdict.ok()) {
            driver_.counters.recovered += taken_over;
            co_return 0;
        }
        // Who holds the lock reads alone: what is torn now stays so.
        rc = verdict.passes() ? damaged(locked.addr) : -ESTALE;
    }
    if (!repaired)
        co_return rc;
    int unlocked = co_await unlock(locked);
    co_return unlocked < 0 ? unlocked : rc;
}

// Writes to its place what the last holder may have written half.
Task<int> Tree::repair(Locked &locked) {
    Node &node = locked.node();
    if (node.journal().generation != locked.at.generation())
        co_return 0;
    const int line = redo(node, locked.addr);
    if (line < 0)
        co_return 0;
    Io io = this->io();
    io.write_line(locked.addr, locked.room, static_cast<unsigned>(line));
    co_await driver_.trip(io);
    co_return io.status();
}

// 1: the lock word is ours, 0: it is not, or the error that kept us from reading it.
Task<int> Tree::holds(const Locked &locked) {
    Io io = this->io();
    io.fetch_add(locked.addr, 0);
    co_await driver_.trip(io);
    if (io.status() < 0)
        co_return io.status();
    co_return io.result(0).value == locked.word.word;
}

// Runs the chain @p io, whose last operation asks to be followed, and behind it
// gives the lock back. When it is not known how that ended the lock word tells:
// if it is not ours any more the chain ran to its end; if it is, nobody else has
// been there, and the chain may run again.
Task<int> Tree::commit(Locked &locked, Io &io) {
    io.cas(locked.addr, locked.word.word, 0);
    const uint64_t end = deadline();
    for (;;) {
        co_await driver_.trip(io);
        const int rc = io.status();
        const ds_result last = io.result(io.size() - 1);
        if (rc == 0 && last.value == locked.word.word)
            break;
        for (size_t i = 0; i < io.size(); i++)
            locked.doubtful |= io.result(i).outcome != DS_NOT_EXECUTED;
        int held = rc == 0 ? 0 : co_await holds(locked);
        if (held == 0 && last.outcome == DS_UNKNOWN)
            break;
        if (held == 0) {
            locked.held = false;
            co_return -ESHUTDOWN;  // we were fenced, and live: somebody is wrong
        }
        if (held < 0 || !is_transient(rc) || driver_.now() >= end)
            co_return rc;
        co_await driver_.pause(1000 * us);
    }
    locked.held = false;
    locked.let_go();
    co_return 0;
}

Task<int> Tree::unlock(Locked &locked) {
    Io io = this->io();
    co_return co_await commit(locked, io);
}

void Tree::abandon(Locked &locked) noexcept {
    locked.left.front() = {locked.at, driver_.answers(locked.addr)};
    left_.splice(left_.end(), locked.left);
}

// What was abandoned, by this tree or one that is closed, once its server has answered again:
// others would take this client for dead. It may have to be repaired.
Task<void> Tree::give_back() {
    std::list<Left> adopted = client_->take_lefts();
    for (Left &left : adopted)
        left.answers = driver_.answers(left.at.addr(map_));
    size_t known = left_.size();
    left_.splice(left_.end(), adopted);
    for (; known > 0 && !left_.empty(); known--) {
        Leaving one(left_);
        Left &left = one.list.front();
        const uint64_t addr = left.at.addr(map_);
        if (left.answers == driver_.answers(addr))
            continue;
        Locked locked(*this);
        int rc = co_await lock(left.at, locked);
        one.stays = is_transient(rc) && !locked.held;  // else it is abandoned anew
        if (rc == 0)
            co_await unlock(locked);
        left.answers = driver_.answers(addr);
    }
}

// From a locked node to its sibling, which must begin where the node ends.
Task<int> Tree::move_right(Locked &locked) {
    const uint64_t low = locked.node().head.body.high;
    Pointer sibling = locked.at;
    int rc = pass_right(locked.node(), sibling);
    int unlocked = co_await unlock(locked);
    if (rc < 0 || unlocked < 0)
        co_return rc < 0 ? rc : unlocked;
    rc = co_await lock(sibling, locked);
    if (rc < 0)
        co_return rc;
    rc = arrive(sibling, locked.node().head.body.low, low);
    if (rc < 0)
        co_await unlock(locked);
    co_return rc;
}

}  // namespace ds::btree
