// SPDX-License-Identifier: Apache-2.0
/*
 * Whoever exchanges the word of a token finds that somebody else began a use of it since it was
 * read: each other time, one thread. Nothing is lost, nor done twice.
 */
#include "core_test.h"

static void before_exchange(u64 *place);

static inline u64 spoiled_exchange(u64 *place, u64 old, u64 new_value)
{
	before_exchange(place);
	return ds_cmpxchg64(place, old, new_value);
}

#define ds_cmpxchg64(p, old, new_value) spoiled_exchange(p, old, new_value)
#include "tokencache/token.c"
#include "tokencache/inline.c"
#include "tokencache/move.c"

enum { SLOTS = 4 };

static struct ds_token_table table;
static u64 *place;	/* of the token's word */
static bool is_second;
static u32 token, others, told;

static void before_exchange(u64 *p)
{
	if (p != place)
		return;
	is_second = !is_second;
	if (is_second) {
		*place += DS_WORD_USE;
		others++;
	}
}

static void tell(struct ds_token_idle *idle)
{
	(void)idle;
	told++;
}

static struct ds_token_idle waiter = { .done = tell };

static void start(void)
{
	struct ds_token_desc d = { .type = DS_TOKEN_QP, .qp.number = 7 };

	place = NULL;
	is_second = false;
	others = told = 0;
	assert_int_equal(ds_token_table_init(&table, 10), 0);
	assert_int_equal(ds_l1_init(&table.l1, SLOTS), 0);
	assert_int_equal(ds_token_create(&table, &d, &token), 0);
	place = ds_token_word(&table, token);
}

/* As many uses as there are besides those of others; nobody writes to it. */
static void assert_uses(u32 own, u32 tier)
{
	assert_int_equal(ds_word_uses(*place), own + others);
	assert_false(*place & DS_WORD_WRITER);
	assert_false(ds_word_is_moving(*place));
	assert_int_equal(ds_word_tier(*place), tier);
}

/* Who waits is told when the others have ended, and once. */
static void stop(void)
{
	u32 i, own;

	assert_int_equal(ds_token_revoke(&table, token, &waiter), -EINPROGRESS);
	own = ds_word_uses(*place);
	assert_int_equal(own, others);
	for (i = 0; i < own; i++) {
		assert_int_equal(told, 0);
		is_second = true;	/* no use begins any more */
		ds_token_put(&table, token);
	}
	assert_int_equal(told, 1);
	assert_int_equal(ds_word_uses(*place), 0);
	is_second = true;
	ds_token_free(&table, token);
	ds_l1_destroy(&table.l1);
	assert_int_equal(ds_token_table_destroy(&table), 0);
}

static void uses(void **state)
{
	struct ds_token_desc d;

	(void)state;
	start();
	assert_int_equal(ds_token_hold(&table, token), 0);
	assert_uses(1, 3);
	assert_int_equal(ds_token_get(&table, token, &d), 0);
	assert_int_equal(d.qp.number, 7);
	assert_uses(2, 3);
	ds_token_put(&table, token);
	ds_token_put(&table, token);
	assert_uses(0, 3);
	assert_int_equal(others, 4);
	stop();
}

static void writes(void **state)
{
	struct ds_token_desc d;

	(void)state;
	start();
	assert_int_equal(ds_token_add_posted(&table, token, 5), 0);
	assert_int_equal(ds_token_set_state(&table, token, 3), 0);
	assert_uses(0, 3);
	assert_int_equal(others, 4);
	assert_int_equal(ds_token_get(&table, token, &d), 0);
	assert_int_equal(d.qp.posted, 5);
	assert_int_equal(d.qp.state, 3);
	ds_token_put(&table, token);
	stop();
}

static void moves(void **state)
{
	struct ds_token_desc d;
	struct ds_move m;

	(void)state;
	start();
	assert_int_equal(ds_move_begin(&table, &m, token, 1, 2), 0);
	ds_move_abort(&table, &m);
	assert_uses(0, 3);
	assert_int_equal(ds_move_begin(&table, &m, token, 1, 2), 0);
	assert_int_equal(ds_move_copy(&table, &m), 0);
	assert_int_equal(ds_move_commit(&table, &m), 0);
	assert_uses(0, 1);
	assert_int_equal(ds_token_add_posted(&table, token, 5), 0);
	assert_int_equal(ds_move_begin(&table, &m, token, 3, 0), 0);
	ds_move_abort(&table, &m);
	assert_uses(0, 1);
	assert_int_equal(ds_move_begin(&table, &m, token, 3, 0), 0);
	assert_int_equal(ds_move_end(&table, &m), 0);
	assert_uses(0, 3);
	assert_int_equal(ds_token_get(&table, token, &d), 0);
	assert_int_equal(d.qp.posted, 5);
	ds_token_put(&table, token);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(uses),
		TEST(writes),
		TEST(moves),
	};

	return cmocka_run_group_tests_name("core_spoiled", tests, NULL, NULL);
}
