// SPDX-License-Identifier: Apache-2.0
/* Tokens, one thread: what a handle says through create, use, revoke and reuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim.h"

static int allocs_left = -1;	/* -1: no limit */
static void (*during_alloc)(void);

static void *test_alloc(size_t size)
{
	void (*call)(void) = during_alloc;

	during_alloc = NULL;
	if (call)
		call();
	if (!allocs_left)
		return NULL;
	if (allocs_left > 0)
		allocs_left--;
	return calloc(1, size);
}

/* The file itself, so that its memory can run out and its words can be set. */
#undef ds_alloc
#define ds_alloc(size) test_alloc(size)
#include "tokencache/token.c"

static struct ds_token_table table;
static int idle_calls;

static int setup(void **state)
{
	(void)state;
	idle_calls = 0;
	allocs_left = -1;
	return ds_token_table_init(&table, SLOTS_MAX);
}

static int teardown(void **state)
{
	(void)state;
	ds_token_table_destroy(&table);
	return 0;
}

static struct ds_token_desc desc_of(u8 type, u32 key)
{
	return (struct ds_token_desc){
		.type = type, .access = 3, .key = key, .base = 1ULL << 40,
		.length = 4096, .owner = ~0ULL,
	};
}

static u32 create(u8 type, u32 key)
{
	struct ds_token_desc d = desc_of(type, key);
	u32 token = 0;

	assert_int_equal(ds_token_create(&table, &d, &token), 0);
	assert_int_not_equal(token, 0);
	assert_int_equal(token >> DS_TOKEN_TYPE_OFF, type);
	return token;
}

static void count_idle(void *ctx)
{
	assert_ptr_equal(ctx, &idle_calls);
	idle_calls++;
}

static int revoke(u32 token)
{
	return ds_token_revoke(&table, token, count_idle, &idle_calls);
}

static int get(u32 token)
{
	struct ds_token_desc d;

	return ds_token_get(&table, token, &d);
}

static void end(u32 token)
{
	assert_int_equal(revoke(token), 0);
	ds_token_free(&table, token);
}

static u32 next_gen(u32 token)
{
	return token + (1u << DS_TOKEN_GEN_OFF);
}

static void init_limits(void **state)
{
	struct ds_token_table t;

	(void)state;
	assert_int_equal(ds_token_table_init(&t, 0), -EINVAL);
	assert_int_equal(ds_token_table_init(&t, SLOTS_MAX + 1), -EINVAL);
	allocs_left = 0;
	assert_int_equal(ds_token_table_init(&t, 1), -ENOMEM);
}

static void never_existed(void **state)
{
	static const u32 tokens[] = { 0, 1, 1u << 22, 1u << 30, 0x3fffff, UINT32_MAX };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(tokens); i++) {
		assert_int_equal(get(tokens[i]), -EBADF);
		assert_int_equal(revoke(tokens[i]), -EBADF);
		ds_token_put(&table, tokens[i]);
		ds_token_free(&table, tokens[i]);
	}
	assert_int_equal(ds_token_count(&table), 0);
}

static void create_rejects(void **state)
{
	struct ds_token_desc d = desc_of(DS_TOKEN_TYPES, 0);
	u32 token = 77;

	(void)state;
	assert_int_equal(ds_token_create(&table, &d, &token), -EINVAL);
	d = desc_of(DS_TOKEN_MR, 0);
	d.reserved = 1;
	assert_int_equal(ds_token_create(&table, &d, &token), -EINVAL);
	assert_int_equal(token, 77);
	assert_int_equal(ds_token_count(&table), 0);
}

static void life_of_a_token(void **state)
{
	struct ds_token_desc want = desc_of(DS_TOKEN_MR, 0x1234), got;
	u32 token = create(DS_TOKEN_MR, 0x1234), again;

	(void)state;
	assert_int_equal(ds_token_get(&table, token, &got), 0);
	assert_memory_equal(&got, &want, sizeof(want));
	ds_token_put(&table, token);

	assert_int_equal(get(next_gen(token)), -EBADF);
	assert_int_equal(get(token & ~(GEN_LAST << DS_TOKEN_GEN_OFF)), -EBADF);
	assert_int_equal(get(token + 1), -EBADF);
	assert_int_equal(get(token ^ (1u << DS_TOKEN_TYPE_OFF)), -EBADF);
	assert_int_equal(revoke(token ^ (1u << DS_TOKEN_TYPE_OFF)), -EBADF);

	assert_int_equal(revoke(token), 0);
	assert_int_equal(get(token), -ESTALE);
	assert_int_equal(revoke(token), -ESTALE);
	assert_int_equal(ds_token_count(&table), 1);
	ds_token_free(&table, token);
	assert_int_equal(ds_token_count(&table), 0);
	assert_int_equal(get(token), -ESTALE);
	assert_int_equal(get(next_gen(token)), -EBADF);
	assert_int_equal(idle_calls, 0);

	again = create(DS_TOKEN_QP, 9);		/* same slot, other type */
	assert_int_equal(token_index(again), token_index(token));
	assert_int_equal(get(token), -ESTALE);
	assert_int_equal(revoke(token), -ESTALE);
	assert_int_equal(ds_token_get(&table, again, &got), 0);
	assert_int_equal(got.key, 9);
	ds_token_put(&table, again);
}

static void last_put_tells(void **state)
{
	u32 token = create(DS_TOKEN_MR, 1);

	(void)state;
	assert_int_equal(get(token), 0);
	assert_int_equal(get(token), 0);
	ds_token_put(&table, token);
	assert_int_equal(get(token), 0);
	assert_int_equal(revoke(token), -EINPROGRESS);
	assert_int_equal(get(token), -ESTALE);
	assert_int_equal(revoke(token), -ESTALE);
	ds_token_put(&table, token);
	assert_int_equal(idle_calls, 0);
	ds_token_put(&table, token);
	assert_int_equal(idle_calls, 1);
	ds_token_free(&table, token);
	assert_int_equal(idle_calls, 1);
	assert_int_equal(ds_token_count(&table), 0);
}

/* Calls at the wrong time change nothing. */
static void wrong_time(void **state)
{
	u32 token = create(DS_TOKEN_MR, 1);

	(void)state;
	ds_token_put(&table, token);		/* without a get */
	assert_int_equal(get(token), 0);
	ds_token_free(&table, token);		/* live */
	assert_int_equal(ds_token_count(&table), 1);
	assert_int_equal(revoke(token), -EINPROGRESS);
	ds_token_free(&table, token);		/* in use */
	assert_int_equal(ds_token_count(&table), 1);
	ds_token_put(&table, token);
	ds_token_put(&table, token);		/* once too often */
	assert_int_equal(idle_calls, 1);
	ds_token_free(&table, next_gen(token));
	assert_int_equal(ds_token_count(&table), 1);
	ds_token_free(&table, token);
	ds_token_free(&table, token);		/* twice */
	assert_int_equal(ds_token_count(&table), 0);
	assert_int_not_equal(create(DS_TOKEN_MR, 2) & INDEX_MASK,
			     create(DS_TOKEN_MR, 3) & INDEX_MASK);
}

static void slots_in_turn(void **state)
{
	u32 token[4];
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		token[i] = create(DS_TOKEN_MR, i);
	end(token[2]);
	end(token[0]);
	end(token[3]);
	assert_int_equal(token_index(create(DS_TOKEN_MR, 0)), 2);
	assert_int_equal(token_index(create(DS_TOKEN_MR, 0)), 0);
	assert_int_equal(token_index(create(DS_TOKEN_MR, 0)), 3);
	assert_int_equal(token_index(create(DS_TOKEN_MR, 0)), 4);
}

/* A slot gives each generation once, and never one again. */
static void retirement(void **state)
{
	u32 i, gen, token;

	(void)state;
	for (i = 1; i <= GEN_LAST; i++) {
		token = create(DS_TOKEN_CQ, i);
		assert_int_equal(token_index(token), 0);
		assert_int_equal(token_gen(token), i);
		end(token);
	}
	assert_int_equal(token_index(create(DS_TOKEN_CQ, 0)), 1);
	for (gen = 1; gen <= GEN_LAST; gen++)
		assert_int_equal(get((u32)DS_TOKEN_CQ << DS_TOKEN_TYPE_OFF |
				     gen << DS_TOKEN_GEN_OFF), -ESTALE);
	assert_int_equal(ds_token_count(&table), 1);
}

static void quota(void **state)
{
	struct ds_token_desc d = desc_of(DS_TOKEN_MR, 0);
	struct ds_token_table t;
	u32 a, b;

	(void)state;
	assert_int_equal(ds_token_table_init(&t, 1), 0);
	assert_int_equal(ds_token_create(&t, &d, &a), 0);
	assert_int_equal(ds_token_create(&t, &d, &b), -EDQUOT);
	assert_int_equal(ds_token_revoke(&t, a, NULL, NULL), 0);
	assert_int_equal(ds_token_create(&t, &d, &b), -EDQUOT);	/* not free yet */
	ds_token_free(&t, a);
	assert_int_equal(ds_token_create(&t, &d, &b), 0);
	assert_int_equal(ds_token_table_destroy(&t), 1);	/* b is a leak */
}

static void no_memory(void **state)
{
	struct ds_token_desc d = desc_of(DS_TOKEN_MR, 0);
	u32 token, i;

	(void)state;
	allocs_left = 0;
	assert_int_equal(ds_token_create(&table, &d, &token), -ENOMEM);
	assert_int_equal(ds_token_count(&table), 0);
	allocs_left = 1;
	for (i = 0; i < PAGE_SLOTS; i++)
		create(DS_TOKEN_MR, i);
	assert_int_equal(ds_token_create(&table, &d, &token), -ENOMEM);
	allocs_left = -1;
	token = create(DS_TOKEN_MR, 5);
	assert_int_equal(token_index(token), PAGE_SLOTS);
	assert_int_equal(get(token), 0);
	assert_int_equal(get(token + 1), -EBADF);
	assert_int_equal(get(token + PAGE_SLOTS), -EBADF);
	assert_int_equal(ds_token_table_destroy(&table), PAGE_SLOTS + 1);
	assert_int_equal(setup(state), 0);
}

static void create_two(void)
{
	create(DS_TOKEN_MR, 1);
	create(DS_TOKEN_MR, 2);
}

/* While one creator fetches a page, another brings one: the first is not needed. */
static void another_creator_was_faster(void **state)
{
	(void)state;
	during_alloc = create_two;
	assert_int_equal(token_index(create(DS_TOKEN_MR, 3)), 2);
	assert_int_equal(ds_token_count(&table), 3);
}

/* The last index, without four million slots before it. */
static void no_slot(void **state)
{
	struct ds_token_desc d = desc_of(DS_TOKEN_QP, 0);
	u32 last, token;

	(void)state;
	table.used = SLOTS_MAX - 1;
	last = create(DS_TOKEN_QP, 0);
	assert_int_equal(token_index(last), SLOTS_MAX - 1);
	assert_int_equal(ds_token_create(&table, &d, &token), -ENOSPC);
	end(last);
	token = create(DS_TOKEN_QP, 0);
	assert_int_equal(token, next_gen(last));
}

static void too_many_references(void **state)
{
	u32 token = create(DS_TOKEN_MR, 0);
	struct ds_token_slot *slot = token_slot(&table, token_index(token));

	(void)state;
	slot->word += WORD_REFS_MAX - 1;
	assert_int_equal(get(token), 0);
	assert_int_equal(get(token), -EOVERFLOW);
	assert_int_equal(word_state(slot->word), TOKEN_LIVE);
	assert_int_equal(word_type(slot->word), DS_TOKEN_MR);
	assert_int_equal(revoke(token), -EINPROGRESS);
	slot->word -= WORD_REFS_MAX - 1;
	ds_token_put(&table, token);
	assert_int_equal(idle_calls, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(init_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(never_existed, setup, teardown),
		cmocka_unit_test_setup_teardown(create_rejects, setup, teardown),
		cmocka_unit_test_setup_teardown(life_of_a_token, setup, teardown),
		cmocka_unit_test_setup_teardown(last_put_tells, setup, teardown),
		cmocka_unit_test_setup_teardown(wrong_time, setup, teardown),
		cmocka_unit_test_setup_teardown(slots_in_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(retirement, setup, teardown),
		cmocka_unit_test_setup_teardown(quota, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(another_creator_was_faster, setup, teardown),
		cmocka_unit_test_setup_teardown(no_slot, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_references, setup, teardown),
	};

	return cmocka_run_group_tests_name("core_token", tests, NULL, NULL);
}
