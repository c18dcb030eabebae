// SPDX-License-Identifier: Apache-2.0
/* L1's policy: wrong calls, pins, slots that are given back, and its queues after each call. */
#include "core_policy.h"

#define KEYS	200

static void wrong_calls(void **state)
{
	u32 victim;

	(void)state;
	assert_int_equal(ds_policy_init(&policy, DS_POLICY_CAPACITY_MIN - 1, 0), -EINVAL);
	assert_int_equal(ds_policy_init(&policy, DS_POLICY_CAPACITY_MAX + 1, 0), -EINVAL);
	assert_int_equal(ds_policy_init(&policy, 16, DS_POLICY_MODES), -EINVAL);
	start(16, DS_POLICY_DEFAULT, KEYS);
	assert_int_equal(ds_policy_miss(&policy, DS_POLICY_KEYS, 3, &victim), DS_POLICY_NONE);
	assert_int_equal(victim, DS_POLICY_NONE);
	assert_int_equal(ds_policy_forget(&policy, 0), -EINVAL);
	assert_int_equal(ds_policy_pin(&policy, 0, true), -EINVAL);
	use(7);
	assert_int_equal(ds_policy_key(&policy, slot_of[7]), 7);
	assert_int_equal(ds_policy_forget(&policy, 16), -EINVAL);
	assert_int_equal(ds_policy_pin(&policy, 16, true), -EINVAL);
	assert_int_equal(ds_policy_forget(&policy, slot_of[7]), 0);
	assert_int_equal(ds_policy_forget(&policy, slot_of[7]), -EINVAL);
	assert_int_equal(ds_policy_pin(&policy, slot_of[7], true), -EINVAL);
	assert_false(ds_policy_tick(&policy, 1, 1, NULL));
	assert_int_equal(ds_policy_idle(&policy), DS_POLICY_NONE);
	stop();
}

static void keys_to_the_last(void **state)
{
	u32 key = DS_POLICY_KEYS - 1, victim;

	(void)state;
	start(16, DS_POLICY_DEFAULT, KEYS);
	assert_int_equal(ds_policy_key(&policy, ds_policy_miss(&policy, key, 3, &victim)), key);
	stop();
}

static void memory_runs_out(void **state)
{
	u32 mode;
	int n, most;

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++) {
		most = mode == DS_POLICY_ADAPTIVE_001 ? 4 : 3;
		for (n = 0; n < most; n++) {
			allocs_left = n;
			assert_int_equal(ds_policy_init(&policy, 64, mode), -ENOMEM);
			assert_int_equal(allocs_held, 0);
		}
		allocs_left = most;
		assert_int_equal(ds_policy_init(&policy, 64, mode), 0);
		assert_int_equal(ds_policy_001_add_l2(&policy, 756), most == 4 ? -ENOMEM : 0);
		ds_policy_destroy(&policy);
		assert_int_equal(allocs_held, 0);
	}
	allocs_left = -1;
}

/* The trials of adaptive-001 take as much whatever the size. */
static void fourteen_bytes_a_slot(void **state)
{
	u32 capacity, mode;

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++)
		for (capacity = mode == DS_POLICY_ADAPTIVE_001 ? 8192 : 512; capacity <= 1 << 20;
		     capacity *= 2) {
			assert_int_equal(ds_policy_init(&policy, capacity, mode), 0);
			assert_int_equal(ds_policy_001_add_l2(&policy, capacity), 0);
			assert_true(ds_policy_bytes(&policy) <= 14ull * capacity);
			ds_policy_destroy(&policy);
		}
}

/* ---- the ghost and the sketch ---- */

static void ghost_remembers_when(void **state)
{
	struct ds_ghost g;
	u32 key, found = 0;

	(void)state;
	assert_int_equal(ds_ghost_init(&g, 1024), 0);
	for (key = 0; key < 256; key++)
		ds_ghost_put(&g, ds_policy_hash(key), key % 20, 20);
	for (key = 0; key < 256; key++)
		found += ds_ghost_take(&g, ds_policy_hash(key), 20) == 20 - key % 20;
	assert_true(found >= 250);
	for (key = 0; key < 256; key++)
		assert_int_equal(ds_ghost_take(&g, ds_policy_hash(key), 20), DS_GHOST_NONE);
	ds_ghost_destroy(&g);
}

/* Of a full bucket, the one that was used longest ago. */
static void ghost_forgets_the_oldest(void **state)
{
	struct ds_ghost g;
	u32 i;

	(void)state;
	assert_int_equal(ds_ghost_init(&g, DS_GHOST_WAYS), 0);
	for (i = 0; i < DS_GHOST_WAYS; i++)
		ds_ghost_put(&g, 100 + i, (30 + (i + 3) % DS_GHOST_WAYS) % DS_EPOCHS, 6);
	ds_ghost_put(&g, 200, 6, 6);
	for (i = 0; i < DS_GHOST_WAYS; i++)
		assert_int_equal(ds_ghost_take(&g, 100 + i, 6),
				 i == 5 ? DS_GHOST_NONE : 8 - (i + 3) % DS_GHOST_WAYS);
	assert_int_equal(ds_ghost_take(&g, 200, 6), 0);
	ds_ghost_destroy(&g);
}

static void sketch_counts_and_ages(void **state)
{
	struct ds_sketch s;
	u32 i, word, exact = 0;

	(void)state;
	assert_int_equal(ds_sketch_init(&s, 1024), 0);
	for (i = 0; i < 300; i++)
		assert_true(ds_sketch_add(&s, ds_policy_hash(1), 1) == min(i + 1, 255u));
	for (i = 2; i < 500; i++)
		ds_sketch_add(&s, ds_policy_hash(i), 8);
	for (i = 2; i < 500; i++) {
		assert_true(ds_sketch_count(&s, ds_policy_hash(i)) >= 8);
		exact += ds_sketch_count(&s, ds_policy_hash(i)) == 8;
	}
	assert_true(exact > 450);
	for (word = 0; word < ds_sketch_words(&s); word++)
		ds_sketch_halve(&s, word);
	assert_int_equal(ds_sketch_count(&s, ds_policy_hash(1)), 127);
	ds_sketch_lower(&s, ds_policy_hash(1));
	assert_int_equal(ds_sketch_count(&s, ds_policy_hash(1)), 63);
	/* What another one has more stays. */
	*ds_sketch_counter(&s, ds_policy_hash(1), 2) = 100;
	ds_sketch_lower(&s, ds_policy_hash(1));
	assert_int_equal(ds_sketch_count(&s, ds_policy_hash(1)), 31);
	assert_int_equal(*ds_sketch_counter(&s, ds_policy_hash(1), 2), 100);
	ds_sketch_destroy(&s);
}

/*
 * In an interval ten times as many uses are counted as a row has counters. So what was used
 * once, as all of a scan, counts as up to twelve; and what was used a hundred times as that much more.
 */
static void a_scan_counts_for_more_than_it_is(void **state)
{
	enum { WIDTH = 512, HOT = 100, USES = 10 * WIDTH };
	u32 interval, i, word, count, most = 0;
	struct ds_sketch s;
	u64 sum = 0;

	(void)state;
	assert_int_equal(ds_sketch_init(&s, WIDTH), 0);
	for (interval = 0; interval < 20; interval++) {
		for (i = 0; i < USES; i++) {
			count = ds_sketch_add(&s, ds_policy_hash(1 + interval * USES + i), 1);
			sum += count;
			most = max(most, count);
			if (i % (USES / HOT) == 0)
				ds_sketch_add(&s, ds_policy_hash(0), 1);
		}
		assert_in_range(ds_sketch_count(&s, ds_policy_hash(0)), HOT, 2 * HOT + 12);
		for (word = 0; word < ds_sketch_words(&s); word++)
			ds_sketch_halve(&s, word);
	}
	print_message("# %.1f on average, %u at most\n", (double)sum / interval / USES, most);
	assert_in_range(sum / interval / USES, 1, 7);
	assert_in_range(most, 2, 12);
	ds_sketch_destroy(&s);
}

/* ---- pins ---- */

static void pinned_stay(void **state)
{
	u32 mode, key, i;

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++) {
		start(64, mode, KEYS);
		if (policy.base)
			policy.base->params.promote_to_l1_threshold = 1;
		for (key = 0; key < 48; key++) {
			use(key);
			assert_int_equal(ds_policy_pin(&policy, slot_of[key], true), 0);
		}
		for (i = 0; i < 20000; i++)
			use(48 + random_below(KEYS - 48));
		for (key = 0; key < 48; key++)
			assert_int_not_equal(slot_of[key], DS_POLICY_NONE);
		/* Those that are not pinned are all in use. */
		for (i = 0, key = 48; key < KEYS; key++)
			i += slot_of[key] != DS_POLICY_NONE;
		assert_int_equal(i, 16);
		stop();
	}
}

static void all_pinned(void **state)
{
	u32 mode, key, victim;

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++) {
		start(64, mode, KEYS);
		if (policy.base)
			policy.base->params.promote_to_l1_threshold = 1;
		for (key = 0; key < 64; key++) {
			use(key);
			ds_policy_pin(&policy, slot_of[key], true);
			ds_policy_pin(&policy, slot_of[key], true);
		}
		for (; key < KEYS; key++) {
			assert_int_equal(ds_policy_miss(&policy, key, 3, &victim), DS_POLICY_NONE);
			assert_int_equal(victim, DS_POLICY_NONE);
		}
		/* The first one that no longer is goes, however long it takes to be seen. */
		ds_policy_pin(&policy, slot_of[31], false);
		for (key = 64; slot_of[31] != DS_POLICY_NONE; key++) {
			assert_true(key < KEYS);
			use(key);
		}
		stop();
	}
}

static void use_pinned(u32 key)
{
	use(key);
	assert_int_equal(ds_policy_pin(&policy, slot_of[key], true), 0);
}

/* Who was pinned in staging belongs there again afterwards: nobody used it. */
static void unpinned_are_as_before(void **state)
{
	enum ds_rule rule;
	u32 key, other;

	(void)state;
	for (rule = DS_RULE_S3FIFO; rule < DS_RULES; rule++) {
		start(64, DS_POLICY_DEFAULT, 3 * KEYS);
		policy.sampled = 0;
		set_rule(rule);
		for (other = 100; other < 300; other++)
			use(other);
		for (key = 0; key < 8; key++)
			use_pinned(key);
		for (; other < 500; other++)
			use(other);
		assert_sound();
		/* Others are pinned in their place, so that main has no more room. */
		for (key = 0; key < 8; key++) {
			use_pinned(8 + key);
			assert_int_not_equal(slot_of[key], DS_POLICY_NONE);
			assert_int_equal(ds_policy_pin(&policy, slot_of[key], false), 0);
		}
		for (; other < 600; other++)
			use(other);
		assert_sound();
		for (key = 0; key < 8; key++)
			assert_int_equal(slot_of[key], DS_POLICY_NONE);
		stop();
	}
}

/* ---- slots that are given back ---- */

static void forgotten_slots_are_taken(void **state)
{
	u32 mode, key, victim, i;

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++) {
		start(64, mode, KEYS);
		if (policy.base)
			policy.base->params.promote_to_l1_threshold = 1;
		for (key = 0; key < 64; key++)
			use(key);
		for (key = 0; key < 64; key += 2)
			assert_int_equal(ds_policy_forget(&policy, slot_of[key]), 0);
		for (i = 0; i < 32; i++) {
			assert_true(ds_policy_miss(&policy, 64 + i, 3, &victim) < 64);
			assert_int_equal(victim, DS_POLICY_NONE);
		}
		ds_policy_miss(&policy, 150, 3, &victim);
		assert_int_not_equal(victim, DS_POLICY_NONE);
		stop();
	}
}

static void lost_slots_are_counted(void **state)
{
	u32 mode, key, slot, n, lost;

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++) {
		start(500, mode, 10000);
		if (policy.base)
			policy.base->params.promote_to_l1_threshold = 1;
		for (key = 0; key < 500; key++)
			use(key);
		for (n = 0; n < 2000; n++) {
			slot = random_below(500);
			if (n % 4 == 0 && ds_policy_used(&policy, slot)) {
				slot_of[ds_policy_key(&policy, slot)] = DS_POLICY_NONE;
				ds_policy_forget(&policy, slot);
			}
			use(key++);
			for (lost = 0, slot = 0; slot < 500; slot++)
				lost += !ds_policy_used(&policy, slot);
			assert_int_equal(policy.forgotten, lost);
		}
		stop();
	}
}

/* The shadow hears of a slot's hits if its key is in the sample, whoever was there before. */
static void another_key_in_a_slot(void **state)
{
	u32 mode, key, slot;

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++) {
		start(64, mode, KEYS);
		policy.sampled = 0x80000000;
		if (policy.base)
			policy.base->params.promote_to_l1_threshold = 1;
		use(0);
		slot = slot_of[0];
		assert_int_equal(ds_policy_pin(&policy, slot, true), 0);
		for (key = 1; key < KEYS; key++) {
			ds_policy_rekey(&policy, slot, key);
			assert_int_equal(ds_policy_key(&policy, slot), key);
			assert_int_equal(!!(policy.slots[slot].link & DS_SLOT_SAMPLED),
					 ds_policy_is_sampled(&policy, ds_policy_hash(key)));
			assert_true(policy.slots[slot].key_high & DS_SLOT_PINNED);
			assert_int_equal(policy.in_sample, mode == DS_POLICY_DEFAULT &&
					 ds_policy_is_sampled(&policy, ds_policy_hash(key)));
		}
		stop();
	}
}

/* If too few slots have keys of the sample it grows, else it shrinks, by half at most. */
static void sample_is_as_large_as_it_should_be(void **state)
{
	u32 of, key, usual;

	(void)state;
	for (of = 0; of < 2; of++) {
		start(64, DS_POLICY_DEFAULT, 100 * KEYS);
		usual = policy.sampled;
		assert_int_equal(usual, (8ull << 32) / 64);
		for (key = 0; key < 64; key++)
			use(key);
		assert_int_equal(policy.sampled, usual);
		for (; key < 100 * KEYS; key++)
			if (ds_policy_is_sampled(&policy, ds_policy_hash(key)) == of)
				use(key);
		assert_sound();
		assert_int_equal(policy.sampled, of ? usual / 2 : usual * 3 / 2);
		stop();
	}
	start(1024, DS_POLICY_DEFAULT, 100 * KEYS);
	usual = policy.sampled;
	for (key = 0; key < 100 * KEYS; key++)
		use(key);
	assert_in_range(policy.sampled, usual * 3 / 4, usual * 5 / 4);
	policy.sampled = 0;
	for (key = 0; key < 10 * KEYS; key++)
		use(key);
	assert_int_equal(policy.sampled, 0);
	stop();
}

/* Nobody leaves meanwhile: what is in the sample says no more in each of these epochs. */
static void hits_do_not_size_the_sample(void **state)
{
	u32 key, hits, usual, epoch;

	(void)state;
	start(1024, DS_POLICY_DEFAULT, 100 * KEYS);
	for (key = 0; key < 1024; key++)
		use(key);
	set_rule(DS_RULE_LRU);
	usual = policy.sampled;
	epoch = policy.epoch;
	for (; key < 1024 + 30; key++) {
		for (hits = 0; hits < 3000; hits++)
			use(random_below(1000));
		use(key);
	}
	assert_true(policy.epoch > epoch + 100);
	assert_int_equal(policy.sampled, usual);
	stop();
}

/* In as many misses as there are slots. */
static void epochs_are_shorter_for_lru(void **state)
{
	enum ds_rule rule;
	u32 key;

	(void)state;
	for (rule = 0; rule < DS_RULES; rule++) {
		start(90, DS_POLICY_DEFAULT, KEYS);
		policy.sampled = 0;
		set_rule(rule);
		for (key = 0; key < 90; key++)
			use(key);
		assert_int_equal(policy.epoch, rule == DS_RULE_LRU ? 9 : 6);
		stop();
	}
}

/* ---- a model ---- */

static void random_call(void)
{
	u32 key = random_below(random_below(2) ? KEYS : 30), what = random_below(100);
	u32 slot = slot_of[key];

	if (what < 90 || slot == DS_POLICY_NONE) {
		use(key);
	} else if (what < 95) {
		assert_int_equal(ds_policy_forget(&policy, slot), 0);
		slot_of[key] = DS_POLICY_NONE;
	} else {
		assert_int_equal(ds_policy_pin(&policy, slot, what < 97), 0);
	}
	/* A rule now and then that the shadow would not have chosen. */
	if (random_below(200) == 0)
		set_rule((u8)random_below(DS_RULES));
}

static void sound_after_each_call(void **state)
{
	static const u32 capacities[] = { 16, 17, 40, 64 };
	u32 i, n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(capacities); i++) {
		start(capacities[i], DS_POLICY_DEFAULT, KEYS);
		for (n = 0; n < 500000; n++) {
			random_call();
			assert_sound();
		}
		stop();
	}
}

/* So many that a lost slot is not found at once. */
static void sound_when_large(void **state)
{
	u32 n, key;

	(void)state;
	start(1000, DS_POLICY_DEFAULT, 2000);
	for (n = 0; n < 400000; n++) {
		key = random_below(2000);
		if (slot_of[key] == DS_POLICY_NONE || random_below(16)) {
			use(key);
		} else {
			ds_policy_forget(&policy, slot_of[key]);
			slot_of[key] = DS_POLICY_NONE;
		}
		if (n % 64 == 0)
			assert_sound();
		if (n % 2048 == 0)
			set_rule((u8)random_below(DS_RULES));
	}
	stop();
}

static u64 run_digest(u32 mode)
{
	u64 digest = 0;
	u32 i;

	start(64, mode, KEYS);
	random_state = 42;
	for (i = 0; i < 100000; i++)
		digest = digest * 31 + use(random_below(random_below(KEYS) + 1)) +
			 slot_of[i % KEYS];
	stop();
	return digest;
}

static void same_calls_same_answers(void **state)
{
	u32 mode;

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++)
		assert_true(run_digest(mode) == run_digest(mode));
}

/* Whatever a slot's heat was. What cannot become more is what ds_policy_hit() leaves as it is. */
static void each_hit_counts(void **state)
{
	u32 epoch, mode, uses;
	u8 *heat;

	(void)state;
	for (mode = DS_POLICY_LITERAL_001; mode < DS_POLICY_MODES; mode++) {
		start(16, mode, KEYS);
		policy.base->now = 5;
		for (uses = 0; uses < 256; uses++) {
			policy.slots[3].heat = (u8)uses;
			policy.slots[3].link = DS_SLOT_SAMPLED | 4;
			ds_policy_hit(&policy, 3);
			assert_int_equal(policy.slots[3].heat, min(uses + 1, 255u));
			assert_int_equal(policy.slots[3].link, DS_SLOT_SAMPLED | 5);
		}
		stop();
	}
	start(16, DS_POLICY_DEFAULT, KEYS);
	heat = &policy.slots[3].heat;
	for (epoch = 0; epoch < DS_EPOCHS + 2; epoch++) {
		for (uses = 0; uses < 8; uses++) {
			*heat = (u8)((epoch - 1) << 3 | uses);
			ds_policy_hit(&policy, 3);
			assert_int_equal(*heat, (epoch % DS_EPOCHS) << 3 | min(uses + 1, 7u));
		}
		assert_int_equal(*heat, policy.hottest);
		ds_policy_next_epoch(&policy);
	}
	stop();
}

/* A hit of a slot whose token just left harms nobody. */
static void late_hits(void **state)
{
	u32 i;

	(void)state;
	start(64, DS_POLICY_DEFAULT, KEYS);
	for (i = 0; i < 200000; i++) {
		ds_policy_hit(&policy, random_below(64));
		random_call();
		assert_sound();
	}
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wrong_calls),
		TEST(keys_to_the_last),
		TEST(memory_runs_out),
		TEST(fourteen_bytes_a_slot),
		TEST(ghost_remembers_when),
		TEST(ghost_forgets_the_oldest),
		TEST(sketch_counts_and_ages),
		TEST(a_scan_counts_for_more_than_it_is),
		TEST(pinned_stay),
		TEST(all_pinned),
		TEST(unpinned_are_as_before),
		TEST(forgotten_slots_are_taken),
		TEST(another_key_in_a_slot),
		TEST(sample_is_as_large_as_it_should_be),
		TEST(hits_do_not_size_the_sample),
		TEST(epochs_are_shorter_for_lru),
		TEST(sound_after_each_call),
		TEST(sound_when_large),
		TEST(lost_slots_are_counted),
		TEST(same_calls_same_answers),
		TEST(each_hit_counts),
		TEST(late_hits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
