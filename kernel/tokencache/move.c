// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: moving a token from one tier to another.
 */
#include "move.h"
#include "table.h"

#define COMMITS	8	/* that a writer may spoil, one after the other */

static const enum ds_token_state states[] = {
	[1] = DS_TOKEN_L1, [2] = DS_TOKEN_L2, [3] = DS_TOKEN_L3,
};

static const enum ds_token_state ways[] = {
	[1] = DS_TOKEN_TO_L1, [2] = DS_TOKEN_TO_L2, [3] = DS_TOKEN_TO_L3,
};

static const u32 froms[] = {
	[DS_TOKEN_L1] = DS_FROM_L1, [DS_TOKEN_L2] = DS_FROM_L2, [DS_TOKEN_L3] = DS_FROM_HOME,
};

/* Of a token that is not on its way: where it will have come from. At home its slot is 0. */
static u32 from_of(u64 word)
{
	return ds_word_slot(word) + froms[ds_word_state(word)];
}

/* The word of a token that stays where it was. */
static u64 back_of(u64 word)
{
	switch (ds_word_tier(word)) {
	case 1:
		return ds_word_move(word, DS_TOKEN_L1, ds_word_l1_slot(word));
	case 2:
		return ds_word_move(word, DS_TOKEN_L2, ds_word_l2_slot(word));
	default:
		return ds_word_move(word, DS_TOKEN_L3, 0);
	}
}

static int claim_check(u64 word, u32 token, u32 to)
{
	int ret = ds_word_check(word, token);

	if (ret)
		return ret;
	if (word & DS_WORD_PINNED)
		return -EPERM;
	if (ds_word_is_moving(word))
		return -EBUSY;
	if (ds_word_state(word) == states[to])
		return -EEXIST;
	return ds_word_uses(word) >= DS_WORD_USES_MAX - 1 ? -EOVERFLOW : 0;
}

static bool is_stopped(const struct ds_token_table *t, u32 token, enum ds_move_step step)
{
	return t->stops && t->stops(token, step);
}

static int claim(struct ds_token_table *t, struct ds_move *m, u32 token, u32 to, u32 slot)
{
	u64 *place = ds_token_word(t, token), word, seen, claimed;
	u32 spins;
	int ret;

	if (!place)
		return -EBADF;
	seen = READ_ONCE(*place);
	for (spins = 0; spins < DS_TOKEN_SPINS; spins++) {
		word = seen & ~DS_WORD_WRITER;
		ret = claim_check(word, token, to);
		if (ret)
			return ret;
		claimed = ds_word_move(word, ways[to], from_of(word)) + DS_WORD_USE;
		seen = ds_cmpxchg64(place, word, claimed);
		if (seen == word) {
			*m = (struct ds_move){ .token = token, .to = to, .slot = slot,
					       .place = place, .word = claimed };
			if (ds_word_tier(word) == 1)
				ds_l1_hide(&t->l1, token, ds_word_slot(word));
			return 0;
		}
		cpu_relax();
	}
	return -EAGAIN;
}

int ds_move_begin(struct ds_token_table *t, struct ds_move *m, u32 token, u32 to, u32 slot)
{
	int ret = claim(t, m, token, to, slot);

	if (!ret && is_stopped(t, token, DS_MOVE_CLAIMED)) {
		ds_move_abort(t, m);
		ret = -EAGAIN;
	}
	return ret;
}

/* The mover itself may read while nobody else does: it is the only one that changes it. */
static int copy_blocked(const struct ds_token_table *t, struct ds_move *m, u64 *word)
{
	int ret;

	*word = READ_ONCE(*m->place);
	ret = ds_word_check(*word, m->token);
	if (!ret)
		ds_token_peek(t, m->token, *word, &m->pack);
	return ret;
}

bool ds_move_is_void(const struct ds_move *m)
{
	return !ds_word_same(READ_ONCE(*m->place), m->word);
}

int ds_move_copy(struct ds_token_table *t, struct ds_move *m)
{
	u64 word = m->word;
	int ret;

	/* It was copied before, for nobody has written to it. */
	if (m->whole && !ds_move_is_void(m))
		return 0;
	ret = READ_ONCE(t->blocking) ? copy_blocked(t, m, &word) :
			    ds_token_copy(t, m->token, &word, &m->pack);
	m->whole = !ret && !(word & DS_WORD_WRITER);	/* somebody may have been writing */
	/* That of a revoked one says no more where it was. */
	if (!ret)
		m->word = word;
	return ret;
}

/*
 * Change the word from what it was when the token was copied, whatever its uses are by
 * now. -EAGAIN: it was written to, or is.
 */
static int swap_word(struct ds_move *m, u64 (*next)(const struct ds_move *m, u64 word))
{
	u64 word, seen = READ_ONCE(*m->place);

	do {
		word = seen;
		if (!ds_word_same(word, m->word))
			return ds_word_check(word, m->token) ?: -EAGAIN;
		seen = ds_cmpxchg64(m->place, word, next(m, word));
	} while (seen != word);
	return 0;
}

static u64 next_writer(const struct ds_move *m, u64 word)
{
	(void)m;
	return word | DS_WORD_WRITER;
}

static u64 next_there(const struct ds_move *m, u64 word)
{
	word &= ~DS_WORD_WRITER;
	if (m->to == 3)
		word &= ~DS_WORD_DIRTY;
	return ds_word_move(word, states[m->to], m->to == 3 ? 0 : m->slot) - DS_WORD_USE;
}

static u64 next_back(const struct ds_move *m, u64 word)
{
	(void)m;
	return back_of(word & ~DS_WORD_WRITER) - DS_WORD_USE;
}

/* As a writer does it: nobody writes, moves or revokes the token meanwhile. */
static int have_alone(struct ds_move *m)
{
	int ret = swap_word(m, next_writer);

	if (!ret)
		m->word |= DS_WORD_WRITER;
	return ret;
}

/*
 * What may have changed is read now, as the version may have come round since it was copied.
 * In L1 the token is shown a moment before its word says so: it is the same in both places.
 */
static void arrive(struct ds_token_table *t, struct ds_move *m)
{
	if (ds_token_words((u8)ds_token_type_of(m->token)) == 2)
		m->pack.hot = READ_ONCE(*ds_token_hot(t, m->token, m->word));
	if (m->to == 1) {
		ds_l1_fill(&t->l1, m->slot, m->token, &m->pack);
		ds_l1_show(&t->l1, m->token, m->slot);
	} else if (m->to == 2) {
		ds_l2_fill(&t->l2, m->slot, m->token, &m->pack);
	} else if (m->word & DS_WORD_DIRTY) {
		/* Pairs with the acquires of who reads it. */
		smp_store_release(&ds_token_home_of(t, m->token)[1], m->pack.hot);
	}
}

int ds_move_commit(struct ds_token_table *t, struct ds_move *m)
{
	int ret;

	if (!m->whole)
		return -EAGAIN;
	ret = have_alone(m);
	if (!ret) {
		arrive(t, m);
		ret = swap_word(m, next_there);
	}
	if (ret && ret != -EAGAIN)
		ds_token_put(t, m->token);
	return ret;
}

/* 0, or -EAGAIN: it was written to. */
static int go_back(struct ds_token_table *t, struct ds_move *m)
{
	if (ds_word_tier(m->word) == 1) {
		if (have_alone(m))
			return -EAGAIN;
		ds_l1_show(&t->l1, m->token, ds_word_l1_slot(m->word));
	}
	return swap_word(m, next_back) ? -EAGAIN : 0;
}

static void give_up(struct ds_token_table *t, struct ds_move *m)
{
	/* A writer may hold it for a moment; only the mover and a revoke end the way. */
	for (;;) {
		m->word = READ_ONCE(*m->place) & ~DS_WORD_WRITER;
		if (ds_word_check(m->word, m->token)) {
			ds_token_put(t, m->token);
			return;
		}
		if (!go_back(t, m))
			return;
		cpu_relax();
	}
}

static void tell_moved(struct ds_token_table *t, const struct ds_move *m, u32 from, u32 to,
		       u32 bytes)
{
	if (t->moved)
		t->moved(m->token, from, to, bytes);
}

void ds_move_abort(struct ds_token_table *t, struct ds_move *m)
{
	u32 from = ds_word_tier(m->word);

	give_up(t, m);
	tell_moved(t, m, from, from, 0);
}

/* Bytes: both words to another tier, home only what is older there. */
static u32 carried(const struct ds_move *m)
{
	if (m->to != 3)
		return ds_token_words((u8)ds_token_type_of(m->token)) * sizeof(u64);
	return m->word & DS_WORD_DIRTY ? sizeof(u64) : 0;
}

static int move_claimed(struct ds_token_table *t, struct ds_move *m)
{
	u32 commits;
	int ret = 0;

	for (commits = 1; !is_stopped(t, m->token, DS_MOVE_COPIED); commits++) {
		ret = ds_move_commit(t, m);
		if (ret != -EAGAIN)
			return ret;
		if (commits == COMMITS)
			break;
		ret = ds_move_copy(t, m);
		if (ret)
			break;
	}
	give_up(t, m);
	return ret ?: -EAGAIN;
}

int ds_move_end(struct ds_token_table *t, struct ds_move *m)
{
	u32 from = ds_word_tier(m->word);
	int ret = move_claimed(t, m);

	tell_moved(t, m, from, ret ? from : m->to, ret ? 0 : carried(m));
	return ret;
}
