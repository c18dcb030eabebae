// SPDX-License-Identifier: Apache-2.0
// Filling an empty tree from sorted entries, level by level.
//
// All nodes are written where nobody sees them, but for the leaf that is there:
// it keeps the first entry and becomes the leftmost leaf. When its head is
// changed, as in a split, all the others are in the tree; when the root is
// changed behind that, they are found quickly.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "btree/tree.hpp"
#include "fabric/crash_point.hpp"

namespace ds::btree {
namespace {

// Left free in each node, so that the first changes do not split it.
constexpr size_t filled = capacity * 9 / 10;

// Nodes that are written in one round trip.
constexpr size_t max_batch = 32;

}  // namespace

/// The nodes that were taken from the pool and are not in the tree.
struct Tree::Loading {
    pool::Pool &pool;
    uint32_t timeout_ms;
    std::vector<std::pair<unsigned, pool::NodeAddress>> taken = {};

    int take(unsigned level, pool::NodeAddress &place) {
        int rc = pool.alloc_node(level, place, timeout_ms);
        if (rc == 0)
            taken.emplace_back(level, place);
        return rc;
    }
    ~Loading() {
        for (auto node = taken.rbegin(); node != taken.rend(); ++node)
            pool.free_node(node->first, node->second);
    }
};

// Writes the nodes of one level, the first of them with the first of the entries.
Task<int> Tree::load_level(Loading &loading, unsigned level, std::span<const ds_tree_entry> entries,
                           std::vector<Child> &made) {
    const size_t nodes = (entries.size() + filled - 1) / filled;
    // Entries are shared out evenly, so that no node at the end is nearly empty.
    auto from = [&](size_t node) { return node * entries.size() / nodes; };
    made.clear();
    for (size_t i = 0; i < nodes; i++) {
        pool::NodeAddress place;
        if (int rc = loading.take(level, place); rc < 0)
            co_return rc;
        made.push_back(
            {entries[from(i)].key, Pointer::make(map_, level, place.addr, place.generation)});
    }
    std::vector<Room> rooms;
    for (size_t begin = 0; begin < nodes; begin += max_batch) {
        Io io = this->io();
        rooms.clear();
        rooms.reserve(max_batch);
        for (size_t i = begin; i < std::min(begin + max_batch, nodes); i++) {
            const Child &child = made[i];
            rooms.push_back(rooms_.take());
            Node &node = rooms.back().node();
            HeadBody body{};
            body.low = child.low;
            body.tree = id_;
            body.level = static_cast<uint8_t>(level);
            body.last = i + 1 == nodes;
            if (!body.last) {
                body.high = made[i + 1].low;
                body.sibling = made[i + 1].at.word;
            }
            make(node, expected(child.at), body);
            for (size_t e = from(i); e < from(i + 1); e++)
                set(node, child.at.addr(map_), find_free(node), {entries[e].key, entries[e].value});
            io.write(child.at.addr(map_), rooms.back(), lock_size, node_size - lock_size);
        }
        co_await driver_.trip(io);
        if (io.doubtful())
            loading.taken.clear();  // as in write_new()
        if (io.status() < 0)
            co_return io.status();
    }
    co_return 0;
}

// Locks the only leaf of the tree, if that is still empty.
Task<int> Tree::lock_empty(Locked &leaf) {
    if (int rc = co_await lock(root_, leaf); rc < 0)
        co_return rc;
    if (leaf.node().head.body.last && entries_of(leaf.node()).count == 0)
        co_return 0;
    co_await unlock(leaf);
    co_return -ENOTEMPTY;
}

Task<int> Tree::load_one(const ds_tree_entry *entry) {
    Locked leaf(*this);
    if (int rc = co_await lock_empty(leaf); rc < 0)
        co_return rc;
    if (!entry)
        co_return co_await unlock(leaf);
    co_return co_await store(leaf, {1, 0}, {entry->key, entry->value});
}

// Puts it into the tree.
Task<int> Tree::link(Loading &loading, const ds_tree_entry &first, const Child &second) {
    Locked leaf(*this);
    if (int rc = co_await lock_empty(leaf); rc < 0)
        co_return rc;
    Node &node = leaf.node();
    node.head.body.high = second.low;
    node.head.body.last = 0;
    node.head.body.sibling = second.at.word;
    node.head.body.version++;
    seal_head(node, leaf.addr);
    Room journal = rooms_.take();
    make_journal(journal.node().journal(), node, leaf.addr, 0);
    set(node, leaf.addr, {1, 0}, {first.key, first.value});
    make_journal(node.journal(), node, leaf.addr, 1);

    Io io = this->io();
    io.write_line(leaf.addr, journal, journal_line).then();
    io.write_line(leaf.addr, leaf.room, 0).then();
    io.write_line(leaf.addr, leaf.room, journal_line).then();
    io.write_line(leaf.addr, leaf.room, 1).then();
    auto linked = std::exchange(loading.taken, {});  // they may be in the tree from now on
    if (int rc = co_await commit(leaf, io); rc < 0) {
        if (!leaf.doubtful)
            loading.taken = std::move(linked);
        co_return rc;
    }
    crash_point("tree.load.linked");
    co_return 0;
}

// Tells the levels above, which are made, but if another client came by in between it has made
// a root of its own.
Task<int> Tree::link_above(Pointer old, Pointer root, std::span<const Child> leaves) {
    int rc = co_await swing_root(old, root);
    for (size_t i = 0; rc == 0 && i < leaves.size(); i++)
        rc = co_await add_separator({1, leaves[i].low, leaves[i].at.word});
    co_return rc;
}

Task<int> Tree::load(std::span<const ds_tree_entry> entries) {
    if (int rc = co_await read_root(); rc < 0)
        co_return rc;
    if (root_.level() > 0)
        co_return -ENOTEMPTY;
    if (entries.size() <= 1)
        co_return co_await load_one(entries.empty() ? nullptr : entries.data());

    Loading loading{pool_, options_.timeout_ms};
    std::vector<Child> leaves, level;
    if (int rc = co_await load_level(loading, 0, entries.subspan(1), leaves); rc < 0)
        co_return rc;
    level = leaves;
    level.insert(level.begin(), Child{0, root_});
    for (unsigned height = 1; level.size() > 1; height++) {
        std::vector<ds_tree_entry> children;
        for (const Child &child : level)
            children.push_back({child.low, child.at.word});
        if (int rc = co_await load_level(loading, height, children, level); rc < 0)
            co_return rc;
    }
    const Pointer old = root_;
    if (int rc = co_await link(loading, entries[0], leaves[0]); rc < 0)
        co_return rc;
    // All is there, whatever becomes of the rest; others can finish it.
    if (co_await link_above(old, level[0].at, leaves) < 0)
        driver_.counters.unfinished++;
    co_return 0;
}

}  // namespace ds::btree
