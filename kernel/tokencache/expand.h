/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: on-demand expand, document 001's path C: the host is asked for a whole descriptor.
 *
 *	requester			host
 *	ds_expand_ask()	   mailbox	ds_expand_serve(), which is
 *	waits, or comes again		    ds_expand_take()
 *	ds_expand_cancel()		    produce(), from the token's home
 *					    ds_expand_complete()
 *
 * A request is {token, offset, requester}. Who may not have the token gets -EACCES before
 * anything else of it is looked at. The offset is what the requester's copy of the directory says:
 * it is compared with the host's own, and never used as an address.
 *
 * Delivery is 001's two: the descriptor is staged into the token's page in L2, or copied to
 * the requester's buffer. Who waits is told; who does not, gets -EINPROGRESS (EXPAND_ISSUED),
 * and when it comes again before the request is done, joins it. So there is one request for a
 * token, however many ask.
 *
 * Urgent requests are taken before those in the background; but after EXPAND_URGENT_RUN of
 * them, one of these. They leave some room of the mailbox to urgent ones, and each requester
 * leaves some to others. When a page is asked for often, neighbours are requested in the
 * background (001's pre-staging).
 *
 * A request has a number that no other one has. Whoever completes says it; so a completion
 * that comes when nobody waits any more, because of a timeout, a cancel, a revoke or the
 * device's end, is known for what it is and changes nothing.
 *
 * Nothing is allocated after ds_expand_init(). Time is an argument, of any clock that does
 * not go back. All functions but init, destroy and ds_expand_set() take the box's lock, for as
 * long as the mailbox is large at most; the owner's functions are called without it.
 */
#ifndef DS_TOKENCACHE_EXPAND_H
#define DS_TOKENCACHE_EXPAND_H

#include "pack.h"
#include "param.h"
#include "slotlist.h"
#include "waiter.h"

#define DS_EXPAND_NEVER		(~0ull)
#define DS_EXPAND_PAGES		64u	/* of which is known how often they are asked for */
#define DS_EXPAND_NEIGHBOURS	64u
#define DS_EXPAND_REQUESTERS	256u	/* numbers of them */

/**
 * enum ds_expand_priority - which request comes first
 * @DS_EXPAND_URGENT: an operation waits
 * @DS_EXPAND_BACKGROUND: L2 is filled
 */
enum ds_expand_priority {
	DS_EXPAND_URGENT,
	DS_EXPAND_BACKGROUND,
	DS_EXPAND_PRIORITIES,
};

/**
 * enum ds_expand_param - indices of ds_expand_params
 * @DS_EXPAND_URGENT_RUN: urgent requests taken one after the other while one in the
 *	background waits
 * @DS_EXPAND_TIMEOUT_NS: how long somebody waits
 * @DS_EXPAND_HOT_PAGE: requests of a page, after which neighbours are pre-staged; 0: off
 * @DS_EXPAND_PRESTAGE: how many; 0: off
 * @DS_EXPAND_BACKGROUND_MAX: most requests in the background
 * @DS_EXPAND_REQUESTER_MAX: most requests of a requester
 * @DS_EXPAND_MAILBOX: most requests
 */
enum ds_expand_param {
	DS_EXPAND_URGENT_RUN,
	DS_EXPAND_TIMEOUT_NS,
	DS_EXPAND_HOT_PAGE,
	DS_EXPAND_PRESTAGE,
	DS_EXPAND_BACKGROUND_MAX,
	DS_EXPAND_REQUESTER_MAX,
	DS_EXPAND_MAILBOX,
	DS_EXPAND_PARAMS,
};

extern const struct ds_param ds_expand_params[DS_EXPAND_PARAMS];

/**
 * struct ds_expand_req - what is asked for
 * @token: any number
 * @offset: where it is, as the requester's directory says
 * @requester: its number, below DS_EXPAND_REQUESTERS
 * @priority: enum ds_expand_priority
 */
struct ds_expand_req {
	u32 token;
	u32 offset;
	u32 requester;
	u32 priority;
};

/**
 * struct ds_expand_waiter - one who waits
 * @base: @base.done() is called with 0; with -ETIMEDOUT; with -ESTALE or -ENODEV if the
 *	token or the requester has ended, or with -ENODEV when the mailbox is shut; or with the
 *	error of produce() or stage()
 * @buffer: where the descriptor is copied to before that; NULL: it is staged into L2
 * @deadline: private, as all below
 * @slot: of the mailbox
 * @requester: who it waits for
 */
struct ds_expand_waiter {
	struct ds_waiter base;
	struct ds_token_desc *buffer;
	u64 deadline;
	u32 slot;
	u32 requester;
};

/**
 * struct ds_expand_job - a request that the host has taken
 * @token: handle
 * @slot: of the mailbox
 * @seq: number of the request
 */
struct ds_expand_job {
	u32 token;
	u32 slot;
	u64 seq;
};

struct ds_expand;

/**
 * struct ds_expand_ops - what the owner does; never under the lock
 * @allowed: may a requester have a token? 0 or -EACCES, which it is also for a token of
 *	which the requester may not know that it has ended; or -ENODEV for a requester that
 *	goes away. In the context of ds_expand_ask(), as @locate
 * @locate: is the token at @offset? 0 with the number of its page at home; -EINVAL: nothing
 *	can be there; -ESTALE: the requester's directory is old; -EBADF
 * @produce: the whole descriptor, from the token's home. In the context of
 *	ds_expand_serve(), as all below. -ESTALE when the token has ended
 * @stage: put a token into its page in L2. 0 also if it is there; -ENOSPC; -ESTALE as above.
 *	NULL: there is no L2, -ENOSPC
 * @neighbours: up to @most live tokens of @page, the nearest to @token first, that are not
 *	in L1 or L2. Returns how many. NULL: none
 */
struct ds_expand_ops {
	int (*allowed)(struct ds_expand *box, u32 requester, u32 token);
	int (*locate)(struct ds_expand *box, u32 token, u32 offset, u32 *page);
	int (*produce)(struct ds_expand *box, u32 token, struct ds_token_desc *d);
	int (*stage)(struct ds_expand *box, u32 token, const struct ds_token_desc *d);
	u32 (*neighbours)(struct ds_expand *box, u32 page, u32 token, u32 *tokens, u32 most);
};

/**
 * struct ds_expand_stats - since the beginning
 * @asked: requests that entered the mailbox, pre-staging not counted
 * @joined: that found one of the same token there
 * @raised: of these, that made it urgent
 * @denied: refused by allowed(), also as the requester is leaving
 * @invalid: refused by locate()
 * @full: -EAGAIN
 * @limited: -EBUSY
 * @served: requests completed in time, by priority
 * @aged: of the background, that were taken before an urgent one
 * @staged: into L2
 * @copied: to a buffer
 * @failed: completed with an error
 * @late: completions of a request that had ended
 * @expired: waiters told -ETIMEDOUT
 * @cancelled: waiters that left
 * @gone: waiters told -ENODEV, as their requester went away
 * @withdrawn: requests that ended because nobody waited any more
 * @prestaged: requests made for neighbours of a hot page
 * @ended: requests that ended with their token, or with the mailbox
 *
 * What entered the mailbox is there, or has left it: @asked and @prestaged are as many as
 * @served, @withdrawn, @ended and the requests under way.
 */
struct ds_expand_stats {
	u64 asked;
	u64 joined;
	u64 raised;
	u64 denied;
	u64 invalid;
	u64 full;
	u64 limited;
	u64 served[DS_EXPAND_PRIORITIES];
	u64 aged;
	u64 staged;
	u64 copied;
	u64 failed;
	u64 late;
	u64 expired;
	u64 cancelled;
	u64 gone;
	u64 withdrawn;
	u64 prestaged;
	u64 ended;
};

/* How often a page was asked for; pages with the same place wear each other off. */
struct ds_expand_heat {
	u32 page;
	u32 asked;
};

/**
 * struct ds_expand - a mailbox; private but for @stats, which a reader may find a few
 *	counts old
 * @ops: of the owner
 * @params: by enum ds_expand_param
 * @stats: written under @lock
 * @lock: the owner's contexts must not interrupt each other while they hold it
 * @map: slots that may be joined
 * @slots: requests
 * @links: of them
 * @queue: requests that wait, by priority
 * @taken: requests that a host has
 * @spare: free slots
 * @background: requests in the background, wherever they are
 * @held: requests of each requester, likewise
 * @seq: number of the last request
 * @run: urgent requests taken since one of the background
 * @heat: of pages, by hash
 * @gone: ds_expand_shut()
 */
struct ds_expand {
	const struct ds_expand_ops *ops;
	u64 params[DS_EXPAND_PARAMS];
	struct ds_expand_stats stats;
	ds_spin_t lock;
	struct ds_slotmap map;
	struct ds_expand_slot *slots;
	struct ds_slotlink *links;
	struct ds_slotlist queue[DS_EXPAND_PRIORITIES];
	struct ds_slotlist taken;
	struct ds_slotlist spare;
	u32 background;
	u16 held[DS_EXPAND_REQUESTERS];
	u64 seq;
	u64 run;
	struct ds_expand_heat heat[DS_EXPAND_PAGES];
	bool gone;
};

/**
 * ds_expand_init - an empty mailbox
 * @box: made by this function
 * @ops: kept
 * @params: by enum ds_expand_param; NULL: the normal ones
 *
 * Process context, may sleep.
 *
 * Return: 0, -EINVAL for a parameter out of its range, or -ENOMEM.
 */
int ds_expand_init(struct ds_expand *box, const struct ds_expand_ops *ops, const u64 *params);

/**
 * ds_expand_destroy - free a mailbox that nobody uses any more, no host either
 * @box: shut
 */
void ds_expand_destroy(struct ds_expand *box);

/**
 * ds_expand_set - change a parameter
 * @box: mailbox
 * @which: enum ds_expand_param
 * @value: new one
 *
 * Return: 0; -EINVAL: out of range; -EPERM: it is fixed.
 */
int ds_expand_set(struct ds_expand *box, u32 which, u64 value);

/**
 * ds_expand_ask - ask the host (document 001's handle_cache_miss_expand)
 * @box: mailbox
 * @req: copied, of any content
 * @w: told of the end, only after -EINPROGRESS; NULL: nobody waits, it is staged into L2
 * @now: ns
 *
 * Any context in which allowed() and locate() may be called.
 *
 * Return: -EINPROGRESS: it is under way. -EACCES: not for this requester. -EINVAL: offset,
 * requester or priority; -EBADF, -ESTALE: of locate(). -EBUSY: the requester has as many
 * requests as it may have. -EAGAIN: the mailbox is full. -ENODEV: it was shut, or the
 * requester goes away.
 */
int ds_expand_ask(struct ds_expand *box, const struct ds_expand_req *req,
		  struct ds_expand_waiter *w, u64 now);

/**
 * ds_expand_cancel - do not wait any more
 * @box: mailbox
 * @w: of a request that was under way
 *
 * The last one withdraws the request, unless somebody asked without waiting.
 *
 * Return: true: it will not be told. false: it was told, or is about to be.
 */
bool ds_expand_cancel(struct ds_expand *box, struct ds_expand_waiter *w);

/**
 * ds_expand_expire - who has waited for EXPAND_TIMEOUT_NS is told so
 * @box: mailbox
 * @now: ns
 *
 * Return: ns until the next one will have, DS_EXPAND_NEVER if nobody waits.
 */
u64 ds_expand_expire(struct ds_expand *box, u64 now);

/**
 * ds_expand_revoked - a token has ended: who waits for it is told -ESTALE
 * @box: mailbox
 * @token: any number
 */
void ds_expand_revoked(struct ds_expand *box, u32 token);

/**
 * ds_expand_gone - a requester goes away: nothing waits for it any more
 * @box: mailbox
 * @requester: its number, below DS_EXPAND_REQUESTERS
 *
 * Who waits for it is told -ENODEV. What it asked for without waiting is withdrawn, unless
 * others wait for that; also where a host is at work: its completion comes late. A request
 * for which allowed() was asked before may still enter afterwards.
 */
void ds_expand_gone(struct ds_expand *box, u32 requester);

/**
 * ds_expand_take - the host takes the next request
 * @box: mailbox
 * @job: filled if there is one
 *
 * Return: whether there is one.
 */
bool ds_expand_take(struct ds_expand *box, struct ds_expand_job *job);

/**
 * ds_expand_complete - the host has done a request
 * @box: mailbox
 * @job: taken
 * @ret: of produce()
 * @d: descriptor, if @ret is 0
 *
 * Stages, copies and tells. May request neighbours.
 *
 * Return: false if it came late, and nothing was done.
 */
bool ds_expand_complete(struct ds_expand *box, const struct ds_expand_job *job, int ret,
			const struct ds_token_desc *d);

/**
 * ds_expand_serve - the host's handler: take, produce, complete (001's host_handle_expand)
 * @box: mailbox
 * @budget: most requests
 *
 * Any number of hosts at once.
 *
 * Return: requests taken; fewer than @budget if no more wait.
 */
u32 ds_expand_serve(struct ds_expand *box, u32 budget);

/**
 * ds_expand_shut - its owner ends: let nobody wait
 * @box: mailbox
 *
 * All are told -ENODEV. Nothing is asked or taken any more; a host that has taken a request
 * may complete it. May be called again.
 */
void ds_expand_shut(struct ds_expand *box);

#endif /* DS_TOKENCACHE_EXPAND_H */
