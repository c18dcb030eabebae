// SPDX-License-Identifier: Apache-2.0
/*
 * On-demand expand from several threads: requesters of all kinds who leave, time out, wait or go
 * away, two hosts, tokens that end, and all devices that go away. A requester's buffer is on its
 * stack, so a host that writes to it too late is a race that the thread sanitizer sees.
 */
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tokencache/expand.h"

enum { TOKENS = 64, PAGE = 16, REQUESTERS = 3, HOSTS = 2, ROUNDS = 20000, RUNS = 16,
       DEVICES = 2 };

static struct ds_expand box;
static u64 in_l2[TOKENS];
static u64 asked, expanded, failed, cancelled, issued, refused, wrong;
static bool stopping;

static void count(u64 *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static int allowed(struct ds_expand *b, u32 requester, u32 token)
{
	(void)b;
	return token < TOKENS && requester && requester <= DEVICES ? 0 : -EACCES;
}

static int locate(struct ds_expand *b, u32 token, u32 offset, u32 *page)
{
	(void)b;
	*page = token / PAGE;
	return offset == token ? 0 : -ESTALE;
}

static int produce(struct ds_expand *b, u32 token, struct ds_token_desc *d)
{
	(void)b;
	d->type = DS_TOKEN_PD;
	d->pd.number = token * 7;
	if (token % 4 == 1)
		sched_yield();
	return token % 16 == 7 ? -EIO : 0;
}

static int stage(struct ds_expand *b, u32 token, const struct ds_token_desc *d)
{
	(void)b;
	if (d->pd.number != token * 7)
		count(&wrong);
	count(&in_l2[token]);
	return token % 16 == 9 ? -ENOSPC : 0;
}

static u32 neighbours(struct ds_expand *b, u32 page, u32 token, u32 *tokens, u32 most)
{
	u32 n;

	(void)b;
	for (n = 0; n < most; n++)
		tokens[n] = page * PAGE + (token + n + 1) % PAGE;
	return n;
}

static const struct ds_expand_ops ops = {
	.allowed = allowed, .locate = locate, .produce = produce, .stage = stage,
	.neighbours = neighbours,
};

struct sleeper {
	struct ds_expand_waiter w;
	struct ds_token_desc buffer;
	sem_t told;
	int ret;
};

static void wake(struct ds_waiter *w, int ret)
{
	struct sleeper *s = container_of(w, struct sleeper, w.base);

	s->ret = ret;
	sem_post(&s->told);
}

static void wait_or_leave(struct sleeper *s, u32 token, bool leave)
{
	if (leave && ds_expand_cancel(&box, &s->w)) {
		count(&cancelled);
		s->buffer.pd.number = 1;	/* its own again */
		return;
	}
	while (sem_wait(&s->told))
		;
	count(s->ret ? &failed : &expanded);
	if (!s->ret && s->w.buffer && s->buffer.pd.number != token * 7)
		count(&wrong);
}

static void ask(u32 token, u32 random)
{
	struct sleeper s = { .w.base.done = wake };
	struct ds_expand_req req = {
		.token = token, .offset = token, .requester = 1 + (random >> 7) % DEVICES,
		.priority = random & 1,
	};
	bool waits = random >> 1 & 3;
	int ret;

	sem_init(&s.told, 0, 0);
	s.w.buffer = random >> 3 & 1 ? &s.buffer : NULL;
	ret = ds_expand_ask(&box, &req, waits ? &s.w : NULL, ds_mono_ns());
	if (ret == -EINPROGRESS && waits) {
		count(&asked);
		wait_or_leave(&s, token, !(random >> 4 & 7));
	} else {
		count(ret == -EINPROGRESS ? &issued : &refused);
		sched_yield();
	}
	sem_destroy(&s.told);
}

static void *request(void *seed)
{
	u32 i, random = (u32)(unsigned long)seed;

	for (i = 0; i < ROUNDS; i++) {
		random = random * 1664525 + 1013904223;
		ask((random >> 8) % TOKENS, random >> 20);
		if (!(random >> 29))
			ds_expand_revoked(&box, random >> 14 & (TOKENS - 1));
		if (random >> 24 == 9)
			ds_expand_gone(&box, 1 + (random >> 14) % DEVICES);
	}
	return NULL;
}

static void *host(void *unused)
{
	while (!READ_ONCE(stopping)) {
		ds_expand_expire(&box, ds_mono_ns());
		if (!ds_expand_serve(&box, 4))
			sched_yield();
	}
	return unused;
}

static void start(pthread_t *threads)
{
	u64 i, params[DS_EXPAND_PARAMS];

	for (i = 0; i < DS_EXPAND_PARAMS; i++)
		params[i] = ds_expand_params[i].normal;
	params[DS_EXPAND_MAILBOX] = 4;
	params[DS_EXPAND_BACKGROUND_MAX] = 2;
	params[DS_EXPAND_REQUESTER_MAX] = 3;
	params[DS_EXPAND_TIMEOUT_NS] = 20000;
	assert_int_equal(ds_expand_init(&box, &ops, params), 0);
	asked = expanded = failed = cancelled = issued = refused = wrong = 0;
	WRITE_ONCE(stopping, false);
	for (i = 0; i < HOSTS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, host, NULL), 0);
	for (; i < HOSTS + REQUESTERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, request, (void *)i), 0);
}

static void join(pthread_t *threads)
{
	u32 i;

	for (i = HOSTS; i < HOSTS + REQUESTERS; i++)
		pthread_join(threads[i], NULL);
	WRITE_ONCE(stopping, true);
	for (i = 0; i < HOSTS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wrong, 0);
	assert_int_equal(asked, expanded + failed + cancelled);
	assert_int_equal(asked + issued + refused, REQUESTERS * ROUNDS);
}

/* Nothing is in the mailbox: what entered it was counted once when it left. */
static void assert_sums(void)
{
	const struct ds_expand_stats *s = &box.stats;

	assert_int_equal(box.spare.count, 4);
	assert_int_equal(s->asked + s->prestaged, s->served[DS_EXPAND_URGENT] +
			 s->served[DS_EXPAND_BACKGROUND] + s->withdrawn + s->ended);
}

/* Did each end come that there is? Who gets how far before the others run is chance. */
static bool all_ends_came(void)
{
	return expanded && failed && cancelled && issued && refused && box.stats.gone &&
	       box.stats.ended;
}

static void everybody_is_told_once(void **state)
{
	pthread_t threads[HOSTS + REQUESTERS];
	bool all = false;
	u32 i, runs;

	(void)state;
	for (runs = 0; runs < RUNS && !all; runs++) {
		start(threads);
		join(threads);
		print_message("# %llu expanded, %llu failed (%llu too late), %llu left, "
			      "%llu issued, %llu refused, %llu whose device went; "
			      "%llu completions late\n", expanded, failed, box.stats.expired,
			      cancelled, issued, refused, box.stats.gone, box.stats.late);
		while (ds_expand_serve(&box, 1))
			;
		assert_sums();
		all = all_ends_came();
		assert_int_equal(box.background, 0);
		for (i = 0; i < DS_EXPAND_REQUESTERS; i++)
			assert_int_equal(box.held[i], 0);
		ds_expand_shut(&box);
		ds_expand_destroy(&box);
	}
	assert_true(all);
}

static void the_device_goes(void **state)
{
	pthread_t threads[HOSTS + REQUESTERS];

	(void)state;
	start(threads);
	while (__atomic_load_n(&expanded, __ATOMIC_RELAXED) < 1000)
		sched_yield();
	ds_expand_shut(&box);
	join(threads);
	assert_sums();
	assert_true(refused > 0);
	ds_expand_destroy(&box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody_is_told_once),
		cmocka_unit_test(the_device_goes),
	};

	return cmocka_run_group_tests_name("core_expand_race", tests, NULL, NULL);
}
