// SPDX-License-Identifier: Apache-2.0
// Where a tree begins: tree i of a pool has 1 KiB at base + (i << 10 << k).
//
//   word 0   pointer to the root, 0 while there is none
//   word 1   what the tree is: {magic 16 | version 16 | key type 16 | id 16}
//
// Both are only ever changed by CAS. A tree is there when it has a root: who
// makes one first says in word 1 what it will be, so that another who makes it
// at the same time, or after the first one has died, goes on with the same.
#pragma once

#include <cstdint>

#include "btree/word.hpp"

namespace ds::btree {

inline constexpr uint16_t max_tree = 31;
inline constexpr uint16_t format_version = 0;

enum class KeyType : uint16_t { u64 = 0 };

struct Anchor {
    static constexpr uint16_t magic = 0xd57e;

    /// Address of the root word.
    static uint64_t root(const Map &map, uint16_t tree) {
        return map.base + (uint64_t{tree} << 10 << (map.shift - DS_LAYOUT_SERVER_SHIFT));
    }
    static uint64_t kind(const Map &map, uint16_t tree) { return root(map, tree) + 8; }

    static uint64_t make_kind(uint16_t tree) {
        return uint64_t{magic} << 48 | uint64_t{format_version} << 32 |
               uint64_t{static_cast<uint16_t>(KeyType::u64)} << 16 | tree;
    }
};

}  // namespace ds::btree
