// SPDX-License-Identifier: Apache-2.0
/*
 * Prefetched batch: a world of tokens in pages, of which each may change, end, or be in L1,
 * and DMA that may fail or be saturated.
 */
#include "core_rdm.h"
#include "tokencache/slotmap.c"
#include "tokencache/batch.c"

enum { TOKENS = 4096, PAGE = 64, LOG = 4096 };

static struct ds_batch batch;
static u64 version[TOKENS];		/* of each token */
static bool ended[TOKENS], in_l1[TOKENS];
static u32 dma_pages[LOG], dma_counts[LOG], dma_tokens[LOG * PAGE], dmas, dma_all;
static u32 installs, rooms, asked_neighbours;
static int dma_ret;
static void (*during_dma)(void);

static u32 page_of(struct ds_batch *b, u32 token)
{
	assert_ptr_equal(b, &batch);
	return token >= TOKENS || ended[token] ? DS_BATCH_NOWHERE : token / PAGE;
}

static int dma(struct ds_batch *b, u32 page, struct ds_batch_item *items, u32 count)
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
static u32 neighbours(struct ds_batch *b, u32 page, u32 token, u32 *tokens, u32 most)
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

static int into_l1(struct ds_batch *b, const struct ds_batch_item *item)
{
	assert_ptr_equal(b, &batch);
	assert_int_equal(item->pack.fixed, item->token * 3ull);
	if (ended[item->token] || version[item->token] != item->word)
		return -ESTALE;
	installs++;
	in_l1[item->token] = true;
	return 0;
}

static void room(struct ds_batch *b)
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

static void told(struct ds_waiter *w, int ret)
{
	struct tester *t = container_of(w, struct tester, w);

	t->told++;
	t->ret = ret;
}

static struct ds_waiter *waiter(u32 i)
{
	testers[i] = (struct tester){ .w.done = told };
	return &testers[i].w;
}

static void assert_told(u32 i, int ret)
{
	assert_int_equal(testers[i].told, 1);
	assert_int_equal(testers[i].ret, ret);
}

static void start(void)
{
	memset(version, 0, sizeof(version));
	memset(ended, 0, sizeof(ended));
	memset(in_l1, 0, sizeof(in_l1));
	dmas = dma_all = installs = rooms = asked_neighbours = 0;
	dma_ret = 0;
	during_dma = NULL;
	assert_int_equal(ds_batch_init(&batch, &ops, NULL), 0);
}

static void set(enum ds_batch_param which, u64 value)
{
	assert_int_equal(ds_batch_set(&batch, which, value), 0);
}

/* With a queue and a staging area of these sizes. */
static void start_small(u64 queue, u64 staging)
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
}

static void miss(u32 token, u32 tester, u64 now)
{
	assert_int_equal(ds_batch_add(&batch, token, waiter(tester), now), -EINPROGRESS);
}

/* Each count is of something that happened once. */
static void assert_counts(void)
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

static void finish(void)
{
	assert_counts();
	ds_batch_shut(&batch);
	assert_int_equal(batch.waiting.count, 0);
	ds_batch_destroy(&batch);
}

/* ---- tests ---- */

static void parameters(void **state)
{
	static const char * const names[] = {	/* of document 001 */
		"PREFETCH_BATCH_THRESHOLD", "MAX_BATCH", "L2_PAGE_PREFETCH_SIZE",
	};
	u64 params[DS_BATCH_PARAMS];
	u32 i, n, found = 0;

	(void)state;
	start();
	for (i = 0; i < DS_BATCH_PARAMS; i++) {
		const struct ds_param *p = &ds_batch_params[i];

		for (n = 0; n < ARRAY_SIZE(names); n++)
			found += !strcmp(p->name, names[n]);
		assert_in_range(p->normal, p->least, p->most);
		assert_int_equal(batch.params[i], p->normal);
		params[i] = p->normal;
		assert_int_equal(ds_batch_set(&batch, i, p->most + 1), -EINVAL);
		if (p->least)
			assert_int_equal(ds_batch_set(&batch, i, p->least - 1), -EINVAL);
		assert_int_equal(ds_batch_set(&batch, i, p->least), p->fixed ? -EPERM : 0);
		assert_int_equal(batch.params[i], p->fixed ? p->normal : p->least);
	}
	assert_int_equal(found, ARRAY_SIZE(names));
	assert_int_equal(ds_batch_set(&batch, DS_BATCH_PARAMS, 1), -EINVAL);
	finish();
	for (i = 0; i < DS_BATCH_PARAMS; i++) {
		params[i] = ds_batch_params[i].most + 1;
		assert_int_equal(ds_batch_init(&batch, &ops, params), -EINVAL);
		params[i] = ds_batch_params[i].normal;
	}
}

static void memory_runs_out(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < 8; i++) {
		allocs_left = (int)i;
		assert_int_equal(ds_batch_init(&batch, &ops, NULL), -ENOMEM);
		assert_int_equal(allocs_held, 0);
	}
	allocs_left = 8;
	assert_int_equal(ds_batch_init(&batch, &ops, NULL), 0);
	ds_batch_destroy(&batch);
}

static void nothing_and_forged(void **state)
{
	static const u32 forged[] = { TOKENS, 0xffffffff, 0xfffffffe, 0x80000000 };
	u32 i;

	(void)state;
	start();
	assert_int_equal(ds_batch_due(&batch, 5), DS_BATCH_NEVER);
	assert_int_equal(ds_batch_flush(&batch, 5), 0);
	waiter(0);
	assert_false(ds_batch_cancel(&batch, 7, &testers[0].w));
	for (i = 0; i < ARRAY_SIZE(forged); i++)
		miss(forged[i], i, 5);
	assert_int_equal(ds_batch_flush(&batch, 6), 4);
	for (i = 0; i < ARRAY_SIZE(forged); i++)
		assert_told(i, -ESTALE);
	assert_int_equal(batch.stats.flushes, 1);
	assert_int_equal(batch.stats.stale, 4);
	assert_int_equal(dmas, 0);
	assert_int_equal(ds_batch_due(&batch, 7), DS_BATCH_NEVER);
	finish();
}

static void a_token_waits_once(void **state)
{
	u32 i;

	(void)state;
	start();
	set(DS_L2_PAGE_PREFETCH_SIZE, 0);
	for (i = 0; i < 3; i++)
		miss(100, i, i);
	assert_int_equal(ds_batch_add(&batch, 100, NULL, 3), -EINPROGRESS);
	assert_int_equal(batch.waiting.count, 1);
	assert_int_equal(batch.stats.joined, 3);
	assert_int_equal(ds_batch_flush(&batch, 4), 1);
	for (i = 0; i < 3; i++)
		assert_told(i, 0);
	assert_int_equal(dma_all, 1);
	assert_int_equal(installs, 1);
	assert_true(in_l1[100]);
	/* It may wait again. */
	miss(100, 0, 5);
	assert_int_equal(ds_batch_flush(&batch, 6), 1);
	assert_told(0, 0);
	finish();
}

static void due_by_size_and_by_timer(void **state)
{
	u32 i;

	(void)state;
	start();
	set(DS_PREFETCH_BATCH_THRESHOLD, 4);
	set(DS_MAX_BATCH, 3);
	set(DS_PREFETCH_TIMER_NS, 1000);
	miss(0, 0, 100);
	assert_int_equal(ds_batch_due(&batch, 100), 1000);
	assert_int_equal(ds_batch_due(&batch, 50), 1000);	/* another processor's clock */
	miss(1, 1, 500);
	assert_int_equal(ds_batch_due(&batch, 600), 500);
	assert_int_equal(ds_batch_due(&batch, 1099), 1);
	assert_int_equal(ds_batch_due(&batch, 1100), 0);
	assert_int_equal(ds_batch_due(&batch, 5000), 0);
	miss(2, 2, 600);
	assert_int_equal(ds_batch_due(&batch, 600), 500);
	miss(3, 3, 600);
	assert_int_equal(ds_batch_due(&batch, 600), 0);
	/* The oldest go, and what is left is as old as it is. */
	assert_int_equal(ds_batch_flush(&batch, 600), 3);
	for (i = 0; i < 3; i++)
		assert_told(i, 0);
	assert_int_equal(testers[3].told, 0);
	assert_int_equal(ds_batch_due(&batch, 700), 900);
	assert_int_equal(ds_batch_flush(&batch, 700), 1);
	assert_told(3, 0);
	finish();
	/* A full queue is due, whatever the threshold. */
	start_small(2, 1);
	miss(0, 0, 0);
	assert_int_equal(ds_batch_due(&batch, 0), 5000);
	miss(1, 1, 0);
	assert_int_equal(ds_batch_due(&batch, 0), 0);
	finish();
}

static void one_dma_a_page(void **state)
{
	static const u32 tokens[] = { 200, 5, 201, 70, 6, 190, 7, 64 };
	static const u32 pages[] = { 0, 1, 2, 3 };
	static const u32 clustered[] = { 5, 6, 7, 70, 64, 190, 200, 201 };
	static const u32 counts[] = { 3, 2, 1, 2 };
	u32 i;

	(void)state;
	start();
	set(DS_L2_PAGE_PREFETCH_SIZE, 0);
	for (i = 0; i < ARRAY_SIZE(tokens); i++)
		miss(tokens[i], i, 0);
	assert_int_equal(ds_batch_flush(&batch, 1), 8);
	assert_int_equal(dmas, 4);
	assert_memory_equal(dma_pages, pages, sizeof(pages));
	assert_memory_equal(dma_counts, counts, sizeof(counts));
	assert_memory_equal(dma_tokens, clustered, sizeof(clustered));
	for (i = 0; i < ARRAY_SIZE(tokens); i++)
		assert_told(i, 0);
	assert_int_equal(asked_neighbours, 0);
	finish();
}

/*
 * Bursts of 8 to 23 misses in a page, 3 pages at a time: what connections that are set up
 * together look like.
 */
static u32 clustered_trace(u32 *trace, u32 length)
{
	u32 n = 0, i, j, first[3], left;

	while (n + 3 * 24 < length) {
		for (j = 0; j < 3; j++)
			first[j] = random_below(TOKENS / PAGE) * PAGE + random_below(PAGE - 24);
		left = 8 + random_below(16);
		for (i = 0; i < left; i++)
			for (j = 0; j < 3; j++)
				trace[n++] = first[j] + i;
	}
	return n;
}

/* Distinct pages in each so many distinct tokens: what a batch must need, and no more. */
static u32 pages_needed(const u32 *trace, u32 length, u32 size)
{
	bool seen[TOKENS] = { false }, page[TOKENS / PAGE] = { false };
	u32 i, in = 0, needed = 0;

	for (i = 0; i < length; i++) {
		if (seen[trace[i]])
			continue;
		seen[trace[i]] = true;
		needed += !page[trace[i] / PAGE];
		page[trace[i] / PAGE] = true;
		if (++in < size)
			continue;
		memset(seen, 0, sizeof(seen));
		memset(page, 0, sizeof(page));
		in = 0;
	}
	return needed;
}

static u32 dmas_of(const u32 *trace, u32 length, u32 size)
{
	u32 i, n;

	start();
	set(DS_L2_PAGE_PREFETCH_SIZE, 0);
	set(DS_PREFETCH_BATCH_THRESHOLD, size);
	set(DS_MAX_BATCH, size);
	for (i = 0; i < length; i++) {
		assert_int_equal(ds_batch_add(&batch, trace[i], NULL, i), -EINPROGRESS);
		if (!ds_batch_due(&batch, 0))
			ds_batch_flush(&batch, i);
	}
	ds_batch_flush(&batch, i);
	n = dmas;
	finish();
	return n;
}

static void a_batch_of_64_needs_an_eighth(void **state)
{
	static u32 trace[LOG];
	u32 length, one, many;

	(void)state;
	random_state = 64;
	length = clustered_trace(trace, LOG);
	one = dmas_of(trace, length, 1);
	many = dmas_of(trace, length, 64);
	print_message("# %u misses, seed 64: %u DMA operations one by one, %u by 64\n",
		      length, one, many);
	assert_int_equal(one, length);
	assert_int_equal(many, pages_needed(trace, length, 64));
	assert_true(many * 8 <= one);
	/* All of a page at once: 64 times fewer. */
	for (length = 0; length < LOG; length++)
		trace[length] = length % TOKENS;
	assert_int_equal(dmas_of(trace, LOG, 1), LOG);
	assert_int_equal(dmas_of(trace, LOG, 64), LOG / 64);
}

static void full_and_told_of_room(void **state)
{
	u32 i;

	(void)state;
	start_small(4, 1);
	for (i = 0; i < 4; i++)
		miss(i * PAGE, i, 0);
	assert_int_equal(ds_batch_add(&batch, 1000, waiter(4), 0), -EAGAIN);
	assert_int_equal(ds_batch_add(&batch, 1001, waiter(5), 0), -EAGAIN);
	miss(0, 6, 0);	/* one that waits already needs none */
	assert_int_equal(rooms, 0);
	assert_int_equal(ds_batch_flush(&batch, 1), 4);
	assert_int_equal(rooms, 1);
	assert_int_equal(testers[4].told, 0);
	miss(1000, 4, 2);
	assert_int_equal(ds_batch_flush(&batch, 3), 1);
	assert_told(4, 0);
	assert_int_equal(rooms, 1);
	assert_int_equal(batch.stats.refused, 2);
	assert_int_equal(batch.stats.dropped, 0);
	finish();
}

static void full_and_dropped(void **state)
{
	u32 i;

	(void)state;
	start_small(4, 1);
	set(DS_PREFETCH_DROP, 1);
	for (i = 0; i < 4; i++)
		miss(i * PAGE, i, 0);
	assert_int_equal(ds_batch_add(&batch, 1000, waiter(4), 0), -ENOSPC);
	assert_int_equal(ds_batch_flush(&batch, 1), 4);
	assert_int_equal(rooms, 0);
	assert_int_equal(testers[4].told, 0);
	assert_int_equal(batch.stats.dropped, 1);
	assert_int_equal(batch.stats.refused, 0);
	finish();
}

/* What DMA has no time for waits on, in its order, until the queue is full. */
static void dma_is_saturated(void **state)
{
	u32 i;

	(void)state;
	start_small(4, 8);
	set(DS_PREFETCH_TIMER_NS, 3000);
	for (i = 0; i < 4; i++)
		miss((3 - i) * PAGE, i, i);
	dma_ret = -EBUSY;
	assert_int_equal(ds_batch_flush(&batch, 10), 0);
	assert_int_equal(batch.stats.busy, 1);
	assert_int_equal(batch.stats.neighbours, 0);
	assert_int_equal(ds_batch_add(&batch, 1000, NULL, 11), -EAGAIN);
	assert_int_equal(ds_batch_due(&batch, 11), 2999);
	assert_int_equal(ds_batch_due(&batch, 3010), 0);
	assert_int_equal(ds_batch_flush(&batch, 3010), 0);
	assert_int_equal(rooms, 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(testers[i].told, 0);
	dma_ret = 0;
	set(DS_MAX_BATCH, 1);
	for (i = 0; i < 4; i++) {
		assert_int_equal(ds_batch_flush(&batch, 3010), 1);
		assert_told(i, 0);
		assert_int_equal(dma_pages[i], 3 - i);
	}
	assert_int_equal(rooms, 1);
	/* With no timer it is not tried again at once. */
	set(DS_PREFETCH_TIMER_NS, 0);
	miss(0, 0, 20000);
	dma_ret = -EBUSY;
	assert_int_equal(ds_batch_due(&batch, 20000), 0);
	assert_int_equal(ds_batch_flush(&batch, 20000), 0);
	assert_int_equal(ds_batch_due(&batch, 20000), 1000);
	finish();
	assert_told(0, -ENODEV);
}

static void dma_fails(void **state)
{
	(void)state;
	start();
	miss(3, 0, 0);
	miss(9, 1, 0);
	dma_ret = -EIO;
	assert_int_equal(ds_batch_flush(&batch, 1), 2);
	assert_told(0, -EIO);
	assert_told(1, -EIO);
	assert_int_equal(batch.stats.failed, 2);
	assert_int_equal(batch.stats.unused, 16);
	assert_int_equal(installs, 0);
	finish();
}

static void change_two(void)
{
	version[5]++;
	ended[6] = true;
}

/* What changed between its DMA and its install is not installed. */
static void stale_at_install(void **state)
{
	(void)state;
	start();
	set(DS_L2_PAGE_PREFETCH_SIZE, 0);
	miss(4, 0, 0);
	miss(5, 1, 0);
	miss(6, 2, 0);
	during_dma = change_two;
	assert_int_equal(ds_batch_flush(&batch, 1), 3);
	assert_told(0, 0);
	assert_told(1, -ESTALE);
	assert_told(2, -ESTALE);
	assert_int_equal(batch.stats.stale, 2);
	assert_false(in_l1[5]);
	during_dma = NULL;
	miss(5, 1, 2);
	assert_int_equal(ds_batch_flush(&batch, 3), 1);
	assert_told(1, 0);
	finish();
}

/* Neighbours are in L1 when they were used, not before, and without DMA. */
static void neighbours_are_staged(void **state)
{
	u32 i;

	(void)state;
	start();
	set(DS_L2_PAGE_PREFETCH_SIZE, 4 * DS_BATCH_TOKEN_BYTES + 15);
	in_l1[11] = true;
	miss(10, 0, 0);
	miss(12, 1, 0);
	assert_int_equal(ds_batch_flush(&batch, 1), 2);
	assert_int_equal(dmas, 1);
	assert_int_equal(dma_counts[0], 6);
	assert_int_equal(installs, 2);
	for (i = 13; i < 17; i++)
		assert_false(in_l1[i]);
	assert_int_equal(ds_batch_add(&batch, 14, waiter(2), 2), 0);
	assert_int_equal(testers[2].told, 0);
	assert_true(in_l1[14]);
	assert_int_equal(dmas, 1);
	assert_int_equal(batch.stats.used, 1);
	/* Once: then it is a miss like any other. */
	in_l1[14] = false;
	miss(14, 2, 3);
	/* One that has changed since is fetched. */
	version[15]++;
	miss(15, 3, 3);
	assert_int_equal(batch.stats.stale, 1);
	ended[16] = true;
	miss(16, 4, 3);
	assert_int_equal(ds_batch_flush(&batch, 4), 3);
	assert_told(2, 0);
	assert_told(3, 0);
	assert_told(4, -ESTALE);
	finish();
}

static void staging_is_bounded(void **state)
{
	u32 page;

	(void)state;
	start_small(64, 8);
	set(DS_L2_PAGE_PREFETCH_SIZE, 6 * DS_BATCH_TOKEN_BYTES);
	for (page = 0; page < 3; page++) {
		miss(page * PAGE, page, page);
		assert_int_equal(ds_batch_flush(&batch, page), 1);
	}
	/* 18 came, 8 have place: 5 and 6 of the second page, and all of the third. */
	assert_int_equal(batch.stats.neighbours, 18);
	assert_int_equal(batch.stats.unused, 10);
	assert_int_equal(ds_batch_add(&batch, 1, NULL, 9), -EINPROGRESS);
	assert_int_equal(ds_batch_add(&batch, PAGE + 4, NULL, 9), -EINPROGRESS);
	assert_int_equal(ds_batch_add(&batch, PAGE + 5, NULL, 9), 0);
	assert_int_equal(ds_batch_add(&batch, 2 * PAGE + 6, NULL, 9), 0);
	assert_counts();
	/* What waits, or is there, is no neighbour. */
	asked_neighbours = 0;
	assert_int_equal(ds_batch_flush(&batch, 10), 2);
	assert_int_equal(asked_neighbours, 2);
	finish();
}

static void prefetch_is_off(void **state)
{
	(void)state;
	start();
	set(DS_L2_PAGE_PREFETCH_SIZE, DS_BATCH_TOKEN_BYTES - 1);
	miss(10, 0, 0);
	assert_int_equal(ds_batch_flush(&batch, 1), 1);
	assert_int_equal(asked_neighbours, 0);
	assert_int_equal(batch.stats.neighbours, 0);
	assert_int_equal(dma_all, 1);
	finish();
}

/* 001's 64 KiB of each page, but no more in all than staging has room for. */
static void prefetch_at_most(void **state)
{
	u32 i;

	(void)state;
	start();
	set(DS_L2_PAGE_PREFETCH_SIZE, ds_batch_params[DS_L2_PAGE_PREFETCH_SIZE].most);
	set(DS_MAX_BATCH, ds_batch_params[DS_MAX_BATCH].most);
	for (i = 0; i < 1024; i++)
		miss(i * 4, i, 0);
	assert_int_equal(ds_batch_flush(&batch, 1), 1024);
	assert_int_equal(dmas, TOKENS / PAGE);
	assert_int_equal(dma_all, 1024 + ds_batch_params[DS_PREFETCH_STAGING].normal);
	finish();
}

static void cancel_one(void)
{
	assert_true(ds_batch_cancel(&batch, 5, &testers[1].w));
}

static void cancelled_is_not_told(void **state)
{
	u32 i;

	(void)state;
	start();
	for (i = 0; i < 4; i++)
		miss(5, i, 0);
	assert_true(ds_batch_cancel(&batch, 5, &testers[2].w));
	assert_false(ds_batch_cancel(&batch, 5, &testers[2].w));
	assert_false(ds_batch_cancel(&batch, 6, &testers[0].w));
	during_dma = cancel_one;
	assert_int_equal(ds_batch_flush(&batch, 1), 1);
	assert_told(0, 0);
	assert_int_equal(testers[1].told, 0);
	assert_int_equal(testers[2].told, 0);
	assert_told(3, 0);
	assert_false(ds_batch_cancel(&batch, 5, &testers[0].w));
	/* In staging nobody waits. */
	assert_false(ds_batch_cancel(&batch, 7, &testers[0].w));
	finish();
}

static void join_and_flush(void)
{
	miss(5, 1, 1);
	miss(900, 2, 1);
	miss(6, 3, 1);
	assert_int_equal(ds_batch_flush(&batch, 1), 0);
	assert_int_equal(ds_batch_due(&batch, 100000), 5000);
}

/*
 * While a token is fetched, a miss of it joins; nobody else flushes. A neighbour that is
 * missed now waits, and is not staged too.
 */
static void misses_during_a_flush(void **state)
{
	(void)state;
	start();
	miss(5, 0, 0);
	during_dma = join_and_flush;
	assert_int_equal(ds_batch_flush(&batch, 1), 1);
	assert_told(0, 0);
	assert_told(1, 0);
	assert_int_equal(testers[2].told, 0);
	assert_int_equal(dmas, 1);
	assert_int_equal(batch.stats.unused, 1);
	during_dma = NULL;
	assert_int_equal(ds_batch_due(&batch, 100000), 0);
	assert_int_equal(ds_batch_flush(&batch, 2), 2);
	assert_told(2, 0);
	assert_told(3, 0);
	assert_int_equal(ds_batch_add(&batch, 7, waiter(4), 3), 0);
	assert_int_equal(ds_batch_add(&batch, 6, waiter(4), 3), -EINPROGRESS);
	finish();
}

static void shut(void)
{
	miss(900, 2, 1);
	ds_batch_shut(&batch);
	assert_told(2, -ENODEV);
	assert_int_equal(testers[0].told, 0);
}

static void the_device_goes(void **state)
{
	u32 i;

	(void)state;
	start_small(4, 4);
	for (i = 0; i < 4; i++)
		miss(i, i, 0);
	assert_int_equal(ds_batch_add(&batch, 7, NULL, 0), -EAGAIN);
	ds_batch_shut(&batch);
	for (i = 0; i < 4; i++)
		assert_told(i, -ENODEV);
	assert_int_equal(rooms, 1);	/* who comes again is told so */
	assert_int_equal(ds_batch_add(&batch, 7, NULL, 0), -ENODEV);
	assert_int_equal(ds_batch_due(&batch, 1), DS_BATCH_NEVER);
	assert_int_equal(ds_batch_flush(&batch, 1), 0);
	ds_batch_shut(&batch);
	ds_batch_destroy(&batch);
	/* During DMA: what is under way ends as it does. */
	start();
	miss(5, 0, 0);
	during_dma = shut;
	assert_int_equal(ds_batch_flush(&batch, 1), 1);
	assert_told(0, 0);
	assert_int_equal(ds_batch_add(&batch, 6, NULL, 0), -ENODEV);	/* not from staging */
	finish();
}

static int shut_and_busy(struct ds_batch *b, u32 page, struct ds_batch_item *items, u32 count)
{
	(void)page;
	(void)items;
	(void)count;
	ds_batch_shut(b);
	return -EBUSY;
}

static void the_device_goes_when_dma_is_saturated(void **state)
{
	static const struct ds_batch_ops gone = { .page = page_of, .fetch = shut_and_busy };

	(void)state;
	start();
	batch.ops = &gone;
	miss(5, 0, 0);
	miss(500, 1, 0);
	assert_int_equal(ds_batch_flush(&batch, 1), 0);
	assert_told(0, -ENODEV);
	assert_told(1, -ENODEV);
	finish();
}

/* ---- against what must be true of any history ---- */

static bool waits[LOG];
static u32 token_of[LOG];

static void add_at_random(u64 step)
{
	u32 i = random_below(LOG), token = random_below(random_below(8) ? PAGE * 4 : TOKENS + 8);
	int ret;

	if (waits[i])
		return;
	ret = ds_batch_add(&batch, token, waiter(i), step);
	waits[i] = ret == -EINPROGRESS;
	token_of[i] = token;
	assert_true(ret == -EINPROGRESS || ret == -EAGAIN || ret == 0);
}

static void random_histories(void **state)
{
	u64 steps = random_steps(), step;
	u32 i;

	(void)state;
	start_small(32, 64);
	memset(waits, 0, sizeof(waits));
	for (step = 0; step < steps; step++) {
		i = random_below(LOG);
		switch (random_below(16)) {
		case 0:
			version[i % TOKENS]++;
			break;
		case 1:
			ended[i % TOKENS] = !ended[i % TOKENS];
			in_l1[i % TOKENS] = false;
			break;
		case 2:
			assert_int_equal(ds_batch_cancel(&batch, token_of[i], &testers[i].w),
					 waits[i] && !testers[i].told);
			waits[i] = false;
			break;
		case 3:
			dma_ret = random_below(4) ? 0 : random_below(2) ? -EBUSY : -EIO;
			set(DS_MAX_BATCH, 1 + random_below(40));
			dmas = dma_all = 0;
			batch.stats.fetches = 0;
			ds_batch_flush(&batch, step);
			assert_counts();
			break;
		default:
			add_at_random(step);
		}
		assert_true(testers[i].told <= 1);
		waits[i] = waits[i] && !testers[i].told;
	}
	assert_true(batch.stats.used && batch.stats.unused && batch.stats.stale &&
		    batch.stats.joined && batch.stats.refused && batch.stats.busy);
	ds_batch_shut(&batch);
	for (i = 0; i < LOG; i++)
		assert_true(!waits[i] || testers[i].told == 1);
	ds_batch_destroy(&batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parameters),
		TEST(memory_runs_out),
		TEST(nothing_and_forged),
		TEST(a_token_waits_once),
		TEST(due_by_size_and_by_timer),
		TEST(one_dma_a_page),
		TEST(a_batch_of_64_needs_an_eighth),
		TEST(full_and_told_of_room),
		TEST(full_and_dropped),
		TEST(dma_is_saturated),
		TEST(dma_fails),
		TEST(stale_at_install),
		TEST(neighbours_are_staged),
		TEST(staging_is_bounded),
		TEST(prefetch_is_off),
		TEST(prefetch_at_most),
		TEST(cancelled_is_not_told),
		TEST(misses_during_a_flush),
		TEST(the_device_goes),
		TEST(the_device_goes_when_dma_is_saturated),
		TEST(random_histories),
	};

	return cmocka_run_group_tests_name("core_batch", tests, NULL, NULL);
}
