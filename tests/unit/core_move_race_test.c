// SPDX-License-Identifier: Apache-2.0
/*
 * Tokens on their way, many threads: readers and writers of tokens that others carry from
 * tier to tier and back without an end.
 *
 * A token's number of posted requests is its sequence: writers add to it, and no reader may
 * see it go back, nor miss what he has added himself. In the end it is what was added: no
 * update is lost. That it is the token that was asked for is seen by its number. Words go
 * through all versions many times. Every fourth token is an MR, which has no such field: both
 * its words say which one it is.
 *
 * DS_TEST_STEPS: reads and writes of all threads that were done and checked, for each of both
 * modes. What was refused, or could not be checked, is counted apart.
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
#include "tokencache/move.h"
#include "tokencache/table.h"

enum { TOKENS = 16, SLOTS = 6, L2_PAGES = 2, L2_SLOTS = 7, USERS = 3, MOVERS = 2, NO_SLOT = -1 };
enum { REFUSED_MAX = 1000000 };	/* in a row: nothing moves any more */

struct user {
	pthread_t thread;
	u64 steps;
	u32 random;
	u16 seen[TOKENS];	/* and what this user has added since */
	u64 when[TOKENS];	/* all writes of all users, before it was seen */
	u64 added[TOKENS];
	u64 reads, found, writes;	/* done and checked */
	u64 own;		/* writes after which the same user read at once */
	u64 refused, in_a_row;
	u64 late;		/* reads that could not be checked */
};

static struct ds_token_table table;
static struct user users[USERS];
static u32 tokens[TOKENS];
static u64 wrong, moves[4][4], spoiled;
static bool stop;

/* Free slots: the tiers' owner has them under a lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int free_slots[SLOTS], free_count;
static u32 l2_pages;	/* which were opened for buckets */

static void count(u64 *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static void give_slot(u32 tier, int slot)
{
	pthread_mutex_lock(&lock);
	if (tier == 1)
		free_slots[free_count++] = slot;
	else if (tier == 2)
		ds_l2_give(&table.l2, (u32)slot);
	pthread_mutex_unlock(&lock);
}

/* Pages of L2 go from bucket to bucket, as few are in it. */
static int take_l2_slot(u64 fixed)
{
	u32 slot;

	if (table.l2.used == L2_SLOTS)
		return NO_SLOT;
	slot = ds_l2_take(&table.l2, fixed);
	l2_pages += !ds_l2_page_of(&table.l2, slot)->mixed && ds_l2_page_of(&table.l2, slot)->used == 1;
	return (int)slot;
}

static int take_slot(u32 tier, u64 fixed)
{
	int slot = NO_SLOT;

	pthread_mutex_lock(&lock);
	if (tier == 1 && free_count)
		slot = free_slots[--free_count];
	else if (tier == 2)
		slot = take_l2_slot(fixed);
	pthread_mutex_unlock(&lock);
	return slot;
}

static u32 next_random(u32 *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Without the directory, if it is shown. */
static bool find_one(u32 token, struct ds_token_desc *d)
{
	struct ds_token_pack p;

	return ds_l1_find(&table.l1, token, &p) != DS_L1_NONE && !ds_token_unpack(&p, NULL, d);
}

static bool is_mr(u32 i)
{
	return i % 4 == 3;
}

static struct ds_token_desc object(u32 i)
{
	struct ds_token_desc d;

	memset(&d, 0, sizeof(d));
	if (is_mr(i)) {
		d.type = DS_TOKEN_MR;
		d.mr.lkey = i + 1;
		d.mr.page_shift = 12;
		d.mr.iova = (u64)(i + 1) << 40;
		d.mr.pd = i;
	} else {
		d.type = DS_TOKEN_QP;
		d.qp.number = i + 1;
		d.qp.scq = i;
		d.qp.srq = i & 1;	/* in the high half of the first word */
	}
	return d;
}

/* But for what is posted. */
static bool is_object(u32 i, const struct ds_token_desc *d)
{
	if (d->type != (is_mr(i) ? DS_TOKEN_MR : DS_TOKEN_QP))
		return false;
	if (is_mr(i))
		return d->mr.lkey == i + 1 && d->mr.iova == (u64)(i + 1) << 40 && d->mr.pd == i;
	return d->qp.number == i + 1 && d->qp.scq == i && d->qp.srq == (i & 1);
}

/* That are complete. */
static u64 writes_of_all(void)
{
	u64 writes = 0;
	u32 i;

	for (i = 0; i < USERS; i++)
		writes += READ_ONCE(users[i].writes);
	return writes;
}

/* Was it refused as it may be? Then others are to go on. */
static void refused(struct user *u, int ret)
{
	if (ret != -EAGAIN)
		count(&wrong);
	u->refused++;
	u->in_a_row++;
	sched_yield();
}

/*
 * A sequence of 16 bits comes round: who was stopped while so many wrote cannot tell. @before:
 * all writes before it was read.
 */
static void look_at(struct user *u, u32 i, const struct ds_token_desc *d, u64 before)
{
	bool late = !is_mr(i) && writes_of_all() + USERS - u->when[i] > INT16_MAX;

	u->in_a_row = 0;
	if (!is_object(i, d) ||
	    (!is_mr(i) && !late && (s16)(d->qp.posted - u->seen[i]) < 0))
		count(&wrong);
	u->late += late;
	u->reads += !late;
	if (is_mr(i))
		return;
	u->seen[i] = d->qp.posted;
	u->when[i] = before;
}

static void read_one(struct user *u, u32 i)
{
	u64 before = writes_of_all();
	struct ds_token_desc d;
	int ret;

	if (find_one(tokens[i], &d)) {
		u->found++;
		look_at(u, i, &d, before);
		return;
	}
	ret = ds_token_get(&table, tokens[i], &d);
	if (ret) {
		refused(u, ret);
		return;
	}
	look_at(u, i, &d, before);
	if (d.tier == 1)
		ds_l1_hint(&table.l1, tokens[i], d.slot);
	ds_token_put(&table, tokens[i]);
}

/* Nobody who reads it from now on sees less than this user had seen, and one more. */
static bool write_one(struct user *u, u32 i)
{
	int ret = ds_token_add_posted(&table, tokens[i], 1);

	if (ret) {
		refused(u, ret);
		return false;
	}
	u->in_a_row = 0;
	u->added[i]++;
	u->seen[i]++;
	WRITE_ONCE(u->writes, u->writes + 1);
	return true;
}

static void *user(void *arg)
{
	struct user *u = arg;

	while (u->reads + u->writes < u->steps && u->in_a_row < REFUSED_MAX) {
		u32 r = next_random(&u->random), i = r % TOKENS;

		if (is_mr(i) || !(r >> 8 & 1)) {
			read_one(u, i);
		} else if (write_one(u, i) && !(r >> 9 & 3)) {
			u->own++;
			read_one(u, i);
		}
	}
	return NULL;
}

/* The slot that it leaves is the mover's, who sees it when it has claimed the token. */
static int move_to(u32 token, u32 to, int slot, u32 *from, int *left)
{
	struct ds_move m;
	int ret = ds_move_begin(&table, &m, token, to, (u32)slot);

	if (ret)
		return ret;
	*from = ds_word_tier(m.word);
	*left = (int)(*from == 1 ? ds_word_l1_slot(m.word) : ds_word_l2_slot(m.word));
	ret = ds_move_copy(&table, &m);
	if (!ret)
		ret = ds_move_commit(&table, &m);
	if (ret == -EAGAIN)
		ds_move_abort(&table, &m);
	return ret;
}

static void move_one(u32 token, u32 to)
{
	const u64 *home = ds_token_home_of(&table, token);
	int slot = 0, left = 0, ret;
	u32 from = 3;

	if (to != 3) {
		slot = take_slot(to, READ_ONCE(home[0]));
		if (slot == NO_SLOT)
			return;
	}
	ret = move_to(token, to, slot, &from, &left);
	if (ret)
		give_slot(to, slot);
	else
		give_slot(from, left);
	if (!ret)
		count(&moves[from][to]);
	else if (ret == -EAGAIN)
		count(&spoiled);
	else if (ret != -EEXIST && ret != -EBUSY)
		count(&wrong);
}

static void *mover(void *arg)
{
	u32 random = (u32)(uintptr_t)arg;

	while (!READ_ONCE(stop)) {
		u32 r = next_random(&random);

		move_one(tokens[r % TOKENS], (r >> 8) % 3 + 1);
		if (!(r >> 12 & 63))
			sched_yield();
	}
	return NULL;
}

/* As if there were many of each kind of tokens. */
static void crowd(u64 fixed)
{
	u32 i;

	for (i = 0; i < 300; i++)
		table.l2.crowd[hash_64(fixed >> 32, table.l2.bits)]++;
}

static void begin(void)
{
	u32 i;

	assert_int_equal(ds_token_table_init(&table, TOKENS), 0);
	assert_int_equal(ds_l1_init(&table.l1, SLOTS), 0);
	assert_int_equal(ds_l2_init(&table.l2, L2_PAGES, DS_L2_ANYWHERE), 0);
	for (free_count = 0; free_count < SLOTS; free_count++)
		free_slots[free_count] = free_count;
	for (i = 0; i < TOKENS; i++) {
		struct ds_token_desc d = object(i);

		assert_int_equal(ds_token_create(&table, &d, &tokens[i]), 0);
		crowd(*ds_token_home_of(&table, tokens[i]));
	}
	wrong = 0;
	memset(moves, 0, sizeof(moves));
	l2_pages = 0;
	spoiled = 0;
	stop = false;
}

/* Nothing is on its way, in use or half written; each has what was added to it. */
static void end(void)
{
	u32 i, u, in_l1 = 0, in_l2 = 0;

	for (i = 0; i < TOKENS; i++) {
		struct ds_token_desc d;
		u64 word, added = 0;

		for (u = 0; u < USERS; u++)
			added += users[u].added[i];
		assert_int_equal(ds_token_find(&table, tokens[i], &word), 0);
		assert_false(ds_word_is_moving(word));
		assert_int_equal(ds_word_uses(word), 0);
		assert_int_equal(word & DS_WORD_WRITER, 0);
		in_l1 += ds_word_tier(word) == 1;
		in_l2 += ds_word_tier(word) == 2;
		assert_int_equal(ds_token_get(&table, tokens[i], &d), 0);
		assert_true(is_object(i, &d));
		if (!is_mr(i))
			assert_int_equal(d.qp.posted, (u16)added);
		ds_token_put(&table, tokens[i]);
		assert_int_equal(ds_token_revoke(&table, tokens[i], NULL), 0);
		ds_token_free(&table, tokens[i]);
	}
	assert_int_equal(free_count + in_l1, SLOTS);
	assert_int_equal(table.l2.used, in_l2);
	ds_l2_destroy(&table.l2);
	ds_l1_destroy(&table.l1);
	assert_int_equal(ds_token_table_destroy(&table), 0);
}

/* What all have done, in @sum. */
static void run(u64 steps, struct user *sum)
{
	pthread_t movers[MOVERS];
	uintptr_t i;

	memset(users, 0, sizeof(users));
	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < MOVERS; i++)
		assert_int_equal(pthread_create(&movers[i], NULL, mover, (void *)(i + 100)), 0);
	for (i = 0; i < USERS; i++) {
		users[i].steps = steps / USERS + (i < steps % USERS);
		users[i].random = (u32)i + 1;
		assert_int_equal(pthread_create(&users[i].thread, NULL, user, &users[i]), 0);
	}
	for (i = 0; i < USERS; i++) {
		pthread_join(users[i].thread, NULL);
		sum->reads += users[i].reads;
		sum->found += users[i].found;
		sum->writes += users[i].writes;
		sum->own += users[i].own;
		sum->refused += users[i].refused;
		sum->late += users[i].late;
	}
	WRITE_ONCE(stop, true);
	for (i = 0; i < MOVERS; i++)
		pthread_join(movers[i], NULL);
}

static void users_against_movers(bool blocking)
{
	const char *given = getenv("DS_TEST_STEPS");
	u64 steps = given ? strtoull(given, NULL, 0) : 3000000;
	struct user sum;
	u32 i;

	begin();
	table.blocking = blocking;
	run(steps, &sum);
	print_message("# %llu checked: %llu reads, %llu of them without the directory, %llu writes, %llu of them read again at once; %llu refused, %llu late; moves %llu %llu %llu %llu %llu %llu, %llu given up\n",
		      sum.reads + sum.writes, sum.reads, sum.found, sum.writes, sum.own, sum.refused,
		      sum.late, moves[1][2], moves[1][3], moves[2][1], moves[2][3], moves[3][1],
		      moves[3][2], spoiled);
	assert_int_equal(wrong, 0);
	/* The last write of each may have been read, too. */
	assert_in_range(sum.reads + sum.writes, steps, steps + USERS);
	assert_true(sum.reads > steps / 2 && sum.writes > steps / 5 && sum.own > sum.writes / 5);
	assert_true(sum.found > steps / 100 && sum.late < steps / 10 && sum.refused < steps / 5);
	for (i = 0; i < 9; i++)
		assert_true(i % 4 == 0 || moves[i / 3 + 1][i % 3 + 1] > 0);
	assert_true(l2_pages > 0);
	end();
}

static void optimistic(void **state)
{
	(void)state;
	users_against_movers(false);
}

static void blocking(void **state)
{
	(void)state;
	users_against_movers(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(optimistic),
		cmocka_unit_test(blocking),
	};

	return cmocka_run_group_tests_name("core_move_race", tests, NULL, NULL);
}
