// SPDX-License-Identifier: Apache-2.0
// Keys in order.
#include <algorithm>
#include <cerrno>
#include <optional>

#include "btree/tree.hpp"

namespace ds::btree {
namespace {

constexpr unsigned max_restarts = 16;

// Leaves that are read in one round trip.
constexpr size_t max_batch = 64;

// A leaf of a tree that grew by itself is about two thirds full.
constexpr size_t usual_entries = capacity * 2 / 3;

}  // namespace

// The leaf of @p key and those on its right, as far as its parent knows them and
// they can hold keys up to @p last; at most @p most.
Task<int> Tree::leaves_from(uint64_t key, uint64_t last, size_t most, bool fresh,
                            std::vector<Child> &leaves) {
    leaves.clear();
    Pointer at;
    if (int rc = co_await find(key, 1, fresh, at); rc < 0)
        co_return rc;
    std::optional<uint64_t> low;  // where the node before it ended
    while (at.level() == 1) {
        const Inner *inner = fresh ? nullptr : cache_.find(at);
        std::optional<Inner> seen;
        if (!inner) {
            Room room = rooms_.take();
            if (int rc = co_await read_node(at, room); rc < 0)
                co_return rc;
            inner = &seen.emplace(room.node());
            cache_.put(at, *seen);
        }
        if (int rc = arrive(at, inner->low, low); rc < 0)
            co_return rc;
        low = inner->high;
        Pointer next = at;
        if (int rc = step(*inner, key, next); rc < 0)
            co_return rc;
        if (next.level() == 1) {
            at = next;
            continue;
        }
        for (auto child = inner->children.begin() + inner->child_of(key);
             child != inner->children.end() && leaves.size() < most; ++child) {
            if (child->key > last)
                break;
            Pointer leaf{child->value};
            if (!leaf.valid(map_) || leaf.level() != 0)
                co_return damaged(at.addr(map_));
            leaves.push_back({child->key, leaf});
        }
        co_return 0;
    }
    leaves.push_back({0, at});
    co_return 0;
}

// Reads nodes of one level in one round trip; those that came torn, again.
// @p status of each is as of read_node().
Task<void> Tree::read_nodes(std::span<const Child> nodes, std::span<Room> rooms,
                            std::span<int> status) {
    Io io = this->io();
    for (size_t i = 0; i < nodes.size(); i++)
        io.read(nodes[i].at.addr(map_), rooms[i]);
    co_await driver_.trip(io);
    for (size_t i = 0; i < nodes.size(); i++) {
        status[i] = io.result(i).status;
        if (status[i] == 0 && !btree::check(rooms[i].node(), expected(nodes[i].at)).ok())
            status[i] = co_await read_node(nodes[i].at, rooms[i]);
    }
}

// Each leaf must begin where the one before it ended. Between two leaves that do
// not join lie some that their parent did not know: the sibling leads to them.
Scan::Step Scan::take(Pointer at, const Node &node) {
    const HeadBody &head = node.head.body;
    if (node.is_right_of(next))
        return Step::hole;
    const bool passed = node.is_left_of(next);
    if (!passed && joined && head.low != next)
        return Step::overlap;
    seen = at;
    sibling = Pointer{head.sibling};
    sibling_low = head.high;
    if (passed)
        return Step::passed;
    const Entries entries = entries_of(node);
    for (const Entry &entry : entries.all())
        if (entry.key >= next && entry.key <= last && count < out.size())
            out[count++] = {entry.key, entry.value};
    if (count == out.size() || head.last || head.high > last)
        return Step::finished;
    next = head.high;
    joined = true;
    return Step::taken;
}

Task<int> Tree::scan(uint64_t first, uint64_t last, std::span<ds_tree_entry> out, size_t &count) {
    Scan scan{.next = first, .last = last, .out = out};
    int rc = 0;
    for (unsigned restarts = 0; rc == 0 || (rc == -ESTALE && restarts <= max_restarts);) {
        bool fresh = rc == -ESTALE;
        restarts += fresh;
        if (fresh || scan.followed > max_passed) {
            fresh = true;
            scan.followed = 0;
            driver_.counters.stale_retries++;
            cache_.clear();
        }
        rc = co_await scan_batch(scan, fresh);
    }
    count = scan.count;
    co_return rc < 0 ? rc : 0;
}

// If the level above knows no leaf that begins where the last one ended, that one's
// sibling instead of what it knows. 1: it is so.
int Tree::follow(Scan &scan, std::vector<Child> &leaves) {
    if (!scan.seen || leaves.front().low >= scan.sibling_low) {
        scan.followed = 0;
        return 0;
    }
    if (!scan.sibling.valid(map_) || scan.sibling.level() != 0)
        return damaged(scan.seen.addr(map_));
    driver_.counters.stale_retries++;
    scan.followed++;
    leaves.assign(1, {scan.sibling_low, scan.sibling});
    return 1;
}

// Some leaves from scan.next on. 1: the scan is at its end. Each begins where it should and
// leads further, so there is an end also in a damaged tree. What becomes of leaves
// behind the end is all the same.
Task<int> Tree::scan_batch(Scan &scan, bool fresh) {
    std::vector<Child> leaves;
    size_t most = std::min((scan.out.size() - scan.count) / usual_entries + 2, max_batch);
    if (int rc = co_await leaves_from(scan.next, scan.last, most, fresh, leaves); rc < 0)
        co_return rc;
    const int followed = follow(scan, leaves);
    if (followed < 0)
        co_return followed;
    std::vector<Room> rooms;
    std::vector<int> status(leaves.size());
    std::generate_n(std::back_inserter(rooms), leaves.size(), [&] { return rooms_.take(); });
    co_await read_nodes(leaves, rooms, status);
    for (size_t i = 0; i < leaves.size(); i++) {
        const auto [low, at] = leaves[i];
        if (status[i] < 0)
            co_return status[i];
        if (!rooms[i].node().goes_on_from(low))
            co_return damaged(at.addr(map_));
        if (followed)
            note_behind({1, low, at.word});
        Scan::Step step = scan.take(at, rooms[i].node());
        if (step == Scan::Step::overlap)
            co_return damaged(at.addr(map_));
        if (step == Scan::Step::finished)
            co_return 1;
        if (step == Scan::Step::hole)
            break;
    }
    co_return 0;
}

}  // namespace ds::btree
