// SPDX-License-Identifier: Apache-2.0
// The node of the tree's format, version 0: 1 KiB, sixteen lines of 64 bytes.
//
//   line 0        the head: lock word, generation, fences, sibling, tree
//   lines 1..14   three entries each, in no order: (key, value) in a leaf,
//                 (separator, pointer to the child) above
//   line 15       the journal: the image of the line that is being changed
//
// A change of an entry changes one line. A reader may see lines of different
// times; what that can do to it, and what a writer that dies in the middle
// leaves behind, is the business of docs/btree.md. In short: each line is proved
// by its CRC, which also covers where the line is; lines written after a split
// carry a later version than the head from before it; and the image of a line
// is in the journal before the line is touched.
//
// This file does no I/O.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ds::btree {

struct Entry {
    uint64_t key;
    uint64_t value;
};

inline constexpr size_t node_size = 1024;
inline constexpr size_t line_size = 64;
inline constexpr size_t lock_size = 8;  ///< bytes before what a WRITE may touch
inline constexpr unsigned data_lines = 14;
inline constexpr unsigned journal_line = 15;
inline constexpr unsigned line_entries = 3;
inline constexpr unsigned capacity = data_lines * line_entries;
inline constexpr uint16_t node_magic = 0xd5b7;

/// What the head says; 48 bytes, so that the journal can hold it.
struct HeadBody {
    uint64_t low;      ///< keys of the node are at least this
    uint64_t high;     ///< and below this, unless it is the last of its level
    uint64_t sibling;  ///< pointer to the next node of the level, 0 for the last
    uint32_t version;  ///< number of times that the node was split
    uint16_t tree;
    uint8_t level;  ///< height above the leaves
    uint8_t last;   ///< 1: there is no high fence; then high is 0
    uint64_t reserved[2];
};

struct Head {
    uint64_t lock;
    uint16_t generation;
    uint16_t magic;
    uint32_t crc;  ///< of the bytes from generation on, without itself
    HeadBody body;
};

struct Line {
    uint32_t crc;  ///< of the rest of the line
    uint16_t generation;
    uint8_t target;    ///< number of the line that this is, or in the journal will be
    uint8_t used;      ///< bit i: entry i is there
    uint32_t version;  ///< of the head when it was written
    uint32_t reserved;
    union {
        Entry entries[line_entries];
        HeadBody head;  ///< in the journal, if target is 0
    };
};

struct Node {
    Head head;
    Line lines[journal_line];  ///< line i of the node is lines[i - 1]

    Line &line(unsigned number) { return lines[number - 1]; }
    const Line &line(unsigned number) const { return lines[number - 1]; }
    Line &journal() { return line(journal_line); }
    const Line &journal() const { return line(journal_line); }

    bool covers(uint64_t key) const {
        return key >= head.body.low && (head.body.last || key < head.body.high);
    }
    bool is_right_of(uint64_t key) const { return key < head.body.low; }
    bool is_left_of(uint64_t key) const { return !head.body.last && key >= head.body.high; }
    /// Begins where its left neighbour ended, and leads further: so a way to the right has an end.
    bool goes_on_from(uint64_t low) const {
        return head.body.low == low && (head.body.last || head.body.high > low);
    }
};

static_assert(sizeof(HeadBody) == 48 && sizeof(Head) == line_size && sizeof(Line) == line_size);
static_assert(sizeof(Node) == node_size && offsetof(Head, generation) == lock_size);

/// Why bytes are not the node that was asked for.
enum class Fault : uint8_t {
    none,
    crc,         ///< a line is torn, or damaged
    mixed,       ///< lines of different times, or of different nodes
    generation,  ///< the place was given to another node
    foreign,     ///< of another tree or level
};

const char *fault_name(Fault fault);

struct Verdict {
    Fault fault;
    uint8_t line;  ///< the line at fault

    bool ok() const { return fault == Fault::none; }
    /// May the same bytes be found whole when they are read again?
    bool passes() const { return fault == Fault::crc || fault == Fault::mixed; }
};

/// What a node must be, known from the pointer to it.
struct Expected {
    uint64_t addr;
    uint16_t generation;
    uint16_t tree;
    uint8_t level;
};

/// Judges all lines but the journal.
Verdict check(const Node &node, const Expected &expected);

/// Makes an empty node in @p node, sealed; leaves the lock word alone.
void make(Node &node, const Expected &what, const HeadBody &body);

/// The entries in order; those that a split has moved away are left out.
struct Entries {
    std::array<Entry, capacity + 1> list;  // with room for one more
    unsigned count = 0;

    std::span<const Entry> all() const & { return {list.data(), count}; }
    std::span<const Entry> all() const && = delete;
    void insert(Entry entry);
    /// Number of entries with a key below @p key, or equal to it.
    unsigned up_to(uint64_t key) const;
};
Entries entries_of(const Node &node);

/// The entry of @p key; the line and the place in it.
struct Place {
    unsigned line = 0;  ///< 0: there is none
    unsigned slot = 0;

    explicit operator bool() const { return line != 0; }
};
Place find(const Node &node, uint64_t key);
/// A place for one more, where there is none or where one was moved away.
Place find_free(const Node &node);

/// Stores an entry, drops what was moved away from its line, seals the line.
void set(Node &node, uint64_t addr, Place place, Entry entry);

/// Seals the head after a change of its body.
void seal_head(Node &node, uint64_t addr);

/// The journal's image of a line of @p node, for line number 0 of the head. @p to
/// may be the journal of @p node itself.
void make_journal(Line &to, const Node &node, uint64_t addr, unsigned number);

/// Brings to its place what the journal holds, if it holds something: the number
/// of the line, else -1. The line is @p node's own then, sealed.
int redo(Node &node, uint64_t addr);

}  // namespace ds::btree
