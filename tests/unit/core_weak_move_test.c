// SPDX-License-Identifier: Apache-2.0
/*
 * Who moves tokens, by all that a weak machine may do: two movers of one token, and slots that pass
 * from token to token.
 */
#include "core_weak.h"

static u32 from;
static bool blocking;

static void setup(void)
{
	setup_table();
	if (from < 3)
		must_move(w->token, from);
	w->table.blocking = blocking;
}

/* ---- two movers and a writer ---- */

static void to_l1(void)
{
	move(w->token, 1);
}

static void to_l2(void)
{
	move(w->token, 2);
}

static void home(void)
{
	move(w->token, 3);
}

static void post(void)
{
	weak_check(!ds_token_add_posted(&w->table, w->token, 1));
}

/* A second slot of L1, as two movers never have one slot for a token. */
static void away_and_to_l1(void)
{
	int ret;

	move(w->token, 3);
	ret = move_now(&w->table, w->token, 1, L1_SLOT + 1);
	weak_check(!ret || ret == -EAGAIN || ret == -EBUSY || ret == -EEXIST);
}

/* As in the middle of a miss that comes to nothing. */
static void begin_and_give_up(void)
{
	struct ds_move m;

	if (ds_move_begin(&w->table, &m, w->token, from == 3 ? 1 : 3, slot_in(1)))
		return;
	ds_move_copy(&w->table, &m);
	ds_move_abort(&w->table, &m);
}

static void stands_still(u32 posted)
{
	struct ds_token_pack p;
	u64 word = 0;

	check_token(w->token, 1, posted);
	weak_check(!ds_token_find(&w->table, w->token, &word));
	weak_check(!ds_word_uses(word) && !ds_word_is_moving(word) && !(word & DS_WORD_WRITER));
	if (ds_word_tier(word) != 1)
		return;
	/* It is found where it is. */
	ds_l1_hint(&w->table.l1, w->token, ds_word_slot(word));
	weak_check(ds_l1_find(&w->table.l1, w->token, &p) == ds_word_slot(word));
}

static void one_was_posted(void)
{
	stands_still(1);
}

static void two_were_posted(void)
{
	stands_still(2);
}

static void movers_and_writer(void **state)
{
	void (*const movers[][2])(void) = {
		{ to_l1, to_l2 }, { to_l1, home }, { to_l2, home }, { away_and_to_l1, to_l1 },
		{ begin_and_give_up, to_l2 }, { begin_and_give_up, home },
	};
	char name[64];
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(movers) * 6; i++) {
		struct weak_scenario s = {
			.setup = setup,
			.threads = { movers[i / 6][0], movers[i / 6][1], post },
			.check = one_was_posted,
			.budget = 2,
		};

		from = i % 3 + 1;
		blocking = i % 2;
		snprintf(name, sizeof(name), "from %u, movers %u%s", from, i / 6, blocking ? ", blocking" : "");
		runs(name, &s);
	}
}

static void mover_and_writers(void **state)
{
	void (*const movers[])(void) = { to_l1, to_l2, home, begin_and_give_up };
	char name[64];
	u32 i;

	(void)state;
	blocking = false;
	for (i = 0; i < ARRAY_SIZE(movers) * 3; i++) {
		struct weak_scenario s = {
			.setup = setup,
			.threads = { movers[i / 3], post, post },
			.check = two_were_posted,
			.budget = 2,
		};

		from = i % 3 + 1;
		snprintf(name, sizeof(name), "from %u, mover %u", from, i / 3);
		runs(name, &s);
	}
}

/* ---- a slot that passes to another token, alone ---- */

static void setup_slots(void)
{
	setup_table();
	must_move(w->token, 1);
	ds_l1_hint(&w->table.l1, w->token, L1_SLOT);
	ds_l2_fill(&w->table.l2, w->l2_slot, w->token, &(struct ds_token_pack){ .fixed = fixed_of(1) });
}

static u32 other(void)
{
	return w->token + (1u << DS_TOKEN_INDEX_OFF);
}

static void fill_l1(void)
{
	ds_l1_hide(&w->table.l1, w->token, L1_SLOT);
	ds_l1_fill(&w->table.l1, L1_SLOT, other(), &(struct ds_token_pack){ .fixed = fixed_of(2), .hot = 2 });
	ds_l1_show(&w->table.l1, other(), L1_SLOT);
}

static void fill_l2(void)
{
	ds_l2_fill(&w->table.l2, w->l2_slot, other(), &(struct ds_token_pack){ .fixed = fixed_of(2), .hot = 2 });
}

/* It has another first half. */
static u64 far_fixed(void)
{
	return fixed_of(2) ^ 1ull << 40;
}

static void renew_l2(void)
{
	ds_l2_renew(&w->table.l2, w->l2_slot, far_fixed());
	ds_l2_fill(&w->table.l2, w->l2_slot, other(), &(struct ds_token_pack){ .fixed = far_fixed(), .hot = 2 });
}

/* And comes back to the one that had it before. */
static void fill_l2_twice(void)
{
	fill_l2();
	ds_l2_fill(&w->table.l2, w->l2_slot, w->token, &(struct ds_token_pack){ .fixed = fixed_of(1) });
}

static void is_whole(bool found, u32 number, const struct ds_token_pack *p)
{
	weak_check(!found || (p->fixed == fixed_of(number) && p->hot == (number == 2 ? 2 : 0)));
}

static void read_l1(void)
{
	struct ds_token_pack p;

	is_whole(ds_l1_read(&w->table.l1, L1_SLOT, w->token, &p), 1, &p);
}

static void read_other_l1(void)
{
	struct ds_token_pack p;

	is_whole(ds_l1_read(&w->table.l1, L1_SLOT, other(), &p), 2, &p);
}

static void find_l1(void)
{
	struct ds_token_pack p;

	is_whole(ds_l1_find(&w->table.l1, w->token, &p) != DS_L1_NONE, 1, &p);
}

static void find_other_l1(void)
{
	struct ds_token_pack p;

	ds_l1_hint(&w->table.l1, other(), L1_SLOT);
	is_whole(ds_l1_find(&w->table.l1, other(), &p) != DS_L1_NONE, 2, &p);
}

static void read_l2(void)
{
	struct ds_token_pack p;

	is_whole(ds_l2_read(&w->table.l2, w->l2_slot, w->token, &p), 1, &p);
}

static void read_other_l2(void)
{
	struct ds_token_pack p;

	is_whole(ds_l2_read(&w->table.l2, w->l2_slot, other(), &p), 2, &p);
}

static void read_far_l2(void)
{
	struct ds_token_pack p;

	if (ds_l2_read(&w->table.l2, w->l2_slot, other(), &p))
		weak_check(p.fixed == far_fixed() && p.hot == 2);
}

static void slots(void **state)
{
	void (*const threads[][2])(void) = {
		{ fill_l1, read_l1 }, { fill_l1, read_other_l1 }, { fill_l1, find_l1 }, { fill_l1, find_other_l1 },
		{ fill_l2, read_l2 }, { fill_l2, read_other_l2 }, { fill_l2_twice, read_l2 },
		{ renew_l2, read_l2 }, { renew_l2, read_far_l2 },
	};
	char name[64];
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		struct weak_scenario s = {
			.setup = setup_slots,
			.threads = { threads[i][0], threads[i][1] },
			.budget = 5,
		};

		snprintf(name, sizeof(name), "slot %u", i);
		runs(name, &s);
	}
}

/* ---- a slot of L2 whose page becomes another one ---- */

static void setup_page(void)
{
	setup_table();
	/* So many have a first half that its tokens get a page of their own. */
	ds_l2_give(&w->table.l2, w->l2_slot);
	w->table.l2.crowd[bucket_of(&w->table.l2, (u32)(fixed_of(1) >> 32))] = CROWD;
	w->l2_slot = ds_l2_take(&w->table.l2, fixed_of(1));
	weak_check(!ds_l2_page_of(&w->table.l2, w->l2_slot)->mixed);
	must_move(w->token, 2);
}

/* The page is empty, and then one of others. */
static void change_page(void)
{
	struct ds_token_desc d = { .type = DS_TOKEN_QP, .qp.number = 2, .qp.pd = 5 };
	struct ds_token_pack p;
	u32 token, slot;

	must_move(w->token, 3);
	ds_l2_give(&w->table.l2, w->l2_slot);
	ds_token_pack(&d, &p);
	w->table.l2.crowd[bucket_of(&w->table.l2, (u32)(p.fixed >> 32))] = CROWD;
	slot = ds_l2_take(&w->table.l2, p.fixed);
	weak_check(slot == w->l2_slot);
	weak_check(!ds_token_create(&w->table, &d, &token));
	weak_check(!move_now(&w->table, token, 2, slot));
}

/* Or one of mixed tokens, as there is no other one for them. */
static void mix_page(void)
{
	struct ds_l2 *l2 = &w->table.l2;
	u32 token = create(2), slot;

	must_move(w->token, 3);
	ds_l2_give(l2, w->l2_slot);
	l2->crowd[bucket_of(l2, (u32)(fixed_of(2) >> 32))] = 0;
	l2->pages[0].used = DS_L2_MIXED_SLOTS;
	slot = ds_l2_take(l2, fixed_of(2));
	weak_check(slot == w->l2_slot && ds_l2_page_of(l2, slot)->mixed);
	weak_check(!move_now(&w->table, token, 2, slot));
}

static void look(void)
{
	struct ds_token_pack p;
	u64 word;

	weak_check(!ds_token_find(&w->table, w->token, &word));
	if (was_read(ds_token_copy(&w->table, w->token, &word, &p)))
		weak_check(p.fixed == fixed_of(1) && !p.hot);
}

/* What L2 itself says, when the reader knows nothing of the directory. */
static void look_in_l2(void)
{
	struct ds_token_pack p;

	if (ds_l2_read(&w->table.l2, w->l2_slot, w->token, &p))
		weak_check(p.fixed == fixed_of(1) && !p.hot);
}

static void pages(void **state)
{
	void (*const changes[])(void) = { change_page, mix_page };
	void (*const readers[])(void) = { look, look_in_l2 };
	char name[64];
	u32 i;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct weak_scenario s = {
			.setup = setup_page,
			.threads = { changes[i / 2], readers[i % 2] },
			.budget = 3,
		};

		snprintf(name, sizeof(name), "change %u, reader %u", i / 2, i % 2);
		runs(name, &s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(movers_and_writer),
		cmocka_unit_test(mover_and_writers),
		cmocka_unit_test(slots),
		cmocka_unit_test(pages),
	};

	return cmocka_run_group_tests_name("core_weak_move", tests, NULL, NULL);
}
