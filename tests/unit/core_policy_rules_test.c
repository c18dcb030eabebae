// SPDX-License-Identifier: Apache-2.0
/* L1's policy: who leaves under each rule without staging, also after a rule with it. */
#include "core_policy.h"

#define KEYS 200

/* What nobody used while the epochs' numbers came round is the oldest still. */
static void older_than_all_epochs(void **state)
{
	u32 key;

	(void)state;
	start(64, DS_POLICY_DEFAULT, KEYS + 64 * 10);
	policy.sampled = 0;
	set_rule(DS_RULE_LIRS);
	for (key = 0; policy.epoch < 46; key++)
		use(key);
	assert_int_equal(ds_policy_main_age(&policy), DS_EPOCHS - 1);
	stop();
}

/* The one that this use drove out, or DS_POLICY_NONE. */
static u32 victim_of(u32 key)
{
	bool was_in[KEYS];
	u32 i;

	for (i = 0; i < KEYS; i++)
		was_in[i] = slot_of[i] != DS_POLICY_NONE;
	use(key);
	for (i = 0; i < KEYS; i++)
		if (was_in[i] && slot_of[i] == DS_POLICY_NONE)
			return i;
	return DS_POLICY_NONE;
}

/*
 * Random uses under a rule, after some of the rule before. Nobody stays who came, or was used
 * last, more than @slack misses before the one that leaves.
 */
static void assert_evicts_the_oldest(enum ds_rule rule, u32 slack)
{
	u32 since[KEYS] = { 0 }, misses = 0, left = 0, n, i, key, victim;
	bool hit;

	start(64, DS_POLICY_DEFAULT, KEYS);
	policy.sampled = 0;
	for (i = 0; i < KEYS; i++)
		use(i);
	set_rule(rule);
	for (n = 0; n < 20000; n++) {
		key = random_below(random_below(KEYS) + 1);
		hit = slot_of[key] != DS_POLICY_NONE;
		misses += !hit;
		victim = victim_of(key);
		if (!hit || rule == DS_RULE_LRU)
			since[key] = misses;
		if (victim == DS_POLICY_NONE || n < 2000)
			continue;
		left++;
		for (i = 0; i < KEYS; i++)
			if (slot_of[i] != DS_POLICY_NONE)
				assert_true(since[i] + slack >= since[victim]);
	}
	assert_true(left > 1000);
	assert_int_equal(policy.staged, 0);
	stop();
}

static void fifo_evicts_who_came_first(void **state)
{
	(void)state;
	assert_evicts_the_oldest(DS_RULE_FIFO, 0);
}

/* To an epoch, which is a sixth of the capacity in misses. */
static void lru_evicts_who_was_not_used(void **state)
{
	(void)state;
	assert_evicts_the_oldest(DS_RULE_LRU, 2 * (64 / 6));
}

/* Those that were used again, and those that come back, before all that were not. */
static void twice_evicts_who_was_used(void **state)
{
	u32 i;

	(void)state;
	start(64, DS_POLICY_DEFAULT, KEYS);
	policy.sampled = 0;
	set_rule(DS_RULE_TWICE);
	for (i = 0; i < 64; i++)
		use(i);
	set_rule(DS_RULE_TWICE);
	for (i = 0; i < 64; i += 4)
		use(i);
	ds_policy_pin(&policy, slot_of[8], true);
	for (i = 0; i < 64; i += 4) {
		if (i == 8)
			continue;
		assert_int_equal(victim_of(100 + i), i);
		assert_int_not_equal(slot_of[100 + i], DS_POLICY_NONE);
	}
	/* None is left. Those that come back do so as who was used. */
	assert_int_equal(victim_of(170), 1);
	assert_int_equal(victim_of(0), 2);
	for (i = 0; i < 64 / 8 && slot_of[0] != DS_POLICY_NONE; i++)
		use(171 + i);
	assert_int_equal(slot_of[0], DS_POLICY_NONE);
	assert_int_not_equal(slot_of[170], DS_POLICY_NONE);
	/* The oldest leaves, used or not, if no other was seen to be used. */
	i = 9;
	while (slot_of[i] == DS_POLICY_NONE)
		i++;
	use(i);
	policy.cursor = slot_of[i] + 1;
	assert_int_equal(victim_of(199), i);
	stop();
}

static void start_with(enum ds_rule rule, u32 capacity, u32 keys)
{
	u32 key;

	start(capacity, DS_POLICY_DEFAULT, keys);
	policy.sampled = 0;
	set_rule(rule);
	for (key = 0; key < capacity; key++)
		use(key);
	set_rule(rule);
}

/* The first key from @key on that is in the sample, or is not. */
static u32 next_of_sample(u32 key, bool sampled)
{
	while (ds_policy_is_sampled(&policy, ds_policy_hash(key)) != sampled)
		key++;
	return key;
}

/* The shadow hears of hits with the next miss: of the key that hit, though the slot is another one's. */
static void whose_hit_it_was_counts(void **state)
{
	static const bool sampled[] = { true, false };
	u32 i, slot, key, before;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sampled); i++) {
		start_with(DS_RULE_LIRS, 512, 4096);
		policy.sampled = 1u << 31;
		policy.shadow.samples = 0;
		key = next_of_sample(512, true);
		use(key);
		slot = slot_of[key];
		use(key);
		ds_policy_rekey(&policy, slot, next_of_sample(1024, sampled[i]));
		assert_int_equal(policy.hits_head, policy.hits_tail + 1);
		assert_int_equal(policy.hits[policy.hits_tail % DS_POLICY_HITS],
				 ds_shadow_print(ds_policy_hash(key)));
		before = policy.shadow.samples;
		use(next_of_sample(2048, false));
		assert_int_equal(policy.shadow.samples, before + 1);
		stop();
	}
}

/* Each miss would take too long otherwise. */
static void twice_looks_at_eight(void **state)
{
	(void)state;
	start_with(DS_RULE_TWICE, 64, KEYS);
	use(20);
	policy.cursor = slot_of[20] - 8;
	assert_int_equal(victim_of(100), 0);
	policy.cursor = slot_of[20] - 7;
	assert_int_equal(victim_of(101), 20);
	stop();
}

static void a_free_slot_is_seen_on_the_way(void **state)
{
	u32 slot, victim;

	(void)state;
	start_with(DS_RULE_TWICE, 500, 500);
	slot = slot_of[70];
	ds_policy_forget(&policy, slot);
	policy.cursor = slot - DS_POLICY_LOOK;
	assert_int_equal(ds_policy_miss(&policy, 1000, 3, &victim), slot);
	assert_int_equal(victim, DS_POLICY_NONE);
	assert_int_equal(policy.forgotten, 0);
	stop();
}

/* Only for TWICE is one that comes back one that was used again. */
static void who_comes_back(void **state)
{
	u32 rule, key;

	(void)state;
	for (rule = 0; rule < DS_RULES; rule++) {
		start_with((enum ds_rule)rule, 64, KEYS);
		key = victim_of(100);
		use(key);
		assert_int_equal(policy.slots[slot_of[key]].heat & DS_POLICY_USES,
				 rule == DS_RULE_TWICE);
		stop();
	}
}

/* A slot's next token is not taken for one that was used again. */
static void another_token_in_a_slot(void **state)
{
	u32 slot;

	(void)state;
	start_with(DS_RULE_TWICE, 64, KEYS);
	use(20);
	slot = slot_of[20];
	ds_policy_rekey(&policy, slot, 150);
	slot_of[20] = DS_POLICY_NONE;
	slot_of[150] = slot;
	policy.cursor = slot;
	assert_int_equal(victim_of(100), 0);
	stop();
}

/* What was used in staging still was, when there is no staging any longer. */
static void used_before_twice(void **state)
{
	(void)state;
	start_with(DS_RULE_S3FIFO, 64, KEYS);
	set_rule(DS_RULE_TWICE);
	use(0);
	policy.cursor = slot_of[0] + 1;
	assert_int_equal(victim_of(100), 1);
	assert_int_equal(policy.staged, 0);
	policy.cursor = slot_of[0];
	assert_int_equal(victim_of(101), 0);
	stop();
}

/* All stand where another stood: that is no reason to refuse one that comes. */
static void all_are_heirs(void **state)
{
	u32 key;

	(void)state;
	start_with(DS_RULE_TWICE, 512, 2000);
	for (key = 0; key < 512; key++)
		use(key);
	for (; key < 2000; key++) {
		use(key);
		assert_int_not_equal(slot_of[key], DS_POLICY_NONE);
		assert_sound();
	}
	stop();
}

/* @from was in use, and each token was used often; some slots were given back. */
static void fill_and_change(enum ds_rule from, enum ds_rule to, u32 capacity, u32 given_back)
{
	u32 key, uses;

	start_with(from, capacity, 8 * capacity);
	for (uses = 0; uses < 3; uses++)
		for (key = 0; key < capacity; key++)
			use(key);
	set_rule(to);
	assert_int_equal(policy.window, 0);
	for (key = 0; key < given_back; key++) {
		ds_policy_forget(&policy, slot_of[key]);
		slot_of[key] = DS_POLICY_NONE;
	}
}

/*
 * Tokens that are used once are in as long as without the change: none of L1 is lost to them. The
 * ghost takes one in some hundred for one that comes back, and LRU's order is to an epoch.
 */
static void each_slot_is_reached(enum ds_rule from, enum ds_rule to, u32 capacity, u32 given_back)
{
	u32 key, i, in = 0, all = 0;

	fill_and_change(from, to, capacity, given_back);
	for (key = capacity; key < 8 * capacity; key++) {
		use(key);
		for (i = key - capacity + 1; key >= 4 * capacity && i <= key; i++, all++)
			in += slot_of[i] != DS_POLICY_NONE;
	}
	assert_true(in >= all - all / 64);
	assert_sound();
	stop();
}

static void no_slot_is_lost_to_a_change(void **state)
{
	static const enum ds_rule plain[] = { DS_RULE_FIFO, DS_RULE_TWICE, DS_RULE_LRU };
	static const enum ds_rule staged[] = {
		DS_RULE_S3FIFO, DS_RULE_S3FIFO_SHORT, DS_RULE_LIRS, DS_RULE_SIEVE
	};
	u32 from, to;

	(void)state;
	for (from = 0; from < ARRAY_SIZE(staged); from++)
		for (to = 0; to < ARRAY_SIZE(plain); to++) {
			each_slot_is_reached(staged[from], plain[to], 64, 0);
			each_slot_is_reached(staged[from], plain[to], 64, 40);
			each_slot_is_reached(staged[from], plain[to], 600, 300);
		}
}

/* Of a skew. */
static u32 hits_of(enum ds_rule rule, u32 capacity)
{
	u32 n, hits = 0;

	random_state = 1;
	start(capacity, DS_POLICY_DEFAULT, 10000);
	for (n = 0; n < 40000; n++) {
		set_rule(rule);
		hits += use(zipf(10000));
	}
	stop();
	return hits;
}

/* Parts of an L1 have room for somebody, however small it is: a rule is the same with a slot less. */
static void no_queue_is_too_short(void **state)
{
	u32 rule, capacity, hits, before;

	(void)state;
	for (rule = 0; rule < DS_RULES; rule++) {
		before = 0;
		for (capacity = DS_POLICY_CAPACITY_MIN; capacity <= 44; capacity++) {
			hits = hits_of(rule, capacity);
			print_message("# rule %u: %u hits with %u slots\n", rule, hits, capacity);
			assert_true(!before || hits <= before + before / 10);
			before = hits;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(older_than_all_epochs),
		TEST(fifo_evicts_who_came_first),
		TEST(lru_evicts_who_was_not_used),
		TEST(twice_evicts_who_was_used),
		TEST(whose_hit_it_was_counts),
		TEST(twice_looks_at_eight),
		TEST(a_free_slot_is_seen_on_the_way),
		TEST(who_comes_back),
		TEST(another_token_in_a_slot),
		TEST(used_before_twice),
		TEST(all_are_heirs),
		TEST(no_slot_is_lost_to_a_change),
		TEST(no_queue_is_too_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
