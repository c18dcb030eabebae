// SPDX-License-Identifier: Apache-2.0
// The label in a space that says which store it is given to. It stands behind
// the pool's superblock, in whose 1 KiB there is room for it: the number of the store, a word
// that only CAS touches. On each server the next word is the number of its memory.
#pragma once

#include <cstdint>

struct ds_space;

namespace ds::store {

/// Which store has the space? -ENOENT: none.
int read_label(ds_space *space, uint64_t &store);

/// Gives the space to a store. -EEXIST: it has one, perhaps this one.
int write_label(ds_space *space, uint64_t store);

/// Where each server has the number of its memory, a word for CAS, too. It is
/// drawn by lot; so memory that took the place of other memory is found out.
uint64_t memory_address(ds_space *space, uint32_t server);

}  // namespace ds::store
