// SPDX-License-Identifier: Apache-2.0
/*
 * The token cache as a whole, by all that a weak machine may do: misses, for which tokens come up
 * and others go down, beside hits, uses and revokes of either.
 */
#include "core_weak.h"

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
#include "tokencache/share.c"
#include "tokencache/cache.c"
#include "core_cache.h"
/* core_weak.h has one of this name. */
#define fixed_of change_fixed_of
#include "tokencache/change.c"
#undef fixed_of

enum { CAPACITY = DS_POLICY_CAPACITY_MIN, TOKENS = CAPACITY + 2, COMES = 0, GOES = 1 };

static struct all {
	struct ds_cache cache;
	u32 tokens[TOKENS];	/* all but COMES and GOES stay in L1 */
	u64 revoked[TOKENS], posted[TOKENS], unused[TOKENS], objects[TOKENS];
	struct ds_token_idle idle[TOKENS];
} *all;

static u32 tier_of(u32 i)
{
	u64 word = 0;

	weak_check(!ds_token_find(&all->cache.table, all->tokens[i], &word));
	return ds_word_tier(word);
}

static void tell(struct ds_token_idle *idle)
{
	smp_store_release(&all->unused[idle - all->idle], 1);
}

static void make(u32 i)
{
	struct ds_token_desc d = { .type = DS_TOKEN_QP, .qp.number = i };

	weak_check(!ds_token_create(&all->cache.table, &d, &all->tokens[i]));
	all->objects[i] = 1;
	all->idle[i].done = tell;
}

/* L1 is full, and the one that is to leave it next is GOES: it is alone in not being pinned. */
static void fill(u32 l2_pages)
{
	u32 i;

	all = weak_alloc(sizeof(*all));
	weak_check(!ds_cache_init(&all->cache, 1000, CAPACITY, DS_POLICY_DEFAULT, l2_pages,
				  DS_L2_ANYWHERE));
	for (i = 0; i < TOKENS - 1; i++)
		make(i);
	for (i = GOES; i < TOKENS - 1; i++) {
		weak_check(!ds_cache_miss(&all->cache, all->tokens[i]));
		weak_check(i == GOES || !ds_cache_pin(&all->cache, all->tokens[i], true));
	}
}

static void setup(void)
{
	fill(1);
}

/* Who leaves L1 goes home. */
static void setup_without_l2(void)
{
	fill(0);
}

/* COMES is in L2 before. */
static void setup_l2(void)
{
	setup();
	weak_check(!ds_cache_stage(&all->cache, all->tokens[COMES]));
	weak_check(tier_of(COMES) == 2);
}

static void miss(void)
{
	int ret = ds_cache_miss(&all->cache, all->tokens[COMES]);

	weak_check(!ret || ret == -EBUSY || ret == -EEXIST || ret == -EAGAIN || ret == -ESTALE || ret == -ENOSPC);
}

/* The same for who has gone, or is going. */
static void miss_back(void)
{
	int ret = ds_cache_miss(&all->cache, all->tokens[GOES]);

	weak_check(!ret || ret == -EBUSY || ret == -EEXIST || ret == -EAGAIN || ret == -ESTALE || ret == -ENOSPC);
}

static void post(u32 i)
{
	int ret = ds_token_add_posted(&all->cache.table, all->tokens[i], 1);

	weak_check(!ret || ret == -EAGAIN);
	smp_store_release(&all->posted[i], !ret);
}

static void look(u32 i)
{
	bool revoked = smp_load_acquire(&all->revoked[i]);
	u64 posted = smp_load_acquire(&all->posted[i]);
	struct ds_token_pack p;
	int ret = ds_cache_look(&all->cache, all->tokens[i], &p);

	weak_check(ret > 0 || ret == -EAGAIN || ret == -ESTALE);
	if (ret > 0)
		weak_check(!revoked && p.fixed == fixed_of(i) && p.hot <= 1ull << DS_HOT_POSTED_OFF &&
			   p.hot >= posted << DS_HOT_POSTED_OFF);
}

static void look_comes(void)
{
	look(COMES);
}

static void look_goes(void)
{
	look(GOES);
}

static void post_comes(void)
{
	post(COMES);
	look(COMES);
}

static void post_goes(void)
{
	post(GOES);
	look(GOES);
}

static void use_goes(void)
{
	struct ds_token_desc d;

	if (cache_get(&all->cache, all->tokens[GOES], &d))
		return;
	weak_check(all->objects[GOES] && d.qp.number == GOES);
	ds_token_put(&all->cache.table, all->tokens[GOES]);
}

static void end(u32 i)
{
	int ret = ds_token_revoke(&all->cache.table, all->tokens[i], &all->idle[i]);

	weak_check(!ret || ret == -EINPROGRESS);
	smp_store_release(&all->revoked[i], 1);
	while (ret && !smp_load_acquire(&all->unused[i]))
		weak_yield();
	all->objects[i] = 0;
	ds_token_free(&all->cache.table, all->tokens[i]);
}

static void end_comes(void)
{
	end(COMES);
}

static void end_goes(void)
{
	end(GOES);
}

/* Another one has its index, and comes to L1 itself. */
static void replace_goes(void)
{
	end(GOES);
	make(TOKENS - 1);
	ds_cache_miss(&all->cache, all->tokens[TOKENS - 1]);
}

/* Each tier has as many tokens as it says. */
static void stands_still(void)
{
	u32 i, in[4] = { 0 }, pinned = 0;

	for (i = 0; i < TOKENS; i++) {
		u32 token = all->tokens[i], slot;
		u64 word;

		if (!token || ds_token_find(&all->cache.table, token, &word))
			continue;
		weak_check(!ds_word_is_moving(word) && !ds_word_uses(word));
		in[ds_word_tier(word)]++;
		pinned += !!(word & DS_WORD_PINNED);
		slot = ds_word_slot(word);
		if (ds_word_tier(word) == 1)
			weak_check(all->cache.table.l1.slots[slot].token == token &&
				   ds_policy_key(&all->cache.policy, slot) == ds_token_index(token));
		else if (ds_word_tier(word) == 2)
			weak_check(ds_l2_slot_of(&all->cache.table.l2, slot)->token == token &&
				   !ds_l2_is_kept(&all->cache.table.l2, slot));
	}
	weak_check(all->cache.table.l2.used == in[2]);
	weak_check(all->cache.pins == pinned && in[1] >= pinned);
}

static void with(const char *name, void (*first)(void), void (*second)(void), void (*third)(void),
		 unsigned int budget)
{
	static void (*const setups[])(void) = { setup, setup_l2 };
	u32 i;

	for (i = 0; i < 2; i++) {
		struct weak_scenario s = {
			.setup = setups[i],
			.threads = { first, second, third },
			.check = stands_still,
			.budget = budget,
		};

		runs(name, &s);
	}
}

#define WITH(first, second, third, budget)	\
	with(#first ", " #second ", " #third, first, second, third, budget)

static void hits(void **state)
{
	(void)state;
	WITH(miss, look_comes, NULL, 2);
	WITH(miss, look_goes, NULL, 2);
	WITH(miss, post_comes, NULL, 2);
	WITH(miss, post_goes, NULL, 2);
}

static void goes_home(void **state)
{
	struct weak_scenario s = {
		.setup = setup_without_l2,
		.threads = { miss, look_goes, post_goes },
		.budget = 2,
	};

	(void)state;
	runs("goes home", &s);
}

static void both_ways(void **state)
{
	(void)state;
	WITH(miss, miss_back, NULL, 2);
	WITH(miss, miss_back, look_goes, 1);
	WITH(miss, miss_back, look_comes, 1);
}

static void ends(void **state)
{
	(void)state;
	WITH(miss, end_comes, NULL, 2);
	WITH(miss, end_goes, NULL, 2);
	WITH(miss, end_goes, use_goes, 1);
	WITH(miss, replace_goes, NULL, 1);
	WITH(miss, replace_goes, look_goes, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hits),
		cmocka_unit_test(goes_home),
		cmocka_unit_test(both_ways),
		cmocka_unit_test(ends),
	};

	return cmocka_run_group_tests_name("core_weak_cache", tests, NULL, NULL);
}
