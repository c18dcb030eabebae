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
	assert_int_equal(ds_policy_miss(&policy, DS_POLICY_KEYS, &victim), DS_POLICY_NONE);
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
	assert_int_equal(ds_policy_key(&policy, ds_policy_miss(&policy, key, &victim)), key);
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
			assert_int_equal(ds_policy_miss(&policy, key, &victim), DS_POLICY_NONE);
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
			assert_true(ds_policy_miss(&policy, 64 + i, &victim) < 64);
			assert_int_equal(victim, DS_POLICY_NONE);
		}
		ds_policy_miss(&policy, 150, &victim);
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

/* ---- a model ---- */

static u8 seen[1000];

static void walk(u32 last)
{
	u32 slot = last;

	if (last == DS_POLICY_NONE)
		return;
	do {
		slot = policy.slots[slot].link & DS_SLOT_NEXT;
		assert_true(slot < policy.fresh);
		assert_int_equal(seen[slot]++, 0);
	} while (slot != last);
}

/* Each slot that was ever used stands in one queue; all counts are right. */
static void assert_sound(void)
{
	u32 slot, epoch, staged = 0, kept = 0, forgotten = 0, pinned = 0;
	const struct ds_policy_slot *s;

	memset(seen, 0, sizeof(seen));
	walk(policy.staging);
	for (epoch = 0; epoch < DS_EPOCHS; epoch++) {
		walk(policy.main[epoch]);
		assert_int_equal(policy.main[epoch] != DS_POLICY_NONE, policy.filled >> epoch & 1);
	}
	for (slot = 0; slot < policy.fresh; slot++) {
		s = &policy.slots[slot];
		assert_int_equal(seen[slot], 1);
		if (!(s->key_high & DS_SLOT_USED)) {
			forgotten++;
			continue;
		}
		assert_int_equal(slot_of[ds_policy_key(&policy, slot)], slot);
		if (s->key_high & DS_SLOT_PINNED)
			pinned++;
		else if (s->link & DS_SLOT_MAIN)
			kept++;
		else
			staged++;
	}
	assert_int_equal(staged, policy.staged);
	assert_int_equal(kept, policy.kept);
	assert_int_equal(forgotten, policy.forgotten);
	assert_int_equal(pinned, policy.pinned);
}

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
	if (random_below(200) == 0) {
		policy.rule = (u8)random_below(DS_RULES);
		ds_policy_set_window(&policy);
	}
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
	}
	stop();
}

/* What nobody used while the epochs' numbers came round is the oldest still. */
static void older_than_all_epochs(void **state)
{
	u32 key;

	(void)state;
	start(64, DS_POLICY_DEFAULT, KEYS + 64 * 10);
	policy.sampled = 0;
	policy.rule = DS_RULE_LIRS;
	ds_policy_set_window(&policy);
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
	policy.rule = rule;
	ds_policy_set_window(&policy);
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
	policy.rule = DS_RULE_TWICE;
	ds_policy_set_window(&policy);
	for (i = 0; i < 64; i++)
		use(i);
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

/* A hit of a slot whose token just left harms nobody. */
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
		TEST(pinned_stay),
		TEST(all_pinned),
		TEST(forgotten_slots_are_taken),
		TEST(sound_after_each_call),
		TEST(sound_when_large),
		TEST(older_than_all_epochs),
		TEST(fifo_evicts_who_came_first),
		TEST(lru_evicts_who_was_not_used),
		TEST(twice_evicts_who_was_used),
		TEST(lost_slots_are_counted),
		TEST(same_calls_same_answers),
		TEST(each_hit_counts),
		TEST(late_hits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
