// SPDX-License-Identifier: Apache-2.0
// ds::pool::ClientTable: the client numbers of a pool. An entry is a word that
// says who holds the number (pool/pool.hpp), and one that tells people where:
// node in the upper half, process in the lower.
#pragma once

#include <cstdint>
#include <vector>

#include <ds/layout.h>
#include <ds/fabric.hpp>

struct ds_space;

namespace ds::pool {

class ClientTable {
public:
    static uint64_t address(const fabric::SpaceInfo &space);
    static uint64_t bytes(const fabric::SpaceInfo &space);

    explicit ClientTable(ds_space *space) : space_(space) {}

    /// The words of all numbers; the number is the index, 0 is not used.
    int load(std::vector<uint64_t> &words) const;

    /// The word of one number. -EINVAL: there is no such number.
    int load(uint32_t client, uint64_t &word) const;

    /// Claims the number if its word is still @p word. -EAGAIN: it is not.
    int claim(uint32_t client, uint64_t word, fabric::Owner &owner) const;

    /// Lets the number go, if it is still @p owner's.
    int release(fabric::Owner owner) const;

    /// Notes where its holder is.
    int note(fabric::Owner owner, uint32_t node, uint32_t process) const;

    static bool held(uint64_t word);
    static fabric::Owner holder(uint64_t word);
    static uint64_t word_of(fabric::Owner owner);

private:
    uint64_t entry(uint32_t client) const;

    ds_space *space_;
};

}  // namespace ds::pool
