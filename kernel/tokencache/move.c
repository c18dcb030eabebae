// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: moving a token from one tier to another.
 */
#include "move.h"
#include "table.h"

#define COMMITS	8	/* that a writer may spoil, one after the other */

static const enum ds_token_state states[] = {
	[1] = DS_TOKEN_L1, [3] = DS_TOKEN_L3,
};

static const enum ds_token_state ways[] = {
	[1] = DS_TOKEN_TO_L1, [3] = DS_TOKEN_TO_L3,
};

/* Of a token that is not on its way: where it will have come from. */
static u32 from_of(u64 word)
{
	return ds_word_state(word) == DS_TOKEN_L1 ? ds_word_slot(word) + DS_FROM_L1 :
						    DS_FROM_HOME;
}

/* The word of a token that stays where it was. */
static u64 back_of(u64 word)
{
	u32 from = ds_word_from(word);

	return from == DS_FROM_HOME ? ds_word_move(word, DS_TOKEN_L3, 0) :
				      ds_word_move(word, DS_TOKEN_L1, from - DS_FROM_L1);
}

/*
 * End a move: to another tier at once, to L1 as a writer of the token, whom nobody moves or
 * revokes before it is shown.
 */
static u64 end_of(u64 word)
{
	return ds_word_state(word) == DS_TOKEN_L1 ? word | DS_WORD_WRITER : word - DS_WORD_USE;
}

/* Does nothing for DS_L1_NONE. */
static void show(struct ds_token_table *t, u64 *place, u32 token, u32 slot)
{
	u64 word, seen;

	if (slot == DS_L1_NONE)
		return;
	ds_l1_show(&t->l1, token, slot);
	seen = READ_ONCE(*place);
	do {
		word = seen;	/* only the uses can have changed */
		seen = ds_cmpxchg64(place, word, (word & ~DS_WORD_WRITER) - DS_WORD_USE);
	} while (seen != word);
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

int ds_move_begin(struct ds_token_table *t, struct ds_move *m, u32 token, u32 to, u32 slot)
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
					       .word = claimed };
			if (ds_word_tier(word) == 1)
				ds_l1_hide(&t->l1, token, ds_word_slot(word));
			return 0;
		}
		cpu_relax();
	}
	return -EAGAIN;
}

/* The mover itself may read while nobody else does: it is the only one that changes it. */
static int copy_blocked(const struct ds_token_table *t, struct ds_move *m)
{
	u64 word = READ_ONCE(*ds_token_word(t, m->token));
	int ret = ds_word_check(word, m->token);

	if (ret)
		return ret;
	m->word = word;
	ds_token_peek(t, m->token, word, &m->pack);
	return 0;
}

int ds_move_copy(struct ds_token_table *t, struct ds_move *m)
{
	int ret = t->blocking ? copy_blocked(t, m) :
				ds_token_copy(t, m->token, &m->word, &m->pack);

	if (!ret && m->to == 1)
		ds_l1_fill(&t->l1, m->slot, m->token, &m->pack);
	return ret;
}

/*
 * Change the word from what it was when the token was copied, whatever its uses are by
 * now. -EAGAIN: it was written to, or is.
 */
static int swap_word(u64 *place, struct ds_move *m, u64 (*next)(const struct ds_move *m, u64 word))
{
	u64 word, seen = READ_ONCE(*place);

	do {
		word = seen;
		if (!ds_word_same(word, m->word))
			return ds_word_check(word, m->token) ?: -EAGAIN;
		seen = ds_cmpxchg64(place, word, next(m, word));
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
	word = ds_word_move(word & ~(DS_WORD_WRITER | DS_WORD_DIRTY), states[m->to],
			    m->to == 1 ? m->slot : 0);
	return end_of(word);
}

static u64 next_back(const struct ds_move *m, u64 word)
{
	(void)m;
	return end_of(back_of(word));
}

/* What is older at home is written as a writer does it: nobody revokes the token meanwhile. */
static int write_back(struct ds_token_table *t, u64 *place, struct ds_move *m)
{
	int ret;

	if (m->to != 3 || !(m->word & DS_WORD_DIRTY))
		return 0;
	ret = swap_word(place, m, next_writer);
	if (ret)
		return ret;
	m->word |= DS_WORD_WRITER;
	/* Now, as the version may have come round while it was copied. */
	WRITE_ONCE(ds_token_home_of(t, m->token)[1],
		   READ_ONCE(t->l1.slots[ds_word_l1_slot(m->word)].pack.hot));
	return 0;
}

int ds_move_commit(struct ds_token_table *t, struct ds_move *m)
{
	u64 *place = ds_token_word(t, m->token);
	int ret;

	if (m->word & DS_WORD_WRITER)
		return -EAGAIN;	/* somebody wrote while it was copied */
	ret = write_back(t, place, m);
	if (!ret)
		ret = swap_word(place, m, next_there);
	if (!ret)
		show(t, place, m->token, m->to == 1 ? m->slot : DS_L1_NONE);
	else if (ret != -EAGAIN)
		ds_token_put(t, m->token);
	return ret;
}

void ds_move_abort(struct ds_token_table *t, struct ds_move *m)
{
	u64 *place = ds_token_word(t, m->token);
	u32 slot;

	/* A writer may hold it for a moment; only the mover and a revoke end the way. */
	for (;;) {
		m->word = READ_ONCE(*place) & ~DS_WORD_WRITER;
		if (ds_word_check(m->word, m->token)) {
			ds_token_put(t, m->token);
			return;
		}
		slot = ds_word_tier(m->word) == 1 ? ds_word_l1_slot(m->word) : DS_L1_NONE;
		if (!swap_word(place, m, next_back)) {
			show(t, place, m->token, slot);
			return;
		}
		cpu_relax();
	}
}

int ds_move(struct ds_token_table *t, u32 token, u32 to, u32 slot)
{
	struct ds_move m;
	u32 commits;
	int ret;

	ret = ds_move_begin(t, &m, token, to, slot);
	if (ret)
		return ret;
	for (commits = 0; commits < COMMITS; commits++) {
		ret = ds_move_copy(t, &m);
		if (ret)
			break;
		ret = ds_move_commit(t, &m);
		if (ret != -EAGAIN)
			return ret;
	}
	ds_move_abort(t, &m);
	return ret;
}
