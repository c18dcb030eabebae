// SPDX-License-Identifier: Apache-2.0
//
// What bench/modules/translation.c measures, from the same source in user space,
// beside what a program would take: std::unordered_map and a scan. A line for each
// round, nanoseconds of all look-ups of each.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <unordered_map>

extern "C" {
#include "rdm/pagemap.h"
#include "rdm/segtable.h"
}

namespace {

constexpr u32 pages = 1000000;
constexpr u32 segments = 64;
constexpr u32 segment_pages = 100;
constexpr u32 lookups = 1000000;
constexpr u64 page_size = 4096;

u32 value_of(u32 page) {
    return page ^ 0xfffffU;
}

u64 address_of(u32 number) {
    return (number / segment_pages * 128 + number % segment_pages) * page_size;
}

[[gnu::noinline]] const ds_segtable_entry *scan(const ds_segtable &table, u64 address) {
    for (u32 i = 0; i < table.count; i++)
        if (address >= table.entry[i].base && address < table.entry[i].limit)
            return &table.entry[i];
    return nullptr;
}

// Nanoseconds of random look-ups of numbers 1 to n, each of which must be right.
template <class Lookup>
long measure(Lookup &&is_right, u32 n, u64 seed) {
    const auto start = std::chrono::steady_clock::now();
    u32 right = 0;
    for (u32 i = 0; i < lookups; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        right += is_right(static_cast<u32>((seed >> 32) * n >> 32) + 1);
    }
    if (right != lookups) {
        std::fputs("translation: a wrong answer\n", stderr);
        std::exit(1);
    }
    return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
}

struct Tables {
    std::unique_ptr<ds_pagemap> map = std::make_unique<ds_pagemap>();
    std::unordered_map<u32, u32> unordered;
    ds_segtable segtable{};

    // Returns whether there was memory for all of it.
    bool fill() {
        if (ds_pagemap_init(map.get(), pages, 0x5eed) != 0)
            return false;
        unordered.reserve(pages);
        for (u32 page = 1; page <= pages; page++) {
            unordered.emplace(page, value_of(page));
            if (ds_pagemap_insert(map.get(), page, DS_PAGEMAP_MAPPED | value_of(page)) != 0)
                return false;
        }
        for (u32 i = 0; i < segments; i++) {
            const u64 base = address_of(i * segment_pages);
            const ds_segtable_entry entry{base, base + segment_pages * page_size, base, 1};
            if (ds_segtable_insert(&segtable, &entry) != 0)
                return false;
        }
        return true;
    }

    void round(u64 seed) {
        const auto in_map = [this](u32 page) {
            return ds_pagemap_find(map.get(), page) == (DS_PAGEMAP_MAPPED | value_of(page));
        };
        const auto in_unordered = [this](u32 page) {
            const auto found = unordered.find(page);
            return found != unordered.end() && found->second == value_of(page);
        };
        const auto is_right = [](const ds_segtable_entry *entry, u64 address) {
            return entry != nullptr && address - entry->base < segment_pages * page_size;
        };
        const auto in_segtable = [&](u32 number) {
            return is_right(ds_segtable_find(&segtable, address_of(number)), address_of(number));
        };
        const auto in_scan = [&](u32 number) {
            return is_right(scan(segtable, address_of(number)), address_of(number));
        };
        constexpr u32 numbers = segments * segment_pages - 1;
        std::printf("lookups %u", lookups);
        std::printf(" pagemap %ld unordered %ld", measure(in_map, pages, seed),
                    measure(in_unordered, pages, seed));
        std::printf(" segtable %ld scan %ld\n", measure(in_segtable, numbers, seed),
                    measure(in_scan, numbers, seed));
    }

    Tables() = default;
    Tables(const Tables &) = delete;
    Tables &operator=(const Tables &) = delete;
    ~Tables() {
        ds_pagemap_destroy(map.get());
        ds_segtable_destroy(&segtable);
    }
};

}  // namespace

int main(int argc, char **argv) {
    const unsigned long rounds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 5;
    Tables tables;
    if (!tables.fill()) {
        std::fputs("translation: no memory\n", stderr);
        return 1;
    }
    for (unsigned long round = 1; round <= rounds; round++)
        tables.round(round);
    return 0;
}
