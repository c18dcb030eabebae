/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: prefetched batch, document 001's path B: tokens that were missed are fetched together.
 *
 *	ds_batch_add()		a miss waits; a token that waits already gets one more waiter
 *	ds_batch_due()		when to flush
 *	ds_batch_flush()	one DMA operation a page, for all tokens of it that wait;
 *				each is installed, and its waiters are told
 *
 * With what was asked for come some of its neighbours in the page (spatial prefetch). They
 * do not go into the hot set but to a staging area, a ring in which the newest takes the
 * place of the oldest; a miss of a token that is there installs it without DMA. What leaves
 * the ring without that was fetched for nothing, and is counted.
 *
 * The batch knows nothing of the cache: where a token is, what a DMA operation is and what
 * it means to be in L1 say the functions of its owner. Between fetch and install a token
 * may move, change or end. So install() checks the word that fetch() has seen.
 *
 * The queue is bounded. When it is full, a miss is refused, and either the producers are
 * told when there is room again, or the miss is dropped and counted (PREFETCH_DROP). DMA
 * that is saturated (-EBUSY of fetch()) leaves what waits in the queue, which so gets full.
 *
 * Nothing is allocated after ds_batch_init(). A lock of its own guards the queue; a hit in
 * the cache does not come here. Time is an argument, of any clock that does not go back.
 */
#ifndef DS_TOKENCACHE_BATCH_H
#define DS_TOKENCACHE_BATCH_H

#include "pack.h"
#include "param.h"
#include "slotlist.h"
#include "waiter.h"

#define DS_BATCH_NOWHERE	(~0u)	/* page of a token that is in none */
#define DS_BATCH_NEVER		(~0ull)
#define DS_BATCH_TOKEN_BYTES	16u	/* of L2_PAGE_PREFETCH_SIZE, for each neighbour */

/**
 * enum ds_batch_param - indices of ds_batch_params
 * @DS_PREFETCH_BATCH_THRESHOLD: tokens that wait, with which the batch is due
 * @DS_MAX_BATCH: most tokens that a flush takes
 * @DS_PREFETCH_TIMER_NS: the batch is due when its oldest token has waited so long
 * @DS_L2_PAGE_PREFETCH_SIZE: bytes of neighbours that are fetched with a page's tokens;
 *	below 16, off
 * @DS_PREFETCH_DROP: with a full queue, 0: tell the producer when there is room, 1: drop
 * @DS_PREFETCH_QUEUE: most tokens that wait
 * @DS_PREFETCH_STAGING: tokens in the staging area
 */
enum ds_batch_param {
	DS_PREFETCH_BATCH_THRESHOLD,
	DS_MAX_BATCH,
	DS_PREFETCH_TIMER_NS,
	DS_L2_PAGE_PREFETCH_SIZE,
	DS_PREFETCH_DROP,
	DS_PREFETCH_QUEUE,
	DS_PREFETCH_STAGING,
	DS_BATCH_PARAMS,
};

extern const struct ds_param ds_batch_params[DS_BATCH_PARAMS];

/**
 * struct ds_batch_item - a token that was fetched
 * @token: handle
 * @joined: misses beside the first that waited for it when it was to be installed
 * @since: when that one came, in ns
 * @ret: 0, or why fetch() has not got it
 * @word: its word of the directory when it was copied
 * @pack: what it says
 */
struct ds_batch_item {
	u32 token;
	u32 joined;
	int ret;
	u64 since;
	u64 word;
	struct ds_token_pack pack;
};

struct ds_batch;

/**
 * struct ds_batch_ops - what the owner does; all but @room are called in the context of
 *	ds_batch_flush(), @install in that of ds_batch_add() too, and none under the lock
 * @page: the page in which a token is now, or DS_BATCH_NOWHERE if it has ended or needs none
 * @fetch: one DMA operation: copy @count tokens of a page. -EBUSY: DMA is saturated, later;
 *	any other error is of all tokens, @items[].ret of one. Fills @word and @pack
 * @neighbours: up to @most live tokens of @page that are not in L1, the nearest to
 *	@token first. Returns how many. NULL: none
 * @install: put a token that was used into L1, if its word is still the same, else -ESTALE: if it
 *	was asked for, and @page is still the same, it is fetched again and tried once more. Any
 *	other error is counted as declined
 * @room: NULL, or: producers that were refused may come again. In the context of
 *	ds_batch_flush() or ds_batch_shut()
 * @pause: NULL, or: a page is done, and the next one may wait a moment
 */
struct ds_batch_ops {
	u32 (*page)(struct ds_batch *b, u32 token);
	int (*fetch)(struct ds_batch *b, u32 page, struct ds_batch_item *items, u32 count);
	u32 (*neighbours)(struct ds_batch *b, u32 page, u32 token, u32 *tokens, u32 most);
	int (*install)(struct ds_batch *b, const struct ds_batch_item *item);
	void (*room)(struct ds_batch *b);
	void (*pause)(struct ds_batch *b);
};

/**
 * struct ds_batch_stats - since the beginning
 * @queued: misses that began to wait
 * @joined: misses of a token that waited already
 * @refused: misses for which there was no room, the producer is told of it
 * @dropped: misses for which there was no room, with PREFETCH_DROP
 * @flushes: that took a token
 * @fetches: DMA operations
 * @fetched: tokens in them, neighbours not counted; one that is fetched again twice
 * @neighbours: tokens in them that nobody had asked for
 * @busy: times that DMA was saturated
 * @failed: tokens that fetch() has not got
 * @installed: tokens, from DMA or from staging
 * @stale: tokens that ended, or whose word had changed, before they were installed
 * @declined: tokens that install() did not take for another reason
 * @cut: tokens that waited when it was shut
 * @used: neighbours that were missed, and found in staging
 * @unused: neighbours that left staging, or never came there, without being missed
 */
struct ds_batch_stats {
	u64 queued;
	u64 joined;
	u64 refused;
	u64 dropped;
	u64 flushes;
	u64 fetches;
	u64 fetched;
	u64 neighbours;
	u64 busy;
	u64 failed;
	u64 installed;
	u64 stale;
	u64 declined;
	u64 cut;
	u64 used;
	u64 unused;
};

/**
 * struct ds_batch - misses that wait; private but for @used, and @stats, which a reader may
 *	find a few counts old
 * @ops: of the owner
 * @used: NULL, or what the owner sets before the first miss: a token that was to be installed,
 *	and was not stale, had more misses meanwhile than install() was told of. In the context
 *	of ds_batch_flush(), not under the lock
 * @params: by enum ds_batch_param
 * @stats: written under @lock
 * @lock: the owner's contexts must not interrupt each other while they hold it
 * @map: slots of the queue, and behind them those of the staging area
 * @queue: slots of the queue
 * @links: of them
 * @waiting: those with a token, the one first that has waited longest
 * @spare: the others
 * @staging: fetched neighbours
 * @stage_at: slot of the staging area that the next one takes
 * @work: what a flush has taken
 * @items: tokens of one page
 * @tokens: their neighbours
 * @near: neighbours that this flush may still fetch: no more than staging has room for
 * @resume_at: not due before, because DMA was saturated
 * @flushing: somebody is; @work, @items, @tokens and @near are its
 * @starved: a producer is to be told
 * @gone: ds_batch_shut()
 */
struct ds_batch {
	const struct ds_batch_ops *ops;
	void (*used)(struct ds_batch *b, u32 token, u32 misses);
	u64 params[DS_BATCH_PARAMS];
	struct ds_batch_stats stats;
	ds_spin_t lock;
	struct ds_slotmap map;
	struct ds_batch_entry *queue;
	struct ds_slotlink *links;
	struct ds_slotlist waiting;
	struct ds_slotlist spare;
	struct ds_batch_staged *staging;
	u32 stage_at;
	struct ds_batch_work *work;
	struct ds_batch_item *items;
	u32 *tokens;
	u32 near;
	u64 resume_at;
	bool flushing;
	bool starved;
	bool gone;
};

/**
 * ds_batch_init - nobody waits
 * @b: batch, made by this function
 * @ops: kept
 * @params: by enum ds_batch_param; NULL: the normal ones
 *
 * Process context, may sleep.
 *
 * Return: 0, -EINVAL for a parameter out of its range, or -ENOMEM.
 */
int ds_batch_init(struct ds_batch *b, const struct ds_batch_ops *ops, const u64 *params);

/**
 * ds_batch_destroy - free a batch that nobody uses any more
 * @b: batch, shut
 */
void ds_batch_destroy(struct ds_batch *b);

/**
 * ds_batch_set - change a parameter
 * @b: batch
 * @which: enum ds_batch_param
 * @value: new one
 *
 * Return: 0; -EINVAL: out of range; -EPERM: it is fixed.
 */
int ds_batch_set(struct ds_batch *b, u32 which, u64 value);

/**
 * ds_batch_add - a token was missed (document 001's schedule_prefetch)
 * @b: batch
 * @token: any number
 * @w: told when it is there or will not be, only after -EINPROGRESS; NULL: nobody waits
 * @now: ns
 *
 * Afterwards ask ds_batch_due(). Takes the lock; any context in which install() may be
 * called.
 *
 * Return: -EINPROGRESS: it waits. 0: it was in staging, and is in L1 now; or install()'s
 * error, but for -ESTALE and -EAGAIN, with which it is fetched again. -EAGAIN: no room, room()
 * will be called; -ENOSPC: no room, it was dropped, or install() had none; -ENODEV: the batch
 * was shut.
 */
int ds_batch_add(struct ds_batch *b, u32 token, struct ds_waiter *w, u64 now);

/**
 * ds_batch_cancel - do not wait any more
 * @b: batch
 * @token: that it was given with
 * @w: waiter
 *
 * The token is fetched all the same. Takes the lock.
 *
 * Return: true: it will not be told. false: it was told, or is about to be.
 */
bool ds_batch_cancel(struct ds_batch *b, u32 token, struct ds_waiter *w);

/**
 * ds_batch_due - when to flush
 * @b: batch
 * @now: ns
 *
 * Takes the lock.
 *
 * Return: ns until then, 0 for now, DS_BATCH_NEVER if nothing waits. While somebody
 * flushes it is not due: who has flushed asks again.
 */
u64 ds_batch_due(struct ds_batch *b, u64 now);

/**
 * ds_batch_flush - fetch the tokens that have waited longest (001's prefetch_worker)
 * @b: batch
 * @now: ns
 *
 * One flush at a time: another call meanwhile does nothing. Takes the lock, but not
 * during the owner's functions.
 *
 * Return: tokens that wait no more.
 */
u32 ds_batch_flush(struct ds_batch *b, u64 now);

/**
 * ds_batch_shut - its owner ends: let nobody wait
 * @b: batch
 *
 * All that wait are told -ENODEV, but those whose DMA is under way, which are told how it
 * ends. Nothing is queued any more. Takes the lock.
 */
void ds_batch_shut(struct ds_batch *b);

#endif /* DS_TOKENCACHE_BATCH_H */
