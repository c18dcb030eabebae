// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: hot inline.
 */
#include "inline.h"
#include "table.h"

/* Have the token alone. @word: its word since. */
static int write_begin(const struct ds_token_table *t, u64 *place, u32 token, u64 *word)
{
	u64 seen = READ_ONCE(*place), was;
	u32 spins;
	int ret;

	for (spins = 0; spins < DS_TOKEN_SPINS; spins++) {
		was = seen & ~DS_WORD_WRITER;
		ret = ds_word_check(was, token);
		if (ret)
			return ret;
		if (READ_ONCE(t->blocking) && ds_word_is_moving(was)) {
			seen = READ_ONCE(*place);
		} else {
			seen = ds_cmpxchg64(place, was, was | DS_WORD_WRITER);
			if (seen == was) {
				*word = was | DS_WORD_WRITER;
				return 0;
			}
		}
		cpu_relax();
	}
	return -EAGAIN;
}

/* Only the uses can have changed meanwhile. */
static void write_end(u64 *place, u64 dirty)
{
	u64 word, seen = READ_ONCE(*place);

	do {
		word = seen;
		seen = ds_cmpxchg64(place, word,
				    ((word & ~DS_WORD_WRITER) | dirty) + DS_WORD_VERSION);
	} while (seen != word);
}

/* Replace the bits of @mask by those of @value, or add @value to them. */
static int hot_change(struct ds_token_table *t, u32 token, u64 mask, u64 value, bool add)
{
	u64 *place = ds_token_word(t, token), *hot, old, word;
	int ret;

	if (!place)
		return -EBADF;
	if (ds_token_type_of(token) != DS_TOKEN_QP)
		return ds_word_check(READ_ONCE(*place), token) ?: -EINVAL;
	ret = write_begin(t, place, token, &word);
	if (ret)
		return ret;
	hot = ds_token_hot(t, token, word);
	old = READ_ONCE(*hot);
	if (add)
		value += old & mask;
	/* Pairs with the acquires of who reads it. */
	smp_store_release(hot, (old & ~mask) | (value & mask));
	write_end(place, ds_word_tier(word) == 3 ? 0 : DS_WORD_DIRTY);
	return 0;
}

int ds_token_set_state(struct ds_token_table *t, u32 token, u8 state)
{
	u64 mask = ((1ull << DS_HOT_STATE_BITS) - 1) << DS_HOT_STATE_OFF;

	if (state >= DS_QP_STATES)
		return -EINVAL;
	return hot_change(t, token, mask, (u64)state << DS_HOT_STATE_OFF, false);
}

int ds_token_add_posted(struct ds_token_table *t, u32 token, u16 count)
{
	u64 mask = ((1ull << DS_HOT_POSTED_BITS) - 1) << DS_HOT_POSTED_OFF;

	return hot_change(t, token, mask, (u64)count << DS_HOT_POSTED_OFF, true);
}
