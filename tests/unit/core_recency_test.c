// SPDX-License-Identifier: Apache-2.0
/* What L1 says about LRU: how long it would keep tokens, its gain and loss, and what follows. */
#include "core_policy.h"

#define ONE		((s64)DS_RECENCY_ONE)

static struct ds_recency recency;

static void nothing_is_known(void **state)
{
	u32 age;

	(void)state;
	ds_recency_init(&recency);
	for (age = 0; age < DS_EPOCHS; age++)
		ds_recency_hit(&recency, age);
	assert_int_equal(recency.loss, 0);
	assert_false(ds_recency_judge(&recency, 100, 300));
	for (age = 0; age < DS_EPOCHS; age++)
		assert_int_equal(ds_recency_kept(&recency, age), ONE);
}

/* So many places of each age, and some that are nobody's. */
static void look_at(u32 in_epoch, u32 epochs, u32 nobody)
{
	u32 age, i;

	ds_recency_init(&recency);
	for (i = 0; i < nobody; i++)
		ds_recency_place(&recency, 1);
	for (age = 0; age < epochs; age++)
		for (i = 0; i < in_epoch; i++) {
			ds_recency_place(&recency, 1);
			ds_recency_see(&recency, age);
		}
}

static void keeps_who_was_used_lately(void **state)
{
	(void)state;
	/* 100 of 400 places are nobody's; LRU has 130 slots of 400: four epochs and a third. */
	look_at(30, 10, 100);
	ds_recency_judge(&recency, 130, 400);
	assert_int_equal(ds_recency_kept(&recency, 3), ONE);
	assert_int_equal(ds_recency_kept(&recency, 4), ONE / 3);
	assert_int_equal(ds_recency_kept(&recency, 5), 0);
	/* All that there is fits. */
	look_at(10, 10, 300);
	ds_recency_judge(&recency, 130, 400);
	assert_int_equal(ds_recency_kept(&recency, DS_EPOCHS - 1), ONE);
}

/* Half of what was seen counts in the next epoch. */
static void older_looks_count_less(void **state)
{
	u32 i;

	(void)state;
	look_at(64, 1, 0);
	for (i = 64; i; i /= 2) {
		assert_int_equal(recency.looks, i);
		assert_int_equal(recency.seen[0], i);
		ds_recency_judge(&recency, 10, 10);
		if (i == 1)
			break;
	}
}

static void no_count_overflows(void **state)
{
	u32 i;

	(void)state;
	ds_recency_init(&recency);
	for (i = 0; i < 1000000; i++) {
		ds_recency_place(&recency, 1);
		ds_recency_see(&recency, 7);
		assert_in_range(recency.seen[7], i ? 2 : 1, recency.looks + 1);
		assert_true(recency.looks <= 0xffff);
	}
	assert_true(recency.looks > 10000);
}

static void each_place_in_turn(void **state)
{
	static u8 looked[1000];
	u32 i, places;

	(void)state;
	for (places = 16; places <= 1000; places += 41) {
		memset(looked, 0, sizeof(looked));
		ds_recency_init(&recency);
		for (i = 0; i < 3 * places; i++)
			looked[ds_recency_place(&recency, places)]++;
		for (i = 0; i < places; i++)
			assert_in_range(looked[i], 1, 5);
	}
}

/* @gain misses that would not be, @loss hits that would not be either. */
static bool judge(u32 gain, u32 loss)
{
	look_at(10, 10, 0);
	ds_recency_judge(&recency, 30, 100);
	while (gain--)
		ds_recency_miss(&recency, 2);
	while (loss--)
		ds_recency_hit(&recency, 3);
	/* These say nothing. */
	ds_recency_miss(&recency, 3);
	ds_recency_hit(&recency, 2);
	return ds_recency_judge(&recency, 30, 100);
}

/* Of a standard deviation the square is the number of those that differ. */
static void only_more_than_chance(void **state)
{
	(void)state;
	assert_false(judge(0, 0));
	assert_false(judge(7, 0));
	assert_true(judge(8, 0));
	assert_false(judge(0, 100));
	assert_false(judge(100, 100));
	assert_false(judge(124, 86));
	assert_true(judge(126, 86));
	assert_int_equal(recency.gain, 126 * ONE * 7 / 8);
	assert_int_equal(recency.loss, 86 * ONE * 7 / 8);
	ds_recency_forget(&recency);
	assert_int_equal(recency.gain + recency.loss, 0);
}

/* ---- in a cache ---- */

#define CAPACITY	512u
#define KEYS		4000u

/* LRU of the same size: when each was used, by key, 0 for never. */
static u32 used_at[KEYS], now;

static bool lru_hits(u32 key)
{
	u32 i, younger = 0;

	for (i = 0; used_at[key] && i < KEYS; i++)
		younger += used_at[i] > used_at[key];
	i = used_at[key];
	used_at[key] = ++now;
	return i && younger < CAPACITY;
}

static u32 skewed(void)
{
	return random_below(random_below(random_below(KEYS) + 1) + 1);
}

/* Ever new ones after a while, those of the last time more often. */
static u32 drifting(void)
{
	return (now / 8 + random_below(random_below(1200) + 1)) % KEYS;
}

/* How much better LRU is, of @uses: as it is, and as the cache says, which is cautious. */
static void compare(enum ds_rule rule, u32 (*next)(void), s64 uses)
{
	s64 more = 0, said = 0, i;
	u32 key;

	memset(used_at, 0, sizeof(used_at));
	now = 0;
	start(CAPACITY, DS_POLICY_DEFAULT, KEYS);
	policy.sampled = 0;
	set_rule(rule);
	for (i = 0; i < uses; i++) {
		u32 gain = policy.recency.gain, loss = policy.recency.loss, epoch = policy.epoch;
		bool full = policy.fresh == CAPACITY, lru, hit;

		key = next();
		lru = lru_hits(key);
		hit = use(key);
		/* Not what L1 would begin with. */
		if (!full && policy.fresh == CAPACITY)
			set_rule(rule);
		assert_int_equal(policy.rule, rule);
		if (i < uses / 4 || policy.epoch != epoch)
			continue;
		more += lru - hit;
		said += (s64)(policy.recency.gain - gain) - (s64)(policy.recency.loss - loss);
	}
	stop();
	print_message("# rule %u: LRU has %.4f more hits, the cache says %.4f\n", rule,
		      (double)more / (double)uses, (double)said / ONE / (double)uses);
	assert_true(said / ONE < more + uses / 200);
	/* SIEVE forgets what LRU would have: of a drift it keeps the oldest. */
	assert_true(said / ONE > more - (rule == DS_RULE_SIEVE ? max(uses / 40, more / 4) :
								uses / 40));
}

static void says_what_lru_does(void **state)
{
	enum ds_rule rule;

	(void)state;
	for (rule = 0; rule < DS_RULES; rule++) {
		if (rule == DS_RULE_LRU)
			continue;
		compare(rule, skewed, 60000);
		compare(rule, drifting, 60000);
	}
}

/* Its miniature has to lead, too. */
static void both_have_to_say_so(void **state)
{
	u32 lead;

	(void)state;
	for (lead = 3; lead < 5; lead++) {
		start(CAPACITY, DS_POLICY_DEFAULT, KEYS);
		policy.sampled = 0;
		policy.fresh = CAPACITY;	/* no rule is chosen before */
		policy.recency.gain = 1000 * ONE;
		policy.shadow.hits[DS_RULE_LRU] = lead * ONE;
		ds_policy_next_epoch(&policy);
		assert_int_equal(policy.rule, lead < 4 ? DS_RULE_S3FIFO : DS_RULE_LRU);
		assert_int_equal(policy.window == 0, lead == 4);
		assert_int_equal(policy.recency.gain == 0, lead == 4);
		stop();
	}
}

/* They stay whatever the rule is: LRU has only the others' slots. */
static void pinned_ones_are_no_slots(void **state)
{
	u32 key, with, without;

	(void)state;
	start(CAPACITY, DS_POLICY_DEFAULT, 100000);
	policy.sampled = 0;
	for (key = 0; key < CAPACITY; key++)
		use(key);
	set_rule(DS_RULE_FIFO);
	for (; key < 8 * CAPACITY; key++)
		use(key);
	without = policy.recency.age;
	for (key = 8 * CAPACITY - CAPACITY / 2; key < 8 * CAPACITY; key++)
		ds_policy_pin(&policy, slot_of[key], true);
	for (; key < 16 * CAPACITY; key++) {
		use(key);
		use(8 * CAPACITY - 1 - key % (CAPACITY / 2));
	}
	with = policy.recency.age;
	assert_int_equal(without, 6);
	assert_int_equal(with, 3);
	stop();
}

/* Of who was used long before it, the first use in it is a loss. What is used again is no older. */
static void who_was_used_in_a_run_is_young(void **state)
{
	u32 key, n, expected = 0, first;

	(void)state;
	start(CAPACITY, DS_POLICY_DEFAULT, 100000);
	for (key = 0; key < CAPACITY; key++)
		use(key);
	set_rule(DS_RULE_FIFO);
	policy.recency.age = 3;
	policy.recency.part = DS_RECENCY_ONE / 2;
	policy.recency.loss = 0;
	for (key = 0; key < CAPACITY; key++)
		expected += DS_RECENCY_ONE -
			    ds_recency_kept(&policy.recency,
					    ds_epochs_since(ds_policy_last_use(&policy, slot_of[key]),
							    policy.epoch));
	assert_in_range(expected, CAPACITY * DS_RECENCY_ONE / 4, CAPACITY * DS_RECENCY_ONE * 3 / 4);
	for (n = 0; n < policy.run; n++)
		ds_policy_note(&policy, 0);
	for (key = 0; key < CAPACITY; key++)
		use(key);
	first = policy.recency.loss;
	for (n = 0; n < 4; n++)
		for (key = 0; key < CAPACITY; key++)
			use(key);
	assert_int_not_equal(policy.hottest >> 3, policy.epoch % DS_EPOCHS);
	assert_int_equal(first, expected);
	assert_int_equal(policy.recency.loss, expected);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_known),		TEST(keeps_who_was_used_lately),
		TEST(older_looks_count_less),	TEST(no_count_overflows),
		TEST(each_place_in_turn),	TEST(only_more_than_chance),
		TEST(says_what_lru_does),	TEST(both_have_to_say_so),
		TEST(pinned_ones_are_no_slots),
		TEST(who_was_used_in_a_run_is_young),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
