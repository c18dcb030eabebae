// SPDX-License-Identifier: Apache-2.0
/*
 * The token cache with L2, many threads: users whose misses carry tokens from tier to tier,
 * others that do so in two halves, pin, let time pass, and revoke.
 *
 * A token's number of posted requests is its sequence, as in core_move_race. The first STABLE
 * tokens are never revoked: they have in the end what was added to them.
 *
 * DS_TEST_STEPS: uses of all threads.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tokencache/cache.h"
#include "tokencache/inline.h"
#include "core_steps.h"

enum { TOKENS = 1200, STABLE = 1000, HOT = 60, CAPACITY = 16, USERS = 2 };

struct user {
	pthread_t thread;
	u64 steps;
	u32 random;
	u32 handle[TOKENS];	/* of which @seen is */
	u16 seen[TOKENS];
	u16 added[TOKENS];
	u64 found[4];
};

static struct ds_cache cache;
static u32 tokens[TOKENS];
static u64 wrong, halves, revokes;
static bool stop, unused;

static void count(u64 *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static u32 next_random(u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static u32 pick(u32 *random)
{
	u32 r = next_random(random);

	return r >> 20 & 1 ? r % TOKENS : r % HOT * (TOKENS / HOT);
}

/* Of trust domains that have shares of L1. */
static u32 pds[2];

static void create_pds(void)
{
	u32 i;

	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	for (i = 0; i < 2; i++) {
		struct ds_token_desc d = { .type = DS_TOKEN_PD, .pd.domain = i + 1 };

		assert_int_equal(ds_token_create(&cache.table, &d, &pds[i]), 0);
		assert_int_equal(ds_cache_partition(&cache, i + 1, 3 * i, 5), 0);
	}
}

static void end(u32 token)
{
	assert_int_equal(ds_token_revoke(&cache.table, token, NULL), 0);
	ds_token_free(&cache.table, token);
}

static u32 create(u32 i)
{
	struct ds_token_desc d;
	u32 token;

	memset(&d, 0, sizeof(d));
	d.type = DS_TOKEN_QP;
	d.qp.number = i + 1;
	d.qp.pd = i % 2 ? i : ds_token_index(pds[i / 2 % 2]);
	d.qp.scq = i;
	assert_int_equal(ds_token_create(&cache.table, &d, &token), 0);
	return token;
}

static void look_at(struct user *u, u32 i, u32 token, const struct ds_token_desc *d)
{
	if (u->handle[i] != token)
		u->seen[i] = 0;
	u->handle[i] = token;
	if (d->qp.number != i + 1 || d->qp.scq != i || (s16)(d->qp.posted - u->seen[i]) < 0)
		count(&wrong);
	u->seen[i] = d->qp.posted;
}

static void use(struct user *u, u32 i)
{
	u32 token = smp_load_acquire(&tokens[i]);
	struct ds_token_desc d;
	struct ds_token_pack p;
	int ret = ds_cache_look(&cache, token, &p);

	if (ret > 0 && ds_token_unpack(&p, NULL, &d))
		count(&wrong);
	if (ret > 0)
		look_at(u, i, token, &d);
	ret = ds_cache_get(&cache, token, &d);
	if (ret) {
		if (ret != -EAGAIN && (ret != -ESTALE || i < STABLE))
			count(&wrong);
		return;
	}
	look_at(u, i, token, &d);
	u->found[d.tier]++;
	if (d.tier != 1)
		ds_cache_miss(&cache, token);
	ds_token_put(&cache.table, token);
}

static void *user(void *arg)
{
	struct user *u = arg;
	u64 n;

	for (n = 0; n < u->steps; n++) {
		u32 i = pick(&u->random);

		use(u, i);
		if (u->random >> 9 & 1 &&
		    !ds_token_add_posted(&cache.table, smp_load_acquire(&tokens[i]), 1))
			u->added[i]++;
	}
	return NULL;
}

/* Two misses at a time, in two halves. */
static void *by_halves(void *arg)
{
	struct ds_cache_change a, b;
	u32 random = 77;

	(void)arg;
	while (!READ_ONCE(stop)) {
		int ret_a = ds_cache_miss_begin(&cache, smp_load_acquire(&tokens[pick(&random)]), &a);
		int ret_b = ds_cache_miss_begin(&cache, smp_load_acquire(&tokens[pick(&random)]), &b);

		sched_yield();
		if (!ret_a && random >> 9 & 1)
			ds_cache_miss_abort(&cache, &a);
		else if (!ret_a)
			ds_cache_miss_end(&cache, &a);
		if (!ret_b)
			ds_cache_miss_end(&cache, &b);
		count(&halves);
	}
	return NULL;
}

static void *others(void *arg)
{
	const struct ds_policy_load no_load = { 0 };
	u32 random = 99, i;
	u64 now = 0;

	(void)arg;
	while (!READ_ONCE(stop)) {
		i = pick(&random);
		ds_cache_pin(&cache, smp_load_acquire(&tokens[i]), !(random >> 9 & 15));
		now += 1000000;
		ds_cache_tick(&cache, now, 0, &no_load, 2);
		sched_yield();
	}
	return NULL;
}

static void tell(struct ds_token_idle *idle)
{
	(void)idle;
	smp_store_release(&unused, true);
}

static struct ds_token_idle waiter = { .done = tell };

static void *revoker(void *arg)
{
	struct ds_token_pack p;
	u32 random = 55;

	(void)arg;
	while (!READ_ONCE(stop)) {
		u32 i = STABLE + next_random(&random) % (TOKENS - STABLE), token = tokens[i];
		int ret;

		unused = false;
		ret = ds_token_revoke(&cache.table, token, &waiter);
		if (ds_cache_look(&cache, token, &p) != -ESTALE)
			count(&wrong);
		while (ret == -EINPROGRESS && !smp_load_acquire(&unused))
			sched_yield();
		ds_token_free(&cache.table, token);
		smp_store_release(&tokens[i], create(i));
		count(&revokes);
		sched_yield();
	}
	return NULL;
}

/* Nothing is on its way, in use or half written, and each slot is somebody's or free. */
static void check(const struct user *users)
{
	u32 i, u, in[4] = { 0 }, pins = 0;

	for (i = 0; i < TOKENS; i++) {
		struct ds_token_desc d;
		u16 added = 0;
		u64 word;

		for (u = 0; u < USERS; u++)
			added += users[u].added[i];
		assert_int_equal(ds_token_find(&cache.table, tokens[i], &word), 0);
		assert_false(ds_word_is_moving(word));
		assert_int_equal(ds_word_uses(word), 0);
		assert_int_equal(word & DS_WORD_WRITER, 0);
		in[ds_word_tier(word)]++;
		pins += ds_word_tier(word) == 1 && word & DS_WORD_PINNED;
		assert_int_equal(ds_token_get(&cache.table, tokens[i], &d), 0);
		if (i < STABLE)
			assert_int_equal(d.qp.posted, added);
		ds_token_put(&cache.table, tokens[i]);
		if (ds_word_tier(word) == 2)
			assert_int_equal(ds_l2_is_kept(&cache.table.l2, ds_word_slot(word)),
					 !!(word & DS_WORD_PINNED));
	}
	assert_true(in[1] <= CAPACITY);
	assert_int_equal(cache.pins, pins);
	assert_int_equal(cache.table.l2.used, in[2]);
	for (i = 0; i < 2; i++)
		assert_true(cache.shares.of[i].used <= 5);
	for (i = 0; i < TOKENS; i++)
		end(tokens[i]);
	assert_int_equal(cache.table.l2.used, 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(cache.shares.of[i].used, 0);
		end(pds[i]);
	}
}

static void all_at_once(bool blocking)
{
	static struct user users[USERS];
	static void *(*const parts[])(void *) = { by_halves, others, revoker };
	const char *steps = getenv("DS_TEST_STEPS");
	u64 found[4] = { 0 };
	pthread_t threads[3];
	u32 i, k;

	assert_int_equal(ds_cache_init(&cache, TOKENS + 2, CAPACITY, DS_POLICY_DEFAULT, 1,
				       DS_L2_ANYWHERE), 0);
	create_pds();
	for (i = 0; i < TOKENS; i++)
		tokens[i] = create(i);
	cache.table.blocking = blocking;
	wrong = 0;
	halves = 0;
	revokes = 0;
	stop = false;
	memset(users, 0, sizeof(users));
	for (i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, parts[i], NULL), 0);
	for (i = 0; i < USERS; i++) {
		users[i].steps = (steps ? strtoull(steps, NULL, 0) : STEPS(600000)) / USERS;
		users[i].random = i + 1;
		assert_int_equal(pthread_create(&users[i].thread, NULL, user, &users[i]), 0);
	}
	for (i = 0; i < USERS; i++) {
		pthread_join(users[i].thread, NULL);
		for (k = 1; k < 4; k++)
			found[k] += users[i].found[k];
	}
	WRITE_ONCE(stop, true);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	print_message("# found in L1 %llu, in L2 %llu, at home %llu; %llu pairs of halves, %llu revoked\n",
		      found[1], found[2], found[3], halves, revokes);
	assert_int_equal(wrong, 0);
	assert_true(found[1] && found[2] && found[3] && halves && revokes);
	check(users);
	assert_int_equal(ds_cache_destroy(&cache), 0);
}

static void optimistic(void **state)
{
	(void)state;
	all_at_once(false);
}

static void blocking(void **state)
{
	(void)state;
	all_at_once(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(optimistic),
		cmocka_unit_test(blocking),
	};

	return cmocka_run_group_tests_name("core_tier_race", tests, NULL, NULL);
}
