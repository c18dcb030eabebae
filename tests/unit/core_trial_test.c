// SPDX-License-Identifier: Apache-2.0
/* Miniatures of L1 for thresholds of promotion: who is in them, and what they cost. */
#include "core_policy.h"

#define CAPACITY	256u
#define KEYS		1000u

static void nobody_is_better_without_trials(void **state)
{
	struct ds_trials t = { .size = 0 };

	(void)state;
	assert_false(ds_trials_want(&t, 0));
	ds_trials_use(&t, 3);
	ds_trials_age(&t);
	ds_trials_resize(&t, 7);
	assert_int_equal(ds_trials_best(&t), 0);
	assert_int_equal(ds_trials_ahead(&t, 1, 0), 0);
	assert_false(ds_trials_is_worse(&t, DS_TRIALS - 1, 0));
	assert_int_equal(ds_trials_bytes(&t), 0);
	ds_trials_destroy(&t);
}

static void memory_runs_out(void **state)
{
	struct ds_trials t;

	(void)state;
	allocs_left = 0;
	assert_int_equal(ds_trials_init(&t, CAPACITY, ~0u, true), -ENOMEM);
	allocs_left = -1;
	ds_trials_destroy(&t);
}

/* Of two kinds: those of L1, and those of both tiers, as the square root of the capacity tells. */
static void sizes(void **state)
{
	static const struct {
		u32 capacity, l1, both;
	} of[] = { { 16, 16, 16 }, { 64, 64, 64 }, { 511, 64, 64 }, { 512, 208, 128 },
		   { 2047, 208, 128 }, { 2048, 208, 192 }, { 1 << 20, 208, 192 } };
	struct ds_trials t;
	u32 i, l1;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(of); i++)
		for (l1 = 0; l1 < 2; l1++) {
			assert_int_equal(ds_trials_init(&t, of[i].capacity, ~0u, l1), 0);
			assert_int_equal(t.size, l1 ? of[i].l1 : of[i].both);
			assert_int_equal(t.room, l1 ? min(t.size + t.size / 8, 216u) : t.size);
			assert_int_equal(t.sampled,
					 min(((u64)t.size << 32) / of[i].capacity, 0xffffffffull));
			assert_int_not_equal(t.random, 0);	/* it would stay so */
			ds_trials_destroy(&t);
		}
	assert_int_equal(ds_trials_init(&t, 1000, 1u << 28, false), 0);
	assert_int_equal(t.sampled, 1u << 28);
	assert_int_equal(t.size, 63);
	ds_trials_destroy(&t);
	assert_int_equal(ds_trials_init(&t, 1000, 1, false), 0);
	assert_int_equal(t.size, 1);
	ds_trials_destroy(&t);
}

/* A quarter of the difference, and down to the last one; those leave that were used longest ago. */
static void as_large_as_the_sample(void **state)
{
	static const u32 asked[] = { 60, 60, 60, 60, 60, 62, 64, 1000, 1000, 1000, 1000, 1000 };
	static const u32 sizes[] = { 63, 62, 61, 60, 60, 60, 61, 63, 65, 66, 67, 68 };
	struct ds_trials t;
	u32 i;

	(void)state;
	assert_int_equal(ds_trials_init(&t, CAPACITY, ~0u, true), 0);
	for (i = 0; i < 64; i++)
		ds_trials_access(&t, (u64)i << 8, 1, 0, 0);
	for (i = 0; i < ARRAY_SIZE(asked); i++) {
		ds_trials_resize(&t, asked[i]);
		assert_int_equal(t.size, sizes[i]);
		assert_int_equal(t.trials[0].count, max(63 - min(i, 3u), 60u));
		assert_int_equal(t.trials[0].tags[0], 64 - t.trials[0].count);
	}
	for (i = 0; i < 16; i++)
		ds_trials_resize(&t, ~0u);
	assert_in_range(t.size, 69, t.room);
	for (i = 100; i < 200; i++)
		ds_trials_access(&t, (u64)i << 8, 1, 0, 0);
	assert_int_equal(t.trials[0].count, t.size);
	for (i = 0; i < 100; i++)
		ds_trials_resize(&t, 0);
	assert_int_equal(t.size, 1);
	assert_int_equal(t.trials[0].count, 1);
	assert_int_equal(t.trials[0].tags[0], 199);
	ds_trials_destroy(&t);
}

static void index_of_any_threshold(void **state)
{
	u32 threshold, i;

	(void)state;
	for (threshold = 0; threshold <= DS_SKETCH_MOST; threshold++) {
		i = ds_trials_index(threshold);
		assert_true(i == 0 || ds_trial_thresholds[i] <= threshold);
		assert_true(i == DS_TRIALS - 1 || ds_trial_thresholds[i + 1] > threshold);
	}
}

/* The oldest goes, or whose score is least; what is not used often enough does not come. */
static void who_is_in(void **state)
{
	struct ds_trials t;
	u32 i, low, high;

	(void)state;
	assert_int_equal(ds_trials_init(&t, 16, ~0u, false), 0);
	assert_int_equal(t.size, 16);
	for (i = 0; i < 17; i++)
		ds_trials_access(&t, (u64)i << 8, 5, 0, 0);
	low = ds_trials_index(4);
	high = ds_trials_index(6);
	assert_int_equal(t.trials[low].count, 16);
	assert_int_equal(t.trials[low].tags[0], 1);
	assert_int_equal(t.trials[low].tags[15], 16);
	assert_int_equal(t.trials[high].count, 0);
	assert_int_equal(t.uses, 17);
	assert_int_equal(t.trials[low].lately.hits, 0);
	ds_trials_access(&t, 1 << 8, 5, 0, 0);
	assert_int_equal(t.trials[low].tags[15], 1);
	assert_int_equal(t.trials[low].lately.hits, 1);
	assert_int_equal(t.trials[low].lately.gain, DS_TRIAL_HIT);
	assert_int_equal(t.trials[high].lately.gain, 0);
	assert_int_equal(t.trials[low].lately.apart, 0);	/* as that of threshold 1 */
	assert_int_equal(t.trials[high].lately.apart, DS_TRIAL_HIT * DS_TRIAL_HIT);
	ds_trials_destroy(&t);

	assert_int_equal(ds_trials_init(&t, 16, ~0u, true), 0);
	for (i = 0; i < 16; i++)
		ds_trials_access(&t, (u64)i << 8, i == 7 ? 5 : 6, 0, 0);
	ds_trials_access(&t, 16 << 8, 5, 0, 0);
	for (i = 0; i < 16; i++)
		assert_int_not_equal(t.trials[low].tags[i], 7);
	/* Each hit is a use, to 255. */
	for (i = 0; i < 300; i++) {
		ds_trials_access(&t, 3 << 8, 5, 0, 0);
		assert_int_equal(t.trials[low].tags[15], 3);
		assert_int_equal(t.trials[low].heats[15], min(7 + i, 255u));
	}
	ds_trials_destroy(&t);

	/* Of equal ones the one that was used longest ago. */
	assert_int_equal(ds_trials_init(&t, 16, ~0u, true), 0);
	for (i = 0; i < 17; i++)
		ds_trials_access(&t, (u64)i << 8, 5, 0, 0);
	assert_int_equal(t.trials[low].tags[0], 1);
	assert_int_equal(t.trials[low].tags[15], 16);
	ds_trials_destroy(&t);
}

static void use_keys(struct ds_trials *t, u32 first, u32 count)
{
	u32 i;

	for (i = first; i < first + count; i++)
		ds_trials_access(t, (u64)i << 8, 255, 0, 0);
}

static void pass(struct ds_trials *t, u32 ticks, u32 passed, u32 idle)
{
	while (ticks--)
		ds_trials_tick(t, passed, idle);
}

/* Who was used since the last tick is not idle, however long ago that was. */
static void who_was_idle_leaves(void **state)
{
	static const struct {
		u32 passed, idle, ticks;
	} of[] = { { 1, 8, 8 }, { 1, 80, 80 }, { 1 << 20, 1 << 23, 8 }, { 40, 80, 2 }, { 70, 80, 2 },
		   { 80, 80, 2 }, { 1000, 80, 2 }, { ~0u >> 1, 80, 2 }, { 1, 1, 8 } };
	struct ds_trials t;
	struct ds_trial *m;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		assert_int_equal(ds_trials_init(&t, 16, ~0u, true), 0);
		m = &t.trials[3];
		t.due = ~0u;
		use_keys(&t, 0, 4);
		pass(&t, of[i].ticks - 1, of[i].passed, of[i].idle);
		assert_int_equal(m->count, 4);
		pass(&t, 1, of[i].passed, of[i].idle);
		assert_int_equal(m->count, 3);
		/* Who is used again is not idle, nor is who comes. */
		use_keys(&t, m->tags[1], 1);
		use_keys(&t, 9, 1);
		assert_int_equal(m->count, 4);
		assert_int_equal(m->unused[DS_TRIAL_MARKS - 1], 2);
		pass(&t, 1, of[i].passed, of[i].idle);
		assert_int_equal(m->count, 3);
		assert_int_equal(m->tags[2], 9);
		pass(&t, 2, 0, of[i].idle);
		assert_int_equal(m->count, 2);
		assert_int_equal(m->unused[DS_TRIAL_MARKS - 1], 0);
		ds_trials_destroy(&t);
	}
}

/* Of so many ticks as have one leave from the cache, few have one leave from a miniature. */
static void few_leave_from_a_miniature(void **state)
{
	struct ds_trials t;

	(void)state;
	assert_int_equal(ds_trials_init(&t, 1 << 20, ~0u, true), 0);
	use_keys(&t, 0, 100);
	pass(&t, 8 + (1 << 20) / 208 * 4, 1, 8);
	assert_int_equal(t.trials[0].count, 96);
	/* Not those that are idle for longest. */
	assert_in_range(t.trials[0].tags[0], 0, 3);
	ds_trials_destroy(&t);
}

/* The clock of the policy wraps; and nobody has to be idle ever. */
static void time_goes_on(void **state)
{
	static const struct ds_policy_load load;
	struct ds_policy_params params;
	u64 last = (u64)DS_POLICY_TIME << DS_POLICY_TICK_SHIFT;
	u32 since;

	(void)state;
	start(CAPACITY, DS_POLICY_ADAPTIVE_001, KEYS);
	params = policy.base->params;
	params.demote_from_l1_idle_ns = 1ull << 42;	/* a multiple of 2^32 ticks */
	assert_int_equal(ds_policy_set_params(&policy, &params), 0);
	ds_policy_tick(&policy, last, 0, &load);
	since = policy.base->l1.since;
	ds_policy_tick(&policy, last + (7 << DS_POLICY_TICK_SHIFT), 0, &load);
	assert_int_equal(policy.base->l1.since, since + 7);
	ds_policy_tick(&policy, last + (1009 << DS_POLICY_TICK_SHIFT), 0, &load);
	assert_int_equal(policy.base->l1.since, since + 1009);
	stop();
}

/* A move costs something, also if the key is back at once. */
static void what_moves_cost(void **state)
{
	u32 i, low = ds_trials_index(4), high = ds_trials_index(6);
	struct ds_trials t;

	(void)state;
	assert_int_equal(ds_trials_init(&t, 16, ~0u, false), 0);
	t.move_cost = 3;
	for (i = 0; i < 34; i++)
		ds_trials_access(&t, (u64)(i % 17) << 8, 5, 0, 0);
	assert_int_equal(t.trials[low].lately.hits, 0);
	assert_int_equal(t.trials[low].lately.gain, -3 * 34);
	assert_int_equal(t.trials[high].lately.gain, 0);
	assert_int_equal(t.trials[high].lately.apart, 9 * 34);
	/* What never hits is best left alone, and this is not by chance. */
	assert_int_equal(ds_trials_best(&t), high);
	ds_trials_access(&t, 16 << 8, 5, 0, 0);
	assert_int_equal(t.trials[low].lately.gain, DS_TRIAL_HIT - 3 * 34);
	ds_trials_destroy(&t);
}

/* Who is used again before it can have come is in, but did not hit. What others take is theirs. */
static void a_key_takes_time_to_come(void **state)
{
	static const u8 hits_of[] = { 4, 3, 2, 2, 1, 0 };	/* by how long it takes */
	u32 low = ds_trials_index(4), high = ds_trials_index(6), lasts, i;
	struct ds_trials t;

	(void)state;
	for (lasts = 0; lasts < ARRAY_SIZE(hits_of); lasts++) {
		assert_int_equal(ds_trials_init(&t, 16, ~0u, false), 0);
		t.move_lasts = lasts;
		t.move_cost = 3;
		for (i = 0; i < 3; i++)
			ds_trials_access(&t, 1 << 8, 5, 0, i);
		ds_trials_access(&t, 2 << 8, 1, 0, 3);	/* only the lowest one takes it */
		ds_trials_access(&t, 1 << 8, 5, 0, 4);
		ds_trials_access(&t, 1 << 8, 6, 0, 5);	/* here the higher one does */
		assert_int_equal(t.trials[low].lately.hits, hits_of[lasts]);
		assert_int_equal(t.trials[low].lately.gain, hits_of[lasts] * DS_TRIAL_HIT - 3);
		assert_int_equal(t.trials[low].count, 1);
		assert_int_equal(t.trials[0].lately.gain, hits_of[lasts] * DS_TRIAL_HIT - 6);
		assert_int_equal(t.trials[high].lately.gain, -3);
		ds_trials_access(&t, 1 << 8, 7, 0, 6);
		assert_int_equal(t.trials[high].lately.hits, lasts == 0);
		ds_trials_destroy(&t);
	}
	/* With one threshold since 1, with the other since 3: with neither it has come at 6. */
	assert_int_equal(ds_trials_init(&t, 16, ~0u, false), 0);
	t.move_lasts = 6;
	ds_trials_access(&t, 1 << 8, 4, 0, 1);
	ds_trials_access(&t, 1 << 8, 6, 0, 3);
	ds_trials_access(&t, 1 << 8, 7, 0, 6);
	assert_int_equal(t.trials[low].lately.hits + t.trials[high].lately.hits, 0);
	ds_trials_access(&t, 1 << 8, 8, 0, 8);
	assert_int_equal(t.trials[low].lately.hits, 1);
	assert_int_equal(t.trials[high].lately.hits, 0);
	ds_trials_destroy(&t);
}

/* So many keys are taken in, and none has come yet. Hits of the first one, used again. */
static u32 hits_after(u32 capacity, u32 keys)
{
	u32 low = ds_trials_index(4), i, hits;
	struct ds_trials t;

	assert_int_equal(ds_trials_init(&t, capacity, ~0u, true), 0);
	t.move_lasts = DS_TRIAL_ON_ITS_WAY;
	for (i = 0; i < keys; i++) {
		t.trials[low].count = min(t.trials[low].count, 1u);	/* the first one stays */
		ds_trials_access(&t, (u64)i << 8, 5, 0, i);
	}
	ds_trials_access(&t, 0, 5, 0, i);
	hits = t.trials[low].lately.hits;
	assert_in_range(t.latest->next - t.latest->oldest, 0, t.latest_room);
	ds_trials_destroy(&t);
	return hits;
}

/* Each that is taken in drives out the oldest that is known; of a small cache more are. */
static void so_many_are_known_to_come(void **state)
{
	static const struct {
		u32 capacity, known;
	} of[] = { { 64, 256 }, { 512, 256 }, { 2048, 64 }, { 6000, 16 }, { 100000, 16 } };
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		assert_int_equal(hits_after(of[i].capacity, of[i].known), 0);
		assert_int_equal(hits_after(of[i].capacity, of[i].known + 1), 1);
	}
}

/* The clock wraps, and what was long ago does not come again. */
static void they_come_in_time(void **state)
{
	u32 low = ds_trials_index(4);
	struct ds_trials t;

	(void)state;
	assert_int_equal(ds_trials_init(&t, 64, ~0u, false), 0);
	t.move_lasts = DS_TRIAL_ON_ITS_WAY;
	ds_trials_access(&t, 60 << 8, 5, 0, 10);
	ds_trials_access(&t, 60 << 8, 5, 0, 10 + DS_TRIAL_ON_ITS_WAY);
	assert_int_equal(t.trials[low].lately.hits, 0);
	ds_trials_access(&t, 60 << 8, 5, 0, 10 + 0x80000001);
	assert_int_equal(t.trials[low].lately.hits, 1);
	assert_int_equal(t.latest->oldest, t.latest->next);
	ds_trials_access(&t, 61 << 8, 5, 0, ~0u);
	ds_trials_access(&t, 61 << 8, 5, 0, DS_TRIAL_ON_ITS_WAY - 1);
	assert_int_equal(t.trials[low].lately.hits, 1);
	ds_trials_access(&t, 61 << 8, 5, 0, DS_TRIAL_ON_ITS_WAY);
	assert_int_equal(t.trials[low].lately.hits, 2);
	ds_trials_destroy(&t);
}

/* What was seen counts half after so many intervals. */
static void a_span_has_intervals(void **state)
{
	struct ds_trials t;
	u32 i;

	(void)state;
	assert_int_equal(ds_trials_init(&t, CAPACITY, ~0u, true), 0);
	assert_int_equal(t.span, 1);
	t.span = 3;
	t.uses = 4000;
	for (i = 1; i <= 6; i++) {
		ds_trials_age(&t);
		assert_int_equal(t.steady, i);
		assert_int_equal(t.uses, 4000 >> i / 3);
	}
	ds_trials_destroy(&t);
}

static void use_twice(struct ds_trials *t, u64 key)
{
	ds_trials_access(t, key << 8, 1, 0, 0);
	ds_trials_access(t, key << 8, 2, 0, 0);
}

/* What was seen of an interval so far. */
static void assert_now(const struct ds_trials *t, u32 uses, u32 lowest, u32 in_use)
{
	assert_int_equal(t->uses_now, uses);
	assert_int_equal(t->lowest.now, lowest);
	assert_int_equal(t->in_use.now, in_use);
}

/* However long an interval is: before a counter has no more room, half is forgotten. */
static void counters_do_not_overflow(void **state)
{
	struct ds_trials t;

	(void)state;
	assert_int_equal(ds_trials_init(&t, CAPACITY, ~0u, false), 0);
	t.move_cost = 256;
	t.uses = 0x1ffffe;
	t.trials[0].lately.gain = -256 * 0x1ffffe;
	t.trials[0].lately.apart = 260 * 260 * 0x1ffffeull;
	ds_trials_access(&t, 1 << 8, 1, 0, 0);
	assert_int_equal(t.uses, 0x1fffff);
	t.uses_before = 0xfffff;
	ds_trials_access(&t, 2 << 8, 1, 0, 0);
	assert_int_equal(t.uses, 0x100000);
	assert_int_equal(t.uses_before, 0x1fffff);
	assert_int_equal(t.trials[0].lately.gain, -128 * 0x200000);
	assert_int_equal(t.trials[0].before.gain, -128 * 0x200000);
	assert_int_equal(t.trials[0].lately.apart, 130 * 260 * 0x1ffffeull);
	t.uses = 0x1fffff;
	ds_trials_access(&t, 3 << 8, 1, 0, 0);
	assert_int_equal(t.uses_before, (0x1fffff + 0x100000) / 2);
	assert_in_range(-t.trials[0].before.gain, 96 * 0x200000, 97 * 0x200000);
	/* Of an interval that is too long the beginning tells. */
	t.uses_now = 0x1fffff;
	t.lowest.now = t.in_use.now = 0x1fffff;
	t.used = 0;
	use_twice(&t, 1);
	assert_now(&t, 0x200000, 0x200000, 0x200000);
	t.uses_now = t.lowest.now = t.in_use.now = 0;
	t.used = 4;
	use_twice(&t, 9);
	assert_now(&t, 2, 1, 0);
	/* The square of the largest lead has room, too, and its sum in a long time. */
	t.steady = 32;
	t.used = 2;
	t.uses = 0x1fffff;
	t.uses_before = 0x1fffff;
	t.trials[1].lately.gain = t.trials[1].before.gain = 4 * 0x1fffff;
	t.trials[1].before.apart = 260 * 260 * 0x200000ull;
	t.trials[1].lately.apart = ~0u * 0x10000ull;
	t.trials[2].lately.gain = t.trials[2].before.gain = -256 * 0x1fffff;
	assert_int_equal(ds_trials_best(&t), 1);
	ds_trials_destroy(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nobody_is_better_without_trials),
		TEST(memory_runs_out),
		TEST(sizes),
		TEST(as_large_as_the_sample),
		TEST(index_of_any_threshold),
		TEST(who_is_in),
		TEST(who_was_idle_leaves),
		TEST(few_leave_from_a_miniature),
		TEST(time_goes_on),
		TEST(what_moves_cost),
		TEST(a_key_takes_time_to_come),
		TEST(so_many_are_known_to_come),
		TEST(they_come_in_time),
		TEST(a_span_has_intervals),
		TEST(counters_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
