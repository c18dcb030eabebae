/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the token cache with L2: its sources, with memory that runs out, and tokens in it. */
#ifndef CORE_TIER_H
#define CORE_TIER_H

#include "core_test.h"

#include "tokencache/ghost.c"
#include "tokencache/recency.c"
#include "tokencache/shadow.c"
#include "tokencache/sketch.c"
#include "tokencache/policy_first.c"
#include "tokencache/policy_queue.c"
#include "tokencache/policy.c"
#include "tokencache/trial.c"
#include "tokencache/policy_001.c"
#include "tokencache/policy_adapt.c"
#include "tokencache/wide.c"
#include "tokencache/l1.c"
#include "tokencache/l2.c"
#include "tokencache/token.c"
#include "tokencache/share.c"
#include "tokencache/cache.c"
#include "tokencache/inline.h"
#include "tokencache/table.h"
#include "core_cache.h"
#include "core_queue_pair.h"

/* A token that is written to each time that it was copied; and how often any was. */
static u32 spoiled, copied;
static inline int copy_and_spoil(const struct ds_token_table *t, u32 token, u64 *word,
				 struct ds_token_pack *p);

/* By who has it alone: a revoke waits for that one, and hides it afterwards. */
static inline void show_alone(struct ds_l1 *l1, u32 token, u32 slot);

#define ds_token_copy(t, token, word, p) copy_and_spoil(t, token, word, p)
#define ds_l1_show(l1, token, slot) show_alone(l1, token, slot)
#include "tokencache/move.c"
#undef ds_token_copy
#undef ds_l1_show

enum { CAPACITY = 64, TOKENS = 3000 };

static struct ds_cache cache;
static u32 tokens[TOKENS];
static u16 posted[TOKENS];
static const struct ds_policy_load no_load;

static inline u32 create(u32 i)
{
	return create_queue_pair(&cache.table, i, i % 3 ? 1 : i);	/* most are neighbours */
}

static inline void show_alone(struct ds_l1 *l1, u32 token, u32 slot)
{
	assert_true(*ds_token_word(&cache.table, token) & DS_WORD_WRITER);
	ds_l1_show(l1, token, slot);
}

static inline void post(u32 i)
{
	assert_int_equal(ds_token_add_posted(&cache.table, tokens[i], 3), 0);
	posted[i] += 3;
}

static inline u32 number_of(u32 token)
{
	u32 i;

	for (i = 0; tokens[i] != token; i++)
		;
	return i;
}

static inline int copy_and_spoil(const struct ds_token_table *t, u32 token, u64 *word,
				 struct ds_token_pack *p)
{
	int ret = ds_token_copy(t, token, word, p);

	copied++;
	if (token == spoiled)
		post(number_of(token));
	return ret;
}

/* Moves since start(), from tier to tier. Those that were aborted are from one to the same. */
static u32 moved[4][4];

static inline void count_move(u32 token, u32 from, u32 to, u32 bytes)
{
	(void)token;
	moved[from][to]++;
	assert_true(from != to || !bytes);
}

static inline void start(u32 mode, u32 l2_pages)
{
	u32 i;

	memset(moved, 0, sizeof(moved));
	memset(&cache, 0xaa, sizeof(cache));	/* what was there means nothing */
	assert_int_equal(ds_cache_init(&cache, TOKENS + 10, CAPACITY, mode, l2_pages,
				       DS_L2_ANYWHERE), 0);
	cache.table.moved = count_move;
	for (i = 0; i < TOKENS; i++)
		tokens[i] = create(i);
	memset(posted, 0, sizeof(posted));
}

static inline void end(u32 token)
{
	assert_int_equal(ds_token_revoke(&cache.table, token, NULL), 0);
	ds_token_free(&cache.table, token);
}

static inline void stop(void)
{
	u32 i;

	for (i = 0; i < TOKENS; i++)
		end(tokens[i]);
	assert_int_equal(cache.table.l2.used, 0);
	assert_int_equal(ds_cache_destroy(&cache), 0);
}

static inline u64 word_of(u32 token)
{
	u64 word = 0;

	assert_int_equal(ds_token_find(&cache.table, token, &word), 0);
	return word;
}

static inline u32 tier_of(u32 i)
{
	return ds_word_tier(word_of(tokens[i]));
}

/* Copy it, and check that it is what it is. The tier where it was found. */
static inline u32 get(u32 i)
{
	struct ds_token_desc d;

	assert_int_equal(cache_get(&cache, tokens[i], &d), 0);
	assert_int_equal(d.qp.number, i + 1);
	assert_int_equal(d.qp.posted, posted[i]);
	ds_token_put(&cache.table, tokens[i]);
	return d.tier;
}

/* A use as the module makes one. */
static inline u32 use(u32 i)
{
	u32 tier = get(i);

	if (tier != 1)
		ds_cache_miss(&cache, tokens[i]);
	return tier;
}

/*
 * Each slot has at most one token, who is in a tier by its word is in that slot, nobody is
 * on its way or in use, the policy knows who is in L1, and L2 knows whose its slots are.
 */
static inline void check_all(u32 in[4])
{
	u32 i, slot, owner[CAPACITY] = { 0 };

	memset(in, 0, 4 * sizeof(in[0]));
	for (i = 0; i < TOKENS; i++) {
		u64 word = word_of(tokens[i]);
		u32 tier = ds_word_tier(word);

		assert_false(ds_word_is_moving(word));
		assert_int_equal(ds_word_uses(word), 0);
		in[tier]++;
		slot = ds_word_slot(word);
		if (tier == 1) {
			assert_int_equal(owner[slot], 0);
			owner[slot] = tokens[i];
			assert_int_equal(cache.table.l1.slots[slot].token, tokens[i]);
			assert_int_equal(ds_policy_key(&cache.policy, slot), ds_token_index(tokens[i]));
		} else if (tier == 2) {
			assert_int_equal(ds_l2_slot_of(&cache.table.l2, slot)->token, tokens[i]);
			assert_int_equal(ds_l2_is_kept(&cache.table.l2, slot),
					 !!(word & DS_WORD_PINNED));
		}
	}
	if (cache.table.l2.pages)
		assert_int_equal(cache.table.l2.used, in[2]);
}

/* A use of each token fills both tiers, whatever was before. */
static inline void use_all_and_stop(void)
{
	u32 i, in[4];

	for (i = 0; i < TOKENS; i++)
		use(i);
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	assert_int_equal(in[2], DS_L2_MIXED_SLOTS);
	stop();
}

#endif /* CORE_TIER_H */
