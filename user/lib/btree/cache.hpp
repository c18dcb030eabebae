// SPDX-License-Identifier: Apache-2.0
// Internal nodes that this client has seen, within a budget of bytes.
//
// What is cached may be old: nodes only ever lose keys to a new node on their
// right, so an old node leads to the right one or to one on its left, and
// the fences there say so.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "btree/node.hpp"
#include "btree/word.hpp"

namespace ds::btree {

/// An internal node as a search wants it.
struct Inner {
    uint64_t low;
    uint64_t high;
    bool last;
    Pointer sibling;
    std::vector<Entry> children;  ///< by separator

    explicit Inner(const Node &node);

    bool is_left_of(uint64_t key) const { return !last && key >= high; }
    bool is_right_of(uint64_t key) const { return key < low; }
    /// Index of the child that covers @p key, which the node covers; -1 if it has
    /// none, which no sound node says.
    int child_of(uint64_t key) const;

    size_t bytes() const;
};

class Cache {
public:
    explicit Cache(uint64_t budget) : budget_(budget) {}

    /// Until the next put() or drop(); nullptr if it is not there.
    const Inner *find(Pointer at);
    void put(Pointer at, const Inner &inner);
    void drop(Pointer at);
    void clear();

    uint64_t bytes() const { return bytes_; }
    size_t size() const { return index_.size(); }

private:
    struct Kept {
        Pointer at;
        Inner inner;
    };
    using List = std::list<Kept>;  // the one used last in front

    void remove(List::iterator kept);

    uint64_t budget_;
    uint64_t bytes_ = 0;
    List list_;
    std::unordered_map<uint64_t, List::iterator> index_;
};

}  // namespace ds::btree
