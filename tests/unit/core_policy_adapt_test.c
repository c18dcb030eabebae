// SPDX-License-Identifier: Apache-2.0
/* adaptive-001: thresholds of promotion follow the load. */
#include "core_policy.h"

#define KEYS	10000

static const struct ds_policy_load quiet;

static u64 uses;

static u32 interval(u32 dma, u32 l1, u32 l2, u32 cpu)
{
	const struct ds_policy_load load = { .dma = dma, .l1 = l1, .l2 = l2, .cpu = cpu };

	policy.base->halve_at = ~0ull;	/* nobody is hot, as ageing would find */
	uses += policy.base->params.aging_interval;
	assert_true(ds_policy_tick(&policy, 1, uses, &load));
	return policy.base->params.promote_to_l1_threshold;
}

/* @tokens of those that are not in L1 have a heat of @heat; until they are counted. */
static void heat_up(u32 tokens, u32 heat)
{
	struct ds_sketch *sketch = &policy.base->sketch;
	u32 i;

	memset(sketch->counters, 0, sketch->width);
	for (i = 0; i < tokens; i++)
		sketch->counters[i] = (u8)heat;
	uses += policy.base->params.aging_interval;
	assert_true(ds_policy_tick(&policy, 1, uses, &quiet));
	for (i = 0; i < 100; i++)
		assert_false(ds_policy_tick(&policy, 1, uses, &quiet));
}

/* A tick has the trials hear of hits, however long nobody misses. */
static void hits_are_heard_of(void **state)
{
	u32 i;

	(void)state;
	start(64, DS_POLICY_ADAPTIVE_001, KEYS);
	policy.base->l1.sampled = policy.sampled = ~0u;
	for (i = 0; i < 3; i++)
		use(1);
	assert_int_equal(policy.base->l1.uses, 1);
	assert_false(ds_policy_tick(&policy, 1, 0, &quiet));
	assert_int_equal(policy.base->l1.uses, 3);
	stop();
}

/* As many are that hot as L1 has slots. */
static void capacity_implies_the_highest_threshold(void **state)
{
	u32 heat;

	(void)state;
	uses = 0;
	start(64, DS_POLICY_ADAPTIVE_001, KEYS);
	assert_int_equal(policy.base->fit, 1);
	for (heat = 1; heat <= DS_SKETCH_MOST; heat++) {
		heat_up(64, heat);
		assert_int_equal(policy.base->fit, 1);
	}
	stop();
	start(32, DS_POLICY_ADAPTIVE_001, KEYS);
	use(1);
	for (heat = 1; heat <= DS_SKETCH_MOST; heat++) {
		policy.slots[slot_of[1]].heat = (u8)heat;
		heat_up(31, heat);
		assert_int_equal(policy.base->fit, 1);
		policy.slots[slot_of[1]].heat = (u8)heat;
		heat_up(32, heat);
		assert_int_equal(policy.base->fit, min(2u << ilog2(heat), 128u));
	}
	/* Who has left a slot is not counted for it. */
	policy.slots[slot_of[1]].heat = 200;
	assert_int_equal(ds_policy_forget(&policy, slot_of[1]), 0);
	heat_up(32, 200);
	assert_int_equal(policy.base->fit, 1);
	stop();
}

static void thresholds_follow_the_load(void **state)
{
	u32 i;

	(void)state;
	uses = 0;
	start(64, DS_POLICY_ADAPTIVE_001, KEYS);
	assert_int_equal(policy.base->params.promote_to_l1_threshold, 1);
	assert_int_equal(policy.base->params.promote_to_l2_threshold, 1);
	/* All are cold: a higher one would leave L1 empty. */
	for (i = 0; i < 10; i++)
		assert_int_equal(interval(950, 300, 100, 900), 1);
	/* Saturated, and L2 of no use: up, to what fills L1, within ten intervals. */
	policy.base->fit = 128;
	assert_int_equal(interval(900, 300, 500, 900), 1);
	assert_int_equal(interval(899, 300, 499, 900), 1);
	for (i = 1; i <= 10; i++)
		assert_int_equal(interval(900, 300, 499, 900), i < 7 ? 1 << i : 128);
	assert_int_equal(policy.base->params.promote_to_l2_threshold, 16);
	/* Between the bands nothing moves. */
	for (i = 0; i < 20; i++)
		assert_int_equal(interval(700 + i * 10, 300, 100, 900), 128);
	assert_int_equal(interval(950, 300, 500, 900), 128);
	assert_int_equal(interval(0, 950, 100, 900), 128);
	assert_int_equal(interval(0, 300, 100, 699), 128);
	assert_int_equal(interval(699, 949, 100, 700), 64);
	/* Seldom hit and a busy processor: down, to 1, within ten intervals. */
	for (i = 1; i <= 10; i++)
		assert_int_equal(interval(0, 300, 900, 900), i < 6 ? 64 >> i : 1);
	assert_int_equal(policy.base->params.promote_to_l2_threshold, 1);
	stop();
}

/* Those of L1 and of both tiers, each for its threshold. */
static void trials_come_first(void **state)
{
	const struct ds_policy_params *params;
	struct ds_trials *l1, *both;

	(void)state;
	uses = 0;
	start(64, DS_POLICY_ADAPTIVE_001, KEYS);
	assert_int_equal(ds_policy_001_add_l2(&policy, 1000), 0);
	params = &policy.base->params;
	l1 = &policy.base->l1;
	both = &policy.base->both;
	assert_int_equal(both->sampled, (128ull << 32) / 1064);
	assert_int_equal(both->span, 4);
	/* One is better, whatever 001's rules say: not busy, and busy. */
	trial_leads(l1, ds_trials_index(8), 1000, 0);
	trial_leads(both, ds_trials_index(3), 1000, 0);
	assert_int_equal(interval(0, 300, 100, 0), 8);
	assert_int_equal(params->promote_to_l2_threshold, 3);
	assert_int_equal(interval(0, 300, 100, 900), 8);
	assert_int_equal(params->promote_to_l2_threshold, 3);
	/* None that is lower while DMA is saturated, and then none that misses much more. */
	trial_leads(l1, ds_trials_index(2), 1000, 0);
	assert_int_equal(interval(950, 300, 100, 900), 8);
	policy.base->fit = 128;
	assert_int_equal(interval(950, 300, 100, 900), 8);
	trial_leads(l1, ds_trials_index(2), 0, 0);
	l1->uses = 16000;
	l1->trials[l1->used].lately.hits = 8000;
	trial_leads(l1, ds_trials_index(16), -1032, 0);
	assert_int_equal(interval(950, 300, 100, 900), 8);
	l1->uses = 16000;
	l1->trials[l1->used].lately.hits = 8000;
	trial_leads(l1, ds_trials_index(16), -1031, 0);
	policy.base->fit = 128;
	assert_int_equal(interval(950, 300, 100, 900), 16);
	/* That to L2 is not above that to L1. */
	trial_leads(l1, ds_trials_index(1), 10000, 0);
	trial_leads(both, ds_trials_index(1), 0, 0);
	both->uses = 100;
	both->waned = 3;
	assert_int_equal(interval(0, 300, 100, 0), 1);
	assert_int_equal(params->promote_to_l2_threshold, 1);
	assert_int_equal(both->uses, 50);
	stop();

	/* Of no more keys than the policy hears of. */
	start(511, DS_POLICY_ADAPTIVE_001, KEYS);
	assert_int_equal(ds_policy_001_add_l2(&policy, 1), 0);
	assert_int_equal(policy.base->both.sampled, policy.base->l1.sampled);
	assert_int_equal(policy.base->both.span, 1);
	stop();
	start(512, DS_POLICY_ADAPTIVE_001, KEYS);
	assert_int_equal(ds_policy_001_add_l2(&policy, 756), 0);
	assert_int_equal(policy.base->both.span, 2);
	stop();
}

/* Of 1000 uses each, and 500 hits, with a threshold of both tiers that stands. */
static struct ds_policy_001 *start_with(u32 threshold)
{
	struct ds_policy_001 *b;

	uses = 0;
	start(64, DS_POLICY_ADAPTIVE_001, KEYS);
	assert_int_equal(ds_policy_001_add_l2(&policy, 1000), 0);
	b = policy.base;
	b->params.promote_to_l1_threshold = threshold;
	b->params.promote_to_l2_threshold = threshold;
	b->l1.used = ds_trials_index(threshold);
	b->both.used = ds_trials_index(threshold);
	b->l1.uses = 1000;
	b->both.uses = 1000;
	b->l1.trials[b->l1.used].lately.hits = 500;
	b->both.trials[b->both.used].lately.hits = 500;
	return b;
}

static u32 threshold_after_it(struct ds_policy_load load)
{
	struct ds_policy_params *params = &policy.base->params;
	u32 threshold;

	uses += params->aging_interval;
	assert_true(ds_policy_tick(&policy, 1, uses, &load));
	assert_true(params->promote_to_l2_threshold <= params->promote_to_l1_threshold);
	threshold = params->promote_to_l1_threshold;
	stop();
	return threshold;
}

/* L1 loses so many hits with 8 instead of 4, and both tiers win so many. */
static u32 raised(s32 loss, s32 win, bool blocking)
{
	struct ds_policy_001 *b = start_with(4);

	trial_leads(&b->l1, ds_trials_index(8), -loss, 0);
	trial_leads(&b->both, ds_trials_index(8), win, 0);
	return threshold_after_it((struct ds_policy_load) {
		.l1 = 1000, .l2 = 1000, .blocking = blocking });
}

/* L1 wins so many hits with 4 instead of 8, and both tiers lose so many. */
static u32 lowered(s32 win, s32 loss)
{
	struct ds_policy_001 *b = start_with(8);

	trial_leads(&b->l1, ds_trials_index(4), win, 0);
	trial_leads(&b->both, ds_trials_index(4), -loss, 0);
	return threshold_after_it((struct ds_policy_load) { .l1 = 1000, .l2 = 1000 });
}

/*
 * Nobody comes to L1 whom L2 would not take, if that is worth it: a hit of both tiers is worth two
 * of L1's. Uses that wait are not weighed.
 */
static void both_tiers_together_come_first(void **state)
{
	(void)state;
	assert_int_equal(raised(0, 100, false), 8);
	assert_int_equal(raised(159, 100, false), 8);
	assert_int_equal(raised(160, 100, false), 4);
	assert_int_equal(raised(0, 100, true), 4);
	assert_int_equal(lowered(199, 100), 8);
	assert_int_equal(lowered(200, 100), 4);
	/* Too little for both. */
	assert_int_equal(lowered(22, 26), 8);
	assert_int_equal(lowered(22, 25), 4);
}

/* L1 loses 60 hits of 1000 uses; both tiers win 40, of so many. */
static void what_is_won_is_of_each_use(void **state)
{
	static const u32 of[][2] = { { 1000, 8 }, { 500, 8 }, { 1100, 4 } };	/* uses, threshold */
	struct ds_policy_001 *b;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		b = start_with(4);
		b->both.uses = of[i][0];
		b->both.trials[b->both.used].lately.hits = 200;
		trial_leads(&b->l1, ds_trials_index(8), -60, 0);
		trial_leads(&b->both, ds_trials_index(8), 40, 0);
		assert_int_equal(threshold_after_it((struct ds_policy_load) {
			.l1 = 1000, .l2 = 1000 }), of[i][1]);
	}
}

/* They do not take turns because of some hits. */
static void what_stands_stands(void **state)
{
	(void)state;
	assert_int_equal(raised(200, 120, false), 4);
	assert_int_equal(lowered(200, 120), 8);
}

/* Less traffic by a higher threshold for L2 does not raise L1's, whichever else is good for both. */
static void traffic_does_not_raise_both(void **state)
{
	struct ds_policy_001 *b = start_with(4);

	(void)state;
	b->fit = 1;
	trial_leads(&b->both, ds_trials_index(2), 80, 0);
	trial_leads(&b->both, ds_trials_index(8), -10, 0);
	trial_leads(&b->l1, ds_trials_index(8), 20, 0);
	assert_int_equal(threshold_after_it((struct ds_policy_load) { .dma = 950, .l2 = 100 }), 4);
}

/* L1 gains a tenth by a lower one; both tiers lose two hits, of however few uses. */
static void a_few_hits_of_both_tiers_keep_no_threshold(void **state)
{
	struct ds_policy_001 *b;

	(void)state;
	uses = 0;
	start(64, DS_POLICY_ADAPTIVE_001, KEYS);
	assert_int_equal(ds_policy_001_add_l2(&policy, 1000), 0);
	b = policy.base;
	b->params.promote_to_l1_threshold = 8;
	b->params.promote_to_l2_threshold = 8;
	b->l1.used = ds_trials_index(8);
	b->both.used = ds_trials_index(8);
	b->l1.uses = 1000;
	b->l1.trials[b->l1.used].lately.hits = 500;
	b->both.uses = 10;
	trial_leads(&b->l1, ds_trials_index(4), 100, 0);
	trial_leads(&b->both, ds_trials_index(4), -2, 0);
	assert_int_equal(interval(0, 1000, 1000, 0), 4);
	assert_int_equal(b->params.promote_to_l2_threshold, 4);
	stop();
}

/* Else it would stay where somebody has set it, as none is lowered in doubt. */
static void by_hand_there_is_no_doubt(void **state)
{
	struct ds_trials *l1, *both;
	struct ds_policy_params params;

	(void)state;
	start(256, DS_POLICY_ADAPTIVE_001, KEYS);
	assert_int_equal(ds_policy_001_add_l2(&policy, 756), 0);
	l1 = &policy.base->l1;
	both = &policy.base->both;
	params = policy.base->params;
	l1->doubts = both->doubts = 3;
	l1->longer = both->longer = 2;
	l1->way = both->way = -1;
	params.aging_interval++;
	assert_int_equal(ds_policy_set_params(&policy, &params), 0);
	assert_true(ds_trials_in_doubt(l1) && ds_trials_in_doubt(both));
	params.promote_to_l1_threshold = 64;
	assert_int_equal(ds_policy_set_params(&policy, &params), 0);
	assert_true(!ds_trials_in_doubt(l1) && ds_trials_in_doubt(both));
	assert_int_equal(l1->longer, 0);
	params.promote_to_l2_threshold = 2;
	assert_int_equal(ds_policy_set_params(&policy, &params), 0);
	assert_false(ds_trials_in_doubt(both));
	/* Nor is it one that is taken back. */
	interval(0, 300, 1000, 0);
	assert_int_equal(l1->doubts, 0);
	assert_int_equal(l1->way, 1);
	stop();
}

/* However little is hot, traffic never makes it lower. */
static void saturation_never_lowers(void **state)
{
	(void)state;
	uses = 0;
	start(64, DS_POLICY_ADAPTIVE_001, KEYS);
	policy.base->params.promote_to_l1_threshold = 8;
	policy.base->fit = 1;
	assert_int_equal(interval(950, 300, 100, 900), 8);
	stop();
}

/* Who has asked for four intervals is heard, who has for five is not. */
static void asking_has_its_time(void **state)
{
	u32 i, asked;

	(void)state;
	for (asked = 4; asked <= 5; asked++) {
		uses = 0;
		start(64, DS_POLICY_ADAPTIVE_001, KEYS);
		policy.base->params.promote_to_l1_threshold = 16;
		for (i = 0; i < 12; i++)
			assert_int_equal(interval(700, 300, 900, 900), 16);
		for (i = 1; i < asked; i++) {
			trial_leads(&policy.base->l1, ds_trials_index(8), -10, 0);
			assert_int_equal(interval(0, 300, 900, 900), 16);
		}
		trial_leads(&policy.base->l1, ds_trials_index(8), 0, 0);
		assert_int_equal(interval(0, 300, 900, 900), asked == 4 ? 8 : 16);
		stop();
	}
}

/* What was worse by the trials for ten intervals, and is no longer. */
static void lower_ones_are_tried_soon_or_not_at_all(void **state)
{
	struct ds_trials *l1;
	u32 i;

	(void)state;
	uses = 0;
	start(64, DS_POLICY_ADAPTIVE_001, KEYS);
	l1 = &policy.base->l1;
	policy.base->params.promote_to_l1_threshold = 16;
	for (i = 0; i <= 11; i++) {
		trial_leads(l1, ds_trials_index(8), -10, 0);
		assert_int_equal(interval(0, 300, 900, 900), 16);
	}
	trial_leads(l1, ds_trials_index(8), 0, 0);
	assert_int_equal(interval(0, 300, 900, 900), 16);
	/* The load no longer asks, and does again. */
	assert_int_equal(interval(700, 300, 100, 900), 16);
	for (i = 0; i <= 11; i++)
		assert_int_equal(interval(0, 300, 900, 900), i < 3 ? 8 >> i : 1);
	/* It has asked for long, but another change was made. */
	trial_leads(l1, ds_trials_index(6), 1000, 0);
	assert_int_equal(interval(0, 300, 900, 900), 6);
	for (i = 0; i < DS_TRIALS; i++)
		trial_leads(l1, i, 0, 0);
	assert_int_equal(interval(0, 300, 900, 900), 3);
	stop();
}

/* What trials raised, this rule lowered, and they raised again, it leaves alone. */
static void what_trials_raise_again_stays(void **state)
{
	struct ds_trials *l1;
	u32 i, j;

	(void)state;
	uses = 0;
	start(64, DS_POLICY_ADAPTIVE_001, KEYS);
	l1 = &policy.base->l1;
	for (i = 0; i < 3; i++) {
		trial_leads(l1, ds_trials_index(4), 1000, 0);
		assert_int_equal(interval(0, 300, 100, 900), 4);
		for (j = 0; j < DS_TRIALS; j++)
			trial_leads(l1, j, 0, 0);
		assert_int_equal(interval(0, 300, 900, 900), i < 1 ? 2 : 4);
		assert_int_equal(interval(0, 300, 900, 900), i < 1 ? 1 : 4);
	}
	stop();
}

/* @key is used so often, and has no share of L1: each time it is a miss. */
static void use_outside(u32 key, u32 times)
{
	while (times--) {
		use(key);
		if (slot_of[key] != DS_POLICY_NONE)
			assert_int_equal(ds_policy_forget(&policy, slot_of[key]), 0);
		slot_of[key] = DS_POLICY_NONE;
	}
}

/* Of one that is used twice in an interval low thresholds know. */
static void a_few_hits_keep_no_threshold(void **state)
{
	u32 i, key;

	(void)state;
	uses = 0;
	start(16, DS_POLICY_ADAPTIVE_001, KEYS);
	for (i = 0; i < 30; i++) {
		for (key = 0; key < 11; key++)
			use_outside(key, key ? 60 : 2);
		for (key = 0; key < 100; key++)
			ds_policy_tick(&policy, 1, uses, &quiet);
		if (i == 20)
			policy.base->params.promote_to_l1_threshold = 64;
		interval(0, 300, 100, i < 20 ? 0 : 900);
	}
	assert_int_equal(policy.base->params.promote_to_l1_threshold, 1);
	stop();
}

static void literal_thresholds_stay(void **state)
{
	u32 i;

	(void)state;
	uses = 0;
	start(64, DS_POLICY_LITERAL_001, KEYS);
	for (i = 0; i < 10; i++)
		assert_int_equal(interval(0, 300, 900, 900), 128);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hits_are_heard_of),
		TEST(capacity_implies_the_highest_threshold),
		TEST(thresholds_follow_the_load),
		TEST(trials_come_first),
		TEST(both_tiers_together_come_first),
		TEST(what_is_won_is_of_each_use),
		TEST(what_stands_stands),
		TEST(traffic_does_not_raise_both),
		TEST(a_few_hits_of_both_tiers_keep_no_threshold),
		TEST(saturation_never_lowers),
		TEST(asking_has_its_time),
		TEST(lower_ones_are_tried_soon_or_not_at_all),
		TEST(what_trials_raise_again_stays),
		TEST(by_hand_there_is_no_doubt),
		TEST(a_few_hits_keep_no_threshold),
		TEST(literal_thresholds_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
