// SPDX-License-Identifier: Apache-2.0
/*
 * A slot is filled with another token, and perhaps with the first one again, between any two loads
 * of who reads it; it is read between any two stores of who fills it; and who begins to read
 * between two of these finds, from any of his loads on, that all others are done: all ways, one
 * thread. What is read is of that token, or nothing.
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

enum { A = 5, B = 9, L1_SLOT = 2, MOST_LOADS = 10, NEVER = 100 };

static struct ds_l1 l1;
static struct ds_l2 l2;
static u32 l2_slot;
static bool reading;
static u32 loads, events, event_at[2], stores;
static u32 filling, done_at = NEVER;
static void (*fill)(u32 token);
static void (*be_filled)(u32 token);	/* at once */
static void *slot;
static size_t slot_size;
static bool (*read_slot)(u32 token, struct ds_token_pack *p);
static bool is_shown;	/* B, when it was filled in */

static void before_load(void)
{
	if (!reading)
		return;
	reading = false;
	if (loads == done_at)
		be_filled(filling);
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

/* What is done early is done again later. */
static void read_until_it_is_filled(u32 token)
{
	u32 outer_loads = loads, outer_events = events, at;
	u8 before[32];

	memcpy(before, slot, slot_size);
	events = ARRAY_SIZE(event_at);
	for (at = 0; at < MOST_LOADS; at++) {
		loads = 0;
		done_at = at;
		reading = true;
		reads(token);
		reading = false;
		memcpy(slot, before, slot_size);
	}
	done_at = NEVER;
	loads = outer_loads;
	events = outer_events;
}

static void before_store(void)
{
	if (reading)
		return;
	stores++;
	reads(A);
	reads(B);
	if (filling) {
		read_until_it_is_filled(A);
		read_until_it_is_filled(B);
	}
}

/* Who revokes a token hides it afterwards: who was there may be shown still. */
static void fill_l1(u32 token)
{
	struct ds_token_pack p = pack_of(token);

	filling = token;
	ds_l1_fill(&l1, L1_SLOT, token, &p);
	filling = 0;
	if (token == A || is_shown)
		ds_l1_show(&l1, token, L1_SLOT);
	ds_l1_hint(&l1, token, L1_SLOT);
}

static void be_filled_in_l1(u32 token)
{
	struct ds_l1_slot *s = slot;

	*s = (struct ds_l1_slot){ .filled = (s->filled | 1) + 1, .pack = pack_of(token),
				  .token = token };
}

static void fill_l2(u32 token)
{
	struct ds_token_pack p = pack_of(token);

	filling = token;
	ds_l2_fill(&l2, l2_slot, token, &p);
	filling = 0;
}

static void be_filled_in_l2(u32 token)
{
	struct ds_token_pack p = pack_of(token);
	struct ds_l2_slot *s = slot;

	*s = (struct ds_l2_slot){ .token = token, .low = (u32)p.fixed, .hot = p.hot };
}

static void fill_mixed(u32 token)
{
	ds_l2_renew(&l2, l2_slot, pack_of(token).fixed);
	fill_l2(token);
}

/* Its page becomes another bucket's. */
static void fill_bucket(u32 token)
{
	ds_l2_give(&l2, l2_slot);
	l2.crowd[bucket_of(&l2, token)] = CROWD;
	assert_int_equal(ds_l2_take(&l2, pack_of(token).fixed), l2_slot);
	fill_l2(token);
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
	assert_in_range(count, 5, MOST_LOADS);
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
	be_filled = be_filled_in_l1;
	slot = &l1.slots[L1_SLOT];
	slot_size = sizeof(l1.slots[L1_SLOT]);
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
	be_filled = be_filled_in_l2;
	slot = ds_l2_slot_of(&l2, l2_slot);
	slot_size = sizeof(struct ds_l2_slot);
	try_all(read_l2);
	l2.crowd[bucket_of(&l2, A)] = CROWD;
	l2_slot = ds_l2_take(&l2, pack_of(A).fixed);
	assert_false(ds_l2_page_of(&l2, l2_slot)->mixed);
	fill = fill_bucket;
	slot = ds_l2_slot_of(&l2, l2_slot);
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
