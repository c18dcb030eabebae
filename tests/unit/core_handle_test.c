// SPDX-License-Identifier: Apache-2.0
/* File handles: never issued, stale and open told apart, through reuse to the end. */
#include "core_test.h"
#include "handle.c"

static int things[64];

static u32 add(struct ds_handle_table *t, void *object)
{
	u32 handle = 0;

	assert_int_equal(ds_handle_add(t, object, &handle), 0);
	assert_int_not_equal(handle, 0);
	return handle;
}

static void expect_err(struct ds_handle_table *t, u32 handle, int want)
{
	u32 count = ds_handle_count(t);
	int err = 1;

	assert_null(ds_handle_get(t, handle, &err));
	assert_int_equal(err, want);
	err = 1;
	assert_null(ds_handle_remove(t, handle, &err));
	assert_int_equal(err, want);
	assert_int_equal(ds_handle_count(t), count);
}

static void expect_open(struct ds_handle_table *t, u32 handle, void *object)
{
	int err = 1;

	assert_ptr_equal(ds_handle_get(t, handle, &err), object);
	assert_int_equal(err, 0);
}

static void take_out(struct ds_handle_table *t, u32 handle, void *object)
{
	int err = 1;

	assert_ptr_equal(ds_handle_remove(t, handle, &err), object);
	assert_int_equal(err, 0);
}

static void empty_table(void **state)
{
	struct ds_handle_table t;
	u32 cursor = 0, handle;
	void *object;

	(void)state;
	ds_handle_init(&t, 5, 10);
	expect_err(&t, 0, -EBADF);
	expect_err(&t, 1u << 20, -EBADF);
	expect_err(&t, UINT32_MAX, -EBADF);
	assert_false(ds_handle_next(&t, &cursor, &handle, &object));
	assert_int_equal(ds_handle_count(&t), 0);
	ds_handle_destroy(&t);
}

static void life_of_a_handle(void **state)
{
	struct ds_handle_table t;
	u32 a, b, c;

	(void)state;
	ds_handle_init(&t, 5, 10);
	a = add(&t, &things[0]);
	b = add(&t, &things[1]);
	assert_int_not_equal(a, b);
	expect_open(&t, a, &things[0]);
	expect_open(&t, b, &things[1]);
	expect_err(&t, a & INDEX_MASK, -EBADF);			/* generation 0 */
	expect_err(&t, a + (1u << DS_HANDLE_GEN_OFF), -EBADF);	/* not yet issued */
	expect_err(&t, b + 1, -EBADF);				/* index never used */

	take_out(&t, a, &things[0]);
	assert_int_equal(ds_handle_count(&t), 1);
	expect_err(&t, a, -ESTALE);
	c = add(&t, &things[2]);
	assert_int_equal(c & INDEX_MASK, a & INDEX_MASK);	/* same slot, */
	assert_int_not_equal(c, a);				/* other generation */
	expect_err(&t, a, -ESTALE);
	expect_open(&t, c, &things[2]);
	expect_open(&t, b, &things[1]);
	ds_handle_destroy(&t);
}

static void limit(void **state)
{
	struct ds_handle_table t;
	u32 handle = 77, first;
	int i;

	(void)state;
	ds_handle_init(&t, 0, 3);
	first = add(&t, &things[0]);
	for (i = 1; i < 3; i++)
		add(&t, &things[i]);
	assert_int_equal(ds_handle_add(&t, &things[3], &handle), -EDQUOT);
	assert_int_equal(handle, 77);
	take_out(&t, first, &things[0]);
	add(&t, &things[3]);
	assert_int_equal(ds_handle_add(&t, &things[4], &handle), -EDQUOT);
	ds_handle_destroy(&t);

	ds_handle_init(&t, 0, 0);
	assert_int_equal(ds_handle_add(&t, &things[0], &handle), -EDQUOT);
	ds_handle_destroy(&t);
}

static void no_memory(void **state)
{
	struct ds_handle_table t;
	u32 handle, open[SLOTS_FIRST];
	u32 i;

	(void)state;
	ds_handle_init(&t, 1, 100);
	allocs_left = 0;
	assert_int_equal(ds_handle_add(&t, &things[0], &handle), -ENOMEM);
	allocs_left = 1;
	for (i = 0; i < SLOTS_FIRST; i++)
		open[i] = add(&t, &things[i]);
	assert_int_equal(ds_handle_add(&t, &things[0], &handle), -ENOMEM);
	assert_int_equal(ds_handle_count(&t), SLOTS_FIRST);
	for (i = 0; i < SLOTS_FIRST; i++)
		expect_open(&t, open[i], &things[i]);
	allocs_left = -1;
	add(&t, &things[16]);
	for (i = 0; i < SLOTS_FIRST; i++)		/* they moved with the array */
		expect_open(&t, open[i], &things[i]);
	ds_handle_destroy(&t);
}

/* The slot that was free longest is taken, so that a handle stays stale for long. */
static void slots_in_turn(void **state)
{
	struct ds_handle_table t;
	u32 open[4];
	int i;

	(void)state;
	ds_handle_init(&t, 9, 10);
	for (i = 0; i < 4; i++)
		open[i] = add(&t, &things[i]);
	take_out(&t, open[2], &things[2]);
	take_out(&t, open[0], &things[0]);
	take_out(&t, open[3], &things[3]);
	assert_int_equal(add(&t, &things[4]) & INDEX_MASK, 2);
	assert_int_equal(add(&t, &things[5]) & INDEX_MASK, 0);
	assert_int_equal(add(&t, &things[6]) & INDEX_MASK, 3);
	assert_int_equal(add(&t, &things[7]) & INDEX_MASK, 4);
	ds_handle_destroy(&t);
}

/* One slot through all its generations; every handle that it gave stays stale. */
static void retirement(void **state)
{
	static bool seen[GENS + 1];
	struct ds_handle_table t;
	u32 i, gen, handle;

	(void)state;
	ds_handle_init(&t, 4000, 10);
	for (i = 0; i < GENS; i++) {
		handle = add(&t, &things[0]);
		gen = handle >> DS_HANDLE_GEN_OFF;
		assert_int_equal(handle & INDEX_MASK, 0);
		assert_in_range(gen, 1, GENS);
		assert_false(seen[gen]);
		seen[gen] = true;
		take_out(&t, handle, &things[0]);
		expect_err(&t, handle, -ESTALE);
	}
	handle = add(&t, &things[1]);
	assert_int_equal(handle & INDEX_MASK, 1);
	for (gen = 1; gen <= GENS; gen++)
		expect_err(&t, gen << DS_HANDLE_GEN_OFF, -ESTALE);
	expect_err(&t, 0, -EBADF);
	ds_handle_destroy(&t);
}

static void all_slots_open(void **state)
{
	struct ds_handle_table t;
	u32 handle, i;

	(void)state;
	ds_handle_init(&t, 3, UINT32_MAX);
	for (i = 0; i < SLOTS_MAX; i++)
		add(&t, &things[0]);
	assert_int_equal(ds_handle_add(&t, &things[0], &handle), -ENOSPC);
	assert_int_equal(ds_handle_count(&t), SLOTS_MAX);
	ds_handle_destroy(&t);
}

/* Files opened near each other: what one was given the other never issued. */
static void salts(void **state)
{
	enum { FILES = 64, OPENS = 16 };
	struct ds_handle_table t[FILES];
	u32 handle[FILES][OPENS];
	int i, j, k;

	(void)state;
	for (i = 0; i < FILES; i++) {
		ds_handle_init(&t[i], 1000000 + i, 100);
		for (k = 0; k < OPENS; k++) {	/* each in slot 0 */
			handle[i][k] = add(&t[i], &things[0]);
			if (k < OPENS - 1)
				take_out(&t[i], handle[i][k], &things[0]);
		}
	}
	for (i = 0; i < FILES; i++)
		for (j = 0; j < FILES; j++)
			for (k = 0; k < OPENS; k++)
				if (i != j)
					expect_err(&t[i], handle[j][k], -EBADF);
	for (i = 0; i < FILES; i++)
		ds_handle_destroy(&t[i]);
}

/* No two salts of a round begin alike. */
static void salts_spread(void **state)
{
	static bool seen[GENS];
	struct ds_handle_table t;
	u32 salt;

	(void)state;
	for (salt = UINT32_MAX - GENS; salt < UINT32_MAX; salt++) {
		ds_handle_init(&t, salt, 1);
		assert_in_range(t.first, 0, GENS - 1);
		assert_false(seen[t.first]);
		seen[t.first] = true;
	}
}

static void walk(void **state)
{
	struct ds_handle_table t;
	u32 open[20], cursor = 0, handle, n = 0;
	void *object;
	int i, err;

	(void)state;
	ds_handle_init(&t, 2, 100);
	for (i = 0; i < 20; i++)
		open[i] = add(&t, &things[i]);
	for (i = 0; i < 20; i += 3)
		take_out(&t, open[i], &things[i]);
	while (ds_handle_next(&t, &cursor, &handle, &object)) {
		i = (int)((int *)object - things);
		assert_int_not_equal(i % 3, 0);
		assert_int_equal(handle, open[i]);
		assert_ptr_equal(ds_handle_remove(&t, handle, &err), object);
		n++;
	}
	assert_int_equal(n, 13);
	assert_int_equal(ds_handle_count(&t), 0);
	ds_handle_destroy(&t);
}

/* Against a plain record of everything that was ever issued. */
static void random_against_a_record(void **state)
{
	enum { STEPS = 20000, LIMIT = 50 };
	static u32 handles[STEPS];
	static void *objects[STEPS];	/* NULL: closed */
	struct ds_handle_table t;
	u32 seed = 1, n = 0, open = 0, i, pick;
	int step, err;

	(void)state;
	ds_handle_init(&t, 77, LIMIT);
	for (step = 0; step < STEPS; step++) {
		seed = seed * 1664525 + 1013904223;
		pick = n ? (seed >> 8) % n : 0;
		if (seed >> 31 || !n) {
			err = ds_handle_add(&t, &things[step % 64], &handles[n]);
			assert_int_equal(err, open == LIMIT ? -EDQUOT : 0);
			if (err)
				continue;
			for (i = 0; i < n; i++)
				assert_int_not_equal(handles[i], handles[n]);
			objects[n++] = &things[step % 64];
			open++;
		} else if (objects[pick]) {
			take_out(&t, handles[pick], objects[pick]);
			objects[pick] = NULL;
			open--;
		} else {
			expect_err(&t, handles[pick], -ESTALE);
		}
		assert_int_equal(ds_handle_count(&t), open);
	}
	for (i = 0; i < n; i++) {
		if (objects[i])
			expect_open(&t, handles[i], objects[i]);
		else
			expect_err(&t, handles[i], -ESTALE);
	}
	ds_handle_destroy(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(empty_table),
		TEST(life_of_a_handle),
		TEST(limit),
		TEST(no_memory),
		TEST(slots_in_turn),
		TEST(retirement),
		TEST(all_slots_open),
		TEST(salts),
		TEST(salts_spread),
		TEST(walk),
		TEST(random_against_a_record),
	};

	return cmocka_run_group_tests_name("core_handle", tests, NULL, NULL);
}
