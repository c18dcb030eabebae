/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: allocations of a space, ordered by address.
 *
 * Each is exact to the byte. A binary search without branches that depend on
 * what it finds; any number of entries. Not thread safe.
 */
#ifndef DS_RDM_SEGTABLE_H
#define DS_RDM_SEGTABLE_H

#include "../shim.h"

/**
 * struct ds_segtable_entry - an allocation
 * @base: its first address
 * @limit: the address behind its last
 * @offset: of its first byte in the pool
 * @access: DS_ACCESS_*
 */
struct ds_segtable_entry {
	u64 base;
	u64 limit;
	u64 offset;
	u32 access;
};

/**
 * struct ds_segtable - allocations
 * @entry: ordered by base; they do not overlap
 * @count: of them
 * @room: for so many
 */
struct ds_segtable {
	struct ds_segtable_entry *entry;
	u32 count;
	u32 room;
};

/**
 * ds_segtable_init - no allocations
 * @t: filled, for ds_segtable_destroy()
 */
void ds_segtable_init(struct ds_segtable *t);
void ds_segtable_destroy(struct ds_segtable *t);

/**
 * ds_segtable_reserve - make room for one more
 * @t: the table
 *
 * Return: 0, -ENOMEM; then nothing has changed
 */
int ds_segtable_reserve(struct ds_segtable *t);

/**
 * ds_segtable_insert - add an allocation
 * @t: the table
 * @entry: @entry->base is less than @entry->limit
 *
 * Cannot run out of memory after ds_segtable_reserve().
 *
 * Return: 0; -EINVAL: it is empty; -EEXIST: it overlaps another; -ENOMEM
 */
int ds_segtable_insert(struct ds_segtable *t, const struct ds_segtable_entry *entry);

/**
 * ds_segtable_remove - forget an allocation
 * @t: the table
 * @base: its first address
 *
 * Return: 0; -ENOENT: none begins there
 */
int ds_segtable_remove(struct ds_segtable *t, u64 base);

/**
 * ds_segtable_find - which allocation has this byte?
 * @t: the table
 * @address: of the byte
 *
 * Return: the allocation, until the table is changed; NULL: none has it
 */
const struct ds_segtable_entry *ds_segtable_find(const struct ds_segtable *t, u64 address);

#endif /* DS_RDM_SEGTABLE_H */
