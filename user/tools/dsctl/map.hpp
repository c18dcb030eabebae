// SPDX-License-Identifier: Apache-2.0
// The address map of a space, for arithmetic on addresses (ds/layout.h).
#pragma once

#include <cstdint>
#include <string>

#include <ds/layout.h>

#include "error.hpp"

namespace dsctl {

struct Place {
    uint32_t server;
    uint32_t region;  // enum ds_region
    uint64_t offset;  // in the server
    uint64_t region_offset;
};

struct Map {
    uint32_t servers;
    uint32_t shift;  // log2 of a server's bytes

    uint64_t base(uint32_t server = 0) const {
        return DS_LAYOUT_BASE + (uint64_t(server) << shift);
    }
    uint64_t last() const { return base(servers) - 1; }
    uint64_t server_bytes() const { return uint64_t(1) << shift; }

    // Throws ERANGE for an address outside of the map; the remedy says where its size is from.
    Place place(uint64_t address, const std::string &remedy =
                                      "give an address within it; 'dsctl space show' shows how "
                                      "large the space is") const;

    // Offsets in a server of a region's first byte and of the byte behind it.
    uint64_t region_start(uint32_t region) const;
    uint64_t region_end(uint32_t region) const;
};

// "root", "level1", "level2", "level3", "leaf"
const char *region_name(uint32_t region);

}  // namespace dsctl
