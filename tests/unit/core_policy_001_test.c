// SPDX-License-Identifier: Apache-2.0
/* literal-001 and adaptive-001: each rule of document 001 by itself. */
#include "core_policy.h"

#define KEYS	10000

static const struct ds_policy_load quiet;

static void ns_pass(u64 now_ns)
{
	ds_policy_tick(&policy, now_ns, 0, &quiet);
}

/* What the document says. */
static void parameters(void **state)
{
	const struct ds_policy_params *params;

	(void)state;
	start(8192, DS_POLICY_LITERAL_001, KEYS);
	params = &policy.base->params;
	assert_int_equal(params->promote_to_l1_threshold, 128);
	assert_int_equal(params->promote_to_l2_threshold, 16);
	assert_int_equal(params->demote_from_l1_idle_ns, 1000000);
	assert_int_equal(params->demote_from_l2_idle_ns, 10000000);
	assert_int_equal(params->aging_interval, 81920);
	stop();
}

static void wrong_parameters(void **state)
{
	struct ds_policy_params good, params;

	(void)state;
	start(16, DS_POLICY_LITERAL_001, KEYS);
	good = policy.base->params;
	assert_int_equal(ds_policy_set_params(&policy, &good), 0);
	params = good;
	params.promote_to_l1_threshold = 0;
	assert_int_equal(ds_policy_set_params(&policy, &params), -EINVAL);
	params.promote_to_l1_threshold = DS_SKETCH_MOST + 1;
	assert_int_equal(ds_policy_set_params(&policy, &params), -EINVAL);
	params = good;
	params.promote_to_l2_threshold = 0;
	assert_int_equal(ds_policy_set_params(&policy, &params), -EINVAL);
	params = good;
	params.demote_from_l1_idle_ns = 1023;
	assert_int_equal(ds_policy_set_params(&policy, &params), -EINVAL);
	params = good;
	params.aging_interval = 0;
	assert_int_equal(ds_policy_set_params(&policy, &params), -EINVAL);
	assert_memory_equal(&policy.base->params, &good, sizeof(good));
	stop();
	start(16, DS_POLICY_DEFAULT, KEYS);
	assert_int_equal(ds_policy_set_params(&policy, &good), -EINVAL);
	stop();
}

static void use_often(u32 key, u32 times)
{
	while (times--)
		use(key);
}

static void promoted_by_the_128th_use(void **state)
{
	u32 n;

	(void)state;
	start(16, DS_POLICY_LITERAL_001, KEYS);
	for (n = 1; n < 128; n++) {
		use(5);
		assert_int_equal(slot_of[5], DS_POLICY_NONE);
	}
	use(5);
	assert_int_not_equal(slot_of[5], DS_POLICY_NONE);
	stop();
}

static void counts_are_halved(void **state)
{
	u32 i;

	(void)state;
	start(4096, DS_POLICY_LITERAL_001, KEYS);
	use_often(1, 200);
	assert_int_equal(policy.slots[slot_of[1]].heat, 200);
	use_often(2, 100);
	assert_false(ds_policy_tick(&policy, 1, 40959, &quiet));
	assert_int_equal(policy.slots[slot_of[1]].heat, 200);
	assert_true(ds_policy_tick(&policy, 1, 40960, &quiet));
	for (i = 0; i < 4096 * 3 / 2 / 64; i++)
		assert_false(ds_policy_tick(&policy, 1, 40960, &quiet));
	assert_int_equal(policy.slots[slot_of[1]].heat, 100);
	assert_int_equal(ds_sketch_count(&policy.base->sketch, ds_policy_hash(2)), 50);
	/* Once. */
	for (i = 0; i < 4096 * 3 / 2 / 64; i++)
		ds_policy_tick(&policy, 1, 40960, &quiet);
	assert_int_equal(policy.slots[slot_of[1]].heat, 100);
	stop();
}

/* On a busy host there are more misses than ticks. */
static void misses_halve_counts_too(void **state)
{
	(void)state;
	start(4096, DS_POLICY_LITERAL_001, KEYS);
	use_often(1, 200);
	assert_true(ds_policy_tick(&policy, 1, 40960, &quiet));
	use_often(2, 4096 * 3 / 2 / 64);
	assert_int_equal(policy.slots[slot_of[1]].heat, 100);
	stop();
}

/* The end of an interval that comes before all counts are halved does not begin again. */
static void counts_are_halved_however_short_the_interval(void **state)
{
	u32 i;

	(void)state;
	start(4096, DS_POLICY_LITERAL_001, KEYS);
	use_often(2, 100);
	for (i = 0; i <= 4096 * 3 / 2 / 64; i++)
		assert_true(ds_policy_tick(&policy, 1, 40960 * (i + 1), &quiet));
	assert_int_equal(ds_sketch_count(&policy.base->sketch, ds_policy_hash(2)), 50);
	for (i = 0; i < 4096 * 3 / 2 / 64; i++)
		assert_false(ds_policy_tick(&policy, 1, policy.base->uses, &quiet));
	assert_int_equal(ds_sketch_count(&policy.base->sketch, ds_policy_hash(2)), 25);
	stop();
}

/* Who comes to the place of another one was not used as long ago as that, but as often. */
static void another_one_is_used_now(void **state)
{
	u32 i, slot;

	(void)state;
	start(16, DS_POLICY_LITERAL_001, KEYS);
	for (i = 0; i <= DS_POLICY_PROMOTE_TO_L1_THRESHOLD; i++)
		use(1);
	slot = slot_of[1];
	assert_int_not_equal(slot, DS_POLICY_NONE);
	ns_pass(1000000000);
	ds_policy_rekey(&policy, slot, 2);
	assert_int_equal(policy.slots[slot].link & DS_POLICY_TIME, policy.base->now);
	assert_int_equal(policy.slots[slot].heat, DS_POLICY_PROMOTE_TO_L1_THRESHOLD + 1);
	stop();
}

/* uses + alpha * rank; @link is the time of the last use. */
static u64 score_of(const u32 *candidates, u32 i)
{
	const struct ds_policy_slot *slots = policy.slots;
	u32 j, rank = 0;

	for (j = 0; j < DS_POLICY_CANDIDATES; j++)
		rank += slots[candidates[j]].link < slots[candidates[i]].link;
	return slots[candidates[i]].heat + (u64)policy.base->params.alpha * rank;
}

/* One of 16 is counted, though keys come in turn, 16 of them: the same one each time would be one key. */
static void a_sample_is_counted(void **state)
{
	struct ds_policy_params params;
	u32 i, heat, all = 0;

	(void)state;
	start(4096, DS_POLICY_LITERAL_001, KEYS);
	params = policy.base->params;
	params.promote_to_l1_threshold = DS_SKETCH_MOST;
	params.heat_sampling = 0;
	assert_int_equal(ds_policy_set_params(&policy, &params), -EINVAL);
	params.heat_sampling = DS_SKETCH_MOST + 1;
	assert_int_equal(ds_policy_set_params(&policy, &params), -EINVAL);
	params.heat_sampling = 16;
	assert_int_equal(ds_policy_set_params(&policy, &params), 0);
	for (i = 0; i < 16 * 100; i++)
		ds_policy_001_heat(&policy, ds_policy_hash(i % 16));
	for (i = 0; i < 16; i++) {
		heat = ds_sketch_count(&policy.base->sketch, ds_policy_hash(i));
		assert_true(heat % 16 == 0 && heat >= 16 && heat <= 240);
		all += heat;
	}
	assert_in_range(all, 1300, 1900);
	/* The fewer, the more it matters how long a gap is on average. */
	params.heat_sampling = 2;
	assert_int_equal(ds_policy_set_params(&policy, &params), 0);
	for (i = 0, all = 0; i < 10000; i++) {
		all += !policy.base->unsampled;
		ds_policy_001_heat(&policy, ds_policy_hash(i));
	}
	assert_in_range(all, 4800, 5200);
	stop();
}

/* The least of the candidates goes. */
static void least_score_goes(void **state)
{
	u32 candidates[DS_POLICY_CANDIDATES], victim, slot, i, n, before, best;
	u64 score, least;

	(void)state;
	start(256, DS_POLICY_LITERAL_001, KEYS);
	policy.base->params.promote_to_l1_threshold = 1;
	for (i = 0; i < 256; i++) {
		ns_pass((u64)random_below(1000) << 10);
		use(i);
		for (n = random_below(30); n; n--)
			use(i);
	}
	for (n = 0; n < 1000; n++) {
		policy.base->params.alpha = n % 3 * 4;
		ns_pass((1000ull + n) << 10);
		before = policy.base->random;
		for (i = 0; i < DS_POLICY_CANDIDATES; i++)
			candidates[i] = ds_policy_random_below(policy.base, policy.capacity);
		policy.base->random = before;
		for (least = ~0ull, best = 0, i = 0; i < DS_POLICY_CANDIDATES; i++) {
			score = score_of(candidates, i);
			if (score >= least)
				continue;
			least = score;
			best = i;
		}
		slot = ds_policy_miss(&policy, 256 + n, &victim);
		assert_int_equal(slot, candidates[best]);
		assert_int_not_equal(victim, DS_POLICY_NONE);
	}
	stop();
}

static void idle_ones_go(void **state)
{
	u32 i, n, found = 0;

	(void)state;
	start(128, DS_POLICY_LITERAL_001, KEYS);
	for (i = 0; i < 3; i++)
		for (n = 0; n < 128; n++)
			use(i);
	ds_policy_pin(&policy, slot_of[1], true);
	ns_pass(500 << 10);
	ds_policy_hit(&policy, slot_of[2]);
	ns_pass(1000000);
	assert_int_equal(ds_policy_idle(&policy), DS_POLICY_NONE);
	ns_pass(1000000 + 1024);
	ns_pass(1000000 + 2048);
	for (i = 0; i < 3; i++) {
		n = ds_policy_idle(&policy);
		if (n == DS_POLICY_NONE)
			continue;
		assert_int_equal(n, slot_of[0]);
		found++;
	}
	assert_int_equal(found, 1);
	/* It has to be used 64 times more, not once. */
	ds_policy_forget(&policy, slot_of[0]);
	slot_of[0] = DS_POLICY_NONE;
	use_often(0, 63);
	assert_int_equal(slot_of[0], DS_POLICY_NONE);
	use(0);
	assert_int_not_equal(slot_of[0], DS_POLICY_NONE);
	stop();
}

/* What is used all the time is not idle, however seldom somebody looks. */
static void uses_between_two_ticks_are_late_enough(void **state)
{
	u32 i, tick;

	(void)state;
	start(128, DS_POLICY_LITERAL_001, KEYS);
	use_often(0, 128);
	for (tick = 1; tick <= 5; tick++) {
		ds_policy_hit(&policy, slot_of[0]);
		ns_pass(tick * 100000000ull);
		ns_pass(tick * 100000000ull + 1);
		for (i = 0; i < 2; i++)
			assert_int_equal(ds_policy_idle(&policy), DS_POLICY_NONE);
	}
	ns_pass(tick * 100000000ull);
	for (i = 0; i < 2 && ds_policy_idle(&policy) != slot_of[0]; i++)
		;
	assert_in_range(i, 0, 1);
	stop();
}

/* ---- adaptive-001 ---- */

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

/* Whoever goes up is on its way for who sees it come: L1, both tiers, or each. */
static void who_is_on_its_way(void **state)
{
	static const struct {
		u32 from, to, l1, both;
	} of[] = { { 3, 1, 1, 1 }, { 3, 2, 0, 1 }, { 2, 1, 1, 0 },
		   { 1, 2, 0, 0 }, { 1, 3, 0, 0 }, { 2, 3, 0, 0 } };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		start(64, DS_POLICY_ADAPTIVE_001, KEYS);
		assert_int_equal(ds_policy_001_add_l2(&policy, 1000), 0);
		ds_policy_001_move(&policy, of[i].from, of[i].to, true);
		assert_int_equal(policy.base->l1.moves->now, of[i].l1);
		assert_int_equal(policy.base->both.moves->now, of[i].both);
		ds_policy_001_move(&policy, of[i].from, of[i].to, false);
		assert_int_equal(policy.base->l1.moves->now, 0);
		assert_int_equal(policy.base->both.moves->now, 0);
		assert_int_equal(policy.base->l1.moves->begun, of[i].l1);
		assert_int_equal(policy.base->both.moves->begun, of[i].both);
		stop();
	}
}

/* It would count with a higher threshold, so it does; literal-001 has no other threshold. */
static void a_use_of_who_is_on_its_way_counts(void **state)
{
	u32 mode;

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++) {
		start(64, mode, KEYS);
		use(1);
		ds_policy_001_met(&policy, 1);
		ds_policy_001_move(&policy, 3, 1, true);
		if (policy.base)
			assert_int_equal(ds_sketch_count(&policy.base->sketch, ds_policy_hash(1)),
					 mode == DS_POLICY_ADAPTIVE_001 ? 2 : 1);
		if (mode == DS_POLICY_ADAPTIVE_001)
			assert_int_equal(policy.base->l1.uses, 2);
		stop();
	}
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
		TEST(parameters),
		TEST(wrong_parameters),
		TEST(promoted_by_the_128th_use),
		TEST(counts_are_halved),
		TEST(misses_halve_counts_too),
		TEST(counts_are_halved_however_short_the_interval),
		TEST(another_one_is_used_now),
		TEST(a_sample_is_counted),
		TEST(least_score_goes),
		TEST(idle_ones_go),
		TEST(uses_between_two_ticks_are_late_enough),
		TEST(capacity_implies_the_highest_threshold),
		TEST(thresholds_follow_the_load),
		TEST(trials_come_first),
		TEST(who_is_on_its_way),
		TEST(a_use_of_who_is_on_its_way_counts),
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
