// SPDX-License-Identifier: Apache-2.0
/* Tokens, one thread: what a handle says through create, use, revoke and reuse. */
#include "core_token.h"

static void init_limits(void **state)
{
	struct ds_token_table t;

	(void)state;
	assert_int_equal(ds_token_table_init(&t, 0), -EINVAL);
	assert_int_equal(ds_token_table_init(&t, INDICES + 1), -EINVAL);
	for (allocs_left = 0; allocs_left < 4; allocs_left++) {
		int left = allocs_left;

		assert_int_equal(ds_token_table_init(&t, 1), -ENOMEM);
		allocs_left = left;
	}
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
	struct ds_token_desc d = desc_of(DS_TOKEN_QP, 0);
	u32 token = 77;

	(void)state;
	d.type = DS_TOKEN_TYPES;
	assert_int_equal(ds_token_create(&table, &d, &token), -EINVAL);
	d = desc_of(DS_TOKEN_QP, 0);
	d.qp.state = 7;
	assert_int_equal(ds_token_create(&table, &d, &token), -EINVAL);
	assert_int_equal(token, 77);
	assert_int_equal(ds_token_count(&table), 0);
}

static void expect(u32 token, struct ds_token_desc want)
{
	struct ds_token_desc got;

	want.tier = 3;
	assert_int_equal(ds_token_get(&table, token, &got), 0);
	assert_memory_equal(&got, &want, sizeof(want));
	ds_token_put(&table, token);
}

static void life_of_a_token(void **state)
{
	u32 token = create(DS_TOKEN_MR, 0x1234), again;

	(void)state;
	expect(token, desc_of(DS_TOKEN_MR, 0x1234));

	assert_int_equal(get(next_gen(token)), -EBADF);
	assert_int_equal(get(token & ~(0xffu << DS_TOKEN_GEN_OFF)), -EBADF);
	assert_int_equal(get(token + 1), -EBADF);
	assert_int_equal(get(token ^ (1u << DS_TOKEN_TYPE_OFF)), -EBADF);
	assert_int_equal(revoke(token ^ (1u << DS_TOKEN_TYPE_OFF)), -EBADF);

	assert_int_equal(revoke(token), 0);
	assert_int_equal(get(token), -ESTALE);
	assert_int_equal(ds_token_hold(&table, token), -ESTALE);
	assert_int_equal(revoke(token), -ESTALE);
	assert_int_equal(ds_token_count(&table), 1);
	ds_token_free(&table, token);
	assert_int_equal(ds_token_count(&table), 0);
	assert_int_equal(get(token), -ESTALE);
	assert_int_equal(get(next_gen(token)), -EBADF);
	assert_int_equal(idle_calls, 0);

	again = create(DS_TOKEN_QP, 9);		/* same index, other type */
	assert_int_equal(ds_token_index(again), ds_token_index(token));
	assert_int_equal(get(token), -ESTALE);
	assert_int_equal(revoke(token), -ESTALE);
	expect(again, desc_of(DS_TOKEN_QP, 9));
}

/* Each owner's tokens have indices of their own, which stay so. */
static void owners(void **state)
{
	static const u8 whose[] = { 0, 1, 255 };
	struct ds_token_desc d = { .type = DS_TOKEN_MR, .mr.length = 12345 };
	struct ds_token_desc pd = { .type = DS_TOKEN_PD };
	u32 tokens[ARRAY_SIZE(whose)], pds[ARRAY_SIZE(whose)], again;
	size_t i;

	(void)state;
	assert_int_equal(ds_token_table_init(&table, 7), 0);
	for (i = 0; i < ARRAY_SIZE(whose); i++) {
		assert_int_equal(ds_token_create_for(&table, whose[i], &d, &tokens[i]), 0);
		assert_int_equal(ds_token_create_for(&table, whose[i], &pd, &pds[i]), 0);
	}
	for (i = 0; i < ARRAY_SIZE(whose); i++) {
		assert_int_equal(ds_token_owner(&table, tokens[i]), whose[i]);
		assert_int_equal(ds_token_owner(&table, pds[i]), whose[i]);
		end(tokens[i]);
	}
	for (i = ARRAY_SIZE(whose); i-- > 0;) {
		assert_int_equal(ds_token_create_for(&table, whose[i], &d, &again), 0);
		assert_int_equal(ds_token_index(again), ds_token_index(tokens[i]));
		end(again);
		end(pds[i]);
	}
	assert_int_equal(ds_token_owner(&table, UINT32_MAX), 0);
	assert_int_equal(ds_token_table_destroy(&table), 0);
}

/* One after the other in the same place, narrow and wide, while others are there. */
static void each_type(void **state)
{
	u32 type, key, token, other[DS_TOKEN_TYPES], again[DS_TOKEN_TYPES + 1];
	struct ds_token_desc d;

	(void)state;
	for (type = 0; type < DS_TOKEN_TYPES; type++) {
		d = wide_desc(type, 1000 + type);
		assert_int_equal(ds_token_create(&table, &d, &other[type]), 0);
	}
	for (key = 0; key < 100; key++) {
		type = key % DS_TOKEN_TYPES;
		d = key % 3 ? desc_of(type, key) : wide_desc(type, key);
		assert_int_equal(ds_token_create(&table, &d, &token), 0);
		expect(token, d);
		assert_int_equal(ds_token_hold(&table, token), 0);
		assert_int_equal(revoke(token), -EINPROGRESS);
		ds_token_put(&table, token);
		assert_int_equal(idle_calls, key + 1);
		ds_token_free(&table, token);
	}
	for (type = 0; type < DS_TOKEN_TYPES; type++)
		expect(other[type], wide_desc(type, 1000 + type));
	assert_int_equal(table.wide.live, DS_TOKEN_TYPES);
	assert_int_equal(table.wide.used, DS_TOKEN_TYPES + 1);
	for (type = 0; type < DS_TOKEN_TYPES; type++)
		end(other[type]);
	assert_int_equal(table.wide.live, 0);
	/* Their records are used again, all of them, and each by one. */
	for (key = 0; key <= DS_TOKEN_TYPES; key++) {
		d = wide_desc(DS_TOKEN_MR, key);
		assert_int_equal(ds_token_create(&table, &d, &again[key]), 0);
	}
	for (key = 0; key <= DS_TOKEN_TYPES; key++)
		expect(again[key], wide_desc(DS_TOKEN_MR, key));
	assert_int_equal(table.wide.used, DS_TOKEN_TYPES + 1);
}

static void where_it_is(void **state)
{
	u32 token = create(DS_TOKEN_CQ, 1);
	u64 word;

	(void)state;
	assert_int_equal(ds_token_find(&table, token, &word), 0);
	assert_int_equal(ds_word_state(word), DS_TOKEN_L3);
	assert_int_equal(ds_word_type(word), DS_TOKEN_CQ);
	assert_int_equal(ds_word_uses(word), 0);
	assert_int_equal(ds_token_find(&table, next_gen(token), &word), -EBADF);
	assert_int_equal(ds_token_find(&table, token + DS_TOKEN_PAGE, &word), -EBADF);
	end(token);
	assert_int_equal(ds_token_find(&table, token, &word), -ESTALE);
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
	ds_token_free(&table, token ^ (u32)(DS_TOKEN_MR ^ DS_TOKEN_QP) << DS_TOKEN_TYPE_OFF);
	assert_int_equal(ds_token_count(&table), 1);
	ds_token_free(&table, token);
	ds_token_free(&table, token);		/* twice */
	assert_int_equal(ds_token_count(&table), 0);
	assert_int_not_equal(ds_token_index(create(DS_TOKEN_MR, 2)),
			     ds_token_index(create(DS_TOKEN_MR, 3)));
}

static void too_many_uses(void **state)
{
	u32 token = create(DS_TOKEN_MR, 0), i;
	u64 word;

	(void)state;
	for (i = 0; i < DS_WORD_USES_MAX - 1; i++)
		assert_int_equal(ds_token_hold(&table, token), 0);
	assert_int_equal(get(token), -EOVERFLOW);
	assert_int_equal(ds_token_find(&table, token, &word), 0);
	assert_int_equal(ds_word_slot(word), 0);
	assert_int_equal(revoke(token), -EINPROGRESS);
	for (i = 0; i < DS_WORD_USES_MAX - 1; i++) {
		assert_int_equal(idle_calls, 0);
		ds_token_put(&table, token);
	}
	assert_int_equal(idle_calls, 1);
}

/* Of a word: what is moved, what is kept, and that the version's end harms nothing. */
static void words(void **state)
{
	u64 word = ds_word_make(0xff, DS_TOKEN_L3, DS_TOKEN_QP) | DS_WORD_DIRTY | 77, moved = word;
	u32 i;

	(void)state;
	for (i = 0; i < 1 << 10; i++) {
		enum ds_token_state to = DS_TOKEN_L1 + i % 3;

		word = moved;
		moved = ds_word_move(word, to, DS_WORD_SLOT_MAX - i);
		assert_false(ds_word_same(word, moved));
		assert_int_equal(ds_word_state(moved), to);
		assert_int_equal(ds_word_slot(moved), DS_WORD_SLOT_MAX - i);
		assert_int_equal(ds_word_gen(moved), 0xff);
		assert_int_equal(ds_word_type(moved), DS_TOKEN_QP);
		assert_int_equal(ds_word_uses(moved), 77);
		assert_int_not_equal(moved & DS_WORD_DIRTY, 0);
		assert_int_equal(moved & DS_WORD_PINNED, 0);
	}
	assert_int_equal(moved >> 54, 0);
	assert_true(ds_word_same(moved, moved + DS_WORD_USE));
	for (i = 0; i < 8; i++) {
		word = ds_word_make(1, i, DS_TOKEN_PD);
		assert_int_equal(ds_word_is_live(word), i != DS_TOKEN_FREE && i != DS_TOKEN_REVOKED);
		assert_int_equal(ds_word_is_moving(word), i >= DS_TOKEN_TO_L1);
	}
}

/* Each token once, at its index; what was revoked or freed is none. */
static void walk(void **state)
{
	static u32 made[3 * DS_TOKEN_PAGE];
	struct ds_token_idle idle = { .done = count_idle };
	struct ds_token_desc d;
	u32 i, index, token, found = 0;
	u64 word;

	(void)state;
	assert_int_equal(ds_token_indices_end(&table), 0);
	assert_int_equal(ds_token_at(&table, 0, &word), 0);
	for (i = 0; i < ARRAY_SIZE(made); i++) {
		d = desc_of((u8)(i % DS_TOKEN_TYPES), i);
		assert_int_equal(ds_token_create(&table, &d, &made[i]), 0);
	}
	for (i = 0; i < ARRAY_SIZE(made); i += 7)
		assert_int_equal(ds_token_revoke(&table, made[i], &idle), 0);
	for (i = 0; i < ARRAY_SIZE(made); i += 14)
		ds_token_free(&table, made[i]);

	for (index = 0; index < ds_token_indices_end(&table); index++) {
		token = ds_token_at(&table, index, &word);
		if (!token)
			continue;
		found++;
		assert_int_equal(ds_token_index(token), index);
		assert_int_equal(ds_word_check(word, token), 0);
	}
	assert_int_equal(found, ARRAY_SIZE(made) - (ARRAY_SIZE(made) + 6) / 7);
	for (i = 0; i < ARRAY_SIZE(made); i++) {
		token = ds_token_at(&table, ds_token_index(made[i]), &word);
		assert_int_equal(token, i % 7 ? made[i] : 0);
	}
	assert_int_equal(ds_token_at(&table, INDICES + ds_token_index(made[1]), &word), 0);
	assert_int_equal(ds_token_at(&table, ~0u, &word), 0);
	/* The next user of an index has another handle. */
	d = desc_of(DS_TOKEN_MR, 1);
	assert_int_equal(ds_token_create(&table, &d, &token), 0);
	assert_int_equal(ds_token_at(&table, ds_token_index(token), &word), token);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(init_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(never_existed, setup, teardown),
		cmocka_unit_test_setup_teardown(create_rejects, setup, teardown),
		cmocka_unit_test_setup_teardown(life_of_a_token, setup, teardown),
		cmocka_unit_test(owners),
		cmocka_unit_test_setup_teardown(each_type, setup, teardown),
		cmocka_unit_test_setup_teardown(where_it_is, setup, teardown),
		cmocka_unit_test_setup_teardown(last_put_tells, setup, teardown),
		cmocka_unit_test_setup_teardown(wrong_time, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_uses, setup, teardown),
		cmocka_unit_test_setup_teardown(walk, setup, teardown),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests_name("core_token", tests, NULL, NULL);
}
