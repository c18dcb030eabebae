// SPDX-License-Identifier: Apache-2.0
/* Miniatures of L1 for rules of replacement: when another rule takes the place of the one in use. */
#include "core_policy.h"

#define SIZE	64u
#define ONE	DS_SHADOW_ONE

static struct ds_shadow s;

static void begin(u32 size)
{
	assert_int_equal(ds_shadow_init(&s, size, 51), 0);
}

/* As if a rule had hit so often more than any other one, and each two had differed so often. */
static void rule_leads(u32 rule, u32 by, u32 apart)
{
	u32 i;

	for (i = 0; i < DS_RULES; i++)
		s.hits[i] = 1000 * ONE;
	s.hits[rule] += by;
	for (i = 0; i < DS_SHADOW_PAIRS; i++)
		s.apart[i] = apart;
}

/* A rule in use is ahead by a quarter of a miniature's entries at most. */
static void no_lead_is_large(void **state)
{
	u32 i;

	(void)state;
	begin(SIZE);
	for (i = 0; i < SIZE * 100; i++)
		assert_int_equal(ds_shadow_access(&s, ds_shadow_print(ds_policy_hash(i % 128)),
						  DS_RULE_LIRS, true),
				 DS_RULE_LIRS);
	assert_int_equal(s.changes, 0);
	assert_int_equal(s.samples, 0);
	assert_int_equal(s.hits[DS_RULE_LIRS] - s.hits[DS_RULE_LRU], 16 * ONE);
	ds_shadow_destroy(&s);
}

/* Each change doubles it; what two of them differed by shrinks with it. */
static void changes_make_it_larger(void **state)
{
	u32 i, lead = SIZE / 4 * ONE, apart = 100 * ONE;

	(void)state;
	begin(SIZE);
	for (s.changes = 0; s.changes <= 4; s.changes++, lead *= 2) {
		rule_leads(DS_RULE_LRU, 4 * lead, apart);
		s.hits[DS_RULE_FIFO] = s.hits[DS_RULE_LRU] - lead;
		ds_shadow_bound(&s, DS_RULE_LRU);
		for (i = 0; i < DS_RULES; i++)
			if (i != DS_RULE_LRU)
				assert_int_equal(s.hits[DS_RULE_LRU] - s.hits[i], lead);
		assert_int_equal(*ds_shadow_pair(&s, DS_RULE_LRU, DS_RULE_LIRS), apart / 4);
		assert_int_equal(*ds_shadow_pair(&s, DS_RULE_FIFO, DS_RULE_LRU), apart);
		assert_int_equal(*ds_shadow_pair(&s, DS_RULE_S3FIFO, DS_RULE_LIRS), apart);
	}
	ds_shadow_destroy(&s);
}

/* Four changes count; one is forgotten when there was none for 64 judgements. */
static void changes_are_forgotten(void **state)
{
	u32 i, left;

	(void)state;
	begin(SIZE);
	for (i = 1; i <= 10; i++) {
		ds_shadow_count_change(&s, true);
		assert_int_equal(s.changes, min(i, 4u));
	}
	for (left = 4; left > 0; left--)
		for (i = 0; i < 64; i++) {
			assert_int_equal(s.changes, left);
			ds_shadow_count_change(&s, false);
		}
	for (i = 0; i < 65; i++)
		ds_shadow_count_change(&s, false);
	assert_int_equal(s.changes, 0);
	ds_shadow_destroy(&s);
}

static void who_is_best(void **state)
{
	u32 rule, i;

	(void)state;
	begin(SIZE);
	/* Never the one in use; LIRS of equal ones. */
	for (rule = 0; rule < DS_RULES; rule++) {
		rule_leads(rule, 5 * ONE, ONE);
		assert_int_equal(ds_shadow_best(&s, rule), rule == DS_RULE_LIRS ?
				 DS_RULE_S3FIFO_SHORT : DS_RULE_LIRS);
		for (i = 0; i < DS_RULES; i++)
			s.hits[i] = i == rule ? 2 * ONE : i == DS_RULE_TWICE ? ONE : 0;
		if (rule != DS_RULE_TWICE)
			assert_int_equal(ds_shadow_best(&s, rule), DS_RULE_TWICE);
	}
	/* FIFO only if it is better than LRU, too. */
	rule_leads(DS_RULE_FIFO, 4 * ONE, 2 * ONE);
	assert_int_equal(ds_shadow_best(&s, DS_RULE_LIRS), DS_RULE_FIFO);
	s.hits[DS_RULE_LRU] += 2 * ONE;
	assert_int_not_equal(ds_shadow_best(&s, DS_RULE_LIRS), DS_RULE_FIFO);
	/* After TWICE only when that has had its time. */
	rule_leads(DS_RULE_FIFO, 4 * ONE, 2 * ONE);
	s.steady = DS_SHADOW_CLEARED - 1;
	assert_int_not_equal(ds_shadow_best(&s, DS_RULE_TWICE), DS_RULE_FIFO);
	assert_int_equal(ds_shadow_best(&s, DS_RULE_LRU), DS_RULE_FIFO);
	s.steady++;
	assert_int_equal(ds_shadow_best(&s, DS_RULE_TWICE), DS_RULE_FIFO);
	ds_shadow_destroy(&s);
}

/* By three standard deviations more than each other one, young or not. */
static void sieve_is_far_better(void **state)
{
	u32 i;

	(void)state;
	begin(SIZE);
	for (s.judged = 15; s.judged < 17; s.judged++) {
		rule_leads(DS_RULE_SIEVE, 12 * ONE, 16 * ONE);
		assert_int_equal(ds_shadow_best(&s, DS_RULE_FIFO), DS_RULE_LIRS);
		rule_leads(DS_RULE_SIEVE, 12 * ONE, 16 * ONE - 1);
		assert_int_equal(ds_shadow_best(&s, DS_RULE_FIFO), DS_RULE_SIEVE);
		for (i = 0; i < DS_RULE_SIEVE; i++) {
			s.hits[i]++;
			assert_int_equal(ds_shadow_best(&s, DS_RULE_TWICE),
					 i == DS_RULE_TWICE || i == DS_RULE_FIFO ?
					 DS_RULE_LIRS : i);
			s.hits[i]--;
		}
	}
	ds_shadow_destroy(&s);
}

/* By three hits, and by more than chance: two standard deviations, the root of 7 while young. */
static void one_is_better_by_more_than_chance(void **state)
{
	static const u32 chances[] = { 7, 4 };
	u32 old, lead = 20;

	(void)state;
	begin(SIZE);
	for (old = 0; old < 2; old++) {
		s.judged = old ? 16 : 15;
		rule_leads(DS_RULE_LIRS, 3 * ONE, 0);
		assert_true(ds_shadow_is_better(&s, DS_RULE_LIRS, DS_RULE_LRU, 0));
		assert_false(ds_shadow_is_better(&s, DS_RULE_LIRS, DS_RULE_LRU, -1));
		rule_leads(DS_RULE_LIRS, 3 * ONE - 1, 0);
		assert_false(ds_shadow_is_better(&s, DS_RULE_LIRS, DS_RULE_LRU, 0));
		assert_true(ds_shadow_is_better(&s, DS_RULE_LIRS, DS_RULE_LRU, 1));
		rule_leads(DS_RULE_LIRS, lead * ONE, lead * lead * ONE / chances[old] + 1);
		assert_false(ds_shadow_is_better(&s, DS_RULE_LIRS, DS_RULE_LRU, 0));
		rule_leads(DS_RULE_LIRS, lead * ONE, lead * lead * ONE / chances[old] - 1);
		assert_true(ds_shadow_is_better(&s, DS_RULE_LIRS, DS_RULE_LRU, 0));
		assert_false(ds_shadow_is_better(&s, DS_RULE_LRU, DS_RULE_LIRS, 0));
	}
	ds_shadow_destroy(&s);
}

/* The lead of the new rule is bounded; what was known of the old one's hits is forgotten. */
static void a_change_is_a_beginning(void **state)
{
	(void)state;
	begin(SIZE);
	rule_leads(DS_RULE_LIRS, 500 * ONE, 500 * ONE);
	s.over = 10 * ONE;
	s.under = 12 * ONE;
	assert_int_equal(ds_shadow_judge(&s, DS_RULE_LRU), DS_RULE_LIRS);
	assert_int_equal(s.over, 0);
	assert_int_equal(s.under, 0);
	assert_int_equal(s.changes, 1);
	assert_int_equal(s.hits[DS_RULE_LIRS] - s.hits[DS_RULE_LRU], SIZE / 4 * ONE * 2);
	s.over = 64 * ONE;
	assert_int_equal(ds_shadow_judge(&s, DS_RULE_LIRS), DS_RULE_LIRS);
	assert_int_equal(s.over, 61 * ONE);
	/* Until it shows, two judgements, nothing is held against it. */
	s.under = 0;
	for (s.steady = 0; s.steady < 4; s.steady++) {
		ds_shadow_compare(&s, true, false);
		ds_shadow_compare(&s, false, true);
		ds_shadow_compare(&s, true, true);
	}
	assert_int_equal(s.over, (61 + 2) * ONE);
	assert_int_equal(s.under, 2 * ONE);
	s.steady = 0;
	s.changes = 0;
	ds_shadow_compare(&s, true, false);
	assert_int_equal(s.over, (61 + 3) * ONE);
	/* Whoever is asked from now on did not choose what was in use. */
	s.changes = 3;
	s.steady = 9;
	ds_shadow_begin(&s);
	assert_int_equal(s.changes + s.steady + s.over + s.under, 0);
	ds_shadow_destroy(&s);
}

/* By five standard deviations. LIRS does least harm, however wrong its miniature is. */
static void what_a_miniature_had_too_much(void **state)
{
	u32 i;

	(void)state;
	begin(SIZE);
	s.under = 10 * ONE;
	for (i = 0; i < DS_RULES; i++) {
		s.over = 48 * ONE;
		assert_int_equal(ds_shadow_excess(&s, i), 0);
		s.over = 50 * ONE;
		assert_int_equal(ds_shadow_excess(&s, i), i == DS_RULE_LIRS ? 0 : 40 * ONE);
	}
	s.under = 90 * ONE;
	s.over = 10 * ONE;
	for (i = 0; i < DS_RULES; i++)
		assert_int_equal(ds_shadow_excess(&s, i), -80 * (int)ONE);

	/* The best one, but for that: then nothing that was seen is worth anything. */
	rule_leads(DS_RULE_LRU, 20 * ONE, 4 * ONE);
	s.under = 0;
	s.over = 50 * ONE;
	assert_int_equal(ds_shadow_judge(&s, DS_RULE_LRU), DS_RULE_LIRS);
	for (i = 0; i < DS_RULES; i++)
		assert_int_equal(s.hits[i], 0);
	for (i = 0; i < DS_SHADOW_PAIRS; i++)
		assert_int_equal(s.apart[i], 0);
	for (i = 1; i < 20; i++) {
		assert_int_equal(s.judged, min(i, 16u));
		ds_shadow_judge(&s, DS_RULE_LIRS);
	}
	ds_shadow_destroy(&s);
}

/* Four accesses, or a tenth of a miniature's entries. */
static void who_agrees(void **state)
{
	static const u32 sizes[][2] = { { 16, 4 }, { 40, 4 }, { 50, 5 }, { 256, 25 } };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		begin(sizes[i][0]);
		rule_leads(DS_RULE_LRU, sizes[i][1] * ONE, 0);
		assert_true(ds_shadow_agrees(&s, DS_RULE_LIRS, DS_RULE_LRU));
		rule_leads(DS_RULE_LRU, sizes[i][1] * ONE - 1, 0);
		assert_false(ds_shadow_agrees(&s, DS_RULE_LIRS, DS_RULE_LRU));
		ds_shadow_destroy(&s);
	}
}

/* TWICE is better at this judgement. */
static u32 judge_twice(u32 in_use)
{
	rule_leads(DS_RULE_TWICE, 20 * ONE, ONE);
	return ds_shadow_judge(&s, in_use);
}

/* It may be for one round of a loop. */
static void lirs_is_left_for_twice_late(void **state)
{
	(void)state;
	begin(SIZE);
	s.judged = DS_SHADOW_YOUNG;
	assert_int_equal(judge_twice(DS_RULE_LRU), DS_RULE_TWICE);
	assert_int_equal(judge_twice(DS_RULE_LIRS), DS_RULE_LIRS);
	rule_leads(DS_RULE_LIRS, 20 * ONE, ONE);
	assert_int_equal(ds_shadow_judge(&s, DS_RULE_LIRS), DS_RULE_LIRS);
	assert_int_equal(judge_twice(DS_RULE_LIRS), DS_RULE_LIRS);
	assert_int_equal(judge_twice(DS_RULE_LIRS), DS_RULE_TWICE);
	assert_int_equal(judge_twice(DS_RULE_LIRS), DS_RULE_LIRS);
	ds_shadow_destroy(&s);
}

/*
 * Each is used again once, first too late for all rules, then soon enough. FIFO keeps to what it
 * began with: who is missed takes a place for nothing. TWICE knows who comes back.
 */
static void who_comes_back_is_no_guest_of_twice(void **state)
{
	const u32 change = 5 * SIZE, settled = 7 * SIZE;
	bool hit[DS_RULES];
	u32 i, after;

	(void)state;
	begin(SIZE);
	for (i = 0; i < 10 * SIZE; i++) {
		ds_shadow_play(&s, i, hit);
		after = i < change ? 3 * SIZE / 2 : 3 * SIZE / 4;
		if (i < after)
			continue;
		ds_shadow_play(&s, i - after, hit);
		assert_false(hit[DS_RULE_FIFO]);
		if (i < change || i >= settled)
			assert_int_equal(hit[DS_RULE_TWICE], i >= settled);
	}
	ds_shadow_destroy(&s);
}

static bool use_in_lirs(u32 print)
{
	return ds_shadow_lirs(&s, print, ds_shadow_find(&s, DS_SHADOW_STACK, print));
}

/* With a larger share of guests many are kept no longer, at once. */
static void guests_become_more(void **state)
{
	u32 i;

	(void)state;
	begin(256);
	ds_shadow_set_guests(&s, 0);
	for (i = 0; i < 256; i++)
		use_in_lirs(i);
	assert_int_equal(s.kept, 254);
	ds_shadow_set_guests(&s, DS_SHADOW_SHARE_MAX);
	use_in_lirs(255);	/* a guest, who comes back soon */
	assert_int_equal(s.guests, 25);
	assert_int_equal(s.kept, 256 - 25);
	assert_int_equal(s.lists[DS_SHADOW_GUESTS].count, 25);
	assert_false(use_in_lirs(300));	/* looks at them by four */
	ds_shadow_destroy(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_lead_is_large),
		TEST(changes_make_it_larger),
		TEST(changes_are_forgotten),
		TEST(who_is_best),
		TEST(sieve_is_far_better),
		TEST(one_is_better_by_more_than_chance),
		TEST(a_change_is_a_beginning),
		TEST(what_a_miniature_had_too_much),
		TEST(who_agrees),
		TEST(lirs_is_left_for_twice_late),
		TEST(who_comes_back_is_no_guest_of_twice),
		TEST(guests_become_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
