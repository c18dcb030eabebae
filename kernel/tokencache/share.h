/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: L1 shared out among trust domains (document 001's partitions).
 *
 * A domain that has a share keeps the slots that its last @min tokens came to, whatever
 * others do, and has no more than @max: then its next one takes the place of its oldest that is
 * not pinned, and so it does when all others' slots have to stay. The other slots are everybody's.
 * Who came before the share was made is not counted, unless it was to leave and could not.
 *
 * Under the lock of the cache, but for ds_shares_prepare().
 */
#ifndef DS_TOKENCACHE_SHARE_H
#define DS_TOKENCACHE_SHARE_H

#include "token.h"

#define DS_SHARES	16u		/* domains that have one */
#define DS_SHARE_NONE	0xffffffffu	/* no slot, no domain */

/**
 * struct ds_share - a domain's; private
 * @domain: its number
 * @min: slots that it keeps
 * @max: slots that it may have
 * @used: those that it has
 * @held: of these it keeps
 * @first: oldest slot of those that it does not keep, and of those that it does
 * @last: newest, likewise; DS_SHARE_NONE if there is none
 */
struct ds_share {
	u32 domain;
	u32 min;
	u32 max;
	u32 used;
	u32 held;
	u32 first[2];
	u32 last[2];
};

/**
 * struct ds_share_slot - a slot of L1; private
 * @next: newer one of the same queue
 * @prev: older one
 * @share: whose it is, and one; 0: of none
 * @held: it is kept
 * @busy: its token is on its way
 * @pinned: it stays, and is in no queue
 */
struct ds_share_slot {
	u32 next;
	u32 prev;
	u8 share;
	bool held;
	bool busy;
	bool pinned;
};

/**
 * struct ds_shares - all of an L1; private
 * @slots: NULL while nobody has a share
 * @capacity: slots of L1
 * @kept: sum of what all keep
 * @count: of shares
 * @at: slot that ds_share_left_over() looks at next
 * @of: they
 */
struct ds_shares {
	struct ds_share_slot *slots;
	u32 capacity;
	u32 kept;
	u32 count;
	u32 at;
	struct ds_share of[DS_SHARES];
};

/**
 * ds_shares_prepare - there may be shares
 * @s: shares, with their @capacity; all else is 0
 *
 * May sleep; at any time, and several at a time.
 *
 * Return: 0 or -ENOMEM.
 */
int ds_shares_prepare(struct ds_shares *s);

/** ds_shares_destroy - nobody uses them any more */
void ds_shares_destroy(struct ds_shares *s);

/**
 * ds_share_set - give a domain a share, or another one
 * @s: shares
 * @domain: number of the domain
 * @min: slots that it keeps; all together at most half of L1
 * @max: slots that it may have, at least 1 and @min
 *
 * Who has come stays: see ds_share_release() and ds_share_surplus().
 * With 0 and all slots it has no share any more.
 *
 * Return: 0; -EINVAL, also before ds_shares_prepare(); -ENOSPC for one domain too many, or if
 * too much would be kept.
 */
int ds_share_set(struct ds_shares *s, u32 domain, u32 min, u32 max);

/**
 * ds_share_release - a domain that keeps more slots than it may keeps its oldest no more
 * @s: shares
 * @share: of the domain
 *
 * Return: slot, DS_SHARE_NONE if it does not.
 */
u32 ds_share_release(struct ds_shares *s, struct ds_share *share);

/**
 * ds_share_surplus - who of a domain is too many, as its share was made smaller
 * @s: shares
 * @share: of the domain
 *
 * Return: its oldest slot that it does not keep, DS_SHARE_NONE if it has not too many, or those
 * that were looked at, 8, are busy.
 */
u32 ds_share_surplus(const struct ds_shares *s, const struct ds_share *share);

/**
 * ds_share_left_over - a slot of a domain that has no share any more
 * @s: shares
 *
 * Looks at 64 slots, where it stopped the last time, if any can be such.
 *
 * Return: slot, which is no domain's from then on; DS_SHARE_NONE if none was found.
 */
u32 ds_share_left_over(struct ds_shares *s);

/** ds_share_renew - a slot that its domain does not keep, but has not left, is its newest */
void ds_share_renew(struct ds_shares *s, u32 slot);

/** ds_share_find - a domain's share; NULL if it has none, or none any more */
struct ds_share *ds_share_find(struct ds_shares *s, u32 domain);

/**
 * ds_share_at - one share after the other
 * @s: shares
 * @index: from 0
 * @share: result
 *
 * Return: false: there are not so many.
 */
bool ds_share_at(const struct ds_shares *s, u32 index, struct ds_share *share);

/**
 * ds_share_oldest - whose place a domain's next token takes
 * @s: shares
 * @share: of the domain
 *
 * Return: slot, DS_SHARE_NONE if all are pinned or those that were looked at, 8, are busy.
 */
u32 ds_share_oldest(const struct ds_shares *s, const struct ds_share *share);

/**
 * ds_share_enter - a slot is to be that of a domain's token, which is on its way
 * @s: shares
 * @slot: of L1
 * @share: of the domain; NULL: it has none
 *
 * Return: a slot of the domain that it does not keep any more, or DS_SHARE_NONE.
 */
u32 ds_share_enter(struct ds_shares *s, u32 slot, struct ds_share *share);

/** ds_share_leave - a slot is no longer a domain's; it may have been none's */
void ds_share_leave(struct ds_shares *s, u32 slot);

/** ds_share_arrived - the token of a slot is no longer on its way */
void ds_share_arrived(struct ds_shares *s, u32 slot);

/** ds_share_pin - the token of a slot has to stay, or no longer: then it is its domain's newest */
void ds_share_pin(struct ds_shares *s, u32 slot, bool pinned);

/** ds_share_keeps - is a slot kept, or its token on its way? */
bool ds_share_keeps(const struct ds_shares *s, u32 slot);

/**
 * ds_share_domain - the trust domain of a token: that of its protection domain
 * @t: table
 * @token: any number
 *
 * Return: the number; DS_SHARE_NONE if it has none, or is wide and cannot be used once more.
 */
u32 ds_share_domain(struct ds_token_table *t, u32 token);

#endif /* DS_TOKENCACHE_SHARE_H */
