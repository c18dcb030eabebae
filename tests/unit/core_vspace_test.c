// SPDX-License-Identifier: Apache-2.0
/* Address spaces of each kind: to the byte, to the last page, and against a plain model. */
#include "core_rdm.h"
#include "rdm/buddy.c"
#include "rdm/pagemap.c"
#include "rdm/segtable.c"
#include "rdm/vrange.c"
#include "rdm/vspace.c"

#define PAGE	4096ull
#define READ	DS_ACCESS_READ
#define WRITE	DS_ACCESS_WRITE

static struct ds_vspace_run runs[DS_VSPACE_RUNS];

static struct ds_vspace *create(u32 kind, u64 pages)
{
	struct ds_vspace_attr attr = {
		.kind = kind, .page_shift = 12, .access = DS_ACCESS_ALL,
		.size = pages * PAGE, .seed = random_state,
	};
	struct ds_vspace *s = NULL;

	assert_int_equal(ds_vspace_create(&attr, &s), 0);
	return s;
}

static u64 alloc(struct ds_vspace *s, u64 length)
{
	struct ds_vspace_grant grant = { 0 };

	assert_int_equal(ds_vspace_alloc(s, length, 0, &grant), 0);
	return grant.address;
}

static int translate(struct ds_vspace *s, u64 address, u64 length)
{
	return ds_vspace_translate(s, address, length, READ, runs);
}

/* Nothing is allocated: the pool is one block again (its size is a power of two). */
static void assert_empty(const struct ds_vspace *s)
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

static void wrong_attributes(void **state)
{
	static const struct ds_vspace_attr good = { DS_PACKET_HASH, 12, 7, 1 << 20, 1 };
	struct ds_vspace *untouched = (struct ds_vspace *)&good, *s = untouched;
	struct ds_vspace_attr bad;
	size_t i;
	const struct { u32 kind, page_shift, access; u64 size; } wrong[] = {
		{ 3, 12, 7, 1 << 20 }, { ~0u, 12, 7, 1 << 20 }, { 2, 11, 7, 1 << 20 },
		{ 2, 22, 7, 1 << 22 }, { 2, 64, 7, 1 << 20 }, { 2, 12, 0, 1 << 20 },
		{ 2, 12, 8, 1 << 20 }, { 2, 12, 7, 0 }, { 2, 12, 7, 4095 }, { 2, 12, 7, 4097 },
		{ 2, 13, 7, 4096 }, { 0, 12, 7, 1ull << 44 }, { 0, 12, 7, ~0ull },
	};

	(void)state;
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		bad = good;
		bad.kind = wrong[i].kind;
		bad.page_shift = wrong[i].page_shift;
		bad.access = wrong[i].access;
		bad.size = wrong[i].size;
		assert_int_equal(ds_vspace_create(&bad, &s), -EINVAL);
		assert_ptr_equal(s, untouched);
	}
	ds_vspace_destroy(NULL);
}

static void wrong_calls(void **state)
{
	u32 kind;

	(void)state;
	for (kind = DS_PACKET_DIRECT; kind <= DS_PACKET_HASH; kind++) {
		struct ds_vspace_attr attr = { kind, 12, READ | WRITE, 16 * PAGE, 1 };
		struct ds_vspace_grant grant = { 1, 2, 3 };
		struct ds_vspace *s;
		u64 a;

		assert_int_equal(ds_vspace_create(&attr, &s), 0);
		assert_int_equal(ds_vspace_free(s, 0, 0), -EFAULT);
		assert_int_equal(ds_vspace_alloc(s, 0, 0, &grant), -EINVAL);
		assert_int_equal(ds_vspace_alloc(s, 16 * PAGE + 1, 0, &grant), -EINVAL);
		assert_int_equal(ds_vspace_alloc(s, ~0ull, 0, &grant), -EINVAL);
		assert_int_equal(ds_vspace_alloc(s, 1, DS_ACCESS_ATOMIC, &grant), -EACCES);
		assert_int_equal(ds_vspace_alloc(s, 1, DS_ACCESS_ALL, &grant), -EACCES);
		assert_int_equal(ds_vspace_alloc(s, 1, 8, &grant), -EACCES);
		assert_int_equal(ds_vspace_alloc(s, 1, ~0u, &grant), -EACCES);
		assert_int_equal(grant.address, 1);
		assert_int_equal(grant.offset, 2);
		assert_int_equal(grant.generation, 3);
		a = alloc(s, PAGE + 5);
		assert_int_equal(ds_vspace_free(s, a + 1, 0), -EFAULT);
		assert_int_equal(ds_vspace_free(s, a + PAGE, 0), -EFAULT);
		assert_int_equal(ds_vspace_free(s, ~0ull, 0), -EFAULT);
		assert_int_equal(ds_vspace_free(s, a, PAGE), -EINVAL);
		assert_int_equal(ds_vspace_free(s, a, 2 * PAGE), -EINVAL);
		assert_int_equal(ds_vspace_translate(s, a, 1, 0, runs), -EINVAL);
		assert_int_equal(translate(s, a, 0), -EINVAL);
		assert_int_equal(translate(s, a, DS_PACKET_MAX_LENGTH + 1), -EINVAL);
		assert_int_equal(translate(s, a, ~0ull), -EINVAL);
		assert_int_equal(ds_vspace_free(s, a, PAGE + 5), 0);
		assert_int_equal(ds_vspace_free(s, a, PAGE + 5), -EFAULT);
		assert_empty(s);
		ds_vspace_destroy(s);
	}
}

/* Memory fails at each place in turn: nothing has changed, nothing is lost. */
static void memory_runs_out(void **state)
{
	struct ds_vspace_attr attr = { DS_PACKET_HASH, 12, 7, 64 * PAGE, 1 };
	struct ds_vspace_grant grant;
	struct ds_vspace *s = NULL;
	int i, ret;

	(void)state;
	for (attr.kind = DS_PACKET_DIRECT; attr.kind <= DS_PACKET_HASH; attr.kind++) {
		for (i = 0;; i++) {
			allocs_left = i;
			ret = ds_vspace_create(&attr, &s);
			if (!ret)
				ret = ds_vspace_alloc(s, PAGE + 1, 0, &grant);
			allocs_left = -1;
			if (!ret)
				break;
			assert_int_equal(ret, -ENOMEM);
			if (s)
				assert_empty(s);
			ds_vspace_destroy(s);
			s = NULL;
			assert_int_equal(allocs_held, 0);
		}
		assert_int_equal(i, 3 + 2 * (attr.kind != DS_PACKET_DIRECT) +
				 (attr.kind == DS_PACKET_HASH));
		assert_int_equal(ds_vspace_free(s, grant.address, 0), 0);
		assert_empty(s);
		ds_vspace_destroy(s);
		s = NULL;
	}
}

/* No chain is left: what was mapped for the allocation until then is mapped no longer. */
static void a_failed_allocation_leaves_nothing(void **state)
{
	struct ds_vspace_grant grant = { 0 };
	struct ds_vspace *s = create(DS_PACKET_HASH, 256);
	int ret, n;
	u32 page;
	u64 a;

	(void)state;
	/* All pages in one bucket, as no seed does it: room for 28. */
	s->map.count = 1;
	s->map.free_chain = 0;
	for (n = 0; n < 3; n++)
		ds_pagemap_put_chain(&s->map, &s->map.buckets[1 + n]);
	a = alloc(s, 5 * PAGE);
	for (n = 0; !(ret = ds_vspace_alloc(s, 3 * PAGE + 1, 0, &grant));)
		n++;
	assert_int_equal(ret, -ENOMEM);
	assert_int_equal(n, 5);
	assert_int_equal(s->map.mapped, 25);
	assert_int_equal(s->pool.free, 256 - 25);
	assert_int_equal(s->allocations.count, 6);
	assert_int_equal(translate(s, a, 5 * PAGE), 1);
	/* Its addresses are free, too: 6 allocations have 31 pages, with those behind them. */
	n = 0;
	for (page = 1; page < s->addresses.pages; page++)
		n += s->addresses.used[page / 64] >> page % 64 & 1;
	assert_int_equal(n, 31);
	assert_int_equal(ds_vspace_free(s, a, 0), 0);
	assert_int_equal(ds_vspace_alloc(s, 3 * PAGE + 1, 0, &grant), 0);
	ds_vspace_destroy(s);
}

/* The pool has room, but addresses are used up. */
static void addresses_are_used_up(void **state)
{
	struct ds_vspace_grant grant = { 0 };
	struct ds_vspace *s;
	u64 a;
	u32 kind;

	(void)state;
	for (kind = DS_PACKET_SEGMENTS; kind <= DS_PACKET_HASH; kind++) {
		s = create(kind, 64);
		ds_vranges_destroy(&s->addresses);
		assert_int_equal(ds_vranges_init(&s->addresses, 10), 0);
		a = alloc(s, 5 * PAGE);
		assert_int_equal(ds_vspace_alloc(s, 3 * PAGE, 0, &grant), -ENOSPC);
		assert_int_equal(grant.address, 0);
		assert_int_equal(s->pool.free, 59);
		assert_int_equal(s->allocations.count, 1);
		assert_int_equal(ds_vspace_free(s, a, 0), 0);
		assert_empty(s);
		ds_vspace_destroy(s);
	}
}

static void ends_of_an_allocation(struct ds_vspace *s, u64 a, u64 length)
{
	assert_int_equal(translate(s, a, 1), 1);
	assert_int_equal(translate(s, a + length - 1, 1), 1);
	assert_int_equal(translate(s, a - 1, 1), -EFAULT);
	assert_int_equal(translate(s, a - 1, 2), -EFAULT);
	assert_int_equal(translate(s, a + length - 1, 2), -EFAULT);
	assert_int_equal(translate(s, a + length, 1), -EFAULT);
	assert_int_equal(translate(s, a, ~0ull), -EINVAL);
	if (length <= DS_PACKET_MAX_LENGTH)
		assert_true(translate(s, a, length) > 0);
	if (length < DS_PACKET_MAX_LENGTH)
		assert_int_equal(translate(s, a, length + 1), -EFAULT);
	if (length > 1)
		assert_int_equal(translate(s, a + 1, min(length - 1, 65536ull)), 1);
}

/* The original checked the start of a range only, and knew only the start of an allocation. */
static void defect_2_both_ends_are_checked(void **state)
{
	static const u64 lengths[] = { 1, 63, 64, 65, 4095, 4096, 4097, 8191, 8192, 8193, 65535, 65536,
				       65537, 100000 };
	struct ds_vspace *s;
	size_t i, j;
	u32 kind;

	(void)state;
	for (kind = DS_PACKET_SEGMENTS; kind <= DS_PACKET_HASH; kind++) {
		s = create(kind, 256);
		for (i = 0; i < ARRAY_SIZE(lengths); i++) {
			u64 a = alloc(s, lengths[i]), b = alloc(s, lengths[i]);

			for (j = 0; j < 3; j++) {
				ends_of_an_allocation(s, a, lengths[i]);
				ends_of_an_allocation(s, b, lengths[i]);
			}
			/* Across both, and from one into the hole where the other was. */
			assert_int_equal(translate(s, a, 65536), lengths[i] < 65536 ? -EFAULT : 1);
			assert_int_equal(translate(s, b - 5000, 5001), -EFAULT);
			assert_int_equal(ds_vspace_free(s, b, lengths[i]), 0);
			ends_of_an_allocation(s, a, lengths[i]);
			assert_int_equal(translate(s, b, 1), -EFAULT);
			assert_int_equal(translate(s, b - 1, 2), -EFAULT);
			assert_int_equal(ds_vspace_free(s, a, 0), 0);
			assert_empty(s);
		}
		ds_vspace_destroy(s);
	}
}

static void ranges_that_wrap(void **state)
{
	struct ds_vspace *s;
	u32 kind;

	(void)state;
	for (kind = DS_PACKET_DIRECT; kind <= DS_PACKET_HASH; kind++) {
		s = create(kind, 16);
		alloc(s, 16 * PAGE);
		assert_int_equal(translate(s, ~0ull, 1), -EFAULT);
		assert_int_equal(translate(s, ~0ull, 2), -EFAULT);
		assert_int_equal(translate(s, -4096ull, 4096), -EFAULT);
		assert_int_equal(translate(s, -4096ull, 8192), -EFAULT);
		assert_int_equal(translate(s, -1ull, 65536), -EFAULT);
		/* Numbers of pages have 32 bits, addresses more. */
		assert_int_equal(translate(s, (1ull << 44) + PAGE, 1), -EFAULT);
		assert_int_equal(translate(s, (1ull << 44) - 1, 2), -EFAULT);
		ds_vspace_destroy(s);
	}
}

static void direct_is_the_pool(void **state)
{
	struct ds_vspace_grant grant;
	struct ds_vspace *s = create(DS_PACKET_DIRECT, 64);

	(void)state;
	assert_int_equal(translate(s, 0, 65536), 1);
	assert_int_equal(runs[0].offset, 0);
	assert_int_equal(runs[0].length, 65536);
	assert_int_equal(translate(s, 64 * PAGE - 1, 1), 1);
	assert_int_equal(runs[0].offset, 64 * PAGE - 1);
	assert_int_equal(translate(s, 64 * PAGE - 1, 2), -EFAULT);
	assert_int_equal(translate(s, 64 * PAGE, 1), -EFAULT);
	assert_int_equal(ds_vspace_alloc(s, 5, 0, &grant), 0);
	assert_int_equal(grant.address, 0);
	assert_int_equal(grant.offset, 0);
	assert_int_equal(grant.generation, 1);
	assert_int_equal(ds_vspace_alloc(s, 5, 0, &grant), 0);
	assert_int_equal(grant.address, PAGE);
	assert_int_equal(grant.offset, PAGE);
	/* It cannot keep anybody from an allocation, so it does not say that it can. */
	assert_int_equal(ds_vspace_alloc(s, 5, READ, &grant), -EACCES);
	/* What is freed can be had at once. */
	assert_int_equal(ds_vspace_free(s, 0, 5), 0);
	assert_int_equal(alloc(s, 1), 0);
	ds_vspace_destroy(s);
}

/* The original looked an address up in a table that nobody had filled. */
static void defect_3_nothing_allocated_is_nothing_found(void **state)
{
	struct ds_vspace *s;
	u64 page;
	u32 kind;

	(void)state;
	for (kind = DS_PACKET_SEGMENTS; kind <= DS_PACKET_HASH; kind++) {
		s = create(kind, 16);
		for (page = 0; page < 1000; page++)
			assert_int_equal(translate(s, page * PAGE, 1), -EFAULT);
		assert_int_equal(ds_vspace_free(s, alloc(s, 16 * PAGE), 0), 0);
		for (page = 0; page < 1000; page++)
			assert_int_equal(translate(s, page * PAGE, 1), -EFAULT);
		ds_vspace_destroy(s);
	}
}

static void defect_5_address_0_is_nobodys(void **state)
{
	struct ds_vspace *s;
	u32 kind, i;

	(void)state;
	for (kind = DS_PACKET_SEGMENTS; kind <= DS_PACKET_HASH; kind++) {
		s = create(kind, 16);
		for (i = 0; i < 16; i++)
			assert_int_not_equal(alloc(s, 1), 0);
		assert_int_equal(translate(s, 0, 1), -EFAULT);
		assert_int_equal(translate(s, PAGE - 1, 1), -EFAULT);
		assert_int_equal(translate(s, PAGE - 1, 2), -EFAULT);
		ds_vspace_destroy(s);
	}
}

/* The original asked for READ always, so that nothing was ever refused. */
static void defect_7_each_access_is_checked(void **state)
{
	struct ds_vspace_grant grant;
	struct ds_vspace *s;
	u32 kind, space, has, wants, i;

	(void)state;
	for (kind = DS_PACKET_DIRECT; kind <= DS_PACKET_HASH; kind++) {
		for (space = 1; space < 8; space++) {
			struct ds_vspace_attr attr = { kind, 12, space, 16 * PAGE, 1 };

			assert_int_equal(ds_vspace_create(&attr, &s), 0);
			for (has = 0; has < 8; has++) {
				if (has & ~space || (has && has != space && !kind))
					continue;
				assert_int_equal(ds_vspace_alloc(s, PAGE + 7, has, &grant), 0);
				for (wants = 1, i = 0; i < 14; wants = 1 + ++i % 7)
					assert_int_equal(ds_vspace_translate(s, grant.address + 3,
									     PAGE, wants, runs) < 0,
							 !!(wants & ~(has ? has : space)));
				assert_int_equal(ds_vspace_translate(s, grant.address + 3, PAGE, 8,
								     runs), -EACCES);
				assert_int_equal(ds_vspace_free(s, grant.address, 0), 0);
			}
			ds_vspace_destroy(s);
		}
	}
}

static void hash_takes_what_pieces_there_are(void **state)
{
	struct ds_vspace *s = create(DS_PACKET_HASH, 64);
	struct ds_vspace_grant grant;
	u64 a[64];
	u32 i;

	(void)state;
	for (i = 0; i < 64; i++)
		a[i] = alloc(s, PAGE);
	for (i = 0; i < 64; i += 2)
		assert_int_equal(ds_vspace_free(s, a[i], PAGE), 0);
	assert_int_equal(ds_vspace_alloc(s, 33 * PAGE, 0, &grant), -ENOSPC);
	assert_int_equal(ds_vspace_alloc(s, 32 * PAGE - 1, 0, &grant), 0);
	assert_int_equal(grant.offset, 0);
	/* A range that begins within a page touches 17, none beside the next. */
	assert_int_equal(translate(s, grant.address + 1, 65536), DS_VSPACE_RUNS);
	for (i = 0; i < DS_VSPACE_RUNS; i++) {
		assert_int_equal(runs[i].offset, 2 * i * PAGE + !i);
		assert_int_equal(runs[i].length, i == 0 ? 4095 : i == 16 ? 1 : 4096);
	}
	ends_of_an_allocation(s, a[1], PAGE);
	assert_int_equal(translate(s, grant.address + 32 * PAGE - 2, 1), 1);
	assert_int_equal(translate(s, grant.address + 32 * PAGE - 1, 1), -EFAULT);
	assert_int_equal(ds_vspace_free(s, grant.address, 0), 0);
	for (i = 1; i < 64; i += 2)
		assert_int_equal(ds_vspace_free(s, a[i], PAGE), 0);
	assert_empty(s);
	/* Neighbours in the pool are one run. */
	assert_int_equal(translate(s, alloc(s, 20 * PAGE) + 1, 65536), 1);
	assert_int_equal(runs[0].length, 65536);
	ds_vspace_destroy(s);
}

static void until_full_and_back_to_empty(void **state)
{
	static u64 a[4096];
	struct ds_vspace_grant grant;
	struct ds_vspace *s;
	u32 kind, i, round;

	(void)state;
	for (kind = DS_PACKET_DIRECT; kind <= DS_PACKET_HASH; kind++) {
		s = create(kind, 4096);
		for (round = 0; round < 10; round++) {
			for (i = 0; i < 4096; i++)
				a[i] = alloc(s, 1 + i);
			for (i = 0; i < 4096; i++)
				assert_int_equal(translate(s, a[i], 1 + i), 1);
			assert_int_equal(ds_vspace_alloc(s, 1, 0, &grant), -ENOSPC);
			for (i = 0; i < 4096; i++)
				assert_int_equal(ds_vspace_free(s, a[i * 5 % 4096], 0), 0);
			assert_empty(s);
		}
		assert_int_equal(ds_vspace_free(s, alloc(s, 4096 * PAGE), 0), 0);
		assert_empty(s);
		ds_vspace_destroy(s);
	}
}

/* An address of an allocation that is gone stays invalid for a generation. */
static void addresses_come_again_in_another_generation(void **state)
{
	struct ds_vspace_grant first, grant;
	struct ds_vspace *s;
	u32 kind, n;

	(void)state;
	for (kind = DS_PACKET_SEGMENTS; kind <= DS_PACKET_HASH; kind++) {
		s = create(kind, 16);
		assert_int_equal(ds_vspace_alloc(s, PAGE, 0, &first), 0);
		assert_int_equal(first.generation, 1);
		assert_int_equal(ds_vspace_free(s, first.address, 0), 0);
		for (n = 0;; n++) {
			assert_int_equal(ds_vspace_alloc(s, PAGE, 0, &grant), 0);
			assert_int_equal(ds_vspace_free(s, grant.address, 0), 0);
			if (grant.generation == 2)
				break;
			assert_int_not_equal(grant.address, first.address);
		}
		assert_int_equal(grant.address, first.address);
		assert_true(n > 4 * 16);
		ds_vspace_destroy(s);
	}
}

static void pages_of_all_sizes(void **state)
{
	struct ds_vspace_attr attr = { .access = DS_ACCESS_ALL, .seed = 3 };
	struct ds_vspace *s;
	u64 a;

	(void)state;
	for (attr.kind = DS_PACKET_SEGMENTS; attr.kind <= DS_PACKET_HASH; attr.kind++) {
		for (attr.page_shift = 12; attr.page_shift <= 21; attr.page_shift++) {
			attr.size = 8ull << attr.page_shift;
			assert_int_equal(ds_vspace_create(&attr, &s), 0);
			alloc(s, 1);
			a = alloc(s, (3ull << attr.page_shift) - 1);
			ends_of_an_allocation(s, a, (3ull << attr.page_shift) - 1);
			assert_int_equal(a & ((1ull << attr.page_shift) - 1), 0);
			ds_vspace_destroy(s);
		}
	}
}

/* ---- against a model: allocations in a list, with the place of each page ---- */

#define POOL	512
#define HELD	96
#define LONGEST	40

static struct held {
	u64 address, length;
	u32 access;
	u64 offset[LONGEST];
} held[HELD];

static u32 holder[POOL];	/* of each page of the pool: 1 more than its place in the list */
static u32 count;

static u32 pages_of(const struct held *h)
{
	return (u32)((h->length + PAGE - 1) / PAGE);
}

/* Learn where a new allocation is: in pages that are nobody's. */
static void model_add(struct ds_vspace *s, const struct ds_vspace_grant *grant, u64 length, u32 access)
{
	struct held *h = &held[count++];
	u32 i;

	*h = (struct held) { .address = grant->address, .length = length, .access = access };
	for (i = 0; i < pages_of(h); i++) {
		assert_int_equal(ds_vspace_translate(s, h->address + i * PAGE, 1, access, runs), 1);
		assert_int_equal(runs[0].offset % PAGE, 0);
		assert_true(runs[0].offset < POOL * PAGE);
		assert_int_equal(holder[runs[0].offset / PAGE], 0);
		holder[runs[0].offset / PAGE] = 1;
		h->offset[i] = runs[0].offset;
	}
	assert_int_equal(h->offset[0], grant->offset);
}

static void model_remove(u32 i)
{
	u32 page;

	for (page = 0; page < pages_of(&held[i]); page++)
		holder[held[i].offset[page] / PAGE] = 0;
	held[i] = held[--count];
}

static u32 model_free(void)
{
	u32 i, n = 0;

	for (i = 0; i < POOL; i++)
		n += !holder[i];
	return n;
}

/* What translation must say; for 1 and more, where each byte is. */
static int model_translate(u64 address, u64 length, u32 access)
{
	u32 i;

	for (i = 0; i < count; i++) {
		const struct held *h = &held[i];

		if (address < h->address || address + length > h->address + h->length)
			continue;
		return access & ~h->access ? -EACCES : (int)i;
	}
	return -EFAULT;
}

static void check_runs(int n, const struct held *h, u64 address, u64 length)
{
	u64 at = address - h->address, done;
	int i;

	for (i = 0; i < n; i++) {
		for (done = 0; done < runs[i].length;) {
			u64 in_page = at % PAGE, some = min(PAGE - in_page, runs[i].length - done);

			assert_int_equal(runs[i].offset + done, h->offset[at / PAGE] + in_page);
			done += some;
			at += some;
		}
		if (i)
			assert_int_not_equal(runs[i - 1].offset + runs[i - 1].length, runs[i].offset);
	}
	assert_int_equal(at, address - h->address + length);
}

static void random_translate(struct ds_vspace *s)
{
	const struct held *h = &held[random_below(count)];
	u64 length = 1 + random_below(1u << (1 + random_below(16)));
	u64 address = h->address + random_below((u32)h->length + 1);
	u32 access = 1 + random_below(7);
	int expected, n;

	switch (random_below(4)) {
	case 0:	/* to the end, or one more or less */
		address = h->address + h->length - min(length, h->length) + random_below(3) - 1;
		break;
	case 1:	/* from the start, or before it */
		address = h->address - random_below(2);
		break;
	}
	expected = model_translate(address, length, access);
	n = ds_vspace_translate(s, address, length, access, runs);
	if (expected < 0) {
		assert_int_equal(n, expected);
	} else {
		assert_in_range(n, 1, DS_VSPACE_RUNS);
		check_runs(n, &held[expected], address, length);
	}
}

static void random_alloc(struct ds_vspace *s)
{
	u64 length = 1 + random_below((u32)(random_below(LONGEST) * PAGE + PAGE));
	u32 pages = (u32)((length + PAGE - 1) / PAGE), access = random_below(8);
	struct ds_vspace_grant grant;
	int ret = ds_vspace_alloc(s, length, access, &grant);

	if (ret) {
		assert_int_equal(ret, -ENOSPC);
		if (s->attr.kind == DS_PACKET_HASH)
			assert_true(pages > model_free());
	} else {
		model_add(s, &grant, length, access ? access : DS_ACCESS_ALL);
	}
}

static void random_against_a_model(struct ds_vspace *s)
{
	u64 steps = random_steps(), step;
	struct ds_vspace_usage usage;
	u32 i;

	count = 0;
	memset(holder, 0, sizeof(holder));
	for (step = 0; step < steps; step++) {
		u32 what = random_below(8);

		if (what == 0 && count < HELD) {
			random_alloc(s);
		} else if (what == 1 && count > random_below(HELD / 2)) {
			i = random_below(count);
			assert_int_equal(ds_vspace_free(s, held[i].address,
							random_below(2) ? held[i].length : 0), 0);
			model_remove(i);
		} else if (count) {
			random_translate(s);
		}
		ds_vspace_usage(s, &usage);
		assert_int_equal(usage.allocations, count);
		assert_int_equal(usage.free_bytes, model_free() * PAGE);
	}
	assert_true(usage.generation > steps / 100000);
	while (count--)
		assert_int_equal(ds_vspace_free(s, held[count].address, 0), 0);
	assert_empty(s);
	ds_vspace_destroy(s);
}

static void random_segments(void **state)
{
	(void)state;
	random_against_a_model(create(DS_PACKET_SEGMENTS, POOL));
}

static void random_hash(void **state)
{
	(void)state;
	random_against_a_model(create(DS_PACKET_HASH, POOL));
}

/* What one request costs the others that wait is bounded. */
static void a_requests_work_is_bounded(void **state)
{
	struct ds_vspace_grant grant;
	struct ds_vspace *s;
	u32 i;

	(void)state;
	s = create(DS_PACKET_HASH, 4 * DS_VSPACE_HASH_PAGES);
	assert_int_equal(ds_vspace_alloc(s, DS_VSPACE_HASH_PAGES * PAGE + 1, 0, &grant), -EINVAL);
	assert_int_equal(ds_vspace_alloc(s, DS_VSPACE_HASH_PAGES * PAGE, 0, &grant), 0);
	assert_int_equal(ds_vspace_free(s, grant.address, 0), 0);
	assert_empty(s);
	ds_vspace_destroy(s);

	s = create(DS_PACKET_SEGMENTS, 2 * DS_VSPACE_ALLOCATIONS);
	for (i = 0; i < DS_VSPACE_ALLOCATIONS; i++)
		alloc(s, 1);
	assert_int_equal(ds_vspace_alloc(s, 1, 0, &grant), -ENOSPC);
	assert_int_equal(ds_vspace_free(s, s->allocations.entry[i - 1].base, 0), 0);
	alloc(s, 1);
	ds_vspace_destroy(s);
}

/* What the pool has not uses up no addresses: freed ones stay away as long as before. */
static void a_failed_allocation_takes_no_address(void **state)
{
	struct ds_vspace *s = create(DS_PACKET_HASH, 64);
	struct ds_vspace_grant grant;
	u64 first = alloc(s, PAGE), i;

	(void)state;
	assert_int_equal(ds_vspace_free(s, first, 0), 0);
	alloc(s, PAGE);
	for (i = 0; i < 100000; i++)
		assert_int_equal(ds_vspace_alloc(s, 64 * PAGE, 0, &grant), -ENOSPC);
	assert_int_equal(ds_vspace_alloc(s, PAGE, 0, &grant), 0);
	assert_int_equal(grant.generation, 1);
	assert_int_not_equal(grant.address, first);
	ds_vspace_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wrong_attributes),
		TEST(wrong_calls),
		TEST(memory_runs_out),
		TEST(a_failed_allocation_leaves_nothing),
		TEST(addresses_are_used_up),
		TEST(defect_2_both_ends_are_checked),
		TEST(ranges_that_wrap),
		TEST(direct_is_the_pool),
		TEST(defect_3_nothing_allocated_is_nothing_found),
		TEST(defect_5_address_0_is_nobodys),
		TEST(defect_7_each_access_is_checked),
		TEST(hash_takes_what_pieces_there_are),
		TEST(until_full_and_back_to_empty),
		TEST(addresses_come_again_in_another_generation),
		TEST(pages_of_all_sizes),
		TEST(a_requests_work_is_bounded),
		TEST(a_failed_allocation_takes_no_address),
		TEST(random_segments),
		TEST(random_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
