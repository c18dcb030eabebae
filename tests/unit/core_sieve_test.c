// SPDX-License-Identifier: Apache-2.0
/* SIEVE in L1, and its miniature, hit and miss as the algorithm does. */
#include "core_policy.h"

#define SIZE	64u
#define KEYS	400u
#define USES	100000u

/*
 * The algorithm, by when each came, from 1 on; 0: it is not there. The hand is at the first that
 * came then or later, else at the oldest.
 */
static struct {
	u32 came[KEYS];
	bool visited[KEYS];
	u32 hand;
	u32 next;
	u32 count;
} model;

static u32 model_at_hand(void)
{
	u32 key, at = KEYS;

	for (key = 0; key < KEYS; key++)
		if (model.came[key] && model.came[key] >= model.hand &&
		    (at == KEYS || model.came[key] < model.came[at]))
			at = key;
	if (at < KEYS || !model.hand)
		return at;
	model.hand = 0;
	return model_at_hand();
}

static void model_evict(void)
{
	u32 key = model_at_hand();

	while (model.visited[key]) {
		model.visited[key] = false;
		model.hand = model.came[key] + 1;
		key = model_at_hand();
	}
	model.hand = model.came[key] + 1;
	model.came[key] = 0;
	model.count--;
	model_at_hand();
}

static bool model_use(u32 key)
{
	if (model.came[key]) {
		model.visited[key] = true;
		return true;
	}
	if (model.count == SIZE)
		model_evict();
	model.came[key] = ++model.next;
	model.visited[key] = false;
	model.count++;
	return false;
}

/* A skew that drifts, and one that stays. */
static u32 next_key(u32 n)
{
	if (n < USES / 2)
		return (n / 64 + random_below(random_below(KEYS / 2) + 1)) % KEYS;
	return random_below(random_below(random_below(KEYS) + 1) + 1);
}

static void assert_as_the_model(bool (*use_it)(u32 key))
{
	u32 n, key, hits = 0;
	bool hit;

	memset(&model, 0, sizeof(model));
	for (n = 0; n < USES; n++) {
		key = next_key(n);
		hit = use_it(key);
		assert_int_equal(hit, model_use(key));
		hits += hit;
	}
	assert_in_range(hits, USES / 4, USES * 3 / 4);
}

/* Also when L1 is full, which is when it chooses a rule. */
static bool use_under_sieve(u32 key)
{
	bool hit = use(key);

	if (policy.rule != DS_RULE_SIEVE)
		set_rule(DS_RULE_SIEVE);
	return hit;
}

static void in_l1(void **state)
{
	(void)state;
	start(SIZE, DS_POLICY_DEFAULT, KEYS);
	policy.sampled = 0;
	set_rule(DS_RULE_SIEVE);
	assert_as_the_model(use_under_sieve);
	stop();
}

static struct ds_shadow shadow;

static bool use_in_miniature(u32 key)
{
	return ds_shadow_sieve(&shadow, key);
}

static void in_a_miniature(void **state)
{
	(void)state;
	assert_int_equal(ds_shadow_init(&shadow, SIZE, 51), 0);
	assert_as_the_model(use_in_miniature);
	ds_shadow_destroy(&shadow);
}

/* The hand comes by those that were there before the rule was, in the order of their uses. */
static void those_of_another_rule(void **state)
{
	u32 key;

	(void)state;
	start(SIZE, DS_POLICY_DEFAULT, KEYS);
	policy.sampled = 0;
	set_rule(DS_RULE_LRU);
	for (key = 0; key < SIZE; key++)
		use(key);
	for (key = 0; key < SIZE; key += 2)
		use(key);
	set_rule(DS_RULE_SIEVE);
	for (key = 0; key < SIZE / 2; key++)
		use(SIZE + key);
	for (key = 0; key < SIZE; key++)
		assert_int_equal(slot_of[key] == DS_POLICY_NONE, key % 2);
	/* Now it is at those that came since: who stayed is safe till it has been by them. */
	for (key = 0; key < 3 * SIZE; key++)
		use(2 * SIZE + key);
	for (key = 2; key < SIZE; key += 2)
		assert_int_not_equal(slot_of[key], DS_POLICY_NONE);
	assert_int_equal(slot_of[0], DS_POLICY_NONE);
	stop();
}

/*
 * The hand does not come round while each that comes is used once. Those that it then finds unused
 * may be as old as all epochs have numbers, and must not seem young when they come back.
 */
static void who_waited_long_for_the_hand(void **state)
{
	static const u32 capacity = 600, old = 300, keys = 40000;
	u32 key, next = capacity, there = 0;

	(void)state;
	start(capacity, DS_POLICY_DEFAULT, keys);
	policy.sampled = 0;
	for (key = 0; key < capacity; key++)
		use(key);
	set_rule(DS_RULE_SIEVE);
	for (key = 0; key < old; key++)
		use(key);
	while (policy.epoch < 34)
		use(next++);
	for (key = 0; key < old; key++)
		there += slot_of[key] != DS_POLICY_NONE;
	/* A miss is not made to wait for more than 64 that stay. */
	assert_int_equal(there, old - old / 64);
	for (; slot_of[old - 1] != DS_POLICY_NONE; next++) {
		assert_in_range(next, 0, keys - 1);
		use(next);
		use(next);
	}
	assert_in_range(policy.epoch, 34, 44);
	policy.recency.gain = 0;
	for (key = 0; key < old; key++)
		assert_false(use(key));
	assert_in_range(policy.recency.gain, 0, DS_RECENCY_ONE);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(in_l1),
		TEST(in_a_miniature),
		TEST(those_of_another_rule),
		TEST(who_waited_long_for_the_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
