// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: the address map of a pool.
 */
#include "layout.h"

/* Where region r starts at k = 0, and behind the last one where the server ends. */
static const u64 region_offset[DS_REGION_COUNT + 1] = {
	[DS_REGION_ROOT] = DS_LAYOUT_ROOT_OFFSET,
	[DS_REGION_LEVEL1] = DS_LAYOUT_LEVEL1_OFFSET,
	[DS_REGION_LEVEL2] = DS_LAYOUT_LEVEL2_OFFSET,
	[DS_REGION_LEVEL3] = DS_LAYOUT_LEVEL3_OFFSET,
	[DS_REGION_LEAF] = DS_LAYOUT_LEAF_OFFSET,
	[DS_REGION_COUNT] = DS_LAYOUT_END_OFFSET,
};

static_assert(DS_LAYOUT_END_OFFSET == 1ULL << DS_LAYOUT_SERVER_SHIFT, "document 000");

int ds_layout_check(const struct ds_layout *l)
{
	if (!l->servers || l->servers > DS_LAYOUT_MAX_SERVERS)
		return -EINVAL;
	if (l->server_shift < DS_LAYOUT_SERVER_SHIFT ||
	    l->server_shift > DS_LAYOUT_SERVER_SHIFT + DS_LAYOUT_MAX_K)
		return -EINVAL;
	return 0;
}

int ds_layout_resolve(const struct ds_layout *l, u64 addr,
		      struct ds_layout_pos *pos)
{
	u64 server, offset;
	u32 region = 0;

	if (addr < DS_LAYOUT_BASE)
		return -ERANGE;
	addr -= DS_LAYOUT_BASE;
	server = addr >> l->server_shift;
	if (server >= l->servers)
		return -ERANGE;

	offset = addr & ((1ULL << l->server_shift) - 1);
	while (offset >= ds_layout_region_end(l, region))
		region++;

	/* The address may be a user's, and callers index arrays with this. */
	pos->server = (u32)ds_array_index_nospec(server, l->servers);
	pos->region = region;
	pos->offset = offset;
	pos->region_offset = offset - ds_layout_region_start(l, region);
	return 0;
}

int ds_layout_range(const struct ds_layout *l, u64 addr, u64 length,
		    struct ds_layout_pos *pos)
{
	struct ds_layout_pos first;
	int ret;

	if (!length)
		return -EINVAL;
	ret = ds_layout_resolve(l, addr, &first);
	if (ret)
		return ret;
	if (length > (1ULL << l->server_shift) - first.offset)
		return -ERANGE;
	*pos = first;
	return 0;
}

u64 ds_layout_addr(const struct ds_layout *l, u32 server, u64 offset)
{
	return DS_LAYOUT_BASE + ((u64)server << l->server_shift) + offset;
}

u64 ds_layout_base(const struct ds_layout *l)
{
	return ds_layout_addr(l, 0, 0);
}

u64 ds_layout_last(const struct ds_layout *l)
{
	return ds_layout_addr(l, l->servers, 0) - 1;
}

u64 ds_layout_region_start(const struct ds_layout *l, u32 region)
{
	return region_offset[region] << (l->server_shift - DS_LAYOUT_SERVER_SHIFT);
}

u64 ds_layout_region_end(const struct ds_layout *l, u32 region)
{
	return ds_layout_region_start(l, region + 1);
}

const char *ds_region_name(u32 region)
{
	static const char * const names[DS_REGION_COUNT] = {
		[DS_REGION_ROOT] = "root",
		[DS_REGION_LEVEL1] = "level 1",
		[DS_REGION_LEVEL2] = "level 2",
		[DS_REGION_LEVEL3] = "level 3",
		[DS_REGION_LEAF] = "leaf",
	};

	return region < DS_REGION_COUNT ? names[region] : "unknown";
}
