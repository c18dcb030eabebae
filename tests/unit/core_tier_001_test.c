// SPDX-License-Identifier: Apache-2.0
/*
 * The token cache with L2 by the rules of document 001: who comes up when, in one step or two, and
 * who goes down as time passes, which from L2 is so with the default policy, too.
 */
#include "core_tier.h"

/* Something is used meanwhile; too little for an interval of ageing to end. */
static void tick(u64 now, u32 budget)
{
	ds_cache_tick(&cache, now, cache.policy.base ? !cache.policy.base->used : 0, &no_load, budget);
}

static void promotion_001(void **state)
{
	u32 i;

	(void)state;
	start(DS_POLICY_LITERAL_001, 1);
	for (i = 1; i < DS_POLICY_PROMOTE_TO_L2_THRESHOLD; i++) {
		use(1);
		assert_int_equal(tier_of(1), 3);
	}
	use(1);
	assert_int_equal(tier_of(1), 2);
	for (i++; i < DS_POLICY_PROMOTE_TO_L1_THRESHOLD; i++) {
		use(1);
		assert_int_equal(tier_of(1), 2);
	}
	use(1);
	assert_int_equal(tier_of(1), 1);
	assert_int_equal(cache.table.l2.used, 0);
	stop();
}

/* A tick of many looks lets as many counts age. */
static void counts_age(void **state)
{
	u32 i;

	(void)state;
	start(DS_POLICY_LITERAL_001, 0);
	for (i = 0; i < 100; i++)
		use(1);
	ds_cache_tick(&cache, 0, DS_POLICY_AGING_INTERVAL * CAPACITY, &no_load, 3);
	assert_int_equal(ds_sketch_count(&cache.policy.base->sketch,
					 ds_policy_hash(ds_token_index(tokens[1]))), 50);
	stop();
}

/* ---- from home to L1 at once ---- */

static void promotion_without_l2(void **state)
{
	u32 i;

	(void)state;
	start(DS_POLICY_LITERAL_001, 0);
	for (i = 0; i < DS_POLICY_PROMOTE_TO_L1_THRESHOLD; i++) {
		assert_int_equal(tier_of(1), 3);
		use(1);
	}
	assert_int_equal(tier_of(1), 1);
	assert_int_equal(moved[3][1], 1);
	stop();
}

static void set_thresholds(u32 to_l1, u32 to_l2)
{
	struct ds_policy_params params = cache.policy.base->params;

	params.promote_to_l1_threshold = to_l1;
	params.promote_to_l2_threshold = to_l2;
	assert_int_equal(ds_policy_set_params(&cache.policy, &params), 0);
}

/* L2 has room, but wants it no sooner than L1 does. */
static void promotion_past_l2(void **state)
{
	u32 i, mode;

	(void)state;
	for (mode = DS_POLICY_LITERAL_001; mode <= DS_POLICY_ADAPTIVE_001; mode++) {
		start(mode, 1);
		set_thresholds(4, 4);
		for (i = 0; i < 4; i++) {
			assert_int_equal(tier_of(1), 3);
			use(1);
		}
		assert_int_equal(tier_of(1), 1);
		assert_int_equal(moved[3][1], 1);
		assert_int_equal(moved[3][2] + moved[2][1], 0);
		assert_int_equal(cache.table.l2.used, 0);
		stop();
	}
}

static bool not_in_l1(const struct ds_cache *c, u32 token, u32 tier)
{
	assert_ptr_equal(c, &cache);
	(void)token;
	return tier != 1;
}

/*
 * The trials hear when a move begins, of uses meanwhile, and when it ends or is given up. After a
 * long one L1 hears of these uses, too.
 */
static void uses_on_the_way(void **state)
{
	struct ds_policy_001 *b;
	struct ds_cache_change ch;
	u32 i, slot;

	(void)state;
	for (i = 0; i < 2; i++) {
		start(DS_POLICY_ADAPTIVE_001, 1);
		b = cache.policy.base;
		ds_policy_adapt_clock(&cache.policy, 7);
		assert_int_equal(ds_cache_miss_begin(&cache, tokens[1], &ch), 0);
		assert_int_equal(b->moves[1].now, 1);
		slot = ch.moves[0].move.slot;
		assert_int_equal(cache.policy.slots[slot].heat, 1);
		b->moves[1].lasts = 100;
		ds_policy_adapt_clock(&cache.policy, 8);
		assert_int_equal(ds_cache_miss(&cache, tokens[1]), -EBUSY);
		assert_int_equal(b->l1.uses, 2);
		assert_int_equal(b->moves[1].met, 1);
		if (i)
			ds_change_end(&cache, &ch, -ECANCELED);
		else
			assert_int_equal(ds_change_end(&cache, &ch, 0), 0);
		assert_int_equal(b->moves[1].now, 0);
		assert_int_equal(b->moves[1].quick, 1);
		if (!i)
			assert_int_equal(cache.policy.slots[slot].heat, 2);
		assert_int_equal(b->moves[1].begun, 1);
		assert_int_equal(b->moves[0].begun, 0);
		stop();
	}
}

/* The trials hear where a token is that is used, on its way or not. */
static void where_it_is(void **state)
{
	struct ds_policy_001 *b;
	struct ds_cache_change ch;

	(void)state;
	start(DS_POLICY_ADAPTIVE_001, 1);
	b = cache.policy.base;
	b->moves[0].lasts = 3;
	b->moves[1].lasts = 9;
	assert_int_equal(ds_cache_stage(&cache, tokens[1]), 0);
	assert_int_equal(ds_cache_miss_begin(&cache, tokens[1], &ch), 0);
	assert_int_equal(b->l1.move_lasts, 3);
	ds_change_end(&cache, &ch, -ECANCELED);
	assert_int_equal(ds_cache_miss_begin(&cache, tokens[2], &ch), 0);
	assert_int_equal(b->l1.move_lasts, 9);
	b->l1.move_lasts = 0;
	assert_int_equal(ds_cache_miss(&cache, tokens[2]), -EBUSY);
	assert_int_equal(b->l1.move_lasts, 9);
	ds_change_end(&cache, &ch, -ECANCELED);
	stop();
}

/* They try what L1 would do with others only. */
static void uses_on_the_way_not_to_l1(void **state)
{
	struct ds_cache_change ch;

	(void)state;
	start(DS_POLICY_ADAPTIVE_001, 1);
	cache.allowed = not_in_l1;
	assert_int_equal(ds_cache_miss_begin(&cache, tokens[1], &ch), 0);
	assert_int_equal(ds_cache_miss(&cache, tokens[1]), -EBUSY);
	assert_int_equal(cache.policy.base->l1.uses, 0);
	ds_change_end(&cache, &ch, -ECANCELED);
	stop();
}

/* What is not for L1 is counted for L2 all the same. */
static void promotion_not_to_l1(void **state)
{
	u32 i;

	(void)state;
	start(DS_POLICY_LITERAL_001, 1);
	cache.allowed = not_in_l1;
	for (i = 0; i < DS_POLICY_PROMOTE_TO_L2_THRESHOLD; i++) {
		assert_int_equal(tier_of(1), 3);
		use(1);
	}
	for (; i < 2 * DS_POLICY_PROMOTE_TO_L1_THRESHOLD; i++) {
		assert_int_equal(tier_of(1), 2);
		use(1);
	}
	stop();
}

static void fill_l2(bool pin)
{
	u32 i;

	for (i = TOKENS - DS_L2_MIXED_SLOTS; i < TOKENS; i++) {
		assert_int_equal(ds_cache_stage(&cache, tokens[i]), 0);
		if (pin)
			assert_int_equal(ds_cache_pin(&cache, tokens[i], true), 0);
	}
	assert_int_equal(cache.table.l2.used, DS_L2_MIXED_SLOTS);
}

/* L2 wants it long before, but nobody leaves that. */
static void promotion_past_a_full_l2(void **state)
{
	u32 i, in[4];

	(void)state;
	start(DS_POLICY_LITERAL_001, 1);
	fill_l2(true);
	for (i = 0; i < DS_POLICY_PROMOTE_TO_L1_THRESHOLD; i++) {
		assert_int_equal(tier_of(1), 3);
		use(1);
	}
	assert_int_equal(tier_of(1), 1);
	assert_int_equal(moved[3][1], 1);
	assert_int_equal(moved[2][1] + moved[2][3], 0);
	check_all(in);
	assert_int_equal(in[1], 1);
	assert_int_equal(in[2], DS_L2_MIXED_SLOTS);
	stop();
}

/* L1 is full, too: its victim goes to L2, and L2's home. */
static void promotion_with_all_full(void **state)
{
	u32 i, in[4];

	(void)state;
	start(DS_POLICY_ADAPTIVE_001, 1);
	assert_non_null(cache.policy.base->both.trials);
	set_thresholds(2, 2);
	fill_l2(false);
	for (i = 0; i < 2 * CAPACITY; i++) {
		use(i);
		if (tier_of(i) == 3)	/* else others' uses were counted as its own */
			use(i);
		assert_int_equal(tier_of(i), 1);
	}
	assert_int_equal(moved[3][1], 2 * CAPACITY);
	assert_int_equal(moved[1][2], CAPACITY);
	assert_int_equal(moved[2][3], CAPACITY);
	assert_int_equal(moved[1][3], 0);
	assert_int_equal(moved[3][2], DS_L2_MIXED_SLOTS);	/* by fill_l2() */
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	assert_int_equal(in[2], DS_L2_MIXED_SLOTS);
	stop();
}

/* ---- as time passes ---- */

/* From L1 to L2 after 1 ms without a use, from L2 only if that is full. */
static void demotion_001(void **state)
{
	u64 now = 3000000, tenth = 100000;
	u32 i, n;

	(void)state;
	start(DS_POLICY_LITERAL_001, 1);
	for (n = 1; n <= 30; n++)
		tick(n * tenth, 4);
	for (i = 0; i < 20; i++)
		for (n = 0; n < DS_POLICY_PROMOTE_TO_L1_THRESHOLD; n++)
			use(i);
	post(7);
	for (i = 0; i < 20; i++)
		assert_int_equal(tier_of(i), 1);
	for (n = 1; n <= 9; n++)
		tick(now + n * tenth, 100);
	for (i = 0; i < 20; i++)
		assert_int_equal(tier_of(i), 1);
	for (i = 0; i < 10; i++)
		use(i);
	tick(now + 10 * tenth, 100);
	for (i = 0; i < 20; i++)
		assert_int_equal(tier_of(i), 1);
	tick(now + 11 * tenth, 3);
	tick(now + 12 * tenth, 3);
	for (i = 10, n = 0; i < 20; i++)
		n += tier_of(i) == 2;
	assert_int_equal(n, 3);		/* as many as it may */
	tick(now + 1200000, 100);
	for (i = 0; i < 20; i++)
		assert_int_equal(tier_of(i), i < 10 ? 1 : 2);
	assert_int_equal(cache.policy.forgotten, 10);	/* their places are free */
	use(7);
	use(17);
	/* Idle, but in nobody's way. */
	for (n = 1; n < 20; n++)
		tick(now + n * 11000000, 100);
	for (i = 0; i < 20; i++)
		assert_int_equal(tier_of(i), 2);
	/* All others are used enough for L2. */
	for (i = 20; i < TOKENS; i++)
		for (n = 0; n < DS_POLICY_PROMOTE_TO_L2_THRESHOLD; n++)
			use(i);
	assert_true(moved[2][3] > 0);
	n = cache.table.l2.used;
	tick(now + 300000000, 100);
	assert_int_equal(cache.table.l2.used, n);
	for (i = 0; i < TOKENS; i++)
		if (tier_of(i) == 2 && i % 2)
			use(i);
	tick(now + 309000000, 100);
	assert_int_equal(cache.table.l2.used, n);
	tick(now + 311000000, 1000);
	assert_in_range(cache.table.l2.used, 1, n - 100);
	assert_false(cache.table.l2.crowded);
	for (i = 0; i < TOKENS; i++)
		get(i);
	stop();
}

/* From L2 as above, though the policy has no parameters; never from L1. */
static void demotion_default(void **state)
{
	u64 now = 1 << 20, idle = DS_POLICY_DEMOTE_FROM_L2_IDLE_NS;
	u32 i, left, in[4], tier[TOKENS];

	(void)state;
	start(DS_POLICY_DEFAULT, 1);
	assert_null(cache.policy.base);
	for (i = 0; i < CAPACITY + 200; i++)	/* too few for a page of their own */
		use(i);
	assert_true(cache.table.l2.used > 0);
	for (i = 0; i < 5; i++, now += 2 * idle)	/* in nobody's way */
		assert_int_equal(ds_cache_tick(&cache, now, 0, &no_load, 100), 0);
	for (i = 0; i < TOKENS; i++)
		use(i);
	for (i = 0; i < TOKENS; i++)
		tier[i] = get(i);
	assert_int_equal(cache.table.l2.used, DS_L2_MIXED_SLOTS);
	assert_int_equal(ds_cache_tick(&cache, now, 0, &no_load, 100), 0);
	for (i = 1; i < TOKENS; i += 2)
		get(i);
	assert_int_equal(ds_cache_tick(&cache, now + idle - 1, 0, &no_load, 100), 0);
	left = ds_cache_tick(&cache, now + idle, 0, &no_load, 1000);
	assert_in_range(left, 100, DS_L2_MIXED_SLOTS / 2);
	assert_false(cache.table.l2.crowded);
	for (i = 0; i < TOKENS; i++)
		if (i % 2 || tier[i] != 2)
			assert_int_equal(tier_of(i), tier[i]);
	check_all(in);
	assert_int_equal(in[2], DS_L2_MIXED_SLOTS - left);
	/* There is room again. */
	assert_int_equal(ds_cache_tick(&cache, now + 5 * idle, 0, &no_load, 1000), 0);
	stop();
}

/* A slot that it has left says nothing of where it is: it came back to another one. */
static void back_in_another_slot(void **state)
{
	u32 i, in[4];

	(void)state;
	start(DS_POLICY_LITERAL_001, 1);
	set_thresholds(1, 1);
	use(0);
	assert_int_equal(ds_word_slot(word_of(tokens[0])), 0);
	tick(10000000, 100);
	tick(20000000, 100);
	assert_int_equal(tier_of(0), 2);
	use(0);
	assert_int_equal(ds_word_slot(word_of(tokens[0])), 1);
	for (i = 1; i < CAPACITY; i++) {
		use(i);
		assert_int_equal(tier_of(i), 1);
		assert_int_equal(tier_of(0), 1);
	}
	assert_int_equal(ds_word_slot(word_of(tokens[CAPACITY - 1])), 0);
	assert_int_equal(moved[1][2], 1);
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	stop();
}

/* Who was revoked is sent nowhere, and its slot is free, though its revoker does not say so yet. */
static void idle_and_revoked(void **state)
{
	u32 i, in[4];
	u64 words[CAPACITY];

	(void)state;
	start(DS_POLICY_LITERAL_001, 1);
	set_thresholds(1, 1);
	for (i = 0; i < CAPACITY; i++)
		use(i);
	cache.table.l1.left = NULL;
	for (i = 0; i < CAPACITY; i++) {
		words[i] = word_of(tokens[i]);
		assert_int_equal(ds_token_revoke(&cache.table, tokens[i], NULL), 0);
	}
	tick(10000000, 100);
	assert_int_equal(ds_cache_tick(&cache, 20000000, 0, &no_load, 100), 0);
	assert_int_equal(cache.table.l2.used, 0);
	for (i = CAPACITY; i < 2 * CAPACITY; i++) {
		use(i);
		assert_int_equal(tier_of(i), 1);
	}
	for (i = 0; i < CAPACITY; i++) {
		l1_slot_left(&cache.table.l1, ds_word_slot(words[i]), tokens[i]);
		ds_token_free(&cache.table, tokens[i]);
		tokens[i] = create(i);
	}
	cache.table.l1.left = l1_slot_left;
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	stop();
}

/* From L2 after the time that is set. */
static void demotion_from_l2_as_set(void **state)
{
	static const u64 times[] = { 3000000, 40000000 };
	u64 now = 1 << 30;
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(times); i++) {
		start(DS_POLICY_LITERAL_001, 1);
		cache.policy.base->params.demote_from_l2_idle_ns = times[i];
		fill_l2(false);
		assert_int_equal(ds_cache_stage(&cache, tokens[0]), 0);	/* in the place of another one */
		assert_true(cache.table.l2.crowded);
		assert_int_equal(ds_cache_tick(&cache, now, 0, &no_load, 100), 0);
		assert_int_equal(ds_cache_tick(&cache, now + times[i] - 1, 0, &no_load, 100), 0);
		assert_true(ds_cache_tick(&cache, now + times[i], 0, &no_load, 100) > 0);
		stop();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counts_age),
		TEST(promotion_001),
		TEST(promotion_without_l2),
		TEST(promotion_past_l2),
		TEST(uses_on_the_way),
		TEST(where_it_is),
		TEST(uses_on_the_way_not_to_l1),
		TEST(promotion_not_to_l1),
		TEST(promotion_past_a_full_l2),
		TEST(promotion_with_all_full),
		TEST(demotion_001),
		TEST(demotion_default),
		TEST(back_in_another_slot),
		TEST(idle_and_revoked),
		TEST(demotion_from_l2_as_set),
	};

	return cmocka_run_group_tests_name("core_tier_001", tests, NULL, NULL);
}
