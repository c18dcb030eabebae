/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: who waits for a token that is fetched or expanded.
 *
 * A waiter is its owner's memory, so that as many can wait as there are. It is in one list
 * from when it was given until it is told or has left, under the lock of who has the list.
 */
#ifndef DS_TOKENCACHE_WAITER_H
#define DS_TOKENCACHE_WAITER_H

#include "../shim.h"

/**
 * struct ds_waiter - one who waits
 * @done: called once, with 0 or an error, in the context of who ends the wait and without a
 *	lock; from then on the waiter is its owner's. Not called if it has left before
 * @next: private
 */
struct ds_waiter {
	void (*done)(struct ds_waiter *w, int ret);
	struct ds_waiter *next;
};

static inline void ds_waiter_add(struct ds_waiter **list, struct ds_waiter *w)
{
	w->next = *list;
	*list = w;
}

/* Return: whether it was there. */
static inline bool ds_waiter_del(struct ds_waiter **list, const struct ds_waiter *w)
{
	for (; *list; list = &(*list)->next) {
		if (*list != w)
			continue;
		*list = w->next;
		return true;
	}
	return false;
}

/* All of a list go to another one. */
static inline void ds_waiter_move(struct ds_waiter **to, struct ds_waiter *list)
{
	struct ds_waiter *next;

	for (; list; list = next) {
		next = list->next;
		ds_waiter_add(to, list);
	}
}

/* Tell all of a list that is the caller's alone; without the lock. */
static inline void ds_waiter_tell(struct ds_waiter *list, int ret)
{
	struct ds_waiter *next;

	for (; list; list = next) {
		next = list->next;	/* from done() on it is the owner's */
		list->done(list, ret);
	}
}

#endif /* DS_TOKENCACHE_WAITER_H */
