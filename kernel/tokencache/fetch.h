/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: a token cache whose misses are fetched in batches, and whose wide tokens are asked for
 * through the mailbox.
 *
 *	ds_cache_look()		finds the token, but not in L1:
 *	ds_fetch_miss()		  waits in the batch		(batch.h)
 *	ds_cache_look()		says that the token is wide:
 *	ds_fetch_whole()	  waits in the mailbox		(expand.h)
 *	ds_fetch_work()		does what is due of both
 *
 * It stands for a NIC and its host in one machine. A page is one of L2, or 256 neighbours at
 * home, and a DMA operation copies what is wanted of one. Install moves the token, which
 * copies it again where it is: so the version that comes back to the same number after 1024
 * changes decides only what is counted, and never what is read.
 */
#ifndef DS_TOKENCACHE_FETCH_H
#define DS_TOKENCACHE_FETCH_H

#include "batch.h"
#include "cache.h"
#include "expand.h"

#define DS_FETCH_HOME_PAGE	256u		/* tokens of a page at home */
#define DS_FETCH_L2		0x80000000u	/* in a page's number or an offset: of L2 */

/**
 * struct ds_fetch - what fetches for a cache; private but for the stats
 * @cache: it
 * @batch: misses
 * @box: requests to the host
 * @allowed: as in struct ds_expand_ops
 * @moved: called when a miss has brought a token to L1 (not to L2), which was missed at @since; in
 *	the context of ds_fetch_work() or ds_fetch_miss(). NULL if nobody wants to know
 * @pause: called after each page of a flush, in the context of ds_fetch_work() and under no lock:
 *	a flush can be long. NULL if nobody cares
 */
struct ds_fetch {
	struct ds_cache *cache;
	struct ds_batch batch;
	struct ds_expand box;
	int (*allowed)(struct ds_fetch *f, u32 requester, u32 token);
	void (*moved)(struct ds_fetch *f, u32 token, u64 since);
	void (*pause)(struct ds_fetch *f);
};

/**
 * ds_fetch_init - begin to fetch for a cache
 * @f: made by this function
 * @cache: lives longer; its contexts are those of all below
 * @allowed: 0 or -EACCES
 * @batch: by enum ds_batch_param, or NULL
 * @expand: by enum ds_expand_param, or NULL
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int ds_fetch_init(struct ds_fetch *f, struct ds_cache *cache,
		  int (*allowed)(struct ds_fetch *f, u32 requester, u32 token),
		  const u64 *batch, const u64 *expand);

/** ds_fetch_destroy - free what was shut, and is used by nobody */
void ds_fetch_destroy(struct ds_fetch *f);

/**
 * ds_fetch_miss - a token was used that is not in L1
 * @f: fetch
 * @token: any number
 * @w: told, or NULL
 * @now: ns
 *
 * Instead of ds_cache_miss().
 *
 * Return: as ds_batch_add(); -EPERM: it is pinned where it is.
 */
int ds_fetch_miss(struct ds_fetch *f, u32 token, struct ds_waiter *w, u64 now);

/**
 * ds_fetch_whole - somebody needs the whole description of a token
 * @f: fetch
 * @token: any number
 * @requester: number for @allowed
 * @priority: enum ds_expand_priority
 * @w: told, or NULL
 * @now: ns
 *
 * Return: as ds_expand_ask().
 */
int ds_fetch_whole(struct ds_fetch *f, u32 token, u32 requester, u32 priority,
		   struct ds_expand_waiter *w, u64 now);

/**
 * ds_fetch_work - flush the batch if it is due, serve the mailbox, end who waited too long
 * @f: fetch
 * @now: ns
 * @budget: most requests of the mailbox, at least 1
 *
 * Its uses of tokens may be the last ones: then it tells who waits for that. Call it again
 * after the time that it returns, and after each -EINPROGRESS of the two above.
 *
 * Return: ns until there is something to do again, DS_BATCH_NEVER if nothing waits.
 */
u64 ds_fetch_work(struct ds_fetch *f, u64 now, u32 budget);

/**
 * ds_fetch_page - where a token is, in DMA operations
 * @c: cache
 * @token: any number
 *
 * Return: the number of a page, with DS_FETCH_L2 if it is one of L2; DS_BATCH_NOWHERE: it has
 * ended.
 */
u32 ds_fetch_page(const struct ds_cache *c, u32 token);

/**
 * ds_fetch_neighbours - tokens in a page that may be wanted next, and may be in a tier above
 * @c: cache
 * @page: of ds_fetch_page()
 * @token: in it, or was
 * @tokens: result, the nearest behind @token first
 * @most: room there
 *
 * Return: how many.
 */
u32 ds_fetch_neighbours(const struct ds_cache *c, u32 page, u32 token, u32 *tokens, u32 most);

/* Likewise those at home around @token that may be in L2, if there is one. */
u32 ds_fetch_to_stage(const struct ds_cache *c, u32 token, u32 *tokens, u32 most);

/** ds_fetch_revoked - a token was revoked: nobody waits for it any more */
void ds_fetch_revoked(struct ds_fetch *f, u32 token);

/** ds_fetch_shut - its owner ends: all who wait are told -ENODEV */
void ds_fetch_shut(struct ds_fetch *f);

#endif /* DS_TOKENCACHE_FETCH_H */
