// SPDX-License-Identifier: Apache-2.0
// The two 64-bit words of the tree's format that are packed by hand: the
// pointer to a node and the lock word of a node.
#pragma once

#include <cstdint>

#include <ds/layout.h>

namespace ds::btree {

/// Where the servers of a pool are.
struct Map {
    uint64_t base;
    uint32_t servers;
    uint32_t shift;  ///< log2 of a server's bytes

    uint64_t server_of(uint64_t addr) const { return (addr - base) >> shift; }
};

/// {level 4 | server 10 | generation 16 | offset / 64 34}, the level in the top
/// bits. The word 0 points nowhere: the superblock is there, which is no node.
struct Pointer {
    uint64_t word = 0;

    static constexpr unsigned max_level = 15;

    static Pointer make(const Map &map, unsigned level, uint64_t addr, uint16_t generation) {
        uint64_t offset = (addr - map.base) & ((uint64_t{1} << map.shift) - 1);
        return {uint64_t{level} << 60 | map.server_of(addr) << 50 | uint64_t{generation} << 34 |
                offset >> 6};
    }

    explicit operator bool() const { return word != 0; }
    bool operator==(const Pointer &) const = default;

    unsigned level() const { return static_cast<unsigned>(word >> 60); }
    uint32_t server() const { return word >> 50 & 0x3ff; }
    uint16_t generation() const { return static_cast<uint16_t>(word >> 34); }
    uint64_t offset() const { return (word & ((uint64_t{1} << 34) - 1)) << 6; }

    uint64_t addr(const Map &map) const {
        return map.base + (uint64_t{server()} << map.shift) + offset();
    }

    /// Can a node be there? Nothing else may be done with a pointer that was read.
    bool valid(const Map &map) const {
        return word && server() < map.servers && offset() < uint64_t{1} << map.shift &&
               offset() % 1024 == 0;
    }
};

/// {held 1 | mode 2 | client 13 | incarnation 16 | sequence 32}, held in the top
/// bit; 0 when nobody holds the lock. The sequence makes each holding another
/// word, so that who sees the same word twice has seen the same holding.
struct LockWord {
    uint64_t word = 0;

    enum Mode : unsigned { change = 0, repair = 1 };

    static LockWord make(Mode mode, uint16_t client, uint16_t incarnation, uint32_t sequence) {
        return {uint64_t{1} << 63 | uint64_t{mode} << 61 | uint64_t{client & 0x1fffu} << 48 |
                uint64_t{incarnation} << 32 | sequence};
    }

    bool held() const { return word >> 63; }
    unsigned mode() const { return word >> 61 & 3; }
    uint16_t client() const { return word >> 48 & 0x1fff; }
    uint16_t incarnation() const { return static_cast<uint16_t>(word >> 32); }
    uint32_t sequence() const { return static_cast<uint32_t>(word); }
};

}  // namespace ds::btree
