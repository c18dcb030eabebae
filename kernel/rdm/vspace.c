// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: address spaces of the packet service.
 */
#include <ds/ioctl.h>

#include "buddy.h"
#include "pagemap.h"
#include "segtable.h"
#include "vrange.h"
#include "vspace.h"

/*
 * Addresses: so many pages for each of the pool, and at least so many. An
 * allocation takes at most two for each of the pool's (the second stays unmapped),
 * so that a generation lasts until the pool was given at least four times.
 */
#define DS_VSPACE_ADDRESSES	8
#define DS_VSPACE_ADDRESSES_MIN	65536

/**
 * struct ds_vspace - a space
 * @attr: what it is
 * @pool: its pages
 * @addresses: not in DIRECT
 * @allocations: all of them
 * @map: in HASH only
 */
struct ds_vspace {
	struct ds_vspace_attr attr;
	struct ds_buddy pool;
	struct ds_vranges addresses;
	struct ds_segtable allocations;
	struct ds_pagemap map;
};

static_assert((u64)DS_ACCESS_ALL << DS_PAGEMAP_ACCESS_SHIFT < 1ull << (32 + DS_PAGEMAP_BITS),
	      "what is known of a page has room for its access");

static u64 ds_vspace_page_size(const struct ds_vspace *s)
{
	return 1ull << s->attr.page_shift;
}

static u32 ds_vspace_pages(const struct ds_vspace *s, u64 length)
{
	return (u32)((length + ds_vspace_page_size(s) - 1) >> s->attr.page_shift);
}

/* ---- beginning and end ---- */

static bool ds_vspace_attr_ok(const struct ds_vspace_attr *a)
{
	return a->kind <= DS_PACKET_HASH &&
	       a->page_shift >= DS_PACKET_PAGE_SHIFT_MIN &&
	       a->page_shift <= DS_PACKET_PAGE_SHIFT_MAX &&
	       a->access && !(a->access & ~DS_ACCESS_ALL) &&
	       a->size && !(a->size & ((1ull << a->page_shift) - 1)) &&
	       a->size >> a->page_shift <= 0xffffffff;
}

static int ds_vspace_init(struct ds_vspace *s)
{
	u32 pages = ds_vspace_pages(s, s->attr.size);
	u64 addresses = max((u64)pages * DS_VSPACE_ADDRESSES, (u64)DS_VSPACE_ADDRESSES_MIN);
	int ret;

	ds_segtable_init(&s->allocations);
	ret = ds_buddy_init(&s->pool, pages);
	if (!ret && s->attr.kind != DS_PACKET_DIRECT)
		ret = ds_vranges_init(&s->addresses, (u32)min(addresses, 0xffffffffull));
	if (!ret && s->attr.kind == DS_PACKET_HASH)
		ret = ds_pagemap_init(&s->map, pages, s->attr.seed);
	return ret;
}

int ds_vspace_create(const struct ds_vspace_attr *attr, struct ds_vspace **out)
{
	struct ds_vspace *s;
	int ret;

	if (!ds_vspace_attr_ok(attr))
		return -EINVAL;
	s = ds_alloc(sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->attr = *attr;
	ret = ds_vspace_init(s);
	if (ret)
		ds_vspace_destroy(s);
	else
		*out = s;
	return ret;
}

void ds_vspace_destroy(struct ds_vspace *s)
{
	if (!s)
		return;
	ds_pagemap_destroy(&s->map);
	ds_vranges_destroy(&s->addresses);
	ds_segtable_destroy(&s->allocations);
	ds_buddy_destroy(&s->pool);
	ds_free(s);
}

/* ---- pages of HASH ---- */

/* Map pages no longer, and give what was behind them back, neighbours at once. */
static void ds_vspace_unmap(struct ds_vspace *s, u32 page, u32 pages)
{
	u32 start = 0, length = 0;

	for (; pages; page++, pages--) {
		u32 value = (u32)ds_pagemap_remove(&s->map, page);

		if (!length || value != start + length) {
			ds_buddy_free(&s->pool, start, length);
			start = value;
			length = 0;
		}
		length++;
		ds_may_resched();
	}
	ds_buddy_free(&s->pool, start, length);
}

/*
 * Map pages to the largest blocks that there are, of which there are enough.
 * @known: of each page, but where it is
 */
static int ds_vspace_map(struct ds_vspace *s, u32 page, u32 pages, u64 known, bool tail)
{
	u32 value = 0, length = 0, i;
	int ret;

	for (i = 0; i < pages; i++, value++, length--) {
		if (!length)
			length = ds_buddy_alloc_some(&s->pool, pages - i, &value);
		if (tail && i == pages - 1)
			known |= DS_PAGEMAP_TAIL;
		ret = ds_pagemap_insert(&s->map, page + i, known | value);
		if (ret) {
			ds_buddy_free(&s->pool, value, length);
			ds_vspace_unmap(s, page, i);
			return ret;
		}
		ds_may_resched();
	}
	return 0;
}

static u64 ds_vspace_known(u32 access)
{
	return DS_PAGEMAP_MAPPED | (u64)access << DS_PAGEMAP_ACCESS_SHIFT;
}

/* ---- allocation ---- */

/* Pages of the pool, and the first of their addresses. */
static int ds_vspace_take(struct ds_vspace *s, u32 pages, u32 access, bool tail,
			  u32 *page, u32 *value)
{
	int ret;

	switch (s->attr.kind) {
	case DS_PACKET_DIRECT:
		ret = ds_buddy_alloc(&s->pool, pages, value);
		*page = *value;
		return ret;
	case DS_PACKET_SEGMENTS:
		ret = ds_buddy_alloc(&s->pool, pages, value);
		if (ret)
			return ret;
		ret = ds_vranges_alloc(&s->addresses, pages, page);
		if (ret)
			ds_buddy_free(&s->pool, *value, pages);
		return ret;
	default:
		if (s->pool.free < pages)
			return -ENOSPC;		/* and no address is used up */
		ret = ds_vranges_alloc(&s->addresses, pages, page);
		if (ret)
			return ret;
		ret = ds_vspace_map(s, *page, pages, ds_vspace_known(access), tail);
		if (ret)
			ds_vranges_free(&s->addresses, *page, pages);
		else
			*value = (u32)ds_pagemap_find(&s->map, *page);
		return ret;
	}
}

static u32 ds_vspace_generation(const struct ds_vspace *s)
{
	return s->attr.kind == DS_PACKET_DIRECT ? 1 : s->addresses.generation;
}

int ds_vspace_alloc(struct ds_vspace *s, u64 length, u32 access, struct ds_vspace_grant *grant)
{
	struct ds_segtable_entry e;
	u32 page, value;
	int ret;

	if (!length || length > s->attr.size ||
	    (s->attr.kind == DS_PACKET_HASH && ds_vspace_pages(s, length) > DS_VSPACE_HASH_PAGES))
		return -EINVAL;
	if (s->allocations.count >= DS_VSPACE_ALLOCATIONS)
		return -ENOSPC;
	if (!access)
		access = s->attr.access;
	if (access & ~s->attr.access ||
	    (s->attr.kind == DS_PACKET_DIRECT && access != s->attr.access))
		return -EACCES;
	ret = ds_segtable_reserve(&s->allocations);
	if (ret)
		return ret;
	ret = ds_vspace_take(s, ds_vspace_pages(s, length), access,
			     length & (ds_vspace_page_size(s) - 1), &page, &value);
	if (ret)
		return ret;
	e = (struct ds_segtable_entry) {
		.base = (u64)page << s->attr.page_shift,
		.limit = ((u64)page << s->attr.page_shift) + length,
		.offset = (u64)value << s->attr.page_shift,
		.access = access,
	};
	ds_segtable_insert(&s->allocations, &e);	/* there is room, and no other is there */
	*grant = (struct ds_vspace_grant) {
		.address = e.base,
		.offset = e.offset,
		.generation = ds_vspace_generation(s),
	};
	return 0;
}

int ds_vspace_free(struct ds_vspace *s, u64 address, u64 length)
{
	const struct ds_segtable_entry *e = ds_segtable_find(&s->allocations, address);
	u32 page, pages;

	if (!e || e->base != address)
		return -EFAULT;
	if (length && length != e->limit - e->base)
		return -EINVAL;
	page = (u32)(address >> s->attr.page_shift);
	pages = ds_vspace_pages(s, e->limit - e->base);
	if (s->attr.kind == DS_PACKET_HASH)
		ds_vspace_unmap(s, page, pages);
	else
		ds_buddy_free(&s->pool, (u32)(e->offset >> s->attr.page_shift), pages);
	if (s->attr.kind != DS_PACKET_DIRECT)
		ds_vranges_free(&s->addresses, page, pages);
	ds_segtable_remove(&s->allocations, address);
	return 0;
}

/* ---- translation ---- */

/* In all of these [address, end) is not empty and does not wrap. */

static int ds_vspace_direct(const struct ds_vspace *s, u64 address, u64 end, u32 access,
			    struct ds_vspace_run *runs)
{
	if (end > s->attr.size)
		return -EFAULT;
	if (access & ~s->attr.access)
		return -EACCES;
	runs[0] = (struct ds_vspace_run) { address, (u32)(end - address) };
	return 1;
}

static int ds_vspace_segments(const struct ds_vspace *s, u64 address, u64 end, u32 access,
			      struct ds_vspace_run *runs)
{
	const struct ds_segtable_entry *e = ds_segtable_find(&s->allocations, address);

	if (!e || end > e->limit)
		return -EFAULT;
	if (access & ~e->access)
		return -EACCES;
	runs[0] = (struct ds_vspace_run) { e->offset + (address - e->base), (u32)(end - address) };
	return 1;
}

/*
 * Pages mapped one behind the other are of one allocation, because behind each
 * allocation is a page that is not mapped; so they have the same access.
 */
static int ds_vspace_hash(struct ds_vspace *s, u64 address, u64 end, u32 access,
			  struct ds_vspace_run *runs)
{
	u64 page_size = ds_vspace_page_size(s), known = 0, at;
	const struct ds_segtable_entry *e;
	int count = 0;
	u32 n;

	if ((end - 1) >> s->attr.page_shift > 0xffffffff)
		return -EFAULT;
	for (at = address; at < end; at += n) {
		u64 in_page = at & (page_size - 1), offset;

		known = ds_pagemap_find(&s->map, (u32)(at >> s->attr.page_shift));
		if (!known)
			return -EFAULT;
		offset = ((u64)(u32)known << s->attr.page_shift) + in_page;
		n = (u32)min(page_size - in_page, end - at);
		if (count && runs[count - 1].offset + runs[count - 1].length == offset)
			runs[count - 1].length += n;
		else
			runs[count++] = (struct ds_vspace_run) { offset, n };
	}
	if (known & DS_PAGEMAP_TAIL) {
		e = ds_segtable_find(&s->allocations, address);
		if (!e || end > e->limit)
			return -EFAULT;
	}
	return access & ~(known >> DS_PAGEMAP_ACCESS_SHIFT) ? -EACCES : count;
}

int ds_vspace_translate(struct ds_vspace *s, u64 address, u64 length, u32 access,
			struct ds_vspace_run runs[DS_VSPACE_RUNS])
{
	u64 end = address + length;

	if (!length || length > DS_PACKET_MAX_LENGTH || !access)
		return -EINVAL;
	if (end < address)
		return -EFAULT;
	switch (s->attr.kind) {
	case DS_PACKET_DIRECT:
		return ds_vspace_direct(s, address, end, access, runs);
	case DS_PACKET_SEGMENTS:
		return ds_vspace_segments(s, address, end, access, runs);
	default:
		return ds_vspace_hash(s, address, end, access, runs);
	}
}

/* ---- counters ---- */

static u64 ds_vspace_table_bytes(const struct ds_vspace *s)
{
	switch (s->attr.kind) {
	case DS_PACKET_DIRECT:
		return 0;
	case DS_PACKET_SEGMENTS:
		return (u64)s->allocations.room * sizeof(struct ds_segtable_entry);
	default:
		return ds_pagemap_bytes(&s->map);
	}
}

void ds_vspace_usage(const struct ds_vspace *s, struct ds_vspace_usage *usage)
{
	*usage = (struct ds_vspace_usage) {
		.allocations = s->allocations.count,
		.free_bytes = (u64)s->pool.free << s->attr.page_shift,
		.largest_free = (u64)ds_buddy_largest(&s->pool) << s->attr.page_shift,
		.generation = ds_vspace_generation(s),
		.table_bytes = ds_vspace_table_bytes(s),
	};
}

const struct ds_vspace_stats *ds_vspace_stats(const struct ds_vspace *s)
{
	return &s->map.stats;
}
