/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: lists of somebody's slots, by number. A slot is in one list at a time.
 */
#ifndef DS_TOKENCACHE_SLOTLIST_H
#define DS_TOKENCACHE_SLOTLIST_H

#include "slotmap.h"

/* Neighbours of a slot in its list. */
struct ds_slotlink {
	u32 before;
	u32 after;
};

/**
 * struct ds_slotlist - a list
 * @first: slot, or DS_SLOT_NONE
 * @last: slot, or DS_SLOT_NONE
 * @count: how many
 */
struct ds_slotlist {
	u32 first;
	u32 last;
	u32 count;
};

static inline void ds_slotlist_init(struct ds_slotlist *l)
{
	l->first = DS_SLOT_NONE;
	l->last = DS_SLOT_NONE;
	l->count = 0;
}

static inline void ds_slotlist_add(struct ds_slotlist *l, struct ds_slotlink *links, u32 slot)
{
	links[slot].before = l->last;
	links[slot].after = DS_SLOT_NONE;
	if (l->last == DS_SLOT_NONE)
		l->first = slot;
	else
		links[l->last].after = slot;
	l->last = slot;
	l->count++;
}

static inline void ds_slotlist_del(struct ds_slotlist *l, struct ds_slotlink *links, u32 slot)
{
	u32 before = links[slot].before, after = links[slot].after;

	if (before == DS_SLOT_NONE)
		l->first = after;
	else
		links[before].after = after;
	if (after == DS_SLOT_NONE)
		l->last = before;
	else
		links[after].before = before;
	l->count--;
}

#endif /* DS_TOKENCACHE_SLOTLIST_H */
