// SPDX-License-Identifier: Apache-2.0
#include "extent.hpp"

#include <algorithm>

#include "units.hpp"

namespace dsctl {

// The byte behind the last one, as an offset in the space or in a server.
static Error too_long(uint64_t length, uint64_t start, const std::string &where) {
    return from_errno("MEM", ERANGE,
                      format("%s from %s on do not fit into %s", bytes_text(length).c_str(),
                             hex(start).c_str(), where.c_str()),
                      "begin at a lower address, or use a space of more or larger servers");
}

Extent::Extent(const Map &map, uint64_t start, uint64_t length, uint64_t stripe)
    : map_(map), start_(start), length_(length), stripe_(stripe), first_(map.place(start)) {
    if (stripe == 0) {
        if (length > map.last() - start + 1)
            throw too_long(length, start, "the space");
        return;
    }
    uint64_t room = map.server_bytes() - first_.offset;
    uint64_t rows = room / stripe;
    uint64_t stripes = length / stripe + (length % stripe != 0);
    if (stripes > rows * map.servers)
        throw too_long(length, start,
                       "stripes of " + bytes_text(stripe) + " over " + std::to_string(map.servers) +
                           " server(s)");
}

Extent::Piece Extent::piece(uint64_t offset, uint64_t max) const {
    uint64_t left = std::min(max, length_ - offset);

    if (stripe_ == 0) {
        uint64_t address = start_ + offset;
        uint64_t in_server = map_.server_bytes() - map_.place(address).offset;
        return {address, std::min(left, in_server)};
    }
    uint64_t n = offset / stripe_;
    uint64_t within = offset % stripe_;
    uint32_t server = static_cast<uint32_t>((first_.server + n) % map_.servers);
    uint64_t row = n / map_.servers;
    return {map_.base(server) + first_.offset + row * stripe_ + within,
            std::min(left, stripe_ - within)};
}

}  // namespace dsctl
