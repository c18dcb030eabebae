// SPDX-License-Identifier: Apache-2.0
/*
 * Tokens for which the host is asked through the mailbox, in a whole token cache: it copies those
 * that are wide, stages others into L2, or says why not.
 */
#include "core_fetch.h"

static void wide_ones_from_the_host(void **state)
{
	u32 requester;

	(void)state;
	start(4, 0);
	assert_true(is_wide(3 + 16));
	for (requester = 0; requester < DOMAINS; requester++)
		if (requester != owner(19))
			assert_int_equal(whole(19, true, requester), -EACCES);
	post(19, 5);
	assert_int_equal(whole(19, true, owner(19)), -EINPROGRESS);
	ds_fetch_work(&fetch, 1, 9);
	assert_told(19, 0);
	assert_int_equal(testers[19].buffer.qp.pd, 1 << 21);
	assert_int_equal(testers[19].buffer.qp.posted, 5);
	assert_int_equal(tier_of(19), 3);
	/* Staged: in L2 it is as wide as at home. */
	assert_int_equal(whole(19, false, owner(19)), -EINPROGRESS);
	ds_fetch_work(&fetch, 1, 9);
	assert_told(19, 0);
	assert_int_equal(tier_of(19), 2);
	assert_int_equal(use(19), 2);
	assert_int_equal(whole(19, false, owner(19)), -EINPROGRESS);	/* from L2 */
	ds_fetch_work(&fetch, 1, 9);
	assert_told(19, 0);
	stop();
	/* Without L2. */
	start(0, 0);
	assert_int_equal(whole(19, false, owner(19)), -EINPROGRESS);
	ds_fetch_work(&fetch, 1, 9);
	assert_told(19, -ENOSPC);
	stop();
}

/* A host that comes late answers whom it can, and then looks who has waited too long. */
static void a_late_host(void **state)
{
	u64 late = ds_expand_params[DS_EXPAND_TIMEOUT_NS].normal + 1;

	(void)state;
	start(4, 0);
	assert_int_equal(whole(19, true, owner(19)), -EINPROGRESS);
	assert_int_equal(whole(35, true, owner(35)), -EINPROGRESS);
	assert_int_equal(ds_fetch_work(&fetch, late, 1), 0);
	assert_told(19, 0);
	assert_told(35, -ETIMEDOUT);
	assert_int_equal(ds_fetch_work(&fetch, late, 1), DS_BATCH_NEVER);
	assert_int_equal(fetch.box.stats.expired, 1);
	stop();
}

/* Who is staged stays below L2's size; who has to leave goes home, and who may not stays. */
static void staged_into_a_full_l2(void **state)
{
	u32 i, in_l2 = 0;

	(void)state;
	start(1, 0);
	assert_int_equal(ds_cache_stage(&cache, 5), -EBADF);
	assert_int_equal(ds_cache_pin(&cache, tokens[0], true), 0);
	assert_int_equal(ds_cache_stage(&cache, tokens[0]), -EPERM);
	assert_int_equal(ds_cache_pin(&cache, tokens[0], false), 0);
	assert_int_equal(ds_cache_miss(&cache, tokens[1]), 0);
	assert_int_equal(ds_cache_stage(&cache, tokens[1]), 0);
	assert_int_equal(ds_cache_pin(&cache, tokens[1], true), 0);	/* it need not go down */
	assert_int_equal(ds_cache_stage(&cache, tokens[1]), 0);
	assert_int_equal(ds_cache_pin(&cache, tokens[1], false), 0);
	assert_int_equal(tier_of(1), 1);
	for (i = 2; i < TOKENS; i++) {
		post(i, 7);
		assert_int_equal(ds_cache_stage(&cache, tokens[i]), 0);
		assert_int_equal(tier_of(i), 2);
		post(i, 1);
	}
	for (i = 0; i < TOKENS; i++)
		in_l2 += use(i) == 2;
	assert_int_equal(in_l2, DS_L2_MIXED_SLOTS);
	assert_int_equal(cache.table.l2.used, in_l2);
	stop();
}

static void offsets(void **state)
{
	struct ds_expand_req req;

	(void)state;
	start(2, 0);
	req = (struct ds_expand_req) {
		.token = tokens[5], .offset = ds_token_index(tokens[5]), .requester = owner(5),
	};
	assert_int_equal(ds_expand_ask(&fetch.box, &req, NULL, 0), -EINPROGRESS);
	ds_fetch_work(&fetch, 1, 9);
	assert_int_equal(tier_of(5), 2);
	assert_int_equal(ds_expand_ask(&fetch.box, &req, NULL, 0), -ESTALE);	/* it was there */
	req.offset = 1u << DS_TOKEN_INDEX_BITS;
	assert_int_equal(ds_expand_ask(&fetch.box, &req, NULL, 0), -EINVAL);
	req.offset = DS_FETCH_L2 | 2 << DS_L2_SLOT_BITS;
	assert_int_equal(ds_expand_ask(&fetch.box, &req, NULL, 0), -EINVAL);
	req.offset = ~0u;
	assert_int_equal(ds_expand_ask(&fetch.box, &req, NULL, 0), -EINVAL);
	req.offset = (DS_FETCH_L2 | 2 << DS_L2_SLOT_BITS) - 1;
	assert_int_equal(ds_expand_ask(&fetch.box, &req, NULL, 0), -ESTALE);
	stop();
	/* Its slot in L2 has the number of its index: that it is not at home is seen all the same. */
	start(2, 0);
	req.token = tokens[0];
	req.requester = owner(0);
	req.offset = ds_token_index(tokens[0]);
	assert_int_equal(ds_cache_stage(&cache, tokens[0]), 0);
	assert_int_equal(ds_expand_ask(&fetch.box, &req, NULL, 0), -ESTALE);
	req.offset |= DS_FETCH_L2;
	assert_int_equal(ds_expand_ask(&fetch.box, &req, NULL, 0), -EINPROGRESS);
	stop();
}

static void revoked_and_shut_while_they_wait(void **state)
{
	(void)state;
	start(2, 0);
	assert_int_equal(whole(5, true, owner(5)), -EINPROGRESS);
	end(tokens[5]);
	assert_told(5, -ESTALE);
	tokens[5] = create(5);
	assert_int_equal(whole(6, true, owner(6)), -EINPROGRESS);
	assert_int_equal(miss(7, 0), -EINPROGRESS);
	ds_fetch_shut(&fetch);
	assert_told(6, -ENODEV);
	assert_told(7, -ENODEV);
	assert_int_equal(miss(7, 0), -ENODEV);
	assert_int_equal(whole(6, true, owner(6)), -ENODEV);
	assert_int_equal(ds_fetch_work(&fetch, 100000, 9), DS_BATCH_NEVER);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wide_ones_from_the_host),
		TEST(a_late_host),
		TEST(staged_into_a_full_l2),
		TEST(offsets),
		TEST(revoked_and_shut_while_they_wait),
	};

	return cmocka_run_group_tests_name("core_fetch_host", tests, NULL, NULL);
}
