/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: the address map of a pool, which is document 000's (docs/addresses.md).
 *
 * Pure arithmetic on include/uapi/ds/layout.h: an address names a memory
 * server, an offset in it and the region in which that offset lies.
 */
#ifndef DS_RDM_LAYOUT_H
#define DS_RDM_LAYOUT_H

#include "../shim.h"
#include <ds/layout.h>

/**
 * struct ds_layout - the map of one pool
 * @servers: number of memory servers, 1 to DS_LAYOUT_MAX_SERVERS
 * @server_shift: log2 of a server's bytes, DS_LAYOUT_SERVER_SHIFT + k with
 *	k from 0 to DS_LAYOUT_MAX_K
 */
struct ds_layout {
	u32 servers;
	u32 server_shift;
};

/**
 * struct ds_layout_pos - where an address lies
 * @server: number of the memory server, from 0
 * @region: enum ds_region
 * @offset: bytes from the start of the server
 * @region_offset: bytes from the start of the region
 */
struct ds_layout_pos {
	u32 server;
	u32 region;
	u64 offset;
	u64 region_offset;
};

/**
 * ds_layout_check - is this a map that can exist?
 * @l: the map
 *
 * All other functions take a map that has passed this check.
 *
 * Return: 0, or -EINVAL for a number of servers or a size out of range.
 */
int ds_layout_check(const struct ds_layout *l);

/**
 * ds_layout_resolve - find where an address lies
 * @l: the map
 * @addr: address in the space
 * @pos: result, written on success only
 *
 * Return: 0, or -ERANGE below the base or past the last server.
 */
int ds_layout_resolve(const struct ds_layout *l, u64 addr,
		      struct ds_layout_pos *pos);

/**
 * ds_layout_range - find where a range lies, which must be within one server
 * @l: the map
 * @addr: first address
 * @length: bytes
 * @pos: result for @addr, written on success only
 *
 * Return: 0, -EINVAL for length 0, or -ERANGE if a byte of the range is outside
 * of the space or on another server than the first.
 */
int ds_layout_range(const struct ds_layout *l, u64 addr, u64 length,
		    struct ds_layout_pos *pos);

/**
 * ds_layout_addr - the address of a place, the inverse of ds_layout_resolve()
 * @l: the map
 * @server: number below l->servers
 * @offset: bytes from the start of the server, below its size
 *
 * Return: the address.
 */
u64 ds_layout_addr(const struct ds_layout *l, u32 server, u64 offset);

/**
 * ds_layout_base - first address of a map
 * @l: the map
 *
 * Return: the address.
 */
u64 ds_layout_base(const struct ds_layout *l);

/**
 * ds_layout_last - last address of a map
 * @l: the map
 *
 * Return: the address, that of the last byte.
 */
u64 ds_layout_last(const struct ds_layout *l);

/**
 * ds_layout_region_start - where a region begins in every server
 * @l: the map
 * @region: enum ds_region
 *
 * Return: bytes from the start of the server.
 */
u64 ds_layout_region_start(const struct ds_layout *l, u32 region);

/**
 * ds_layout_region_end - where a region ends in every server
 * @l: the map
 * @region: enum ds_region
 *
 * Return: bytes from the start of the server to the first byte behind the region.
 */
u64 ds_layout_region_end(const struct ds_layout *l, u32 region);

/**
 * ds_region_name - name of a region for people
 * @region: enum ds_region
 *
 * Return: a static string, "unknown" for a number that is no region.
 */
const char *ds_region_name(u32 region);

#endif /* DS_RDM_LAYOUT_H */
