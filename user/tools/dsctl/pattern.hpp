// SPDX-License-Identifier: Apache-2.0
// The contents of 'mem fill --pattern SEED': each byte depends on the seed and
// on its own address, so that data at a wrong place is found as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dsctl {

// The eight bytes at an address that is a multiple of 8, little-endian.
inline uint64_t pattern_word(uint64_t seed, uint64_t address) {
    uint64_t x = seed + (address / 8 + 1) * 0x9e3779b97f4a7c15ULL;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    return x ^ x >> 31;
}

inline void pattern_fill(uint64_t seed, uint64_t address, std::span<std::byte> out) {
    uint64_t word = pattern_word(seed, address & ~uint64_t(7));

    for (std::byte &byte : out) {
        byte = static_cast<std::byte>(word >> (address % 8 * 8));
        if (++address % 8 == 0)
            word = pattern_word(seed, address);
    }
}

}  // namespace dsctl
