// SPDX-License-Identifier: Apache-2.0
/* Tokens, one thread: who gets which index, and when there is none, or no memory. */
#include "core_token.h"

/* One has half, the next one half of the rest; whose tokens are nobody's has all that is left. */
static void none_takes_all(void **state)
{
	struct ds_token_desc d = { .type = DS_TOKEN_CQ };
	u32 token;

	(void)state;
	table.used = DS_TOKEN_PAGES / 2;
	memset(table.owners, 1, table.used);
	assert_int_equal(ds_token_create_for(&table, 1, &d, &token), -ENOSPC);
	assert_int_equal(ds_token_create_for(&table, 2, &d, &token), 0);
	table.used = DS_TOKEN_PAGES * 3 / 4;
	memset(table.owners + DS_TOKEN_PAGES / 2, 2, DS_TOKEN_PAGES / 4);
	d.type = DS_TOKEN_QP;
	d.qp.pd = d.qp.scq = d.qp.rcq = DS_TOKEN_NONE;
	assert_int_equal(ds_token_create_for(&table, 2, &d, &token), -ENOSPC);
	assert_int_equal(ds_token_create_for(&table, 3, &d, &token), 0);
	table.used = DS_TOKEN_PAGES - 1;
	assert_int_equal(ds_token_create_for(&table, 4, &d, &token), 0);
	assert_int_equal(ds_token_create_for(&table, 5, &d, &token), -ENOSPC);
}

static void indices_in_turn(void **state)
{
	u32 token[4];
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		token[i] = create(DS_TOKEN_MR, i);
	end(token[2]);
	end(token[0]);
	end(token[3]);
	assert_int_equal(ds_token_index(create(DS_TOKEN_MR, 0)), 2);
	assert_int_equal(ds_token_index(create(DS_TOKEN_MR, 0)), 0);
	assert_int_equal(ds_token_index(create(DS_TOKEN_MR, 0)), 3);
	assert_int_equal(ds_token_index(create(DS_TOKEN_MR, 0)), 4);
}

/* A token's word and its home, of which a page has as many as it says. */
static void bytes_of_a_token(void **state)
{
	static const u8 bytes[DS_TOKEN_TYPES] = {
		[DS_TOKEN_PD] = 16, [DS_TOKEN_CQ] = 16, [DS_TOKEN_MR] = 24, [DS_TOKEN_QP] = 24,
	};
	size_t before;
	u32 i;
	u8 type;

	(void)state;
	for (type = 0; type < DS_TOKEN_TYPES; type++) {
		before = alloc_bytes;
		for (i = 0; i < DS_TOKEN_PAGE; i++)
			create(type, i);
		assert_int_equal(alloc_bytes - before, bytes[type] * DS_TOKEN_PAGE);
	}
}

/* An index gives each generation once, and then rests. */
static void retirement(void **state)
{
	u32 i, gen, token;

	(void)state;
	for (i = 1; i <= DS_WORD_GEN_MAX; i++) {
		token = create(DS_TOKEN_CQ, i);
		assert_int_equal(ds_token_index(token), 0);
		assert_int_equal(ds_token_gen(token), i);
		end(token);
	}
	assert_int_equal(ds_token_index(create(DS_TOKEN_CQ, 0)), 1);
	for (gen = 1; gen <= DS_WORD_GEN_MAX; gen++)
		assert_int_equal(get((u32)DS_TOKEN_CQ << DS_TOKEN_TYPE_OFF |
				     gen << DS_TOKEN_GEN_OFF), -ESTALE);
	assert_int_equal(ds_token_count(&table), 1);
	/* Also when its page is full, as long as there are pages for all. */
	for (i = 2; i <= DS_TOKEN_PAGE; i++)
		assert_int_equal(ds_token_index(create(DS_TOKEN_CQ, i)), i);
}

/* When there is no other, who has rested longest begins again. */
static void retired_in_turn(void **state)
{
	struct ds_token_desc d = desc_of(DS_TOKEN_CQ, 0);
	u32 i, k, token, kept[DS_TOKEN_PAGE];

	(void)state;
	table.used = DS_TOKEN_PAGES - 1;
	for (i = 0; i < 2; i++)
		for (k = 1; k <= DS_WORD_GEN_MAX; k++)
			end(create(DS_TOKEN_CQ, k));
	for (i = 2; i < DS_TOKEN_PAGE; i++)
		kept[i] = create(DS_TOKEN_CQ, i);
	for (i = 0; i < 2; i++) {
		token = create(DS_TOKEN_CQ, i);
		assert_int_equal(ds_token_index(token), ds_token_index(kept[2]) - 2 + i);
		assert_int_equal(ds_token_gen(token), 1);
		assert_int_equal(get(token + (1u << DS_TOKEN_GEN_OFF)), -EBADF);
	}
	assert_int_equal(ds_token_create(&table, &d, &token), -ENOSPC);
	end(kept[5]);
	assert_int_equal(create(DS_TOKEN_CQ, 0), next_gen(kept[5]));
	table.used = DS_TOKEN_PAGES;
}

/* Who makes tokens without an end takes its retired indices before more than half of all pages. */
static void half_is_for_others(void **state)
{
	u32 i, k, first, token;

	(void)state;
	table.used = DS_TOKEN_PAGES / 2 - 1;
	first = create(DS_TOKEN_CQ, 0);
	end(first);
	for (k = 2; k <= DS_WORD_GEN_MAX; k++)
		end(create(DS_TOKEN_CQ, k));
	for (i = 1; i < DS_TOKEN_PAGE; i++)
		create(DS_TOKEN_CQ, i);
	token = create(DS_TOKEN_CQ, 0);
	assert_int_equal(token, first);
	assert_int_equal(table.used, DS_TOKEN_PAGES / 2);
	token = create(DS_TOKEN_CQ, 0);
	assert_int_equal(ds_token_index(token), DS_TOKEN_PAGES / 2 * DS_TOKEN_PAGE);
	assert_int_equal(ds_token_table_destroy(&table), DS_TOKEN_PAGE + 1);
	assert_int_equal(ds_token_table_init(&table, INDICES), 0);
}

static void quota(void **state)
{
	struct ds_token_desc d = desc_of(DS_TOKEN_MR, 0);
	struct ds_token_table t;
	u32 a = 0, b;

	(void)state;
	assert_int_equal(ds_token_table_init(&t, 1), 0);
	assert_int_equal(ds_token_create(&t, &d, &a), 0);
	assert_int_equal(ds_token_create(&t, &d, &b), -EDQUOT);
	assert_int_equal(ds_token_revoke(&t, a, NULL), 0);
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
	allocs_left = 1;	/* the words, but not the homes */
	assert_int_equal(ds_token_create(&table, &d, &token), -ENOMEM);
	allocs_left = 2;
	for (i = 0; i < DS_TOKEN_PAGE; i++)
		create(DS_TOKEN_MR, i);
	assert_int_equal(ds_token_create(&table, &d, &token), -ENOMEM);
	allocs_left = -1;
	d = wide_desc(DS_TOKEN_MR, 0);
	for (i = 0; i < 4; i++) {	/* the records' table and the record, which stay; the words; the homes */
		allocs_left = i ? 1 : 0;
		assert_int_equal(ds_token_create(&table, &d, &token), -ENOMEM);
		assert_int_equal(table.wide.live, 0);
	}
	allocs_left = -1;
	token = create(DS_TOKEN_MR, 5);
	assert_int_equal(ds_token_index(token), DS_TOKEN_PAGE);
	assert_int_equal(get(token), 0);
	assert_int_equal(get(token + 1), -EBADF);
	assert_int_equal(get(token + DS_TOKEN_PAGE), -EBADF);
	assert_int_equal(ds_token_table_destroy(&table), DS_TOKEN_PAGE + 1);
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
	assert_int_equal(ds_token_index(create(DS_TOKEN_MR, 3)), 2);
	assert_int_equal(ds_token_count(&table), 3);
}

/* The last index, without four million before it. */
static void no_index(void **state)
{
	struct ds_token_desc d = desc_of(DS_TOKEN_QP, 0);
	u32 last, token, i;
	u64 word;

	(void)state;
	create(DS_TOKEN_CQ, 0);
	table.used = DS_TOKEN_PAGES - 1;
	for (i = 0; i < DS_TOKEN_PAGE; i++)
		last = create(DS_TOKEN_QP, i);
	assert_int_equal(ds_token_index(last), INDICES - 1);
	assert_int_equal(ds_token_at(&table, INDICES - 1, &word), last);
	assert_int_equal(ds_token_create(&table, &d, &token), -ENOSPC);
	assert_int_equal(ds_token_index(create(DS_TOKEN_CQ, 1)), 1);	/* of one word */
	end(last);
	token = create(DS_TOKEN_QP, 0);
	assert_int_equal(token, next_gen(last));
}

static u32 create_wide(u32 key)
{
	struct ds_token_desc d = wide_desc(DS_TOKEN_CQ, key);
	u32 token;

	assert_int_equal(ds_token_create(&table, &d, &token), 0);
	return token;
}

static void create_one_wide(void)
{
	create_wide(7);
}

/* The same with what wide ones need: their table, and a page of records. */
static void another_wide_one_was_faster(void **state)
{
	(void)state;
	during_alloc = create_one_wide;
	create_wide(1);
	assert_int_equal(table.wide.used, 2);
	table.wide.used = DS_WIDE_PAGE;
	during_alloc = create_one_wide;
	create_wide(2);
	assert_int_equal(table.wide.used, DS_WIDE_PAGE + 2);
	assert_int_equal(table.wide.live, 4);
}

/* The last record, likewise. */
static void no_record(void **state)
{
	struct ds_token_desc d = wide_desc(DS_TOKEN_CQ, 1);
	u32 last, token;

	(void)state;
	create_wide(1);
	table.wide.used = DS_WIDE_MAX - 1;
	last = create_wide(2);
	assert_int_equal(ds_token_create(&table, &d, &token), -ENOSPC);
	assert_int_equal(ds_token_count(&table), 2);
	end(last);
	create_wide(3);
	assert_int_equal(table.wide.used, DS_WIDE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(indices_in_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(bytes_of_a_token, setup, teardown),
		cmocka_unit_test_setup_teardown(retirement, setup, teardown),
		cmocka_unit_test_setup_teardown(retired_in_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(half_is_for_others, setup, teardown),
		cmocka_unit_test_setup_teardown(none_takes_all, setup, teardown),
		cmocka_unit_test_setup_teardown(quota, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(another_creator_was_faster, setup, teardown),
		cmocka_unit_test_setup_teardown(no_index, setup, teardown),
		cmocka_unit_test_setup_teardown(another_wide_one_was_faster, setup, teardown),
		cmocka_unit_test_setup_teardown(no_record, setup, teardown),
	};

	return cmocka_run_group_tests_name("core_token_index", tests, NULL, NULL);
}
