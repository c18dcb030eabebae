/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: tokens, the descriptors of RDMA objects (docs/architecture.md).
 *
 * A handle is type 2 | generation 8 | index 22. The index finds a word in a flat
 * directory, which says where the token is (word.h), and a home: one packed word for
 * a PD or a CQ, two for an MR or a QP (pack.h). A use is
 *
 *	ds_token_get()		copies the descriptor and begins a use
 *	post, completion
 *	ds_token_put()
 *
 * without a lock, in any context. The end of a token is
 *
 *	ds_token_revoke()	no use begins any more
 *	idle->done()		none is left
 *	destroy the object
 *	ds_token_free()		the index may be used again
 */
#ifndef DS_TOKENCACHE_TOKEN_H
#define DS_TOKENCACHE_TOKEN_H

#include "l1.h"
#include "l2.h"
#include "pack.h"
#include "wide.h"
#include "word.h"

#define DS_TOKEN_PAGE	2048u	/* indices */
#define DS_TOKEN_PAGES	((1u << DS_TOKEN_INDEX_BITS) / DS_TOKEN_PAGE)
#define DS_TOKEN_SETS	512u	/* of indices: for each owner, of tokens of one word and of two */

/**
 * struct ds_token_page - a page of the directory, for tokens of one or of two words
 * @words: one an index, each changed by compare-and-exchange only; programs may map them
 * @home: one or two an index; of a free index the first is the next free one
 */
struct ds_token_page {
	u64 *words;
	u64 *home;
};

/**
 * struct ds_token_chain - indices, the one that waits longest first; private
 * @head: the first one, if there is one
 * @tail: the last one
 */
struct ds_token_chain {
	u32 head;
	u32 tail;
};

/**
 * struct ds_token_indices - indices for an owner's tokens of one size, which stay its own; private
 * @unused: free ones, which are taken first
 * @retired: free ones that have given their last generation. They begin again only when half of
 *	all pages are in use: some 10^8 tokens have come and gone by then since the same
 *	handle was valid, unless others have taken the pages
 * @next: the one that is used next, if none is in @unused and it is below @end
 * @end: behind the page of @next
 */
struct ds_token_indices {
	struct ds_token_chain unused;
	struct ds_token_chain retired;
	u32 next;
	u32 end;
};

/**
 * enum ds_move_step - where tests stop a move
 * @DS_MOVE_CLAIMED: it has begun
 * @DS_MOVE_COPIED: it is about to be committed
 */
enum ds_move_step {
	DS_MOVE_CLAIMED,
	DS_MOVE_COPIED,
};

/**
 * struct ds_token_table - all tokens of a host; private
 * @pages: the directory; a page never moves
 * @wide: descriptions that do not fit
 * @l1: the small tier; @l1->slots is NULL without one
 * @l2: the middle tier; @l2->pages is NULL without one
 * @blocking: a token on its way is neither read nor written; may change at any time
 * @moved: called when a move has ended in the mover's context; @to is where the token is
 *	now, @from if the move was aborted; NULL if nobody wants to know
 * @stops: is a move to be given up at this step? May also take its time, but not sleep; NULL:
 *	none is
 * @lock: guards all below and the chains of free indices; @wide's lock is taken
 *	within it; never taken by ds_token_get() and ds_token_put()
 * @indices: DS_TOKEN_SETS of them
 * @used: pages that were ever used
 * @live: tokens made and not freed
 * @limit: most of them
 * @owners: whose the tokens of a page are
 * @head: what stands before the directory where a program has mapped it; nobody here reads it
 */
struct ds_token_table {
	struct ds_token_page *pages;
	struct ds_wide wide;
	struct ds_l1 l1;
	struct ds_l2 l2;
	bool blocking;
	void (*moved)(u32 token, u32 from, u32 to, u32 bytes);
	bool (*stops)(u32 token, enum ds_move_step step);
	ds_spin_t lock;
	struct ds_token_indices *indices;
	u32 used;
	u32 live;
	u32 limit;
	u8 *owners;
	struct ds_token_directory *head;
};

/**
 * struct ds_token_idle - who waits for the last use of a token
 * @done: called once, by ds_token_put() in its context, which may be an interrupt, or under
 *	the lock of the cache by who moved the token; must not call either
 */
struct ds_token_idle {
	void (*done)(struct ds_token_idle *idle);
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
 * ds_token_create - make a token; it is at home
 * @t: table
 * @d: descriptor, copied
 * @token: result, never 0, written on success only
 *
 * Process context, may sleep.
 *
 * Return: 0, -EINVAL by ds_token_check(), -EDQUOT at the limit, -ENOMEM, or
 * -ENOSPC when every index that there can be is in use.
 */
int ds_token_create(struct ds_token_table *t, const struct ds_token_desc *d,
		    u32 *token);

/**
 * ds_token_create_for - make a token that is somebody's
 * @t: table
 * @owner: whose: any number, 0 with ds_token_create(). Others than 0 may have half of all
 *	indices, the next one half of those that are left then, and so on
 * @d: descriptor, copied
 * @token: result, never 0, written on success only
 *
 * Process context, may sleep.
 *
 * Return: as ds_token_create().
 */
int ds_token_create_for(struct ds_token_table *t, u8 owner, const struct ds_token_desc *d,
			u32 *token);

/**
 * ds_token_owner - whose a token is
 * @t: table
 * @token: any number; of one that there never was the result means nothing
 *
 * Any context, takes no lock.
 *
 * Return: the owner's number.
 */
u8 ds_token_owner(const struct ds_token_table *t, u32 token);

/**
 * ds_token_find - where a token is
 * @t: table
 * @token: any number
 * @word: its word of the directory, as it was a moment ago; written on success only
 *
 * Any context, takes no lock and begins no use.
 *
 * Return: 0, -ESTALE or -EBADF.
 */
int ds_token_find(const struct ds_token_table *t, u32 token, u64 *word);

/**
 * ds_token_get - begin a use: look up, and copy
 * @t: table
 * @token: any number
 * @out: copy of the descriptor and where it was found, written on success only
 *
 * Any context, takes no lock.
 *
 * Return: 0, -ESTALE for a token that was revoked, -EBADF for one that never
 * existed, -EOVERFLOW with 65,534 uses under way, or -EAGAIN for one that is on its
 * way, or written to, for long.
 */
int ds_token_get(struct ds_token_table *t, u32 token, struct ds_token_desc *out);

/**
 * ds_token_hold - begin a use of a token whose descriptor is known
 * @t: table
 * @token: any number
 *
 * Any context, takes no lock.
 *
 * Return: as ds_token_get().
 */
int ds_token_hold(struct ds_token_table *t, u32 token);

/**
 * ds_token_put - end a use
 * @t: table
 * @token: token of a successful ds_token_get() or ds_token_hold(); one that
 *	nobody uses is left alone
 *
 * Any context, takes no lock. Calls done() of a revoke if this was the last use.
 */
void ds_token_put(struct ds_token_table *t, u32 token);

/**
 * ds_token_revoke - let no further use begin
 * @t: table
 * @token: any number
 * @idle: who is told when the last use ends; kept until then. Never told unless
 *	-EINPROGRESS is returned, but perhaps before this function has returned
 *
 * Process context.
 *
 * Return: 0 when no use is left, -EINPROGRESS when @idle will be told, -ESTALE if
 * it is already revoked, -EBADF if it never existed.
 */
int ds_token_revoke(struct ds_token_table *t, u32 token, struct ds_token_idle *idle);

/**
 * ds_token_free - give the index of a revoked token back
 * @t: table
 * @token: token whose revoke has returned 0 or told of its end; any other number is left
 *	alone
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
