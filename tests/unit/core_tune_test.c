// SPDX-License-Identifier: Apache-2.0
/* Parameters of document 001's modes by their names: all of them, each by itself. */
#include "core_param.h"
#include "core_tier.h"

#include "tokencache/tune.h"

static void begin_mode(u32 mode)
{
	assert_int_equal(ds_cache_init(&cache, TOKENS, CAPACITY, mode, 0, DS_L2_ANYWHERE), 0);
}

/* docs/tokencache.md */
static void names_and_ranges(void **state)
{
	static const struct ds_param documented[DS_TUNE_PARAMS] = {
		{ "PROMOTE_TO_L1_THRESHOLD", 1, 255, 128, false },
		{ "PROMOTE_TO_L2_THRESHOLD", 1, 255, 16, false },
		{ "DEMOTE_FROM_L1_IDLE_NS", 1024, 1000000000000, 1000000, false },
		{ "DEMOTE_FROM_L2_IDLE_NS", 1024, 1000000000000, 10000000, false },
		{ "AGING_INTERVAL", 1, 1ull << 40, 10 * 8192, false },
		{ "ALPHA", 0, 255, 1, false },
		{ "HEAT_SAMPLING", 1, 255, 1, false },
	};
	u32 i;

	(void)state;
	for (i = 0; i < DS_TUNE_PARAMS; i++) {
		assert_param(&ds_tune_params[i], &documented[i]);
	}
}

/* What the document says, but the interval, which is ten uses for a slot. */
static void normal_values(void **state)
{
	static const u64 literal[DS_TUNE_PARAMS] = { 128, 16, 1000000, 10000000, 10 * CAPACITY, 1, 1 };
	u32 mode, i;

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++) {
		begin_mode(mode);
		for (i = 0; i < DS_TUNE_PARAMS; i++) {
			u64 normal = mode == DS_POLICY_ADAPTIVE_001 && i < 2 ? 1 : literal[i];

			assert_int_equal(ds_tune_normal(&cache.policy, i), normal);
			assert_int_equal(ds_tune_get(&cache, i), normal);
		}
		ds_cache_destroy(&cache);
	}
}

static void each_within_its_range(void **state)
{
	u32 i, k;

	(void)state;
	begin_mode(DS_POLICY_LITERAL_001);
	for (i = 0; i < DS_TUNE_PARAMS; i++) {
		const struct ds_param *p = &ds_tune_params[i];

		if (p->least)
			assert_int_equal(ds_tune_set(&cache, i, p->least - 1), -EINVAL);
		assert_int_equal(ds_tune_set(&cache, i, p->most + 1), -EINVAL);
		assert_int_equal(ds_tune_set(&cache, i, ~0ull), -EINVAL);
		assert_int_equal(ds_tune_get(&cache, i), ds_tune_normal(&cache.policy, i));
		assert_int_equal(ds_tune_set(&cache, i, p->least), 0);
		assert_int_equal(ds_tune_get(&cache, i), p->least);
		assert_int_equal(ds_tune_set(&cache, i, p->most), 0);
		assert_int_equal(ds_tune_get(&cache, i), p->most);
		for (k = i + 1; k < DS_TUNE_PARAMS; k++)	/* no other one has changed */
			assert_int_equal(ds_tune_get(&cache, k), ds_tune_normal(&cache.policy, k));
	}
	assert_int_equal(cache.policy.base->params.promote_to_l1_threshold, 255);
	assert_int_equal(cache.policy.base->params.demote_from_l1_idle_ns, 1000000000000);
	assert_int_equal(cache.policy.base->params.alpha, 255);
	ds_cache_destroy(&cache);
}

static void the_default_policy_has_none(void **state)
{
	u32 i;

	(void)state;
	begin_mode(DS_POLICY_DEFAULT);
	for (i = 0; i < DS_TUNE_PARAMS; i++) {
		assert_int_equal(ds_tune_set(&cache, i, ds_tune_params[i].least), -EINVAL);
		assert_int_equal(ds_tune_get(&cache, i), ds_tune_normal(&cache.policy, i));
	}
	ds_cache_destroy(&cache);
}

/* A lower threshold is that of the next use; ageing says when an interval ended. */
static void they_are_in_force(void **state)
{
	struct ds_policy_load load = { 0 };
	u32 i;

	(void)state;
	start(DS_POLICY_LITERAL_001, 0);
	for (i = 0; i < 5; i++)
		use(7);
	assert_int_equal(tier_of(7), 3);
	assert_int_equal(ds_tune_set(&cache, DS_PROMOTE_TO_L1_THRESHOLD, 6), 0);
	use(7);
	assert_int_equal(tier_of(7), 1);
	assert_int_equal(ds_tune_set(&cache, DS_AGING_INTERVAL, 10), 0);
	ds_cache_tick(&cache, 0, 9, &load, 1);
	assert_int_equal(ds_policy_aged_at(&cache.policy), 0);
	ds_cache_tick(&cache, 0, 10, &load, 1);
	assert_int_equal(ds_policy_aged_at(&cache.policy), 10);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_and_ranges),
		TEST(normal_values),
		TEST(each_within_its_range),
		TEST(the_default_policy_has_none),
		TEST(they_are_in_force),
	};

	return cmocka_run_group_tests_name("core_tune", tests, NULL, NULL);
}
