// SPDX-License-Identifier: Apache-2.0
/* Prefetched batch: who waits, for how long, and what each is told. */
#include "core_batch.h"
#include "core_param.h"

/* docs/tokencache.md */
static const struct ds_param documented[DS_BATCH_PARAMS] = {
	{ "PREFETCH_BATCH_THRESHOLD", 1, 1024, 64, false },
	{ "MAX_BATCH", 1, 1024, 256, false },
	{ "PREFETCH_TIMER_NS", 0, 1000000000, 5000, false },
	{ "L2_PAGE_PREFETCH_SIZE", 0, 65536, 256, false },
	{ "PREFETCH_DROP", 0, 1, 0, false },
	{ "PREFETCH_QUEUE", 1, 65536, 1024, true },
	{ "PREFETCH_STAGING", 1, 65536, 256, true },
};

static void parameters(void **state)
{
	u64 params[DS_BATCH_PARAMS];
	u32 i;

	(void)state;
	start();
	for (i = 0; i < DS_BATCH_PARAMS; i++) {
		const struct ds_param *p = &ds_batch_params[i];

		assert_param(p, &documented[i]);
		assert_int_equal(batch.params[i], p->normal);
		params[i] = p->normal;
		assert_int_equal(ds_batch_set(&batch, i, p->most + 1), -EINVAL);
		if (p->least)
			assert_int_equal(ds_batch_set(&batch, i, p->least - 1), -EINVAL);
		assert_int_equal(ds_batch_set(&batch, i, p->least), p->fixed ? -EPERM : 0);
		assert_int_equal(batch.params[i], p->fixed ? p->normal : p->least);
	}
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

static void not_due(void)
{
	miss(1, 1, 0);
	assert_int_not_equal(ds_batch_due(&batch, 600), 0);
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
	/* Not while somebody flushes, however short the timer. */
	start();
	set(DS_PREFETCH_TIMER_NS, 0);
	miss(0, 0, 0);
	during_dma = not_due;
	assert_int_equal(ds_batch_flush(&batch, 600), 1);
	during_dma = NULL;
	assert_int_equal(testers[1].told, 0);
	assert_int_equal(ds_batch_due(&batch, 600), 0);
	assert_int_equal(ds_batch_flush(&batch, 600), 1);
	assert_told(1, 0);
	finish();
	/* A full queue is due, whatever the threshold. */
	start_small(2, 1);
	miss(0, 0, 0);
	assert_int_equal(ds_batch_due(&batch, 0), 5000);
	miss(1, 1, 0);
	assert_int_equal(ds_batch_due(&batch, 0), 0);
	finish();
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
	/* Whatever the timer says. */
	assert_int_equal(ds_batch_due(&batch, 11), 999);
	assert_int_equal(ds_batch_due(&batch, 1010), 0);
	assert_int_equal(ds_batch_flush(&batch, 1010), 0);
	assert_int_equal(rooms, 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(testers[i].told, 0);
	dma_ret = 0;
	set(DS_MAX_BATCH, 1);
	for (i = 0; i < 4; i++) {
		assert_int_equal(ds_batch_flush(&batch, 2010), 1);
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

/* What changed between its DMA and its install is not installed; nor if it changes each time. */
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
	assert_int_equal(dmas, 2);	/* one has ended: for that there is none */
	assert_false(in_l1[5]);
	during_dma = NULL;
	miss(5, 1, 2);
	assert_int_equal(ds_batch_flush(&batch, 3), 1);
	assert_told(1, 0);
	finish();
}

static int second_dma_ret;

static void change_once(u32 token)
{
	if (token != 5 || dmas > 1)
		return;
	version[5]++;
	dma_ret = second_dma_ret;
}

/* What was written to since its DMA is fetched once more, and alone. */
static void fetched_again(void **state)
{
	static const struct { int second, told; u32 dmas; } cases[] = {
		{ 0, 0, 2 }, { -EIO, -EIO, 2 }, { -EBUSY, -ESTALE, 1 },
	};
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		start();
		set(DS_L2_PAGE_PREFETCH_SIZE, 2 * DS_BATCH_TOKEN_BYTES);
		second_dma_ret = cases[i].second;
		miss(5, 0, 0);
		miss(6, 1, 0);
		miss(5, 2, 0);
		during_install = change_once;
		assert_int_equal(ds_batch_flush(&batch, 1), 2);
		assert_told(0, cases[i].told);
		assert_told(2, cases[i].told);
		assert_int_equal(dmas, cases[i].dmas);
		assert_int_equal(dma_counts[0], 4);
		if (dmas == 2) {
			assert_int_equal(dma_counts[1], 1);
			assert_int_equal(dma_tokens[4], 5);
		}
		assert_int_equal(in_l1[5], !cases[i].told);
		assert_int_equal(heard[5], cases[i].told ? 0 : 2);
		assert_int_equal(batch.stats.busy, cases[i].second == -EBUSY);
		finish();
	}
}

static void use_again(u32 token)
{
	u32 i;

	for (i = 0; i < 10 && token == 7; i++)
		miss(7 + i % 3, 3 + i, 1);
	if (token == 9) {	/* and it is stale, each time that it was fetched */
		version[9]++;
		if (dmas == 1)
			miss(9, 14, 1);
	}
}

/* Misses of tokens that wait, while they or others of their page are being installed. */
static void misses_during_an_install(void **state)
{
	u32 i;

	(void)state;
	start();
	for (i = 0; i < 3; i++)
		miss(7 + i, i, 0);
	during_install = use_again;
	assert_int_equal(ds_batch_flush(&batch, 1), 3);
	assert_int_equal(batch.stats.joined, 11);
	for (i = 0; i < 13; i++)
		assert_told(i, i % 3 < 2 ? 0 : -ESTALE);
	assert_told(14, -ESTALE);
	assert_int_equal(heard[7], 5);
	assert_int_equal(heard[8], 4);
	assert_int_equal(heard[9], 0);
	/* An owner that does not want to know. */
	batch.used = NULL;
	miss(7, 0, 2);
	assert_int_equal(ds_batch_flush(&batch, 3), 1);
	assert_int_equal(heard[7], 6);
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
		TEST(full_and_told_of_room),
		TEST(full_and_dropped),
		TEST(dma_is_saturated),
		TEST(dma_fails),
		TEST(stale_at_install),
		TEST(fetched_again),
		TEST(misses_during_an_install),
		TEST(cancelled_is_not_told),
		TEST(misses_during_a_flush),
		TEST(the_device_goes),
		TEST(the_device_goes_when_dma_is_saturated),
		TEST(random_histories),
	};

	return cmocka_run_group_tests_name("core_batch", tests, NULL, NULL);
}
