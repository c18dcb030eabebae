// SPDX-License-Identifier: Apache-2.0
/*
 * No lock on the hit path: each lock that the token cache takes is counted. Uses take none, in
 * whatever tier the token is; a miss does, and so do all who move, make and end tokens.
 */
#include "core_test.h"

static u64 locks;

#undef ds_spin_lock
#define ds_spin_lock(lock)	(locks++, pthread_mutex_lock(lock))

#include "core_tier.h"
#include "tokencache/read.c"

/* A name that two of the sources have. */
#define slot_left	change_slot_left
#include "tokencache/change.c"
#undef slot_left
#include "tokencache/whole.c"
#include "tokencache/inline.c"

enum { ROUNDS = 100 };

static struct ds_fetch fetch;
static struct ds_whole buffers;

static int allowed(struct ds_fetch *f, u32 requester, u32 token)
{
	(void)f;
	(void)requester;
	(void)token;
	return 0;
}

/* All three tiers are in use; the last third of the tokens was never used. */
static void begin(u32 mode)
{
	u64 before;
	u32 i, in[4];

	start(mode, 1);
	assert_int_equal(ds_fetch_init(&fetch, &cache, allowed, NULL, NULL), 0);
	ds_whole_init(&buffers, &fetch);
	/* With the modes of document 001 no token is wanted anywhere before it was used often. */
	if (cache.policy.base) {
		cache.policy.base->params.promote_to_l1_threshold = 1;
		cache.policy.base->params.promote_to_l2_threshold = 1;
	}
	for (i = 0; i < TOKENS * 2 / 3; i++) {
		before = locks;
		use(i);
		assert_true(locks > before);
	}
	check_all(in);
	assert_int_equal(in[1], CAPACITY);
	assert_true(in[2] > 500 && in[3] > 500);
}

static void finish(void)
{
	ds_fetch_shut(&fetch);
	ds_fetch_destroy(&fetch);
	stop();
}

static void look(u32 i, u32 tier)
{
	struct ds_token_desc d;
	struct ds_token_pack p;

	assert_int_equal(ds_cache_look(&cache, tokens[i], &p), tier);
	assert_int_equal(ds_token_unpack(&p, NULL, &d), 0);
	assert_int_equal(d.qp.number, i + 1);
}

static void get_whole(u32 i, u32 tier)
{
	struct ds_token_desc d;

	assert_int_equal(ds_whole_get(&buffers, tokens[i], &d), 0);
	assert_int_equal(d.qp.number, i + 1);
	assert_int_equal(d.tier, tier);
	ds_token_put(&cache.table, tokens[i]);
}

/* What a chain that has posted writes in place. */
static void write(u32 i)
{
	assert_int_equal(ds_token_set_state(&cache.table, tokens[i], i % 2), 0);
	post(i);
}

/* Of all tokens, in each of the three ways; and each is written to. */
static void use_all(void)
{
	u64 found[4] = { 0 }, n;
	u32 i, tier;

	for (n = 0; n < ROUNDS; n++)
		for (i = 0; i < TOKENS; i++) {
			u64 before = locks;

			tier = tier_of(i);
			look(i, tier);
			assert_int_equal(get(i), tier);
			get_whole(i, tier);
			write(i);
			assert_int_equal(locks, before);
			found[tier]++;
		}
	print_message("# %llu uses in L1, %llu in L2, %llu at home\n", 3 * found[1], 3 * found[2],
		      3 * found[3]);
	for (tier = 1; tier <= 3; tier++)
		assert_true(found[tier] >= (u64)ROUNDS * CAPACITY);
}

static void uses_in_all_tiers(void **state)
{
	u32 mode;

	(void)state;
	for (mode = 0; mode < DS_POLICY_MODES; mode++) {
		begin(mode);
		use_all();
		finish();
	}
}

/* Not by its hint, which another one has overwritten, but by the directory. */
static void without_a_hint(void **state)
{
	u64 before;
	u32 i, n = 0;

	(void)state;
	begin(DS_POLICY_DEFAULT);
	before = locks;
	for (i = 0; i < TOKENS; i++) {
		struct ds_token_pack p;

		if (tier_of(i) != 1)
			continue;
		*ds_l1_hints(&cache.table.l1, ds_l1_hash(tokens[i])) = 0;
		ds_l1_hints(&cache.table.l1, ds_l1_hash(tokens[i]))[1] = 0;
		n += ds_l1_find(&cache.table.l1, tokens[i], &p) == DS_L1_NONE;
		look(i, 1);
		assert_true(ds_l1_find(&cache.table.l1, tokens[i], &p) != DS_L1_NONE);
		look(i, 1);
	}
	assert_true(n >= CAPACITY - 1);		/* slot 0 is what no hint says, too */
	assert_int_equal(locks, before);
	finish();
}

/* What it says is at home, and then in a buffer, too. */
static void a_wide_token(void **state)
{
	struct ds_token_desc d = { .type = DS_TOKEN_QP, .qp.pd = 1 << 21 };
	u64 before;
	u32 token, n;

	(void)state;
	begin(DS_POLICY_DEFAULT);
	assert_int_equal(ds_token_create(&cache.table, &d, &token), 0);
	for (n = 0; n < 2 * ROUNDS; n++) {
		before = locks;
		assert_int_equal(ds_whole_get(&buffers, token, &d), n < ROUNDS);
		assert_int_equal(d.qp.pd, 1 << 21);
		ds_token_put(&cache.table, token);
		assert_int_equal(locks, before);
		if (n != ROUNDS - 1)
			continue;
		assert_int_equal(ds_whole_ask(&buffers, token, 0, 0), -EINPROGRESS);
		assert_true(locks > before);
		ds_fetch_work(&fetch, 1, 100);
	}
	assert_int_equal(ds_token_revoke(&cache.table, token, NULL), 0);
	ds_whole_forget(&buffers, token);
	ds_token_free(&cache.table, token);
	finish();
}

/* Numbers that are no tokens are told so without a lock, too. */
static void no_tokens(void **state)
{
	u32 old, n, numbers[] = { 0, 5, ~0u, 0 };
	struct ds_token_desc d;
	struct ds_token_pack p;
	u64 before;

	(void)state;
	begin(DS_POLICY_DEFAULT);
	old = tokens[7];
	before = locks;
	end(old);
	assert_true(locks > before);
	numbers[3] = old;
	before = locks;
	for (n = 0; n < ARRAY_SIZE(numbers); n++) {
		int error = numbers[n] == old ? -ESTALE : -EBADF;

		assert_int_equal(ds_cache_look(&cache, numbers[n], &p), error);
		assert_int_equal(ds_whole_get(&buffers, numbers[n], &d), error);
	}
	assert_int_equal(locks, before);
	tokens[7] = create(7);
	assert_true(locks > before);
	posted[7] = 0;
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(uses_in_all_tiers),
		TEST(without_a_hint),
		TEST(a_wide_token),
		TEST(no_tokens),
	};

	return cmocka_run_group_tests_name("core_hit_path", tests, NULL, NULL);
}
