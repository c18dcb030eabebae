// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: file handles.
 */
#include "handle.h"

#define INDEX_MASK	(~0u >> (32 - DS_HANDLE_INDEX_BITS))
#define SLOTS_MAX	(INDEX_MASK + 1)
#define SLOTS_FIRST	16u		/* slots of the first allocation */
#define NO_SLOT		(~0u)

/* Generations are 1 to GENS; a slot goes round once. */
#define GENS		(~0u >> (32 - DS_HANDLE_GEN_BITS))

/* Spreads neighbouring salts over the generations; has no factor in common with GENS. */
#define SALT_STEP	2531u

/**
 * struct ds_handle_slot - one index of a table
 * @object: what is open here, NULL if nothing is
 * @next: next slot in the chain of free ones
 * @uses: generations issued so far, the open one included
 */
struct ds_handle_slot {
	void *object;
	u32 next;
	u32 uses;
};

/* The handle of a slot's use number @use, from 0. */
static u32 handle_make(const struct ds_handle_table *t, u32 index, u32 use)
{
	u32 gen = 1 + (t->first + use) % GENS;

	return gen << DS_HANDLE_GEN_OFF | index << DS_HANDLE_INDEX_OFF;
}

/* Find the slot in which a handle is open. */
static struct ds_handle_slot *handle_find(const struct ds_handle_table *t,
					  u32 handle, int *err)
{
	u32 index = handle >> DS_HANDLE_INDEX_OFF & INDEX_MASK;
	u32 gen = handle >> DS_HANDLE_GEN_OFF & GENS;
	struct ds_handle_slot *slot;
	u32 use;

	*err = -EBADF;
	if (index >= t->used || !gen)
		return NULL;
	slot = &t->slots[ds_array_index_nospec(index, t->used)];
	use = (gen - 1 + GENS - t->first) % GENS;
	if (use >= slot->uses)
		return NULL;

	*err = -ESTALE;
	if (use != slot->uses - 1 || !slot->object)
		return NULL;

	*err = 0;
	return slot;
}

static int handle_grow(struct ds_handle_table *t)
{
	u32 capacity = t->capacity ? t->capacity * 2 : SLOTS_FIRST;
	struct ds_handle_slot *slots;

	if (t->capacity == SLOTS_MAX)
		return -ENOSPC;
	slots = ds_alloc(capacity * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	if (t->slots)
		memcpy(slots, t->slots, t->used * sizeof(*slots));
	ds_free(t->slots);
	t->slots = slots;
	t->capacity = capacity;
	return 0;
}

/* Take a slot that is free, the one longest so if there are several. */
static int handle_take(struct ds_handle_table *t, u32 *index)
{
	int ret;

	if (t->free_head != NO_SLOT) {
		*index = t->free_head;
		t->free_head = t->slots[*index].next;
		return 0;
	}
	if (t->used == t->capacity) {
		ret = handle_grow(t);
		if (ret)
			return ret;
	}
	*index = t->used++;
	return 0;
}

void ds_handle_init(struct ds_handle_table *t, u32 salt, u32 limit)
{
	memset(t, 0, sizeof(*t));
	t->free_head = NO_SLOT;
	t->limit = limit;
	t->first = salt % GENS * SALT_STEP % GENS;
}

void ds_handle_destroy(struct ds_handle_table *t)
{
	ds_free(t->slots);
	memset(t, 0, sizeof(*t));
	t->free_head = NO_SLOT;
}

int ds_handle_add(struct ds_handle_table *t, void *object, u32 *handle)
{
	struct ds_handle_slot *slot;
	u32 index;
	int ret;

	if (t->count >= t->limit)
		return -EDQUOT;
	ret = handle_take(t, &index);
	if (ret)
		return ret;

	slot = &t->slots[index];
	slot->object = object;
	*handle = handle_make(t, index, slot->uses);
	slot->uses++;
	t->count++;
	return 0;
}

void *ds_handle_get(const struct ds_handle_table *t, u32 handle, int *err)
{
	struct ds_handle_slot *slot = handle_find(t, handle, err);

	return slot ? slot->object : NULL;
}

void *ds_handle_remove(struct ds_handle_table *t, u32 handle, int *err)
{
	struct ds_handle_slot *slot = handle_find(t, handle, err);
	void *object;
	u32 index;

	if (!slot)
		return NULL;
	object = slot->object;
	slot->object = NULL;
	t->count--;

	if (slot->uses == GENS)
		return object;	/* retired */

	index = (u32)(slot - t->slots);
	slot->next = NO_SLOT;
	if (t->free_head == NO_SLOT)
		t->free_head = index;
	else
		t->slots[t->free_tail].next = index;
	t->free_tail = index;
	return object;
}

bool ds_handle_next(const struct ds_handle_table *t, u32 *cursor, u32 *handle,
		    void **object)
{
	while (*cursor < t->used) {
		u32 index = (*cursor)++;
		const struct ds_handle_slot *slot = &t->slots[index];

		if (slot->object) {
			*handle = handle_make(t, index, slot->uses - 1);
			*object = slot->object;
			return true;
		}
	}
	return false;
}

u32 ds_handle_count(const struct ds_handle_table *t)
{
	return t->count;
}
