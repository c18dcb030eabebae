/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of a whole token cache whose misses go through the batch and whose wide tokens go
 * through the mailbox: tokens in it, and who waits for them.
 */
#ifndef CORE_FETCH_H
#define CORE_FETCH_H

#include "core_test.h"
#include "tokencache/fetch.h"
#include "tokencache/inline.h"
#include "core_cache.h"
#include "core_expand_waiter.h"
#include "core_queue_pair.h"

enum { CAPACITY = 64, TOKENS = 2048, DOMAINS = 3 };

static struct ds_cache cache;
static struct ds_fetch fetch;
static u32 tokens[TOKENS];
static u16 posted[TOKENS];

/* One in 16 is wide: its PD has no room. */
static inline bool is_wide(u32 i)
{
	return i % 16 == 3;
}

static inline u32 create(u32 i)
{
	return create_queue_pair(&cache.table, i, is_wide(i) ? 1 << 21 : 1);
}

static inline void end(u32 token)
{
	assert_int_equal(ds_token_revoke(&cache.table, token, NULL), 0);
	ds_fetch_revoked(&fetch, token);
	ds_token_free(&cache.table, token);
}

/* A token belongs to the domain of its index. */
static inline int allowed(struct ds_fetch *f, u32 requester, u32 token)
{
	assert_ptr_equal(f, &fetch);
	return ds_token_index(token) % DOMAINS == requester ? 0 : -EACCES;
}

static inline void start_with(u32 policy, u32 l2_pages, u32 prefetch)
{
	u32 i;

	assert_int_equal(ds_cache_init(&cache, TOKENS + 10, CAPACITY, policy, l2_pages,
				       DS_L2_ANYWHERE), 0);
	memset(&fetch, 0xaa, sizeof(fetch));
	assert_int_equal(ds_fetch_init(&fetch, &cache, allowed, NULL, NULL), 0);
	assert_int_equal(ds_batch_set(&fetch.batch, DS_L2_PAGE_PREFETCH_SIZE, prefetch * 16), 0);
	for (i = 0; i < TOKENS; i++)
		tokens[i] = create(i);
	memset(posted, 0, sizeof(posted));
}

static inline void start(u32 l2_pages, u32 prefetch)
{
	start_with(DS_POLICY_DEFAULT, l2_pages, prefetch);
}

static inline void stop(void)
{
	u32 i;

	ds_fetch_shut(&fetch);
	for (i = 0; i < TOKENS; i++)
		end(tokens[i]);
	ds_fetch_destroy(&fetch);
	assert_int_equal(ds_cache_destroy(&cache), 0);
}

static inline u32 tier_of(u32 i)
{
	u64 word;

	assert_int_equal(ds_token_find(&cache.table, tokens[i], &word), 0);
	assert_false(ds_word_is_moving(word));
	return ds_word_tier(word);
}

static inline int miss(u32 i, u64 now)
{
	return ds_fetch_miss(&fetch, tokens[i], &waiter(i, false)->base, now);
}

static inline int whole(u32 i, bool copy, u32 requester)
{
	return ds_fetch_whole(&fetch, tokens[i], requester, DS_EXPAND_URGENT, waiter(i, copy), 0);
}

static inline u32 owner(u32 i)
{
	return ds_token_index(tokens[i]) % DOMAINS;
}

/* What is read is right, wherever. Return: the tier. */
static inline u32 use(u32 i)
{
	struct ds_token_desc d;

	assert_int_equal(cache_get(&cache, tokens[i], &d), 0);
	assert_int_equal(d.qp.number, i + 1);
	assert_int_equal(d.qp.pd, is_wide(i) ? 1 << 21 : 1);
	assert_int_equal(d.qp.posted, posted[i]);
	ds_token_put(&cache.table, tokens[i]);
	return d.tier;
}

static inline void post(u32 i, u16 count)
{
	assert_int_equal(ds_token_add_posted(&cache.table, tokens[i], count), 0);
	posted[i] += count;
}

#endif /* CORE_FETCH_H */
