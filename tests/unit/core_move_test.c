// SPDX-License-Identifier: Apache-2.0
/* Tokens on their way between tiers, one thread: each step, and what may come between two of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tokencache/inline.h"
#include "tokencache/table.h"
#include "core_move.h"

enum { SLOTS = 4 };

/* All six ways. */
static const struct way { u32 from, to; } ways[] = {
	{ 1, 2 }, { 1, 3 }, { 2, 1 }, { 2, 3 }, { 3, 1 }, { 3, 2 },
};

static struct ds_token_table table;
static u32 left[4][SLOTS];	/* by tier and slot */
static int told;

static void slot_left(struct ds_l1 *l1, u32 slot, u32 token)
{
	assert_ptr_equal(l1, &table.l1);
	assert_int_equal(ds_token_type_of(token), DS_TOKEN_QP);
	left[1][slot]++;
}

static void l2_slot_left(struct ds_l2 *l2, u32 slot, u32 token)
{
	assert_ptr_equal(l2, &table.l2);
	assert_int_equal(ds_token_type_of(token), DS_TOKEN_QP);
	left[2][slot]++;
}

static void tell(struct ds_token_idle *idle)
{
	(void)idle;
	told++;
}

static struct ds_token_idle waiter = { .done = tell };

static int setup(void **state)
{
	(void)state;
	memset(left, 0, sizeof(left));
	told = 0;
	assert_int_equal(ds_token_table_init(&table, 100), 0);
	assert_int_equal(ds_l1_init(&table.l1, SLOTS), 0);
	assert_int_equal(ds_l2_init(&table.l2, 1, DS_L2_ANYWHERE), 0);
	while (ds_l2_take(&table.l2, 0) != SLOTS - 1)
		;
	table.l1.left = slot_left;
	table.l2.left = l2_slot_left;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ds_l2_destroy(&table.l2);
	ds_l1_destroy(&table.l1);
	ds_token_table_destroy(&table);
	return 0;
}

static u32 create(u8 type, u32 number)
{
	struct ds_token_desc d;
	u32 token;

	memset(&d, 0, sizeof(d));
	d.type = type;
	if (type == DS_TOKEN_QP) {
		d.qp.number = number;
		d.qp.qp_type = 2;
		d.qp.scq = 2;
	} else if (type == DS_TOKEN_MR) {
		d.mr.page_shift = 12;
		d.mr.rkey = number;
	} else {
		d.pd.number = number;
	}
	assert_int_equal(ds_token_create(&table, &d, &token), 0);
	return token;
}

static struct ds_token_desc read_token(u32 token)
{
	struct ds_token_desc d;

	assert_int_equal(ds_token_get(&table, token, &d), 0);
	ds_token_put(&table, token);
	return d;
}

static void expect(u32 token, u32 tier, u16 posted)
{
	struct ds_token_desc d = read_token(token);

	assert_int_equal(d.tier, tier);
	assert_int_equal(d.qp.posted, posted);
}

static u64 word_of(u32 token)
{
	u64 word;

	assert_int_equal(ds_token_find(&table, token, &word), 0);
	return word;
}

/* To a slot of a tier, wherever it is; L2's are taken for any token, as the page is mixed. */
static void carry(u32 token, u32 to, u32 slot)
{
	struct ds_token_pack p;
	u64 word = word_of(token);

	if (ds_word_tier(word) == to && (to == 3 || ds_word_slot(word) == slot))
		return;
	if (ds_word_tier(word) == to)
		assert_int_equal(move_now(&table, token, 3, 0), 0);
	word = word_of(token);
	assert_true(ds_token_peek(&table, token, word, &p));
	if (to == 2)
		ds_l2_renew(&table.l2, slot, p.fixed);
	assert_int_equal(move_now(&table, token, to, slot), 0);
}

/* Begin to carry it there. */
static void set_out(struct ds_move *m, u32 token, u32 to, u32 slot)
{
	struct ds_token_pack p;

	assert_true(ds_token_peek(&table, token, word_of(token), &p));
	if (to == 2)
		ds_l2_renew(&table.l2, slot, p.fixed);
	assert_int_equal(ds_move_begin(&table, m, token, to, slot), 0);
}

static void bad_moves(void **state)
{
	u32 token = create(DS_TOKEN_QP, 1);
	struct ds_move m;

	(void)state;
	assert_int_equal(move_now(&table, token + 1, 1, 0), -EBADF);
	assert_int_equal(ds_move_begin(&table, &m, token + DS_TOKEN_PAGE, 1, 0), -EBADF);
	assert_int_equal(move_now(&table, token, 3, 0), -EEXIST);
	assert_int_equal(ds_move_begin(&table, &m, token, 1, 0), 0);
	assert_int_equal(move_now(&table, token, 1, 1), -EBUSY);
	assert_int_equal(move_now(&table, token, 3, 0), -EBUSY);
	ds_move_abort(&table, &m);
	assert_int_equal(ds_word_state(word_of(token)), DS_TOKEN_L3);
	assert_int_equal(ds_word_uses(word_of(token)), 0);
	*ds_token_word(&table, token) |= DS_WORD_PINNED;
	assert_int_equal(move_now(&table, token, 1, 0), -EPERM);
	*ds_token_word(&table, token) &= ~DS_WORD_PINNED;
	assert_int_equal(ds_token_revoke(&table, token, &waiter), 0);
	assert_int_equal(move_now(&table, token, 1, 0), -ESTALE);
	assert_int_equal(left[1][0], 0);
}

/* The mover is one of the users, and there is to be room for the revoker. */
static void too_many_uses(void **state)
{
	u32 token = create(DS_TOKEN_QP, 1), i;

	(void)state;
	for (i = 0; i < DS_WORD_USES_MAX - 1; i++)
		assert_int_equal(ds_token_hold(&table, token), 0);
	assert_int_equal(move_now(&table, token, 1, 0), -EOVERFLOW);
	ds_token_put(&table, token);
	assert_int_equal(move_now(&table, token, 1, 0), 0);
	while (--i)
		ds_token_put(&table, token);
	assert_int_equal(ds_word_uses(word_of(token)), 0);
}

/* Who writes to it has it alone, however long. */
static void being_written_to(void **state)
{
	u32 qp = create(DS_TOKEN_QP, 1);
	u64 *word = ds_token_word(&table, qp);
	struct ds_move m;

	(void)state;
	*word |= DS_WORD_WRITER;
	assert_int_equal(ds_move_begin(&table, &m, qp, 1, 0), -EAGAIN);
	assert_int_equal(ds_token_add_posted(&table, qp, 1), -EAGAIN);
	assert_int_equal(ds_token_set_state(&table, qp, 1), -EAGAIN);
	*word &= ~DS_WORD_WRITER;
	expect(qp, 3, 0);
	assert_int_equal(ds_move_begin(&table, &m, qp, 1, 0), 0);
	*word |= DS_WORD_WRITER;
	assert_int_equal(ds_move_copy(&table, &m), 0);
	assert_int_equal(ds_move_commit(&table, &m), -EAGAIN);
	*word &= ~DS_WORD_WRITER;
	assert_int_equal(ds_move_copy(&table, &m), 0);
	*word |= DS_WORD_WRITER;
	assert_int_equal(ds_move_commit(&table, &m), -EAGAIN);
	*word &= ~DS_WORD_WRITER;
	assert_int_equal(ds_move_commit(&table, &m), 0);
	expect(qp, 1, 0);
}

static void there_and_back(void **state)
{
	u32 qp = create(DS_TOKEN_QP, 11), pd = create(DS_TOKEN_PD, 12), mr = create(DS_TOKEN_MR, 13), i;
	u32 beside = create(DS_TOKEN_PD, 14);	/* its home is behind the other one's */

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		carry(qp, ways[i].from, 0);
		carry(pd, ways[i].from, 1);
		carry(mr, ways[i].from, 3);
		assert_int_equal(move_now(&table, mr, ways[i].from, 2), -EEXIST);
		carry(qp, ways[i].to, 3);
		carry(pd, ways[i].to, 0);
		carry(mr, ways[i].to, 1);
		assert_int_equal(read_token(qp).qp.number, 11);
		assert_int_equal(read_token(pd).pd.number, 12);
		assert_int_equal(read_token(mr).mr.rkey, 13);
		assert_int_equal(read_token(beside).pd.number, 14);
		assert_int_equal(read_token(pd).tier, ways[i].to);
		assert_int_equal(read_token(mr).slot, ways[i].to == 3 ? 0 : 1);
		assert_int_equal(ds_word_uses(word_of(pd)), 0);
		assert_int_equal(word_of(qp) & (DS_WORD_DIRTY | DS_WORD_WRITER), 0);
	}
}

static void written_where_it_is(void **state)
{
	u32 qp = create(DS_TOKEN_QP, 1), mr = create(DS_TOKEN_MR, 1), i;
	u16 posted = 65535;

	(void)state;
	assert_int_equal(ds_token_add_posted(&table, mr, 1), -EINVAL);
	assert_int_equal(ds_token_set_state(&table, qp, 7), -EINVAL);
	assert_int_equal(ds_token_set_state(&table, qp + 1, 1), -EBADF);
	assert_int_equal(ds_token_add_posted(&table, qp, 65535), 0);
	expect(qp, 3, 65535);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		carry(qp, 3, 0);
		assert_int_equal(word_of(qp) & (DS_WORD_DIRTY | DS_WORD_WRITER), 0);
		carry(qp, ways[i].from, 2);
		assert_int_equal(word_of(qp) & DS_WORD_DIRTY, 0);
		expect(qp, ways[i].from, posted);
		assert_int_equal(ds_token_add_posted(&table, qp, 2), 0);
		assert_int_equal(ds_token_set_state(&table, qp, 3 + i % 2), 0);
		posted += 2;
		assert_int_equal(!!(word_of(qp) & DS_WORD_DIRTY), ways[i].from != 3);
		expect(qp, ways[i].from, posted);
		carry(qp, ways[i].to, 1);
		assert_int_equal(!!(word_of(qp) & DS_WORD_DIRTY), ways[i].from + ways[i].to == 3);
		expect(qp, ways[i].to, posted);
		assert_int_equal(read_token(qp).qp.state, 3 + i % 2);
		assert_int_equal(read_token(qp).qp.number, 1);
		assert_int_equal(read_token(qp).qp.scq, 2);	/* beside what came round */
		carry(qp, 3, 0);
		expect(qp, 3, posted);
	}
	ds_token_revoke(&table, qp, &waiter);
	assert_int_equal(ds_token_add_posted(&table, qp, 1), -ESTALE);
	ds_token_revoke(&table, mr, &waiter);
	assert_int_equal(ds_token_add_posted(&table, mr, 1), -ESTALE);
}

static u32 moved_from, moved_to, moved_bytes, moves;

static void note_moved(u32 token, u32 from, u32 to, u32 bytes)
{
	(void)token;
	moved_from = from;
	moved_to = to;
	moved_bytes = bytes;
	moves++;
}

static void expect_moved(u32 token, u32 from, u32 to, u32 bytes)
{
	struct ds_move m;

	carry(token, from, 0);
	moves = 0;
	set_out(&m, token, to, 1);
	assert_int_equal(ds_move_copy(&table, &m), 0);
	ds_move_abort(&table, &m);
	assert_int_equal(moves, 1);
	assert_true(moved_from == from && moved_to == from && moved_bytes == 0);
	carry(token, to, 1);
	assert_int_equal(moves, 2);
	assert_true(moved_from == from && moved_to == to && moved_bytes == bytes);
	carry(token, 3, 0);
}

/* Who wants to know hears of each move once: both words go up, home only what is newer than there. */
static void moves_are_told(void **state)
{
	u32 qp = create(DS_TOKEN_QP, 1), pd = create(DS_TOKEN_PD, 2), i;

	(void)state;
	table.moved = note_moved;
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		expect_moved(qp, ways[i].from, ways[i].to, ways[i].to == 3 ? 0 : 16);
		expect_moved(pd, ways[i].from, ways[i].to, ways[i].to == 3 ? 0 : 8);
		if (ways[i].from == 3)
			continue;
		carry(qp, ways[i].from, 0);
		assert_int_equal(ds_token_add_posted(&table, qp, 1), 0);
		expect_moved(qp, ways[i].from, ways[i].to, ways[i].to == 3 ? 8 : 16);
	}
}

/* One that is revoked before it is copied has not left its tier, and no other one is told. */
static void revoked_before_its_copy(void **state)
{
	u32 i, qp;
	struct ds_move m;

	(void)state;
	table.moved = note_moved;
	for (i = 0; i < 2 * ARRAY_SIZE(ways); i++) {
		const struct way *way = &ways[i / 2];

		table.blocking = i % 2;
		qp = create(DS_TOKEN_QP, 1);
		carry(qp, way->from, 0);
		set_out(&m, qp, way->to, 1);
		assert_int_equal(ds_token_revoke(&table, qp, &waiter), -EINPROGRESS);
		assert_int_equal(ds_move_copy(&table, &m), -ESTALE);
		assert_int_equal(ds_move_end(&table, &m), -ESTALE);
		assert_true(moved_from == way->from && moved_to == way->from && moved_bytes == 0);
		ds_token_free(&table, qp);
	}
}

/* Each way: a write after the copy is found by the commit, and not lost. */
static void written_on_its_way(void **state)
{
	u32 qp = create(DS_TOKEN_QP, 1), i;
	struct ds_move m;
	u16 posted = 0;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		u32 from = ways[i].from, to = ways[i].to;

		carry(qp, from, 0);
		set_out(&m, qp, to, 1);
		expect(qp, from, posted);
		assert_int_equal(ds_token_add_posted(&table, qp, 1), 0);
		expect(qp, from, ++posted);
		assert_int_equal(ds_move_copy(&table, &m), 0);
		assert_int_equal(ds_token_add_posted(&table, qp, 1), 0);
		expect(qp, from, ++posted);
		assert_int_equal(ds_move_commit(&table, &m), -EAGAIN);
		assert_int_equal(ds_move_commit(&table, &m), -EAGAIN);
		expect(qp, from, posted);
		assert_int_equal(ds_move_copy(&table, &m), 0);
		assert_int_equal(ds_move_commit(&table, &m), 0);
		expect(qp, to, posted);
		assert_int_equal(ds_token_add_posted(&table, qp, 1), 0);
		expect(qp, to, ++posted);
	}
	assert_int_equal(left[1][1] + left[2][1], 0);
}

/* So many writes after the copy that the version is the same again: they are not lost. */
static void version_comes_round(void **state)
{
	u32 qp = create(DS_TOKEN_QP, 1), i, n;
	struct ds_move m;
	u16 posted = 0;
	u64 word;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		carry(qp, ways[i].from, 0);
		ds_token_add_posted(&table, qp, 1);	/* dirty, as it will be */
		posted++;
		set_out(&m, qp, ways[i].to, 1);
		assert_int_equal(ds_move_copy(&table, &m), 0);
		word = word_of(qp);
		for (n = 0; n < 1024; n++)
			ds_token_add_posted(&table, qp, 1);
		posted += 1024;
		assert_int_equal(word_of(qp), word);
		assert_int_equal(ds_move_commit(&table, &m), 0);
		expect(qp, ways[i].to, posted);
		carry(qp, 3, 0);
		expect(qp, 3, posted);
	}
}

static void blocking(void **state)
{
	u32 qp = create(DS_TOKEN_QP, 1), i;
	struct ds_token_desc d;
	struct ds_move m;
	u16 posted = 0;

	(void)state;
	table.blocking = true;
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		carry(qp, ways[i].from, 2);
		set_out(&m, qp, ways[i].to, 0);
		assert_int_equal(ds_token_get(&table, qp, &d), -EAGAIN);
		assert_int_equal(ds_token_add_posted(&table, qp, 1), -EAGAIN);
		assert_int_equal(ds_word_uses(word_of(qp)), 1);		/* the mover's */
		assert_int_equal(ds_move_copy(&table, &m), 0);
		assert_int_equal(ds_token_get(&table, qp, &d), -EAGAIN);
		assert_int_equal(ds_move_commit(&table, &m), 0);
		expect(qp, ways[i].to, posted);
		assert_int_equal(ds_token_add_posted(&table, qp, 5), 0);
		posted += 5;
		carry(qp, 3, 0);
		expect(qp, 3, posted);
	}
	/* Chosen when it was on its way already, and had been written to: it is copied once more. */
	table.blocking = false;
	assert_int_equal(ds_move_begin(&table, &m, qp, 1, 0), 0);
	assert_int_equal(ds_move_copy(&table, &m), 0);
	assert_int_equal(ds_token_add_posted(&table, qp, 5), 0);
	table.blocking = true;
	assert_int_equal(ds_move_commit(&table, &m), -EAGAIN);
	assert_int_equal(ds_move_copy(&table, &m), 0);
	assert_int_equal(ds_move_commit(&table, &m), 0);
	expect(qp, 1, posted + 5);
}

/* Aborted after each step, each way: as if nothing had been. */
static void aborted(void **state)
{
	u32 qp = create(DS_TOKEN_QP, 1), i, steps;
	struct ds_move m;
	u16 posted = 0;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ways) * 2; i++) {
		u32 from = ways[i / 2].from, to = ways[i / 2].to;

		carry(qp, 3, 0);
		carry(qp, from, 1);
		if (i % 2)
			ds_token_add_posted(&table, qp, 9);	/* dirty */
		posted += i % 2 * 9;
		for (steps = 0; steps < 3; steps++) {
			u64 word = word_of(qp);

			set_out(&m, qp, to, 2);
			if (steps)
				assert_int_equal(ds_move_copy(&table, &m), 0);
			if (steps == 2) {
				assert_int_equal(ds_token_add_posted(&table, qp, 1), 0);
				posted++;
				assert_int_equal(ds_move_commit(&table, &m), -EAGAIN);
			}
			ds_move_abort(&table, &m);
			expect(qp, from, posted);
			if (steps < 2)	/* all but the version */
				assert_int_equal((word ^ word_of(qp)) & (DS_WORD_VERSION - 1), 0);
			assert_int_equal(ds_word_slot(word_of(qp)), from == 3 ? 0 : 1);
			assert_int_equal(ds_word_uses(word_of(qp)), 0);
		}
		carry(qp, to, 2);
		expect(qp, to, posted);
	}
	for (i = 0; i < SLOTS; i++)
		assert_int_equal(left[1][i] + left[2][i], 0);
}

static u32 written_at;

/* Written to before the first commit; stopped once it is copied again. */
static bool stops_second(u32 token, enum ds_move_step step)
{
	if (step != DS_MOVE_COPIED)
		return false;
	if (!written_at++)
		assert_int_equal(ds_token_add_posted(&table, token, 1), 0);
	return written_at == 2;
}

static void stopped_when_copied_again(void **state)
{
	u32 qp = create(DS_TOKEN_QP, 1), i;
	struct ds_token_desc d;
	struct ds_move m;
	u16 posted = 0;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		u32 from = ways[i].from, to = ways[i].to;

		carry(qp, 3, 0);
		carry(qp, from, 1);
		set_out(&m, qp, to, 2);
		written_at = 0;
		table.stops = stops_second;
		assert_int_equal(ds_move_end(&table, &m), -EAGAIN);
		table.stops = NULL;
		assert_int_equal(written_at, 2);
		expect(qp, from, ++posted);
		assert_int_equal(ds_token_unpack(&m.pack, NULL, &d), 0);
		assert_int_equal(d.qp.posted, posted);
		assert_int_equal(ds_word_uses(word_of(qp)), 0);
	}
}

/* Revoked after each step: the mover hears of it, and the last use is told of. */
static void revoked(void **state)
{
	u32 i, steps, qp;
	struct ds_token_desc d;
	struct ds_move m;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		u32 from = ways[i].from;

		for (steps = 0; steps < 3; steps++) {
			qp = create(DS_TOKEN_QP, 1);
			memset(left, 0, sizeof(left));
			told = 0;
			carry(qp, from, 3);
			ds_token_add_posted(&table, qp, 1);	/* dirty in L1 and L2 */
			set_out(&m, qp, ways[i].to, 0);
			if (steps)
				assert_int_equal(ds_move_copy(&table, &m), 0);
			assert_int_equal(ds_token_revoke(&table, qp, &waiter), -EINPROGRESS);
			assert_int_equal(ds_token_get(&table, qp, &d), -ESTALE);
			assert_int_equal(left[1][3], from == 1);
			assert_int_equal(left[2][3], from == 2);
			assert_int_equal(told, 0);
			if (steps == 2)
				assert_int_equal(ds_move_commit(&table, &m), -ESTALE);
			else
				ds_move_abort(&table, &m);
			assert_int_equal(told, 1);
			assert_int_equal(left[1][0] + left[2][0], 0);
			ds_token_free(&table, qp);
			assert_int_equal(ds_token_count(&table), 0);
		}
	}
	for (i = 1; i < 3; i++) {
		qp = create(DS_TOKEN_QP, 1);
		carry(qp, i, 3);
		memset(left, 0, sizeof(left));
		assert_int_equal(ds_token_revoke(&table, qp, &waiter), 0);
		assert_int_equal(left[i][3], 1);
		assert_int_equal(left[3 - i][3], 0);
	}
}

/* The slot has another token by the time the reader comes: it looks again. */
static void a_slot_refilled(void **state)
{
	u32 a = create(DS_TOKEN_QP, 1), b = create(DS_TOKEN_QP, 2);
	struct ds_token_pack p;

	(void)state;
	assert_int_equal(move_now(&table, a, 1, 0), 0);
	assert_true(ds_l1_read(&table.l1, 0, a, &p));
	assert_int_equal(p.fixed & 0xffffff, 1);
	assert_int_equal(move_now(&table, a, 3, 0), 0);
	assert_int_equal(move_now(&table, b, 1, 0), 0);
	assert_int_equal(read_token(a).qp.number, 1);
	assert_int_equal(read_token(b).qp.number, 2);
	assert_false(ds_l1_read(&table.l1, 0, a, &p));
	assert_true(ds_l1_read(&table.l1, 0, b, &p));
	table.l1.slots[0].filled++;			/* being filled */
	assert_false(ds_l1_read(&table.l1, 0, b, &p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bad_moves, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_uses, setup, teardown),
		cmocka_unit_test_setup_teardown(being_written_to, setup, teardown),
		cmocka_unit_test_setup_teardown(there_and_back, setup, teardown),
		cmocka_unit_test_setup_teardown(written_where_it_is, setup, teardown),
		cmocka_unit_test_setup_teardown(moves_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(revoked_before_its_copy, setup, teardown),
		cmocka_unit_test_setup_teardown(written_on_its_way, setup, teardown),
		cmocka_unit_test_setup_teardown(version_comes_round, setup, teardown),
		cmocka_unit_test_setup_teardown(blocking, setup, teardown),
		cmocka_unit_test_setup_teardown(aborted, setup, teardown),
		cmocka_unit_test_setup_teardown(stopped_when_copied_again, setup, teardown),
		cmocka_unit_test_setup_teardown(revoked, setup, teardown),
		cmocka_unit_test_setup_teardown(a_slot_refilled, setup, teardown),
	};

	return cmocka_run_group_tests_name("core_move", tests, NULL, NULL);
}
