/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of address spaces: their sources, and what all of these tests do.
 */
#ifndef CORE_VSPACE_H
#define CORE_VSPACE_H

#include "core_test.h"
#include "rdm/buddy.c"
#include "rdm/pagemap.c"
#include "rdm/segtable.c"
#include "rdm/vrange.c"
#include "rdm/vspace.c"

#define PAGE	4096ull
#define READ	DS_ACCESS_READ
#define WRITE	DS_ACCESS_WRITE

static struct ds_vspace_run runs[DS_VSPACE_RUNS];

static inline struct ds_vspace *create(u32 kind, u64 pages)
{
	struct ds_vspace_attr attr = {
		.kind = kind, .page_shift = 12, .access = DS_ACCESS_ALL,
		.size = pages * PAGE, .seed = random_state,
	};
	struct ds_vspace *s = NULL;

	assert_int_equal(ds_vspace_create(&attr, &s), 0);
	return s;
}

static inline u64 alloc(struct ds_vspace *s, u64 length)
{
	struct ds_vspace_grant grant = { 0 };

	assert_int_equal(ds_vspace_alloc(s, length, 0, &grant), 0);
	return grant.address;
}

static inline int translate(struct ds_vspace *s, u64 address, u64 length)
{
	return ds_vspace_translate(s, address, length, READ, runs);
}

/* Nothing is allocated: the pool is one block again (its size is a power of two). */
static inline void assert_empty(const struct ds_vspace *s)
{
	struct ds_vspace_usage usage;

	ds_vspace_usage(s, &usage);
	assert_int_equal(usage.allocations, 0);
	assert_int_equal(usage.free_bytes, s->attr.size);
	assert_int_equal(usage.largest_free, s->attr.size);
	assert_int_equal(s->map.mapped, 0);
	if (s->attr.kind != DS_PACKET_DIRECT)
		assert_int_equal(ds_vranges_find(&s->addresses, 1, true), s->addresses.pages);
}

#endif
