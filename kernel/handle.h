/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: file handles, generation 12 | index 20 (docs/design.md rule 5).
 *
 * One table for each type of object and each open file. A handle that was
 * closed is told from one that was never given: a slot counts how often it was
 * used, so the generations it has issued are known. Slots are used in turn,
 * and one that has issued all its generations is never used again.
 *
 * There is no lock inside: the caller holds one of its own around every call.
 * It must be one under which it may sleep, because ds_handle_add() allocates.
 */
#ifndef DS_HANDLE_H
#define DS_HANDLE_H

#include "shim.h"
#include <ds/token.h>

struct ds_handle_slot;

/**
 * struct ds_handle_table - handles of one type and one open file; private
 * @slots: array
 * @capacity: length of @slots
 * @used: slots that were ever used; those behind have no history
 * @free_head: slot to use next, ~0 if none is free
 * @free_tail: slot freed last
 * @count: open handles
 * @limit: most open handles
 * @first: generation with which each slot begins
 */
struct ds_handle_table {
	struct ds_handle_slot *slots;
	u32 capacity;
	u32 used;
	u32 free_head;
	u32 free_tail;
	u32 count;
	u32 limit;
	u32 first;
};

/**
 * ds_handle_init - begin an empty table
 * @t: table
 * @salt: a number that differs between tables, from a counter; neighbouring
 *	salts give handles that the other table takes for ones it never issued
 * @limit: most handles that may be open at once
 *
 * Allocates nothing.
 */
void ds_handle_init(struct ds_handle_table *t, u32 salt, u32 limit);

/**
 * ds_handle_destroy - free what a table has allocated
 * @t: table
 *
 * The objects are the caller's: walk them with ds_handle_next() first.
 */
void ds_handle_destroy(struct ds_handle_table *t);

/**
 * ds_handle_add - issue a handle
 * @t: table
 * @object: what it names, not NULL; stays the caller's
 * @handle: result, never 0, written on success only
 *
 * Return: 0, -EDQUOT at the limit of open handles, -ENOMEM, or -ENOSPC when
 * every slot is open or has issued its last generation.
 */
int ds_handle_add(struct ds_handle_table *t, void *object, u32 *handle);

/**
 * ds_handle_get - find the object of a handle
 * @t: table
 * @handle: any number
 * @err: with NULL: -EBADF for a handle that this table never issued, -ESTALE
 *	for one that is closed; else 0
 *
 * Return: the object, or NULL.
 */
void *ds_handle_get(const struct ds_handle_table *t, u32 handle, int *err);

/**
 * ds_handle_remove - close a handle
 * @t: table
 * @handle: any number
 * @err: as with ds_handle_get()
 *
 * Return: the object, which the table has forgotten, or NULL.
 */
void *ds_handle_remove(struct ds_handle_table *t, u32 handle, int *err);

/**
 * ds_handle_next - walk the open handles
 * @t: table
 * @cursor: 0 to begin; kept by this function
 * @handle: result
 * @object: result
 *
 * Handles may be closed during the walk, the one just returned included.
 *
 * Return: true with the next handle, false at the end.
 */
bool ds_handle_next(const struct ds_handle_table *t, u32 *cursor, u32 *handle,
		    void **object);

/**
 * ds_handle_count - number of open handles
 * @t: table
 *
 * Return: the number.
 */
u32 ds_handle_count(const struct ds_handle_table *t);

#endif /* DS_HANDLE_H */
