// SPDX-License-Identifier: Apache-2.0
/* Miniatures of L1 for thresholds of promotion: which one is better than the one in use. */
#include "core_policy.h"

#define CAPACITY	256u

/* A 24th of the misses, and more than chance. */
static void one_is_better_by_a_band(void **state)
{
	struct ds_trials t;

	(void)state;
	assert_int_equal(ds_trials_init(&t, CAPACITY, ~0u, true), 0);
	t.uses = 4800;
	t.trials[0].lately.hits = 2400;
	t.trials[0].lately.gain = 2400 * DS_TRIAL_HIT;
	trial_leads(&t, 5, 100, 100);
	assert_int_equal(ds_trials_best(&t), 0);
	trial_leads(&t, 5, 101, 100);
	assert_int_equal(ds_trials_best(&t), 5);
	/* So it is of the hits. */
	t.trials[0].lately.hits = 2300;
	trial_leads(&t, 5, 96, 100);
	assert_int_equal(ds_trials_best(&t), 5);
	trial_leads(&t, 5, 95, 100);
	assert_int_equal(ds_trials_best(&t), 0);
	t.trials[0].lately.hits = 2400;
	trial_leads(&t, 5, 101, 101 * 101 / 16);
	assert_int_equal(ds_trials_best(&t), 5);
	trial_leads(&t, 5, 101, 101 * 101 / 16 + 1);
	assert_int_equal(ds_trials_best(&t), 0);
	/* One use of 512 is too little. */
	trial_leads(&t, 6, 110, 0);
	assert_false(ds_trials_is_worse(&t, 5, 0));
	trial_leads(&t, 6, 111, 130);
	assert_int_equal(ds_trials_best(&t), 6);
	assert_true(ds_trials_is_worse(&t, 5, 0));
	assert_false(ds_trials_is_worse(&t, 5, 1));
	/* So are six of fewer. */
	t.uses = 2;
	t.trials[0].lately.hits = 1;
	trial_leads(&t, 6, 107, 0);
	assert_false(ds_trials_is_worse(&t, 5, 0));
	trial_leads(&t, 6, 108, 0);
	assert_true(ds_trials_is_worse(&t, 5, 0));
	ds_trials_destroy(&t);
}

static void another_one_comes_into_use(void **state)
{
	const u64 one = DS_TRIAL_HIT * DS_TRIAL_HIT;
	struct ds_trials t;

	(void)state;
	assert_int_equal(ds_trials_init(&t, CAPACITY, ~0u, true), 0);
	t.uses = 4800;
	t.trials[0].lately.hits = 2401;
	t.trials[6].lately.hits = 2511;
	trial_leads(&t, 5, 100, 102);
	trial_leads(&t, 6, 111, 130);
	t.steady = 7;
	ds_trials_use(&t, 6);
	assert_int_equal(t.steady, 0);
	assert_int_equal(t.trials[6].lately.apart, 0);
	assert_int_equal(t.trials[5].lately.apart, 232 * one);	/* at most */
	assert_int_equal(t.trials[0].lately.apart, 130 * one);
	/* It is to be beaten by a 24th of what it missed: 2289 times. */
	trial_leads(&t, 5, 95, 100);
	assert_int_equal(ds_trials_best(&t), 6);
	trial_leads(&t, 5, 96, 100);
	assert_int_equal(ds_trials_best(&t), 5);
	ds_trials_age(&t);
	assert_int_equal(t.uses, 2400);
	assert_int_equal(t.trials[0].lately.hits, 1200);
	assert_int_equal(t.trials[5].lately.gain, (111 + 96) * DS_TRIAL_HIT / 2);
	assert_int_equal(t.trials[0].lately.apart, 65 * one);
	assert_int_equal(t.steady, 1);
	ds_trials_destroy(&t);
}

/* It takes more when nothing has changed for long. */
static void what_has_stood_long_stays(void **state)
{
	struct ds_trials t;
	u32 i;

	(void)state;
	assert_int_equal(ds_trials_init(&t, CAPACITY, ~0u, true), 0);
	for (i = 0; i <= 11; i++) {
		trial_leads(&t, 5, 96, 96 * 96 / 24);
		assert_int_equal(ds_trials_best(&t), i <= 10 ? 5 : 0);
		ds_trials_age(&t);
	}
	trial_leads(&t, 5, 96, 96 * 96 / 24 - 1);
	assert_int_equal(ds_trials_best(&t), 5);
	ds_trials_use(&t, 5);
	trial_leads(&t, 0, 90, 90 * 90 / 45);
	assert_int_equal(ds_trials_best(&t), 0);
	ds_trials_destroy(&t);
}

static void change(struct ds_trials *t, u32 index, u32 intervals)
{
	ds_trials_use(t, index);
	while (intervals--)
		ds_trials_age(t);
}

/* Changes that are soon taken back make it ever harder to change, but for the first one. */
static void taking_turns_raises_doubt(void **state)
{
	static const u32 chance[] = { 16, 32, 64, 128, 256, 256, 256 };
	struct ds_trials t;
	u32 i;

	(void)state;
	assert_int_equal(ds_trials_init(&t, CAPACITY, ~0u, true), 0);
	change(&t, 6, 8);
	for (i = 0; i < ARRAY_SIZE(chance); i++) {
		change(&t, i % 2 ? 6 : 5, 8);
		assert_int_equal(ds_trials_in_doubt(&t), chance[i] > 16);
		trial_leads(&t, 8, 160, 160 * 160 / chance[i] - 1);
		assert_int_equal(ds_trials_best(&t), 8);
		trial_leads(&t, 8, 160, 160 * 160 / chance[i]);
		assert_int_equal(ds_trials_best(&t), t.used);
		trial_leads(&t, 8, 0, 0);
	}
	ds_trials_destroy(&t);
}

/* Not if it goes on in the same direction, or comes back late. */
static void steps_of_a_way_raise_none(void **state)
{
	struct ds_trials t;
	u32 i;

	(void)state;
	assert_int_equal(ds_trials_init(&t, CAPACITY, ~0u, true), 0);
	for (i = 1; i < 10; i++)
		change(&t, i, i < 9 ? 2 : 12);
	for (i = 0; i < 10; i++) {
		assert_int_equal(t.doubts, 0);
		change(&t, 8 + i % 2, 12);
	}
	change(&t, 8, 11);
	change(&t, 9, 11);
	assert_int_equal(t.doubts, 1);
	ds_trials_destroy(&t);
}

static u32 intervals_in_doubt(struct ds_trials *t)
{
	u32 intervals = 0;

	for (; ds_trials_in_doubt(t); intervals++)
		ds_trials_age(t);
	return intervals;
}

/* Longer each time that it proves right; another place in which it settles is without any. */
static void doubts_fade(void **state)
{
	struct ds_trials t;
	u32 i;

	(void)state;
	assert_int_equal(ds_trials_init(&t, CAPACITY, ~0u, true), 0);
	change(&t, 4, 12);
	change(&t, 5, 1);
	change(&t, 4, 1);
	change(&t, 5, 1);
	change(&t, 4, 0);
	assert_int_equal(t.doubts, 3);
	assert_int_equal(intervals_in_doubt(&t), 2 * (32 << 3));
	for (i = 4; i < 9; i++) {
		change(&t, 5, 2);
		change(&t, 4, 0);
		assert_int_equal(intervals_in_doubt(&t), 32 << min(i, 6u));
	}
	change(&t, 5, 2);
	change(&t, 4, 2);
	change(&t, 5, 11);
	assert_true(ds_trials_in_doubt(&t));
	ds_trials_age(&t);
	assert_int_equal(t.doubts, 0);
	assert_int_equal(t.longer, 0);
	ds_trials_destroy(&t);
}

/* Lowering a threshold drives out what it has kept. */
static void raising_takes_less_than_lowering(void **state)
{
	struct ds_trials t;
	u32 i;

	(void)state;
	assert_int_equal(ds_trials_init(&t, CAPACITY, ~0u, true), 0);
	ds_trials_use(&t, 5);
	trial_leads(&t, 4, 120, 120 * 120 / 20);
	assert_int_equal(ds_trials_best(&t), 5);
	trial_leads(&t, 6, 120, 120 * 120 / 20);
	assert_int_equal(ds_trials_best(&t), 6);
	trial_leads(&t, 6, 0, 0);
	trial_leads(&t, 4, 120, 120 * 120 / 30);
	assert_int_equal(ds_trials_best(&t), 5);
	trial_leads(&t, 4, 120, 120 * 120 / 30 - 1);
	assert_int_equal(ds_trials_best(&t), 4);
	for (i = 0; i <= 10; i++)
		ds_trials_age(&t);
	trial_leads(&t, 4, 120, 120 * 120 / 45);
	assert_int_equal(ds_trials_best(&t), 5);
	trial_leads(&t, 4, 120, 120 * 120 / 45 - 1);
	assert_int_equal(ds_trials_best(&t), 4);
	ds_trials_destroy(&t);
}

/* Of 240 uses 150 are hits; another threshold has six more, of twenty that differ. */
static void see_interval(struct ds_trials *t, u32 better)
{
	t->uses += 240;
	t->trials[t->used].lately.hits += 150;
	t->trials[better].lately.hits += 156;
	t->trials[better].lately.gain += 6 * DS_TRIAL_HIT;
	t->trials[better].lately.apart += 20 * DS_TRIAL_HIT * DS_TRIAL_HIT;
}

/*
 * What might be chance in an interval is none in many. Only the next higher threshold is tried so,
 * and only if it hits as often.
 */
static void a_small_difference_shows_in_long(void **state)
{
	struct ds_trials next, far, moves;
	u32 i;

	(void)state;
	assert_int_equal(ds_trials_init(&next, CAPACITY, ~0u, false), 0);
	assert_int_equal(ds_trials_init(&far, CAPACITY, ~0u, false), 0);
	assert_int_equal(ds_trials_init(&moves, CAPACITY, ~0u, true), 0);
	for (i = 0; i < 40; i++) {
		see_interval(&next, 1);
		see_interval(&far, 2);
		see_interval(&moves, 1);
		moves.trials[1].lately.hits -= 7;
		assert_int_equal(ds_trials_best(&next), i < 32 ? 0 : 1);
		assert_int_equal(ds_trials_best(&far), 0);
		assert_int_equal(ds_trials_best(&moves), 0);
		ds_trials_age(&next);
		ds_trials_age(&far);
		ds_trials_age(&moves);
	}
	moves.trials[1].before.hits += 50;
	assert_int_equal(ds_trials_best(&moves), 1);
	/* It is 4.4 of the roots. */
	next.trials[1].before.apart *= 4;
	assert_int_equal(ds_trials_best(&next), 1);
	next.doubts = 2;
	assert_int_equal(ds_trials_best(&next), 0);
	next.doubts = 0;
	/* And to be more than a 24th of all misses. */
	next.uses_before += 4000;
	next.trials[0].before.hits += 1000;
	next.trials[1].before.hits += 1000;
	assert_int_equal(ds_trials_best(&next), 0);
	ds_trials_destroy(&moves);
	ds_trials_destroy(&far);
	ds_trials_destroy(&next);
}

/* Nor is there one above the last. */
static void no_lower_one_shows_in_long(void **state)
{
	struct ds_trials t;
	u32 i;

	(void)state;
	assert_int_equal(ds_trials_init(&t, CAPACITY, ~0u, false), 0);
	ds_trials_use(&t, DS_TRIALS - 1);
	for (i = 0; i <= 40; i++) {
		see_interval(&t, DS_TRIALS - 2);
		assert_int_equal(ds_trials_best(&t), DS_TRIALS - 1);
		ds_trials_age(&t);
	}
	ds_trials_destroy(&t);
}

/* What was long ago counts half; with another threshold in use it does not count any more. */
static void long_ago_is_forgotten(void **state)
{
	struct ds_trials t;
	u32 i;

	(void)state;
	assert_int_equal(ds_trials_init(&t, CAPACITY, ~0u, false), 0);
	for (i = 0; i < 63; i++) {
		see_interval(&t, 5);
		ds_trials_age(&t);
	}
	assert_int_equal(t.uses, 239);
	assert_in_range(t.uses_before, 63 * 240 - 2 * 240, 63 * 240 - 240);
	assert_in_range(t.trials[0].before.hits, 61 * 150, 62 * 150);
	assert_in_range(t.trials[5].before.gain, 59 * 24, 62 * 24);
	ds_trials_age(&t);
	assert_in_range(t.uses_before, 63 * 120 - 240, 63 * 120);
	assert_in_range(t.trials[0].before.hits, 62 * 75, 63 * 75);
	assert_in_range(t.trials[5].before.apart, 60 * 160, 63 * 160);
	ds_trials_use(&t, 6);
	assert_int_equal(t.uses_before, 0);
	assert_int_equal(t.trials[0].before.hits, 0);
	assert_int_equal(t.trials[5].before.gain, 0);
	assert_int_equal(t.trials[5].before.apart, 0);
	ds_trials_destroy(&t);
}

/* An interval of so many uses, of which so many hit. Has the load changed? */
static bool interval(struct ds_trials *t, u32 uses, u32 lowest, u32 in_use)
{
	t->uses_now += uses;
	t->lowest.now += lowest;
	t->in_use.now += in_use;
	return ds_trials_see(t);
}

static bool intervals(struct ds_trials *t, u32 count, u32 uses, u32 lowest, u32 in_use)
{
	bool changed = false;

	while (count--)
		changed |= interval(t, uses, lowest, in_use);
	return changed;
}

/* Whether a load of which usually so many hit has changed when it hits so often. */
static bool has_changed(u32 usual, u32 uses, u32 hits)
{
	struct ds_trials t;
	bool changed;

	assert_int_equal(ds_trials_init(&t, CAPACITY, ~0u, true), 0);
	assert_false(intervals(&t, 20, uses, usual, usual));
	changed = interval(&t, uses, hits, usual);
	assert_false(intervals(&t, 20, uses, usual, usual));
	assert_int_equal(interval(&t, uses, usual, hits), changed);
	ds_trials_destroy(&t);
	return changed;
}

/* An eighth of hits or misses and a 32nd of all, and eight standard deviations. */
static void what_is_a_change(void **state)
{
	(void)state;
	assert_false(has_changed(16384, 32768, 16384 + 3072));
	assert_true(has_changed(16384, 32768, 16384 + 3073));
	assert_false(has_changed(16384, 32768, 16384 - 3072));
	assert_true(has_changed(16384, 32768, 16384 - 3073));
	assert_false(has_changed(0, 32768, 1024));
	assert_true(has_changed(0, 32768, 1025));
	assert_true(has_changed(32768, 32768, 32768 - 1025));
	/* Of 256 uses, half of which hit, eight deviations are 90.5. */
	assert_false(has_changed(4096, 8192, 4096 + 768));
	assert_true(has_changed(4096, 8192, 4096 + 769));
	assert_false(has_changed(128, 256, 128 + 90));
	assert_true(has_changed(128, 256, 128 + 91));
}

/* A load that has just begun has no usual share, nor has the miniature of another threshold. */
static void a_new_load_is_not_yet_usual(void **state)
{
	struct ds_trials t;
	u32 i;

	(void)state;
	assert_int_equal(ds_trials_init(&t, CAPACITY, ~0u, true), 0);
	for (i = 0; i < 5; i++)
		assert_false(interval(&t, 1000, 200 * i, 1000 - 200 * i));
	assert_false(intervals(&t, 9, 1000, 800, 200));
	/* It may drift. */
	for (i = 0; i < 100; i++)
		assert_false(interval(&t, 1000, 800 - 3 * i, 200 + 3 * i));
	assert_true(interval(&t, 1000, 800, 500));
	assert_false(intervals(&t, 3, 1000, 200, 900));
	assert_false(intervals(&t, 9, 1000, 300, 500));
	ds_trials_use(&t, 3);
	assert_false(intervals(&t, 4, 1000, 300, 900));
	assert_false(interval(&t, 1000, 300, 920));
	assert_true(interval(&t, 1000, 300, 500));
	ds_trials_destroy(&t);
	assert_false(ds_trials_see(&t));
}

/* Uses of several intervals tell together, and a thousand are enough to choose. */
static void few_uses_tell_nothing(void **state)
{
	struct ds_trials t;

	(void)state;
	assert_int_equal(ds_trials_init(&t, CAPACITY, ~0u, true), 0);
	assert_false(intervals(&t, 50, 0, 0, 0));
	assert_false(intervals(&t, 9, 110, 0, 0));
	assert_false(ds_trials_have_seen_enough(&t));
	assert_false(interval(&t, 110, 0, 0));
	assert_true(ds_trials_have_seen_enough(&t));
	assert_false(intervals(&t, 50, 0, 0, 0));
	assert_false(interval(&t, 50, 50, 50));
	assert_false(interval(&t, 49, 49, 49));
	assert_true(interval(&t, 1, 1, 1));
	assert_false(ds_trials_have_seen_enough(&t));
	ds_trials_destroy(&t);
	assert_true(ds_trials_have_seen_enough(&t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_is_better_by_a_band),
		TEST(another_one_comes_into_use),
		TEST(what_has_stood_long_stays),
		TEST(taking_turns_raises_doubt),
		TEST(steps_of_a_way_raise_none),
		TEST(doubts_fade),
		TEST(raising_takes_less_than_lowering),
		TEST(a_small_difference_shows_in_long),
		TEST(no_lower_one_shows_in_long),
		TEST(long_ago_is_forgotten),
		TEST(what_is_a_change),
		TEST(a_new_load_is_not_yet_usual),
		TEST(few_uses_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
