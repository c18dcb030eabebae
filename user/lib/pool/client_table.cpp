// SPDX-License-Identifier: Apache-2.0
#include "pool/client_table.hpp"

#include <algorithm>
#include <cerrno>

#include "pool/scratch.hpp"

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

uint64_t ClientTable::entry(uint32_t client) const {
    return address(space_->info) + client * entry_bytes;
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

int ClientTable::load(std::vector<uint64_t> &words) const {
    Scratch scratch(space_);
    if (int rc = scratch.open(); rc < 0)
        return rc;
    uint64_t length = bytes(space_->info);
    std::vector<uint64_t> table(length / sizeof(uint64_t));
    for (uint64_t done = 0; done < length; done += Scratch::bytes) {
        uint64_t n = std::min(Scratch::bytes, length - done);
        if (int rc = scratch.read(address(space_->info) + done, &table[done / 8], n); rc < 0)
            return rc;
    }
    words.clear();
    for (size_t i = 0; i < table.size(); i += entry_bytes / sizeof(uint64_t))
        words.push_back(table[i]);
    return 0;
}

int ClientTable::load(uint32_t client, uint64_t &word) const {
    Scratch scratch(space_);
    if (client == 0 || client >= bytes(space_->info) / entry_bytes)
        return -EINVAL;
    int rc = scratch.open();
    return rc < 0 ? rc : scratch.read(entry(client), &word, sizeof(word));
}

int ClientTable::claim(uint32_t client, uint64_t word, Owner &owner) const {
    auto next = static_cast<uint16_t>(incarnation_of(word) + 1);
    Owner mine{.client = static_cast<uint16_t>(client), .incarnation = next ? next : uint16_t{1}};
    ds_result result;
    if (int rc = ds_cas(space_, entry(client), word, word_of(mine), 0, &result); rc < 0)
        return rc;
    if (result.value != word)
        return -EAGAIN;
    owner = mine;
    return 0;
}

int ClientTable::release(Owner owner) const {
    return ds_cas(space_, entry(owner.client), word_of(owner), free_word(owner.incarnation), 0,
                  nullptr);
}

int ClientTable::note(Owner owner, uint32_t node, uint32_t process) const {
    Scratch scratch(space_);
    uint64_t where = uint64_t{node} << 32 | process;
    int rc = scratch.open();
    return rc < 0 ? rc : scratch.write(entry(owner.client) + sizeof(uint64_t), &where, 8);
}

}  // namespace ds::pool
