// SPDX-License-Identifier: Apache-2.0
/*
 * The token cache with L2, many threads: users whose misses carry tokens from tier to tier,
 * others that do so in two halves, pin, stage, change shares, let time pass, and revoke; with each
 * policy.
 *
 * A token's number of posted requests is its sequence, as in core_move_race. The first STABLE
 * tokens are never revoked: they have in the end what was added to them.
 *
 * DS_TEST_STEPS: uses of all threads, in each two of the tests.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tokencache/change.h"
#include "tokencache/inline.h"
#include "core_cache.h"
#include "core_queue_pair.h"
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
static u64 wrong, halves, revokes, staged, changes;
static bool stop, unused, toggles;

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
enum { SHARE_MIN = 3, SHARE_MAX = 5 };
static u32 pds[2];

static void create_pds(void)
{
	u32 i;

	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	for (i = 0; i < 2; i++) {
		struct ds_token_desc d = { .type = DS_TOKEN_PD, .pd.domain = i + 1 };

		assert_int_equal(ds_token_create(&cache.table, &d, &pds[i]), 0);
		assert_int_equal(ds_cache_partition(&cache, i + 1, SHARE_MIN * i, SHARE_MAX), 0);
	}
}

static void end(u32 token)
{
	assert_int_equal(ds_token_revoke(&cache.table, token, NULL), 0);
	ds_token_free(&cache.table, token);
}

static u32 create(u32 i)
{
	struct ds_token_desc d = queue_pair(i, i % 2 ? i : ds_token_index(pds[i / 2 % 2]));
	u32 token;

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
	ret = cache_get(&cache, token, &d);
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

/* How far users get before the others run is chance. */
static bool all_has_come(const struct user *u)
{
	return u->found[1] && u->found[2] && u->found[3] && READ_ONCE(halves) &&
	       READ_ONCE(revokes) && READ_ONCE(staged);
}

static void *user(void *arg)
{
	struct user *u = arg;
	u64 n;

	for (n = 0; n < u->steps || (!all_has_come(u) && n < 20 * u->steps); n++) {
		u32 i = pick(&u->random);

		use(u, i);
		if (u->random >> 9 & 1 &&
		    !ds_token_add_posted(&cache.table, smp_load_acquire(&tokens[i]), 1))
			u->added[i]++;
		if (!(n % 32))	/* the others are to come in between, also with few processors */
			sched_yield();
	}
	return NULL;
}

static void end_change(struct ds_cache_change *ch, int ret)
{
	ds_spin_lock(&cache.lock);
	ds_change_end(&cache, ch, ret);
	ds_spin_unlock(&cache.lock);
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
			end_change(&a, -ECANCELED);
		else if (!ret_a)
			end_change(&a, 0);
		if (!ret_b)
			end_change(&b, 0);
		count(&halves);
	}
	return NULL;
}

/* It becomes larger and smaller, and may be none. */
static void change_share(u32 random)
{
	u32 min = random >> 4 & 3, max = random & 8 ? SHARE_MAX : CAPACITY;

	if (ds_cache_partition(&cache, 1 + (random & 1), min, random & 2 ? min + 1 : max))
		count(&wrong);
	count(&changes);
}

/* As `dsctl token set` does it. An adaptive policy would soon want hardly anybody in L1. */
static void set_thresholds(u32 l1)
{
	if (!cache.policy.base)
		return;
	ds_spin_lock(&cache.lock);
	cache.policy.base->params.promote_to_l1_threshold = l1;
	cache.policy.base->params.promote_to_l2_threshold = min(l1, 2u);
	ds_spin_unlock(&cache.lock);
}

static void *others(void *arg)
{
	struct ds_policy_load load = { 0 };
	u32 random = 99, i;
	u64 now = 0, uses = 0;

	(void)arg;
	while (!READ_ONCE(stop)) {
		i = pick(&random);
		ds_cache_pin(&cache, smp_load_acquire(&tokens[i]), !(random >> 9 & 15));
		if (!ds_cache_stage(&cache, smp_load_acquire(&tokens[pick(&random)])))
			count(&staged);
		if (!(next_random(&random) & 31))
			change_share(random >> 5);
		if (!(next_random(&random) & 7))
			set_thresholds(1 + (random >> 9 & 3));
		if (toggles && !(next_random(&random) & 255))
			WRITE_ONCE(cache.table.blocking, random >> 9 & 1);
		load.blocking = READ_ONCE(cache.table.blocking);
		load.cpu = 1000;
		now += 1000000;
		uses += 37;
		ds_cache_tick(&cache, now, uses, &load, 2);
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

/* Nobody has to stay: no domain has, or keeps, more than it may. */
static void check_shares(void)
{
	const struct ds_policy_load no_load = { 0 };
	u32 i;

	for (i = 0; i < TOKENS; i++)
		ds_cache_pin(&cache, tokens[i], false);
	ds_cache_tick(&cache, 0, 0, &no_load, 2 * CAPACITY);
	for (i = 0; i < 2; i++) {
		assert_true(cache.shares.of[i].used <= cache.shares.of[i].max);
		assert_true(cache.shares.of[i].held <= cache.shares.of[i].min);
	}
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
	check_shares();
	for (i = 0; i < TOKENS; i++)
		end(tokens[i]);
	assert_int_equal(cache.table.l2.used, 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(cache.shares.of[i].used, 0);
		end(pds[i]);
	}
}

enum blocking { OPTIMISTIC, BLOCKING, BY_TURNS };

static void start(u32 mode, enum blocking blocking)
{
	assert_int_equal(ds_cache_init(&cache, TOKENS + 2, CAPACITY, mode, 1, DS_L2_ANYWHERE), 0);
	/* They are not used so often that the normal thresholds are met. */
	set_thresholds(1);
	cache.table.blocking = blocking == BLOCKING;
	toggles = blocking == BY_TURNS;
	wrong = 0;
	halves = 0;
	revokes = 0;
	staged = 0;
	changes = 0;
	stop = false;
}

static void all_at_once(u32 mode, enum blocking blocking)
{
	static struct user users[USERS];
	static void *(*const parts[])(void *) = { by_halves, others, revoker };
	const char *steps = getenv("DS_TEST_STEPS");
	u64 found[4] = { 0 }, all = steps ? strtoull(steps, NULL, 0) : STEPS(600000);
	pthread_t threads[3];
	u32 i, k;

	start(mode, blocking);
	create_pds();
	for (i = 0; i < TOKENS; i++)
		tokens[i] = create(i);
	memset(users, 0, sizeof(users));
	for (i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, parts[i], NULL), 0);
	for (i = 0; i < USERS; i++) {
		users[i].steps = all / 2 / USERS;
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
	print_message("# found in L1 %llu, in L2 %llu, at home %llu; %llu pairs of halves, %llu revoked, "
		      "%llu staged, %llu shares\n", found[1], found[2], found[3], halves, revokes, staged,
		      changes);
	assert_int_equal(wrong, 0);
	assert_true(found[1] && found[2] && found[3] && halves && revokes && staged);
	check(users);
	assert_int_equal(ds_cache_destroy(&cache), 0);
}

static void optimistic(void **state)
{
	(void)state;
	all_at_once(DS_POLICY_DEFAULT, OPTIMISTIC);
}

static void blocking(void **state)
{
	(void)state;
	all_at_once(DS_POLICY_DEFAULT, BLOCKING);
}

static void literal_001(void **state)
{
	(void)state;
	all_at_once(DS_POLICY_LITERAL_001, BY_TURNS);
}

static void adaptive_001(void **state)
{
	(void)state;
	all_at_once(DS_POLICY_ADAPTIVE_001, BY_TURNS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(optimistic),
		cmocka_unit_test(blocking),
		cmocka_unit_test(literal_001),
		cmocka_unit_test(adaptive_001),
	};

	return cmocka_run_group_tests_name("core_tier_race", tests, NULL, NULL);
}
