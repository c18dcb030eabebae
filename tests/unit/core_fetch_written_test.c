// SPDX-License-Identifier: Apache-2.0
/* Tokens that are written to while a batch fetches them, as those of queue pairs in use are. */
#include "core_test.h"
#include "tokencache/fetch.h"
#include "tokencache/inline.h"

enum { TOKENS = 256, BUSY = 100 };

static struct ds_cache cache;
static struct ds_fetch fetch;
static struct ds_batch_ops ops;
static const struct ds_batch_ops *cache_ops;
static u32 tokens[TOKENS], posts, fetches;

static int allowed(struct ds_fetch *f, u32 requester, u32 token)
{
	(void)f;
	(void)requester;
	(void)token;
	return -EACCES;
}

/* The busy one posts after each of the first @posts operations. */
static int fetch_and_post(struct ds_batch *b, u32 page, struct ds_batch_item *items, u32 count)
{
	int ret = cache_ops->fetch(b, page, items, count);

	if (fetches++ < posts)
		assert_int_equal(ds_token_add_posted(&cache.table, tokens[BUSY], 1), 0);
	return ret;
}

static void start(void)
{
	struct ds_token_desc d = { .type = DS_TOKEN_QP };
	u32 i;

	fetches = 0;
	assert_int_equal(ds_cache_init(&cache, TOKENS, TOKENS, DS_POLICY_DEFAULT, 0,
				       DS_L2_ANYWHERE), 0);
	assert_int_equal(ds_fetch_init(&fetch, &cache, allowed, NULL, NULL), 0);
	assert_int_equal(ds_batch_set(&fetch.batch, DS_L2_PAGE_PREFETCH_SIZE, 0), 0);
	cache_ops = fetch.batch.ops;
	ops = *cache_ops;
	ops.fetch = fetch_and_post;
	fetch.batch.ops = &ops;
	for (i = 0; i < TOKENS; i++) {
		d.qp.number = i + 1;
		assert_int_equal(ds_token_create(&cache.table, &d, &tokens[i]), 0);
	}
}

static void stop(void)
{
	ds_fetch_shut(&fetch);
	ds_fetch_destroy(&fetch);
	ds_cache_destroy(&cache);
}

/* All miss, and are fetched by few operations. */
static void miss_all(void)
{
	u32 i;

	for (i = 0; i < TOKENS; i++)
		assert_int_equal(ds_fetch_miss(&fetch, tokens[i], NULL, 0), -EINPROGRESS);
	while (ds_fetch_work(&fetch, 10000, 1) != DS_BATCH_NEVER)
		;
}

static int tier_of(u32 i)
{
	struct ds_token_pack pack;

	return ds_cache_look(&cache, tokens[i], &pack);
}

static void it_comes_all_the_same(void **state)
{
	struct ds_token_desc d;
	struct ds_token_pack pack;

	(void)state;
	posts = 1;
	start();
	miss_all();
	assert_int_equal(tier_of(BUSY), 1);
	assert_int_equal(tier_of(BUSY - 1), 1);
	assert_int_equal(tier_of(BUSY + 1), 1);
	assert_int_equal(fetch.batch.stats.stale, 0);
	assert_int_equal(fetch.batch.stats.fetched, TOKENS + 1);
	/* With what was written to it meanwhile. */
	assert_int_equal(ds_cache_look(&cache, tokens[BUSY], &pack), 1);
	assert_int_equal(ds_token_unpack(&pack, NULL, &d), 0);
	assert_int_equal(d.qp.posted, 1);
	stop();
}

/* The next miss may have more luck. */
static void not_if_it_never_rests(void **state)
{
	(void)state;
	posts = 2;
	start();
	miss_all();
	assert_int_equal(tier_of(BUSY), 3);
	assert_int_equal(tier_of(BUSY + 1), 1);
	assert_int_equal(fetch.batch.stats.stale, 1);
	assert_int_equal(ds_fetch_miss(&fetch, tokens[BUSY], NULL, 20000), -EINPROGRESS);
	ds_fetch_work(&fetch, 30000, 1);
	assert_int_equal(tier_of(BUSY), 1);
	stop();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(it_comes_all_the_same),
		TEST(not_if_it_never_rests),
	};

	return cmocka_run_group_tests_name("core_fetch_written", tests, NULL, NULL);
}
