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
#include "tokencache/wide.c"
#include "tokencache/walk.h"

enum { INDICES = 1 << DS_TOKEN_INDEX_BITS };

static struct ds_token_table table;
static int idle_calls;

static void count_idle(struct ds_token_idle *idle);
static struct ds_token_idle waiter = { .done = count_idle };

static int setup(void **state)
{
	(void)state;
	idle_calls = 0;
	allocs_left = -1;
	return ds_token_table_init(&table, INDICES);
}

static int teardown(void **state)
{
	(void)state;
	ds_token_table_destroy(&table);
	return 0;
}

/* Narrow, and different with each @key. */
static struct ds_token_desc desc_of(u8 type, u32 key)
{
	struct ds_token_desc d;

	memset(&d, 0, sizeof(d));
	d.type = type;
	switch (type) {
	case DS_TOKEN_PD:
		d.pd.number = key;
		d.pd.domain = 7;
		break;
	case DS_TOKEN_MR:
		d.mr.lkey = key;
		d.mr.rkey = key;
		d.mr.access = 0x10000f;
		d.mr.pd = 5;
		d.mr.page_shift = 12;
		d.mr.iova = (u64)key << 12;
		d.mr.length = 512 << 12;
		break;
	case DS_TOKEN_CQ:
		d.cq.number = key & 0xffffff;
		d.cq.entries = 8388607;
		break;
	default:
		d.qp.number = key & 0xffffff;
		d.qp.qp_type = 2;
		d.qp.state = 3;
		d.qp.pd = DS_TOKEN_NONE;
		d.qp.scq = 1;
		d.qp.rcq = 2;
	}
	return d;
}

/* For the wide form: no pages have a size of two bytes. */
static struct ds_token_desc wide_desc(u8 type, u32 key)
{
	struct ds_token_desc d = desc_of(type, key);

	switch (type) {
	case DS_TOKEN_PD:
		d.pd.domain = 1 << 20;
		break;
	case DS_TOKEN_MR:
		d.mr.page_shift = 1;
		break;
	case DS_TOKEN_CQ:
		d.cq.vector = 300;
		break;
	default:
		d.qp.qp_type = 0xff;
	}
	return d;
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

static void count_idle(struct ds_token_idle *idle)
{
	assert_ptr_equal(idle, &waiter);
	idle_calls++;
}

static int revoke(u32 token)
{
	return ds_token_revoke(&table, token, &waiter);
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
	u32 type, key, token, other[DS_TOKEN_TYPES];
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
	assert_int_equal(ds_token_count(&table), 1);
	ds_token_free(&table, token);
	ds_token_free(&table, token);		/* twice */
	assert_int_equal(ds_token_count(&table), 0);
	assert_int_not_equal(ds_token_index(create(DS_TOKEN_MR, 2)),
			     ds_token_index(create(DS_TOKEN_MR, 3)));
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

	(void)state;
	create(DS_TOKEN_CQ, 0);
	table.used = DS_TOKEN_PAGES - 1;
	for (i = 0; i < DS_TOKEN_PAGE; i++)
		last = create(DS_TOKEN_QP, i);
	assert_int_equal(ds_token_index(last), INDICES - 1);
	assert_int_equal(ds_token_create(&table, &d, &token), -ENOSPC);
	assert_int_equal(ds_token_index(create(DS_TOKEN_CQ, 1)), 1);	/* of one word */
	end(last);
	token = create(DS_TOKEN_QP, 0);
	assert_int_equal(token, next_gen(last));
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
	assert_int_equal(ds_token_at(&table, INDICES, &word), 0);
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
		cmocka_unit_test_setup_teardown(indices_in_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(retirement, setup, teardown),
		cmocka_unit_test_setup_teardown(retired_in_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(half_is_for_others, setup, teardown),
		cmocka_unit_test_setup_teardown(none_takes_all, setup, teardown),
		cmocka_unit_test_setup_teardown(quota, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(another_creator_was_faster, setup, teardown),
		cmocka_unit_test_setup_teardown(no_index, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_uses, setup, teardown),
		cmocka_unit_test_setup_teardown(walk, setup, teardown),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests_name("core_token", tests, NULL, NULL);
}
