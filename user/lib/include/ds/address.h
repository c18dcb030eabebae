/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdsuser: where an address of a pool lies. Part of ds/ds.h.
 */
#ifndef DS_ADDRESS_H
#define DS_ADDRESS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/**
 * struct ds_address - where an address of a pool lies (ds/layout.h)
 * @server: memory server, from 0
 * @region: enum ds_region
 * @offset: bytes from the start of the server
 * @offset_in_region: bytes from the start of the region
 */
struct ds_address {
    uint32_t server;
    uint32_t region;
    uint64_t offset;
    uint64_t offset_in_region;
};

/**
 * ds_addr_resolve() - explain an address
 * @addr: the address
 * @servers: memory servers of the pool, 1 to DS_LAYOUT_MAX_SERVERS
 * @k: log2 of a server's size, less 24; 0 to DS_LAYOUT_MAX_K
 * @out: result, written on success only
 *
 * Return: 0, or -ERANGE below the base or past the last server; -EINVAL: @servers or
 * @k out of range.
 */
int ds_addr_resolve(uint64_t addr, uint32_t servers, uint32_t k, struct ds_address *out);

/**
 * ds_addr_region_name() - name of a region for people
 * @region: enum ds_region
 *
 * Return: static string, "unknown" for a number that is no region.
 */
const char *ds_addr_region_name(uint32_t region);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DS_ADDRESS_H */
