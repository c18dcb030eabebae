// SPDX-License-Identifier: Apache-2.0
/*
 * A token cache with batch and mailbox, several threads: users who read, write and miss, one
 * who works, and one who ends tokens and makes new ones.
 *
 * Each token below STABLE is written by one user, who knows how often it did: no other number may
 * be read. The others come and go.
 *
 * DS_TEST_STEPS: uses of each user.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tokencache/inline.h"
#include "tokencache/whole.h"
#include "core_ender.h"
#include "core_queue_pair.h"

enum { TOKENS = 700, STABLE = 600, CAPACITY = 64, USERS = 2 };

struct user {
	pthread_t thread;
	u32 number;
	u32 random;
	u64 steps;
	u16 posted[STABLE];
};

static struct ds_cache cache;
static struct ds_fetch fetch;
static struct ds_whole whole;
static u32 tokens[TOKENS];
static u64 reads, hits, copies, asked, told, ended, wrong;
static bool stop;

static void count(u64 *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static u32 create(u32 i)
{
	struct ds_token_desc d = queue_pair(i, i % 16 ? 1 : 1 << 21);
	u32 token;

	if (ds_token_create(&cache.table, &d, &token))
		abort();
	return token;
}

static int allowed(struct ds_fetch *f, u32 requester, u32 token)
{
	(void)f;
	(void)token;
	return requester ? -EACCES : 0;
}

/* A copy of the description, which the waiter outlives. */
struct asker {
	struct ds_expand_waiter w;
	struct ds_token_desc buffer;
	u32 i;
};

static void asker_told(struct ds_waiter *w, int ret)
{
	struct asker *a = container_of(w, struct asker, w.base);

	if (!ret && a->buffer.qp.number != a->i + 1)
		count(&wrong);
	free(a);
	count(&told);
}

static void ask(u32 i, u32 token)
{
	struct asker *a = calloc(1, sizeof(*a));

	a->w.base.done = asker_told;
	a->w.buffer = &a->buffer;
	a->i = i;
	if (ds_fetch_whole(&fetch, token, 0, i % 2, &a->w, ds_mono_ns()) == -EINPROGRESS)
		count(&asked);
	else
		free(a);
}

/* Other errors than -EAGAIN are of a token that has ended. */
static void check(struct user *u, u32 i, const struct ds_token_desc *d)
{
	count(&reads);
	if (d->qp.number != i + 1)
		count(&wrong);
	if (i < STABLE && i % USERS == u->number && d->qp.posted != u->posted[i])
		count(&wrong);
}

static void use(struct user *u, u32 i, u32 random)
{
	u32 token = READ_ONCE(tokens[i]);
	struct ds_token_desc d;
	int ret;

	if (!(random & 63))
		ask(i, token);
	if (i < STABLE && i % USERS == u->number && !(random & 7)) {
		while (ds_token_add_posted(&cache.table, token, 1) == -EAGAIN)
			sched_yield();
		u->posted[i]++;
	}
	ret = ds_whole_get(&whole, token, &d);
	if (ret < 0)
		return;
	check(u, i, &d);
	if (ret)
		ds_whole_ask(&whole, token, 0, ds_mono_ns());
	else if (i % 16 == 0)
		count(&copies);
	if (d.tier == 1)
		count(&hits);
	else if (ds_fetch_miss(&fetch, token, NULL, ds_mono_ns()) == -EAGAIN)
		sched_yield();
	ds_token_put(&cache.table, token);
}

/* How far users get before the others run is chance. */
static bool all_has_come(void)
{
	/* A hit is of who was fetched. */
	return READ_ONCE(hits) && READ_ONCE(ended) && READ_ONCE(asked) && READ_ONCE(copies);
}

static void *user(void *arg)
{
	struct user *u = arg;
	u64 n;

	for (n = 0; n < u->steps || (!all_has_come() && n < 100 * u->steps); n++) {
		if (n >= u->steps && !(n % 32))
			sched_yield();
		u->random = u->random * 1664525 + 1013904223;
		use(u, (u->random >> 8) % (u->random >> 31 ? TOKENS : 80), u->random >> 20);
	}
	return NULL;
}

/*
 * Of the wide ones that come and go. It takes no lock: that a copy is there it knows from nothing
 * else than that it is kept.
 */
static void *look(void *unused)
{
	struct ds_token_desc d;
	u32 i, token;

	while (!READ_ONCE(stop)) {
		for (i = (STABLE + 15) / 16 * 16; i < TOKENS; i += 16) {
			token = READ_ONCE(tokens[i]);
			if (ds_whole_get(&whole, token, &d) < 0)
				continue;
			if (d.qp.number != i + 1)
				count(&wrong);
			ds_token_put(&cache.table, token);
		}
		sched_yield();
	}
	return unused;
}

static void *work(void *unused)
{
	while (!READ_ONCE(stop))
		if (ds_fetch_work(&fetch, ds_mono_ns(), 16))
			sched_yield();
	return unused;
}

static void end(u32 token)
{
	struct ender e = { .idle.done = ender_told };
	int ret = ds_token_revoke(&cache.table, token, &e.idle);

	ender_waits(&e, ret);
	ds_fetch_revoked(&fetch, token);
	ds_whole_forget(&whole, token);
	ds_token_free(&cache.table, token);
}

static void *end_and_create(void *unused)
{
	u32 i = STABLE, lives;

	/* An index has 255 of them. */
	for (lives = 0; !READ_ONCE(stop) && lives < 250 * (TOKENS - STABLE); lives++) {
		end(tokens[i]);
		WRITE_ONCE(tokens[i], create(i));
		count(&ended);
		if (++i == TOKENS)
			i = STABLE;
		sched_yield();
	}
	return unused;
}

static void nothing_wrong_is_read(void **state)
{
	const char *steps = getenv("DS_TEST_STEPS");
	struct user users[USERS];
	pthread_t worker, other, reader;
	u32 i;

	(void)state;
	assert_int_equal(ds_cache_init(&cache, TOKENS + 10, CAPACITY, DS_POLICY_DEFAULT, 1,
				       DS_L2_ANYWHERE), 0);
	assert_int_equal(ds_fetch_init(&fetch, &cache, allowed, NULL, NULL), 0);
	ds_whole_init(&whole, &fetch);
	for (i = 0; i < TOKENS; i++)
		tokens[i] = create(i);
	assert_int_equal(pthread_create(&worker, NULL, work, NULL), 0);
	assert_int_equal(pthread_create(&other, NULL, end_and_create, NULL), 0);
	assert_int_equal(pthread_create(&reader, NULL, look, NULL), 0);
	for (i = 0; i < USERS; i++) {
		users[i] = (struct user) {
			.number = i, .random = i + 1,
			.steps = steps ? strtoull(steps, NULL, 0) : 100000,
		};
		assert_int_equal(pthread_create(&users[i].thread, NULL, user, &users[i]), 0);
	}
	for (i = 0; i < USERS; i++)
		pthread_join(users[i].thread, NULL);
	WRITE_ONCE(stop, true);
	pthread_join(worker, NULL);
	pthread_join(other, NULL);
	pthread_join(reader, NULL);
	ds_fetch_shut(&fetch);
	print_message("# %llu reads, %llu hits, %llu ended; %llu misses waited, %llu from staging, "
		      "%llu stale, %llu DMA operations; %llu asked; %llu copies kept, read %llu times\n", reads, hits, ended,
		      fetch.batch.stats.queued, fetch.batch.stats.used, fetch.batch.stats.stale,
		      fetch.batch.stats.fetches, asked, whole.stats.kept, copies);
	assert_int_equal(wrong, 0);
	assert_int_equal(asked, told);
	assert_true(hits && ended && asked && copies && fetch.batch.stats.fetches);
	for (i = 0; i < TOKENS; i++)
		end(tokens[i]);
	ds_fetch_destroy(&fetch);
	assert_int_equal(ds_cache_destroy(&cache), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_wrong_is_read),
	};

	return cmocka_run_group_tests_name("core_fetch_race", tests, NULL, NULL);
}
