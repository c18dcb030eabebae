// SPDX-License-Identifier: Apache-2.0
// The superblock of a pool, at the first address of its space.
//
// Its fields are written once, by whoever formats the pool. The state is a word
// of its own that only CAS touches; it says that the fields are there.
#pragma once

#include <cstddef>
#include <cstdint>

struct ds_space;

namespace ds::pool {

struct Superblock {
    static constexpr uint64_t is_pool = 0x314c4f4f50005344;  // "DS", 0, "POOL1"
    static constexpr uint32_t newest = 1;

    uint64_t magic;
    uint32_t version;
    uint32_t servers;
    uint32_t server_shift;
    uint32_t reserved;
};
static_assert(sizeof(Superblock) == 24 && offsetof(Superblock, server_shift) == 16);

constexpr uint64_t superblock_state_offset = 64;
constexpr uint64_t superblock_ready = 1;

/// Pool::format().
int format_superblock(ds_space *space);

/// Is there a pool that fits the space, and that we know? As Pool::join().
int check_superblock(ds_space *space);

}  // namespace ds::pool
