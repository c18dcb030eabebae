// SPDX-License-Identifier: Apache-2.0
#include "pool/superblock.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "pool/client_table.hpp"
#include "pool/scratch.hpp"

extern "C" {
#include <rdm/extent.h>
}

namespace ds::pool {
namespace {

/// The first two lines of the space.
struct Start {
    Superblock block;
    char rest[superblock_state_offset - sizeof(Superblock)];
    uint64_t state;
};
static_assert(offsetof(Start, state) == superblock_state_offset);

Superblock block_for(const fabric::SpaceInfo &space) {
    return {.magic = Superblock::is_pool,
            .version = Superblock::newest,
            .servers = space.servers,
            .server_shift = space.server_shift,
            .reserved = 0};
}

bool same(const Superblock &a, const Superblock &b) {
    return std::memcmp(&a, &b, sizeof(a)) == 0;
}

// 0, or -EEXIST if a byte of it is not zero.
int check_zero(Scratch &scratch, uint64_t addr, uint64_t length) {
    std::vector<char> bytes(std::min(length, Scratch::bytes));
    for (uint64_t done = 0; done < length; done += bytes.size()) {
        uint64_t n = std::min<uint64_t>(bytes.size(), length - done);
        if (int rc = scratch.read(addr + done, bytes.data(), n); rc < 0)
            return rc;
        if (std::any_of(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n),
                        [](char byte) { return byte != 0; }))
            return -EEXIST;
    }
    return 0;
}

// A table that is not empty belongs to something else, which stays as it is.
int check_tables(Scratch &scratch, const fabric::SpaceInfo &space) {
    ds_layout layout{.servers = space.servers, .server_shift = space.server_shift};
    uint32_t k = space.server_shift - DS_LAYOUT_SERVER_SHIFT;
    uint64_t extents = 0;
    for (uint32_t region = DS_REGION_LEVEL1; region < DS_REGION_COUNT; region++)
        extents += ds_extent_count(&layout, region);
    int rc = check_zero(scratch, ClientTable::address(space), ClientTable::bytes(space));
    for (uint32_t i = 0; rc == 0 && i < space.servers; i++)
        rc = check_zero(scratch, ds_layout_addr(&layout, i, DS_LAYOUT_EXTENT_OFFSET << k),
                        extents * sizeof(uint64_t));
    return rc;
}

}  // namespace

// Two may do this at once: they write the same, and one of them wins the state.
int format_superblock(ds_space *space) {
    const fabric::SpaceInfo &info = space->info;
    Scratch scratch(space);
    Start start;
    if (int rc = scratch.open(); rc < 0)
        return rc;
    if (int rc = scratch.read(info.base, &start, sizeof(start)); rc < 0)
        return rc;
    // Half a pool is what somebody left who died here; it is ours to finish.
    Superblock block = block_for(info);
    if (start.state != 0 || !(same(start.block, Superblock{}) || same(start.block, block)))
        return -EEXIST;
    if (int rc = check_tables(scratch, info); rc < 0)
        return rc;
    if (int rc = scratch.write(info.base, &block, sizeof(block)); rc < 0)
        return rc;
    ds_result result;
    int rc = ds_cas(space, info.base + superblock_state_offset, 0, superblock_ready, 0, &result);
    return rc == 0 && result.value != 0 ? -EEXIST : rc;
}

int check_superblock(ds_space *space) {
    const fabric::SpaceInfo &info = space->info;
    Scratch scratch(space);
    Start start;
    if (int rc = scratch.open(); rc < 0)
        return rc;
    if (int rc = scratch.read(info.base, &start, sizeof(start)); rc < 0)
        return rc;
    if (start.state == 0)
        return -ENOENT;
    if (start.state != superblock_ready || start.block.magic != Superblock::is_pool)
        return -EINVAL;
    if (start.block.version > Superblock::newest)
        return -EOPNOTSUPP;
    return same(start.block, block_for(info)) ? 0 : -EINVAL;
}

}  // namespace ds::pool
