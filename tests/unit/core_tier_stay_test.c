// SPDX-License-Identifier: Apache-2.0
/*
 * The token cache with L2: who stays where it is, as it is in use, pinned, or not allowed elsewhere.
 */
#include "core_tier.h"

static void hold_all(u32 tier, bool hold)
{
	u32 i, n;

	for (i = 0; i < TOKENS; i++)
		for (n = 0; tier_of(i) == tier && n < DS_WORD_USES_MAX - 1; n++) {
			if (hold)
				assert_int_equal(ds_token_hold(&cache.table, tokens[i]), 0);
			else
				ds_token_put(&cache.table, tokens[i]);
		}
}

/* Nobody in L2 can leave it: it counts as full, and L1 and the home do without. */
static void l2_cannot_go(void **state)
{
	u32 i, home, in[4];

	(void)state;
	start(DS_POLICY_DEFAULT, 1);
	for (i = 0; i < TOKENS; i++)
		use(i);
	home = moved[1][3];
	hold_all(2, true);
	for (i = 0; i < TOKENS; i++)
		if (tier_of(i) == 3)
			use(i);
	assert_true(moved[1][3] > home + 100);
	hold_all(2, false);
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	assert_int_equal(in[2], DS_L2_MIXED_SLOTS);
	stop();
}

/* Nobody in L1: its slots are lost for as long, and L2 is not. */
static void l1_cannot_go(void **state)
{
	u32 i, in[4];

	(void)state;
	start(DS_POLICY_DEFAULT, 1);
	for (i = 0; i < 1000; i++)
		use(i);
	hold_all(1, true);
	for (i = 0; i < TOKENS; i++)
		if (tier_of(i) != 1)
			assert_int_not_equal(ds_cache_miss(&cache, tokens[i]), 0);
	hold_all(1, false);
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	for (i = 0; i < TOKENS; i++)
		use(i);
	check_all(in);
	assert_int_equal(in[2], DS_L2_MIXED_SLOTS);
	stop();
}

/* Who was to leave and did not may be pinned: others leave in its place. */
static void pinned_after_all(void **state)
{
	struct ds_cache_change ch;
	u32 i, in[4], victim = 0;

	(void)state;
	start(DS_POLICY_DEFAULT, 0);
	for (i = 0; i < 1000; i++)
		use(i);
	for (i = 1000; i < 2000 && !victim; i++) {
		if (ds_cache_miss_begin(&cache, tokens[i], &ch))
			continue;
		victim = ch.moves[0].move.token;
		assert_int_not_equal(victim, tokens[i]);
		ds_change_end(&cache, &ch, -ECANCELED);
	}
	assert_int_equal(tier_of(number_of(victim)), 1);
	assert_int_equal(ds_cache_pin(&cache, victim, true), 0);
	for (i = 2000; i < TOKENS; i++)
		assert_int_not_equal(ds_cache_miss(&cache, tokens[i]), -EPERM);
	assert_int_equal(tier_of(number_of(victim)), 1);
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	assert_int_equal(ds_cache_pin(&cache, victim, false), 0);
	stop();
}

/* Who was to come and did not leaves the slot free, if who was there before is at home by now. */
static void none_is_there_after_all(void **state)
{
	struct ds_cache_change ch = { .count = 0 };
	u32 i;

	(void)state;
	start(DS_POLICY_DEFAULT, 0);
	for (i = 0; i < CAPACITY; i++)
		assert_int_equal(ds_cache_miss(&cache, tokens[i]), 0);
	assert_int_equal(ds_word_slot(word_of(tokens[0])), 0);
	assert_int_equal(ds_change_vacate(&cache, &ch, 0), 0);
	assert_int_equal(ds_change_end(&cache, &ch, 0), 0);
	ds_change_forget(&cache, 0);
	assert_int_equal(ds_cache_miss_begin(&cache, tokens[i], &ch), 0);
	assert_int_equal(ch.moves[0].move.slot, 0);
	ds_change_end(&cache, &ch, -ECANCELED);
	assert_int_not_equal(ds_policy_key(&cache.policy, 0), ds_token_index(tokens[0]));
	stop();
}

static void pinned(void **state)
{
	u32 i, in[4], l1[CAPACITY], n = 0;

	(void)state;
	start(DS_POLICY_DEFAULT, 1);
	for (i = 0; i < 1000; i++)
		use(i);
	assert_int_equal(ds_cache_pin(&cache, tokens[0] + 12345 * DS_TOKEN_PAGE, true), -EBADF);
	*ds_token_word(&cache.table, tokens[0]) |= DS_WORD_WRITER;
	assert_int_equal(ds_cache_pin(&cache, tokens[0], true), -EAGAIN);
	*ds_token_word(&cache.table, tokens[0]) &= ~DS_WORD_WRITER;
	assert_int_equal(ds_cache_pin(&cache, tokens[2999], true), 0);	/* at home */
	assert_int_equal(ds_cache_miss(&cache, tokens[2999]), -EPERM);
	assert_int_equal(ds_cache_pin(&cache, tokens[2999], true), 0);
	for (i = 0; i < 1000; i++) {
		if (tier_of(i) == 1)
			l1[n++] = i;
		if (tier_of(i) == 1 || i % 2)
			assert_int_equal(ds_cache_pin(&cache, tokens[i], true), 0);
	}
	assert_int_equal(n, CAPACITY);
	check_all(in);
	for (i = 0; i < TOKENS; i++)	/* all of L1 is pinned: it is refused, and all go to L2 */
		if (tier_of(i) == 3)
			assert_int_equal(ds_cache_miss(&cache, tokens[i]),
					 word_of(tokens[i]) & DS_WORD_PINNED ? -EPERM : -ENOSPC);
	check_all(in);
	for (i = 0; i < CAPACITY; i++)
		assert_int_equal(tier_of(l1[i]), 1);
	for (i = 0, n = 0; i < 1000; i++)
		n += i % 2 && tier_of(i) == 2;
	assert_true(n > 200);
	assert_int_equal(tier_of(2999), 3);
	/* One is let go, and that is where the next one comes. */
	assert_int_equal(ds_cache_pin(&cache, tokens[l1[7]], false), 0);
	for (i = 0; i < 100; i++)
		use(1500 + i);
	assert_int_not_equal(tier_of(l1[7]), 1);
	/* What is pinned is revoked as any other, and its place is given on. */
	for (i = 0; i < TOKENS; i++) {
		if (word_of(tokens[i]) & DS_WORD_PINNED) {
			end(tokens[i]);
			tokens[i] = create(i);
		}
	}
	use_all_and_stop();
}

/* Whoever wants it in a tier: nobody sets out for it, and the policy does not hear of it. */
static void pinned_at_home(void **state)
{
	struct ds_policy_slot slots[CAPACITY];
	u32 i, before[4][4];

	(void)state;
	start(DS_POLICY_DEFAULT, 1);
	for (i = 0; i < TOKENS; i++)
		use(i);
	for (i = 0; tier_of(i) != 3; i++)
		;
	assert_int_equal(ds_cache_pin(&cache, tokens[i], true), 0);
	memcpy(slots, cache.policy.slots, sizeof(slots));
	memcpy(before, moved, sizeof(moved));
	assert_int_equal(ds_cache_miss(&cache, tokens[i]), -EPERM);
	assert_int_equal(ds_cache_stage(&cache, tokens[i]), -EPERM);
	assert_memory_equal(before, moved, sizeof(moved));
	assert_memory_equal(slots, cache.policy.slots, sizeof(slots));
	stop();
}

/* A third of the tokens is not for L1, a third not for L2. */
static bool not_everywhere(const struct ds_cache *c, u32 token, u32 tier)
{
	assert_ptr_equal(c, &cache);
	return number_of(token) % 3 != tier;
}

static void not_allowed_everywhere(void **state)
{
	u32 i, in[4];

	(void)state;
	start(DS_POLICY_DEFAULT, 1);
	cache.allowed = not_everywhere;
	for (i = 0; i < TOKENS / 2; i++) {
		assert_int_equal(ds_cache_miss(&cache, tokens[i]), i % 3 == 1 ? -ENOSPC : 0);
		assert_int_equal(tier_of(i), i % 3 == 1 ? 2 : 1);
		assert_int_equal(ds_cache_miss(&cache, tokens[i]), i % 3 == 1 ? -ENOSPC : -EEXIST);
		if (i % 3 == 2)
			assert_int_equal(ds_cache_stage(&cache, tokens[TOKENS - 1 - i / 3 * 3]), -ENOSPC);
	}
	for (i = 0; i < TOKENS; i++)
		assert_true(tier_of(i) == 3 || tier_of(i) != i % 3);
	assert_true(moved[1][3] > 0);
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	stop();
}

/* As many as may be, of L1 only; who is unpinned or revoked makes room. */
static void pins_have_a_limit(void **state)
{
	u32 i, in[4], l1[CAPACITY], n = 0, home = 2999;

	(void)state;
	start(DS_POLICY_DEFAULT, 1);
	cache.pins_max = 3;
	for (i = 0; i < 1000; i++)
		use(i);
	for (i = 0; i < 1000; i++)
		if (tier_of(i) == 1)
			l1[n++] = i;
	for (i = 0; i < 3; i++)
		assert_int_equal(ds_cache_pin(&cache, tokens[l1[i]], true), 0);
	assert_int_equal(ds_cache_pin(&cache, tokens[l1[0]], true), 0);
	assert_int_equal(ds_cache_pin(&cache, tokens[l1[3]], true), -EDQUOT);
	assert_int_equal(ds_cache_pin(&cache, tokens[l1[3]], false), 0);	/* nor is it */
	assert_int_equal(ds_cache_pin(&cache, tokens[home], true), 0);
	assert_int_equal(cache.pins, 3);
	assert_int_equal(ds_cache_pin(&cache, tokens[home], false), 0);
	assert_int_equal(ds_cache_pin(&cache, tokens[l1[0]], false), 0);
	assert_int_equal(ds_cache_pin(&cache, tokens[l1[0]], false), 0);
	assert_int_equal(ds_cache_pin(&cache, tokens[l1[3]], true), 0);
	assert_int_equal(ds_cache_pin(&cache, tokens[l1[0]], true), -EDQUOT);
	for (i = 1; i < 6; i += 4) {	/* only the first one is pinned */
		end(tokens[l1[i]]);
		tokens[l1[i]] = create(l1[i]);
	}
	assert_int_equal(ds_cache_pin(&cache, tokens[l1[0]], true), 0);
	assert_int_equal(ds_cache_pin(&cache, tokens[l1[6]], true), -EDQUOT);
	assert_int_equal(cache.pins, 3);
	check_all(in);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(l2_cannot_go),
		TEST(l1_cannot_go),
		TEST(pinned_after_all),
		TEST(none_is_there_after_all),
		TEST(pinned),
		TEST(pinned_at_home),
		TEST(not_allowed_everywhere),
		TEST(pins_have_a_limit),
	};

	return cmocka_run_group_tests_name("core_tier_stay", tests, NULL, NULL);
}
