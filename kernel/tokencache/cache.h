/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: the token cache: a table of tokens, L1, the policy that says who is in it, and L2, if
 * there is one.
 *
 * A hit takes no lock: it reads the token's word and its slot, and stores to what the
 * policy knows of the slot. After a miss the caller says so, which moves tokens:
 *
 *	L2's victim	home, if L1's victim or the token needs its slot
 *	L1's victim	to L2; home, if there is none or it has no room
 *	the token	to L1, if the policy wants it there; else to L2
 *
 * With the modes of document 001 the token comes to L2 only when it was used
 * PROMOTE_TO_L2_THRESHOLD times lately. ds_cache_tick() sends on who was idle for too long.
 */
#ifndef DS_TOKENCACHE_CACHE_H
#define DS_TOKENCACHE_CACHE_H

#include "move.h"
#include "policy.h"
#include "share.h"
#include "tick.h"

#define DS_CACHE_MOVES	3	/* of a miss */

/**
 * struct ds_cache_move - a token that is moved
 * @move: says which token, and where it goes
 * @from: tier in which it was
 * @bytes: of it that are copied
 * @page: of L2, which it leaves or comes to; DS_L2_NONE for a move between L1 and home
 * @slot: that it leaves, in the tier @from
 * @begun: as ds_policy_adapt_begins() says
 * @ret: -EINPROGRESS; once the change has ended 0, or why it was not moved
 */
struct ds_cache_move {
	struct ds_move move;
	u32 from;
	u32 bytes;
	u32 page;
	u32 slot;
	u32 begun;
	int ret;
};

/**
 * struct ds_cache_change - what a miss changes
 * @moves: one after the other: the token itself comes last
 * @count: how many
 */
struct ds_cache_change {
	struct ds_cache_move moves[DS_CACHE_MOVES];
	u32 count;
};

/**
 * struct ds_cache - a token cache; private
 * @table: tokens, L1 and L2
 * @policy: who is in L1; calls but those of hits are under @lock
 * @shares: of trust domains in L1
 * @coming: slots of L1 that are promised to tokens on their way
 * @pins: tokens that are pinned in L1
 * @pins_max: how many may be
 * @allowed: may a token be in tier 1 or 2? NULL: each may
 * @lock: the caller's contexts must not interrupt each other while they hold it; who waits
 *	for a token may be told within it
 */
struct ds_cache {
	struct ds_token_table table;
	struct ds_policy policy;
	struct ds_shares shares;
	u32 coming;
	u32 pins;
	u32 pins_max;
	bool (*allowed)(const struct ds_cache *c, u32 token, u32 tier);
	ds_spin_t lock;
};

/* May a token be in tier 1 or 2, and is there that tier? Context: any. */
static inline bool ds_cache_allows(const struct ds_cache *c, u32 token, u32 tier)
{
	if (tier == 2 && !c->table.l2.pages)
		return false;
	return !c->allowed || c->allowed(c, token, tier);
}

/* Who chooses hears of a use in a tier, 1 to 3. Any context, takes no lock. */
static inline void ds_cache_hit(struct ds_cache *c, u32 tier, u32 slot)
{
	if (tier == 1)
		ds_policy_hit(&c->policy, slot);
	else if (tier == 2)
		ds_l2_hit(&c->table.l2, slot);
}

/**
 * ds_cache_init - begin an empty cache
 * @c: cache
 * @limit: most tokens, 1 to 2^22
 * @capacity: slots of L1 (document 001's L1_CAPACITY), DS_POLICY_CAPACITY_MIN to
 *	DS_L1_MAX
 * @mode: enum ds_policy_mode
 * @l2_pages: of L2, to DS_L2_PAGES_MAX; 0 for none
 * @l2_node: NUMA node of these, or DS_L2_ANYWHERE
 *
 * All of L1 may be pinned, until the caller says otherwise by @c->pins_max.
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int ds_cache_init(struct ds_cache *c, u32 limit, u32 capacity, u32 mode, u32 l2_pages,
		  int l2_node);

/**
 * ds_cache_destroy - end a cache that nobody uses any more
 * @c: cache
 *
 * Return: number of tokens that were not freed.
 */
u32 ds_cache_destroy(struct ds_cache *c);

/**
 * ds_cache_look - what a token says, without a use
 * @c: cache
 * @token: any number; of an object that the caller keeps
 * @p: its packed form, of use on success only; a wide one's description is the table's
 *
 * Any context, takes no lock.
 *
 * Return: the tier where it was found, 1 to 3; -ESTALE, -EBADF or -EAGAIN.
 */
int ds_cache_look(struct ds_cache *c, u32 token, struct ds_token_pack *p);

/**
 * ds_cache_touch - a use of which only is to be known where the token is
 * @c: cache
 * @token: any number
 *
 * Who chooses hears of it as with ds_cache_look(). Any context, takes no lock.
 *
 * Return: the tier, 1 to 3; -ESTALE or -EBADF.
 */
int ds_cache_touch(struct ds_cache *c, u32 token);

/**
 * ds_cache_miss - a token was used that is not in L1
 * @c: cache
 * @token: any number
 *
 * Takes the lock. Is ds_cache_miss_begin() and ds_change_end().
 *
 * Return: 0 if it is in L1 now; -ENOSPC if it is not wanted there, though it may be in L2
 * now; -ESTALE or -EBADF; -EEXIST, -EBUSY, -EPERM, -EOVERFLOW or -EAGAIN as
 * ds_move_begin(), for it or for whom it was to replace.
 */
int ds_cache_miss(struct ds_cache *c, u32 token);

/**
 * ds_cache_used - a token was used more often than ds_cache_miss() is called for it
 * @c: cache
 * @token: any number; it was not in L1
 * @uses: beside that one
 *
 * Takes the lock. The policies of document 001 count uses; the default one needs no count.
 */
void ds_cache_used(struct ds_cache *c, u32 token, u32 uses);

/**
 * ds_cache_miss_begin - the first half of a miss: who moves?
 * @c: cache
 * @token: any number
 * @ch: result, written on success only: tokens on their way
 *
 * Takes the lock. These tokens, and the slots that they leave and come to, have no part in
 * other changes until ds_change_end(), which the caller calls under the lock. Tokens are read and
 * written where they were, or wait, as ds_token_table.blocking says.
 *
 * Return: 0 if there is something to be ended; else as ds_cache_miss().
 */
int ds_cache_miss_begin(struct ds_cache *c, u32 token, struct ds_cache_change *ch);

/**
 * ds_cache_stage - bring a token to L2, as somebody wants it soon
 * @c: cache
 * @token: any number
 *
 * Takes the lock. Who has to leave L2 for it is sent home.
 *
 * Return: 0, also if it is in L2 or L1; -ENOSPC if L2 has no room, or there is none; -ESTALE
 * or -EBADF; -EBUSY, -EPERM, -EOVERFLOW or -EAGAIN as ds_move_begin().
 */
int ds_cache_stage(struct ds_cache *c, u32 token);

/**
 * ds_cache_tick - time has passed
 * @c: cache
 * @now: in ns, monotonic
 * @uses: of tokens, in all, and
 * @load: of what, as ds_policy_tick()
 * @budget: how often to look at DS_TICK_LOOK slots of L1 and at as many of L2, of each of which
 *	at most one is left, and at each domain's share, likewise; 0: nothing happens
 *
 * Takes the lock, again each of these times. Lets counts age. Sends to L2 whom the modes of
 * document 001 call idle in L1 and who is too many for his domain's share, and home who was
 * idle in L2 while there is no room.
 *
 * Return: number of tokens that were moved.
 */
u32 ds_cache_tick(struct ds_cache *c, u64 now, u64 uses, const struct ds_policy_load *load,
		  u32 budget);

/**
 * ds_cache_pin - a token stays in the tier where it is, or no longer has to
 * @c: cache
 * @token: any number
 * @pinned: it stays
 *
 * Takes the lock.
 *
 * Return: 0, also if that was so; -ESTALE or -EBADF; -EBUSY if it is on its way; -EDQUOT if as
 * many are pinned in L1 as may be; -EAGAIN when it is written to for long.
 */
int ds_cache_pin(struct ds_cache *c, u32 token, bool pinned);

/**
 * ds_cache_partition - give a trust domain a share of L1, or another one
 * @c: cache, of whose @shares ds_shares_prepare() has returned 0
 * @domain: number of the domain
 * @min: slots that it keeps, once it has had them; of all domains at most half of L1
 * @max: slots that it may have, at least 1 and @min
 *
 * What it has too much then leaves with the next steps of ds_cache_tick(), the oldest first.
 * With 0 and all slots it has no share any more.
 * Takes the lock.
 *
 * Return: 0; -EINVAL; -ENOSPC for more than DS_SHARES domains, or if too much would be kept.
 */
int ds_cache_partition(struct ds_cache *c, u32 domain, u32 min, u32 max);

/**
 * ds_cache_share - the shares of L1, one after the other
 * @c: cache
 * @index: from 0
 * @share: result
 *
 * Takes the lock. Shares that come and go meanwhile may be missed or met twice.
 *
 * Return: false: there are not so many.
 */
bool ds_cache_share(struct ds_cache *c, u32 index, struct ds_share *share);

#endif /* DS_TOKENCACHE_CACHE_H */
