/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prefetched batch: a world of tokens in pages, of which each may change, end, or be in L1,
 * and DMA that may fail or be saturated.
 */
#ifndef CORE_BATCH_H
#define CORE_BATCH_H

#include "core_test.h"
#include "tokencache/slotmap.c"
#include "tokencache/batch.c"

enum { TOKENS = 4096, PAGE = 64, LOG = 4096 };

static struct ds_batch batch;
static u64 version[TOKENS];		/* of each token */
static bool ended[TOKENS], in_l1[TOKENS];
static u32 dma_pages[LOG], dma_counts[LOG], dma_tokens[LOG * PAGE], dmas, dma_all;
static u32 installs, rooms, asked_neighbours;
static u32 heard[TOKENS];		/* uses of each that was not stale */
static int dma_ret, l1_ret;
static void (*during_dma)(void), (*during_install)(u32 token);

static inline u32 page_of(struct ds_batch *b, u32 token)
{
	assert_ptr_equal(b, &batch);
	return token >= TOKENS || ended[token] ? DS_BATCH_NOWHERE : token / PAGE;
}

static inline int dma(struct ds_batch *b, u32 page, struct ds_batch_item *items, u32 count)
{
	u32 i;

	assert_ptr_equal(b, &batch);
	if (dma_ret == -EBUSY)
		return dma_ret;
	assert_true(dmas < LOG);
	dma_pages[dmas] = page;
	dma_counts[dmas++] = count;
	for (i = 0; i < count; i++) {
		assert_int_equal(items[i].token / PAGE, page);
		assert_int_equal(items[i].ret, 0);
		items[i].ret = ended[items[i].token] ? -ESTALE : 0;
		items[i].word = version[items[i].token];
		items[i].pack.fixed = items[i].token * 3ull;
		dma_tokens[dma_all++ % ARRAY_SIZE(dma_tokens)] = items[i].token;
	}
	if (during_dma)
		during_dma();
	return dma_ret;
}

/* Those behind it, then those before it. */
static inline u32 neighbours(struct ds_batch *b, u32 page, u32 token, u32 *tokens, u32 most)
{
	u32 i, n = 0, other;

	assert_ptr_equal(b, &batch);
	assert_int_equal(token / PAGE, page);
	asked_neighbours++;
	for (i = 1; i < PAGE && n < most; i++) {
		other = page * PAGE + (token + i) % PAGE;
		if (!ended[other] && !in_l1[other])
			tokens[n++] = other;
	}
	return n;
}

static inline int into_l1(struct ds_batch *b, const struct ds_batch_item *item)
{
	assert_ptr_equal(b, &batch);
	assert_int_equal(item->pack.fixed, item->token * 3ull);
	if (during_install)
		during_install(item->token);
	if (ended[item->token] || version[item->token] != item->word)
		return -ESTALE;
	if (l1_ret)
		return l1_ret;
	installs++;
	in_l1[item->token] = true;
	heard[item->token] += 1 + item->joined;
	return 0;
}

static inline void used(struct ds_batch *b, u32 token, u32 misses)
{
	assert_ptr_equal(b, &batch);
	assert_true(misses > 0);
	heard[token] += misses;
}

static inline void room(struct ds_batch *b)
{
	assert_ptr_equal(b, &batch);
	rooms++;
}

static const struct ds_batch_ops ops = {
	.page = page_of, .fetch = dma, .neighbours = neighbours, .install = into_l1, .room = room,
};

/* ---- who waits ---- */

struct tester {
	struct ds_waiter w;
	u32 told;
	int ret;
};

static struct tester testers[LOG];

static inline void told(struct ds_waiter *w, int ret)
{
	struct tester *t = container_of(w, struct tester, w);

	t->told++;
	t->ret = ret;
}

static inline struct ds_waiter *waiter(u32 i)
{
	testers[i] = (struct tester){ .w.done = told };
	return &testers[i].w;
}

static inline void assert_told(u32 i, int ret)
{
	assert_int_equal(testers[i].told, 1);
	assert_int_equal(testers[i].ret, ret);
}

static inline void start(void)
{
	memset(version, 0, sizeof(version));
	memset(ended, 0, sizeof(ended));
	memset(in_l1, 0, sizeof(in_l1));
	dmas = dma_all = installs = rooms = asked_neighbours = 0;
	dma_ret = l1_ret = 0;
	during_dma = NULL;
	during_install = NULL;
	memset(heard, 0, sizeof(heard));
	assert_int_equal(ds_batch_init(&batch, &ops, NULL), 0);
	batch.used = used;
}

static inline void set(enum ds_batch_param which, u64 value)
{
	assert_int_equal(ds_batch_set(&batch, which, value), 0);
}

/* With a queue and a staging area of these sizes. */
static inline void start_small(u64 queue, u64 staging)
{
	u64 params[DS_BATCH_PARAMS];
	u32 i;

	start();
	ds_batch_destroy(&batch);
	for (i = 0; i < DS_BATCH_PARAMS; i++)
		params[i] = ds_batch_params[i].normal;
	params[DS_PREFETCH_QUEUE] = queue;
	params[DS_PREFETCH_STAGING] = staging;
	assert_int_equal(ds_batch_init(&batch, &ops, params), 0);
	batch.used = used;
}

static inline void miss(u32 token, u32 tester, u64 now)
{
	assert_int_equal(ds_batch_add(&batch, token, waiter(tester), now), -EINPROGRESS);
}

/* Each count is of something that happened once. */
static inline void assert_counts(void)
{
	const struct ds_batch_stats *s = &batch.stats;
	u32 i, staged = 0;

	for (i = 0; i < param(&batch, DS_PREFETCH_STAGING); i++)
		staged += batch.staging[i].full;
	assert_int_equal(s->neighbours, s->used + s->unused + staged);
	assert_int_equal(s->queued + s->used, batch.waiting.count + s->installed + s->stale +
			 s->failed + s->declined + s->cut);
	assert_int_equal(s->fetches, dmas);
	assert_int_equal(s->installed, installs);
	assert_int_equal(batch.waiting.count + batch.spare.count,
			 param(&batch, DS_PREFETCH_QUEUE));
}

static inline void finish(void)
{
	assert_counts();
	ds_batch_shut(&batch);
	assert_int_equal(batch.waiting.count, 0);
	ds_batch_destroy(&batch);
}

#endif
