// SPDX-License-Identifier: Apache-2.0
/* Pages by hash: the original's defects, chains until there are no more, and a plain model. */
#include "core_test.h"
#include "rdm/pagemap.c"

#define RW	((u64)3 << DS_PAGEMAP_ACCESS_SHIFT)
#define R	((u64)1 << DS_PAGEMAP_ACCESS_SHIFT)

static struct ds_pagemap m;

static u64 known_of(u32 page)
{
	return DS_PAGEMAP_MAPPED | RW | (page * 2654435761u);
}

static int insert(u32 page)
{
	return ds_pagemap_insert(&m, page, known_of(page));
}

static u32 chains_in_use(void)
{
	u32 n = m.chains, chain;

	for (chain = m.free_chain; chain; n--)
		chain = m.buckets[m.count + chain - 1].meta >> DS_PAGEMAP_CHAIN_SHIFT;
	return n;
}

/* All buckets are empty, and all chains are free. */
static void assert_empty(void)
{
	u32 i;

	assert_int_equal(m.mapped, 0);
	assert_int_equal(chains_in_use(), 0);
	for (i = 0; i < m.count; i++)
		assert_int_equal(m.buckets[i].meta, 0);
	for (i = 0; i < DS_PAGEMAP_FRONT; i++)
		assert_int_equal(m.front[i].known, 0);
}

static void wrong_calls(void **state)
{
	(void)state;
	assert_int_equal(ds_pagemap_init(&m, 0, 1), -EINVAL);
	assert_int_equal(ds_pagemap_init(&m, 10, 1), 0);
	assert_int_equal(ds_pagemap_find(&m, 5), 0);
	assert_int_equal(ds_pagemap_remove(&m, 5), 0);
	assert_int_equal(ds_pagemap_insert(&m, 5, 0), -EINVAL);
	assert_int_equal(ds_pagemap_insert(&m, 5, RW | 7), -EINVAL);
	assert_int_equal(ds_pagemap_insert(&m, 5, DS_PAGEMAP_MAPPED | 1ull << 37), -EINVAL);
	assert_empty();
	assert_int_equal(insert(5), 0);
	assert_int_equal(ds_pagemap_insert(&m, 5, DS_PAGEMAP_MAPPED | 7), -EEXIST);
	assert_int_equal(ds_pagemap_find(&m, 5), known_of(5));
	assert_int_equal(ds_pagemap_remove(&m, 5), known_of(5));
	assert_int_equal(ds_pagemap_remove(&m, 5), 0);
	assert_empty();
	ds_pagemap_destroy(&m);
}

static void memory_runs_out(void **state)
{
	(void)state;
	allocs_left = 0;
	assert_int_equal(ds_pagemap_init(&m, 10, 1), -ENOMEM);
	allocs_left = -1;
}

static void buckets_are_cache_lines(void **state)
{
	u32 pages;

	(void)state;
	for (pages = 1; pages < 100; pages++) {
		assert_int_equal(ds_pagemap_init(&m, pages, 1), 0);
		assert_int_equal((unsigned long)m.buckets % 64, 0);
		assert_true((u8 *)m.buckets - (u8 *)m.memory < 64);
		ds_pagemap_destroy(&m);
	}
}

/* The original's hash was the address: aligned ones shared a bucket. */
static void defect_1_keys_spread_over_buckets(void **state)
{
	static const u32 strides[] = { 1, 2, 3, 64, 512, 513, 1024, 4096, 10946, 65536 };
	static const u64 seeds[] = { 0, 1, 4096, 0x8000000000000000, 0xffffffffffffffff,
				     0x0123456789abcdef };
	enum { PAGES = 60000 };
	u32 i, page, seed;
	size_t s;

	(void)state;
	for (s = 0; s < ARRAY_SIZE(strides); s++) {
		for (seed = 0; seed < ARRAY_SIZE(seeds); seed++) {
			assert_int_equal(ds_pagemap_init(&m, PAGES, seeds[seed]), 0);
			for (i = 0, page = 1; i < PAGES; i++, page += strides[s])
				assert_int_equal(insert(page), 0);
			/* By chance 0.257 of the buckets have more than 7. */
			assert_in_range(chains_in_use() * 1000 / m.count, 200, 290);
			m.stats.chain_steps = 0;
			for (i = 0, page = 1; i < PAGES; i++, page += strides[s])
				assert_int_equal(ds_pagemap_find(&m, page), known_of(page));
			assert_true(m.stats.chain_steps < PAGES / 10);
			for (i = 0, page = 1; i < PAGES; i++, page += strides[s])
				assert_int_equal(ds_pagemap_remove(&m, page), known_of(page));
			assert_empty();
			ds_pagemap_destroy(&m);
		}
	}
}

/* The original compared a key with slots that were empty: page 0 was there always. */
static void defect_5_empty_slots_match_nothing(void **state)
{
	u32 page;

	(void)state;
	assert_int_equal(ds_pagemap_init(&m, 10, 1), 0);
	for (page = 0; page < 100; page++)
		assert_int_equal(ds_pagemap_find(&m, page), 0);
	assert_int_equal(insert(0), 0);
	assert_int_equal(ds_pagemap_find(&m, 0), known_of(0));
	assert_int_equal(ds_pagemap_remove(&m, 0), known_of(0));
	/* Its key stands there still, in both tables. */
	assert_int_equal(ds_pagemap_find(&m, 0), 0);
	assert_int_equal(insert(7), 0);
	assert_int_equal(ds_pagemap_remove(&m, 7), known_of(7));
	assert_int_equal(ds_pagemap_find(&m, 7), 0);
	assert_int_equal(m.stats.misses, 102);
	ds_pagemap_destroy(&m);
}

/* The original's small table forgot permissions, kept what it could not find, and knew no end. */
static void defect_6_the_front_table_knows_all(void **state)
{
	u64 tail = DS_PAGEMAP_MAPPED | DS_PAGEMAP_TAIL | R | 0xffffffff;
	u64 access;

	(void)state;
	assert_int_equal(ds_pagemap_init(&m, 10, 1), 0);
	for (access = 0; access < 8; access++) {
		u64 known = DS_PAGEMAP_MAPPED | access << DS_PAGEMAP_ACCESS_SHIFT | 42;

		assert_int_equal(ds_pagemap_insert(&m, 5, known), 0);
		assert_int_equal(ds_pagemap_find(&m, 5), known);
		assert_int_equal(ds_pagemap_find(&m, 5), known);
		assert_int_equal(m.stats.table_hits, access + 1);
		assert_int_equal(m.stats.front_hits, access + 1);
		assert_int_equal(ds_pagemap_remove(&m, 5), known);
		assert_int_equal(ds_pagemap_find(&m, 5), 0);
	}
	/* A page that is not mapped takes no entry of one that is. */
	assert_int_equal(ds_pagemap_insert(&m, 5, tail), 0);
	assert_int_equal(ds_pagemap_find(&m, 5), tail);
	assert_ptr_equal(ds_pagemap_front(&m, 5), ds_pagemap_front(&m, 5 + 65536));
	assert_int_equal(ds_pagemap_find(&m, 5 + 65536), 0);
	assert_int_equal(ds_pagemap_find(&m, 5), tail);
	assert_int_equal(m.stats.front_hits, 9);
	/* One that is mapped does, and each is still what it is. */
	assert_int_equal(insert(5 + 65536), 0);
	assert_int_equal(ds_pagemap_find(&m, 5 + 65536), known_of(5 + 65536));
	assert_int_equal(ds_pagemap_find(&m, 5), tail);
	assert_int_equal(ds_pagemap_find(&m, 5 + 65536), known_of(5 + 65536));
	assert_int_equal(m.stats.front_hits, 9);
	/* The end of one is not the end of the other. */
	assert_int_equal(ds_pagemap_remove(&m, 5), tail);
	assert_int_equal(ds_pagemap_find(&m, 5 + 65536), known_of(5 + 65536));
	assert_int_equal(m.stats.front_hits, 10);
	ds_pagemap_destroy(&m);
}

/* Pages of one bucket until no chain is left, and back: none is lost, no chain is. */
static void chains_are_used_up(void **state)
{
	static u32 pages[400];
	u32 page, n, i, room, seed;

	(void)state;
	for (seed = 0; seed < 8; seed++) {
		assert_int_equal(ds_pagemap_init(&m, 60, seed), 0);
		room = (m.chains + 1) * DS_PAGEMAP_SLOTS;
		assert_true(room + 1 < ARRAY_SIZE(pages));
		for (page = 0, n = 0; n <= room; page++)
			if (ds_pagemap_first(&m, page).bucket == m.buckets + 3)
				pages[n++] = page;
		for (i = 0; i < room; i++)
			assert_int_equal(insert(pages[i]), 0);
		assert_int_equal(insert(pages[room]), -ENOMEM);
		assert_int_equal(ds_pagemap_find(&m, pages[room]), 0);
		assert_int_equal(m.mapped, room);
		assert_int_equal(chains_in_use(), m.chains);
		/* One goes, one comes. */
		for (i = 0; i < room; i++) {
			assert_int_equal(ds_pagemap_remove(&m, pages[i]), known_of(pages[i]));
			assert_int_equal(insert(pages[room]), 0);
			assert_int_equal(ds_pagemap_remove(&m, pages[room]), known_of(pages[room]));
			assert_int_equal(insert(pages[i]), 0);
		}
		/* Chains are never longer than they must be. */
		for (i = 0; i < room; i++) {
			n = (i * 101 + seed) % room;
			assert_int_equal(ds_pagemap_find(&m, pages[n]), known_of(pages[n]));
			assert_int_equal(ds_pagemap_remove(&m, pages[n]), known_of(pages[n]));
			assert_int_equal(ds_pagemap_find(&m, pages[n]), 0);
			assert_int_equal(chains_in_use(), m.mapped ? (m.mapped - 1) / 7 : 0);
		}
		assert_empty();
		ds_pagemap_destroy(&m);
	}
}

/* Any set of pages has room: full spaces of all sizes, from seeds of all kinds. */
static void full_spaces_have_chains(void **state)
{
	u32 pages, page, seed;

	(void)state;
	for (pages = 1; pages < 100000; pages += 1 + pages / 3) {
		for (seed = 0; seed < 40; seed++) {
			assert_int_equal(ds_pagemap_init(&m, pages, seed * 0x9876543211ull), 0);
			for (page = 0; page < pages; page++)
				assert_int_equal(insert(page * 2 + 1), 0);
			ds_pagemap_destroy(&m);
		}
	}
}

static void a_million_pages_take_14_bytes_each(void **state)
{
	enum { PAGES = 1000000 };
	u32 page;

	(void)state;
	assert_int_equal(ds_pagemap_init(&m, PAGES, 0xfeedface), 0);
	assert_true(ds_pagemap_bytes(&m) <= 14ull * PAGES);
	assert_int_equal(sizeof(m.front), 64 * sizeof(struct ds_pagemap_bucket));
	for (page = 1; page <= PAGES; page++)
		assert_int_equal(insert(page), 0);
	for (page = 1; page <= PAGES; page++)
		assert_int_equal(ds_pagemap_find(&m, page), known_of(page));
	assert_int_equal(ds_pagemap_find(&m, 0), 0);
	assert_int_equal(ds_pagemap_find(&m, PAGES + 1), 0);
	ds_pagemap_destroy(&m);
}

static void numbers_of_32_bits(void **state)
{
	u64 known = DS_PAGEMAP_MAPPED | DS_PAGEMAP_TAIL | RW | 0xffffffff;

	(void)state;
	assert_int_equal(ds_pagemap_init(&m, 6, 1), 0);
	assert_int_equal(ds_pagemap_insert(&m, 0xffffffff, known), 0);
	assert_int_equal(ds_pagemap_insert(&m, 0x7fffffff, known), 0);
	assert_int_equal(ds_pagemap_find(&m, 0xffffffff), known);
	assert_int_equal(ds_pagemap_find(&m, 0x7fffffff), known);
	assert_int_equal(ds_pagemap_find(&m, 0xfffffffe), 0);
	ds_pagemap_destroy(&m);
}

/* ---- against a model: what is known of each page ---- */

#define PAGES	3000
#define SPAN	9000

static u64 model[SPAN];

static void random_against_a_model(void **state)
{
	u64 steps = random_steps(), step, known, hits = 0, misses = 0;
	u32 page, mapped = 0;

	(void)state;
	memset(model, 0, sizeof(model));
	assert_int_equal(ds_pagemap_init(&m, PAGES, random_state), 0);
	for (step = 0; step < steps; step++) {
		page = random_below(SPAN);
		switch (random_below(4)) {
		case 0:
			if (mapped == PAGES)
				break;
			known = DS_PAGEMAP_MAPPED | (u64)random_below(16) << 33 | random_below(~0u);
			assert_int_equal(ds_pagemap_insert(&m, page, known),
					 model[page] ? -EEXIST : 0);
			if (!model[page]) {
				model[page] = known;
				mapped++;
			}
			break;
		case 1:
			assert_int_equal(ds_pagemap_remove(&m, page), model[page]);
			mapped -= !!model[page];
			model[page] = 0;
			break;
		default:
			assert_int_equal(ds_pagemap_find(&m, page), model[page]);
			hits += !!model[page];
			misses += !model[page];
		}
		assert_int_equal(m.mapped, mapped);
	}
	assert_int_equal(m.stats.front_hits + m.stats.table_hits, hits);
	assert_int_equal(m.stats.misses, misses);
	for (page = 0; page < SPAN; page++)
		assert_int_equal(ds_pagemap_remove(&m, page), model[page]);
	assert_empty();
	ds_pagemap_destroy(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wrong_calls),
		TEST(memory_runs_out),
		TEST(buckets_are_cache_lines),
		TEST(defect_1_keys_spread_over_buckets),
		TEST(defect_5_empty_slots_match_nothing),
		TEST(defect_6_the_front_table_knows_all),
		TEST(chains_are_used_up),
		TEST(full_spaces_have_chains),
		TEST(a_million_pages_take_14_bytes_each),
		TEST(numbers_of_32_bits),
		TEST(random_against_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
