/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: a word of the token directory, whose bits <ds/directory.h> has.
 *
 * One compare-and-exchange moves all of it. The home is found by the index and
 * needs no slot.
 *
 * The version makes a mover see that the token was written to while it copied. It is
 * not what tells a reader that a slot has another token by now: slots have a
 * counter of their own for that, which never comes back to the same number.
 */
#ifndef DS_TOKENCACHE_WORD_H
#define DS_TOKENCACHE_WORD_H

#include "../shim.h"
#include <ds/directory.h>
#include <ds/token.h>

static_assert(DS_TOKEN_INDEX_BITS == 22, "a slot is no larger than an index");
static_assert(DS_TOKEN_GEN_BITS == 8, "the generation of a handle is whole");
static_assert(DS_TOKEN_TYPES - 1 == DS_WORD_TYPE_MAX, "a type fits into its bits");
static_assert(DS_DIRECTORY_BYTES - DS_DIRECTORY_WORDS == sizeof(u64) << DS_TOKEN_INDEX_BITS,
	      "a program maps the words of all indices");

static inline u32 ds_word_uses(u64 word)
{
	return (u32)(word & DS_WORD_USES_MAX);
}

static inline u32 ds_word_slot(u64 word)
{
	return (u32)(word >> DS_WORD_SLOT_OFF & DS_WORD_SLOT_MAX);
}

static inline enum ds_token_state ds_word_state(u64 word)
{
	return (enum ds_token_state)(word >> DS_WORD_STATE_OFF & DS_WORD_STATE_MAX);
}

static inline u32 ds_word_type(u64 word)
{
	return (u32)(word >> DS_WORD_TYPE_OFF & DS_WORD_TYPE_MAX);
}

static inline u32 ds_word_gen(u64 word)
{
	return (u32)(word >> DS_WORD_GEN_OFF & DS_WORD_GEN_MAX);
}

static inline u32 ds_word_version(u64 word)
{
	return (u32)(word / DS_WORD_VERSION);
}

/* May a use begin? */
static inline bool ds_word_is_live(u64 word)
{
	return word >> DS_WORD_STATE_OFF & 3;
}

/* Is it on its way? */
static inline bool ds_word_is_moving(u64 word)
{
	return ds_word_state(word) > DS_TOKEN_REVOKED;
}

static inline u64 ds_word_make(u32 gen, enum ds_token_state state, u32 type)
{
	return (u64)gen << DS_WORD_GEN_OFF | (u64)state << DS_WORD_STATE_OFF |
	       (u64)type << DS_WORD_TYPE_OFF;
}

/* Where the token can be read: 1 to 3. The slot of one on its way says where it still is. */
static inline u32 ds_word_tier(u64 word)
{
	u32 from = ds_word_slot(word);

	if (!ds_word_is_moving(word))
		return ds_word_state(word);
	return from == DS_FROM_HOME ? 3 : from < DS_FROM_L2 ? 1 : 2;
}

/* The slot of L1 in which a token can be read whose tier is 1. */
static inline u32 ds_word_l1_slot(u64 word)
{
	return ds_word_is_moving(word) ? ds_word_slot(word) - DS_FROM_L1 : ds_word_slot(word);
}

/* The slot of L2 in which a token can be read whose tier is 2. */
static inline u32 ds_word_l2_slot(u64 word)
{
	return ds_word_slot(word) & ~DS_FROM_L2;
}

/* The slot of the tier where a token can be read, which is 1 or 2. */
static inline u32 ds_word_tier_slot(u64 word)
{
	return ds_word_tier(word) == 1 ? ds_word_l1_slot(word) : ds_word_l2_slot(word);
}

/* The same token elsewhere: the next version, in which all else is kept. */
static inline u64 ds_word_move(u64 word, enum ds_token_state state, u32 slot)
{
	word &= ~(DS_WORD_SLOT_MAX << DS_WORD_SLOT_OFF | DS_WORD_STATE_MAX << DS_WORD_STATE_OFF);
	return (word | (u64)state << DS_WORD_STATE_OFF | (u64)slot << DS_WORD_SLOT_OFF) +
	       DS_WORD_VERSION;	/* the carry falls off the end */
}

/* Is it the same token at the same place, with other uses perhaps? */
static inline bool ds_word_same(u64 a, u64 b)
{
	return !((a ^ b) & ~DS_WORD_USES_MAX);
}

/* Of a handle. */
static inline u32 ds_token_index(u32 token)
{
	return token >> DS_TOKEN_INDEX_OFF & (~0u >> (32 - DS_TOKEN_INDEX_BITS));
}

static inline u32 ds_token_gen(u32 token)
{
	return token >> DS_TOKEN_GEN_OFF & (~0u >> (32 - DS_TOKEN_GEN_BITS));
}

static inline u32 ds_token_type_of(u32 token)
{
	return token >> DS_TOKEN_TYPE_OFF & (DS_TOKEN_TYPES - 1);
}

static inline u32 ds_token_make(u32 type, u32 gen, u32 index)
{
	return type << DS_TOKEN_TYPE_OFF | gen << DS_TOKEN_GEN_OFF |
	       index << DS_TOKEN_INDEX_OFF;
}

/* Of one that may not be used. One of generation 0 there never was. */
static inline int ds_word_refuse(u64 word, u32 token)
{
	u32 gen = ds_token_gen(token);

	if (!gen || gen > ds_word_gen(word))
		return -EBADF;
	if (gen < ds_word_gen(word))
		return -ESTALE;
	return ds_token_type_of(token) == ds_word_type(word) ? -ESTALE : -EBADF;
}

/* May the token be used? 0, -ESTALE or -EBADF. A word that is live has a generation. */
static inline int ds_word_check(u64 word, u32 token)
{
	if (ds_token_gen(token) == ds_word_gen(word) &&
	    ds_token_type_of(token) == ds_word_type(word) && ds_word_is_live(word))
		return 0;
	return ds_word_refuse(word, token);
}

#endif /* DS_TOKENCACHE_WORD_H */
