// SPDX-License-Identifier: Apache-2.0
/*
 * Tokens, many threads: users get and put while owners create, revoke and free.
 *
 * What a token stands for is an object with a plain field. A user reads it
 * between get and put; the owner overwrites it once the revoke is complete. If
 * the table ever let a user in too late or an owner out too early, the user
 * would see the wrong value, and the thread sanitizer would see the race. The
 * token itself is handed over without any order, so that all order there is
 * comes from the table.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "tokencache/table.h"

enum { OWNERS = 2, USERS = 3, OBJECTS = 8, ROUNDS = 4000, PER_OWNER = OBJECTS / OWNERS };

#define SECONDS_MAX	60ULL
#define DEAD		0xdeadULL

struct object {
	u64 place;	/* token << 32 | number of the life; moved as one */
	u64 value;	/* number of the life, DEAD between lives; plain */
	u32 token;	/* the owner's */
};

static struct ds_token_table table;
static struct object objects[OBJECTS];
static u64 uses, stale, waits, wrong;
static bool stop;

static void count(u64 *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

struct waiter {
	struct ds_token_idle idle;
	sem_t told;
};

static void wake(struct ds_token_idle *idle)
{
	sem_post(&container_of(idle, struct waiter, idle)->told);
}

/* Each life is of the next type, one in eight is wide. */
static struct ds_token_desc desc_of(u32 life)
{
	struct ds_token_desc d;

	memset(&d, 0, sizeof(d));
	d.type = life % DS_TOKEN_TYPES;
	switch (d.type) {
	case DS_TOKEN_PD:
		d.pd.number = ~life;
		d.pd.domain = life % 8 ? 0 : life << 16;
		break;
	case DS_TOKEN_MR:
		d.mr.rkey = ~life;
		d.mr.iova = (u64)life << 12;
		d.mr.length = (life & 0x1ff) << 12;
		d.mr.page_shift = life % 8 == 1 ? 2 : 12;
		break;
	case DS_TOKEN_CQ:
		d.cq.number = life;
		d.cq.vector = life % 8 == 2 ? life << 8 : life & 0xff;
		break;
	default:
		d.qp.number = life;
		d.qp.posted = (u16)life;
		d.qp.scq = life;
		d.qp.rcq = life;
		d.qp.access = life % 8 == 3 ? 0x100 : life & 0x3f;
	}
	return d;
}

static void begin_life(struct object *o, u32 life)
{
	struct ds_token_desc d = desc_of(life);

	o->value = life;
	if (ds_token_create(&table, &d, &o->token))
		count(&wrong);
	WRITE_ONCE(o->place, (u64)o->token << 32 | life);
}

static void end_life(struct object *o, struct waiter *w)
{
	int ret = ds_token_revoke(&table, o->token, &w->idle);

	if (ret == -EINPROGRESS) {
		count(&waits);
		sem_wait(&w->told);
	} else if (ret) {
		count(&wrong);
	}
	o->value = DEAD;
	ds_token_free(&table, o->token);
}

/* Rounds enough, and until every path was taken or time is up. */
static bool enough(u32 round, u64 start)
{
	if (ds_mono_ns() - start > SECONDS_MAX * 1000000000)
		return true;
	return round >= ROUNDS && READ_ONCE(waits) > 100 &&
	       READ_ONCE(uses) > 1000 && READ_ONCE(stale) > 100;
}

static void *owner(void *arg)
{
	struct object *mine = arg;
	u64 start = ds_mono_ns();
	u32 round, i;
	struct waiter idle = { .idle.done = wake };

	sem_init(&idle.told, 0, 0);
	for (i = 0; i < PER_OWNER; i++)
		begin_life(&mine[i], i + 1);
	for (round = 0; !enough(round, start); round++) {
		struct object *o = &mine[round % PER_OWNER];

		end_life(o, &idle);
		if (!(round % 64))
			sched_yield();		/* users find it revoked */
		begin_life(o, round + PER_OWNER + 1);
	}
	for (i = 0; i < PER_OWNER; i++)
		end_life(&mine[i], &idle);
	if (!sem_trywait(&idle.told))
		count(&wrong);			/* told twice */
	sem_destroy(&idle.told);
	return NULL;
}

static void use(struct object *o, u32 n)
{
	u64 place = READ_ONCE(o->place);
	u32 token = place >> 32, life = (u32)place;
	struct ds_token_desc d, want;
	int ret;

	if (!token)
		return;
	ret = ds_token_get(&table, token, &d);
	if (ret) {
		count(ret == -ESTALE ? &stale : &wrong);
		return;
	}
	want = desc_of(life);
	want.tier = 3;
	if (memcmp(&d, &want, sizeof(d)))
		count(&wrong);
	if (!(n % 16))
		sched_yield();			/* the owner finds it in use */
	if (o->value != life)
		count(&wrong);
	ds_token_put(&table, token);
	count(&uses);
}

static void *user(void *arg)
{
	u32 n = (u32)(uintptr_t)arg;

	while (!READ_ONCE(stop)) {
		n = n * 1664525 + 1013904223;
		use(&objects[(n >> 16) % OBJECTS], n >> 8);
	}
	return NULL;
}

/* Asks for tokens that nobody makes, beside those that are made. */
static void *guesser(void *arg)
{
	struct ds_token_desc d;
	u32 n = 0;

	(void)arg;
	while (!READ_ONCE(stop)) {
		u32 index = 512 + n++ % 512;

		if (ds_token_get(&table, 1u << DS_TOKEN_GEN_OFF | index, &d) != -EBADF)
			count(&wrong);
		if (!(n % 1024))
			sched_yield();
	}
	return NULL;
}

static void users_against_owners(void **state)
{
	pthread_t owners[OWNERS], users[USERS], guess;
	uintptr_t i;

	(void)state;
	assert_int_equal(ds_token_table_init(&table, OBJECTS), 0);
	assert_int_equal(pthread_create(&guess, NULL, guesser, NULL), 0);
	for (i = 0; i < OWNERS; i++)
		assert_int_equal(pthread_create(&owners[i], NULL, owner,
						&objects[i * PER_OWNER]), 0);
	for (i = 0; i < USERS; i++)
		assert_int_equal(pthread_create(&users[i], NULL, user, (void *)i), 0);
	for (i = 0; i < OWNERS; i++)
		pthread_join(owners[i], NULL);
	WRITE_ONCE(stop, true);
	for (i = 0; i < USERS; i++)
		pthread_join(users[i], NULL);
	pthread_join(guess, NULL);

	print_message("# %llu uses, %llu refused as stale, %llu revokes that waited\n",
		      uses, stale, waits);
	assert_int_equal(wrong, 0);
	assert_int_not_equal(uses, 0);
	assert_int_not_equal(stale, 0);
	assert_int_not_equal(waits, 0);
	assert_int_equal(ds_token_count(&table), 0);
	assert_int_equal(ds_token_table_destroy(&table), 0);
}

static u32 written;
static int revoke_ret;
static bool revoked;

static void *revoker(void *arg)
{
	struct waiter *w = arg;

	revoke_ret = ds_token_revoke(&table, written, &w->idle);
	WRITE_ONCE(revoked, true);
	return NULL;
}

/* Who writes to a token would write over the waiter of its revoker, who waits for that. */
static void revoked_while_written_to(void **state)
{
	struct ds_token_desc d = desc_of(DS_TOKEN_QP);
	struct waiter w = { .idle.done = wake };
	pthread_t thread;
	u64 *word, seen;
	u32 i;

	(void)state;
	assert_int_equal(ds_token_table_init(&table, OBJECTS), 0);
	assert_int_equal(ds_token_create(&table, &d, &written), 0);
	word = ds_token_word(&table, written);
	seen = READ_ONCE(*word);
	assert_true(ds_cmpxchg64(word, seen, seen | DS_WORD_WRITER) == seen);
	assert_int_equal(pthread_create(&thread, NULL, revoker, &w), 0);
	for (i = 0; i < 1000; i++) {
		sched_yield();
		assert_false(READ_ONCE(revoked));
		assert_int_equal(ds_word_check(READ_ONCE(*word), written), 0);
	}
	assert_true(ds_cmpxchg64(word, seen | DS_WORD_WRITER, seen) == (seen | DS_WORD_WRITER));
	pthread_join(thread, NULL);
	assert_int_equal(revoke_ret, 0);
	assert_int_equal(ds_word_state(READ_ONCE(*word)), DS_TOKEN_REVOKED);
	ds_token_free(&table, written);
	assert_int_equal(ds_token_table_destroy(&table), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_against_owners),
		cmocka_unit_test(revoked_while_written_to),
	};

	return cmocka_run_group_tests_name("core_token_race", tests, NULL, NULL);
}
