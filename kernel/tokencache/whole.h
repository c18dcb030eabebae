/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: whole descriptions of wide tokens, kept.
 *
 * A wide token is short in L1 and L2: what it says is at home. Who looks it up reads that
 * there, and asks the mailbox for a copy into a buffer. From then on
 * look-ups need its home no more.
 *
 *	ds_whole_get()		what it says: from the copy; else from home, and then
 *	ds_whole_ask()		  a copy is asked for, which comes some time (EXPAND_ISSUED)
 *	ds_whole_forget()	the token has ended
 *
 * A copy stays until its token ends: what is wide never changes, but for what the packed
 * form says. So it is read without a lock. While all buffers of a set are in use
 * further wide tokens of the set are read at home.
 */
#ifndef DS_TOKENCACHE_WHOLE_H
#define DS_TOKENCACHE_WHOLE_H

#include "fetch.h"

#define DS_WHOLE_SETS	64u
#define DS_WHOLE_WAYS	4u

/**
 * struct ds_whole_copy - a buffer; private
 * @w: waits for the copy, in @desc
 * @owner: whose it is
 * @token: handle that it was asked for, or 0
 * @kept: the same once @desc is whole, else 0; read without the lock
 * @ended: the token has ended, but the copy may still come
 * @desc: description
 */
struct ds_whole_copy {
	struct ds_expand_waiter w;
	struct ds_whole *owner;
	u32 token;
	u32 kept;
	bool ended;
	struct ds_token_desc desc;
};

/**
 * struct ds_whole_stats - since the beginning
 * @kept: copies that have come
 * @failed: that did not
 */
struct ds_whole_stats {
	u64 kept;
	u64 failed;
};

/**
 * struct ds_whole - the buffers; private but for @stats, which a reader may find a few counts
 *	old
 * @fetch: by which copies come, and its cache
 * @stats: written under @lock
 * @lock: the mailbox's is taken within it
 * @copies: DS_WHOLE_WAYS of each set
 */
struct ds_whole {
	struct ds_fetch *fetch;
	struct ds_whole_stats stats;
	ds_spin_t lock;
	struct ds_whole_copy copies[DS_WHOLE_SETS * DS_WHOLE_WAYS];
};

/**
 * ds_whole_init - begin with nothing
 * @w: made by this function
 * @fetch: lives longer; its contexts are those of all below
 */
void ds_whole_init(struct ds_whole *w, struct ds_fetch *fetch);

/**
 * ds_whole_get - begin a use, as ds_token_get(), of which who chooses hears
 * @w: buffers
 * @token: any number
 * @out: copy of the descriptor
 *
 * Any context, takes no lock.
 *
 * Return: 0; 1: likewise, but what it says was read at home, ds_whole_ask() may be called;
 * else as ds_token_get().
 */
int ds_whole_get(struct ds_whole *w, u32 token, struct ds_token_desc *out);

/**
 * ds_whole_ask - ask for a copy, in the background
 * @w: buffers
 * @token: that the caller uses
 * @requester: as ds_fetch_whole()
 * @now: ns
 *
 * Return: -EEXIST if it is there or comes; -ENOSPC: no buffer is free; else as
 * ds_fetch_whole().
 */
int ds_whole_ask(struct ds_whole *w, u32 token, u32 requester, u64 now);

/**
 * ds_whole_forget - a token has ended
 * @w: buffers
 * @token: revoked, used by nobody any more, and not freed yet
 */
void ds_whole_forget(struct ds_whole *w, u32 token);

#endif /* DS_TOKENCACHE_WHOLE_H */
