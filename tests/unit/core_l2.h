/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of L2: its source, and tokens to put there. */
#ifndef CORE_L2_H
#define CORE_L2_H

#include "core_test.h"
#include "tokencache/l2.c"

enum { PAGES = 6, HIGH = 7 };

static struct ds_l2 l2;

static inline void start(u32 nr_pages)
{
	assert_int_equal(ds_l2_init(&l2, nr_pages, DS_L2_ANYWHERE), 0);
}

/* All that a token says follows from its handle and its high half. */
static inline struct ds_token_pack pack_of(u32 token, u32 high)
{
	struct ds_token_pack p = { (u64)high << 32 | (token * 7 + 1), (u64)token << 32 | high };

	return p;
}

static inline void fill(u32 slot, u32 token, u32 high)
{
	struct ds_token_pack p = pack_of(token, high);

	ds_l2_fill(&l2, slot, token, &p);
}

static inline u32 put_kept(u32 token, u32 high)
{
	u32 slot = ds_l2_take(&l2, pack_of(token, high).fixed);

	if (slot != DS_L2_NONE)
		fill(slot, token, high);
	return slot;
}

static inline u32 put(u32 token, u32 high)
{
	u32 slot = put_kept(token, high);

	if (slot != DS_L2_NONE)
		ds_l2_keep(&l2, slot, false);
	return slot;
}

static inline u32 must_put(u32 token, u32 high)
{
	u32 slot = put(token, high);

	assert_int_not_equal(slot, DS_L2_NONE);
	return slot;
}

static inline void expect(u32 slot, u32 token, u32 high)
{
	struct ds_token_pack want = pack_of(token, high), p;

	assert_true(ds_l2_read(&l2, slot, token, &p));
	assert_int_equal(p.fixed, want.fixed);
	assert_int_equal(p.hot, want.hot);
}

static inline u32 fill_mixed_page(u32 *slots)
{
	u32 n;

	for (n = 0; (slots[n] = put(n + 1, n)) != DS_L2_NONE; n++)
		;
	return n;
}

#endif /* CORE_L2_H */
