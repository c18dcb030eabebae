// SPDX-License-Identifier: Apache-2.0
// Operations on one key, and splits.
#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "abi/errors.hpp"
#include "btree/tree.hpp"
#include "fabric/crash_point.hpp"

namespace ds::btree {
namespace {

constexpr unsigned max_restarts = 16;

// The pool is asked for a node for so long at a time: meanwhile nobody sees whether other
// servers are back.
constexpr uint32_t pool_patience_ms = 1000;
constexpr uint64_t pool_pause = 1'000'000;  // ns

// Number of the entries that stay when @p all of them are divided. A node that
// grows at its right end, as from keys in order, is left full.
unsigned division(const Entries &all, bool last_node, uint64_t added) {
    bool at_end = last_node && all.list[all.count - 1].key == added;
    return at_end ? all.count - 1 : all.count / 2;
}

}  // namespace

Task<void> Tree::run(ds_tree_op &op) {
    op.outcome = DS_NOT_EXECUTED;
    if (op.opcode == DS_TREE_GET)
        op.status = co_await get(op);
    else
        op.status = co_await change(op);
    if (!behind_.empty() || !left_.empty() || client_->has_lefts())
        co_await help();
}

// ---- Reading ----

Task<int> Tree::get(ds_tree_op &op) {
    Room room = rooms_.take();
    if (int rc = co_await read_leaf(op.key, room); rc < 0)
        co_return rc;
    op.outcome = DS_EXECUTED;
    Place place = btree::find(room.node(), op.key);
    if (!place)
        co_return -ENOENT;
    op.value = room.node().line(place.line).entries[place.slot].value;
    co_return 0;
}

// The leaf that covers the key, as it was at some time during the call.
Task<int> Tree::read_leaf(uint64_t key, Room &room) {
    for (unsigned restarts = 0; restarts <= max_restarts; restarts++) {
        Pointer at;
        int rc = co_await find(key, 0, restarts > 0, at);
        std::optional<uint64_t> low;  // where the node before it ended
        for (unsigned passed = 0; rc == 0; passed++) {
            if (rc = co_await read_node(at, room); rc < 0)
                break;
            const Node &node = room.node();
            if (rc = arrive(at, node.head.body.low, low); rc < 0)
                break;
            if (node.covers(key))
                co_return 0;
            if (node.is_right_of(key) || (restarts == 0 && passed == max_passed)) {
                rc = -ESTALE;
                break;
            }
            low = node.head.body.high;
            rc = pass_right(node, at);
        }
        if (rc != -ESTALE)
            co_return rc;
        driver_.counters.stale_retries++;
        cache_.clear();
    }
    co_return -ESTALE;
}

// ---- Changing ----

Task<int> Tree::lock_leaf(uint64_t key, Locked &leaf) {
    for (unsigned restarts = 0; restarts <= max_restarts; restarts++) {
        Pointer at;
        int rc = co_await find(key, 0, restarts > 0, at);
        if (rc == 0)
            rc = co_await lock(at, leaf);
        const unsigned most = restarts ? UINT_MAX : max_passed;
        for (unsigned n = 0; rc == 0 && n < most && leaf.node().is_left_of(key); n++)
            rc = co_await move_right(leaf);
        if (rc == 0 && leaf.node().covers(key))
            co_return 0;
        if (rc == 0)
            rc = co_await unlock(leaf);
        if (rc < 0 && rc != -ESTALE)
            co_return rc;
        driver_.counters.stale_retries++;
        cache_.clear();
    }
    co_return -ESTALE;
}

Task<int> Tree::change(ds_tree_op &op) {
    Spare spare(pool_, 0);
    for (unsigned restarts = 0; restarts <= max_restarts; restarts++) {
        int rc = co_await change_leaf(op, spare);
        if (rc != -EAGAIN)
            co_return rc;
        op.outcome = DS_NOT_EXECUTED;
        if (rc = co_await provide(spare); rc < 0)
            co_return rc;
    }
    co_return -ETIMEDOUT;
}

// -EAGAIN: nothing happened, and provide() is to be asked.
Task<int> Tree::change_leaf(ds_tree_op &op, Spare &spare) {
    Locked leaf(*this);
    if (int rc = co_await lock_leaf(op.key, leaf); rc < 0)
        co_return rc;
    Place place = btree::find(leaf.node(), op.key);
    if (place ? op.opcode == DS_TREE_PUT : op.opcode == DS_TREE_UPDATE) {
        int there = place ? -EEXIST : -ENOENT;
        // It is answered, whether the lock could be given back or not.
        co_await unlock(leaf);
        op.outcome = DS_EXECUTED;
        co_return there;
    }
    op.outcome = DS_UNKNOWN;  // if there is no memory for one of the steps
    Entry entry{op.key, op.value};
    int rc;
    if (place)
        rc = co_await store(leaf, place, entry);
    else
        rc = co_await insert(leaf, entry, spare);
    op.outcome = rc == 0 ? DS_EXECUTED : leaf.doubtful ? DS_UNKNOWN : DS_NOT_EXECUTED;
    co_return rc;
}

// A new or changed entry in its place, and the lock back: one round trip.
Task<int> Tree::store(Locked &locked, Place place, Entry entry) {
    Node &node = locked.node();
    set(node, locked.addr, place, entry);
    make_journal(node.journal(), node, locked.addr, place.line);
    Io io = this->io();
    io.write_line(locked.addr, locked.room, journal_line).then();
    io.write_line(locked.addr, locked.room, place.line).then();
    int rc = co_await commit(locked, io);
    if (rc == 0 && locked.at.level() > 0)
        cache_.put(locked.at, Inner(node));
    co_return rc;
}

Task<int> Tree::insert(Locked &locked, Entry entry, Spare &spare) {
    if (Place place = find_free(locked.node()))
        co_return co_await store(locked, place, entry);
    co_return co_await split(locked, entry, spare);
}

// A WRITE that was given up may still come: nobody may have the node for something else then.
Task<int> Tree::write_new(Pointer at, Room &room, Spare &spare, bool once) {
    Io io = this->io();
    io.write(at.addr(map_), room, lock_size, node_size - lock_size);
    if (once)
        io.once();
    const bool before = std::exchange(spare.doubtful, true);  // whatever ends this task
    co_await driver_.trip(io);
    const int rc = io.status();
    spare.doubtful = rc < 0 && (before || io.doubtful());
    co_return rc;
}

// What may take long, so this task has no lock: gets a node from the pool, and as nobody else goes
// on meanwhile, when no other is about to give one back; or waits for the server of the node
// that there is.
Task<int> Tree::provide(Spare &spare) {
    if (spare.has()) {
        Room room = rooms_.take();
        Io io = this->io();
        io.read(spare.place.addr, room);
        co_await driver_.trip(io);
        co_return io.status();
    }
    const uint64_t end = deadline();
    for (;;) {
        co_await driver_.idle();
        int rc = spare.take(std::min(options_.timeout_ms, pool_patience_ms));
        if (!is_transient(rc) || driver_.now() >= end)
            co_return rc;
        co_await driver_.pause(pool_pause);
    }
}

// The new node on the right is written first, where nobody sees it; then the
// head of the left node, which makes it visible; then the level above is told.
// Two round trips also on one server: the second may be repeated, and by then others
// may have changed the new node.
Task<int> Tree::split(Locked &left, Entry entry, Spare &spare) {
    Node &node = left.node();
    const unsigned level = left.at.level();
    Room right = rooms_.take(), journal = rooms_.take();
    if (!spare.at_hand()) {
        int rc = co_await unlock(left);
        co_return rc < 0 ? rc : -EAGAIN;
    }
    const pool::NodeAddress place = spare.place;
    Pointer at = Pointer::make(map_, level, place.addr, place.generation);
    Entries all = entries_of(node);
    all.insert(entry);
    const unsigned stay = division(all, node.head.body.last, entry.key);
    const Behind behind{level + 1, all.list[stay].key, at.word};

    HeadBody body = node.head.body;
    body.low = behind.separator;
    body.version = 0;
    make(right.node(), expected(at), body);
    for (unsigned i = stay; i < all.count; i++)
        set(right.node(), place.addr, find_free(right.node()), all.list[i]);

    if (int rc = co_await write_new(at, right, spare, true); rc < 0) {
        // Its server is waited for without the lock.
        int unlocked = co_await unlock(left);
        co_return unlocked == 0 && is_transient(rc) ? -EAGAIN : rc;
    }
    crash_point("tree.split.right");

    node.head.body.high = behind.separator;
    node.head.body.last = 0;
    node.head.body.sibling = at.word;
    node.head.body.version++;
    seal_head(node, left.addr);
    make_journal(journal.node().journal(), node, left.addr, 0);
    Io io = this->io();
    io.write_line(left.addr, journal, journal_line).then();
    io.write_line(left.addr, left.room, 0).then();
    if (entry.key < behind.separator) {
        Place free = find_free(node);
        set(node, left.addr, free, entry);
        make_journal(node.journal(), node, left.addr, free.line);
        io.write_line(left.addr, left.room, journal_line).then();
        io.write_line(left.addr, left.room, free.line).then();
    }
    spare.used();  // it may be in the tree from now on, whatever ends this task
    if (int rc = co_await commit(left, io); rc < 0) {
        if (!left.doubtful)
            pool_.free_node(level, place);
        co_return rc;
    }
    crash_point("tree.split.left");
    driver_.counters.splits++;
    if (level > 0) {
        cache_.put(left.at, Inner(node));
        cache_.put(at, Inner(right.node()));
    }
    // The entry is there, whatever becomes of the rest; others can finish it.
    if (co_await add_separator(behind) < 0)
        driver_.counters.unfinished++;
    co_return 0;
}

}  // namespace ds::btree
