// SPDX-License-Identifier: Apache-2.0
/*
 * Prefetched batch from several threads: misses, cancels, two who flush, tokens that change, and
 * an owner who shuts it. A waiter is on the stack of who waits, so one that is told twice, or
 * after it has left, is a race that the thread sanitizer sees.
 */
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tokencache/batch.h"

enum { TOKENS = 512, PAGE = 32, PRODUCERS = 3, FLUSHERS = 2, ROUNDS = 20000 };

static struct ds_batch batch;
static u64 version[TOKENS];
static u64 misses, told_there, told_else, cancelled, at_once, refused;
static bool stopping;

static void count(u64 *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static u32 page_of(struct ds_batch *b, u32 token)
{
	(void)b;
	return token / PAGE;
}

/* One flush at a time: nobody else writes to these. */
static int dma(struct ds_batch *b, u32 page, struct ds_batch_item *items, u32 n)
{
	static u32 calls;
	u32 i;

	(void)b;
	if (!(++calls % 64))
		return -EBUSY;
	for (i = 0; i < n; i++) {
		if (items[i].token / PAGE != page)
			abort();
		items[i].word = READ_ONCE(version[items[i].token]);
		items[i].pack.fixed = items[i].token;
	}
	return calls % 63 ? 0 : -EIO;
}

static u32 neighbours(struct ds_batch *b, u32 page, u32 token, u32 *tokens, u32 most)
{
	u32 n;

	(void)b;
	for (n = 0; n < most && n < PAGE - 1; n++)
		tokens[n] = page * PAGE + (token + n + 1) % PAGE;
	return n;
}

static int install(struct ds_batch *b, const struct ds_batch_item *item)
{
	(void)b;
	if (item->pack.fixed != item->token)
		abort();
	return item->word == READ_ONCE(version[item->token]) ? 0 : -ESTALE;
}

static const struct ds_batch_ops ops = {
	.page = page_of, .fetch = dma, .neighbours = neighbours, .install = install,
};

struct sleeper {
	struct ds_waiter w;
	sem_t told;
	int ret;
};

static void wake(struct ds_waiter *w, int ret)
{
	struct sleeper *s = container_of(w, struct sleeper, w);

	s->ret = ret;
	sem_post(&s->told);
}

static void wait_or_leave(struct sleeper *s, u32 token, bool leave)
{
	if (leave && ds_batch_cancel(&batch, token, &s->w)) {
		count(&cancelled);
		return;
	}
	while (sem_wait(&s->told))
		;
	count(s->ret ? &told_else : &told_there);
}

static void miss(u32 token, bool leave)
{
	struct sleeper s = { .w.done = wake };
	int ret;

	sem_init(&s.told, 0, 0);
	ret = ds_batch_add(&batch, token, &s.w, ds_mono_ns());
	if (ret == -EINPROGRESS) {
		count(&misses);
		wait_or_leave(&s, token, leave);
	} else {
		count(ret ? &refused : &at_once);
		sched_yield();
	}
	sem_destroy(&s.told);
}

static void *produce(void *seed)
{
	u32 i, random = (u32)(unsigned long)seed;

	for (i = 0; i < ROUNDS; i++) {
		random = random * 1664525 + 1013904223;
		if (!(random >> 28))
			count(&version[(random >> 8) % TOKENS]);
		miss((random >> 8) % (random >> 31 ? TOKENS : PAGE), !(random >> 4 & 7));
	}
	return NULL;
}

static void *flush(void *unused)
{
	u64 now;

	while (!READ_ONCE(stopping)) {
		now = ds_mono_ns();
		if (!ds_batch_due(&batch, now))
			ds_batch_flush(&batch, now);
		else
			sched_yield();
	}
	return unused;
}

static void start(pthread_t *threads)
{
	u64 params[DS_BATCH_PARAMS];
	u64 i;

	for (i = 0; i < DS_BATCH_PARAMS; i++)
		params[i] = ds_batch_params[i].normal;
	params[DS_PREFETCH_BATCH_THRESHOLD] = 2;
	params[DS_PREFETCH_QUEUE] = 2;
	params[DS_PREFETCH_STAGING] = 16;
	assert_int_equal(ds_batch_init(&batch, &ops, params), 0);
	misses = told_there = told_else = cancelled = at_once = refused = 0;
	WRITE_ONCE(stopping, false);
	for (i = 0; i < FLUSHERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, flush, NULL), 0);
	for (; i < FLUSHERS + PRODUCERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, produce, (void *)i), 0);
}

static void join(pthread_t *threads)
{
	u32 i;

	for (i = FLUSHERS; i < FLUSHERS + PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	WRITE_ONCE(stopping, true);
	for (i = 0; i < FLUSHERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(misses, told_there + told_else + cancelled);
	assert_int_equal(misses + at_once + refused, PRODUCERS * ROUNDS);
}

static void everybody_is_told_once(void **state)
{
	pthread_t threads[FLUSHERS + PRODUCERS];
	const struct ds_batch_stats *s = &batch.stats;

	(void)state;
	start(threads);
	join(threads);
	print_message("# %llu told, %llu of them in vain, %llu left, %llu at once, %llu refused\n",
		      told_there + told_else, told_else, cancelled, at_once, refused);
	assert_true(told_there && told_else && cancelled && at_once && refused);
	/* Who left last may have left a token behind. */
	assert_true(batch.waiting.count <= 2);
	assert_int_equal(s->queued + s->used, batch.waiting.count + s->installed + s->stale +
			 s->failed + s->declined);
	ds_batch_shut(&batch);
	ds_batch_destroy(&batch);
}

static void the_device_goes(void **state)
{
	pthread_t threads[FLUSHERS + PRODUCERS];

	(void)state;
	start(threads);
	while (__atomic_load_n(&told_there, __ATOMIC_RELAXED) < 1000)
		sched_yield();
	ds_batch_shut(&batch);
	join(threads);
	assert_int_equal(batch.waiting.count, 0);
	assert_true(refused > 0);
	ds_batch_destroy(&batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_is_told_once),
		cmocka_unit_test(the_device_goes),
	};

	return cmocka_run_group_tests_name("core_batch_race", tests, NULL, NULL);
}
