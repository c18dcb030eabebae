// SPDX-License-Identifier: Apache-2.0
/* Allocations by address: both ends of each, none at all, and a scan of a plain list. */
#include "core_test.h"
#include "rdm/segtable.c"

static struct ds_segtable_entry entry_of(u64 base, u64 limit)
{
	return (struct ds_segtable_entry) { .base = base, .limit = limit, .offset = base ^ 0x5555,
					    .access = 3 };
}

static int insert(struct ds_segtable *t, u64 base, u64 limit)
{
	struct ds_segtable_entry e = entry_of(base, limit);

	return ds_segtable_insert(t, &e);
}

static void assert_found(const struct ds_segtable *t, u64 address, u64 base)
{
	const struct ds_segtable_entry *e = ds_segtable_find(t, address);

	assert_non_null(e);
	assert_int_equal(e->base, base);
	assert_int_equal(e->offset, base ^ 0x5555);
	assert_int_equal(e->access, 3);
}

static void wrong_calls(void **state)
{
	struct ds_segtable t;

	(void)state;
	ds_segtable_init(&t);
	assert_int_equal(ds_segtable_remove(&t, 0), -ENOENT);
	assert_int_equal(insert(&t, 0, 0), -EINVAL);
	assert_int_equal(insert(&t, 5, 4), -EINVAL);
	assert_int_equal(insert(&t, UINT64_MAX, 4), -EINVAL);
	assert_int_equal(insert(&t, 100, 200), 0);
	assert_int_equal(insert(&t, 300, 400), 0);
	assert_int_equal(insert(&t, 100, 200), -EEXIST);
	assert_int_equal(insert(&t, 100, 101), -EEXIST);
	assert_int_equal(insert(&t, 50, 101), -EEXIST);
	assert_int_equal(insert(&t, 199, 250), -EEXIST);
	assert_int_equal(insert(&t, 200, 301), -EEXIST);
	assert_int_equal(insert(&t, 0, UINT64_MAX), -EEXIST);
	assert_int_equal(insert(&t, 150, 160), -EEXIST);
	assert_int_equal(ds_segtable_remove(&t, 101), -ENOENT);
	assert_int_equal(ds_segtable_remove(&t, 99), -ENOENT);
	assert_int_equal(ds_segtable_remove(&t, 301), -ENOENT);
	assert_int_equal(t.count, 2);
	assert_int_equal(insert(&t, 200, 300), 0);
	assert_int_equal(t.count, 3);
	ds_segtable_destroy(&t);
}

static void memory_runs_out(void **state)
{
	struct ds_segtable t;
	u64 i;

	(void)state;
	ds_segtable_init(&t);
	allocs_left = 0;
	assert_int_equal(insert(&t, 1, 2), -ENOMEM);
	allocs_left = 0;
	assert_int_equal(ds_segtable_reserve(&t), -ENOMEM);
	allocs_left = 1;
	for (i = 0; i < DS_SEGTABLE_ROOM; i++)
		assert_int_equal(insert(&t, i, i + 1), 0);
	assert_int_equal(insert(&t, i, i + 1), -ENOMEM);
	assert_int_equal(t.count, i);
	assert_found(&t, i - 1, i - 1);
	allocs_left = -1;
	assert_int_equal(ds_segtable_reserve(&t), 0);
	allocs_left = 0;
	assert_int_equal(insert(&t, i, i + 1), 0);
	allocs_left = -1;
	ds_segtable_destroy(&t);
}

/* The original's search said nothing of an address that none has. */
static void defect_3_a_miss_is_a_miss(void **state)
{
	static const u64 addresses[] = { 0, 1, 4096, 1ull << 32, UINT64_MAX };
	struct ds_segtable t;
	size_t i;

	(void)state;
	ds_segtable_init(&t);
	for (i = 0; i < ARRAY_SIZE(addresses); i++)
		assert_null(ds_segtable_find(&t, addresses[i]));
	assert_int_equal(insert(&t, 10, 20), 0);
	for (i = 0; i < ARRAY_SIZE(addresses); i++)
		assert_null(ds_segtable_find(&t, addresses[i]));
	assert_int_equal(ds_segtable_remove(&t, 10), 0);
	assert_null(ds_segtable_find(&t, 10));
	ds_segtable_destroy(&t);
}

/* With every number of entries: both ends of each, and what is beside them. */
static void both_ends_of_each(void **state)
{
	struct ds_segtable t;
	u64 n, i;

	(void)state;
	ds_segtable_init(&t);
	for (n = 0; n <= 200; n++) {
		for (i = 0; i < n; i++) {
			u64 base = 1000 + i * 100;

			assert_found(&t, base, base);
			assert_found(&t, base + 62, base);
			assert_null(ds_segtable_find(&t, base - 1));
			assert_null(ds_segtable_find(&t, base + 63));
		}
		assert_null(ds_segtable_find(&t, 0));
		assert_null(ds_segtable_find(&t, UINT64_MAX));
		assert_int_equal(insert(&t, 1000 + n * 100, 1000 + n * 100 + 63), 0);
	}
	ds_segtable_destroy(&t);
}

static void neighbours_that_touch(void **state)
{
	struct ds_segtable t;

	(void)state;
	ds_segtable_init(&t);
	assert_int_equal(insert(&t, 10, 20), 0);
	assert_int_equal(insert(&t, 0, 10), 0);
	assert_int_equal(insert(&t, 20, UINT64_MAX), 0);
	assert_found(&t, 9, 0);
	assert_found(&t, 10, 10);
	assert_found(&t, 19, 10);
	assert_found(&t, 20, 20);
	assert_found(&t, UINT64_MAX - 1, 20);
	assert_null(ds_segtable_find(&t, UINT64_MAX));
	ds_segtable_destroy(&t);
}

/* ---- against a list without order ---- */

#define SPAN	5000
#define HELD	400

static void random_against_a_scan(void **state)
{
	u64 steps = random_steps(), step, base, limit, found;
	struct ds_segtable_entry held[HELD];
	const struct ds_segtable_entry *e;
	struct ds_segtable t;
	u32 n = 0, i, overlaps;

	(void)state;
	ds_segtable_init(&t);
	for (step = 0; step < steps; step++) {
		base = random_below(SPAN);
		limit = base + 1 + random_below(30);
		for (i = 0, overlaps = 0; i < n; i++)
			overlaps += held[i].base < limit && base < held[i].limit;
		if (n < HELD && random_below(4)) {
			assert_int_equal(insert(&t, base, limit), overlaps ? -EEXIST : 0);
			if (!overlaps)
				held[n++] = entry_of(base, limit);
		} else if (n) {
			i = random_below(n);
			assert_int_equal(ds_segtable_remove(&t, held[i].base), 0);
			held[i] = held[--n];
		}
		assert_int_equal(t.count, n);
		for (i = 0, found = UINT64_MAX; i < n; i++)
			if (held[i].base <= base && base < held[i].limit)
				found = held[i].base;
		e = ds_segtable_find(&t, base);
		assert_int_equal(e ? e->base : UINT64_MAX, found);
	}
	ds_segtable_destroy(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wrong_calls),
		TEST(memory_runs_out),
		TEST(defect_3_a_miss_is_a_miss),
		TEST(both_ends_of_each),
		TEST(neighbours_that_touch),
		TEST(random_against_a_scan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
