/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: tokens, the descriptors of RDMA objects (docs/architecture.md).
 *
 * A token handle is type 2 | generation 8 | index 22. A table slot holds a
 * descriptor of 32 bytes and one word {generation, state, type, references},
 * which moves as one. A use is
 *
 *	ds_token_get()		copies the descriptor and takes a reference
 *	post, completion
 *	ds_token_put()
 *
 * without a lock, in any context. The end of a token is
 *
 *	ds_token_revoke()	no get succeeds any more
 *	idle()			no reference is left
 *	destroy the object
 *	ds_token_free()		the slot may be used again
 *
 * A table is a flat array for now. The token cache will replace its inside; this
 * interface stays.
 */
#ifndef DS_TOKENCACHE_TOKEN_H
#define DS_TOKENCACHE_TOKEN_H

#include "../shim.h"
#include <ds/token.h>

/**
 * struct ds_token_desc - what a token stands for
 * @type: enum ds_token_type
 * @access: DS_ACCESS_* (MR)
 * @reserved: 0
 * @key: rkey (MR), QP number (QP), CQ number (CQ)
 * @base: first offset in the segment (MR)
 * @length: bytes (MR)
 * @owner: cookie of the object that made it
 */
struct ds_token_desc {
	u8 type;
	u8 access;
	u16 reserved;
	u32 key;
	u64 base;
	u64 length;
	u64 owner;
};

static_assert(sizeof(struct ds_token_desc) == 32, "half a cache line");

struct ds_token_page;

/**
 * struct ds_token_table - all tokens of a host; private
 * @pages: directory of the pages of slots; a page never moves
 * @lock: guards all below and the chain of free slots; innermost lock, never
 *	taken by ds_token_get() and ds_token_put()
 * @used: slots that were ever used
 * @free_head: slot to use next
 * @free_tail: slot freed last
 * @live: tokens made and not freed
 * @limit: most of them
 */
struct ds_token_table {
	struct ds_token_page **pages;
	ds_spin_t lock;
	u32 used;
	u32 free_head;
	u32 free_tail;
	u32 live;
	u32 limit;
};

/**
 * ds_token_table_init - begin an empty table
 * @t: table
 * @limit: most tokens at once, 1 to 2^22
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int ds_token_table_init(struct ds_token_table *t, u32 limit);

/**
 * ds_token_table_destroy - end a table that nobody uses any more
 * @t: table
 *
 * Return: number of tokens that were not freed; not 0 is a leak of the caller.
 */
u32 ds_token_table_destroy(struct ds_token_table *t);

/**
 * ds_token_create - make a token
 * @t: table
 * @d: descriptor, copied; @type below DS_TOKEN_TYPES, @reserved 0
 * @token: result, never 0, written on success only
 *
 * Process context, may sleep.
 *
 * Return: 0, -EINVAL, -EDQUOT at the limit, -ENOMEM, or -ENOSPC when every
 * slot is in use or has issued its last generation.
 */
int ds_token_create(struct ds_token_table *t, const struct ds_token_desc *d,
		    u32 *token);

/**
 * ds_token_get - begin a use: look up and take a reference
 * @t: table
 * @token: any number
 * @out: copy of the descriptor, written on success only
 *
 * Any context, takes no lock.
 *
 * Return: 0, -ESTALE for a token that was revoked, -EBADF for one that never
 * existed, or -EOVERFLOW with 2^32 - 1 references held.
 */
int ds_token_get(struct ds_token_table *t, u32 token, struct ds_token_desc *out);

/**
 * ds_token_put - end a use
 * @t: table
 * @token: token of a successful ds_token_get(); a slot without a reference is
 *	left alone
 *
 * Any context, takes no lock. Calls idle() of a revoke if this was the last use.
 */
void ds_token_put(struct ds_token_table *t, u32 token);

/**
 * ds_token_revoke - let no further use begin
 * @t: table
 * @token: any number
 * @idle: called once when the last use ends, by ds_token_put() in its context,
 *	which may be an interrupt; never called unless -EINPROGRESS is
 *	returned, but perhaps before this function has returned
 * @ctx: for @idle
 *
 * Process context.
 *
 * Return: 0 when no use is left, -EINPROGRESS when @idle will tell, -ESTALE if
 * it is already revoked, -EBADF if it never existed.
 */
int ds_token_revoke(struct ds_token_table *t, u32 token,
		    void (*idle)(void *ctx), void *ctx);

/**
 * ds_token_free - give the slot of a revoked token back
 * @t: table
 * @token: token whose revoke has returned 0 or called idle(); any other
 *	number is left alone
 *
 * Process context.
 */
void ds_token_free(struct ds_token_table *t, u32 token);

/**
 * ds_token_count - tokens made and not freed
 * @t: table
 *
 * Return: the number.
 */
u32 ds_token_count(const struct ds_token_table *t);

#endif /* DS_TOKENCACHE_TOKEN_H */
