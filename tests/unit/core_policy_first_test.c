// SPDX-License-Identifier: Apache-2.0
/* L1's policy: the rule that it begins with, by what was used while it filled. */
#include "core_policy.h"

#define CAPACITY 1024
#define KEYS (4 * CAPACITY)

/* One of ten keys, from the first on, is used @often more, and @once of a thousand slots once more. */
static void fill(u32 capacity, u32 once, u32 often)
{
	u32 key, n;

	start(capacity, DS_POLICY_DEFAULT, capacity);
	for (key = 0; key < capacity; key++) {
		assert_int_equal(policy.fresh, key);
		assert_false(use(key));
		if ((key + 1) * once / 1000 > key * once / 1000)
			assert_true(use(key));
		else if (key % 10 == 0)
			for (n = 0; n < often; n++)
				assert_true(use(key));
	}
	assert_int_equal(policy.fresh, capacity);
	assert_null(policy.early);
}

static void assert_first(enum ds_rule rule)
{
	assert_int_equal(policy.rule, rule);
	stop();
}

/* Of a skew that stays fewer are used just once more. */
static void short_lives(void **state)
{
	(void)state;
	fill(CAPACITY, 240, 0);
	assert_first(DS_RULE_LRU);
	fill(CAPACITY, 240, 3);
	assert_first(DS_RULE_LRU);
	fill(CAPACITY, 210, 0);
	assert_first(DS_RULE_S3FIFO);
	fill(CAPACITY, 210, 3);
	assert_first(DS_RULE_S3FIFO);
}

/* A loop that is longer, or next to nothing that is used again. */
static void hardly_used_again(void **state)
{
	(void)state;
	fill(CAPACITY, 0, 0);
	assert_first(DS_RULE_LIRS);
	fill(CAPACITY, 90, 0);
	assert_first(DS_RULE_LIRS);
	fill(CAPACITY, 110, 0);
	assert_first(DS_RULE_S3FIFO);
}

/* In a large L1 not all slots are looked at, and which ones are is no pattern of its beginning. */
static void large(void **state)
{
	(void)state;
	fill(40 * CAPACITY, 240, 0);
	assert_first(DS_RULE_LRU);
	fill(40 * CAPACITY, 0, 0);
	assert_first(DS_RULE_LIRS);
	fill(40 * CAPACITY, 150, 0);
	assert_first(DS_RULE_S3FIFO);
}

/* A working set of 960, @hits uses of it for each of the others, who come when it has been learned. */
static void fit_and_leave(u32 hits)
{
	u32 key, n;

	start(CAPACITY, DS_POLICY_DEFAULT, KEYS);
	policy.early = NULL;
	for (n = 0; n < 3; n++)
		for (key = 0; key < 960; key++)
			use(key);
	for (; key < CAPACITY; key++) {
		for (n = 0; n < hits; n++)
			use(random_below(960));
		use(key);
	}
}

/* Then another working set comes, and nobody knows it. */
static void all_fitted(void **state)
{
	(void)state;
	fit_and_leave(400);
	assert_first(DS_RULE_LRU);
	fit_and_leave(10);
	assert_first(DS_RULE_S3FIFO);
}

/* Hits of long ago say nothing of now. */
static void fitted_once(void **state)
{
	u32 key, n;

	(void)state;
	start(CAPACITY, DS_POLICY_DEFAULT, KEYS);
	policy.early = NULL;
	for (n = 0; n < 100; n++)
		for (key = 0; key < 300; key++)
			use(key);
	assert_true(policy.lately + policy.hits_head - policy.hits_tail > 8u * policy.shadow.size);
	for (; key < CAPACITY; key++)
		use(key);
	assert_first(DS_RULE_S3FIFO);
}

/* A few that are always used, and many that are used once: what comes should not stay long. */
static void skewed(void **state)
{
	u32 key, n;

	(void)state;
	start(CAPACITY, DS_POLICY_DEFAULT, KEYS);
	assert_non_null(policy.early);
	for (key = 0; key < CAPACITY; key++) {
		use(key);
		for (n = 0; n < 2 && key > 200; n++)
			use(zipf(200));
	}
	assert_null(policy.early);
	assert_first(DS_RULE_S3FIFO_SHORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(short_lives),
		TEST(hardly_used_again),
		TEST(large),
		TEST(all_fitted),
		TEST(fitted_once),
		TEST(skewed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
