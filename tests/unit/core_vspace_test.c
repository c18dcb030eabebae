// SPDX-License-Identifier: Apache-2.0
/* Address spaces of each kind: to the byte, and to the last page. */
#include "core_vspace.h"

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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
