/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: the inside of the token table, for the files that read, write and move tokens.
 */
#ifndef DS_TOKENCACHE_TABLE_H
#define DS_TOKENCACHE_TABLE_H

#include "token.h"

/* Times that somebody waits for a mover or a writer before it gives up. */
#define DS_TOKEN_SPINS	1000u

/* The word of a token, NULL if there never was one near its index. */
static inline u64 *ds_token_word(const struct ds_token_table *t, u32 token)
{
	u32 index = ds_token_index(token);
	u64 *words;

	/* Pairs with the release in page_install(): the page is zeroed. */
	words = smp_load_acquire(&t->pages[index / DS_TOKEN_PAGE].words);
	return words ? &words[index % DS_TOKEN_PAGE] : NULL;
}

/* The home of a token whose word was found. */
static inline u64 *ds_token_home(const struct ds_token_table *t, u32 index, u32 words)
{
	return &t->pages[index / DS_TOKEN_PAGE].home[(index % DS_TOKEN_PAGE) * words];
}

/* Its home by its handle, when the word's type was checked. */
static inline u64 *ds_token_home_of(const struct ds_token_table *t, u32 token)
{
	return ds_token_home(t, ds_token_index(token),
			     ds_token_words((u8)ds_token_type_of(token)));
}

/* Where it was found. */
static inline void ds_token_found(struct ds_token_desc *d, u64 word)
{
	d->tier = (u8)ds_word_tier(word);
	d->slot = d->tier == 3 ? 0 : ds_word_tier_slot(word);
}

/**
 * ds_token_begin - begin a use
 * @place: the token's word
 * @token: its handle
 * @word: what the word is now, written on success only
 *
 * Return: 0, -ESTALE, -EBADF or -EOVERFLOW.
 */
int ds_token_begin(u64 *place, u32 token, u64 *word);

/**
 * ds_token_get_pack - begin a use, as ds_token_get(), of which the packed form is wanted
 * @t: table
 * @token: any number
 * @word: what its word was when it was copied
 * @p: result; both of use on success only
 *
 * Return: as ds_token_get().
 */
int ds_token_get_pack(struct ds_token_table *t, u32 token, u64 *word, struct ds_token_pack *p);

/**
 * ds_token_peek - copy a token from where its word says
 * @t: table
 * @token: its handle
 * @word: of a live token, as it was a moment ago
 * @p: result, of use only if the word is still the same afterwards
 *
 * Return: false if it certainly is not.
 */
bool ds_token_peek(const struct ds_token_table *t, u32 token, u64 word,
		   struct ds_token_pack *p);

/**
 * ds_token_copy - copy a token whose object the caller keeps, by a use or otherwise
 * @t: table
 * @token: its handle
 * @word: what its word was; is what it was when the token was copied
 * @p: result, of use on success only
 *
 * Takes no lock.
 *
 * Return: 0, -ESTALE when it was revoked meanwhile, or -EAGAIN.
 */
int ds_token_copy(const struct ds_token_table *t, u32 token, u64 *word,
		  struct ds_token_pack *p);

/**
 * ds_token_leave - a token was revoked: give its slot back
 * @t: table
 * @token: its handle
 * @word: as it was before; one at home has no slot
 */
void ds_token_leave(struct ds_token_table *t, u32 token, u64 word);

/**
 * ds_token_hot - where the second word of a token is
 * @t: table
 * @token: its handle, of a type with two words
 * @word: of it; the caller is who writes to the token
 *
 * Return: the place.
 */
u64 *ds_token_hot(const struct ds_token_table *t, u32 token, u64 word);

#endif /* DS_TOKENCACHE_TABLE_H */
