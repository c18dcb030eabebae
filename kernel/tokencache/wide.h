/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: descriptions of the objects that do not fit into a packed token.
 *
 * A record never moves, and is not written to while it is in use; so who has the
 * token, and thereby the record, reads it without a lock.
 */
#ifndef DS_TOKENCACHE_WIDE_H
#define DS_TOKENCACHE_WIDE_H

#include "pack.h"

#define DS_WIDE_PAGE	128u			/* records */
#define DS_WIDE_MAX	((1u << 22) - 1)	/* a number and "none" fit into 22 bits */

struct ds_wide_page;

/**
 * struct ds_wide - the records of a table; private
 * @pages: directory of pages, NULL before the first record
 * @lock: guards all below; innermost lock
 * @free: number of the first free record and one, 0 if there is none
 * @used: records that were ever used
 * @live: records in use
 */
struct ds_wide {
	struct ds_wide_page **pages;
	ds_spin_t lock;
	u32 free;
	u32 used;
	u32 live;
};

/** ds_wide_init - begin without records, and without memory */
void ds_wide_init(struct ds_wide *w);

/** ds_wide_destroy - free all; nobody uses a record any more */
void ds_wide_destroy(struct ds_wide *w);

/**
 * ds_wide_add - keep a description
 * @w: records
 * @d: copied
 * @where: number of the record, written on success only
 *
 * Process context, may sleep.
 *
 * Return: 0, -ENOMEM, or -ENOSPC when all numbers are in use.
 */
int ds_wide_add(struct ds_wide *w, const struct ds_token_desc *d, u32 *where);

/** ds_wide_get - the record of a number that ds_wide_add() has given */
const struct ds_token_desc *ds_wide_get(const struct ds_wide *w, u32 where);

/** ds_wide_del - give a record back; any context that may take the lock */
void ds_wide_del(struct ds_wide *w, u32 where);

#endif /* DS_TOKENCACHE_WIDE_H */
