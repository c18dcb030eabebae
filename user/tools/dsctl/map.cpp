// SPDX-License-Identifier: Apache-2.0
#include "map.hpp"

#include <cerrno>
#include <iterator>

#include "units.hpp"

// The portable core is C.
extern "C" {
#include "rdm/layout.h"
}

namespace dsctl {

static ds_layout core_map(const Map &map) {
    return ds_layout{map.servers, map.shift};
}

Place Map::place(uint64_t address, const std::string &remedy) const {
    ds_layout layout = core_map(*this);
    ds_layout_pos pos;

    if (ds_layout_check(&layout) != 0)
        throw from_errno("ADR", EINVAL,
                         format("no map has %u servers of 2^%u bytes", servers, shift));
    if (ds_layout_resolve(&layout, address, &pos) != 0)
        throw from_errno("ADR", ERANGE,
                         format("address %s is outside of the space, which spans %s to %s",
                                hex(address).c_str(), hex(base()).c_str(), hex(last()).c_str()),
                         remedy)
            .with("address", address)
            .with("first", base())
            .with("last", last());
    return Place{pos.server, pos.region, pos.offset, pos.region_offset};
}

uint64_t Map::region_start(uint32_t region) const {
    ds_layout layout = core_map(*this);

    return ds_layout_region_start(&layout, region);
}

uint64_t Map::region_end(uint32_t region) const {
    ds_layout layout = core_map(*this);

    return ds_layout_region_end(&layout, region);
}

const char *region_name(uint32_t region) {
    static constexpr const char *names[] = {"root", "level1", "level2", "level3", "leaf"};

    static_assert(std::size(names) == DS_REGION_COUNT);
    return names[region];
}

}  // namespace dsctl
