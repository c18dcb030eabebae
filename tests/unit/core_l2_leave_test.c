// SPDX-License-Identifier: Apache-2.0
/* L2 of the token cache: who leaves, who stays, who was idle. */
#include "core_l2.h"

static u32 must_leave(u32 high)
{
	u32 victim = ds_l2_victim(&l2, (u64)high << 32);

	assert_int_not_equal(victim, DS_L2_NONE);
	ds_l2_renew(&l2, victim, (u64)high << 32);
	ds_l2_keep(&l2, victim, false);
	return victim;
}

/* Those that were used later stay, the rest go once each, wherever they are. */
static void who_leaves(void **state)
{
	u32 i, n, slots[DS_L2_MIXED_SLOTS + 1], victim;
	bool gone[DS_L2_MIXED_SLOTS] = { false };

	(void)state;
	start(1);
	n = fill_mixed_page(slots);
	for (i = 0; i < DS_L2_TICK; i++)	/* they are back at once, as if nothing had been */
		l2.pages[0].recent[must_leave(0)] = DS_L2_AWAKE;
	for (i = 0; i < n; i += 3)
		ds_l2_hit(&l2, slots[i]);
	/* Ten rounds: two thirds of the 16 to choose from are older, and one of them goes in each. */
	for (i = 0; i < n * 10 / VICTIM_CHOICE; i++) {
		victim = must_leave(i);
		assert_int_not_equal(victim % 3, 0);
		assert_false(gone[victim]);
		gone[victim] = true;
	}
	/* Those that are left of them are not spared for long. */
	for (i = 0; i < n; i++)
		gone[must_leave(i)] = true;
	for (i = 0; i < n; i++)
		assert_true(gone[i] || i % 3 == 0);
	/* All were used: somebody goes all the same. */
	for (i = 0; i < n; i++)
		ds_l2_hit(&l2, slots[i]);
	victim = l2.pages[0].hand;	/* the first one that is looked at */
	assert_int_equal(ds_l2_victim(&l2, 0), victim);
	ds_l2_destroy(&l2);
}

/* Whatever the time is, who was used before it is older. */
static void at_any_time(void **state)
{
	u32 i, n, ago, slots[DS_L2_MIXED_SLOTS + 1];

	(void)state;
	start(1);
	n = fill_mixed_page(slots);
	for (ago = 1; ago < DS_L2_TIMES; ago++) {
		u32 idle = (l2.pages[0].hand + (ago * 5 + 3) % VICTIM_CHOICE) % n;

		l2.pages[0].clock = 0xffffffff - (DS_L2_TIMES / 2 - ago) * DS_L2_TICK;
		ds_l2_hit(&l2, slots[idle]);
		l2.pages[0].clock += ago * DS_L2_TICK;
		for (i = 0; i < n; i++)
			if (i != idle)
				ds_l2_hit(&l2, slots[i]);
		assert_int_equal(ds_l2_victim(&l2, 0), slots[idle]);
	}
	ds_l2_destroy(&l2);
}

/* ---- beside LRU ---- */

enum { KEYS = 4000, ABOVE = 16, USES = 200000 };

static u32 place_of[KEYS];		/* slot in L2 */
static u32 above[ABOVE];		/* keys in L1, the one that has been there for longest first */
static bool is_above[KEYS];
static u32 last_use[KEYS];		/* 0: LRU does not have it */

/* Some are used more often, but each of them now and then. */
static u32 any_key(void)
{
	return random_below(random_below(KEYS) + 1);
}

static void come_down(u32 key)
{
	u32 slot = put(key + 1, key), victim;

	if (slot == DS_L2_NONE) {
		slot = ds_l2_victim(&l2, (u64)key << 32);
		assert_int_not_equal(slot, DS_L2_NONE);
		victim = ds_l2_slot_of(&l2, slot)->token - 1;
		place_of[victim] = DS_L2_NONE;
		ds_l2_renew(&l2, slot, (u64)key << 32);
		fill(slot, key + 1, key);
		ds_l2_keep(&l2, slot, false);
	}
	place_of[key] = slot;
}

/* As if L1 took each that is used: its slot in L2 is free, and another one's. Return: was it there? */
static bool is_hit(u32 key)
{
	bool hit = is_above[key] || place_of[key] != DS_L2_NONE;

	if (is_above[key])
		return true;
	if (hit)
		ds_l2_give(&l2, place_of[key]);
	place_of[key] = DS_L2_NONE;
	is_above[key] = true;
	if (above[0] != KEYS) {
		is_above[above[0]] = false;
		come_down(above[0]);
	}
	memmove(above, above + 1, sizeof(above) - sizeof(above[0]));
	above[ABOVE - 1] = key;
	return hit;
}

static bool is_hit_of_lru(u32 key, u32 now)
{
	static u32 count;
	bool hit = last_use[key];
	u32 i, oldest = key;

	last_use[key] = now;
	count += !hit;
	if (count <= DS_L2_MIXED_SLOTS + ABOVE)
		return hit;
	for (i = 0; i < KEYS; i++)
		if (last_use[i] && last_use[i] < last_use[oldest])
			oldest = i;
	last_use[oldest] = 0;
	count--;
	return hit;
}

/* Tokens that come and go between L1 and L2 change their places in L2 all the time. */
static void near_lru(void **state)
{
	u32 i, hits = 0, of_lru = 0;

	(void)state;
	start(1);
	for (i = 0; i < KEYS; i++)
		place_of[i] = DS_L2_NONE;
	for (i = 0; i < ABOVE; i++)
		above[i] = KEYS;
	for (i = 1; i <= USES; i++) {
		u32 key = any_key();

		hits += is_hit(key);
		of_lru += is_hit_of_lru(key, i);
	}
	print_message("# %u hits, %u of LRU\n", hits, of_lru);
	assert_true(hits > of_lru / 100 * 99);
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
		TEST(at_any_time),
		TEST(near_lru),
		TEST(whose_place),
		TEST(who_came_first_leaves),
		TEST(kept),
		TEST(idle),
	};

	return cmocka_run_group_tests_name("core_l2_leave", tests, NULL, NULL);
}
