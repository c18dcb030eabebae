// SPDX-License-Identifier: Apache-2.0
// Helpers of the C functions.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

namespace ds::abi {

/// No exception may reach a C caller; memory is the only thing that can run out.
template <class Body>
int guard(Body &&body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return -ENOMEM;
    }
}

/// Fills a struct whose first field is the size that the caller knows.
template <class T>
int fill(T *out, T value) {
    uint32_t size = out->size;
    if (size < sizeof(size))
        return -EINVAL;
    value.size = size;
    std::memset(out, 0, size);
    std::memcpy(out, &value, size < sizeof(value) ? size : sizeof(value));
    return 0;
}

/// Copies such a struct in. Missing fields are 0; a field that this library
/// does not know must be.
template <class T>
int take(const T *in, T &value) {
    value = {};
    uint32_t size = in->size;
    if (size < sizeof(size))
        return -EINVAL;
    auto *bytes = reinterpret_cast<const unsigned char *>(in);
    for (size_t i = sizeof(value); i < size; i++)
        if (bytes[i])
            return -E2BIG;
    std::memcpy(&value, in, size < sizeof(value) ? size : sizeof(value));
    return 0;
}

}  // namespace ds::abi
