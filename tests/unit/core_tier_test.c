// SPDX-License-Identifier: Apache-2.0
/*
 * The token cache with L2: who is sent where, at once and in two halves, and that each token is
 * what it is wherever it is. core_tier_stay_test has who stays where it is, core_tier_001_test the
 * rules of document 001.
 */
#include "core_tier.h"

static void memory(void **state)
{
	int allocs, ret;

	(void)state;
	for (allocs = 0; allocs < 100; allocs++) {
		allocs_left = allocs;
		ret = ds_cache_init(&cache, 100, CAPACITY, DS_POLICY_DEFAULT, 2, DS_L2_ANYWHERE);
		if (!ret)
			break;
		assert_int_equal(ret, -ENOMEM);
		assert_int_equal(allocs_held, 0);
	}
	allocs_left = -1;
	assert_in_range(allocs, 8, 99);
	assert_non_null(cache.table.l2.pages);
	assert_int_equal(ds_cache_destroy(&cache), 0);
	assert_int_equal(allocs_held, 0);
	assert_int_equal(ds_cache_init(&cache, 100, CAPACITY, DS_POLICY_DEFAULT,
				       DS_L2_PAGES_MAX + 1, DS_L2_ANYWHERE), -EINVAL);
}

/* Who leaves L1 is in L2, and who leaves that is at home. */
static void down_the_tiers(void **state)
{
	u32 i, in[4];

	(void)state;
	start(DS_POLICY_DEFAULT, 1);
	for (i = 0; i < 500; i++)
		assert_int_equal(use(i), 3);
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	assert_int_equal(in[2], 500 - CAPACITY);
	for (i = 0; i < TOKENS; i++)
		use(i);
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	assert_int_equal(in[2], DS_L2_MIXED_SLOTS);
	assert_true(moved[3][1] + moved[3][2] + moved[2][1] >= TOKENS);
	assert_int_equal(moved[1][3], 0);
	assert_int_equal(moved[1][2] + moved[3][2] - moved[2][3] - moved[2][1],
			 DS_L2_MIXED_SLOTS);
	stop();
}

static void without_l2(void **state)
{
	u32 i, in[4];

	(void)state;
	start(DS_POLICY_DEFAULT, 0);
	for (i = 0; i < TOKENS; i++)
		use(i);
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	assert_int_equal(in[2], 0);
	assert_int_equal(ds_cache_tick(&cache, 1ull << 40, 1000, &no_load, 100), 0);
	stop();
}

/* Nothing that is written is lost, whoever goes and comes, and however. */
static void random_uses(void **state)
{
	u64 n, steps = random_steps() / 2;
	u32 found[4] = { 0 }, in[4];

	(void)state;
	start(DS_POLICY_DEFAULT, 2);
	for (n = 0; n < steps; n++) {
		u32 i = random_below(random_below(2) ? TOKENS / 10 : TOKENS);

		found[use(i)]++;
		if (random_below(2))
			post(i);
		if (!random_below(32)) {
			end(tokens[i]);
			posted[i] = 0;
			tokens[i] = create(i);
		}
		if (!random_below(64))
			ds_cache_pin(&cache, tokens[i], random_below(8) == 0);
		if (!random_below(50))
			ds_cache_tick(&cache, n * 20000, n, &no_load, 4);
		if (!(n % 5000))
			check_all(in);
	}
	check_all(in);
	print_message("# found in L1 %u, in L2 %u, at home %u\n", found[1], found[2], found[3]);
	assert_true(found[1] > n / 50 && found[2] > n / 4 && found[3] > n / 50);
	stop();
}

/* Who chooses hears of a look as of any other use, in whatever tier. */
static void a_look_is_a_use(void **state)
{
	struct ds_policy_slot *s;
	struct ds_token_pack p;
	u8 *recent;
	u32 i;

	(void)state;
	start(DS_POLICY_DEFAULT, 1);
	assert_int_equal(ds_cache_stage(&cache, tokens[1]), 0);
	assert_int_equal(ds_cache_miss(&cache, tokens[0]), 0);	/* to the slot of which all hints are */
	assert_int_equal(ds_cache_miss(&cache, tokens[2]), 0);
	recent = &cache.table.l2.pages[0].recent[ds_word_slot(word_of(tokens[1]))];
	*recent = 0;
	assert_int_equal(ds_cache_look(&cache, tokens[1], &p), 2);
	assert_int_equal(*recent, ds_l2_now(&cache.table.l2.pages[0]));
	*recent = 0;
	assert_int_equal(ds_cache_touch(&cache, tokens[1]), 2);
	assert_int_equal(*recent, ds_l2_now(&cache.table.l2.pages[0]));
	/* The first look in L1 leaves a hint for the others. */
	s = &cache.policy.slots[ds_word_slot(word_of(tokens[2]))];
	assert_int_equal(ds_l1_find(&cache.table.l1, tokens[2], &p), DS_L1_NONE);
	for (i = 1; i <= 3; i++) {
		assert_int_equal(ds_cache_look(&cache, tokens[2], &p), 1);
		assert_int_equal(s->heat & DS_POLICY_USES, i);
		assert_int_not_equal(ds_l1_find(&cache.table.l1, tokens[2], &p), DS_L1_NONE);
	}
	assert_int_equal(ds_cache_touch(&cache, tokens[2]), 1);
	assert_int_equal(s->heat & DS_POLICY_USES, i);
	assert_int_equal(ds_cache_touch(&cache, tokens[3]), 3);
	assert_int_equal(ds_cache_touch(&cache, 5), -EBADF);
	stop();
}

/* Others have the slots of the revoked by the time that their revoker says that they have left. */
static void revokers_come_late(void **state)
{
	u32 i, slot, in[4], reused[3] = { 0 };
	u64 words[TOKENS] = { 0 };
	struct ds_token_desc d;

	(void)state;
	start(DS_POLICY_DEFAULT, 1);
	for (i = 0; i < TOKENS; i++)
		use(i);
	cache.table.l1.left = NULL;
	cache.table.l2.left = NULL;
	for (i = 0; i < TOKENS; i++) {
		if (tier_of(i) == 3 || i % 5 == 0)
			continue;
		words[i] = word_of(tokens[i]);
		assert_int_equal(ds_token_revoke(&cache.table, tokens[i], NULL), 0);
	}
	for (i = 0; i < TOKENS / 4; i++)
		if (!words[i])
			use(i);
	assert_int_equal(moved[1][3], 0);
	for (i = 0; i < TOKENS; i++) {
		if (!words[i]) {
			assert_int_equal(cache_get(&cache, tokens[i], &d), 0);
			assert_int_equal(d.qp.pd, i % 3 ? 1 : i);
			ds_token_put(&cache.table, tokens[i]);
			continue;
		}
		slot = ds_word_slot(words[i]);
		if (ds_word_tier(words[i]) == 1) {
			reused[1] += cache.table.l1.slots[slot].token != tokens[i];
			l1_slot_left(&cache.table.l1, slot, tokens[i]);
		} else {
			reused[2] += ds_l2_slot_of(&cache.table.l2, slot)->token != tokens[i];
			l2_slot_left(&cache.table.l2, slot, tokens[i]);
		}
		ds_token_free(&cache.table, tokens[i]);
		tokens[i] = create(i);
	}
	assert_true(reused[1] > 0 && reused[2] > 100);
	cache.table.l1.left = l1_slot_left;
	cache.table.l2.left = l2_slot_left;
	check_all(in);
	use_all_and_stop();
}

/* ---- in two halves ---- */

static struct ds_cache_change ch;

static void fill_tiers(void)
{
	u32 i;

	for (i = 0; i < TOKENS / 2; i++)
		use(i);
}

/* A token for which three have to move. */
static u32 begin_three(void)
{
	u32 i;

	for (i = TOKENS - 1; i; i--) {
		if (tier_of(i) != 3 || ds_cache_miss_begin(&cache, tokens[i], &ch))
			continue;
		if (ch.count == 3)
			return i;
		ds_change_end(&cache, &ch, 0);
	}
	fail();
	return 0;
}

static void expect_move(u32 i, u32 token, u32 from, u32 to)
{
	assert_int_equal(ch.moves[i].from, from);
	assert_int_equal(ch.moves[i].move.to, to);
	assert_int_equal(ch.moves[i].bytes, 16);
	assert_int_equal(ch.moves[i].page == DS_L2_NONE, from != 2 && to != 2);
	if (token)
		assert_int_equal(ch.moves[i].move.token, token);
}

static void two_halves(void **state)
{
	u32 i, k, who[3], again, before[4][4];

	(void)state;
	start(DS_POLICY_DEFAULT, 1);
	fill_tiers();
	for (again = 0; again < 3; again++) {
		i = begin_three();
		expect_move(0, 0, 2, 3);
		expect_move(1, 0, 1, 2);
		expect_move(2, tokens[i], 3, 1);
		for (k = 0; k < 3; k++) {
			who[k] = number_of(ch.moves[k].move.token);
			assert_int_equal(get(who[k]), ch.moves[k].from);
			assert_true(ds_word_is_moving(word_of(tokens[who[k]])));
			assert_int_equal(ds_cache_miss(&cache, tokens[who[k]]), -EBUSY);
			assert_int_equal(ds_cache_stage(&cache, tokens[who[k]]), -EBUSY);
			assert_int_equal(ds_cache_pin(&cache, tokens[who[k]], true), -EBUSY);
			if (again)
				post(who[k]);
		}
		if (again == 2) {
			memcpy(before, moved, sizeof(moved));
			ds_change_end(&cache, &ch, -ECANCELED);
			for (k = 1; k < 4; k++)
				before[k][k]++;
			assert_memory_equal(before, moved, sizeof(moved));
			for (k = 0; k < 3; k++)
				assert_int_equal(get(who[k]), ch.moves[k].from);
		} else {
			copied = 0;
			assert_int_equal(ds_change_end(&cache, &ch, 0), 0);
			assert_int_equal(copied, again ? 3 : 0);
			for (k = 0; k < 3; k++) {
				assert_int_equal(get(who[k]), ch.moves[k].move.to);
				assert_int_equal(ch.moves[k].ret, 0);
			}
		}
		for (k = 0; k < 3; k++)
			assert_int_equal(ds_word_uses(word_of(tokens[who[k]])), 0);
	}
	/* Who was to go in vain is in a slot of which the policy knows nothing: the next one sends it on. */
	use_all_and_stop();
}

static u32 told;

static void tell(struct ds_token_idle *idle)
{
	(void)idle;
	told++;
}

static struct ds_token_idle waiter = { .done = tell };

/* Whoever comes meanwhile gets another slot of L1 than the one that is promised. */
static void another_comes_meanwhile(void)
{
	struct ds_cache_change second;
	u32 i = TOKENS;
	u64 word;

	do
		assert_int_not_equal(i--, 0);
	while (ds_token_find(&cache.table, tokens[i], &word) || ds_word_tier(word) != 3 ||
	       ds_cache_miss_begin(&cache, tokens[i], &second));
	assert_int_equal(second.moves[second.count - 1].move.to, 1);
	assert_int_not_equal(second.moves[second.count - 1].move.slot,
			     ch.moves[ch.count - 1].move.slot);
	ds_change_end(&cache, &second, -ECANCELED);
}

/* Each of the three revoked in between, and several of them: only that one does not come. */
static void revoked_between(void **state)
{
	u32 mask, k, who[3], in[4];

	(void)state;
	start(DS_POLICY_DEFAULT, 1);
	fill_tiers();
	for (mask = 1; mask < 16; mask++) {
		bool abort = mask & 8;

		begin_three();
		told = 0;
		for (k = 0; k < 3; k++) {
			who[k] = number_of(ch.moves[k].move.token);
			if (mask >> k & 1)
				assert_int_equal(ds_token_revoke(&cache.table, tokens[who[k]], &waiter),
						 -EINPROGRESS);
		}
		assert_int_equal(told, 0);
		another_comes_meanwhile();
		if (abort)
			ds_change_end(&cache, &ch, -ECANCELED);
		else
			assert_int_equal(ds_change_end(&cache, &ch, 0), mask & 4 ? -ESTALE : 0);
		assert_int_equal(told, (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1));
		for (k = 0; k < 3; k++) {
			if (!(mask >> k & 1)) {
				assert_int_equal(get(who[k]), abort ? ch.moves[k].from :
								      ch.moves[k].move.to);
				continue;
			}
			assert_int_equal(ds_token_hold(&cache.table, tokens[who[k]]), -ESTALE);
			ds_token_free(&cache.table, tokens[who[k]]);
			tokens[who[k]] = create(who[k]);
			posted[who[k]] = 0;
		}
		check_all(in);
	}
	stop();
}

/* Whoever comes until it has ended, and however many, the slot is promised. */
static void a_slot_is_promised_once(void **state)
{
	u32 mode, i, slot, in[4];

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++) {
		start(mode, 0);
		if (cache.policy.base)
			cache.policy.base->params.promote_to_l1_threshold = 1;
		fill_tiers();
		assert_int_equal(ds_cache_miss_begin(&cache, tokens[TOKENS - 1], &ch), 0);
		slot = ch.moves[ch.count - 1].move.slot;
		for (i = 0; i < TOKENS - 1; i++) {
			use(i);
			assert_int_equal(ds_policy_key(&cache.policy, slot),
					 ds_token_index(tokens[TOKENS - 1]));
		}
		assert_int_equal(ds_change_end(&cache, &ch, 0), 0);
		assert_int_equal(ds_word_slot(word_of(tokens[TOKENS - 1])), slot);
		/* And no longer. */
		for (i = 0; i < TOKENS - 1; i++)
			use(i);
		assert_int_equal(tier_of(TOKENS - 1), 3);
		check_all(in);
		assert_int_equal(in[1], CAPACITY);
		stop();
	}
}

/* One of the three is written to so often that it stays: those after it do, too. */
static void spoiled_between(void **state)
{
	u32 i, k, who[3], in[4];

	(void)state;
	start(DS_POLICY_DEFAULT, 1);
	fill_tiers();
	for (i = 0; i < 3; i++) {
		begin_three();
		for (k = 0; k < 3; k++)
			who[k] = number_of(ch.moves[k].move.token);
		spoiled = tokens[who[i]];
		post(who[i]);
		copied = 0;
		assert_int_equal(ds_change_end(&cache, &ch, 0), -EAGAIN);
		assert_in_range(copied, 7, 8);
		spoiled = 0;
		for (k = 0; k < 3; k++) {
			assert_int_equal(get(who[k]), k < i ? ch.moves[k].move.to : ch.moves[k].from);
			assert_int_equal(ch.moves[k].ret, k < i ? 0 : -EAGAIN);
		}
		check_all(in);
	}
	use_all_and_stop();
}

static u32 steps, stop_every;
static bool stop_at[2];		/* by step */
static u64 stopped[2];

static bool stops(u32 token, enum ds_move_step step)
{
	(void)token;
	if (!stop_at[step] || ++steps % stop_every)
		return false;
	stopped[step]++;
	return true;
}

/*
 * Two misses at the same time have nothing in common, not if a mover is stopped either: its token
 * may have been written to, and copied again, by then.
 */
static void many_at_once(void **state)
{
	enum { AT_ONCE = 20 };
	struct ds_cache_change changes[AT_ONCE];
	u32 i, n, k, round, seen, in[4];

	(void)state;
	start(DS_POLICY_DEFAULT, 1);
	fill_tiers();
	stop_at[DS_MOVE_CLAIMED] = false;
	stop_at[DS_MOVE_COPIED] = true;
	stop_every = 7;
	for (round = 0; round < 200; round++) {
		cache.table.stops = round & 1 ? stops : NULL;
		for (n = 0; n < AT_ONCE;) {
			i = random_below(TOKENS);
			n += !ds_cache_miss_begin(&cache, tokens[i], &changes[n]);
		}
		for (i = 0, seen = 0; i < AT_ONCE; i++) {
			for (k = 0; k < changes[i].count; k++, seen++)
				post(number_of(changes[i].moves[k].move.token));
		}
		assert_in_range(seen, AT_ONCE, 3 * AT_ONCE);
		for (i = AT_ONCE; i--;) {
			if (random_below(4))
				ds_change_end(&cache, &changes[i], 0);
			else
				ds_change_end(&cache, &changes[i], -ECANCELED);
		}
		check_all(in);
		for (i = 0; i < TOKENS; i++)
			get(i);
	}
	cache.table.stops = NULL;
	use_all_and_stop();
}

/* ---- movers that are stopped ---- */

static u64 given_up(void)
{
	return moved[1][1] + moved[2][2] + moved[3][3];
}

/* By misses, pins, ageing; sound at all times. */
static void stop_moves(u32 every)
{
	u32 i, n, in[4];

	steps = 0;
	stop_every = every;
	for (n = 0; n < 3000; n++) {
		i = random_below(n & 1 ? TOKENS : 2 * CAPACITY);
		use(i);
		if (n % 3 == 0)
			post(i);
		if (n % 50 == 0) {
			ds_cache_pin(&cache, tokens[i], true);
			ds_cache_tick(&cache, n * 1000000ull, 0, &no_load, 8);
			ds_cache_pin(&cache, tokens[i], false);
		}
		if (n % 500 == 0)
			check_all(in);
	}
	check_all(in);
	for (i = 0; i < TOKENS; i++)
		get(i);
}

/* At each step, each time or now and then: nobody stays on the way, and later all goes on. */
static void stopped_at_each_step(void **state)
{
	u32 mode, at, every, in[4];
	u64 moves;

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++) {
		start(mode, 1);
		cache.table.stops = stops;
		for (at = 1; at < 4; at++) {
			stop_at[DS_MOVE_CLAIMED] = at & 1;
			stop_at[DS_MOVE_COPIED] = at & 2;
			memset(stopped, 0, sizeof(stopped));
			moves = given_up();
			for (every = 1; every < 6; every++)
				stop_moves(every);
			assert_int_equal(!!stopped[DS_MOVE_CLAIMED], at & 1);
			assert_int_equal(!!stopped[DS_MOVE_COPIED], at >> 1);
			assert_true(given_up() - moves >= stopped[DS_MOVE_CLAIMED] + stopped[DS_MOVE_COPIED]);
		}
		cache.table.stops = NULL;
		moves = moved[3][1] + moved[3][2] + moved[2][1];
		for (at = 0; at < 3 * TOKENS; at++)
			use(random_below(2 * CAPACITY));
		assert_true(moved[3][1] + moved[3][2] + moved[2][1] > moves);
		check_all(in);
		assert_true(in[1] > 0);
		stop();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory),
		TEST(down_the_tiers),
		TEST(without_l2),
		TEST(random_uses),
		TEST(a_look_is_a_use),
		TEST(revokers_come_late),
		TEST(two_halves),
		TEST(revoked_between),
		TEST(a_slot_is_promised_once),
		TEST(spoiled_between),
		TEST(many_at_once),
		TEST(stopped_at_each_step),
	};

	return cmocka_run_group_tests_name("core_tier", tests, NULL, NULL);
}
