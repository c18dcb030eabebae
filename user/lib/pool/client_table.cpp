// SPDX-License-Identifier: Apache-2.0
#include "pool/client_table.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>

namespace ds::pool {
namespace {

using fabric::Owner;

constexpr uint64_t entry_bytes = 16;
constexpr uint64_t held_bit = uint64_t{1} << 63;
constexpr unsigned client_shift = 48;
constexpr unsigned incarnation_shift = 32;

uint16_t incarnation_of(uint64_t word) {
    return static_cast<uint16_t>(word >> incarnation_shift);
}

uint64_t free_word(uint16_t incarnation) {
    return uint64_t{incarnation} << incarnation_shift;
}

unsigned k_of(const fabric::SpaceInfo &space) {
    return space.server_shift - DS_LAYOUT_SERVER_SHIFT;
}

}  // namespace

uint64_t ClientTable::address(const fabric::SpaceInfo &space) {
    return space.base + (DS_LAYOUT_CLIENT_OFFSET << k_of(space));
}

uint64_t ClientTable::bytes(const fabric::SpaceInfo &space) {
    uint64_t room = (DS_LAYOUT_EXTENT_OFFSET - DS_LAYOUT_CLIENT_OFFSET) << k_of(space);
    return std::min(room, (DS_LAYOUT_MAX_CLIENT + 1) * entry_bytes);
}

bool ClientTable::has(const fabric::SpaceInfo &space, uint32_t client) {
    return client != 0 && client < bytes(space) / entry_bytes;
}

uint64_t ClientTable::word_address(uint32_t client) const {
    return address(space_->info) + client * entry_bytes;
}

uint64_t ClientTable::place_address(uint32_t client) const {
    return word_address(client) + sizeof(uint64_t);
}

bool ClientTable::held(uint64_t word) {
    return word & held_bit;
}

Owner ClientTable::holder(uint64_t word) {
    return {.client = static_cast<uint16_t>(word >> client_shift & DS_LAYOUT_MAX_CLIENT),
            .incarnation = incarnation_of(word)};
}

uint64_t ClientTable::word_of(Owner owner) {
    return held_bit | uint64_t{owner.client} << client_shift | free_word(owner.incarnation);
}

bool ClientTable::is_bar(uint64_t place) {
    return place <= std::numeric_limits<uint16_t>::max();
}

uint64_t ClientTable::bar_of(Owner owner) {
    return owner.incarnation;
}

int ClientTable::load(std::vector<Entry> &entries) {
    if (int rc = scratch_.open(); rc < 0)
        return rc;
    uint64_t length = bytes(space_->info);
    std::vector<uint64_t> table(length / sizeof(uint64_t));
    for (uint64_t done = 0; done < length; done += Scratch::bytes) {
        uint64_t n = std::min(Scratch::bytes, length - done);
        if (int rc = scratch_.read(address(space_->info) + done, &table[done / 8], n); rc < 0)
            return rc;
    }
    entries.clear();
    for (size_t i = 0; i < table.size(); i += entry_bytes / sizeof(uint64_t))
        entries.push_back({.word = table[i], .place = table[i + 1]});
    return 0;
}

// The two words come in no order, so they are read until they are the same twice.
int ClientTable::load(uint32_t client, Entry &entry) {
    if (!has(space_->info, client))
        return -EINVAL;
    if (int rc = scratch_.open(); rc < 0)
        return rc;
    Entry before;
    entry = {};
    do {
        before = entry;
        uint64_t words[2];
        if (int rc = scratch_.read(word_address(client), words, sizeof(words)); rc < 0)
            return rc;
        entry = {.word = words[0], .place = words[1]};
    } while (entry != before);
    return 0;
}

int ClientTable::swap(uint64_t addr, uint64_t from, uint64_t to, uint64_t &found) const {
    ds_result result;
    int rc = ds_cas(space_, addr, from, to, scratch_.timeout_ms(), &result);
    found = result.value;
    return rc;
}

// The two words are of one moment, so nobody who holds the number has this place.
int ClientTable::settle(uint32_t client, Entry &entry) {
    if (int rc = load(client, entry); rc < 0)
        return rc;
    if (held(entry.word) || is_bar(entry.place))
        return 0;
    uint64_t bar = bar_of(holder(entry.word)), found;
    if (int rc = swap(place_address(client), entry.place, bar, found); rc < 0)
        return rc;
    entry.place = found == entry.place ? bar : found;
    return 0;
}

// An entry of the whole table may have the word of one moment and the place of a later
// one, whose holder lives: then he has claimed the number in between, and we do not.
int ClientTable::claim(uint32_t client, const Entry &entry, Owner &owner) const {
    if (held(entry.word) || !is_bar(entry.place))
        return -EAGAIN;
    auto next = static_cast<uint16_t>(incarnation_of(entry.word) + 1);
    Owner mine{.client = static_cast<uint16_t>(client), .incarnation = next ? next : uint16_t{1}};
    uint64_t found;
    if (int rc = swap(word_address(client), entry.word, word_of(mine), found); rc < 0)
        return rc;
    if (found != entry.word)
        return -EAGAIN;
    owner = mine;
    return 0;
}

int ClientTable::note(Owner owner, uint64_t bar, uint64_t place) const {
    uint64_t found;
    if (int rc = swap(place_address(owner.client), bar, place, found); rc < 0)
        return rc;
    return found == bar ? 0 : -ESHUTDOWN;
}

int ClientTable::bar(Owner owner, uint64_t bar) const {
    uint64_t found;
    if (int rc = swap(place_address(owner.client), bar, bar_of(owner), found); rc < 0)
        return rc;
    return found == bar || found == bar_of(owner) ? 0 : -EAGAIN;
}

int ClientTable::release(Owner owner, uint64_t place) const {
    uint64_t found;
    if (!is_bar(place))
        if (int rc = swap(place_address(owner.client), place, bar_of(owner), found); rc < 0)
            return rc;
    return swap(word_address(owner.client), word_of(owner), free_word(owner.incarnation), found);
}

}  // namespace ds::pool
