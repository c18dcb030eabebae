// SPDX-License-Identifier: Apache-2.0
/* The directory as programs map it: which parts there are, and what stands in them. */
#include "core_test.h"

#include "tokencache/token.c"
#include "tokencache/wide.c"
#include "tokencache/walk.h"

enum { PARTS = DS_DIRECTORY_BYTES / DS_DIRECTORY_WORDS, WORDS = DS_DIRECTORY_WORDS / sizeof(u64) };

static struct ds_token_table table;

static void begin(void)
{
	assert_int_equal(ds_token_table_init(&table, 1u << DS_TOKEN_INDEX_BITS), 0);
}

static u32 create(u8 type)
{
	struct ds_token_desc d;
	u32 token;

	memset(&d, 0, sizeof(d));
	d.type = type;
	assert_int_equal(ds_token_create(&table, &d, &token), 0);
	return token;
}

static void end(u32 token)
{
	assert_int_equal(ds_token_revoke(&table, token, NULL), 0);
	ds_token_free(&table, token);
}

/* As a program finds it. */
static u64 word_of(u32 token)
{
	u32 index = ds_token_index(token);
	const u64 *words = ds_directory_part(&table, 1 + index / WORDS);

	assert_non_null(words);
	return words[index % WORDS];
}

static void parts_that_are_not_there(void **state)
{
	u64 part;

	(void)state;
	begin();
	assert_non_null(ds_directory_part(&table, 0));
	for (part = 1; part < 3 * PARTS; part++)
		assert_null(ds_directory_part(&table, part));
	end(create(DS_TOKEN_PD));
	assert_non_null(ds_directory_part(&table, 1));
	assert_non_null(ds_directory_part(&table, DS_TOKEN_PAGE / WORDS));
	for (part = DS_TOKEN_PAGE / WORDS + 1; part < 3 * PARTS; part++)
		assert_null(ds_directory_part(&table, part));
	/* Numbers that come round to one that is there. */
	assert_null(ds_directory_part(&table, (1ull << 32) + 1));
	assert_null(ds_directory_part(&table, (1ull << 55) + 1));
	assert_null(ds_directory_part(&table, (1ull << 63) + 1));
	assert_null(ds_directory_part(&table, ~0ull));
	assert_int_equal(ds_token_table_destroy(&table), 0);
}

static void the_last_part(void **state)
{
	u32 token;

	(void)state;
	begin();
	table.used = DS_TOKEN_PAGES - 1;
	token = create(DS_TOKEN_QP);
	assert_null(ds_directory_part(&table, PARTS - DS_TOKEN_PAGE / WORDS - 1));
	assert_non_null(ds_directory_part(&table, PARTS - 1));
	assert_null(ds_directory_part(&table, PARTS));
	assert_int_equal(table.head->end, 1u << DS_TOKEN_INDEX_BITS);
	assert_int_equal(ds_word_type(word_of(token)), DS_TOKEN_QP);
	end(token);
	assert_int_equal(ds_token_table_destroy(&table), 0);
}

/* The head says how far it goes; what is there has an address that stays. */
static void it_grows(void **state)
{
	const struct ds_token_directory *head;
	const void *first;
	u32 i, tokens[3 * DS_TOKEN_PAGE];

	(void)state;
	begin();
	head = ds_directory_part(&table, 0);
	assert_int_equal(head->version, DS_DIRECTORY_VERSION);
	assert_int_equal(head->end, 0);
	tokens[0] = create(DS_TOKEN_MR);
	first = ds_directory_part(&table, 1);
	for (i = 1; i < ARRAY_SIZE(tokens); i++) {
		tokens[i] = create(DS_TOKEN_MR);
		assert_int_equal(head->end, (i / DS_TOKEN_PAGE + 1) * DS_TOKEN_PAGE);
		assert_int_equal(head->end, ds_token_indices_end(&table));
	}
	assert_ptr_equal(first, ds_directory_part(&table, 1));
	for (i = 0; i < ARRAY_SIZE(tokens); i++) {
		u64 word = word_of(tokens[i]);

		assert_int_equal(ds_word_state(word), DS_TOKEN_L3);
		assert_int_equal(ds_word_gen(word), ds_token_gen(tokens[i]));
		end(tokens[i]);
		assert_int_equal(ds_word_state(word_of(tokens[i])), DS_TOKEN_FREE);
	}
	assert_int_equal(head->end, ARRAY_SIZE(tokens));	/* it never shrinks */
	assert_int_equal(ds_token_table_destroy(&table), 0);
}

static void no_memory(void **state)
{
	u32 allocs;

	(void)state;
	for (allocs = 0;; allocs++) {
		allocs_left = (int)allocs;
		if (!ds_token_table_init(&table, 1))
			break;
		assert_int_equal(allocs_held, 0);
	}
	assert_int_equal(allocs, 4);
	assert_int_equal(ds_token_table_destroy(&table), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parts_that_are_not_there),
		TEST(the_last_part),
		TEST(it_grows),
		TEST(no_memory),
	};

	return cmocka_run_group_tests_name("core_directory", tests, NULL, NULL);
}
