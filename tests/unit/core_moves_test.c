// SPDX-License-Identifier: Apache-2.0
/* adaptive-001: how long a move takes, and what it costs. */
#include "core_policy.h"

#define CAPACITY	256u
#define KEYS		1000u

/* adaptive-001, without an L2 as yet. */
static struct ds_policy_001 *start_with_tick(const struct ds_policy_load *load)
{
	start(CAPACITY, DS_POLICY_ADAPTIVE_001, KEYS);
	ds_policy_tick(&policy, 1, 0, load);
	return policy.base;
}

/* ---- how long ---- */

static u32 clock_now;

/* One after the other, each of which meets so many uses. */
static void move(u32 from, u32 to, u32 moves, u32 uses)
{
	u32 i, begun;

	for (; moves; moves--) {
		begun = ds_policy_adapt_begins(&policy, from, to);
		for (i = 0; i < uses; i++)
			ds_policy_adapt_clock(&policy, ++clock_now);
		ds_policy_adapt_ends(&policy, from, to, begun);
	}
}

/* As each tick says; nothing if they wait. */
static u32 uses_of_a_move(u32 from)
{
	struct ds_policy_load load = { .blocking = true };
	const struct ds_policy_moves *moves = &policy.base->moves[from == 3];

	ds_policy_tick(&policy, 1, 0, &load);
	assert_int_equal(moves->lasts, 0);
	load.blocking = false;
	ds_policy_tick(&policy, 1, 0, &load);
	return moves->lasts;
}

static void end_interval(void)
{
	static const struct ds_policy_load load;

	assert_true(ds_policy_tick(&policy, 1, policy.base->uses + policy.base->params.aging_interval,
				   &load));
}

/* Of few it is not known, and not forgotten. Those from L2 and those from home are two things. */
static void how_long_a_move_takes(void **state)
{
	u32 from, i, begun;

	(void)state;
	for (from = 2; from <= 3; from++) {
		const struct ds_policy_moves *moves;

		start(CAPACITY, DS_POLICY_ADAPTIVE_001, KEYS);
		clock_now = ~0u - 50;	/* it wraps */
		ds_policy_adapt_clock(&policy, clock_now);
		moves = &policy.base->moves[from == 3];
		move(from, 1, 15, 5);
		assert_int_equal(uses_of_a_move(from), 0);
		move(from, 1, 1, 5);
		assert_int_equal(uses_of_a_move(from), 5);
		assert_int_equal(uses_of_a_move(5 - from), 0);
		for (i = 0; i < 10; i++)
			end_interval();
		assert_int_equal(uses_of_a_move(from), 5);
		move(from, 1, 16, 3);
		assert_int_equal(uses_of_a_move(from), 4);
		end_interval();
		assert_int_equal(moves->begun, 16);
		assert_int_equal(uses_of_a_move(from), 4);
		/* Two at a time do not take longer. */
		for (i = 0; i < 16; i++) {
			begun = ds_policy_adapt_begins(&policy, from, 1);
			move(from, 1, 1, 4);
			ds_policy_adapt_ends(&policy, from, 1, begun);
		}
		assert_int_equal(moves->now, 0);
		assert_int_equal(uses_of_a_move(from), 4);
		policy.base->moves[from == 3].met = 1ull << 60;
		assert_int_equal(uses_of_a_move(from), 65536);
		stop();
	}
}

/* Whoever goes up is on its way. */
static void who_is_on_its_way(void **state)
{
	static const struct {
		u32 from, to, l2, home;
	} of[] = { { 3, 1, 0, 1 }, { 3, 2, 0, 1 }, { 2, 1, 1, 0 },
		   { 1, 2, 0, 0 }, { 1, 3, 0, 0 }, { 2, 3, 0, 0 } };
	const struct ds_policy_moves *moves;
	u32 i, begun;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(of); i++) {
		start(64, DS_POLICY_ADAPTIVE_001, KEYS);
		moves = policy.base->moves;
		begun = ds_policy_adapt_begins(&policy, of[i].from, of[i].to);
		assert_int_equal(moves[0].now, of[i].l2);
		assert_int_equal(moves[1].now, of[i].home);
		ds_policy_adapt_ends(&policy, of[i].from, of[i].to, begun);
		assert_int_equal(moves[0].now, 0);
		assert_int_equal(moves[1].now, 0);
		assert_int_equal(moves[0].begun, of[i].l2);
		assert_int_equal(moves[1].begun, of[i].home);
		stop();
	}
}

/* The miniatures' next key: to move from there takes it so many uses. */
static u32 next_key_takes(u32 from)
{
	static u32 key;
	u32 victim;

	ds_policy_miss(&policy, key++ % KEYS, from, &victim);
	return policy.base->l1.move_lasts;
}

/* The quickest lately; those from L2 and from home are two things here, too. */
static void of_long_moves_quick_ones_count(void **state)
{
	struct ds_policy_load load = { .blocking = true };
	struct ds_policy_001 *b = start_with_tick(&load);
	u32 begun;

	(void)state;
	load.blocking = false;
	assert_int_equal(ds_policy_001_add_l2(&policy, 756), 0);
	b->l1.sampled = policy.sampled = ~0u;
	b->both.sampled = ~0u;
	clock_now = ~0u - 500;	/* it wraps */
	ds_policy_adapt_clock(&policy, clock_now);
	move(3, 1, 1, 60);
	move(3, 2, 15, 65);
	ds_policy_tick(&policy, 1, 0, &load);
	assert_int_equal(b->moves[1].lasts, 64);
	assert_int_equal(next_key_takes(3), 64);

	/* What was quick is forgotten by a quarter each time. */
	move(3, 1, 1, 200);
	ds_policy_tick(&policy, 1, 0, &load);
	assert_int_equal(b->moves[1].lasts, 72);
	assert_int_equal(b->moves[1].quick, 65 + 65 / 4 + 1);
	assert_int_equal(next_key_takes(3), 82);
	assert_int_equal(b->both.move_lasts, 82);
	assert_int_equal(next_key_takes(2), 0);
	move(3, 2, 1, 7);
	assert_int_equal(next_key_takes(3), 7);
	move(3, 1, 2, 200);
	assert_int_equal(next_key_takes(3), 12);

	/* Nor is it known from one that met none. */
	begun = ds_policy_adapt_begins(&policy, 3, 1);
	assert_int_equal(next_key_takes(3), 12);
	ds_policy_adapt_ends(&policy, 3, 1, begun);
	assert_int_equal(next_key_takes(3), 72);
	move(3, 1, 1, 70000);
	assert_int_equal(next_key_takes(3), 65536);

	move(2, 1, 16, 100);
	move(2, 1, 1, 5);
	ds_policy_tick(&policy, 1, 0, &load);
	assert_int_equal(b->moves[0].lasts, 94);
	assert_int_equal(next_key_takes(2), 5);
	assert_int_equal(b->both.move_lasts, 65536);

	load.blocking = true;
	ds_policy_tick(&policy, 1, 0, &load);
	assert_int_equal(next_key_takes(3), 0);
	stop();
}

/* How hot a token is that is used five times from when it began to move, by how long that takes. */
static u32 heat_of_who_comes(u32 mode, u32 from, u32 lasts)
{
	static const struct ds_policy_load load;
	u32 slot, victim, i, heat;

	start(CAPACITY, mode, KEYS);
	ds_policy_tick(&policy, 1, 0, &load);
	policy.base->params.promote_to_l1_threshold = 1;
	policy.base->moves[from == 3].lasts = lasts;
	slot = ds_policy_miss(&policy, 1, from, &victim);
	for (i = 0; i < 4; i++)
		ds_policy_001_heat(&policy, ds_policy_hash(1));
	ds_policy_adapt_arrived(&policy, from, slot);
	heat = policy.slots[slot].heat;
	/* Nobody is made colder. */
	policy.slots[slot].heat = 9;
	ds_policy_adapt_arrived(&policy, from, slot);
	assert_int_equal(policy.slots[slot].heat, 9);
	stop();
	return heat;
}

static void who_comes_late_is_as_hot_as_it_was_used(void **state)
{
	u32 from;

	(void)state;
	for (from = 2; from <= 3; from++) {
		assert_int_equal(heat_of_who_comes(DS_POLICY_ADAPTIVE_001, from, 64), 1);
		assert_int_equal(heat_of_who_comes(DS_POLICY_ADAPTIVE_001, from, 65), 5);
		assert_int_equal(heat_of_who_comes(DS_POLICY_LITERAL_001, from, 65), 1);
	}
	start(CAPACITY, DS_POLICY_DEFAULT, KEYS);
	use(1);
	ds_policy_adapt_arrived(&policy, 3, slot_of[1]);
	stop();
}

/* From where it is. Who is in L1 would be in L2, if there is one; both tiers take from home. */
static void where_a_key_comes_from(void **state)
{
	struct ds_policy_001 *b;
	u32 l2, victim;

	(void)state;
	for (l2 = 0; l2 < 2; l2++) {
		start(CAPACITY, DS_POLICY_ADAPTIVE_001, KEYS);
		b = policy.base;
		if (l2)
			assert_int_equal(ds_policy_001_add_l2(&policy, 756), 0);
		b->l1.sampled = policy.sampled = ~0u;
		b->both.sampled = l2 ? ~0u : 0;
		b->moves[0].lasts = 3;
		b->moves[0].cost = 2;
		b->moves[1].lasts = 9;
		b->moves[1].cost = 5;
		ds_policy_miss(&policy, 1, 3, &victim);
		assert_int_equal(b->l1.move_lasts, 9);
		assert_int_equal(b->l1.move_cost, 5);
		ds_policy_miss(&policy, 2, 2, &victim);
		assert_int_equal(b->l1.move_lasts, l2 ? 3 : 9);
		assert_int_equal(b->l1.move_cost, l2 ? 2 : 5);
		ds_policy_001_met(&policy, 3, 3);
		assert_int_equal(b->l1.move_lasts, 9);
		/* A hit is heard of before the clock goes on. */
		use(4);
		use(4);
		assert_int_equal(b->l1.uses, 4);
		ds_policy_adapt_clock(&policy, 7);
		assert_int_equal(b->l1.uses, 5);
		assert_int_equal(b->l1.move_lasts, l2 ? 3 : 9);
		assert_int_equal(b->both.move_lasts, l2 ? 9 : 0);
		assert_int_equal(b->l1.latest->of[3].until, 9);
		assert_int_equal(b->l1.latest->of[4].until, l2 ? 3 : 9);
		ds_policy_miss(&policy, 5, 3, &victim);
		assert_int_equal(b->l1.latest->of[5].until, 7 + 9);
		if (l2)
			assert_int_equal(b->both.latest->of[5].until, 7 + 9);
		stop();
	}
}

/* It would count with a higher threshold, so it does; literal-001 has no other threshold. */
static void a_use_of_who_is_on_its_way_counts(void **state)
{
	u32 mode;

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++) {
		start(64, mode, KEYS);
		use(1);
		ds_policy_001_met(&policy, 1, 3);
		ds_policy_adapt_begins(&policy, 3, 1);
		if (policy.base)
			assert_int_equal(ds_sketch_count(&policy.base->sketch, ds_policy_hash(1)),
					 mode == DS_POLICY_ADAPTIVE_001 ? 2 : 1);
		if (mode == DS_POLICY_ADAPTIVE_001)
			assert_int_equal(policy.base->l1.uses, 2);
		stop();
	}
}

/* ---- what it costs ---- */

static void what_waits_costs_more(void **state)
{
	struct ds_policy_load load = { .blocking = false };
	struct ds_policy_001 *b = start_with_tick(&load);

	(void)state;
	assert_int_equal(b->moves[0].cost, DS_TRIAL_HIT / 4);
	assert_int_equal(b->moves[1].cost, 0);
	load.blocking = true;
	ds_policy_tick(&policy, 1, 0, &load);
	assert_int_equal(b->moves[1].cost, 4 * DS_TRIAL_HIT);
	assert_int_equal(ds_policy_001_add_l2(&policy, 3000), 0);
	ds_policy_tick(&policy, 1, 0, &load);
	assert_int_equal(b->moves[0].cost, 2 * DS_TRIAL_HIT);
	assert_int_equal(b->moves[1].cost, 2 * DS_TRIAL_HIT);
	assert_int_equal(b->both.move_cost, 4 * DS_TRIAL_HIT);
	load.blocking = false;
	ds_policy_tick(&policy, 1, 0, &load);
	assert_int_equal(b->moves[0].cost, DS_TRIAL_HIT / 4);
	assert_int_equal(b->moves[1].cost, 0);
	assert_int_equal(b->both.move_cost, 0);
	stop();
}

/* So many for a move; what is known of them is forgotten late when few move. */
static void others_wait_too(void **state)
{
	struct ds_policy_load load = { .blocking = true, .moves = 16, .waits = 16 * 7 + 8 };
	u32 i, wait = 4 * DS_TRIAL_HIT;
	struct ds_policy_001 *b;
	u64 uses = 0;

	(void)state;
	start(CAPACITY, DS_POLICY_ADAPTIVE_001, KEYS);
	b = policy.base;
	ds_policy_tick(&policy, 1, uses += b->params.aging_interval, &load);
	ds_policy_tick(&policy, 1, uses, &load);
	assert_int_equal(b->moves[1].cost, wait * 17 / 2);
	load.moves = 15;
	load.waits = 0;
	ds_policy_tick(&policy, 1, uses += b->params.aging_interval, &load);
	ds_policy_tick(&policy, 1, uses, &load);
	assert_in_range(b->moves[1].cost, wait * 8, wait * 17 / 2 - 1);
	for (i = 0; i < 30; i++)
		ds_policy_tick(&policy, 1, uses += b->params.aging_interval, &load);
	assert_in_range(b->moves[1].cost, wait * 4, wait * 6);
	for (i = 0; i < 100; i++)
		ds_policy_tick(&policy, 1, uses += b->params.aging_interval, &load);
	assert_int_equal(b->moves[1].cost, wait);
	load.moves = 16;
	load.waits = 1u << 28;	/* 16 of these have no room in 32 bits */
	ds_policy_tick(&policy, 1, uses += b->params.aging_interval, &load);
	load.waits = 0;
	ds_policy_tick(&policy, 1, uses += b->params.aging_interval, &load);
	assert_int_equal(b->moves[1].cost, 256);
	ds_policy_tick(&policy, 1, uses, &load);
	assert_int_equal(b->moves[1].cost, wait);
	stop();
}

static u32 wait_for_host(struct ds_policy_load *load, u64 *uses)
{
	ds_policy_tick(&policy, 1, *uses += policy.base->params.aging_interval, load);
	ds_policy_tick(&policy, 1, *uses, load);
	return policy.base->moves[1].cost;
}

/* Intervals in which few move until little is known of what waits; then some move. */
static u32 forget(u64 *uses, u32 waits)
{
	struct ds_policy_load few = { .blocking = true };
	struct ds_policy_load some = { .blocking = true, .moves = 16, .waits = waits };
	u32 intervals = 1;

	while (wait_for_host(&few, uses) > 6 * DS_TRIAL_HIT)
		intervals++;
	wait_for_host(&some, uses);
	return intervals;
}

/* What turned out to be as it was is forgotten half as fast; what did not, as fast as at first. */
static void what_is_true_again_is_kept_longer(void **state)
{
	struct ds_policy_load some = { .blocking = true, .moves = 16, .waits = 16 * 8 };
	u32 first, i;
	u64 uses = 0;

	(void)state;
	start(CAPACITY, DS_POLICY_ADAPTIVE_001, KEYS);
	wait_for_host(&some, &uses);
	first = forget(&uses, 16 * 8);
	assert_in_range(first, 40, 120);
	for (i = 1; i <= 4; i++)
		assert_in_range(forget(&uses, 16 * 8), first << i, (first + 1) << i);
	assert_in_range(forget(&uses, 16 * 8), first << 4, (first + 1) << 4);
	/* In some intervals one after the other nothing was forgotten. */
	wait_for_host(&some, &uses);
	assert_int_equal(policy.base->slower, 4);
	assert_in_range(forget(&uses, 0), first << 4, (first + 1) << 4);
	assert_int_equal(policy.base->slower, 0);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(how_long_a_move_takes),
		TEST(who_is_on_its_way),
		TEST(of_long_moves_quick_ones_count),
		TEST(who_comes_late_is_as_hot_as_it_was_used),
		TEST(where_a_key_comes_from),
		TEST(a_use_of_who_is_on_its_way_counts),
		TEST(what_waits_costs_more),
		TEST(others_wait_too),
		TEST(what_is_true_again_is_kept_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
