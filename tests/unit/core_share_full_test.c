// SPDX-License-Identifier: Apache-2.0
/*
 * Shares of L1 when all of it, or nearly all, is pinned or kept: a domain's next token takes the
 * place of the domain's own oldest, and of nobody else's.
 */
#include "core_share.h"

enum { HALF = CAPACITY / 2 };

/* The @n th token of a domain. */
static u32 nth(u32 domain, u32 n)
{
	return n * DOMAINS + domain;
}

/* Till it is in L1, or was used so often. */
static bool comes(u32 i, u32 uses)
{
	while (uses-- && tier_of(i) != 1)
		use(i);
	return tier_of(i) == 1;
}

static void set_thresholds(u32 l1, u32 l2)
{
	struct ds_policy_params params;

	if (!cache.policy.base)
		return;
	params = cache.policy.base->params;
	params.promote_to_l1_threshold = l1;
	params.promote_to_l2_threshold = l2;
	assert_int_equal(ds_policy_set_params(&cache.policy, &params), 0);
}

/* @pins of L1 are of domain 0 and pinned. Domains 1 and 2 keep @kept each. */
static void start_full(u32 mode, u32 pds[DOMAINS], u32 pins, u32 kept)
{
	u32 i;

	start_domains_in(mode, pds);
	set_thresholds(1, 1);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	assert_int_equal(ds_cache_partition(&cache, 101, kept, HALF), 0);
	assert_int_equal(ds_cache_partition(&cache, 102, kept, CAPACITY), 0);
	for (i = 0; i < pins; i++) {
		use(nth(0, i));
		assert_int_equal(ds_cache_pin(&cache, tokens[nth(0, i)], true), 0);
	}
	for (i = 0; i < kept; i++) {
		use(nth(1, i));
		use(nth(2, i));
	}
	assert_int_equal(cache.policy.pinned, pins + 2 * kept);
}

/* Of the last tokens of a domain, those that it keeps are in L1, and none before. */
static void check_kept(u32 domain, u32 last, u32 kept)
{
	u32 i;

	for (i = 0; i <= last; i++)
		assert_int_equal(tier_of(nth(domain, i)) == 1, i + kept > last);
}

static void none_is_free(u32 mode)
{
	u32 i, in[4], of[DOMAINS], pds[DOMAINS], kept = HALF / 2;

	start_full(mode, pds, HALF, kept);
	for (i = kept; i < 5 * kept; i++) {
		assert_true(comes(nth(1, i), 1));
		check_kept(1, i, kept);
	}
	for (i = kept; i < 2 * kept + 3; i++) {
		assert_true(comes(nth(2, i), 1));
		check_kept(2, i, kept);
	}
	/* Who has no share has no place, nor has who is in his domain's way. */
	assert_false(comes(nth(0, 100), 5));
	assert_false(comes(nth(3, 100), 5));
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	count_domains(of);
	assert_int_equal(of[0], HALF);
	for (i = 0; i < 2; i++) {
		assert_int_equal(cache.shares.of[i].used, kept);
		assert_int_equal(cache.shares.of[i].held, kept);
	}
	assert_int_equal(cache.policy.pinned, CAPACITY);
	/* All that a domain keeps is pinned: it has no place, either. */
	cache.pins_max = CAPACITY;
	for (i = 4 * kept; i < 5 * kept; i++)
		assert_int_equal(ds_cache_pin(&cache, tokens[nth(1, i)], true), 0);
	assert_false(comes(nth(1, i), 5));
	assert_int_equal(cache.policy.pinned, CAPACITY);
	check_all(in);
	stop_domains(pds);
}

static void all_of_l1_stays(void **state)
{
	u32 mode;

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++)
		none_is_free(mode);
}

/* Document 001's thresholds hold for one's own place, too. */
static void below_the_threshold(void **state)
{
	u32 i, uses, in[4], pds[DOMAINS], kept = HALF / 2;
	struct ds_sketch *sketch;

	(void)state;
	start_full(DS_POLICY_LITERAL_001, pds, HALF, kept);
	set_thresholds(5, 3);
	sketch = &cache.policy.base->sketch;
	for (i = kept; i < 2 * kept; i++) {
		/* So small a sketch would take others' uses for its own. */
		memset(sketch->counters, 0, (u64)sketch->width * DS_SKETCH_ROWS);
		for (uses = 1; uses < 5; uses++) {
			use(nth(1, i));
			assert_int_equal(tier_of(nth(1, i)), uses < 3 ? 3 : 2);
			check_kept(1, i - 1, kept);
		}
		use(nth(1, i));
		check_kept(1, i, kept);
	}
	check_all(in);
	stop_domains(pds);
}

/* A place is promised to one token at a time, and is its own again who did not have to leave. */
static void on_their_way(void **state)
{
	u32 i, in[4], pds[DOMAINS], kept = HALF / 2;
	struct ds_cache_change changes[3];

	(void)state;
	start_full(DS_POLICY_DEFAULT, pds, HALF, kept);
	for (i = 0; i < 3; i++) {
		assert_int_equal(ds_cache_miss_begin(&cache, tokens[nth(1, kept + i)], &changes[i]), 0);
		assert_int_equal(changes[i].moves[0].move.token, tokens[nth(1, i)]);
	}
	assert_int_equal(cache.shares.of[0].used, kept);
	ds_change_end(&cache, &changes[1], -ECANCELED);
	assert_int_equal(ds_change_end(&cache, &changes[0], 0), 0);
	assert_int_equal(ds_change_end(&cache, &changes[2], 0), 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(tier_of(nth(1, i)) == 1, i == 1);
		assert_int_equal(tier_of(nth(1, kept + i)) == 1, i != 1);
	}
	assert_int_equal(cache.shares.of[0].used, kept);
	assert_int_equal(cache.shares.of[0].held, kept);
	assert_int_equal(cache.policy.pinned, CAPACITY);
	check_all(in);
	stop_domains(pds);
}

/* All but one of L1 stays: the modes of document 001 look for that one, and do not always find it. */
static void one_is_free(void **state)
{
	u32 i, mode, in[4], pds[DOMAINS], kept = HALF / 2;

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++) {
		start_full(mode, pds, HALF - 1, kept);
		use(nth(3, 0));
		assert_int_equal(cache.policy.pinned, CAPACITY - 1);
		for (i = kept; i < 10 * kept; i++)
			assert_true(comes(nth(1, i), 1));
		for (i = 9 * kept; i < 10 * kept; i++)
			assert_int_equal(tier_of(nth(1, i)), 1);
		check_all(in);
		assert_int_equal(in[1], CAPACITY);
		assert_in_range(cache.shares.of[0].used, kept, kept + 1);
		assert_int_equal(cache.shares.of[0].held, kept);
		stop_domains(pds);
	}
}

/* One that cannot leave, as it has too many uses, is its domain's newest, and counted as before. */
static void the_oldest_cannot_leave(void **state)
{
	u32 i, in[4], pds[DOMAINS], kept = HALF / 2;

	(void)state;
	start_full(DS_POLICY_DEFAULT, pds, HALF, kept);
	hold(tokens[nth(1, 0)], true);
	assert_int_equal(ds_share_domain(&cache.table, tokens[nth(1, 0)]), 101);
	use(nth(1, kept));
	assert_int_not_equal(tier_of(nth(1, kept)), 1);
	for (i = 0; i < kept - 1; i++) {
		assert_int_equal(cache.shares.of[0].used, kept);
		assert_int_equal(cache.shares.of[0].held, kept);
		assert_true(comes(nth(1, kept + i), 1));
		assert_int_not_equal(tier_of(nth(1, i + 1)), 1);
	}
	assert_int_equal(tier_of(nth(1, 0)), 1);
	hold(tokens[nth(1, 0)], false);
	assert_true(comes(nth(1, 2 * kept), 1));
	assert_int_not_equal(tier_of(nth(1, 0)), 1);
	assert_int_equal(cache.policy.pinned, CAPACITY);
	check_all(in);
	stop_domains(pds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_of_l1_stays),
		TEST(below_the_threshold),
		TEST(on_their_way),
		TEST(one_is_free),
		TEST(the_oldest_cannot_leave),
	};

	return cmocka_run_group_tests_name("core_share_full", tests, NULL, NULL);
}
