// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * What all files of the test peer share: bytes, time, and the two ways to fail.
 */
#ifndef DSPEER_BYTES_HPP
#define DSPEER_BYTES_HPP

#include <chrono>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace peer {

using Bytes = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;
using Millis = std::chrono::milliseconds;
using namespace std::chrono_literals;

/** The host under test did not do what it should: a test failed. */
class Failed : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/** It has no place for a connection now: BUSY. */
class Busy : public Failed {
    using Failed::Failed;
};

/** The test peer itself cannot go on: no device, no memory, no route. */
class Broken : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/** The other side has taken its connection request back. */
class Withdrawn : public Broken {
    using Broken::Broken;
};

inline void expect(bool good, const std::string &otherwise) {
    if (!good)
        throw Failed(otherwise);
}

/** A wire struct as the bytes that travel. */
template <typename T>
Bytes bytes_of(const T &value) {
    static_assert(std::is_trivially_copyable_v<T>);
    Bytes bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}

/** The wire struct at the beginning of @p bytes, which must be long enough. */
template <typename T>
T struct_of(const Bytes &bytes) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (bytes.size() < sizeof(T))
        throw Failed("an answer of " + std::to_string(bytes.size()) + " bytes is too short");
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
}

}  // namespace peer

#endif
