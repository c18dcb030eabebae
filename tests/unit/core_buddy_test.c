// SPDX-License-Identifier: Apache-2.0
/* Pages of a pool: every size, until full and back, exact lengths, and a plain model. */
#include "core_test.h"
#include "rdm/buddy.c"

static void wrong_calls(void **state)
{
	struct ds_buddy b;
	u32 start = 77;

	(void)state;
	assert_int_equal(ds_buddy_init(&b, 0), -EINVAL);
	assert_int_equal(ds_buddy_init(&b, 100), 0);
	assert_int_equal(ds_buddy_alloc(&b, 0, &start), -EINVAL);
	assert_int_equal(ds_buddy_alloc(&b, 65, &start), -ENOSPC);
	assert_int_equal(ds_buddy_alloc(&b, 101, &start), -ENOSPC);
	assert_int_equal(ds_buddy_alloc(&b, 1u << 31, &start), -ENOSPC);
	assert_int_equal(ds_buddy_alloc(&b, (1u << 31) + 1, &start), -ENOSPC);
	assert_int_equal(ds_buddy_alloc(&b, UINT32_MAX, &start), -ENOSPC);
	assert_int_equal(start, 77);
	assert_int_equal(b.free, 100);
	ds_buddy_destroy(&b);
}

static void memory_runs_out(void **state)
{
	struct ds_buddy b;

	(void)state;
	allocs_left = 0;
	assert_int_equal(ds_buddy_init(&b, 100), -ENOMEM);
	allocs_left = -1;
}

/* Nothing is allocated: @b is as it was at first. */
static void assert_as_new(const struct ds_buddy *b)
{
	struct ds_buddy new;
	u32 order, i;

	assert_int_equal(ds_buddy_init(&new, b->pages), 0);
	assert_int_equal(b->free, b->pages);
	assert_int_equal(b->orders, new.orders);
	for (order = 0; order < DS_BUDDY_ORDERS; order++)
		for (i = 0; i < b->map[order].levels; i++)
			assert_memory_equal(b->map[order].level[i], new.map[order].level[i],
					    (size_t)ds_buddy_map_words((b->pages >> order) >> 6 * i) * 8);
	ds_buddy_destroy(&new);
}

/* Page by page, in order, and back in another order. */
static void full_and_empty(void **state)
{
	static const u32 sizes[] = { 1, 2, 3, 63, 64, 65, 127, 128, 4095, 4096, 4097, 262143, 262144,
				     262145, 1000000 };
	struct ds_buddy b;
	u32 start, i;
	size_t s;

	(void)state;
	for (s = 0; s < ARRAY_SIZE(sizes); s++) {
		u32 n = sizes[s], odd = 7919 % n ? 7919 : 1;

		assert_int_equal(ds_buddy_init(&b, n), 0);
		assert_int_equal(ds_buddy_largest(&b), 1u << ilog2(n));
		for (i = 0; i < n; i++)
			assert_int_equal(ds_buddy_alloc(&b, 1, &start), 0);
		assert_int_equal(b.free, 0);
		assert_int_equal(ds_buddy_largest(&b), 0);
		assert_int_equal(ds_buddy_alloc(&b, 1, &start), -ENOSPC);
		assert_int_equal(ds_buddy_alloc_some(&b, 1, &start), 0);
		for (i = 0; i < n; i++)
			ds_buddy_free(&b, (u32)((u64)i * odd % n), 1);
		assert_as_new(&b);
		if (!(n & (n - 1)))
			assert_int_equal(b.orders, n);
		ds_buddy_destroy(&b);
	}
}

/* A pool is the largest blocks that it can be cut into: of each of its bits, one. */
static void any_number_of_pages(void **state)
{
	struct ds_buddy b;
	u32 n, start, next, taken;

	(void)state;
	for (n = 1; n <= 1000; n++) {
		assert_int_equal(ds_buddy_init(&b, n), 0);
		assert_int_equal(b.orders, n);
		for (next = 0; next < n; next += taken) {
			taken = ds_buddy_alloc_some(&b, n, &start);
			assert_int_equal(start, next);
			assert_int_equal(taken, 1u << ilog2(n - next));
		}
		assert_int_equal(b.free, 0);
		ds_buddy_free(&b, 0, n);
		assert_as_new(&b);
		ds_buddy_destroy(&b);
	}
}

static void takes_exactly_what_is_asked_for(void **state)
{
	struct ds_buddy b;
	u32 n, start;

	(void)state;
	assert_int_equal(ds_buddy_init(&b, 1024), 0);
	for (n = 1; n <= 1024; n++) {
		assert_int_equal(ds_buddy_alloc(&b, n, &start), 0);
		assert_int_equal(start, 0);
		assert_int_equal(b.free, 1024 - n);
		ds_buddy_free(&b, start, n);
		assert_as_new(&b);
	}
	/* The tail of one is the next one's. */
	assert_int_equal(ds_buddy_alloc(&b, 513, &start), 0);
	assert_int_equal(ds_buddy_alloc(&b, 1, &start), 0);
	assert_int_equal(start, 513);
	assert_int_equal(ds_buddy_alloc(&b, 256, &start), 0);
	assert_int_equal(start, 768);
	ds_buddy_destroy(&b);
}

static void parts_may_be_freed(void **state)
{
	struct ds_buddy b;
	u32 start;

	(void)state;
	assert_int_equal(ds_buddy_init(&b, 256), 0);
	assert_int_equal(ds_buddy_alloc(&b, 256, &start), 0);
	ds_buddy_free(&b, 1, 254);
	assert_int_equal(ds_buddy_largest(&b), 64);
	ds_buddy_free(&b, 255, 1);
	assert_int_equal(ds_buddy_largest(&b), 128);
	ds_buddy_free(&b, 0, 1);
	assert_as_new(&b);
	ds_buddy_destroy(&b);
}

/* The largest pool: no number overflows. */
static void all_of_32_bits(void **state)
{
	struct ds_buddy b;
	u32 start, last = 0;

	(void)state;
	assert_int_equal(ds_buddy_init(&b, UINT32_MAX), 0);
	assert_int_equal(b.map[0].levels, DS_BUDDY_LEVELS);
	assert_int_equal(b.orders, UINT32_MAX);
	assert_int_equal(ds_buddy_alloc(&b, 1, &last), 0);
	assert_int_equal(last, UINT32_MAX - 1);
	assert_int_equal(ds_buddy_alloc(&b, 1u << 31, &start), 0);
	assert_int_equal(start, 0);
	assert_int_equal(ds_buddy_alloc(&b, (1u << 30) + 1, &start), -ENOSPC);
	assert_int_equal(ds_buddy_alloc(&b, 1u << 30, &start), 0);
	assert_int_equal(start, 1u << 31);
	ds_buddy_free(&b, last, 1);
	ds_buddy_free(&b, 0, 3u << 30);
	assert_int_equal(b.free, UINT32_MAX);
	assert_int_equal(b.orders, UINT32_MAX);
	ds_buddy_destroy(&b);
}

/* ---- against a model: a byte a page ---- */

#define PAGES	1000
#define HELD	256

static u8 taken[PAGES];

/* The order of the largest block of free pages that is aligned; -1: none. */
static int model_order(void)
{
	int order;
	u32 at;

	for (order = ilog2(PAGES); order >= 0; order--)
		for (at = 0; at + (1u << order) <= PAGES; at += 1u << order)
			if (!memchr(taken + at, 1, 1u << order))
				return order;
	return -1;
}

static u32 model_free(void)
{
	u32 i, n = 0;

	for (i = 0; i < PAGES; i++)
		n += !taken[i];
	return n;
}

static void model_take(u32 start, u32 pages)
{
	assert_true(start + pages <= PAGES);
	assert_null(memchr(taken + start, 1, pages));
	memset(taken + start, 1, pages);
}

static void random_against_a_model(void **state)
{
	struct { u32 start, pages; } held[HELD];
	u64 steps = random_steps(), step;
	u32 n = 0, start, pages, i;
	struct ds_buddy b;
	int order;

	(void)state;
	memset(taken, 0, sizeof(taken));
	assert_int_equal(ds_buddy_init(&b, PAGES), 0);
	for (step = 0; step < steps; step++) {
		order = model_order();
		assert_int_equal(b.free, model_free());
		assert_int_equal(ds_buddy_largest(&b), order < 0 ? 0 : 1u << order);
		pages = 1 + random_below(1u << random_below(8));
		if (n == HELD || (n && random_below(100) < 47)) {
			i = random_below(n);
			ds_buddy_free(&b, held[i].start, held[i].pages);
			memset(taken + held[i].start, 0, held[i].pages);
			held[i] = held[--n];
		} else if (random_below(4)) {
			int ret = ds_buddy_alloc(&b, pages, &start);

			assert_int_equal(ret, order >= 0 && pages <= 1u << order ? 0 : -ENOSPC);
			if (ret)
				continue;
			model_take(start, pages);
			held[n].start = start;
			held[n++].pages = pages;
		} else {
			i = ds_buddy_alloc_some(&b, pages, &start);
			assert_int_equal(i, order < 0 ? 0 : min(pages, 1u << order));
			if (!i)
				continue;
			model_take(start, i);
			held[n].start = start;
			held[n++].pages = i;
		}
	}
	while (n--)
		ds_buddy_free(&b, held[n].start, held[n].pages);
	assert_as_new(&b);
	ds_buddy_destroy(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wrong_calls),
		TEST(memory_runs_out),
		TEST(full_and_empty),
		TEST(any_number_of_pages),
		TEST(takes_exactly_what_is_asked_for),
		TEST(parts_may_be_freed),
		TEST(all_of_32_bits),
		TEST(random_against_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
