// SPDX-License-Identifier: Apache-2.0
/*
 * Shares of L1 that trust domains have: what a domain keeps, whatever others do, and no more.
 * core_share_less_test has shares that become smaller.
 */
#include "core_share.h"

static void bad_shares(void **state)
{
	u32 i;

	(void)state;
	start(DS_POLICY_DEFAULT, 0);
	assert_int_equal(ds_cache_partition(&cache, 1, 1, 2), -EINVAL);	/* not prepared */
	allocs_left = 0;
	assert_int_equal(ds_shares_prepare(&cache.shares), -ENOMEM);
	allocs_left = -1;
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	assert_int_equal(ds_cache_partition(&cache, 1, 3, 2), -EINVAL);
	assert_int_equal(ds_cache_partition(&cache, 1, 0, 0), -EINVAL);
	assert_int_equal(ds_cache_partition(&cache, DS_SHARE_NONE, 0, 1), -EINVAL);
	assert_int_equal(ds_cache_partition(&cache, 1, CAPACITY / 2 + 1, CAPACITY), -ENOSPC);
	assert_int_equal(ds_cache_partition(&cache, 1, CAPACITY / 2, CAPACITY), 0);
	assert_int_equal(ds_cache_partition(&cache, 2, 1, 1), -ENOSPC);
	assert_int_equal(ds_cache_partition(&cache, 1, CAPACITY / 2 - 1, CAPACITY), 0);
	assert_int_equal(ds_cache_partition(&cache, 2, 1, 1), 0);
	assert_int_equal(ds_cache_partition(&cache, 3, 0xffffffff, 0xffffffff), -ENOSPC);
	for (i = 3; i <= DS_SHARES; i++)
		assert_int_equal(ds_cache_partition(&cache, i, 0, 1), 0);
	assert_int_equal(ds_cache_partition(&cache, i, 0, 1), -ENOSPC);
	stop();
}

/* A domain that keeps nothing and may have all has none; its entry is another's, but not before it is empty. */
static void shares_come_and_go(void **state)
{
	struct ds_share share;
	u32 i, pds[DOMAINS];

	(void)state;
	start_domains(pds);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	assert_false(ds_cache_share(&cache, 0, &share));
	for (i = 0; i < DS_SHARES; i++) {
		assert_null(ds_share_find(&cache.shares, 0));
		assert_int_equal(ds_cache_partition(&cache, 100 + i, 1, 10 + i), 0);
	}
	for (i = 0; i < DS_SHARES; i++) {
		assert_true(ds_cache_share(&cache, i, &share));
		assert_int_equal(share.domain, 100 + i);
		assert_int_equal(share.min, 1);
		assert_int_equal(share.max, 10 + i);
	}
	assert_false(ds_cache_share(&cache, i, &share));
	use(1);		/* of domain 101 */
	assert_int_equal(ds_cache_partition(&cache, 101, 0, CAPACITY), 0);
	assert_int_equal(ds_cache_partition(&cache, 200, 0, 5), -ENOSPC);
	use(1 + DOMAINS);	/* is not counted any more */
	assert_int_equal(tier_of(1 + DOMAINS), 1);
	assert_true(ds_cache_share(&cache, 1, &share));
	assert_int_equal(share.domain, 102);
	assert_false(ds_cache_share(&cache, DS_SHARES - 1, &share));
	end(tokens[1]);
	assert_int_equal(ds_cache_partition(&cache, 200, 0, 5), 0);
	assert_true(ds_cache_share(&cache, 1, &share));
	assert_int_equal(share.domain, 200);
	assert_int_equal(share.used, 0);
	assert_int_equal(cache.shares.kept, DS_SHARES - 1);
	tokens[1] = create(1);
	stop_domains(pds);
}

/* Nobody has a share any more, but tokens that were counted stay in L1: others may have shares. */
static void shares_that_went(void **state)
{
	struct ds_share share;
	u32 i, pds[DOMAINS];

	(void)state;
	start_domains(pds);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	for (i = 0; i < DOMAINS; i++) {
		assert_int_equal(ds_cache_partition(&cache, 100 + i, 1, CAPACITY), 0);
		use(i);
		use(i + DOMAINS);
		assert_int_equal(tier_of(i), 1);
		assert_int_equal(ds_cache_pin(&cache, tokens[i], true), 0);
	}
	for (; i < DS_SHARES; i++)	/* DOMAINS of DS_SHARES have tokens */
		assert_int_equal(ds_cache_partition(&cache, 100 + i, 1, CAPACITY), 0);
	for (i = 0; i < DS_SHARES; i++)
		assert_int_equal(ds_cache_partition(&cache, 100 + i, 0, CAPACITY), 0);
	assert_false(ds_cache_share(&cache, 0, &share));
	for (i = 0; i < 1000; i++)
		ds_cache_tick(&cache, i * 100000000ull, i, &no_load, 64);
	assert_int_equal(cache.shares.count, 0);
	for (i = 0; i < DS_SHARES; i++) {
		assert_int_equal(ds_cache_partition(&cache, 200 + i, 1, CAPACITY), 0);
		assert_non_null(ds_share_find(&cache.shares, 200 + i));
	}
	/* With the last share goes the last entry, for which domains would be looked up. */
	for (i = 0; i < DS_SHARES; i++)
		assert_int_equal(ds_cache_partition(&cache, 200 + i, 0, CAPACITY), 0);
	assert_int_equal(cache.shares.count, 0);
	for (i = 0; i < DOMAINS; i++) {
		assert_int_equal(tier_of(i), 1);
		assert_int_equal(ds_cache_pin(&cache, tokens[i], false), 0);
	}
	assert_int_equal(cache.policy.pinned, 0);
	stop_domains(pds);
}

/* Others come in a stream: a domain keeps what it may keep, and of the rest what the policy wants. */
static void a_domain_keeps(void **state)
{
	u32 i, n = 0, of[DOMAINS], pds[DOMAINS], in[4];

	(void)state;
	start_domains(pds);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	assert_int_equal(ds_cache_partition(&cache, 101, 10, CAPACITY), 0);
	for (i = 1; i < 20 * DOMAINS; i += DOMAINS)
		use(i);
	count_domains(of);
	assert_int_equal(of[1], 20);
	for (i = 0; i < TOKENS; i++)
		if (i % DOMAINS != 1)
			use(i);
	count_domains(of);
	assert_in_range(of[1], 10, 15);
	for (i = 10; i < 20; i++)	/* those that came last */
		assert_int_equal(tier_of(1 + i * DOMAINS), 1);
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	for (i = 1; i < TOKENS; i += DOMAINS)	/* its own take each other's places */
		use(i);
	for (i = 10; i < 20; i++)
		n += tier_of(1 + i * DOMAINS) == 1;
	assert_in_range(n, 0, 8);	/* LIRS keeps some */
	/* Of those that are revoked others get the places. */
	for (i = 1; i < TOKENS; i += DOMAINS) {
		end(tokens[i]);
		tokens[i] = create(i);
	}
	assert_int_equal(cache.shares.of[0].used, 0);
	assert_int_equal(cache.shares.of[0].held, 0);
	for (i = 0; i < TOKENS; i++)
		if (i % DOMAINS != 1)
			use(i);
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	assert_int_equal(cache.policy.pinned, 0);	/* and keep none of them */
	stop_domains(pds);
}

static void a_domain_has_no_more(void **state)
{
	u32 i, of[DOMAINS], pds[DOMAINS], in[4];

	(void)state;
	start_domains(pds);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	assert_int_equal(ds_cache_partition(&cache, 102, 2, 7), 0);
	assert_int_equal(ds_cache_partition(&cache, 103, 0, 3), 0);
	for (i = 0; i < 2 * TOKENS; i++) {
		use(random_below(TOKENS));
		if (i % 50)
			continue;
		count_domains(of);
		assert_true(of[2] <= 7 && of[3] <= 3);
		assert_int_equal(of[2], cache.shares.of[0].used);
		assert_int_equal(of[3], cache.shares.of[1].used);
	}
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	count_domains(of);
	assert_in_range(of[2], 2, 7);
	/* Only they come: the rest of L1 stays as it is. */
	for (i = 3; i < TOKENS; i += DOMAINS)
		use(i);
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	count_domains(of);
	assert_int_equal(of[3], 3);
	stop_domains(pds);
}

/* Whom a domain has pinned does not make room for its next ones, and is in no way of them. */
static void pinned_ones_are_in_no_way(void **state)
{
	u32 i, pds[DOMAINS], in[4];
	struct ds_share *share;

	(void)state;
	start_domains(pds);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	assert_int_equal(ds_cache_partition(&cache, 101, 2, 3), 0);
	share = ds_share_find(&cache.shares, 101);
	for (i = 0; i < 3; i++) {
		use(1 + i * DOMAINS);
		assert_int_equal(ds_cache_pin(&cache, tokens[1 + i * DOMAINS], true), 0);
	}
	/* All that it may have is pinned: L2 is left to the others. */
	for (i = 3; i < 20; i++) {
		use(1 + i * DOMAINS);
		assert_int_equal(tier_of(1 + i * DOMAINS), 2);
	}
	/* One more place, and they take it by turns. */
	assert_int_equal(ds_cache_partition(&cache, 101, 2, 4), 0);
	for (i = 20; i < 40; i++) {
		use(1 + i * DOMAINS);
		assert_int_equal(tier_of(1 + i * DOMAINS), 1);
		assert_int_equal(share->used, 4);
	}
	for (i = 0; i < 3; i++)
		assert_int_equal(tier_of(1 + i * DOMAINS), 1);
	/* Unpinned, they are the newest; one that has ended is not counted. */
	assert_int_equal(ds_cache_pin(&cache, tokens[1], false), 0);
	use(1 + 40 * DOMAINS);
	assert_int_equal(tier_of(1), 1);
	assert_int_equal(tier_of(1 + 39 * DOMAINS), 2);
	assert_int_equal(ds_cache_partition(&cache, 101, 1, 4), 0);
	for (i = 41; i < 44; i++)
		use(1 + i * DOMAINS);
	end(tokens[1 + DOMAINS]);
	tokens[1 + DOMAINS] = create(1 + DOMAINS);
	assert_int_equal(share->used, 3);
	for (i = 50; i < 60; i++) {
		use(1 + i * DOMAINS);
		assert_int_equal(tier_of(1 + i * DOMAINS), 1);
		assert_int_equal(share->used, 4);
	}
	for (i = 57; i < 60; i++)	/* the newest, beside the one that is pinned */
		assert_int_equal(tier_of(1 + i * DOMAINS), 1);
	assert_int_equal(tier_of(1 + 2 * DOMAINS), 1);
	check_all(in);
	stop_domains(pds);
}

/* Who comes to the slot of a pinned one that has ended is not pinned. */
static void after_a_pinned_one(void **state)
{
	u32 i, slot, pds[DOMAINS], in[4];

	(void)state;
	start_domains(pds);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	for (i = 0; i < CAPACITY; i++)	/* L1 is full of others */
		use(i * DOMAINS);
	assert_int_equal(ds_cache_partition(&cache, 101, 1, 3), 0);
	for (i = 0; i < 3; i++)
		use(1 + i * DOMAINS);
	assert_int_equal(ds_cache_pin(&cache, tokens[1 + DOMAINS], true), 0);
	slot = ds_word_slot(word_of(tokens[1 + DOMAINS]));
	end(tokens[1 + DOMAINS]);
	tokens[1 + DOMAINS] = create(1 + DOMAINS);
	use(1 + 3 * DOMAINS);
	assert_int_equal(ds_word_slot(word_of(tokens[1 + 3 * DOMAINS])), slot);
	for (i = 4; i < 20; i++) {
		use(1 + i * DOMAINS);
		assert_int_equal(cache.shares.of[0].used, 3);
		assert_int_equal(tier_of(1 + i * DOMAINS), 1);
		assert_int_equal(tier_of(1 + (i - 1) * DOMAINS), 1);
		assert_int_not_equal(tier_of(1 + (i - 3) * DOMAINS), 1);
	}
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	stop_domains(pds);
}

/* More on their way at once than a domain may have. */
static void a_domain_at_once(void **state)
{
	struct ds_cache_change changes[5];
	u32 i, n, round, of[DOMAINS], pds[DOMAINS], in[4];

	(void)state;
	start_domains(pds);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	assert_int_equal(ds_cache_partition(&cache, 102, 2, 4), 0);
	for (i = 0; i < TOKENS; i++)
		use(i);
	for (round = 0; round < 100; round++) {
		for (n = 0, i = 2; n < 5; i += DOMAINS)
			if (tier_of(i) != 1 && !ds_cache_miss_begin(&cache, tokens[i], &changes[n]))
				n++;
		while (n--) {
			if (random_below(3))
				ds_change_end(&cache, &changes[n], 0);
			else
				ds_change_end(&cache, &changes[n], -ECANCELED);
		}
		count_domains(of);
		check_all(in);
		assert_true(cache.shares.of[0].used <= 4);
	}
	/* One after the other, who did not have to leave counts again. */
	for (i = 2; i < TOKENS; i += DOMAINS)
		use(i);
	count_domains(of);
	assert_int_equal(cache.shares.of[0].used, 4);
	for (round = 0; round < 100; round++) {
		u32 before = of[2], used = cache.shares.of[0].used;

		for (i = 2; tier_of(i) == 1 || ds_cache_miss_begin(&cache, tokens[i], &changes[0]);)
			i += DOMAINS;
		ds_change_end(&cache, &changes[0], -ECANCELED);
		count_domains(of);
		assert_int_equal(of[2], before);
		assert_int_equal(cache.shares.of[0].used, used);
	}
	stop_domains(pds);
}

/* Also one that its domain no longer keeps by the time that it comes is nobody else's before. */
static void a_place_is_promised(void **state)
{
	struct ds_cache_change a, b;
	u32 i, slot, pds[DOMAINS], in[4];

	(void)state;
	start_domains(pds);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	assert_int_equal(ds_cache_partition(&cache, 101, 1, 3), 0);
	for (i = 0; i < TOKENS; i += DOMAINS)
		use(i);
	assert_int_equal(ds_cache_miss_begin(&cache, tokens[1], &a), 0);
	assert_int_equal(ds_cache_miss_begin(&cache, tokens[1 + DOMAINS], &b), 0);
	slot = a.moves[a.count - 1].move.slot;
	for (i = 0; i < TOKENS; i += DOMAINS) {
		use(i);
		assert_int_equal(ds_policy_key(&cache.policy, slot), ds_token_index(tokens[1]));
	}
	assert_int_equal(ds_change_end(&cache, &a, 0), 0);
	assert_int_equal(ds_change_end(&cache, &b, 0), 0);
	assert_int_equal(ds_word_slot(word_of(tokens[1])), slot);
	check_all(in);
	stop_domains(pds);
}

/* By its protection domain, if it has one. */
static void whose_a_token_is(void **state)
{
	struct ds_token_desc d = { .type = DS_TOKEN_MR, .mr.page_shift = 12 };
	u32 pds[DOMAINS], token;

	(void)state;
	start_domains(pds);
	assert_int_equal(ds_share_domain(&cache.table, pds[2]), 102);
	assert_int_equal(ds_share_domain(&cache.table, tokens[3]), 103);
	d.mr.pd = ds_token_index(pds[1]);
	assert_int_equal(ds_token_create(&cache.table, &d, &token), 0);
	assert_int_equal(ds_share_domain(&cache.table, token), 101);
	end(token);
	assert_int_equal(ds_share_domain(&cache.table, token), DS_SHARE_NONE);
	d.mr.pd = DS_TOKEN_NONE;
	assert_int_equal(ds_token_create(&cache.table, &d, &token), 0);
	assert_int_equal(ds_share_domain(&cache.table, token), DS_SHARE_NONE);
	end(token);
	d = (struct ds_token_desc){ .type = DS_TOKEN_QP, .qp.pd = ds_token_index(tokens[7]) };
	assert_int_equal(ds_token_create(&cache.table, &d, &token), 0);	/* that is no PD */
	assert_int_equal(ds_share_domain(&cache.table, token), DS_SHARE_NONE);
	end(token);
	d = (struct ds_token_desc){ .type = DS_TOKEN_CQ, .cq.number = 101 };
	assert_int_equal(ds_token_create(&cache.table, &d, &token), 0);
	assert_int_equal(ds_share_domain(&cache.table, token), DS_SHARE_NONE);
	end(token);
	assert_int_equal(ds_word_uses(word_of(pds[1])), 0);
	stop_domains(pds);
}

/* Of one with as many uses as can be counted, too, or of whose protection domain that is so. */
static void whose_one_in_use_is(void **state)
{
	struct ds_token_desc d = { .type = DS_TOKEN_QP, .qp.qp_type = 0xff };
	u32 pds[DOMAINS], wide;

	(void)state;
	start_domains(pds);
	hold(pds[3], true);
	hold(tokens[3], true);
	assert_int_equal(ds_share_domain(&cache.table, tokens[3]), 103);
	hold(tokens[3], false);
	hold(pds[3], false);
	/* But a wide one has to be held to be read. */
	d.qp.pd = ds_token_index(pds[1]);
	assert_int_equal(ds_token_create(&cache.table, &d, &wide), 0);
	assert_int_equal(ds_share_domain(&cache.table, wide), 101);
	hold(wide, true);
	assert_int_equal(ds_share_domain(&cache.table, wide), DS_SHARE_NONE);
	hold(wide, false);
	end(wide);
	stop_domains(pds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bad_shares),
		TEST(shares_come_and_go),
		TEST(shares_that_went),
		TEST(a_domain_keeps),
		TEST(a_domain_has_no_more),
		TEST(pinned_ones_are_in_no_way),
		TEST(after_a_pinned_one),
		TEST(a_domain_at_once),
		TEST(a_place_is_promised),
		TEST(whose_a_token_is),
		TEST(whose_one_in_use_is),
	};

	return cmocka_run_group_tests_name("core_share", tests, NULL, NULL);
}
