// SPDX-License-Identifier: Apache-2.0
/* Neighbours that come with a token that is fetched: the others of its page that may be in a tier above. */
#include "core_test.h"
#include "tokencache/fetch.h"

enum { PAGE = DS_FETCH_HOME_PAGE, TOKENS = 2 * PAGE };

static struct ds_cache cache;
static u32 tokens[TOKENS], near[TOKENS];

static void start(u32 count)
{
	struct ds_token_desc d = { .type = DS_TOKEN_QP };
	u32 i;

	assert_int_equal(ds_cache_init(&cache, TOKENS, 64, DS_POLICY_DEFAULT, 2, DS_L2_ANYWHERE), 0);
	for (i = 0; i < count; i++)
		assert_int_equal(ds_token_create(&cache.table, &d, &tokens[i]), 0);
}

static void stop(u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		assert_int_equal(ds_token_revoke(&cache.table, tokens[i], NULL), 0);
		ds_token_free(&cache.table, tokens[i]);
	}
	assert_int_equal(ds_cache_destroy(&cache), 0);
}

static u32 find_near(u32 i)
{
	return ds_fetch_neighbours(&cache, ds_fetch_page(&cache, tokens[i]), tokens[i], near, TOKENS);
}

/* So many: none of them twice, or the token itself, and each of its page. */
static void assert_near(u32 i, u32 count)
{
	u32 n, other;

	assert_int_equal(find_near(i), count);
	for (n = 0; n < count; n++) {
		assert_int_equal(ds_fetch_page(&cache, near[n]), ds_fetch_page(&cache, tokens[i]));
		assert_int_not_equal(near[n], tokens[i]);
		for (other = 0; other < n; other++)
			assert_int_not_equal(near[n], near[other]);
	}
}

static void all_others(void **state)
{
	u32 i;

	(void)state;
	start(3);
	assert_near(1, 2);
	stop(3);
	start(TOKENS);
	assert_near(0, PAGE - 1);
	assert_near(TOKENS - 1, PAGE - 1);
	for (i = 0; i < 5; i++)
		assert_int_equal(ds_cache_stage(&cache, tokens[i]), 0);
	assert_near(3, 4);
	assert_near(5, PAGE - 6);
	stop(TOKENS);
}

/* By turns: anywhere, not in L1, not in L2, at home only. */
static bool by_turns(const struct ds_cache *c, u32 token, u32 tier)
{
	assert_ptr_equal(c, &cache);
	return !(ds_token_index(token) % 4 & tier);
}

static void count_turns(u32 count, u32 turns[4])
{
	u32 n;

	memset(turns, 0, 4 * sizeof(turns[0]));
	for (n = 0; n < count; n++)
		turns[ds_token_index(near[n]) % 4]++;
}

static void who_may_go_up(void **state)
{
	u32 i, turns[4];

	(void)state;
	start(PAGE);
	for (i = 0; i < 16; i++)
		assert_int_equal(ds_cache_stage(&cache, tokens[i]), 0);
	cache.allowed = by_turns;
	count_turns(find_near(PAGE - 1), turns);
	for (i = 0; i < 4; i++)
		assert_int_equal(turns[i], i == 3 ? 0 : (PAGE - 16) / 4);
	count_turns(ds_fetch_to_stage(&cache, tokens[PAGE - 1], near, TOKENS), turns);
	for (i = 0; i < 4; i++)
		assert_int_equal(turns[i], i > 1 ? 0 : (PAGE - 16) / 4);
	/* From L2 there is only one way up. */
	count_turns(find_near(3), turns);
	for (i = 0; i < 4; i++)
		assert_int_equal(turns[i], i % 2 ? 0 : 4);
	stop(PAGE);
}

/* Nobody who is pinned goes up: he takes no other one's place among the nearest. */
static void who_is_pinned(void **state)
{
	u32 i;

	(void)state;
	start(PAGE);
	for (i = 1; i <= 16; i++)
		assert_int_equal(ds_cache_pin(&cache, tokens[i], true), 0);
	for (i = 100; i < 140; i++)
		assert_int_equal(ds_cache_stage(&cache, tokens[i]), 0);
	for (i = 101; i <= 116; i++)
		assert_int_equal(ds_cache_pin(&cache, tokens[i], true), 0);
	/* As many as come with a miss; as many as are pre-staged; those of a page of L2. */
	assert_int_equal(ds_fetch_neighbours(&cache, ds_fetch_page(&cache, tokens[0]), tokens[0],
					     near, 16), 16);
	for (i = 0; i < 16; i++)
		assert_int_equal(near[i], tokens[17 + i]);
	assert_int_equal(ds_fetch_to_stage(&cache, tokens[0], near, 8), 8);
	for (i = 0; i < 8; i++)
		assert_int_equal(near[i], tokens[17 + i]);
	assert_int_equal(ds_fetch_neighbours(&cache, ds_fetch_page(&cache, tokens[100]), tokens[100],
					     near, 16), 16);
	for (i = 0; i < 16; i++)
		assert_int_equal(near[i], tokens[117 + i]);
	stop(PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_others),
		TEST(who_may_go_up),
		TEST(who_is_pinned),
	};

	return cmocka_run_group_tests_name("core_fetch_near", tests, NULL, NULL);
}
