/* SPDX-License-Identifier: Apache-2.0 */
/* A table of tokens, whose memory can run out and whose words can be set. */
#ifndef CORE_TOKEN_H
#define CORE_TOKEN_H

#include "core_test.h"

static void (*during_alloc)(void);
static size_t alloc_bytes;	/* all that was asked for */

static inline void *interrupted_alloc(size_t size)
{
	void (*call)(void) = during_alloc;

	during_alloc = NULL;
	if (call)
		call();
	alloc_bytes += size;
	return counted_alloc(size);
}

#undef ds_alloc
#define ds_alloc(size) interrupted_alloc(size)
#include "tokencache/token.c"
#include "tokencache/wide.c"
#include "tokencache/walk.h"

enum { INDICES = 1 << DS_TOKEN_INDEX_BITS };

static struct ds_token_table table;
static int idle_calls;

static inline void count_idle(struct ds_token_idle *idle);
static struct ds_token_idle waiter = { .done = count_idle };

static inline int setup(void **state)
{
	(void)state;
	idle_calls = 0;
	return ds_token_table_init(&table, INDICES);
}

static inline int teardown(void **state)
{
	ds_token_table_destroy(&table);
	return no_memory_held(state);
}

/* Narrow, and different with each @key. */
static inline struct ds_token_desc desc_of(u8 type, u32 key)
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
static inline struct ds_token_desc wide_desc(u8 type, u32 key)
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

static inline u32 create(u8 type, u32 key)
{
	struct ds_token_desc d = desc_of(type, key);
	u32 token = 0;

	assert_int_equal(ds_token_create(&table, &d, &token), 0);
	assert_int_not_equal(token, 0);
	assert_int_equal(token >> DS_TOKEN_TYPE_OFF, type);
	return token;
}

static inline void count_idle(struct ds_token_idle *idle)
{
	assert_ptr_equal(idle, &waiter);
	idle_calls++;
}

static inline int revoke(u32 token)
{
	return ds_token_revoke(&table, token, &waiter);
}

static inline int get(u32 token)
{
	struct ds_token_desc d;

	return ds_token_get(&table, token, &d);
}

static inline void end(u32 token)
{
	assert_int_equal(revoke(token), 0);
	ds_token_free(&table, token);
}

static inline u32 next_gen(u32 token)
{
	return token + (1u << DS_TOKEN_GEN_OFF);
}

#endif /* CORE_TOKEN_H */
