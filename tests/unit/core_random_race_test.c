// SPDX-License-Identifier: Apache-2.0
/*
 * All of the token cache at once, at random: users who make, read, write, miss, pin, stage and
 * end tokens, their own and, if they are still there, each other's; and one who lets time pass,
 * works, gives domains shares, and sets each parameter to its ends. Each seventeenth step of a
 * move is given up. With each policy, in caches of several sizes.
 *
 * A token is written by its owner only, who knows what it must say. When all have ended,
 * nothing is counted, held, pinned, kept or waited for anywhere.
 *
 * DS_TEST_STEPS: of each user, with each size.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tokencache/inline.h"
#include "tokencache/table.h"
#include "tokencache/tune.h"
#include "tokencache/whole.h"
#include "core_ender.h"
#include "core_steps.h"

enum { USERS = 3, TOKENS = 160, OFTEN = 24, PDS = 4, SEEN = 64, REQUESTERS = 4 };

struct own {
	u32 token;
	struct ds_token_desc d;
};

struct user {
	pthread_t thread;
	u64 random;
	u64 steps;
	u64 hits;
	struct own own[TOKENS];
};

static struct ds_cache cache;
static struct ds_fetch fetch;
static struct ds_whole whole;
static u32 pds[PDS];
static u32 seen[SEEN];	/* handles, of tokens that may have ended */
static u64 wrong, asked, told, moved_to[4];
static bool stop;

static void count(u64 *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static void check(bool right, const char *what, long long value)
{
	if (right)
		return;
	count(&wrong);
	fprintf(stderr, "# wrong: %s (%lld)\n", what, value);
}

static u32 below(u64 *random, u32 n)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (u32)((*random >> 32) * n >> 32);
}

static void count_move(u32 token, u32 from, u32 to, u32 bytes)
{
	(void)token;
	(void)bytes;
	if (from != to)		/* else it was given up */
		count(&moved_to[to]);
}

static bool gives_up(u32 token, enum ds_move_step step)
{
	static __thread u64 random = 1;

	(void)token;
	(void)step;
	return !below(&random, 17);
}

/* All but the last. */
static int allowed(struct ds_fetch *f, u32 requester, u32 token)
{
	(void)f;
	(void)token;
	return requester == REQUESTERS - 1 ? -EACCES : 0;
}

/* ---- who waits ---- */

struct asker {
	struct ds_expand_waiter w;
	struct ds_token_desc buffer;
	u8 type;
};

static void asker_told(struct ds_waiter *w, int ret)
{
	struct asker *a = container_of(w, struct asker, w.base);

	check(ret || !a->w.buffer || a->buffer.type == a->type, "type of a copy", a->buffer.type);
	count(&told);
	free(a);
}

/* For a miss to be fetched, for a token to come to L2, or for a copy. */
static void wait_for(u64 *random, u32 token)
{
	struct asker *a = calloc(1, sizeof(*a));
	u32 what = below(random, 4);
	int ret;

	a->w.base.done = asker_told;
	a->w.buffer = what == 1 ? &a->buffer : NULL;
	a->type = token >> DS_TOKEN_TYPE_OFF;
	if (what < 2)
		ret = ds_fetch_whole(&fetch, token, below(random, REQUESTERS), below(random, 2),
				     &a->w, ds_mono_ns());
	else
		ret = ds_fetch_miss(&fetch, token, &a->w.base, ds_mono_ns());
	if (ret == -EINPROGRESS)
		count(&asked);
	else
		free(a);
}

/* ---- tokens ---- */

static void describe(u64 *random, struct ds_token_desc *d)
{
	u32 kind = below(random, 10);

	memset(d, 0, sizeof(*d));
	if (kind < 5) {
		d->type = DS_TOKEN_QP;
		d->qp.number = below(random, 8) ? below(random, 1000) : 1 << 25;	/* wide */
		d->qp.qp_type = 2;
		d->qp.pd = ds_token_index(pds[below(random, PDS)]);
		d->qp.scq = below(random, 2) ? 5 : DS_TOKEN_NONE;
		d->qp.rcq = 3;
	} else if (kind < 9) {
		d->type = DS_TOKEN_MR;
		d->mr.length = 4096ull * (1 + below(random, 500));
		d->mr.page_shift = below(random, 5) ? 12 : 1;	/* wide */
		d->mr.rkey = below(random, 100000);
		d->mr.pd = ds_token_index(pds[below(random, PDS)]);
	} else {
		d->type = DS_TOKEN_CQ;
		d->cq.number = below(random, 1000);
		d->cq.entries = below(random, 100);
	}
}

static void begin(struct user *u, struct own *o)
{
	int ret;

	describe(&u->random, &o->d);
	ret = ds_token_create_for(&cache.table, 1 + below(&u->random, 2), &o->d, &o->token);
	check(!ret, "create", ret);
	WRITE_ONCE(seen[below(&u->random, SEEN)], o->token);
}

/* As the module does it. */
static void end(u32 token)
{
	struct ender e = { .idle.done = ender_told };
	struct ds_token_pack p;
	struct ds_token_desc d;
	int ret = ds_token_revoke(&cache.table, token, &e.idle);

	check(!ret || ret == -EINPROGRESS, "revoke", ret);
	check(ds_cache_look(&cache, token, &p) == -ESTALE, "a look after revoke", token);
	check(ds_whole_get(&whole, token, &d) == -ESTALE, "a use after revoke", token);
	ds_fetch_revoked(&fetch, token);
	ender_waits(&e, ret);
	ds_whole_forget(&whole, token);
	ds_token_free(&cache.table, token);
}

/* ---- users ---- */

static void check_own(const struct own *o, const struct ds_token_desc *d)
{
	check(d->type == o->d.type, "type", d->type);
	if (d->type == DS_TOKEN_QP)
		check(d->qp.posted == o->d.qp.posted && d->qp.number == o->d.qp.number &&
		      d->qp.pd == o->d.qp.pd, "queue pair", d->qp.posted - o->d.qp.posted);
	else if (d->type == DS_TOKEN_MR)
		check(d->mr.length == o->d.mr.length && d->mr.rkey == o->d.mr.rkey, "region",
		      d->mr.rkey);
	else
		check(d->cq.entries == o->d.cq.entries, "completion queue", d->cq.entries);
}

static void look(struct user *u, struct own *o)
{
	struct ds_token_pack p;
	struct ds_token_desc d;
	u32 where;
	int ret = ds_cache_look(&cache, o->token, &p);

	check(ret > 0 || ret == -EAGAIN, "look", ret);
	if (ret <= 0)
		return;
	u->hits += ret == 1;
	if (!ds_token_pack_is_wide(&p, &where)) {
		check(!ds_token_unpack(&p, NULL, &d), "unpack", o->token);
		check_own(o, &d);
	}
	if (ret > 1)
		ds_fetch_miss(&fetch, o->token, NULL, ds_mono_ns());
}

static void get(struct user *u, struct own *o)
{
	struct ds_token_desc d;
	int ret = ds_whole_get(&whole, o->token, &d);

	check(ret >= 0 || ret == -EAGAIN, "get", ret);
	if (ret < 0)
		return;
	check_own(o, &d);
	u->hits += d.tier == 1;
	if (ret)
		ds_whole_ask(&whole, o->token, below(&u->random, REQUESTERS), ds_mono_ns());
	if (d.tier > 1)
		ds_fetch_miss(&fetch, o->token, NULL, ds_mono_ns());
	ds_token_put(&cache.table, o->token);
}

static void post(struct user *u, struct own *o)
{
	u16 requests = below(&u->random, 1000);
	int ret;

	if (o->d.type != DS_TOKEN_QP)
		return;
	ret = ds_token_add_posted(&cache.table, o->token, requests);
	check(!ret || ret == -EAGAIN, "write", ret);
	if (!ret)
		o->d.qp.posted += requests;
}

/* Of whomever; it may have ended. */
static void use_seen(struct user *u)
{
	u32 token = READ_ONCE(seen[below(&u->random, SEEN)]);
	struct ds_token_desc d;

	if (!token)
		return;
	if (ds_whole_get(&whole, token, &d) >= 0) {
		check(d.type == token >> DS_TOKEN_TYPE_OFF, "type of another's", d.type);
		ds_cache_pin(&cache, token, false);
		ds_token_put(&cache.table, token);
	}
	wait_for(&u->random, token);
}

static void step(struct user *u)
{
	struct own *o = &u->own[below(&u->random, below(&u->random, 8) ? OFTEN : TOKENS)];
	u32 what = below(&u->random, 64);

	if (!o->token) {
		begin(u, o);
	} else if (!what) {
		end(o->token);
		o->token = 0;
	} else if (what < 3) {
		ds_cache_pin(&cache, o->token, !below(&u->random, 3));
	} else if (what < 7) {
		ds_cache_miss(&cache, o->token);
	} else if (what < 11) {
		ds_cache_stage(&cache, o->token);
	} else if (what < 16) {
		use_seen(u);
	} else if (what < 26) {
		post(u, o);
	} else if (what < 36) {
		look(u, o);
	} else {
		get(u, o);
	}
}

/* With what the administrator sets it may be a while until somebody comes to L1. */
static bool has_seen_all(const struct user *u)
{
	u64 kept, fetched;

	ds_spin_lock(&whole.lock);
	kept = whole.stats.kept;
	ds_spin_unlock(&whole.lock);
	ds_spin_lock(&fetch.batch.lock);
	fetched = fetch.batch.stats.fetched;
	ds_spin_unlock(&fetch.batch.lock);
	return u->hits && READ_ONCE(told) && kept && fetched;
}

static void *user(void *arg)
{
	struct user *u = arg;
	u64 n;
	u32 i;

	for (n = 0; n < u->steps || (!has_seen_all(u) && n < 100 * u->steps); n++) {
		step(u);
		if (!(n % 32))	/* the others are to come in between, also with few processors */
			sched_yield();
	}
	for (i = 0; i < TOKENS; i++)
		if (u->own[i].token)
			end(u->own[i].token);
	return NULL;
}

/* ---- time, the administrator ---- */

static u64 some_value(u64 *random, const struct ds_param *p)
{
	switch (below(random, 4)) {
	case 0:
		return p->least;
	case 1:
		return p->most;
	case 2:
		return p->normal;
	default:
		return min(p->least + below(random, 8), p->most);
	}
}

/* But for the thresholds: with them hardly anybody would be used often enough here. */
static void set_all_as_normal(void)
{
	u32 i;

	for (i = 0; i < DS_TUNE_PARAMS; i++)
		ds_tune_set(&cache, i, ds_tune_params[i].normal);
	ds_tune_set(&cache, DS_PROMOTE_TO_L1_THRESHOLD, 1);
	ds_tune_set(&cache, DS_PROMOTE_TO_L2_THRESHOLD, 1);
	for (i = 0; i < DS_BATCH_PARAMS; i++)
		ds_batch_set(&fetch.batch, i, ds_batch_params[i].normal);
	for (i = 0; i < DS_EXPAND_PARAMS; i++)
		ds_expand_set(&fetch.box, i, ds_expand_params[i].normal);
	for (i = 1; i <= PDS; i++)
		ds_cache_partition(&cache, i, 0, cache.policy.capacity);
}

static void set_something(u64 *random)
{
	u32 capacity = cache.policy.capacity;
	u32 tune = below(random, DS_TUNE_PARAMS), batch = below(random, DS_BATCH_PARAMS);
	u32 expand = below(random, DS_EXPAND_PARAMS);

	switch (below(random, 10)) {
	case 0:
		ds_tune_set(&cache, tune, some_value(random, &ds_tune_params[tune]));
		break;
	case 1:
		ds_batch_set(&fetch.batch, batch, some_value(random, &ds_batch_params[batch]));
		break;
	case 2:
		ds_expand_set(&fetch.box, expand, some_value(random, &ds_expand_params[expand]));
		break;
	case 3:
		ds_cache_partition(&cache, 1 + below(random, PDS), below(random, capacity / 4 + 1),
				   1 + below(random, capacity));
		break;
	case 4:
		WRITE_ONCE(cache.table.blocking, below(random, 2));
		break;
	default:
		set_all_as_normal();
	}
}

static void *administrator(void *unused)
{
	struct ds_policy_load load = { 0 };
	u64 random = 9, uses = 0;

	while (!READ_ONCE(stop)) {
		load.dma = below(&random, 1001);
		load.l1 = below(&random, 1001);
		load.l2 = below(&random, 1001);
		load.cpu = below(&random, 1001);
		load.moves = below(&random, 100);
		load.waits = below(&random, 1000);
		load.blocking = READ_ONCE(cache.table.blocking);
		uses += below(&random, 3000);
		ds_fetch_work(&fetch, ds_mono_ns(), 1 + below(&random, 64));
		if (!below(&random, 3))
			ds_cache_tick(&cache, ds_mono_ns(), uses, &load, 1 + below(&random, 10));
		if (!below(&random, 4))
			set_something(&random);
		if (!below(&random, 50))
			ds_expand_gone(&fetch.box, below(&random, REQUESTERS));
		sched_yield();
	}
	return unused;
}

/* ---- the end ---- */

static void nothing_is_in_l1(void)
{
	const struct ds_policy *p = &cache.policy;
	u32 i;

	for (i = 0; i < p->capacity; i++) {
		const struct ds_share_slot *s = &cache.shares.slots[i];

		assert_int_equal(p->slots[i].key_high & (DS_SLOT_USED | DS_SLOT_PINNED), 0);
		assert_int_equal(cache.table.l1.slots[i].shown, 0);
		assert_false(s->share || s->held || s->busy || s->pinned);
	}
	assert_int_equal(cache.pins, 0);
	assert_int_equal(cache.coming, 0);
	assert_int_equal(p->pinned, 0);
	assert_int_equal(p->staged, 0);
	assert_int_equal(p->kept, 0);
	assert_int_equal(p->forgotten, p->fresh);
	if (p->base) {
		assert_int_equal(p->base->moves[0].now, 0);
		assert_int_equal(p->base->moves[1].now, 0);
	}
	for (i = 0; i < cache.shares.count; i++) {
		assert_int_equal(cache.shares.of[i].used, 0);
		assert_int_equal(cache.shares.of[i].held, 0);
	}
}

static void nothing_is_in_l2(void)
{
	const struct ds_l2 *l2 = &cache.table.l2;
	u32 i, k;

	assert_int_equal(l2->used, 0);
	for (i = 0; i < l2->nr_pages; i++)
		for (k = 0; k < DS_L2_MAP_WORDS; k++)
			assert_int_equal(l2->pages[i].taken[k] | l2->pages[i].kept[k], 0);
	for (i = 0; l2->pages && i < 1u << l2->bits; i++)
		assert_int_equal(l2->crowd[i], 0);
}

static void nobody_waits(void)
{
	u32 i;

	assert_int_equal(asked, told);
	assert_int_equal(fetch.box.background, 0);
	for (i = 0; i < DS_EXPAND_REQUESTERS; i++)
		assert_int_equal(fetch.box.held[i], 0);
	for (i = 0; i < ARRAY_SIZE(whole.copies); i++) {
		assert_int_equal(whole.copies[i].token, 0);
		assert_int_equal(whole.copies[i].kept, 0);
		assert_false(whole.copies[i].ended);
	}
}

static void start(u32 mode, u32 capacity, u32 l2_pages)
{
	u32 i;

	assert_int_equal(ds_cache_init(&cache, 1 << 22, capacity, mode, l2_pages,
				       DS_L2_ANYWHERE), 0);
	cache.pins_max = capacity / 2;
	cache.table.moved = count_move;
	cache.table.stops = gives_up;
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	assert_int_equal(ds_fetch_init(&fetch, &cache, allowed, NULL, NULL), 0);
	ds_whole_init(&whole, &fetch);
	for (i = 0; i < PDS; i++) {
		struct ds_token_desc d = { .type = DS_TOKEN_PD, .pd.domain = i + 1 };

		assert_int_equal(ds_token_create(&cache.table, &d, &pds[i]), 0);
	}
	memset(seen, 0, sizeof(seen));
	memset(moved_to, 0, sizeof(moved_to));
	asked = 0;
	told = 0;
	stop = false;
}

static u64 all_at_once(u64 seed)
{
	static struct user users[USERS];
	const char *steps = getenv("DS_TEST_STEPS");
	pthread_t other;
	u64 hits = 0;
	u32 i;

	memset(users, 0, sizeof(users));
	assert_int_equal(pthread_create(&other, NULL, administrator, NULL), 0);
	for (i = 0; i < USERS; i++) {
		users[i].random = (seed * USERS + i) * 0x9e3779b97f4a7c15ull;
		users[i].steps = steps ? strtoull(steps, NULL, 0) : STEPS(100000);
		assert_int_equal(pthread_create(&users[i].thread, NULL, user, &users[i]), 0);
	}
	for (i = 0; i < USERS; i++) {
		pthread_join(users[i].thread, NULL);
		hits += users[i].hits;
	}
	WRITE_ONCE(stop, true);
	pthread_join(other, NULL);
	return hits;
}

static void with_a_size(u32 mode, u32 capacity, u32 l2_pages)
{
	u64 hits, copies;
	u32 i;

	start(mode, capacity, l2_pages);
	hits = all_at_once(capacity);
	for (i = 0; i < PDS; i++)
		end(pds[i]);
	ds_fetch_shut(&fetch);
	copies = whole.stats.kept;
	print_message("# %u slots, %u pages: %llu hits, %llu to L1, %llu to L2, %llu fetched, "
		      "%llu copies kept, %llu waited\n", capacity, l2_pages, hits,
		      moved_to[1], moved_to[2], fetch.batch.stats.fetched, copies, told);
	assert_int_equal(wrong, 0);
	assert_true(hits && copies && told && fetch.batch.stats.fetched);
	nobody_waits();
	nothing_is_in_l1();
	nothing_is_in_l2();
	assert_int_equal(cache.table.wide.live, 0);
	ds_fetch_destroy(&fetch);
	assert_int_equal(ds_cache_destroy(&cache), 0);
}

static void with_each_size(u32 mode)
{
	static const u32 capacities[] = { 16, 17, 40, 64, 300 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(capacities); i++)
		with_a_size(mode, capacities[i], i % 3 ? 2 * (i % 3) - 1 : 0);
}

static void by_default(void **state)
{
	(void)state;
	with_each_size(DS_POLICY_DEFAULT);
}

static void literal_001(void **state)
{
	(void)state;
	with_each_size(DS_POLICY_LITERAL_001);
}

static void adaptive_001(void **state)
{
	(void)state;
	with_each_size(DS_POLICY_ADAPTIVE_001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_default),
		cmocka_unit_test(literal_001),
		cmocka_unit_test(adaptive_001),
	};

	return cmocka_run_group_tests_name("core_random_race", tests, NULL, NULL);
}
