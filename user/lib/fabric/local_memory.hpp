// SPDX-License-Identifier: Apache-2.0
// Memory that other processes read and write at the same time.
//
// It is only ever touched as aligned 64-bit words, each by one atomic access,
// so no access is a data race. Between two words another process may come:
// a copy is not atomic, and what is read may be torn at any multiple of 8.
//
// Loads acquire and stores release. So copies are seen in the order in which
// they were made: who reads what a copy wrote also reads what was written
// before it, as behind a queue pair.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fabric/crash_point.hpp"

namespace ds::fabric::shared {

using Word = std::atomic_ref<uint64_t>;
static_assert(Word::is_always_lock_free, "words are shared by processes");

constexpr size_t word_bytes = sizeof(uint64_t);

inline size_t offset_in_word(const std::byte *at) {
    return reinterpret_cast<uintptr_t>(at) % word_bytes;
}

/// The word that @p at lies in.
inline uint64_t &word_of(std::byte *at) {
    return *reinterpret_cast<uint64_t *>(at - offset_in_word(at));
}

/// Copies @p length bytes out of shared memory.
inline void read(std::byte *to, std::byte *from, size_t length) {
    while (length > 0) {
        size_t skip = offset_in_word(from);
        size_t n = std::min(word_bytes - skip, length);
        tear_point();
        uint64_t word = Word(word_of(from)).load(std::memory_order_acquire);
        if (n == word_bytes)
            std::memcpy(to, &word, word_bytes);
        else
            std::memcpy(to, reinterpret_cast<std::byte *>(&word) + skip, n);
        to += n;
        from += n;
        length -= n;
    }
}

/// Changes a part of a word and leaves the rest to others who change it.
inline void write_part(std::byte *to, const std::byte *from, size_t length) {
    Word word(word_of(to));
    uint64_t before = word.load(std::memory_order_relaxed), after;
    do {
        after = before;
        std::memcpy(reinterpret_cast<std::byte *>(&after) + offset_in_word(to), from, length);
    } while (!word.compare_exchange_weak(before, after, std::memory_order_release,
                                         std::memory_order_relaxed));
}

/// Copies @p length bytes into shared memory.
inline void write(std::byte *to, const std::byte *from, size_t length) {
    while (length > 0) {
        size_t n = std::min(word_bytes - offset_in_word(to), length);
        tear_point();
        crash_point("local.word");
        if (n == word_bytes) {
            uint64_t word;
            std::memcpy(&word, from, word_bytes);
            Word(word_of(to)).store(word, std::memory_order_release);
        } else {
            write_part(to, from, n);
        }
        to += n;
        from += n;
        length -= n;
    }
}

/// Returns the old value.
inline uint64_t compare_and_swap(std::byte *at, uint64_t compare, uint64_t swap) {
    crash_point("local.word");
    Word(word_of(at)).compare_exchange_strong(compare, swap);
    return compare;
}

/// Returns the old value.
inline uint64_t fetch_add(std::byte *at, uint64_t add) {
    crash_point("local.word");
    return Word(word_of(at)).fetch_add(add);
}

}  // namespace ds::fabric::shared
