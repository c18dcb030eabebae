// SPDX-License-Identifier: Apache-2.0
/* literal-001 and adaptive-001: each rule of document 001 by itself. */
#include "core_policy.h"

#define KEYS	10000

static const struct ds_policy_load quiet;

/* Something is used meanwhile; too little for an interval of ageing to end. */
static void ns_pass(u64 now_ns)
{
	ds_policy_tick(&policy, now_ns, !policy.base->used, &quiet);
}

/* A tick each 0.1 ms. */
static void tenths_of_ms_pass(u32 from, u32 to)
{
	while (from < to)
		ns_pass(++from * 100000);
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

/* What the test saw of who is in a slot. */
static struct seen_use {
	u64 times;
	u64 last;	/* the tick before it */
} seen_of[256];

static u64 seen_now;

static void see_time(u64 ticks)
{
	seen_now = ticks;
	ns_pass(ticks << 10);
}

static void see_hit(u32 slot)
{
	ds_policy_hit(&policy, slot);
	seen_of[slot].times++;
	seen_of[slot].last = seen_now;
}

/* How often it was used before it came is an estimate. */
static void see_come(u32 slot)
{
	seen_of[slot].times = policy.slots[slot].heat;
	seen_of[slot].last = seen_now;
}

static int by_last_use(const void *a, const void *b)
{
	u64 first = seen_of[*(const u32 *)a].last, second = seen_of[*(const u32 *)b].last;

	return (first > second) - (first < second);
}

/*
 * Document 001: the lowest frequency + alpha * recency rank goes, and recency breaks ties. So from
 * the one used longest ago on, who is lower than all before him. Ones of the same tick share the
 * rank of the first.
 */
static u32 who_has_to_go(u32 *candidates, u64 alpha)
{
	u32 i, rank = 0, goes = 0;
	u64 score, lowest = 0;

	qsort(candidates, DS_POLICY_CANDIDATES, sizeof(*candidates), by_last_use);
	for (i = 0; i < DS_POLICY_CANDIDATES; i++) {
		if (seen_of[candidates[i]].last != seen_of[candidates[rank]].last)
			rank = i;
		score = seen_of[candidates[i]].times + alpha * rank;
		if (i && score >= lowest)
			continue;
		lowest = score;
		goes = candidates[i];
	}
	return goes;
}

/* Those that are drawn now, and with the next miss again. */
static void next_candidates(u32 *candidates)
{
	u32 i, before = policy.base->random;

	for (i = 0; i < DS_POLICY_CANDIDATES; i++)
		candidates[i] = ds_random_below(&policy.base->random, policy.capacity);
	policy.base->random = before;
}

/* With few uses, of which some are of one tick: many have as many. */
static void leaves_as_001_says(u32 alpha)
{
	u32 candidates[DS_POLICY_CANDIDATES], goes, slot, victim, i, n;

	start(256, DS_POLICY_LITERAL_001, KEYS);
	policy.base->params.promote_to_l1_threshold = 1;
	policy.base->params.alpha = alpha;
	for (i = 0; i < 256; i++) {
		see_time(i / 2);
		see_come(ds_policy_miss(&policy, i, 3, &victim));
	}
	for (n = 0; n < 3000; n++) {
		see_time(1000 + n);
		for (i = random_below(4); i; i--)
			see_hit(random_below(256));
		next_candidates(candidates);
		goes = who_has_to_go(candidates, alpha);
		slot = ds_policy_miss(&policy, 256 + n, 3, &victim);
		assert_int_not_equal(victim, DS_POLICY_NONE);
		assert_int_equal(seen_of[slot].times, seen_of[goes].times);
		assert_int_equal(seen_of[slot].last, seen_of[goes].last);
		see_come(slot);
	}
	stop();
}

static void least_frequently_then_least_recently_used_goes(void **state)
{
	(void)state;
	leaves_as_001_says(0);
}

static void least_score_goes(void **state)
{
	(void)state;
	leaves_as_001_says(1);
	leaves_as_001_says(4);
	leaves_as_001_says(255);
}

static void idle_ones_go(void **state)
{
	u32 i, n;

	(void)state;
	start(128, DS_POLICY_LITERAL_001, KEYS);
	for (i = 0; i < 3; i++)
		for (n = 0; n < 128; n++)
			use(i);
	ds_policy_pin(&policy, slot_of[1], true);
	tenths_of_ms_pass(0, 5);
	ds_policy_hit(&policy, slot_of[2]);
	tenths_of_ms_pass(5, 10);
	assert_int_equal(ds_policy_idle(&policy), DS_POLICY_NONE);
	tenths_of_ms_pass(10, 12);
	assert_int_equal(ds_policy_idle(&policy), slot_of[0]);
	ds_policy_forget(&policy, slot_of[0]);
	assert_int_equal(ds_policy_idle(&policy), DS_POLICY_NONE);
	/* It has to be used 64 times more, not once. */
	slot_of[0] = DS_POLICY_NONE;
	use_often(0, 63);
	assert_int_equal(slot_of[0], DS_POLICY_NONE);
	use(0);
	assert_int_not_equal(slot_of[0], DS_POLICY_NONE);
	stop();
}

/* However large L1 is, nobody looks at slots that were never in use. */
static void only_slots_that_were_used_are_looked_at(void **state)
{
	u32 i;

	(void)state;
	start(1 << 20, DS_POLICY_LITERAL_001, KEYS);
	assert_int_equal(ds_policy_idle(&policy), DS_POLICY_NONE);
	for (i = 0; i < 65; i++)
		use_often(i, 128);
	tenths_of_ms_pass(0, 12);
	/* Two rounds. */
	for (i = 0; i < 2 * 65; i++)
		assert_int_equal(ds_policy_idle(&policy), slot_of[i % 65]);
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

static void start_with_idle_time(u64 ns)
{
	struct ds_policy_params params;

	start(128, DS_POLICY_LITERAL_001, KEYS);
	params = policy.base->params;
	params.demote_from_l1_idle_ns = ns;
	assert_int_equal(ds_policy_set_params(&policy, &params), 0);
}

/* Nor if ticks come now and then, and some soon after another. */
static void ticks_at_odd_times(void **state)
{
	u32 ms, idle;

	(void)state;
	start_with_idle_time(60000000);
	use_often(0, 128);
	for (ms = 1; ms < 3000; ms++) {
		if (ms % 48 == 0)
			ds_policy_hit(&policy, slot_of[0]);
		if (ms % 100 > 2 && ms % 700 != 50)
			continue;
		ns_pass(ms * 1000000ull);
		assert_int_equal(ds_policy_idle(&policy), DS_POLICY_NONE);
	}
	idle = ms - 2976;
	for (; ds_policy_idle(&policy) == DS_POLICY_NONE; ms++, idle++)
		ns_pass(ms * 1000000ull);
	assert_in_range(idle, 61, 60 + 100 + 2);
	stop();
}

/* What is used after a long time without any use leaves as soon as ever. */
static void quiet_times_leave_no_doubt(void **state)
{
	u64 ns, quiet_ns = 700ull * 1000000000, idle = 500ull * 1000000000, tick_ns = 100000000;

	(void)state;
	start_with_idle_time(idle);
	ds_policy_tick(&policy, tick_ns, 0, &quiet);
	ds_policy_tick(&policy, quiet_ns, 0, &quiet);
	use_often(0, 128);
	for (ns = quiet_ns + tick_ns; ds_policy_idle(&policy) == DS_POLICY_NONE; ns += tick_ns)
		ds_policy_tick(&policy, ns, 128, &quiet);
	assert_in_range(ns - quiet_ns, idle, idle + 4 * tick_ns);
	stop();
}

/* A use may be as late as the end of the longest gap, also when time has gone on since. */
static void a_gap_is_known_for_long_enough(void **state)
{
	u64 ns, tick_ns = 10000000, idle = 6 * tick_ns;

	(void)state;
	start_with_idle_time(idle);
	ds_policy_tick(&policy, tick_ns, 0, &quiet);
	use_often(0, 128);
	ds_policy_tick(&policy, 5 * tick_ns, 128, &quiet);	/* just before it, perhaps */
	for (ns = 6 * tick_ns; ns < 5 * tick_ns + idle; ns += tick_ns) {
		ds_policy_tick(&policy, ns, 128, &quiet);
		assert_int_equal(ds_policy_idle(&policy), DS_POLICY_NONE);
	}
	ds_policy_tick(&policy, ns + tick_ns, 128, &quiet);
	assert_int_equal(ds_policy_idle(&policy), slot_of[0]);
	stop();
}

/* Once nobody ticked for long, while there were uses: that is over after twice the time. */
static void a_long_gap_is_forgotten(void **state)
{
	u64 ns, tick_ns = 10000000, gap_ns = 1000 * tick_ns, idle = 6 * tick_ns, since;

	(void)state;
	start_with_idle_time(idle);
	ds_policy_tick(&policy, tick_ns, 0, &quiet);
	for (ns = gap_ns; ns < gap_ns + 3 * idle; ns += tick_ns)
		ds_policy_tick(&policy, ns, 1, &quiet);
	since = ns - tick_ns;
	use_often(0, 128);
	for (; ds_policy_idle(&policy) == DS_POLICY_NONE && ns < 2 * gap_ns; ns += tick_ns)
		ds_policy_tick(&policy, ns, 129, &quiet);
	assert_in_range(ns - since, idle, idle + 4 * tick_ns);
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
		TEST(least_frequently_then_least_recently_used_goes),
		TEST(least_score_goes),
		TEST(idle_ones_go),
		TEST(only_slots_that_were_used_are_looked_at),
		TEST(uses_between_two_ticks_are_late_enough),
		TEST(ticks_at_odd_times),
		TEST(quiet_times_leave_no_doubt),
		TEST(a_gap_is_known_for_long_enough),
		TEST(a_long_gap_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
