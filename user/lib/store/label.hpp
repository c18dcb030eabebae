// SPDX-License-Identifier: Apache-2.0
// The label in a space that says which store it is given to. It stands behind
// the pool's superblock, in whose 1 KiB there is room for it: the number of the store, a word
// that only CAS touches. On each server the next word is the number of its memory. On the
// first one follows the term of the latest master, another word for CAS.
#pragma once

#include <cstdint>

struct ds_space;

namespace ds::store {

/// Which store has the space? -ENOENT: none.
int read_label(ds_space *space, uint64_t &store);

/// Gives the space to a store. -EEXIST: it has one, perhaps this one.
int write_label(ds_space *space, uint64_t store);

/// The rule of a master: {epoch 32, client 16, incarnation 16}; of none, all 0.
struct Term {
    uint32_t epoch = 0;
    uint16_t client = 0;  ///< of the pool; 0: the term was ended in order
    uint16_t incarnation = 0;
    bool operator==(const Term &) const = default;

    static Term of(uint64_t word) {
        return {.epoch = static_cast<uint32_t>(word >> 32),
                .client = static_cast<uint16_t>(word >> 16),
                .incarnation = static_cast<uint16_t>(word)};
    }
    uint64_t word() const { return uint64_t{epoch} << 32 | uint64_t{client} << 16 | incarnation; }
};

/// Which one is the latest that was begun in the space?
int read_term(ds_space *space, Term &term);

/// Puts @p to in the place of @p from, if that is what is there: @p found.
int swap_term(ds_space *space, Term from, Term to, Term &found);

/// Where each server has the number of its memory, a word for CAS, too. It is
/// drawn by lot; so memory that took the place of other memory is found out.
uint64_t memory_address(ds_space *space, uint32_t server);

}  // namespace ds::store
