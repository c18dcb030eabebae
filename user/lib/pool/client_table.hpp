// SPDX-License-Identifier: Apache-2.0
// ds::pool::ClientTable: the client numbers of a pool. An entry is a word that
// says who holds the number (pool/pool.hpp), and the place where its holder is, as
// the fabric needs it to fence him. A place does not fit into 16 bits; what does is
// a bar: the incarnation that it names can note no place there, nor can an earlier one.
// Both are only ever touched by CAS, in this order:
//
//     word: free -> held    the number is claimed
//     place: bar -> his     if it is not the bar that he saw, his claim is void
//     place: his -> bar     he leaves, or who has fenced him does it for him
//     word: held -> free
//
// So whoever sees a number held and a place can fence by it, and the place is its
// holder's. One who finds a number held and a bar makes it the bar of this holder: he is
// slow or dead, coming or leaving, and can do nothing under the number any more. Neither
// places nor bars are used twice, so that it does no harm if a CAS comes late.
#pragma once

#include <cstdint>
#include <vector>

#include <ds/layout.h>
#include <ds/fabric.hpp>

#include "pool/scratch.hpp"

namespace ds::pool {

class ClientTable {
public:
    static uint64_t address(const fabric::SpaceInfo &space);
    static uint64_t bytes(const fabric::SpaceInfo &space);

    /// Whether there is this number.
    static bool has(const fabric::SpaceInfo &space, uint32_t client);

    /// @p timeout_ms: longest wait of an access, 0 for that of @p space.
    explicit ClientTable(ds_space *space, uint32_t timeout_ms = 0)
        : space_(space), scratch_(space, timeout_ms) {}

    struct Entry {
        uint64_t word;
        uint64_t place;
        bool operator==(const Entry &) const = default;
    };

    /// The entries of all numbers; the number is the index, 0 is not used.
    int load(std::vector<Entry> &entries);

    /// The entry of one number, its two words of one moment. -EINVAL: there is no such
    /// number.
    int load(uint32_t client, Entry &entry);

    /// Bars the place under a free number: one noted it too late. The entry is then what
    /// claim() can take. What else is there is left alone.
    int settle(uint32_t client, Entry &entry);

    /// Claims the number if its entry is still @p entry. -EAGAIN: it is not.
    int claim(uint32_t client, const Entry &entry, fabric::Owner &owner) const;

    /// Notes where the claimant is; @p bar is what his entry had for a place when he
    /// claimed the number. -ESHUTDOWN: too late, the number is not his.
    int note(fabric::Owner owner, uint64_t bar, uint64_t place) const;

    /// Keeps @p owner, whose entry has @p bar for a place, from noting his. -EAGAIN: he has.
    int bar(fabric::Owner owner, uint64_t bar) const;

    /// Lets the number go, if it is still @p owner's. @p place: where he was, or a bar.
    int release(fabric::Owner owner, uint64_t place) const;

    static bool held(uint64_t word);
    static fabric::Owner holder(uint64_t word);
    static uint64_t word_of(fabric::Owner owner);
    static bool is_bar(uint64_t place);
    static uint64_t bar_of(fabric::Owner owner);

private:
    uint64_t word_address(uint32_t client) const;
    uint64_t place_address(uint32_t client) const;
    int swap(uint64_t addr, uint64_t from, uint64_t to, uint64_t &found) const;

    ds_space *space_;
    Scratch scratch_;  // made by the first load()
};

}  // namespace ds::pool
