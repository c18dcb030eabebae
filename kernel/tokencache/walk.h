/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: all tokens of a table, one after the other.
 *
 * Tokens come and go meanwhile: one that is there all the time is met once, at its index.
 */
#ifndef DS_TOKENCACHE_WALK_H
#define DS_TOKENCACHE_WALK_H

#include "table.h"

/**
 * ds_token_at - the token that has an index
 * @t: table
 * @index: any
 * @word: its word of the directory, written if there is one
 *
 * Any context, takes no lock and begins no use.
 *
 * Return: the handle; 0 if the index is free or its token is revoked.
 */
static inline u32 ds_token_at(const struct ds_token_table *t, u32 index, u64 *word)
{
	const u64 *place;
	u64 w;

	if (index >> DS_TOKEN_INDEX_BITS)
		return 0;
	place = ds_token_word(t, index);
	if (!place)
		return 0;
	w = READ_ONCE(*place);
	if (!ds_word_is_live(w))
		return 0;
	*word = w;
	return ds_token_make(ds_word_type(w), ds_word_gen(w), index);
}

/* All indices that were ever used are below. */
static inline u32 ds_token_indices_end(const struct ds_token_table *t)
{
	return READ_ONCE(t->used) * DS_TOKEN_PAGE;
}

/**
 * ds_directory_part - a part of the directory as programs map it (ds/directory.h)
 * @t: table
 * @part: of DS_DIRECTORY_WORDS bytes: 0 is the head, the words are behind
 *
 * Any context, takes no lock.
 *
 * Return: where it begins; it stays there as long as the table. NULL: there are no such
 * indices yet, or never.
 */
static inline const void *ds_directory_part(const struct ds_token_table *t, u64 part)
{
	if (!part)
		return t->head;
	if (part >= DS_DIRECTORY_BYTES / DS_DIRECTORY_WORDS)
		return NULL;
	return ds_token_word(t, (u32)(part - 1) * (u32)(DS_DIRECTORY_WORDS / sizeof(u64)));
}

#endif /* DS_TOKENCACHE_WALK_H */
