// SPDX-License-Identifier: Apache-2.0
/*
 * Places that come and go with tokens, by all that a weak machine may do: pages of the directory,
 * records and copies of wide tokens. Who finds one sees what was put there.
 */
#include "core_weak.h"

#include "tokencache/walk.h"
#include "tokencache/whole.c"

/* Hits count for nobody, and whole descriptions come by themselves. */
void ds_policy_note(struct ds_policy *p, u32 slot)
{
	(void)p, (void)slot;
}

int ds_fetch_whole(struct ds_fetch *f, u32 token, u32 requester, u32 priority,
		   struct ds_expand_waiter *waiter, u64 now)
{
	(void)f, (void)token, (void)requester, (void)priority, (void)waiter, (void)now;
	return -EINPROGRESS;
}

bool ds_expand_cancel(struct ds_expand *box, struct ds_expand_waiter *waiter)
{
	(void)box, (void)waiter;
	return false;
}

enum { OWNER = 5 };

static struct ds_whole *whole;

/* The first of its page, as PDs have others than QPs. */
static u32 first_pd(void)
{
	return ds_token_make(DS_TOKEN_PD, 1, DS_TOKEN_PAGE);
}

static struct ds_token_desc pd(u32 number)
{
	return (struct ds_token_desc){ .type = DS_TOKEN_PD, .pd = { .number = number, .domain = 7 } };
}

/* Has no room in its words. */
static struct ds_token_desc wide_pd(u32 number)
{
	return (struct ds_token_desc){ .type = DS_TOKEN_PD, .pd = { .number = number, .domain = 1 << 20 } };
}

static u32 make(struct ds_token_desc d)
{
	u32 token = 0;

	weak_check(!ds_token_create_for(&w->table, OWNER, &d, &token));
	return token;
}

/* ---- a page of the directory ---- */

static void make_pd(void)
{
	u32 token = make(pd(4));

	smp_store_release(&w->seen[weak_thread], token);
}

static void use_first_pd(void)
{
	struct ds_token_desc d;
	int ret = ds_token_get(&w->table, first_pd(), &d);

	weak_check(!ret || ret == -EBADF);
	if (ret)
		return;
	weak_check(d.pd.number == 4 && d.pd.domain == 7);
	ds_token_put(&w->table, first_pd());
}

/* As who lists all tokens. */
static void list(void)
{
	u32 end = ds_token_indices_end(&w->table);
	u64 word;

	if (end > DS_TOKEN_PAGE && ds_token_at(&w->table, DS_TOKEN_PAGE, &word))
		weak_check(ds_token_owner(&w->table, first_pd()) == OWNER);
}

/* As a program, which faults in what is below the end. */
static void map(void)
{
	u32 end = smp_load_acquire(&w->table.head->end);
	const u64 *words;

	if (end <= DS_TOKEN_PAGE)
		return;
	words = ds_directory_part(&w->table, 1 + DS_TOKEN_PAGE * sizeof(u64) / DS_DIRECTORY_WORDS);
	weak_check(words);
	weak_check(!READ_ONCE(words[1]));
}

static void two_pds(void)
{
	weak_check(ds_token_index((u32)w->seen[0]) + ds_token_index((u32)w->seen[1]) == 2 * DS_TOKEN_PAGE + 1);
}

static void pages(void **state)
{
	(void)state;
	runs("use", &(struct weak_scenario){ setup_table, { make_pd, use_first_pd }, NULL, 3 });
	runs("list", &(struct weak_scenario){ setup_table, { make_pd, list }, NULL, 3 });
	runs("map", &(struct weak_scenario){ setup_table, { make_pd, map }, NULL, 3 });
	runs("both make", &(struct weak_scenario){ setup_table, { make_pd, make_pd }, two_pds, 2 });
}

/* ---- records of wide tokens ---- */

static void make_wide(void)
{
	smp_store_release(&w->seen[weak_thread], make(wide_pd((u32)weak_thread)));
}

static void use_wide(u32 token, u32 number)
{
	struct ds_token_desc d;

	if (!token || ds_token_get(&w->table, token, &d))
		return;
	weak_check(d.pd.number == number && d.pd.domain == 1 << 20);
	ds_token_put(&w->table, token);
}

static void use_what_was_made(void)
{
	use_wide((u32)smp_load_acquire(&w->seen[0]), 0);
}

static void use_what_may_be_made(void)
{
	use_wide(first_pd(), 0);
}

static void both_are_made(void)
{
	use_wide((u32)w->seen[0], 0);
	use_wide((u32)w->seen[1], 1);
}

static void tell(struct ds_token_idle *idle)
{
	(void)idle;
	smp_store_release(&w->flag, 1);
}

static void setup_wide(void)
{
	setup_table();
	w->idle.done = tell;
	w->token = make(wide_pd(1));
}

static void end_token(void)
{
	if (ds_token_revoke(&w->table, w->token, &w->idle))
		while (!smp_load_acquire(&w->flag))
			weak_yield();
}

/* Its record is the next one's. */
static void replace_wide(void)
{
	end_token();
	ds_token_free(&w->table, w->token);
	make(wide_pd(2));
}

static void use_old_wide(void)
{
	use_wide(w->token, 1);
}

static void records(void **state)
{
	(void)state;
	runs("made", &(struct weak_scenario){ setup_table, { make_wide, use_what_was_made }, NULL, 3 });
	runs("may be made", &(struct weak_scenario){ setup_table, { make_wide, use_what_may_be_made }, NULL, 3 });
	runs("both make", &(struct weak_scenario){ setup_table, { make_wide, make_wide }, both_are_made, 2 });
	runs("replaced", &(struct weak_scenario){ setup_wide, { replace_wide, use_old_wide }, NULL, 3 });
}

/* ---- copies of them ---- */

static void setup_copy(void)
{
	setup_wide();
	whole = weak_alloc(sizeof(*whole));
	ds_whole_init(whole, weak_alloc(sizeof(struct ds_fetch)));
	weak_check(ds_whole_ask(whole, w->token, 0, 0) == -EINPROGRESS);
}

/* As the host does, and who asked is told. */
static void copy(void)
{
	struct ds_whole_copy *c = find_copy(whole, w->token);

	c->desc = wide_pd(1);
	copy_told(&c->w.base, 0);
}

static void use_copy(void)
{
	const struct ds_token_desc *d;

	if (ds_token_hold(&w->table, w->token))
		return;
	d = find_kept(whole, w->token);
	weak_check(!d || d->pd.number == 1);
	ds_token_put(&w->table, w->token);
}

/* Another one gets its buffer. */
static void copy_and_replace(void)
{
	struct ds_whole_copy *c = find_copy(whole, w->token);

	copy();
	end_token();
	ds_whole_forget(whole, w->token);
	c->desc = wide_pd(2);
}

static void copies(void **state)
{
	(void)state;
	runs("comes", &(struct weak_scenario){ setup_copy, { copy, use_copy }, NULL, 3 });
	runs("goes", &(struct weak_scenario){ setup_copy, { copy_and_replace, use_copy }, NULL, 3 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages),
		cmocka_unit_test(records),
		cmocka_unit_test(copies),
	};

	return cmocka_run_group_tests_name("core_weak_place", tests, NULL, NULL);
}
