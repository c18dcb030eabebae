// SPDX-License-Identifier: Apache-2.0
// From the root to the node that covers a key; the levels above a split.
#include <cerrno>

#include "btree/tree.hpp"
#include "fabric/crash_point.hpp"

namespace ds::btree {
namespace {

// Times that a search may begin anew because it met a node that is not what it
// was said to be.
constexpr unsigned max_restarts = 16;

// Splits of others that one operation finishes before it returns.
constexpr unsigned max_help = 4;

}  // namespace

Task<int> Tree::read_root() {
    Io io = this->io();
    io.fetch_add(Anchor::root(map_, id_), 0);
    co_await driver_.trip(io);
    if (io.status() < 0)
        co_return io.status();
    Pointer root{io.result(0).value};
    if (!root)
        co_return -ENOENT;
    if (!root.valid(map_))
        co_return damaged(Anchor::root(map_, id_));
    root_ = root;
    co_return 0;
}

// The node at @p level that covers @p key, or one on its left: what is cached may
// be old. With @p fresh nothing cached is used.
Task<int> Tree::find(uint64_t key, unsigned level, bool fresh, Pointer &at) {
    for (unsigned restarts = 0; restarts <= max_restarts; restarts++) {
        if (fresh || restarts || !root_)
            if (int rc = co_await read_root(); rc < 0)
                co_return rc;
        at = root_;
        int rc = 0;
        unsigned passed = 0;
        std::optional<uint64_t> low;  // where the node before it ended
        while (rc == 0 && at.level() > level) {
            const Inner *inner = fresh || restarts ? nullptr : cache_.find(at);
            Room room;
            std::optional<Inner> seen;
            if (!inner) {
                room = rooms_.take();
                if (rc = co_await read_node(at, room); rc < 0)
                    break;
                inner = &seen.emplace(room.node());
                cache_.put(at, *seen);
            }
            if (rc = arrive(at, inner->low, low); rc < 0)
                break;
            low.reset();
            if (inner->is_left_of(key)) {
                low = inner->high;
                passed++;
            }
            rc = passed > max_passed && !fresh && restarts == 0 ? -ESTALE : step(*inner, key, at);
        }
        if (rc != -ESTALE)
            co_return rc;
        driver_.counters.stale_retries++;
        cache_.clear();
    }
    co_return -ESTALE;
}

// From an internal node one step towards @p key: to a child, or to the right.
int Tree::step(const Inner &inner, uint64_t key, Pointer &at) {
    if (inner.is_right_of(key))
        return -ESTALE;
    unsigned level = at.level();
    uint64_t addr = at.addr(map_);
    if (inner.is_left_of(key)) {
        if (inner.high <= inner.low)
            return damaged(addr);
        at = inner.sibling;
    } else {
        int child = inner.child_of(key);
        if (child < 0)
            return damaged(addr);
        at = Pointer{inner.children[static_cast<size_t>(child)].value};
        level--;
    }
    return at.valid(map_) && at.level() == level ? 0 : damaged(addr);
}

// From a node to its sibling, because the key is there.
int Tree::pass_right(const Node &node, Pointer &at) {
    const HeadBody &head = node.head.body;
    uint64_t addr = at.addr(map_);
    Pointer sibling{head.sibling};
    if (!sibling.valid(map_) || sibling.level() != head.level || head.high <= head.low)
        return damaged(addr);
    driver_.counters.stale_retries++;
    at = sibling;
    return 0;
}

// At a node that begins at @p low. Whoever was led here by its left neighbour knows
// where that one ended, and that the level above may not know of this one.
int Tree::arrive(Pointer at, uint64_t low, std::optional<uint64_t> passed) {
    if (!passed)
        return 0;
    if (low != passed)
        return damaged(at.addr(map_));
    note_behind({at.level() + 1, low, at.word});
    return 0;
}

// ---- Unfinished splits ----

void Tree::note_behind(const Behind &behind) {
    if (behind.level <= Pointer::max_level)
        behind_.insert(behind);
}

Task<void> Tree::help() {
    for (unsigned n = 0; n < max_help && !behind_.empty(); n++) {
        Behind behind = behind_.extract(behind_.begin()).value();
        if (co_await finish_split(behind) < 0)
            driver_.counters.unfinished++;
    }
    co_await give_back();
}

// Mostly the level above knows the node, and only our copy of it is old: so
// look before you lock.
Task<int> Tree::finish_split(const Behind &behind) {
    if (root_.level() < behind.level)
        if (int rc = co_await read_root(); rc < 0)
            co_return rc;
    if (root_.level() >= behind.level) {
        Pointer at;
        if (int rc = co_await find(behind.separator, behind.level, false, at); rc < 0)
            co_return rc;
        Room room = rooms_.take();
        std::optional<uint64_t> low;  // where the node before it ended
        for (;; low = room.node().head.body.high) {
            if (int rc = co_await read_node(at, room); rc < 0)
                co_return rc;
            Inner inner(room.node());
            if (int rc = arrive(at, inner.low, low); rc < 0)
                co_return rc;
            cache_.put(at, inner);
            if (btree::find(room.node(), behind.separator))
                co_return 0;
            if (!inner.is_left_of(behind.separator))
                break;
            if (int rc = step(inner, behind.separator, at); rc < 0)
                co_return rc;
        }
    }
    driver_.counters.helped++;
    co_return co_await add_separator(behind);
}

// Tells the level above of a node. The parent is looked for from the root again
// when the one that the cache knows is not it; under its lock it is verified
// that it is the one.
Task<int> Tree::add_separator(const Behind &behind) {
    Spare spare(pool_, behind.level);
    for (unsigned restarts = 0; restarts <= max_restarts; restarts++) {
        if (root_.level() < behind.level) {
            if (int rc = co_await read_root(); rc < 0)
                co_return rc;
            if (root_.level() < behind.level) {
                int rc = co_await grow(behind);
                if (rc != -EAGAIN)
                    co_return rc;
                continue;
            }
        }
        Pointer at;
        if (int rc = co_await find(behind.separator, behind.level, restarts > 0, at); rc < 0)
            co_return rc;
        Locked parent(*this);
        int rc = co_await lock(at, parent);
        while (rc == 0 && parent.node().is_left_of(behind.separator))
            rc = co_await move_right(parent);
        if (rc == -ESTALE)
            continue;
        if (rc < 0)
            co_return rc;
        const Node &node = parent.node();
        if (!node.covers(behind.separator)) {
            if (rc = co_await unlock(parent); rc < 0)
                co_return rc;
            continue;
        }
        if (Place place = btree::find(node, behind.separator)) {
            bool same = node.line(place.line).entries[place.slot].value == behind.pointer;
            if (rc = co_await unlock(parent); rc < 0)
                co_return rc;
            co_return same ? 0 : damaged(parent.addr);
        }
        Entry entry{behind.separator, behind.pointer};
        rc = co_await insert(parent, entry, spare);
        if (rc != -EAGAIN)
            co_return rc;
        if (rc = co_await provide(spare); rc < 0)
            co_return rc;
    }
    co_return -ESTALE;
}

// The root was split, or its sibling's parent is wanted: a new root above it.
// -EAGAIN: another client was faster.
Task<int> Tree::grow(const Behind &behind) {
    const Pointer old = root_;
    Room room = rooms_.take();
    Spare spare(pool_, behind.level);
    if (int rc = co_await provide(spare); rc < 0)
        co_return rc;
    const pool::NodeAddress place = spare.place;
    Pointer at = Pointer::make(map_, behind.level, place.addr, place.generation);
    HeadBody body{};
    body.last = 1;
    body.tree = id_;
    body.level = static_cast<uint8_t>(behind.level);
    make(room.node(), expected(at), body);
    set(room.node(), place.addr, {1, 0}, {0, old.word});
    set(room.node(), place.addr, {1, 1}, {behind.separator, behind.pointer});
    if (int rc = co_await write_new(at, room, spare); rc < 0)
        co_return rc;
    crash_point("tree.grow");
    spare.used();  // it may be the root from now on, whatever ends this task
    int swung = co_await swing_root(old, at);
    if (swung == 0)
        pool_.free_node(behind.level, place);
    if (swung <= 0)
        co_return swung == 0 ? -EAGAIN : swung;
    cache_.put(at, Inner(room.node()));
    co_return 0;
}

// 1: the root is @p to now; 0: it is another, by another's hand. On an error @p to
// may have become the root.
Task<int> Tree::swing_root(Pointer from, Pointer to) {
    for (;;) {
        Io io = this->io();
        io.cas(Anchor::root(map_, id_), from.word, to.word);
        co_await driver_.trip(io);
        const ds_result cas = io.result(0);
        if (cas.status == 0) {
            root_ = cas.value == from.word ? to : Pointer{cas.value};
            co_return cas.value == from.word;
        }
        if (cas.outcome != DS_UNKNOWN)
            co_return cas.status;
        if (int rc = co_await read_root(); rc < 0 && rc != -ENOENT)
            co_return rc;
        if (root_ == to)
            co_return 1;
        if (root_ != from)
            co_return cas.status;
    }
}

}  // namespace ds::btree
