// SPDX-License-Identifier: Apache-2.0
/*
 * A slot is filled with another token, and perhaps with the first one again, between any two loads
 * of who reads it; and it is read between any two stores of who fills it: all ways, one thread.
 * What is read is of that token, or nothing.
 */
#include "core_test.h"

static void before_load(void);
static void before_store(void);

#undef READ_ONCE
#undef WRITE_ONCE
#undef smp_load_acquire
#undef smp_store_release
#define READ_ONCE(x)		(before_load(), __atomic_load_n(&(x), __ATOMIC_RELAXED))
#define smp_load_acquire(p)	(before_load(), __atomic_load_n(p, __ATOMIC_ACQUIRE))
#define WRITE_ONCE(x, value)	(before_store(), __atomic_store_n(&(x), value, __ATOMIC_RELAXED))
#define smp_store_release(p, value)	\
	(before_store(), __atomic_store_n(p, value, __ATOMIC_RELEASE))
#include "tokencache/l1.c"
#include "tokencache/l2.c"

enum { A = 5, B = 9, L1_SLOT = 2, NEVER = 100 };

static struct ds_l1 l1;
static struct ds_l2 l2;
static u32 l2_slot;
static bool reading;
static u32 loads, events, event_at[2], stores;
static void (*fill)(u32 token);
static bool (*read_slot)(u32 token, struct ds_token_pack *p);
static bool is_shown;	/* B, when it was filled in */

static void before_load(void)
{
	if (!reading)
		return;
	reading = false;
	while (events < 2 && loads == event_at[events])
		fill(events++ ? A : B);
	loads++;
	reading = true;
}

static struct ds_token_pack pack_of(u32 token)
{
	struct ds_token_pack p = { (u64)token << 32 | token * 3, token * 7ull };

	return p;
}

/* Return: was it read? */
static bool reads(u32 token)
{
	struct ds_token_pack p, want = pack_of(token);

	if (!read_slot(token, &p))
		return false;
	assert_int_equal(p.fixed, want.fixed);
	assert_int_equal(p.hot, want.hot);
	return true;
}

static void before_store(void)
{
	if (reading)
		return;
	stores++;
	reads(A);
	reads(B);
}

/* Who revokes a token hides it afterwards: who was there may be shown still. */
static void fill_l1(u32 token)
{
	struct ds_token_pack p = pack_of(token);

	ds_l1_fill(&l1, L1_SLOT, token, &p);
	if (token == A || is_shown)
		ds_l1_show(&l1, token, L1_SLOT);
	ds_l1_hint(&l1, token, L1_SLOT);
}

static void fill_mixed(u32 token)
{
	struct ds_token_pack p = pack_of(token);

	ds_l2_renew(&l2, l2_slot, p.fixed);
	ds_l2_fill(&l2, l2_slot, token, &p);
}

/* Its page becomes another bucket's. */
static void fill_bucket(u32 token)
{
	struct ds_token_pack p = pack_of(token);

	ds_l2_give(&l2, l2_slot);
	l2.crowd[bucket_of(&l2, token)] = CROWD;
	assert_int_equal(ds_l2_take(&l2, p.fixed), l2_slot);
	ds_l2_fill(&l2, l2_slot, token, &p);
}

static bool read_l1(u32 token, struct ds_token_pack *p)
{
	return ds_l1_read(&l1, L1_SLOT, token, p);
}

static bool find_l1(u32 token, struct ds_token_pack *p)
{
	u32 slot = ds_l1_find(&l1, token, p);

	assert_true(slot == L1_SLOT || slot == DS_L1_NONE);
	return slot == L1_SLOT;
}

static bool read_l2(u32 token, struct ds_token_pack *p)
{
	return ds_l2_read(&l2, l2_slot, token, p);
}

/* Return: was it read? */
static bool try(u32 first, u32 second)
{
	bool whole;

	fill(A);
	loads = events = 0;
	event_at[0] = first;
	event_at[1] = second;
	reading = true;
	whole = reads(A);
	reading = false;
	return whole;
}

static void try_all(bool (*read)(u32 token, struct ds_token_pack *p))
{
	u32 first, second, count;

	read_slot = read;
	assert_true(try(NEVER, NEVER));
	count = loads;
	assert_true(count >= 5);
	assert_false(try(0, NEVER));
	assert_true(try(0, 0));
	assert_true(try(count, NEVER));
	for (first = 0; first < count; first++) {
		try(first, NEVER);
		for (second = first; second < count; second++)
			try(first, second);
	}
	assert_true(stores > 5);
}

static void in_l1(void **state)
{
	(void)state;
	assert_int_equal(ds_l1_init(&l1, 4), 0);
	fill = fill_l1;
	try_all(read_l1);
	is_shown = false;
	try_all(find_l1);
	is_shown = true;
	try_all(find_l1);
	ds_l1_destroy(&l1);
}

static void in_l2(void **state)
{
	(void)state;
	assert_int_equal(ds_l2_init(&l2, 2, DS_L2_ANYWHERE), 0);
	read_slot = read_l2;
	l2_slot = ds_l2_take(&l2, pack_of(A).fixed);
	assert_true(ds_l2_page_of(&l2, l2_slot)->mixed);
	fill = fill_mixed;
	try_all(read_l2);
	l2.crowd[bucket_of(&l2, A)] = CROWD;
	l2_slot = ds_l2_take(&l2, pack_of(A).fixed);
	assert_false(ds_l2_page_of(&l2, l2_slot)->mixed);
	fill = fill_bucket;
	try_all(read_l2);
	ds_l2_destroy(&l2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(in_l1),
		TEST(in_l2),
	};

	return cmocka_run_group_tests_name("core_torn_read", tests, NULL, NULL);
}
