// SPDX-License-Identifier: Apache-2.0
#include "fabric/crc32c.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>

namespace ds {
namespace {

constexpr uint32_t polynomial = 0x82f63b78;  // x^32 + ..., x^31 in bit 0

constexpr uint32_t times_x(uint32_t a) {
    return a >> 1 ^ (a & 1 ? polynomial : 0);
}

uint64_t word_at(const std::byte *at) {
    uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    return word;
}

// Eight bytes at a time, each looked up in the table for its distance from the end
// (Kounavis and Berry, 2005: "slicing by 8").
using Tables = std::array<std::array<uint32_t, 256>, 8>;

constexpr Tables make_tables() {
    Tables made{};
    for (uint32_t byte = 0; byte < 256; byte++) {
        made[0][byte] = byte;
        for (int bit = 0; bit < 8; bit++)
            made[0][byte] = times_x(made[0][byte]);
    }
    for (size_t i = 1; i < made.size(); i++)
        for (size_t byte = 0; byte < 256; byte++)
            made[i][byte] = made[i - 1][byte] >> 8 ^ made[0][made[i - 1][byte] & 0xff];
    return made;
}

constexpr Tables tables = make_tables();

uint32_t by_tables(uint32_t crc, std::span<const std::byte> data) {
    const std::byte *at = data.data();
    size_t left = data.size();
    if constexpr (std::endian::native == std::endian::little)
        for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t), at += sizeof(uint64_t)) {
            uint64_t word = word_at(at) ^ crc;
            crc = tables[7][word & 0xff] ^ tables[6][word >> 8 & 0xff] ^
                  tables[5][word >> 16 & 0xff] ^ tables[4][word >> 24 & 0xff] ^
                  tables[3][word >> 32 & 0xff] ^ tables[2][word >> 40 & 0xff] ^
                  tables[1][word >> 48 & 0xff] ^ tables[0][word >> 56];
        }
    for (; left > 0; left--, at++)
        crc = crc >> 8 ^ tables[0][(crc ^ std::to_integer<uint32_t>(*at)) & 0xff];
    return crc;
}

#ifdef __x86_64__
// The instruction takes 3 cycles, and a new one can begin in each: so three lanes
// of the data go at the same time. Their states are put together as polynomials:
// one that stands before n more bytes is to be multiplied by x^8n.
constexpr size_t lane = 4096;

constexpr uint32_t power_of_x(unsigned n) {
    uint32_t power = 1u << 31;
    while (n-- > 0)
        power = times_x(power);
    return power;
}

// 33 less: the product comes one bit too far up, and the instruction multiplies by x^32.
constexpr uint32_t past_lane = power_of_x(8 * lane - 33);

__attribute__((target("sse4.2,pclmul"))) uint32_t skip_lane(uint64_t state) {
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(state)),
                                           _mm_cvtsi32_si128(static_cast<int32_t>(past_lane)), 0);
    return static_cast<uint32_t>(
        _mm_crc32_u64(0, static_cast<uint64_t>(_mm_cvtsi128_si64(product))));
}

__attribute__((target("sse4.2,pclmul"))) uint32_t by_instruction(uint32_t crc,
                                                                 std::span<const std::byte> data) {
    const std::byte *at = data.data();
    size_t left = data.size();
    uint64_t state = crc;
    for (; left >= 3 * lane; left -= 3 * lane, at += 2 * lane) {
        uint64_t second = 0, third = 0;
        for (const std::byte *end = at + lane; at < end; at += sizeof(uint64_t)) {
            state = _mm_crc32_u64(state, word_at(at));
            second = _mm_crc32_u64(second, word_at(at + lane));
            third = _mm_crc32_u64(third, word_at(at + 2 * lane));
        }
        state = skip_lane(skip_lane(state) ^ second) ^ third;
    }
    for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t), at += sizeof(uint64_t))
        state = _mm_crc32_u64(state, word_at(at));
    auto rest = static_cast<uint32_t>(state);
    for (; left > 0; left--, at++)
        rest = _mm_crc32_u8(rest, std::to_integer<uint8_t>(*at));
    return rest;
}
#endif

std::chrono::nanoseconds time_of(Crc32c way) {
    std::array<std::byte, 4096> data{};
    auto least = std::chrono::nanoseconds::max();
    for (int i = 0; i < 4; i++) {
        auto start = std::chrono::steady_clock::now();
        [[maybe_unused]] volatile uint32_t crc = way(0, data);
        least = std::min<std::chrono::nanoseconds>(least, std::chrono::steady_clock::now() - start);
    }
    return least;
}

// On a real processor the instruction is faster by far; an emulated one does it bit by
// bit, and the tables are faster there. So it is tried.
Crc32c fastest_way() {
    return std::ranges::min(crc32c_ways(), {}, time_of);
}

}  // namespace

std::vector<Crc32c> crc32c_ways() {
    std::vector<Crc32c> ways{by_tables};
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
        ways.push_back(by_instruction);
#endif
    return ways;
}

uint32_t crc32c_update(uint32_t crc, std::span<const std::byte> data) {
    static const Crc32c way = fastest_way();
    return way(crc, data);
}

}  // namespace ds
