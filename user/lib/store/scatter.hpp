// SPDX-License-Identifier: Apache-2.0
// The bytes of a caller, in parts that lie apart.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace ds::store {

/// Goes over the parts from the first to the last byte.
class Scatter {
public:
    explicit Scatter(std::span<const iovec> parts) : parts_(parts) {}

    /// Bytes in all parts. False if they cannot be counted.
    static bool length(std::span<const iovec> parts, uint64_t &sum) {
        sum = 0;
        for (const iovec &part : parts)
            if (__builtin_add_overflow(sum, part.iov_len, &sum))
                return false;
        return true;
    }

    void gather(std::byte *to, size_t length) {
        each(length, [&](std::byte *part, size_t n) {
            std::memcpy(to, part, n);
            to += n;
        });
    }

    void scatter(const std::byte *from, size_t length) {
        each(length, [&](std::byte *part, size_t n) {
            std::memcpy(part, from, n);
            from += n;
        });
    }

private:
    template <class Move>
    void each(size_t length, Move &&move) {
        while (length > 0) {
            const iovec &part = parts_.front();
            size_t n = std::min(length, part.iov_len - at_);
            if (n > 0)
                move(static_cast<std::byte *>(part.iov_base) + at_, n);
            length -= n;
            at_ += n;
            if (at_ == part.iov_len) {
                parts_ = parts_.subspan(1);
                at_ = 0;
            }
        }
    }

    std::span<const iovec> parts_;
    size_t at_ = 0;  // in the first part
};

}  // namespace ds::store
