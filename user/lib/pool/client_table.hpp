// SPDX-License-Identifier: Apache-2.0
// ds::pool::ClientTable: the client numbers of a pool. An entry is a word that
// says who holds the number (pool/pool.hpp), and the place where its holder is, as
// the fabric needs it to fence him. Both are only ever touched by CAS, in this order:
//
//     word: free -> held    the number is claimed; it has no place yet
//     place: 0 -> his       if it was not 0 or the word is not his, the claim is void
//     place: his -> 0       he leaves, or who has fenced him does it for him
//     word: held -> free
//
// So whoever sees a number held and a place can fence by it. One who finds a number
// held without a place bars the place: its claimant or leaver is slow or dead, and
// can do nothing under the number any more. Places are never used twice.
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

    /// @p timeout_ms: longest wait of an access, 0 for that of @p space.
    explicit ClientTable(ds_space *space, uint32_t timeout_ms = 0)
        : space_(space), scratch_(space, timeout_ms) {}

    struct Entry {
        uint64_t word;
        uint64_t place;  ///< 0: not noted; barred
        bool operator==(const Entry &) const = default;
    };
    static constexpr uint64_t barred = ~uint64_t{0};

    /// The entries of all numbers; the number is the index, 0 is not used.
    int load(std::vector<Entry> &entries);

    /// The entry of one number, its two words of one moment. -EINVAL: there is no such
    /// number.
    int load(uint32_t client, Entry &entry);

    /// Claims the number if its entry is still @p entry. -EAGAIN: it is not.
    int claim(uint32_t client, const Entry &entry, fabric::Owner &owner) const;

    /// Notes where the claimant is. -ESHUTDOWN: too late, the number is not his.
    int note(fabric::Owner owner, uint64_t place) const;

    /// Keeps @p owner from noting his place. -EAGAIN: he has.
    int bar(fabric::Owner owner) const;

    /// Lets the number go, if it is still @p owner's, at @p place.
    int release(fabric::Owner owner, uint64_t place) const;

    static bool held(uint64_t word);
    static fabric::Owner holder(uint64_t word);
    static uint64_t word_of(fabric::Owner owner);

private:
    uint64_t word_address(uint32_t client) const;
    uint64_t place_address(uint32_t client) const;
    int swap(uint64_t addr, uint64_t from, uint64_t to, uint64_t &found) const;

    ds_space *space_;
    Scratch scratch_;  // made by the first load()
};

}  // namespace ds::pool
