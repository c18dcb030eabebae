// SPDX-License-Identifier: Apache-2.0
#include "btree/node.hpp"

#include <algorithm>
#include <cstring>

#include "fabric/crc32c.hpp"

namespace ds::btree {
namespace {

// tests/tree builds this file again with a check left out, to see that the
// checker of histories finds what that lets through.
#ifndef DS_TREE_CHECK_CRC
#define DS_TREE_CHECK_CRC true
#endif
#ifndef DS_TREE_CHECK_VERSION
#define DS_TREE_CHECK_VERSION true
#endif

constexpr uint32_t seed = ~0u;

// Addresses are multiples of 64: the number of the line fits below.
uint32_t begin(uint64_t addr, unsigned number) {
    uint64_t place = addr | number;
    return crc32c_update(seed, std::as_bytes(std::span(&place, 1)));
}

uint32_t crc_of(const Head &head, uint64_t addr) {
    uint64_t words[7];
    std::memcpy(words, &head.generation, sizeof(words));
    words[0] &= 0xffffffff;  // without the CRC
    return crc32c_update(begin(addr, 0), std::as_bytes(std::span(words)));
}

uint32_t crc_of(const Line &line, uint64_t addr, unsigned number) {
    uint64_t words[8];
    std::memcpy(words, &line, sizeof(words));
    words[0] &= ~uint64_t{0xffffffff};
    return crc32c_update(begin(addr, number), std::as_bytes(std::span(words)));
}

void seal(Line &line, uint64_t addr, unsigned number) {
    line.crc = crc_of(line, addr, number);
}

bool later(uint32_t version, uint32_t than) {
    return static_cast<int32_t>(version - than) > 0;
}

}  // namespace

const char *fault_name(Fault fault) {
    switch (fault) {
    case Fault::none:
        return "none";
    case Fault::crc:
        return "crc";
    case Fault::mixed:
        return "mixed";
    case Fault::generation:
        return "generation";
    case Fault::foreign:
        return "foreign";
    }
    return "unknown";
}

Verdict check(const Node &node, const Expected &expected) {
    const Head &head = node.head;
    if (DS_TREE_CHECK_CRC && head.crc != crc_of(head, expected.addr))
        return {Fault::crc, 0};
    if (head.magic != node_magic || head.body.tree != expected.tree ||
        head.body.level != expected.level)
        return {Fault::foreign, 0};
    if (head.generation != expected.generation)
        return {Fault::generation, 0};
    for (unsigned i = 1; i <= data_lines; i++) {
        auto number = static_cast<uint8_t>(i);
        const Line &line = node.line(i);
        if (DS_TREE_CHECK_CRC && line.crc != crc_of(line, expected.addr, i))
            return {Fault::crc, number};
        if (line.generation != head.generation || line.target != i)
            return {Fault::mixed, number};
        if (DS_TREE_CHECK_VERSION && later(line.version, head.body.version))
            return {Fault::mixed, number};
    }
    return {Fault::none, 0};
}

void make(Node &node, const Expected &what, const HeadBody &body) {
    uint64_t lock = node.head.lock;
    std::memset(static_cast<void *>(&node), 0, sizeof(node));
    node.head.lock = lock;
    node.head.generation = what.generation;
    node.head.magic = node_magic;
    node.head.body = body;
    seal_head(node, what.addr);
    for (unsigned i = 1; i <= journal_line; i++) {
        Line &line = node.line(i);
        line.generation = what.generation;
        line.target = static_cast<uint8_t>(i);
        line.version = body.version;
        seal(line, what.addr, i);
    }
}

void Entries::insert(Entry entry) {
    unsigned at = up_to(entry.key);
    std::copy_backward(list.begin() + at, list.begin() + count, list.begin() + count + 1);
    list[at] = entry;
    count++;
}

unsigned Entries::up_to(uint64_t key) const {
    auto it = std::upper_bound(list.begin(), list.begin() + count, key,
                               [](uint64_t k, const Entry &e) { return k < e.key; });
    return static_cast<unsigned>(it - list.begin());
}

Entries entries_of(const Node &node) {
    Entries entries;
    for (unsigned i = 1; i <= data_lines; i++) {
        const Line &line = node.line(i);
        for (unsigned slot = 0; slot < line_entries; slot++)
            if (line.used >> slot & 1 && node.covers(line.entries[slot].key))
                entries.list[entries.count++] = line.entries[slot];
    }
    std::sort(entries.list.begin(), entries.list.begin() + entries.count,
              [](const Entry &a, const Entry &b) { return a.key < b.key; });
    return entries;
}

Place find(const Node &node, uint64_t key) {
    for (unsigned i = 1; i <= data_lines; i++) {
        const Line &line = node.line(i);
        for (unsigned slot = 0; slot < line_entries; slot++)
            if (line.entries[slot].key == key && line.used >> slot & 1)
                return {i, slot};
    }
    return {};
}

Place find_free(const Node &node) {
    for (unsigned i = 1; i <= data_lines; i++) {
        const Line &line = node.line(i);
        for (unsigned slot = 0; slot < line_entries; slot++)
            if (!(line.used >> slot & 1) || !node.covers(line.entries[slot].key))
                return {i, slot};
    }
    return {};
}

void set(Node &node, uint64_t addr, Place place, Entry entry) {
    Line &line = node.line(place.line);
    for (unsigned slot = 0; slot < line_entries; slot++)
        if (!(line.used >> slot & 1) || !node.covers(line.entries[slot].key)) {
            line.used &= static_cast<uint8_t>(~(1u << slot));
            line.entries[slot] = {};
        }
    line.used |= static_cast<uint8_t>(1u << place.slot);
    line.entries[place.slot] = entry;
    line.version = node.head.body.version;
    seal(line, addr, place.line);
}

void seal_head(Node &node, uint64_t addr) {
    node.head.crc = crc_of(node.head, addr);
}

void make_journal(Line &to, const Node &node, uint64_t addr, unsigned number) {
    if (number > 0) {
        to = node.line(number);
    } else {
        std::memset(static_cast<void *>(&to), 0, sizeof(to));
        to.generation = node.head.generation;
        to.version = node.head.body.version;
        to.head = node.head.body;
    }
    seal(to, addr, journal_line);
}

int redo(Node &node, uint64_t addr) {
    const Line &journal = node.journal();
    bool whole = journal.crc == crc_of(journal, addr, journal_line);
    if (!whole || journal.target >= journal_line)
        return -1;
    if (journal.target > 0) {
        Line &line = node.line(journal.target);
        line = journal;
        seal(line, addr, journal.target);
    } else {
        node.head.generation = journal.generation;
        node.head.magic = node_magic;
        node.head.body = journal.head;
        seal_head(node, addr);
    }
    return journal.target;
}

}  // namespace ds::btree
