// SPDX-License-Identifier: Apache-2.0
// Doubly linked lists of dense numbers, each in at most one of them: two words a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ds::sim {

class Lists {
public:
    static constexpr uint32_t none = UINT32_MAX;

    /// @p lists empty lists, numbered from 0, of numbers below @p ids.
    Lists(uint32_t ids, uint32_t lists) : ids_(ids), nodes_(size_t(ids) + lists), sizes_(lists) {
        for (uint32_t list = 0; list < lists; list++)
            nodes_[ids_ + list] = {ids_ + list, ids_ + list};
    }

    uint32_t size(uint32_t list) const { return sizes_[list]; }
    bool empty(uint32_t list) const { return sizes_[list] == 0; }
    bool linked(uint32_t id) const { return nodes_[id].next != none; }

    /// none if the list is empty.
    uint32_t back(uint32_t list) const { return number(nodes_[ids_ + list].prev); }
    /// The neighbour on the side of the front, none at the front.
    uint32_t before(uint32_t id) const { return number(nodes_[id].prev); }

    void push_front(uint32_t list, uint32_t id) {
        sizes_[list]++;
        link(id, ids_ + list, nodes_[ids_ + list].next);
    }

    void remove(uint32_t list, uint32_t id) {
        sizes_[list]--;
        unlink(id);
        nodes_[id].next = none;
    }

    void to_front(uint32_t list, uint32_t id) {
        unlink(id);
        link(id, ids_ + list, nodes_[ids_ + list].next);
    }

    uint32_t pop_back(uint32_t list) {
        uint32_t id = back(list);
        remove(list, id);
        return id;
    }

private:
    struct Node {
        uint32_t prev = none, next = none;
    };

    uint32_t number(uint32_t node) const { return node < ids_ ? node : none; }

    void link(uint32_t id, uint32_t prev, uint32_t next) {
        nodes_[id] = {prev, next};
        nodes_[prev].next = id;
        nodes_[next].prev = id;
    }

    void unlink(uint32_t id) {
        Node node = nodes_[id];
        nodes_[node.prev].next = node.next;
        nodes_[node.next].prev = node.prev;
    }

    uint32_t ids_;
    std::vector<Node> nodes_;  // of the numbers, then an end of each list
    std::vector<uint32_t> sizes_;
};

// Lists that know which of them each number is in.
class Places : public Lists {
public:
    Places(uint32_t ids, uint32_t lists) : Lists(ids, lists), lists_(lists), where_(ids, lists) {}

    /// The number of its list; that of lists if it is in none.
    uint32_t where(uint32_t id) const { return where_[id]; }

    /// To the front of a list, whichever it was in; out of all, if there is no such list.
    void put(uint32_t list, uint32_t id) {
        if (where_[id] < lists_)
            remove(where_[id], id);
        where_[id] = static_cast<uint8_t>(list);
        if (list < lists_)
            push_front(list, id);
    }

private:
    uint32_t lists_;
    std::vector<uint8_t> where_;
};

}  // namespace ds::sim
