// SPDX-License-Identifier: Apache-2.0
#include "pool/extent_table.hpp"

#include <cerrno>

namespace ds::pool {

ExtentTable::ExtentTable(ds_space *space, uint32_t server, Scratch &scratch)
    : space_(space),
      base_(space->info.base + (uint64_t{server} << space->info.server_shift)),
      scratch_(scratch) {
    ds_layout layout{.servers = space->info.servers, .server_shift = space->info.server_shift};
    ds_extents_init(&extents_, &layout, &ops, this);
}

int ExtentTable::read(void *self, u64 offset, u64 *words, u32 count) {
    auto *table = static_cast<ExtentTable *>(self);
    return table->scratch_.read(table->base_ + offset, words, count * sizeof(u64));
}

int ExtentTable::cas(void *self, u64 offset, u64 before, u64 after, u64 *found) {
    auto *table = static_cast<ExtentTable *>(self);
    ds_result result{};
    int rc = ds_cas(table->space_, table->base_ + offset, before, after,
                    table->scratch_.timeout_ms(), &result);
    table->unsure_ |= rc < 0 && result.outcome == DS_UNKNOWN;
    *found = result.value;
    return rc;
}

int ExtentTable::take(uint32_t region, fabric::Owner owner, Extent &extent) {
    ds_extent taken;
    if (int rc = ds_extent_alloc(&extents_, region, {owner.client, owner.incarnation}, &taken);
        rc < 0)
        return rc;
    extent = {.index = taken.index,
              .generation = taken.generation,
              .used = taken.used,
              .nodes = taken.nodes,
              .addr = base_ + taken.offset};
    return 0;
}

int ExtentTable::give_back(uint32_t index, fabric::Owner owner, uint32_t used) {
    int rc = ds_extent_free(&extents_, index, {owner.client, owner.incarnation}, used);
    return unsure_ && (rc == -ESTALE || rc == -EACCES) ? 0 : rc;
}

int ExtentTable::reclaim(fabric::Owner owner) {
    int rc = ds_extent_reclaim(&extents_, {owner.client, owner.incarnation});
    return rc < 0 ? rc : 0;
}

int ExtentTable::count(ds_extent_tally &tally) const {
    return ds_extent_count_all(&extents_, &tally);
}

}  // namespace ds::pool
