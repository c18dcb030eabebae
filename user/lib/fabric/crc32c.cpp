// SPDX-License-Identifier: Apache-2.0
#include "fabric/crc32c.hpp"

#include <algorithm>
#include <climits>
#include <cstring>

extern "C" {
#include <shim.h>
}

namespace ds {
namespace {

#ifdef __x86_64__
__attribute__((target("sse4.2"))) uint32_t by_instruction(uint32_t crc,
                                                          std::span<const std::byte> data) {
    const std::byte *at = data.data();
    size_t left = data.size();
    uint64_t state = crc;
    for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t), at += sizeof(uint64_t)) {
        uint64_t word;
        std::memcpy(&word, at, sizeof(word));
        state = __builtin_ia32_crc32di(state, word);
    }
    auto rest = static_cast<uint32_t>(state);
    for (; left > 0; left--, at++)
        rest = __builtin_ia32_crc32qi(rest, std::to_integer<uint8_t>(*at));
    return rest;
}

const bool has_instruction = __builtin_cpu_supports("sse4.2");
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
