// SPDX-License-Identifier: Apache-2.0
/* Prefetched batch: one DMA operation a page, and the neighbours that come with it. */
#include "core_batch.h"

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

/* One that cannot come now is fetched: -EAGAIN would say that there is no room. */
static void a_neighbour_cannot_come(void **state)
{
	(void)state;
	start();
	set(DS_L2_PAGE_PREFETCH_SIZE, 4 * DS_BATCH_TOKEN_BYTES + 15);
	miss(10, 0, 0);
	assert_int_equal(ds_batch_flush(&batch, 1), 1);
	l1_ret = -EAGAIN;
	assert_int_equal(ds_batch_add(&batch, 11, waiter(1), 2), -EINPROGRESS);
	l1_ret = -ENOSPC;	/* nor is one that is not wanted there */
	assert_int_equal(ds_batch_add(&batch, 12, waiter(2), 2), -ENOSPC);
	l1_ret = 0;
	assert_int_equal(ds_batch_flush(&batch, 3), 1);
	assert_told(1, 0);
	assert_true(in_l1[11]);
	finish();
}

static void staging_is_bounded(void **state)
{
	u32 page;

	(void)state;
	start_small(64, 7);
	set(DS_L2_PAGE_PREFETCH_SIZE, 6 * DS_BATCH_TOKEN_BYTES);
	for (page = 0; page < 3; page++) {
		miss(page * PAGE, page, page);
		assert_int_equal(ds_batch_flush(&batch, page), 1);
	}
	/* 18 came, 7 have place: the last of the second page, and all of the third. */
	assert_int_equal(batch.stats.neighbours, 18);
	assert_int_equal(batch.stats.unused, 11);
	assert_int_equal(ds_batch_add(&batch, 1, NULL, 9), -EINPROGRESS);
	assert_int_equal(ds_batch_add(&batch, PAGE + 5, NULL, 9), -EINPROGRESS);
	assert_int_equal(ds_batch_add(&batch, PAGE + 6, NULL, 9), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_dma_a_page),
		TEST(a_batch_of_64_needs_an_eighth),
		TEST(neighbours_are_staged),
		TEST(a_neighbour_cannot_come),
		TEST(staging_is_bounded),
		TEST(prefetch_is_off),
		TEST(prefetch_at_most),
	};

	return cmocka_run_group_tests_name("core_batch_page", tests, NULL, NULL);
}
