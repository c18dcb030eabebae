// SPDX-License-Identifier: Apache-2.0
/* The token cache: who is in L1, and that each token is what it is wherever it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tokencache/inline.h"
#include "tokencache/table.h"
#include "core_cache.h"
#include "core_queue_pair.h"

enum { CAPACITY = 64, TOKENS = 400 };

static struct ds_cache cache;
static u32 tokens[TOKENS];
static u16 posted[TOKENS];

static u32 create(u32 i)
{
	return create_queue_pair(&cache.table, i, 0);
}

static void end(u32 token)
{
	assert_int_equal(ds_token_revoke(&cache.table, token, NULL), 0);
	ds_token_free(&cache.table, token);
}

static int setup(void **state)
{
	u32 i;

	(void)state;
	assert_int_equal(ds_cache_init(&cache, TOKENS + 10, CAPACITY, DS_POLICY_DEFAULT, 0, DS_L2_ANYWHERE), 0);
	for (i = 0; i < TOKENS; i++)
		tokens[i] = create(i);
	memset(posted, 0, sizeof(posted));
	return 0;
}

static int teardown(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < TOKENS; i++)
		end(tokens[i]);
	return (int)ds_cache_destroy(&cache);
}

/* A use as the module makes one. True for a hit. */
static bool use(u32 i)
{
	struct ds_token_desc d;
	bool hit;

	assert_int_equal(cache_get(&cache, tokens[i], &d), 0);
	assert_int_equal(d.qp.number, i + 1);
	assert_int_equal(d.qp.posted, posted[i]);
	hit = d.tier == 1;
	if (!hit)
		ds_cache_miss(&cache, tokens[i]);
	ds_token_put(&cache.table, tokens[i]);
	return hit;
}

/*
 * Each slot has at most one token, and who is in L1 by its word is in that slot. The policy
 * knows of it, unless the token could not go when it was to.
 */
static u32 check_slots(bool known)
{
	u32 i, in_l1 = 0, owner[CAPACITY] = { 0 };
	u64 word;

	for (i = 0; i < TOKENS; i++) {
		assert_int_equal(ds_token_find(&cache.table, tokens[i], &word), 0);
		assert_false(ds_word_is_moving(word));
		if (ds_word_tier(word) != 1)
			continue;
		in_l1++;
		assert_int_equal(owner[ds_word_slot(word)], 0);
		owner[ds_word_slot(word)] = tokens[i];
		assert_int_equal(cache.table.l1.slots[ds_word_slot(word)].token, tokens[i]);
		if (known)
			assert_int_equal(ds_policy_key(&cache.policy, ds_word_slot(word)),
					 ds_token_index(tokens[i]));
	}
	return in_l1;
}

static void limits(void **state)
{
	struct ds_cache c;
	u32 mode, pages;

	(void)state;
	assert_int_equal(ds_cache_init(&c, 0, CAPACITY, DS_POLICY_DEFAULT, 0, DS_L2_ANYWHERE), -EINVAL);
	assert_int_equal(ds_cache_init(&c, 10, 0, DS_POLICY_DEFAULT, 0, DS_L2_ANYWHERE), -EINVAL);
	assert_int_equal(ds_cache_init(&c, 10, DS_L1_MAX + 1, DS_POLICY_DEFAULT, 0, DS_L2_ANYWHERE), -EINVAL);
	assert_int_equal(ds_cache_init(&c, 10, CAPACITY, DS_POLICY_MODES, 0, DS_L2_ANYWHERE), -EINVAL);
	for (mode = 0; mode < DS_POLICY_MODES; mode++) {
		assert_int_equal(ds_cache_init(&c, 10, CAPACITY, mode, DS_L2_PAGES_MAX + 1, DS_L2_ANYWHERE),
				 -EINVAL);
		/* With so many the slots of both tiers are none. */
		for (pages = 1; pages * DS_L2_MIXED_SLOTS + CAPACITY; pages++)
			;
		assert_int_equal(ds_cache_init(&c, 10, CAPACITY, mode, pages, DS_L2_ANYWHERE), -EINVAL);
	}
}

static void hits_and_misses(void **state)
{
	struct ds_token_pack p;
	u32 i;

	(void)state;
	assert_int_equal(ds_cache_look(&cache, tokens[0] + DS_TOKEN_PAGE, &p), -EBADF);
	assert_int_equal(ds_cache_look(&cache, tokens[0], &p), 3);
	assert_int_equal(ds_cache_miss(&cache, tokens[0] + DS_TOKEN_PAGE), -EBADF);
	for (i = 0; i < CAPACITY / 2; i++)
		assert_false(use(i));
	for (i = 0; i < CAPACITY / 2; i++)
		assert_true(use(i));
	assert_int_equal(ds_cache_look(&cache, tokens[5], &p), 1);
	assert_int_equal(p.fixed & 0xffffff, 6);
	for (i = 0; i < 1000; i++)	/* nobody leaves for who is there */
		assert_int_equal(ds_cache_miss(&cache, tokens[0]), -EEXIST);
	assert_int_equal(check_slots(true), CAPACITY / 2);
	for (i = 0; i < TOKENS; i++)
		use(i);
	assert_int_equal(check_slots(true), CAPACITY);
}

/* What is written in L1 is not lost when the token goes, whoever goes and comes. */
static void random_uses(void **state)
{
	u32 i, n, random = 1, hits = 0;

	(void)state;
	for (n = 0; n < 200000; n++) {
		random = random * 1664525 + 1013904223;
		/* Half of the uses are of a tenth of the tokens. */
		i = (random >> 8) % (random >> 30 & 1 ? TOKENS / 10 : TOKENS);
		hits += use(i);
		if (random >> 7 & 1) {
			assert_int_equal(ds_token_add_posted(&cache.table, tokens[i], 3), 0);
			posted[i] += 3;
		}
		if (!(random >> 24 & 0x1f)) {
			end(tokens[i]);
			posted[i] = 0;
			tokens[i] = create(i);
		}
		if (!(n % 10000))
			check_slots(true);
	}
	assert_in_range(hits, n / 4, n);
}

/* A token with too many uses cannot go: it stays, and nobody gets its slot. */
static void who_cannot_go(void **state)
{
	u32 i, n, uses, token;
	u64 word;

	(void)state;
	for (i = 0; i < CAPACITY; i++)
		use(i);
	for (i = 0; i < CAPACITY; i++)
		for (uses = 0; uses < DS_WORD_USES_MAX - 1; uses++)
			assert_int_equal(ds_token_hold(&cache.table, tokens[i]), 0);
	for (n = 0; n < 3; n++) {
		for (i = CAPACITY; i < TOKENS; i++)
			assert_false(use(i));
		assert_int_equal(check_slots(false), CAPACITY);
	}
	for (i = 0; i < CAPACITY; i++) {
		token = tokens[i];
		assert_int_equal(ds_token_find(&cache.table, token, &word), 0);
		assert_int_equal(ds_word_tier(word), 1);
		for (uses = 0; uses < DS_WORD_USES_MAX - 1; uses++)
			ds_token_put(&cache.table, token);
	}
	for (i = CAPACITY; i < TOKENS; i++)
		use(i);
	assert_true(use(TOKENS - 1));
}

/* Of an index whose tokens are smaller: nothing behind its page's homes is read for it. */
static void a_handle_of_another_type(void **state)
{
	struct ds_token_desc d = { .type = DS_TOKEN_PD };
	u32 i, pds[DS_TOKEN_PAGE], forged;
	struct ds_token_pack p;
	u64 word;

	(void)state;
	assert_int_equal(ds_cache_init(&cache, DS_TOKEN_PAGE, CAPACITY, DS_POLICY_DEFAULT, 0,
				       DS_L2_ANYWHERE), 0);
	for (i = 0; i < DS_TOKEN_PAGE; i++)
		assert_int_equal(ds_token_create(&cache.table, &d, &pds[i]), 0);
	assert_int_equal(ds_token_find(&cache.table, pds[0], &word), 0);
	p.hot = 5;
	assert_true(ds_token_peek(&cache.table, pds[0], word, &p));
	assert_int_equal(p.hot, 0);	/* it has one word */
	forged = ds_token_make(DS_TOKEN_QP, ds_token_gen(pds[i - 1]), ds_token_index(pds[i - 1]));
	assert_int_equal(ds_cache_look(&cache, forged, &p), -EBADF);
	assert_int_equal(cache_get(&cache, forged, &d), -EBADF);
	assert_int_equal(ds_cache_touch(&cache, forged), -EBADF);
	assert_int_equal(ds_cache_miss(&cache, forged), -EBADF);
	assert_int_equal(ds_cache_stage(&cache, forged), -EBADF);
	assert_int_equal(ds_cache_pin(&cache, forged, true), -EBADF);
	assert_int_equal(ds_token_add_posted(&cache.table, forged, 1), -EBADF);
	assert_int_equal(ds_token_add_posted(&cache.table, forged + DS_TOKEN_PAGE, 1), -EBADF);
	assert_int_equal(ds_token_revoke(&cache.table, forged, NULL), -EBADF);
	for (i = 0; i < DS_TOKEN_PAGE; i++)
		end(pds[i]);
	assert_int_equal(ds_cache_destroy(&cache), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits),
		cmocka_unit_test(a_handle_of_another_type),
		cmocka_unit_test_setup_teardown(hits_and_misses, setup, teardown),
		cmocka_unit_test_setup_teardown(random_uses, setup, teardown),
		cmocka_unit_test_setup_teardown(who_cannot_go, setup, teardown),
	};

	return cmocka_run_group_tests_name("core_cache", tests, NULL, NULL);
}
