// SPDX-License-Identifier: Apache-2.0
/*
 * What is found in L1 by its handle alone: only a token that is there, is not on its way, and
 * was not revoked.
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
#include "core_move.h"
#include "core_steps.h"

enum { SLOTS = 16 };

static struct ds_token_table table;
static bool unused;

static void tell(struct ds_token_idle *idle)
{
	(void)idle;
	smp_store_release(&unused, true);
}

static struct ds_token_idle waiter = { .done = tell };

static int setup(void **state)
{
	(void)state;
	assert_int_equal(ds_token_table_init(&table, 1000), 0);
	assert_int_equal(ds_l1_init(&table.l1, SLOTS), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ds_l1_destroy(&table.l1);
	ds_token_table_destroy(&table);
	return 0;
}

static u32 create(u32 number)
{
	struct ds_token_desc d;
	u32 token;

	memset(&d, 0, sizeof(d));
	d.type = DS_TOKEN_QP;
	d.qp.number = number;
	assert_int_equal(ds_token_create(&table, &d, &token), 0);
	return token;
}

/* Its slot, whoever left a hint or not. */
static u32 find(u32 token)
{
	struct ds_token_pack p;
	u32 slot, found;

	for (slot = 0; slot < SLOTS; slot++) {
		ds_l1_hint(&table.l1, token, slot);
		found = ds_l1_find(&table.l1, token, &p);
		if (found != DS_L1_NONE)
			return found;
	}
	return DS_L1_NONE;
}

static void limits(void **state)
{
	struct ds_l1 l1;

	(void)state;
	assert_int_equal(ds_l1_init(&l1, 0), -EINVAL);
	assert_int_equal(ds_l1_init(&l1, DS_L1_MAX + 1), -EINVAL);
	assert_int_equal(ds_l1_init(&l1, DS_L1_MAX), 0);
	ds_l1_destroy(&l1);
}

static void hints(void **state)
{
	u32 a = create(1), other;
	struct ds_token_pack p;

	(void)state;
	assert_int_equal(ds_l1_find(&table.l1, a, &p), DS_L1_NONE);
	assert_int_equal(move_now(&table, a, 1, 5), 0);
	assert_int_equal(ds_l1_find(&table.l1, a, &p), DS_L1_NONE);	/* nobody said so */
	ds_l1_hint(&table.l1, a, 4);					/* a lie */
	assert_int_equal(ds_l1_find(&table.l1, a, &p), DS_L1_NONE);
	ds_l1_hint(&table.l1, a, 5);
	assert_int_equal(ds_l1_find(&table.l1, a, &p), 5);
	assert_int_equal(p.fixed & 0xffffff, 1);
	/* The next generation is another token, and others are, too. */
	other = ds_token_make(DS_TOKEN_QP, ds_token_gen(a) + 1, ds_token_index(a));
	assert_int_equal(find(other), DS_L1_NONE);
	other = ds_token_make(DS_TOKEN_MR, ds_token_gen(a), ds_token_index(a));
	assert_int_equal(find(other), DS_L1_NONE);
}

/* Of those with the same place among the hints the last two are found, however often one is hinted at. */
static void two_in_a_place(void **state)
{
	u32 token, same[3], n = 0;
	struct ds_token_pack p;

	(void)state;
	while (n < ARRAY_SIZE(same)) {
		token = create(n);
		if (n && ds_l1_hints(&table.l1, ds_l1_hash(token)) !=
			 ds_l1_hints(&table.l1, ds_l1_hash(same[0])))
			continue;
		same[n++] = token;
		assert_int_equal(move_now(&table, token, 1, n), 0);
		ds_l1_hint(&table.l1, token, n);
		ds_l1_hint(&table.l1, token, n);
		assert_int_equal(ds_l1_find(&table.l1, token, &p), n);
		if (n > 1)
			assert_int_equal(ds_l1_find(&table.l1, same[n - 2], &p), n - 1);
	}
	assert_int_equal(ds_l1_find(&table.l1, same[0], &p), DS_L1_NONE);
}

/* Whose version has come round has the same word as before, though its slot is another's by now. */
static void in_another_ones_slot(void **state)
{
	u32 a = create(1), b = create(2);
	struct ds_token_pack p = { 0, 0 };
	struct ds_token_desc d;

	(void)state;
	assert_int_equal(move_now(&table, a, 1, 3), 0);
	ds_l1_fill(&table.l1, 3, b, &p);
	assert_int_equal(ds_token_get(&table, a, &d), -EAGAIN);
}

/* A handle of 0 is no token, though an empty slot shows 0. */
static void no_handle(void **state)
{
	struct ds_cache cache;
	struct ds_token_pack p;

	(void)state;
	assert_int_equal(ds_cache_init(&cache, 100, SLOTS, DS_POLICY_DEFAULT, 0, DS_L2_ANYWHERE), 0);
	assert_int_equal(ds_cache_look(&cache, 0, &p), -EBADF);
	assert_int_equal(ds_cache_look(&cache, ~0u, &p), -EBADF);
	assert_int_equal(ds_cache_destroy(&cache), 0);
}

static void each_step(void **state)
{
	u32 a = create(1), b = create(2);
	struct ds_move m;

	(void)state;
	/* It comes. */
	assert_int_equal(ds_move_begin(&table, &m, a, 1, 3), 0);
	assert_int_equal(find(a), DS_L1_NONE);
	assert_int_equal(ds_move_copy(&table, &m), 0);
	assert_int_equal(find(a), DS_L1_NONE);
	assert_int_equal(ds_token_add_posted(&table, a, 1), 0);	/* the copy is old */
	assert_int_equal(ds_move_commit(&table, &m), -EAGAIN);
	assert_int_equal(find(a), DS_L1_NONE);
	ds_move_abort(&table, &m);
	assert_int_equal(find(a), DS_L1_NONE);
	assert_int_equal(move_now(&table, a, 1, 3), 0);
	assert_int_equal(find(a), 3);

	/* It stays after all. */
	assert_int_equal(ds_move_begin(&table, &m, a, 3, 0), 0);
	assert_int_equal(find(a), DS_L1_NONE);
	assert_int_equal(ds_move_copy(&table, &m), 0);
	assert_int_equal(find(a), DS_L1_NONE);
	ds_move_abort(&table, &m);
	assert_int_equal(find(a), 3);

	/* It goes, and another one comes. */
	assert_int_equal(move_now(&table, a, 3, 0), 0);
	assert_int_equal(find(a), DS_L1_NONE);
	assert_int_equal(move_now(&table, b, 1, 3), 0);
	assert_int_equal(find(a), DS_L1_NONE);
	assert_int_equal(find(b), 3);
	/* Who hides a token that is not there any more hides no other. */
	ds_l1_hide(&table.l1, a, 3);
	assert_int_equal(find(b), 3);
	/* One whose revoker has not hidden it yet is hidden by the next one that comes. */
	ds_l1_fill(&table.l1, 3, a, &m.pack);
	assert_int_equal(find(b), DS_L1_NONE);
}

static void revoked(void **state)
{
	u32 a = create(1), b = create(2), c = create(3);
	struct ds_move m;

	(void)state;
	assert_int_equal(move_now(&table, a, 1, 0), 0);
	assert_int_equal(ds_token_revoke(&table, a, &waiter), 0);
	assert_int_equal(find(a), DS_L1_NONE);

	/* On its way here. */
	assert_int_equal(ds_move_begin(&table, &m, b, 1, 1), 0);
	assert_int_equal(ds_move_copy(&table, &m), 0);
	assert_int_equal(ds_token_hold(&table, b), 0);
	assert_int_equal(ds_token_revoke(&table, b, &waiter), -EINPROGRESS);
	assert_int_equal(ds_move_commit(&table, &m), -ESTALE);
	assert_int_equal(find(b), DS_L1_NONE);

	/* On its way from here, and the mover gives up. */
	assert_int_equal(move_now(&table, c, 1, 2), 0);
	assert_int_equal(ds_move_begin(&table, &m, c, 3, 0), 0);
	assert_int_equal(ds_token_hold(&table, c), 0);
	assert_int_equal(ds_token_revoke(&table, c, &waiter), -EINPROGRESS);
	ds_move_abort(&table, &m);
	assert_int_equal(find(c), DS_L1_NONE);
}

/* A full L1 is found without the directory, but for what has no room among the hints. */
static void most_are_found(void **state)
{
	enum { CAPACITY = 1024 };
	u32 i, shown = 0, made[CAPACITY];
	struct ds_token_table big;
	struct ds_token_pack p;

	(void)state;
	assert_int_equal(ds_token_table_init(&big, CAPACITY), 0);
	assert_int_equal(ds_l1_init(&big.l1, CAPACITY), 0);
	for (i = 0; i < CAPACITY; i++) {
		struct ds_token_desc d = { .type = DS_TOKEN_PD, .pd.number = i };

		assert_int_equal(ds_token_create(&big, &d, &made[i]), 0);
		assert_int_equal(move_now(&big, made[i], 1, i), 0);
		ds_l1_hint(&big.l1, made[i], i);
	}
	for (i = 0; i < CAPACITY; i++) {
		if (ds_l1_find(&big.l1, made[i], &p) == DS_L1_NONE)
			continue;
		assert_int_equal(p.fixed & 0xffffff, i);
		shown++;
	}
	print_message("# %u of %u\n", shown, CAPACITY);
	assert_true(shown > CAPACITY * 97 / 100);
	ds_l1_destroy(&big.l1);
	ds_token_table_destroy(&big);
}

/* ---- many threads: after a revoke has returned nobody finds the token ---- */

enum { ROUNDS = STEPS(100000) };

static u32 now, dead;	/* handles: that is made, that is revoked */
static u64 found, wrong;
static bool stop;

static void *seek(void *arg)
{
	struct ds_token_pack p;

	(void)arg;
	while (!READ_ONCE(stop)) {
		u32 was_dead = smp_load_acquire(&dead), token = smp_load_acquire(&now), slot;

		for (slot = 0; slot < SLOTS; slot++) {
			ds_l1_hint(&table.l1, was_dead, slot);
			if (was_dead && ds_l1_find(&table.l1, was_dead, &p) != DS_L1_NONE)
				__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
			ds_l1_hint(&table.l1, token, slot);
			if (token && ds_l1_find(&table.l1, token, &p) != DS_L1_NONE)
				__atomic_fetch_add(&found, 1, __ATOMIC_RELAXED);
		}
		sched_yield();
	}
	return NULL;
}

/* Each other move is given up when it has begun: then the token is shown where it was. */
static bool gives_up(u32 token, enum ds_move_step step)
{
	static u32 moves;

	(void)token;
	return step == DS_MOVE_CLAIMED && ++moves % 2;
}

/* The slot is always the same: moves of two tokens to it would be a mistake of the caller. */
static void *carry(void *arg)
{
	u32 i;

	(void)arg;
	while (!READ_ONCE(stop)) {
		u32 token = smp_load_acquire(&now);

		for (i = 0; i < 2; i++)
			move_now(&table, token, 3, 0);
		for (i = 0; i < 2; i++)
			move_now(&table, token, 1, 7);
		sched_yield();
	}
	return NULL;
}

static void revoked_by_others(void **state)
{
	pthread_t seekers[2], carrier;
	u32 i, yields, token;
	int ret;

	(void)state;
	table.stops = gives_up;
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&seekers[i], NULL, seek, NULL), 0);
	assert_int_equal(pthread_create(&carrier, NULL, carry, NULL), 0);
	for (i = 0; i < ROUNDS; i++) {
		token = create(i);
		smp_store_release(&now, token);
		for (yields = 0; yields < i % 16; yields++)
			sched_yield();
		unused = false;
		ret = ds_token_revoke(&table, token, &waiter);
		smp_store_release(&dead, token);
		while (ret == -EINPROGRESS && !smp_load_acquire(&unused))
			sched_yield();
		ds_token_free(&table, token);
	}
	WRITE_ONCE(stop, true);
	for (i = 0; i < 2; i++)
		pthread_join(seekers[i], NULL);
	pthread_join(carrier, NULL);
	print_message("# found %llu times\n", found);
	assert_int_equal(wrong, 0);
	assert_true(found > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits),
		cmocka_unit_test_setup_teardown(in_another_ones_slot, setup, teardown),
		cmocka_unit_test_setup_teardown(hints, setup, teardown),
		cmocka_unit_test_setup_teardown(two_in_a_place, setup, teardown),
		cmocka_unit_test_setup_teardown(no_handle, setup, teardown),
		cmocka_unit_test_setup_teardown(each_step, setup, teardown),
		cmocka_unit_test_setup_teardown(revoked, setup, teardown),
		cmocka_unit_test_setup_teardown(most_are_found, setup, teardown),
		cmocka_unit_test_setup_teardown(revoked_by_others, setup, teardown),
	};

	return cmocka_run_group_tests_name("core_shown", tests, NULL, NULL);
}
