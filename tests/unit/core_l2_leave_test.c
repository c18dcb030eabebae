// SPDX-License-Identifier: Apache-2.0
/* L2 of the token cache: who leaves, who stays, who was idle. */
#include "core_l2.h"

/* Those that were used since the hand came by stay, the rest go once each. */
static void who_leaves(void **state)
{
	u32 i, n, slots[DS_L2_MIXED_SLOTS + 1], victim, again = 0;
	bool gone[DS_L2_MIXED_SLOTS] = { false };

	(void)state;
	start(1);
	n = fill_mixed_page(slots);
	for (i = 0; i < 2 * n; i++)	/* the hand goes round: all have been used, none is any more */
		l2.pages[0].recent[i % n] &= (u8)~DS_L2_USED;
	for (i = 0; i < n; i += 3)
		ds_l2_hit(&l2, slots[i]);
	for (i = 0; i < n - (n + 2) / 3; i++) {
		victim = ds_l2_victim(&l2, (u64)i << 32);
		assert_int_not_equal(victim, DS_L2_NONE);
		assert_int_not_equal(victim % 3, 0);
		again += gone[victim];
		gone[victim] = true;
		ds_l2_renew(&l2, victim, (u64)i << 32);
		ds_l2_keep(&l2, victim, false);
	}
	assert_int_equal(again, 0);
	/* All were used: somebody goes all the same. */
	for (i = 0; i < n; i++)
		ds_l2_hit(&l2, slots[i]);
	victim = l2.pages[0].hand;	/* the first one that is looked at */
	assert_int_equal(ds_l2_victim(&l2, 0), victim);
	ds_l2_destroy(&l2);
}

/* Pages, the first @mixed of them mixed, and all others of one bucket. */
static void fill_pages(u32 mixed)
{
	u32 i;

	start(PAGES);
	/* The bucket's first ones are there, too. */
	for (i = 1; i <= mixed * DS_L2_MIXED_SLOTS - CROWD; i++)
		must_put(i, HIGH + i);
	for (i = 1; put(i, HIGH) != DS_L2_NONE; i++)
		;
	assert_int_equal(l2.nr_mixed, mixed);
}

/*
 * For a token of a bucket with pages somebody of its own kind leaves or, as often as there are
 * mixed ones among all pages, who is in such; for another one always.
 */
static void whose_place(void **state)
{
	u32 i, mixed, victim, left[PAGES];

	(void)state;
	for (mixed = 1; mixed < PAGES; mixed++) {
		fill_pages(mixed);
		memset(left, 0, sizeof(left));
		for (i = 0; i < 6000; i++) {
			victim = ds_l2_victim(&l2, (u64)HIGH << 32);
			assert_int_not_equal(victim, DS_L2_NONE);
			left[ds_l2_page_of(&l2, victim)->id]++;
			ds_l2_renew(&l2, victim, (u64)HIGH << 32);
			ds_l2_keep(&l2, victim, false);
			victim = ds_l2_victim(&l2, (u64)(HIGH + 1) << 32);
			assert_true(ds_l2_page_of(&l2, victim)->mixed);
		}
		for (i = 0, victim = 0; i < PAGES; i++) {
			assert_true(left[i] > 0);	/* one page after the other */
			victim += l2.pages[i].mixed ? left[i] : 0;
		}
		assert_int_equal(victim, 6000 / PAGES * mixed);
		ds_l2_destroy(&l2);
	}
}

/* Each token once: who stays are the newest ones, also of those who came before pages. */
static void who_came_first_leaves(void **state)
{
	enum { ROOM = DS_L2_MIXED_SLOTS + (PAGES - 1) * DS_L2_PAGE_SLOTS };
	u32 i, token, slot, seen = 0;

	(void)state;
	start(PAGES);
	for (i = 1; i <= 4 * ROOM; i++) {
		if (put(i, HIGH) != DS_L2_NONE)
			continue;
		slot = ds_l2_victim(&l2, (u64)HIGH << 32);
		assert_int_not_equal(slot, DS_L2_NONE);
		ds_l2_renew(&l2, slot, (u64)HIGH << 32);
		fill(slot, i, HIGH);
		ds_l2_keep(&l2, slot, false);
	}
	for (i = 0; i < PAGES << DS_L2_SLOT_BITS; i++) {
		if (ds_l2_index(i) >= slots_of(ds_l2_page_of(&l2, i)))
			continue;
		token = ds_l2_slot_of(&l2, i)->token;
		assert_in_range(token, 4 * ROOM - ROOM * 5 / 4, 4 * ROOM);
		seen++;
	}
	assert_int_equal(seen, ROOM);
	ds_l2_destroy(&l2);
}

static void kept(void **state)
{
	u32 i, n, slots[DS_L2_MIXED_SLOTS + 1], free_one = 400;

	(void)state;
	start(1);
	/* Who comes is, until somebody says otherwise. */
	i = put_kept(1, HIGH);
	assert_true(ds_l2_is_kept(&l2, i));
	ds_l2_keep(&l2, i, false);
	ds_l2_renew(&l2, i, 0);
	assert_true(ds_l2_is_kept(&l2, i));
	ds_l2_give(&l2, i);
	n = fill_mixed_page(slots);
	for (i = 0; i < n; i++)
		ds_l2_keep(&l2, slots[i], i != free_one);
	for (i = 0; i < 100; i++) {
		u32 victim = ds_l2_victim(&l2, 0);

		assert_true(victim == DS_L2_NONE || victim == slots[free_one]);
		if (victim != DS_L2_NONE)
			break;
	}
	assert_in_range(i, 0, DS_L2_MIXED_SLOTS / VICTIM_LOOK + 1);
	ds_l2_keep(&l2, slots[free_one], true);
	assert_true(ds_l2_is_kept(&l2, slots[free_one]));
	for (i = 0; i < 100; i++)
		assert_int_equal(ds_l2_victim(&l2, 0), DS_L2_NONE);
	l2.crowded = true;
	for (i = 0; i < 100; i++)
		assert_int_equal(ds_l2_idle(&l2, i * 1000, 100), DS_L2_NONE);
	ds_l2_destroy(&l2);
}

static u32 count_idle(u64 now, u64 idle, bool give)
{
	u32 calls, slot, found = 0;

	/* Enough for all pages, also if each call finds one. */
	for (calls = 0; calls < PAGES * DS_L2_PAGE_SLOTS; calls++) {
		slot = ds_l2_idle(&l2, now, idle);
		if (slot == DS_L2_NONE)
			continue;
		found++;
		if (give)
			ds_l2_give(&l2, slot);
	}
	return found;
}

/* Idle, and in the way of others: both. */
static void idle(void **state)
{
	u32 i, n, slots[PAGES * DS_L2_PAGE_SLOTS];

	(void)state;
	start(PAGES);
	for (n = 0; n < 3000; n++)
		slots[n] = must_put(n + 1, HIGH);
	assert_int_equal(count_idle(10000, 1000, false), 0);	/* they have just come */
	assert_int_equal(count_idle(20000, 1000, false), 0);	/* there is room */
	l2.crowded = true;
	for (i = 0; i < n; i += 2)
		ds_l2_hit(&l2, slots[i]);
	assert_int_equal(count_idle(20500, 1000, false), 0);	/* not for so long */
	assert_int_equal(count_idle(21000, 1000, false), n / 2);
	l2.crowded = false;
	for (i = 0; put(n + i + 1, HIGH) != DS_L2_NONE; i++)
		;
	assert_true(l2.crowded);
	count_idle(30000, 1000, false);
	for (i = 0; i < n; i += 2)
		ds_l2_hit(&l2, slots[i]);
	/* The first empty page ends the need. */
	assert_in_range(count_idle(40000, 1000, true), 1, 2 * DS_L2_PAGE_SLOTS);
	assert_false(l2.crowded);
	for (i = 0; i < n; i += 2)
		expect(slots[i], i + 1, HIGH);
	ds_l2_destroy(&l2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_leaves),
		TEST(whose_place),
		TEST(who_came_first_leaves),
		TEST(kept),
		TEST(idle),
	};

	return cmocka_run_group_tests_name("core_l2_leave", tests, NULL, NULL);
}
