// SPDX-License-Identifier: Apache-2.0
// ds/ds.h: addresses, by the portable core that ds.ko uses too.
#include <cerrno>

#include <ds/ds.h>

extern "C" {
#include <rdm/layout.h>
}

int ds_addr_resolve(uint64_t addr, uint32_t servers, uint32_t k, ds_address *out) {
    if (k > DS_LAYOUT_MAX_K)
        return -EINVAL;
    ds_layout layout{.servers = servers, .server_shift = DS_LAYOUT_SERVER_SHIFT + k};
    if (int rc = ds_layout_check(&layout); rc < 0)
        return rc;
    ds_layout_pos pos;
    if (int rc = ds_layout_resolve(&layout, addr, &pos); rc < 0)
        return rc;
    *out = {.server = pos.server,
            .region = pos.region,
            .offset = pos.offset,
            .offset_in_region = pos.region_offset};
    return 0;
}

const char *ds_addr_region_name(uint32_t region) {
    return ds_region_name(region);
}
