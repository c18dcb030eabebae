// SPDX-License-Identifier: Apache-2.0
// Contents of objects that say of themselves whether they are whole: a nonce, and
// words that follow from key, nonce and length. What is shorter than a nonce
// follows from key and length alone.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace pattern {

inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

inline uint64_t seed_of(const std::string &key, uint64_t nonce, size_t length) {
    uint64_t seed = mix(nonce + length);
    for (char c : key)
        seed = mix(seed ^ static_cast<uint8_t>(c));
    return seed;
}

inline std::vector<char> make(const std::string &key, uint64_t nonce, size_t length) {
    std::vector<char> bytes(length);
    bool told = length >= sizeof(nonce);
    uint64_t seed = seed_of(key, told ? nonce : 0, length);
    for (size_t at = 0, i = 0; at < length; at += sizeof(uint64_t), i++) {
        uint64_t word = told && i == 0 ? nonce : mix(seed + i);
        std::memcpy(bytes.data() + at, &word, std::min(sizeof(word), length - at));
    }
    return bytes;
}

/// The nonce of what was made, 0 if it was too short for one; nothing if it is no
/// such thing.
inline std::optional<uint64_t> check(const std::string &key, const std::vector<char> &bytes) {
    uint64_t nonce = 0;
    if (bytes.size() >= sizeof(nonce))
        std::memcpy(&nonce, bytes.data(), sizeof(nonce));
    if (make(key, nonce, bytes.size()) != bytes)
        return std::nullopt;
    return nonce;
}

}  // namespace pattern
