// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: allocations of a space, ordered by address.
 */
#include "segtable.h"

#define DS_SEGTABLE_ROOM	64	/* at first */

void ds_segtable_init(struct ds_segtable *t)
{
	memset(t, 0, sizeof(*t));
}

void ds_segtable_destroy(struct ds_segtable *t)
{
	ds_free(t->entry);
	memset(t, 0, sizeof(*t));
}

int ds_segtable_reserve(struct ds_segtable *t)
{
	struct ds_segtable_entry *larger;
	u32 room = t->room ? t->room * 2 : DS_SEGTABLE_ROOM;

	if (t->count < t->room)
		return 0;
	if (room < t->room)
		return -ENOMEM;
	larger = ds_alloc(room * sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	if (t->count)
		memcpy(larger, t->entry, t->count * sizeof(*larger));
	ds_free(t->entry);
	t->entry = larger;
	t->room = room;
	return 0;
}

/* The last entry that begins at @address or before; the first one if there is none. */
static const struct ds_segtable_entry *ds_segtable_search(const struct ds_segtable *t, u64 address)
{
	const struct ds_segtable_entry *entry = t->entry;
	u32 n = t->count;

	while (n > 1) {
		u32 half = n / 2;

		entry += entry[half].base <= address ? half : 0;
		n -= half;
	}
	return entry;
}

const struct ds_segtable_entry *ds_segtable_find(const struct ds_segtable *t, u64 address)
{
	const struct ds_segtable_entry *entry = ds_segtable_search(t, address);

	if (!t->count || address < entry->base || address >= entry->limit)
		return NULL;
	return entry;
}

int ds_segtable_insert(struct ds_segtable *t, const struct ds_segtable_entry *entry)
{
	u32 i;
	int ret;

	if (entry->base >= entry->limit)
		return -EINVAL;
	ret = ds_segtable_reserve(t);
	if (ret)
		return ret;
	i = (u32)(ds_segtable_search(t, entry->base) - t->entry);
	if (i < t->count && t->entry[i].base <= entry->base) {
		if (t->entry[i].limit > entry->base)
			return -EEXIST;
		i++;
	}
	if (i < t->count && t->entry[i].base < entry->limit)
		return -EEXIST;
	memmove(t->entry + i + 1, t->entry + i, (t->count - i) * sizeof(*entry));
	t->entry[i] = *entry;
	t->count++;
	return 0;
}

int ds_segtable_remove(struct ds_segtable *t, u64 base)
{
	u32 i = (u32)(ds_segtable_search(t, base) - t->entry);

	if (!t->count || t->entry[i].base != base)
		return -ENOENT;
	t->count--;
	memmove(t->entry + i, t->entry + i + 1, (t->count - i) * sizeof(*t->entry));
	return 0;
}
