// SPDX-License-Identifier: Apache-2.0
/* Shares of L1 that become smaller: who is too many leaves as time passes, the oldest first. */
#include "core_share.h"

/* So many steps. */
static u32 tick(u32 steps)
{
	return ds_cache_tick(&cache, 0, 0, &no_load, steps);
}

/* All tokens of a domain are used; then its share becomes smaller. */
static void a_domain_gets_less(void **state)
{
	u32 i, before, in[4], of[DOMAINS], pds[DOMAINS];
	struct ds_share *share;

	(void)state;
	start_domains(pds);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	assert_int_equal(ds_cache_partition(&cache, 101, 20, 30), 0);
	for (i = 0; i < CAPACITY; i++)
		use(i - i % DOMAINS);	/* of domain 100: they stay */
	for (i = 1; i < 40 * DOMAINS; i += DOMAINS)
		use(i);
	count_domains(of);
	before = of[0];
	share = ds_share_find(&cache.shares, 101);
	assert_int_equal(of[1], 30);
	assert_int_equal(share->held, 20);
	assert_int_equal(tick(100), 0);	/* nobody is too many */

	assert_int_equal(ds_cache_partition(&cache, 101, 3, 8), 0);
	assert_int_equal(tick(0), 0);
	assert_int_equal(share->used, 30);
	for (i = 1; i <= 30 - 8; i++) {
		assert_int_equal(tick(1), 1);
		assert_int_equal(share->used, 30 - i);
		assert_int_equal(share->held, i < 17 ? 20 - i : 3);
	}
	assert_int_equal(tick(100), 0);
	assert_int_equal(share->used, 8);
	for (i = 32; i < 40; i++)	/* those that came last */
		assert_int_equal(tier_of(1 + i * DOMAINS), 1);
	count_domains(of);
	assert_int_equal(of[1], 8);
	assert_int_equal(of[0], before);
	check_all(in);
	/* What was left is everybody's: what is not kept, too. */
	for (i = 0; i < TOKENS; i++)
		if (i % DOMAINS != 1)
			use(i);
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	count_domains(of);
	assert_in_range(of[1], 3, 7);
	assert_int_equal(of[1], share->used);
	stop_domains(pds);
}

/* What a domain has that has no share any more is nobody's; others keep what is theirs. */
static void of_a_share_that_went(void **state)
{
	u32 i, pds[DOMAINS];

	(void)state;
	start_domains(pds);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	for (i = 1; i < DOMAINS; i++)
		assert_int_equal(ds_cache_partition(&cache, 100 + i, 1, 10), 0);
	for (i = 0; i < 3 * DOMAINS; i++)
		if (i % DOMAINS != 1)
			use(i);
	use(1);		/* its domain keeps all that it has */
	assert_int_equal(cache.policy.pinned, 3);
	assert_int_equal(ds_cache_partition(&cache, 101, 0, CAPACITY), 0);
	assert_int_equal(tick(100), 0);
	assert_int_equal(cache.policy.pinned, 2);
	assert_int_equal(cache.shares.of[0].used, 0);
	assert_int_equal(ds_share_find(&cache.shares, 102)->used, 3);
	assert_int_equal(ds_share_find(&cache.shares, 103)->used, 3);
	stop_domains(pds);
}

/* Who cannot go is passed by, and does not keep other domains from going. */
static void who_cannot_go(void **state)
{
	u32 i, of[DOMAINS], pds[DOMAINS], in[4];
	struct ds_share *stuck, *other;

	(void)state;
	start_domains(pds);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	assert_int_equal(ds_cache_partition(&cache, 101, 10, 10), 0);
	assert_int_equal(ds_cache_partition(&cache, 102, 10, 10), 0);
	for (i = 0; i < 10; i++) {
		use(1 + i * DOMAINS);
		use(2 + i * DOMAINS);
	}
	/* One more takes a place, though the domain keeps all that it has. */
	use(1 + 10 * DOMAINS);
	assert_int_equal(tier_of(1), 2);
	assert_int_equal(tier_of(1 + 10 * DOMAINS), 1);
	for (i = 1; i < 6; i++)
		assert_int_equal(ds_cache_pin(&cache, tokens[1 + i * DOMAINS], true), 0);
	assert_int_equal(ds_cache_partition(&cache, 101, 0, 1), 0);
	assert_int_equal(ds_cache_partition(&cache, 102, 0, 1), 0);
	tick(100);
	count_domains(of);
	assert_int_equal(of[1], 5);	/* the pinned ones */
	assert_int_equal(of[2], 1);
	stuck = ds_share_find(&cache.shares, 101);
	other = ds_share_find(&cache.shares, 102);
	assert_int_equal(stuck->used, 5);
	assert_int_equal(other->used, 1);
	assert_int_equal(tier_of(2 + 9 * DOMAINS), 1);
	for (i = 1; i < 6; i++)
		assert_int_equal(ds_cache_pin(&cache, tokens[1 + i * DOMAINS], false), 0);
	assert_int_equal(stuck->held, 0);	/* of which it keeps none */
	assert_int_equal(tick(100), 4);
	assert_int_equal(stuck->used, 1);
	check_all(in);
	stop_domains(pds);
}

/* The oldest has too many uses: it stays where it is, and the next one goes with the next step. */
static void the_oldest_is_in_use(void **state)
{
	u32 pds[DOMAINS], in[4];
	struct ds_share *share;

	(void)state;
	start_domains(pds);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	assert_int_equal(ds_cache_partition(&cache, 101, 0, 3), 0);
	share = ds_share_find(&cache.shares, 101);
	use(1);
	use(1 + DOMAINS);
	use(1 + 2 * DOMAINS);
	hold(tokens[1], true);
	assert_int_equal(ds_cache_partition(&cache, 101, 0, 1), 0);
	assert_int_equal(tick(1), 0);
	assert_int_equal(share->used, 3);
	assert_int_equal(share->held, 0);
	assert_int_equal(cache.table.l2.used, 0);
	assert_int_equal(tick(1), 1);
	assert_int_equal(tier_of(1 + DOMAINS), 2);
	assert_int_equal(tick(1), 1);
	assert_int_equal(tier_of(1 + 2 * DOMAINS), 2);
	assert_int_equal(tick(100), 0);
	assert_int_equal(tier_of(1), 1);
	assert_int_equal(share->used, 1);
	hold(tokens[1], false);
	/* It leaves when it can. */
	use(1 + 3 * DOMAINS);
	assert_int_equal(tier_of(1 + 3 * DOMAINS), 1);
	assert_int_equal(tier_of(1), 2);
	assert_int_equal(share->used, 1);
	check_all(in);
	stop_domains(pds);
}

/* Who was revoked is no move, though its revoker does not say so yet. */
static void revoked_and_too_many(void **state)
{
	u32 i, pds[DOMAINS], in[4];
	u64 words[2];

	(void)state;
	start_domains(pds);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	assert_int_equal(ds_cache_partition(&cache, 101, 0, 3), 0);
	for (i = 0; i < 3; i++)
		use(1 + i * DOMAINS);
	cache.table.l1.left = NULL;
	for (i = 0; i < 2; i++) {
		words[i] = word_of(tokens[1 + i * DOMAINS]);
		assert_int_equal(ds_token_revoke(&cache.table, tokens[1 + i * DOMAINS], NULL), 0);
	}
	assert_int_equal(ds_cache_partition(&cache, 101, 0, 1), 0);
	assert_int_equal(tick(100), 0);
	assert_int_equal(cache.shares.of[0].used, 1);
	assert_int_equal(tier_of(1 + 2 * DOMAINS), 1);
	for (i = 0; i < 2; i++) {
		l1_slot_left(&cache.table.l1, ds_word_slot(words[i]), tokens[1 + i * DOMAINS]);
		ds_token_free(&cache.table, tokens[1 + i * DOMAINS]);
		tokens[1 + i * DOMAINS] = create(1 + i * DOMAINS);
	}
	cache.table.l1.left = l1_slot_left;
	assert_int_equal(cache.shares.of[0].used, 1);
	check_all(in);
	stop_domains(pds);
}

/* Who could not leave, while its domain's share became smaller, is not counted to it again. */
static void who_stays_after_all(void **state)
{
	struct ds_cache_change change;
	u32 pds[DOMAINS], in[4];
	struct ds_share *share;

	(void)state;
	start_domains(pds);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	assert_int_equal(ds_cache_partition(&cache, 101, 0, 2), 0);
	use(1);
	use(1 + DOMAINS);
	assert_int_equal(ds_cache_miss_begin(&cache, tokens[1 + 2 * DOMAINS], &change), 0);
	assert_int_equal(change.moves[0].move.token, tokens[1]);
	assert_int_equal(ds_cache_partition(&cache, 101, 0, 1), 0);
	ds_change_end(&cache, &change, -ECANCELED);
	assert_int_equal(tier_of(1), 1);
	share = ds_share_find(&cache.shares, 101);
	assert_int_equal(share->used, 1);
	check_all(in);
	assert_int_equal(in[1], 2);
	stop_domains(pds);
}

/* Of two one is on its way: the other one, who has come, is the one that the domain keeps. */
static void who_is_on_his_way(void **state)
{
	struct ds_cache_change change;
	u32 i, pds[DOMAINS], in[4];
	struct ds_share *share;

	(void)state;
	start_domains(pds);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	assert_int_equal(ds_cache_partition(&cache, 101, 1, 2), 0);
	for (i = 0; i < CAPACITY; i++)	/* L1 is full of others */
		use(i * DOMAINS);
	assert_int_equal(ds_cache_miss_begin(&cache, tokens[1], &change), 0);
	use(1 + DOMAINS);
	assert_int_equal(tier_of(1 + DOMAINS), 1);
	share = ds_share_find(&cache.shares, 101);
	assert_int_equal(share->used, 2);
	assert_int_equal(ds_cache_partition(&cache, 101, 1, 1), 0);
	assert_int_equal(tick(100), 0);
	assert_int_equal(share->held, 1);
	assert_int_equal(tier_of(1 + DOMAINS), 1);
	assert_int_equal(ds_change_end(&cache, &change, 0), 0);
	assert_int_equal(tick(100), 1);
	assert_int_equal(tier_of(1), 2);
	assert_int_equal(tier_of(1 + DOMAINS), 1);
	assert_int_equal(share->used, 1);
	check_all(in);
	stop_domains(pds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_domain_gets_less),
		TEST(of_a_share_that_went),
		TEST(who_cannot_go),
		TEST(the_oldest_is_in_use),
		TEST(revoked_and_too_many),
		TEST(who_stays_after_all),
		TEST(who_is_on_his_way),
	};

	return cmocka_run_group_tests_name("core_share_less", tests, NULL, NULL);
}
