/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: L1, the small tier of the token cache (document 001). It stands for the SRAM of a
 * NIC: a bounded array, in which the directory's word says the slot.
 *
 * A reader copies a slot without a lock. What it copied is the token's if the slot says
 * so and its counter was even and the same before and after: it is odd while the slot is
 * filled, and does not come back to the same number in any machine's life.
 */
#ifndef DS_TOKENCACHE_L1_H
#define DS_TOKENCACHE_L1_H

#include "pack.h"

/* A slot and one is told from one of L2 by the highest bit (word.h). */
#define DS_L1_MAX	0x1ffffeu

/**
 * struct ds_l1_slot - a token in L1, half a cache line (document 001's L1Entry)
 * @filled: twice the number of times it was filled; odd meanwhile
 * @pack: the token
 * @token: its handle
 */
struct ds_l1_slot {
	u64 filled;
	struct ds_token_pack pack;
	u32 token;
	u32 reserved;
};

static_assert(sizeof(struct ds_l1_slot) == 32, "half a cache line");

/**
 * struct ds_l1 - the tier; who fills which slot is the caller's business
 * @slots: they
 * @capacity: how many
 * @left: called when the token of a slot was revoked, in the revoker's context; NULL if
 *	nobody wants to know
 */
struct ds_l1 {
	struct ds_l1_slot *slots;
	u32 capacity;
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
 * @slot: below @capacity
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
	return READ_ONCE(s->token) == token && !(filled & 1) &&
	       READ_ONCE(s->filled) == filled;
}

/**
 * ds_l1_fill - put a token into a slot that is the caller's alone
 * @l1: tier
 * @slot: below @capacity
 * @token: its handle
 * @p: what it says
 */
void ds_l1_fill(struct ds_l1 *l1, u32 slot, u32 token, const struct ds_token_pack *p);

#endif /* DS_TOKENCACHE_L1_H */
