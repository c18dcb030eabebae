/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: L1, the small tier of the token cache (document 001). It stands for the SRAM of a
 * NIC: a bounded array, in which the directory's word says the slot.
 *
 * A reader copies a slot without a lock. What it copied is the token's if the slot says
 * so and its counter was even and the same before and after: it is odd while the slot is
 * filled, and does not come back to the same number in any machine's life.
 *
 * A token that is not on its way is *shown*: its slot is found by a hash of the handle, and
 * what it says is right without a look at the directory. Who moves or revokes a token
 * hides it first.
 */
#ifndef DS_TOKENCACHE_L1_H
#define DS_TOKENCACHE_L1_H

#include "pack.h"

/* A slot and one is told from one of L2 by the highest bit (word.h). */
#define DS_L1_MAX	0x1ffffeu
#define DS_L1_NONE	0xffffffffu	/* no slot */
#define DS_L1_WAYS	2u
#define DS_L1_TAG_BITS	11

/**
 * struct ds_l1_slot - a token in L1, half a cache line (document 001's L1Entry)
 * @filled: twice the number of times it was filled; odd meanwhile
 * @pack: the token
 * @token: its handle
 * @shown: its handle while it is shown, else 0, which is no handle
 */
struct ds_l1_slot {
	u64 filled;
	struct ds_token_pack pack;
	u32 token;
	u32 shown;
};

static_assert(sizeof(struct ds_l1_slot) == 32, "half a cache line");

/**
 * struct ds_l1 - the tier; who fills which slot is the caller's business
 * @slots: they
 * @hints: where a handle's slot may be: DS_L1_WAYS for each hash, slot << DS_L1_TAG_BITS |
 *	tag; anybody writes them at any time, so nobody believes them
 * @shift: of the hash
 * @left: called when the token of a slot was revoked, in the revoker's context; NULL if
 *	nobody wants to know
 */
struct ds_l1 {
	struct ds_l1_slot *slots;
	u32 *hints;
	u32 shift;
	void (*left)(struct ds_l1 *l1, u32 slot, u32 token);
};

/**
 * ds_l1_init - make an empty tier
 * @l1: tier
 * @capacity: slots, 1 to DS_L1_MAX
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int ds_l1_init(struct ds_l1 *l1, u32 capacity);

/** ds_l1_destroy - free the slots; nobody reads any more */
void ds_l1_destroy(struct ds_l1 *l1);

/**
 * ds_l1_read - copy a slot
 * @l1: tier
 * @slot: below what ds_l1_init() was given
 * @token: whose it should be
 * @p: result, of use on success only
 *
 * Any context, takes no lock.
 *
 * Return: true if what was copied is of one filling, with that token.
 */
static inline bool ds_l1_read(const struct ds_l1 *l1, u32 slot, u32 token,
			      struct ds_token_pack *p)
{
	const struct ds_l1_slot *s = &l1->slots[slot];
	/* Pairs with the release in ds_l1_fill(): the token is there. */
	u64 filled = smp_load_acquire(&s->filled);

	/* This, with the release there: a later filling is seen in the counter. */
	p->fixed = smp_load_acquire(&s->pack.fixed);
	/* See above. */
	p->hot = smp_load_acquire(&s->pack.hot);
	/* Before the counter is read again. */
	return smp_load_acquire(&s->token) == token && !(filled & 1) &&
	       READ_ONCE(s->filled) == filled;
}

static inline u64 ds_l1_hash(u32 token)
{
	return token * 0x9e3779b97f4a7c15ull;
}

static inline u32 ds_l1_tag(u64 hash)
{
	return (u32)(hash >> 24) & ((1u << DS_L1_TAG_BITS) - 1);
}

static inline u32 *ds_l1_hints(const struct ds_l1 *l1, u64 hash)
{
	return &l1->hints[(hash >> l1->shift) * DS_L1_WAYS];
}

/**
 * ds_l1_find - copy a token that is shown
 * @l1: tier
 * @token: any number but 0
 * @p: result, of use on success only
 *
 * Any context, takes no lock.
 *
 * Return: its slot, or DS_L1_NONE: it is not here, or is not shown, or nobody left a
 * hint.
 */
static inline u32 ds_l1_find(const struct ds_l1 *l1, u32 token, struct ds_token_pack *p)
{
	u64 hash = ds_l1_hash(token), filled;
	const u32 *hints = ds_l1_hints(l1, hash);
	const struct ds_l1_slot *s;
	u32 hint = READ_ONCE(hints[0]), second = READ_ONCE(hints[1]);

	/* No branch on it, which would be a guess. */
	hint = (hint ^ ds_l1_tag(hash)) << (32 - DS_L1_TAG_BITS) ? second : hint;
	hint >>= DS_L1_TAG_BITS;
	s = &l1->slots[hint];
	/* These three as in ds_l1_read(). */
	filled = smp_load_acquire(&s->filled);
	/* Likewise. */
	p->fixed = smp_load_acquire(&s->pack.fixed);
	/* Before @shown: what is shown afterwards was right at this moment. */
	p->hot = smp_load_acquire(&s->pack.hot);
	/* Pairs with the release in ds_l1_show(). Before @filled. */
	if (smp_load_acquire(&s->shown) != token || filled & 1 ||
	    READ_ONCE(s->filled) != filled)
		return DS_L1_NONE;
	return hint;
}

/**
 * ds_l1_hint - a token that ds_l1_find() did not find is in L1 after all
 * @l1: tier
 * @token: its handle
 * @slot: where it was found
 */
void ds_l1_hint(struct ds_l1 *l1, u32 token, u32 slot);

/**
 * ds_l1_show - a token may be found by its handle
 * @l1: tier
 * @token: its handle; the caller writes to it (word.h), so it stays while this happens
 * @slot: that it is in
 */
void ds_l1_show(struct ds_l1 *l1, u32 token, u32 slot);

/**
 * ds_l1_hide - it may not any more
 * @l1: tier
 * @token: its handle; the caller has claimed or revoked it
 * @slot: that it is in, or was
 */
void ds_l1_hide(struct ds_l1 *l1, u32 token, u32 slot);

/**
 * ds_l1_fill - put a token into a slot that is the caller's alone
 * @l1: tier
 * @slot: below what ds_l1_init() was given
 * @token: its handle
 * @p: what it says
 */
void ds_l1_fill(struct ds_l1 *l1, u32 slot, u32 token, const struct ds_token_pack *p);

#endif /* DS_TOKENCACHE_L1_H */
