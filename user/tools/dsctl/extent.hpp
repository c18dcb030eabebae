// SPDX-License-Identifier: Apache-2.0
// Where the bytes of a file lie in a space: one after the other, or striped
// over the servers.
#pragma once

#include <cstdint>

#include "map.hpp"

namespace dsctl {

class Extent {
public:
    struct Piece {
        uint64_t address;
        uint64_t length;
    };

    // stripe is 0 for a contiguous run of addresses, which goes on from one
    // server to the next. Else stripe n is on server (first + n) % servers,
    // where first is the server of start, from start's offset in it upwards.
    // Throws ERANGE if the bytes do not fit.
    Extent(const Map &map, uint64_t start, uint64_t length, uint64_t stripe);

    // The bytes from offset on that lie together on one server, at most max.
    Piece piece(uint64_t offset, uint64_t max) const;

    uint64_t length() const { return length_; }

private:
    Map map_;
    uint64_t start_;
    uint64_t length_;
    uint64_t stripe_;
    Place first_;
};

}  // namespace dsctl
