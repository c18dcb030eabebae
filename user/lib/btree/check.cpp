// SPDX-License-Identifier: Apache-2.0
// Reading a whole tree, level by level from the root, and proving it.
//
// A level is what the level above says, joined by siblings: each node begins
// where the one before it ended, and is what that one's sibling pointer says.
// Where they do not join, the siblings lead through nodes that the level above
// does not know yet.
#include <algorithm>
#include <cerrno>
#include <string>

#include "btree/tree.hpp"

namespace ds::btree {
namespace {

constexpr size_t max_batch = 64;

}  // namespace

struct Tree::Checking {
    const Map &map;
    ds_tree_defect_fn report;
    void *arg;
    ds_tree_stats stats{};

    // Of the level that is being read.
    std::vector<Child> below = {};
    bool known = false;  // where the next node begins, and which it is:
    bool ended = false;
    uint64_t next = 0;
    Pointer sibling = {};

    void defect(uint64_t addr, const std::string &what) {
        stats.defects++;
        if (report)
            report(arg, addr, what.c_str());
    }
    void begin_level() {
        below.clear();
        known = true;
        ended = false;
        next = 0;
        sibling = {};
    }
    void see(Pointer at, const Node &node);
    void see_entries(Pointer at, const Node &node);
    /// A node that only its left neighbour knows; @p status is as of read_node().
    void see_unfinished(Pointer at, const Node &node, int status);
};

// What a sound node says of itself.
void Tree::Checking::see(Pointer at, const Node &node) {
    const HeadBody &head = node.head.body;
    const uint64_t addr = at.addr(map);
    (head.level ? stats.inner : stats.leaves)++;
    stats.locked += LockWord{node.head.lock}.held();
    if (ended)
        defect(addr, "It comes behind the last node of its level.");
    if (known && head.low != next)
        defect(addr, "Its low fence is not where the node before it ends.");
    if (known && sibling && sibling != at)
        defect(addr, "The sibling pointer of the node before it leads elsewhere.");
    if (!head.last && head.high <= head.low)
        defect(addr, "Its high fence is not above its low fence.");
    if (head.last != !head.sibling)
        defect(addr, "It is the last of its level and has a sibling, or neither.");
    see_entries(at, node);
    known = true;
    ended = head.last;
    next = head.high;
    sibling = Pointer{head.sibling};
    if (sibling && (!sibling.valid(map) || sibling.level() != head.level)) {
        defect(addr, "Its sibling pointer leads to no node of its level.");
        known = false;  // it is not followed
    }
}

void Tree::Checking::see_entries(Pointer at, const Node &node) {
    const HeadBody &head = node.head.body;
    const uint64_t addr = at.addr(map);
    Entries entries = entries_of(node);
    for (unsigned i = 1; i <= data_lines; i++)
        for (unsigned slot = 0; slot < line_entries; slot++)
            if (node.line(i).used >> slot & 1 && node.line(i).entries[slot].key < head.low)
                defect(addr, "A key is below its low fence.");
    for (unsigned i = 1; i < entries.count; i++)
        if (entries.list[i].key == entries.list[i - 1].key)
            defect(addr, "It has a key twice.");
    if (head.level == 0) {
        stats.keys += entries.count;
        return;
    }
    if (entries.count == 0 || entries.list[0].key != head.low)
        defect(addr, "Its first separator is not its low fence.");
    for (const Entry &entry : entries.all()) {
        Pointer child{entry.value};
        if (child.valid(map) && child.level() + 1 == head.level)
            below.push_back({entry.key, child});
        else
            defect(addr, "A child pointer leads to no node of the level below.");
    }
}

void Tree::Checking::see_unfinished(Pointer at, const Node &node, int status) {
    const uint64_t before = next;
    if (status < 0) {
        defect(at.addr(map), "It is damaged, or another node than its left one says.");
        known = false;
        return;
    }
    stats.unfinished++;
    see(at, node);
    if (!ended && next <= before)
        known = false;  // no way forward, which is told by now
}

// One node that the level above names, with those before it that it does not.
Task<int> Tree::check_node(Checking &checking, Child child, const Room &room, int status) {
    Room between = rooms_.take();
    while (checking.known && !checking.ended && checking.sibling && checking.sibling != child.at &&
           checking.next < child.low) {
        Pointer at = checking.sibling;
        int rc = co_await read_node(at, between);
        checking.see_unfinished(at, between.node(), rc);
    }
    if (status == -EBADMSG || status == -ESTALE) {
        checking.defect(child.at.addr(map_), status == -EBADMSG
                                                 ? "The checksum of a line is wrong."
                                                 : "It is another node than its parent says.");
        checking.known = false;
        co_return 0;
    }
    if (status < 0)
        co_return status;
    if (room.node().head.body.low != child.low)
        checking.defect(child.at.addr(map_), "Its low fence is not its separator.");
    checking.see(child.at, room.node());
    co_return 0;
}

Task<int> Tree::check_level(Checking &checking, std::vector<Child> &nodes) {
    checking.begin_level();
    std::vector<Room> rooms;
    for (size_t begin = 0; begin < nodes.size(); begin += max_batch) {
        const size_t n = std::min(nodes.size() - begin, max_batch);
        const auto batch = std::span(nodes).subspan(begin, n);
        std::vector<int> status(n);
        while (rooms.size() < n)
            rooms.push_back(rooms_.take());
        co_await read_nodes(batch, std::span(rooms).first(n), status);
        for (size_t i = 0; i < n; i++)
            if (int rc = co_await check_node(checking, batch[i], rooms[i], status[i]); rc < 0)
                co_return rc;
    }
    // What comes behind the last one that the level above knows.
    Room room = rooms_.take();
    while (checking.known && !checking.ended && checking.sibling) {
        Pointer at = checking.sibling;
        int rc = co_await read_node(at, room);
        checking.see_unfinished(at, room.node(), rc);
    }
    std::swap(nodes, checking.below);
    co_return 0;
}

Task<int> Tree::check(ds_tree_defect_fn report, void *arg, ds_tree_stats &stats) {
    if (int rc = co_await read_root(); rc < 0)
        co_return rc;
    Checking checking{.map = map_, .report = report, .arg = arg};
    checking.stats.height = root_.level() + 1;
    std::vector<Child> nodes{{0, root_}};
    while (!nodes.empty())
        if (int rc = co_await check_level(checking, nodes); rc < 0)
            co_return rc;
    stats = checking.stats;
    if (stats.defects)
        co_return -EBADMSG;
    co_return 0;
}

}  // namespace ds::btree
