// SPDX-License-Identifier: Apache-2.0
/*
 * Reading a token while it is moved and written to, by all that a weak machine may do: what is read
 * is the token's, and not older than what the reader knows.
 */
#include "core_weak.h"

static u32 from, to;
static bool blocking;

static void setup(void)
{
	setup_table();
	if (from < 3)
		must_move(w->token, from);
	ds_l1_hint(&w->table.l1, w->token, L1_SLOT);
	w->table.blocking = blocking;
}

static void go(void)
{
	move(w->token, to);
}

static void post(void)
{
	weak_check(!ds_token_add_posted(&w->table, w->token, 1));
	smp_store_release(&w->flag, 1);
}

/* There and back: its slot is filled again. */
static void go_post_and_return(void)
{
	must_move(w->token, to);
	post();
	must_move(w->token, from);
}

static void go_return_and_post(void)
{
	must_move(w->token, to);
	must_move(w->token, from);
	post();
}

/* Its place is another one's then. */
static void go_and_post(void)
{
	must_move(w->token, to);
	post();
	if (from < 3)
		weak_check(!move_now(&w->table, create(2), from, slot_in(from)));
}

static void check_pack(const struct ds_token_pack *p, u64 posted)
{
	weak_check(p->fixed == fixed_of(1) && !ds_token_pack_state(p));
	weak_check((p->hot >> DS_HOT_POSTED_OFF) >= posted);
}

/* With a use. */
static void use(void)
{
	u64 posted = smp_load_acquire(&w->flag), word;
	struct ds_token_pack p;

	if (!was_read(ds_token_get_pack(&w->table, w->token, &word, &p)))
		return;
	check_pack(&p, posted);
	ds_token_put(&w->table, w->token);
}

/* Without one, as the cache looks up queue pairs. */
static void look(void)
{
	u64 posted = smp_load_acquire(&w->flag), word;
	struct ds_token_pack p;

	weak_check(!ds_token_find(&w->table, w->token, &word));
	if (was_read(ds_token_copy(&w->table, w->token, &word, &p)))
		check_pack(&p, posted);
}

/* By its handle alone. */
static void find(void)
{
	u64 posted = smp_load_acquire(&w->flag);
	struct ds_token_pack p;

	if (ds_l1_find(&w->table.l1, w->token, &p) != DS_L1_NONE)
		check_pack(&p, posted);
}

/* What it has seen once. */
static void look_twice(void)
{
	struct ds_token_pack p, q;
	u64 word;

	weak_check(!ds_token_find(&w->table, w->token, &word));
	if (!was_read(ds_token_copy(&w->table, w->token, &word, &p)))
		return;
	if (ds_l1_find(&w->table.l1, w->token, &q) != DS_L1_NONE)
		check_pack(&q, p.hot >> DS_HOT_POSTED_OFF);
}

static void one_was_posted(void)
{
	check_token(w->token, 1, 1);
}

static void all_ways(void (*mover)(void), void (*writer)(void), unsigned int budget)
{
	static void (*const readers[])(void) = { use, look, find, look_twice };
	char name[64];
	u32 i;

	for (from = 1; from <= 3; from++) {
		for (to = 1; to <= 3; to++) {
			for (i = 0; i < ARRAY_SIZE(readers) && from != to; i++) {
				struct weak_scenario s = {
					.setup = setup,
					.threads = { mover, readers[i], writer },
					.check = one_was_posted,
					.budget = budget,
				};

				snprintf(name, sizeof(name), "%u to %u, reader %u", from, to, i);
				runs(name, &s);
			}
		}
	}
}

static void moved_and_written(void **state)
{
	(void)state;
	blocking = false;
	all_ways(go, post, 2);
}

static void moved_and_written_blocking(void **state)
{
	(void)state;
	blocking = true;
	all_ways(go, post, 2);
}

static void returned(void **state)
{
	(void)state;
	blocking = false;
	all_ways(go_post_and_return, NULL, 3);
}

/* The reader may not know that a token is home again, and take it for one that has never left. */
static void back_home(void **state)
{
	struct weak_scenario s = { .setup = setup, .threads = { go_post_and_return, look_twice }, .budget = 3 };

	(void)state;
	blocking = false;
	from = 3;
	to = 1;
	runs("written to in L1", &s);
	s.threads[0] = go_return_and_post;
	runs("written to at home", &s);
}

static void replaced(void **state)
{
	(void)state;
	blocking = false;
	all_ways(go_and_post, NULL, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moved_and_written),
		cmocka_unit_test(moved_and_written_blocking),
		cmocka_unit_test(returned),
		cmocka_unit_test(back_home),
		cmocka_unit_test(replaced),
	};

	return cmocka_run_group_tests_name("core_weak_read", tests, NULL, NULL);
}
