// SPDX-License-Identifier: Apache-2.0
/*
 * Tokens that come and end, by all that a weak machine may do: nobody finds a token that was
 * revoked, nor uses an object that was destroyed, nor takes for a token what its place is used for
 * before or afterwards.
 */
#include "core_weak.h"

static u32 tier;

static void tell(struct ds_token_idle *idle)
{
	(void)idle;
	smp_store_release(&w->seen[0], 1);
}

static void setup(void)
{
	setup_table();
	w->idle.done = tell;
	w->object = 1;
	if (tier < 3)
		must_move(w->token, tier);
	ds_l1_hint(&w->table.l1, w->token, L1_SLOT);
}

static void revoke(void)
{
	int ret = ds_token_revoke(&w->table, w->token, &w->idle);

	weak_check(!ret || ret == -EINPROGRESS);
	smp_store_release(&w->flag, 1);
	while (ret && !smp_load_acquire(&w->seen[0]))
		weak_yield();
}

static void revoke_and_destroy(void)
{
	revoke();
	w->object = 0;
	ds_token_free(&w->table, w->token);
}

/* Its index is the one that is used next. */
static void revoke_and_replace(void)
{
	revoke_and_destroy();
	smp_store_release(&w->seen[1], create(3));
}

/* By somebody else than who has ended it. */
static void make_next(void)
{
	create(3);
}

/* What a free index says is the next free one. */
static void revoke_and_free_two(void)
{
	u32 other = create(2);

	revoke_and_destroy();
	weak_check(!ds_token_revoke(&w->table, other, &w->idle));
	ds_token_free(&w->table, other);
}

static void use(void)
{
	struct ds_token_desc d;
	bool dead = smp_load_acquire(&w->flag);
	int ret = ds_token_get(&w->table, w->token, &d);

	weak_check(!ret || ret == -ESTALE);
	if (ret)
		return;
	weak_check(!dead && d.qp.number == 1);
	weak_check(w->object);
	ds_token_put(&w->table, w->token);
}

static void hold(void)
{
	if (ds_token_hold(&w->table, w->token))
		return;
	weak_check(w->object);
	ds_token_put(&w->table, w->token);
}

static void look(void)
{
	bool dead = smp_load_acquire(&w->flag);
	struct ds_token_pack p;
	u64 word;
	int ret = ds_token_find(&w->table, w->token, &word);

	if (!ret)
		ret = ds_token_copy(&w->table, w->token, &word, &p);
	weak_check(!ret || ret == -ESTALE);
	if (!ret)
		weak_check(!dead && p.fixed == fixed_of(1) && !(p.hot & ~(1ull << DS_HOT_POSTED_OFF)));
}

static void find(void)
{
	bool dead = smp_load_acquire(&w->flag);
	struct ds_token_pack p;

	if (ds_l1_find(&w->table.l1, w->token, &p) != DS_L1_NONE)
		weak_check(!dead && p.fixed == fixed_of(1) && !p.hot);
}

static void go(void)
{
	int ret = move_now(&w->table, w->token, tier == 1 ? 3 : 1, L1_SLOT);

	weak_check(!ret || ret == -EAGAIN || ret == -ESTALE);
}

static void begin_and_give_up(void)
{
	struct ds_move m;

	if (ds_move_begin(&w->table, &m, w->token, tier == 1 ? 3 : 1, L1_SLOT))
		return;
	ds_move_copy(&w->table, &m);
	ds_move_abort(&w->table, &m);
}

static void post(void)
{
	int ret = ds_token_add_posted(&w->table, w->token, 1);

	weak_check(!ret || ret == -ESTALE);
}

/* Who takes its place, and has its handle from who made it. */
static void use_next(void)
{
	u32 token = (u32)smp_load_acquire(&w->seen[1]);
	struct ds_token_desc d;

	if (!token)
		return;
	weak_check(token == w->token + (1u << DS_TOKEN_GEN_OFF));
	weak_check(!ds_token_get(&w->table, token, &d));
	weak_check(d.qp.number == 3 && d.qp.state == 2);
	ds_token_put(&w->table, token);
}

/* Or does not know whether there is one. */
static void guess_next(void)
{
	u32 token = w->token + (1u << DS_TOKEN_GEN_OFF);
	struct ds_token_pack p;
	u64 word;

	if (ds_token_get_pack(&w->table, token, &word, &p))
		return;
	weak_check(p.fixed == fixed_of(3) && p.hot == 2);
	ds_token_put(&w->table, token);
}

static void revoked(void)
{
	struct ds_token_pack p;

	weak_check(ds_l1_find(&w->table.l1, w->token, &p) == DS_L1_NONE);
	weak_check(ds_token_hold(&w->table, w->token) == -ESTALE);
}

static void against(const char *what, void (*end)(void), void (*first)(void), void (*second)(void),
		    unsigned int budget)
{
	char name[64];

	for (tier = 1; tier <= 3; tier++) {
		struct weak_scenario s = {
			.setup = setup,
			.threads = { end, first, second },
			.check = revoked,
			.budget = budget,
		};

		snprintf(name, sizeof(name), "%s, in %u", what, tier);
		runs(name, &s);
	}
}

#define AGAINST(end, first, second, budget) against(#end ", " #first ", " #second, end, first, second, budget)

static void revokes(void **state)
{
	(void)state;
	AGAINST(revoke, find, go, 3);
	AGAINST(revoke, find, begin_and_give_up, 3);
	AGAINST(revoke, look, post, 3);
}

static void objects(void **state)
{
	(void)state;
	AGAINST(revoke_and_destroy, use, NULL, 4);
	AGAINST(revoke_and_destroy, hold, hold, 3);
	AGAINST(revoke_and_destroy, hold, go, 3);
	AGAINST(revoke_and_destroy, hold, post, 3);
}

static void places(void **state)
{
	(void)state;
	AGAINST(revoke_and_replace, look, NULL, 3);
	AGAINST(revoke_and_replace, use, NULL, 3);
	AGAINST(revoke_and_replace, use_next, NULL, 3);
	AGAINST(revoke_and_replace, guess_next, NULL, 3);
	AGAINST(revoke_and_free_two, look, NULL, 3);
	AGAINST(revoke_and_destroy, make_next, look, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(revokes),
		cmocka_unit_test(objects),
		cmocka_unit_test(places),
	};

	return cmocka_run_group_tests_name("core_weak_end", tests, NULL, NULL);
}
