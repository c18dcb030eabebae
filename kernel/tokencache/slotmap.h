/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: which of somebody's slots has a token: a hash table of slot numbers. A token is in
 * one slot at most. Not thread safe.
 */
#ifndef DS_TOKENCACHE_SLOTMAP_H
#define DS_TOKENCACHE_SLOTMAP_H

#include "../shim.h"

#define DS_SLOT_NONE	(~0u)

/**
 * struct ds_slotmap - the table; private
 * @heads: first slot of each chain
 * @slots: of each slot its token, and the next one of the chain
 * @bits: of the hash
 */
struct ds_slotmap {
	u32 *heads;
	struct {
		u32 token;
		u32 next;
	} *slots;
	u32 bits;
};

/**
 * ds_slotmap_init - no slot has a token
 * @m: table
 * @slots: how many, 1 to 2^24
 *
 * Return: 0 or -ENOMEM.
 */
int ds_slotmap_init(struct ds_slotmap *m, u32 slots);

/** ds_slotmap_destroy - free what ds_slotmap_init() allocated */
void ds_slotmap_destroy(struct ds_slotmap *m);

/** ds_slotmap_find - the slot that has @token, or DS_SLOT_NONE */
u32 ds_slotmap_find(const struct ds_slotmap *m, u32 token);

/** ds_slotmap_add - @slot, which has none, has @token, which is in no slot */
void ds_slotmap_add(struct ds_slotmap *m, u32 slot, u32 token);

/** ds_slotmap_del - @slot, which has a token, has none */
void ds_slotmap_del(struct ds_slotmap *m, u32 slot);

/** ds_slotmap_token - of a slot that has one */
static inline u32 ds_slotmap_token(const struct ds_slotmap *m, u32 slot)
{
	return m->slots[slot].token;
}

#endif /* DS_TOKENCACHE_SLOTMAP_H */
