// SPDX-License-Identifier: Apache-2.0
/* L1's policy: the rule that it begins with, by when tokens were used again while it filled. */
#include "core_policy.h"

#define CAPACITY 1200
#define KEYS (4 * CAPACITY)

/* Of a thousand keys so many are used once more: at once, after 1.5 epochs, after 3.5 epochs. */
struct load {
	u32 at_once;
	u32 soon;
	u32 late;
};

static void again(s64 key, u32 from, u32 share)
{
	/* In no order. */
	u32 n = (u32)((u64)key * 7919 % 1000);

	if (key < 0 || n < from || n >= from + share)
		return;
	assert_true(use((u32)key));
}

static void fill(u32 capacity, const struct load *l)
{
	u32 key;

	start(capacity, DS_POLICY_DEFAULT, capacity);
	for (key = 0; key < capacity; key++) {
		again((s64)key - capacity * 15 / 60, l->at_once, l->soon);
		again((s64)key - capacity * 35 / 60, l->at_once + l->soon, l->late);
		assert_int_equal(policy.rule, DS_RULE_S3FIFO);
		assert_false(use(key));
		if (key + 1 < capacity)
			again(key, 0, l->at_once);
	}
	assert_false(ds_policy_fills(&policy));
}

static void assert_first(u32 capacity, struct load l, enum ds_rule rule)
{
	fill(capacity, &l);
	assert_int_equal(policy.rule, rule);
	stop();
}

/* Three quarters of all can have been used again so soon: 0.18 and 0.225 of the slots. */
static void pass_by(void **state)
{
	(void)state;
	assert_first(CAPACITY, (struct load){ .soon = 300, .at_once = 300 }, DS_RULE_LRU);
	assert_first(CAPACITY, (struct load){ .soon = 240, .at_once = 300 }, DS_RULE_S3FIFO);
	assert_first(CAPACITY, (struct load){ .at_once = 600 }, DS_RULE_S3FIFO);
}

/* A loop that is longer, or next to nothing that is used again. */
static void hardly_used_again(void **state)
{
	(void)state;
	assert_first(CAPACITY, (struct load){ 0 }, DS_RULE_LIRS);
	assert_first(CAPACITY, (struct load){ .at_once = 90 }, DS_RULE_LIRS);
	assert_first(CAPACITY, (struct load){ .at_once = 110 }, DS_RULE_S3FIFO_SHORT);
}

/* Five twelfths of all can have been used again so late. */
static void at_any_time(void **state)
{
	struct load load = { .late = 400, .soon = 100 };

	(void)state;
	assert_first(CAPACITY, (struct load){ .late = 400 }, DS_RULE_S3FIFO_SHORT);
	load.at_once = 20;
	assert_first(CAPACITY, load, DS_RULE_S3FIFO_SHORT);
	load.at_once = 55;
	assert_first(CAPACITY, load, DS_RULE_S3FIFO);
}

/* Each token is used twice in a row, or once, and then no more. */
static void in_bursts(void **state)
{
	(void)state;
	assert_first(CAPACITY, (struct load){ .at_once = 300 }, DS_RULE_S3FIFO_SHORT);
	assert_first(CAPACITY, (struct load){ .at_once = 300, .late = 20 }, DS_RULE_S3FIFO_SHORT);
	assert_first(CAPACITY, (struct load){ .at_once = 300, .late = 40 }, DS_RULE_S3FIFO);
	assert_first(CAPACITY, (struct load){ .at_once = 480 }, DS_RULE_S3FIFO_SHORT);
	assert_first(CAPACITY, (struct load){ .at_once = 520 }, DS_RULE_S3FIFO);
}

/* Not all slots are looked at, and which ones are is no pattern of the load. */
static void large(void **state)
{
	u32 capacity = 40 * CAPACITY;

	(void)state;
	assert_first(capacity, (struct load){ .soon = 300, .at_once = 300 }, DS_RULE_LRU);
	assert_first(capacity, (struct load){ .soon = 240, .at_once = 300 }, DS_RULE_S3FIFO);
	assert_first(capacity, (struct load){ .at_once = 90 }, DS_RULE_LIRS);
	assert_first(capacity, (struct load){ .late = 400 }, DS_RULE_S3FIFO_SHORT);
}

/* Each size has its own remainder of an epoch's length. */
static void each_size(void **state)
{
	u32 capacity;

	(void)state;
	for (capacity = DS_POLICY_CAPACITY_MIN; capacity < 600; capacity++) {
		assert_first(capacity, (struct load){ 0 }, DS_RULE_LIRS);
		assert_first(capacity, (struct load){ .at_once = 1000 }, DS_RULE_S3FIFO);
	}
}

/* Whatever the contest and the whole cache say, there is no other rule before somebody leaves. */
static void not_before_it_is_full(void **state)
{
	u32 key, n;

	(void)state;
	start(CAPACITY, DS_POLICY_DEFAULT, KEYS);
	for (key = 0; key < CAPACITY - 1; key++) {
		use(key);
		for (n = 0; n < 20; n++)
			use(random_below(key + 1));
		policy.recency.gain = 1000 * DS_RECENCY_ONE;
		policy.shadow.hits[DS_RULE_LRU] = policy.shadow.hits[DS_RULE_S3FIFO] + (1u << 20);
		assert_int_equal(policy.rule, DS_RULE_S3FIFO);
	}
	use(key);
	assert_int_not_equal(policy.rule, DS_RULE_S3FIFO);
	assert_int_equal(policy.shadow.changes, 0);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pass_by),
		TEST(hardly_used_again),
		TEST(at_any_time),
		TEST(in_bursts),
		TEST(large),
		TEST(each_size),
		TEST(not_before_it_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
