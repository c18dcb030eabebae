// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: reading a token in whatever tier it is.
 *
 * The word is read, the token is copied from where the word says, and the word is read
 * again: if it is the same but for the number of uses, the copy is what the token was
 * at that moment.
 */
#include "table.h"

static void copy_home(const struct ds_token_table *t, u32 token, struct ds_token_pack *p)
{
	const u64 *home = ds_token_home_of(t, token);

	/* Before the word is read again. */
	p->fixed = smp_load_acquire(&home[0]);
	p->hot = 0;
	if (ds_token_words((u8)ds_token_type_of(token)) == 2)
		/* Likewise. Pairs with the release in hot_change(). */
		p->hot = smp_load_acquire(&home[1]);
}

bool ds_token_peek(const struct ds_token_table *t, u32 token, u64 word,
		   struct ds_token_pack *p)
{
	switch (ds_word_tier(word)) {
	case 1:
		return ds_l1_read(&t->l1, ds_word_l1_slot(word), token, p);
	case 2:
		return ds_l2_read(&t->l2, ds_word_l2_slot(word), token, p);
	default:
		copy_home(t, token, p);
		return true;
	}
}

int ds_token_copy(const struct ds_token_table *t, u32 token, u64 *word,
		  struct ds_token_pack *p)
{
	const u64 *place = ds_token_word(t, token);
	u32 spins;

	for (spins = 0; spins < DS_TOKEN_SPINS; spins++) {
		u64 before = *word;
		bool whole;
		int ret;

		whole = !(READ_ONCE(t->blocking) && ds_word_is_moving(before)) &&
			ds_token_peek(t, token, before, p);
		/* Before the next round reads the home. */
		*word = smp_load_acquire(place);
		ret = ds_word_check(*word, token);
		if (ret)
			return ret;
		if (whole && ds_word_same(*word, before))
			return 0;
		cpu_relax();
	}
	return -EAGAIN;
}

void ds_token_leave(struct ds_token_table *t, u32 token, u64 word)
{
	u32 tier = ds_word_tier(word);

	if (tier == 1) {
		ds_l1_hide(&t->l1, token, ds_word_l1_slot(word));
		if (t->l1.left)
			t->l1.left(&t->l1, ds_word_l1_slot(word), token);
	} else if (tier == 2 && t->l2.left) {
		t->l2.left(&t->l2, ds_word_l2_slot(word), token);
	}
}

u64 *ds_token_hot(const struct ds_token_table *t, u32 token, u64 word)
{
	switch (ds_word_tier(word)) {
	case 1:
		return &t->l1.slots[ds_word_l1_slot(word)].pack.hot;
	case 2:
		return &ds_l2_slot_of(&t->l2, ds_word_l2_slot(word))->hot;
	default:
		return &ds_token_home_of(t, token)[1];
	}
}
