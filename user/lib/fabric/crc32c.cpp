// SPDX-License-Identifier: Apache-2.0
#include "fabric/crc32c.hpp"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include <algorithm>
#include <climits>
#include <cstring>

extern "C" {
#include <shim.h>
}

namespace ds {
namespace {

#ifdef __x86_64__
// The instruction takes 3 cycles, and a new one can begin in each: so three lanes
// of the data go at the same time. Their states are put together as polynomials:
// one that stands before n more bytes is to be multiplied by x^8n.
constexpr size_t lane = 4096;

constexpr uint32_t polynomial = 0x82f63b78;  // x^32 + ..., x^31 in bit 0

constexpr uint32_t times_x(uint32_t a) {
    return a >> 1 ^ (a & 1 ? polynomial : 0);
}

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

uint64_t word_at(const std::byte *at) {
    uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    return word;
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

const bool has_instruction = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
#endif

}  // namespace

uint32_t crc32c_by_table(uint32_t crc, std::span<const std::byte> data) {
    while (!data.empty()) {
        size_t n = std::min<size_t>(data.size(), INT_MAX);
        crc = crc32c(crc, data.data(), static_cast<unsigned>(n));
        data = data.subspan(n);
    }
    return crc;
}

uint32_t crc32c_update(uint32_t crc, std::span<const std::byte> data) {
#ifdef __x86_64__
    if (has_instruction)
        return by_instruction(crc, data);
#endif
    return crc32c_by_table(crc, data);
}

}  // namespace ds
