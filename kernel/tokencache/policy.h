/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: which tokens are in L1, and which of them goes when another comes.
 *
 * The directory says where a token is, so any token may be in any slot of L1: a
 * policy is told of hits and misses by slot and key, and picks slots. It keeps
 *
 *	slots	key, next slot of its queue, uses and last use		8 bytes each
 *	queues	staging, and main in lists by epoch of last use (policy_queue.h)
 *	ghost	keys that left, with the epoch of their last use	4 bytes a slot
 *	recency	how LRU would do, of the whole cache			84 bytes
 *	shadow	small caches that try the rules on a sample		5 bytes a slot of
 *		64, 1.6 of 1024, fewer of more
 *
 * and from 512 slots on 14 bytes a slot in all: in a small L1 the ghost gets less.
 *
 * A hit is one store to its slot, none if nothing changes, a note to the shadow if the
 * key is in its sample, and a count if LRU would have missed; two stores in the modes of
 * document 001. No lock, any context. Queues are put right when something has to go: what
 * was used meanwhile goes on from the head to where it belongs. A coming token goes to
 * staging, or to main if it was there a short time ago; the rule says how short, and who
 * leaves:
 *
 *  FIFO		there is only main: who came first leaves.
 *  TWICE	there is only main: who was used again leaves, or was used and left and
 *		came back; who came first if none of a few is such.
 *  LRU		there is only main: who was not used for most epochs leaves.
 *  S3FIFO	staging is 18 %: who was used twice there, or comes back within an
 *		epoch or ten, goes to main, where each use is worth one more round:
 *		LFU, oldest first, and ageing.
 *  S3FIFO_SHORT	the same with 2.5 % and four epochs.
 *  LIRS	main keeps who is used at the shortest distances: one that comes back
 *		after a shorter time than main's oldest was not used takes its place.
 *		Staging is 2 to 10 %, more while uses happen there.
 *  SIEVE	the hand goes through staging: who was used goes to main, who was not leaves. When
 *		it has come to the end, all of main is staging, in the same order.
 *
 * The shadow decides which rule is in use (shadow.h), and the whole cache may say that it is LRU
 * (recency.h). Until all slots were used nobody has to leave and all rules do the same; which one
 * is in use then follows from when tokens were used meanwhile (policy_first.h). An epoch is a sixth
 * of the capacity in misses, for LRU a ninth, as nothing else tells it who leaves; for FIFO, TWICE
 * and LRU also a twelfth of it in hits without a miss, as after a long run of hits their order is
 * all that is known. Nothing is to be tuned.
 *
 * The rules of document 001 are modes of their own (policy_001.h): they need nothing
 * of this but slots.
 *
 * All calls but ds_policy_hit() are made under one lock of the caller, and take a
 * bounded time that does not depend on the capacity.
 */
#ifndef DS_TOKENCACHE_POLICY_H
#define DS_TOKENCACHE_POLICY_H

#include "ghost.h"
#include "policy_001.h"
#include "recency.h"
#include "sample.h"
#include "shadow.h"

#define DS_POLICY_NONE		0xffffffffu
#define DS_POLICY_KEYS		0x400000u	/* keys are below */
#define DS_POLICY_CAPACITY_MIN	16
#define DS_POLICY_CAPACITY_MAX	DS_POLICY_KEYS
#define DS_POLICY_EPOCHS_PER_CAPACITY 6	/* in as many misses as there are slots */
#define DS_POLICY_HITS		64u	/* that are noted until the next miss */

#define DS_POLICY_USES		7	/* of @heat */
#define DS_POLICY_NO_HEAT	0x100
#define DS_SLOT_USED		0x4000	/* in @key_high */
#define DS_SLOT_PINNED		0x8000
#define DS_SLOT_MAIN		0x80000000u	/* in @link: it belongs to main, not staging */
#define DS_SLOT_SAMPLED		0x40000000u	/* the shadow or trials want to hear of its hits */
#define DS_SLOT_HEIR		0x20000000u	/* it stands where its last owner stood */
#define DS_SLOT_COMING		0x10000000u	/* on its way: pinned, not counted so */
#define DS_SLOT_NEXT		0x003fffffu

enum ds_policy_mode {
	DS_POLICY_DEFAULT,
	DS_POLICY_LITERAL_001,
	DS_POLICY_ADAPTIVE_001,
	DS_POLICY_MODES
};

/**
 * struct ds_policy_slot - what is known of a slot of L1
 * @heat: last use, epoch % 32 << 3, and uses since it was queued, to 7; literal-001
 *	and adaptive-001: uses, to 255, halved now and then
 * @key_low: 8 bits of the key
 * @key_high: 14 bits of the key and DS_SLOT_*
 * @link: the next of its queue and DS_SLOT_*; literal-001 and adaptive-001: when it was
 *	last used, in units of 1024 ns, and DS_SLOT_SAMPLED
 */
struct ds_policy_slot {
	u8 heat;
	u8 key_low;
	u16 key_high;
	u32 link;
};

/**
 * struct ds_policy - the policy of one L1
 * @slots: of L1
 * @base: of literal-001 and adaptive-001, else NULL; of what is below @pinned only
 *	@sampled and the hits are used then
 * @capacity: slots
 * @hottest: heat of a slot of which a hit changes nothing: it was used in this epoch, and often;
 *	ahead of it in a long run of hits; DS_POLICY_NO_HEAT with @base
 * @rule: enum ds_rule
 * @fresh: slots from here on were never used
 * @forgotten: slots that were, and are not
 * @cursor: where to look for one, or, under TWICE, for one that was used again
 * @pinned: slots; by default without those of tokens on their way, which @staged and @kept
 *	have
 * @epoch: now
 * @epochs_of_runs: of these, those that the ghost does not count, as nobody left meanwhile
 * @misses: in this epoch
 * @run: so many noted hits without a miss are an epoch, too; DS_POLICY_NONE: never
 * @staged: slots that belong to staging, but for pinned ones, who would leave it no room
 * @kept: those that belong to main, likewise
 * @window: how many may be in staging
 * @share: the same for LIRS, in 1/1024 of the capacity
 * @left: went from the head of staging lately
 * @left_used: of these were used in it
 * @staging: last of the queue, DS_POLICY_NONE if it is empty; the last one's next is the first
 * @aside: likewise; pinned ones that were met in a queue, who go back after they were unpinned
 * @main: likewise, by epoch of last use
 * @hits: of slots with DS_SLOT_SAMPLED, by ds_shadow_print()
 * @hits_001: with @base, in place of these two: by slot
 * @filled: which lists of main are not empty, by bit
 * @ghost: keys that left
 * @shadow: the contest of the rules
 * @recency: what the whole cache says about one of them
 * @sampled: keys whose hash is below are in its sample; 0: none ever
 * @in_sample: slots whose keys were when they came
 * @hits_head: counts hits of such
 * @hits_tail: counts those that the shadow, or trials, heard of
 * @coming: as many tokens were on their way at once, lately
 */
struct ds_policy {
	struct ds_policy_slot *slots;
	struct ds_policy_001 *base;
	u32 capacity;
	u16 hottest;
	u8 rule;
	u32 fresh;
	u32 forgotten;
	u32 cursor;
	u32 pinned;

	u32 epoch;
	u32 epochs_of_runs;
	u32 misses;
	u32 run;
	u32 staged;
	u32 kept;
	u32 window;
	u32 share;
	u32 left;
	u32 left_used;
	u32 staging;
	u32 aside;
	union {
		struct {
			u32 main[DS_EPOCHS];
			u16 hits[DS_POLICY_HITS];
		};
		u32 hits_001[DS_POLICY_HITS];
	};
	u32 filled;
	struct ds_ghost ghost;
	struct ds_shadow shadow;
	struct ds_recency recency;
	u32 sampled;
	u32 in_sample;
	u32 hits_head;
	u32 hits_tail;
	u32 coming;
};

/**
 * ds_policy_init - nothing is in L1
 * @p: filled, for ds_policy_destroy()
 * @capacity: slots, DS_POLICY_CAPACITY_MIN to DS_POLICY_CAPACITY_MAX
 * @mode: enum ds_policy_mode
 *
 * Return: 0, -EINVAL, -ENOMEM
 */
int ds_policy_init(struct ds_policy *p, u32 capacity, u32 mode);
void ds_policy_destroy(struct ds_policy *p);

/**
 * ds_policy_miss - a token that is not in L1 is used: where in L1 does it go?
 * @p: the policy
 * @key: of the token, below DS_POLICY_KEYS
 * @tier: where it is: 2 or 3
 * @victim: set to the key that must leave the slot first, or DS_POLICY_NONE
 *
 * The slot is the token's at once. If it does not come into L1 after all, call
 * ds_policy_forget().
 *
 * Return: the slot, or DS_POLICY_NONE if it is not to come in: all slots are pinned, or so
 *	many in a row that one that is not was not found now; below the threshold of
 *	literal-001 or adaptive-001; no key
 */
u32 ds_policy_miss(struct ds_policy *p, u32 key, u32 tier, u32 *victim);

/**
 * ds_policy_forget - a slot's token is no longer in L1
 * @p: the policy
 * @slot: of L1; if it is pinned, it no longer is
 *
 * Return: 0; -EINVAL: there is no token in it
 */
int ds_policy_forget(struct ds_policy *p, u32 slot);

/**
 * ds_policy_rekey - a slot's token is another one
 * @p: the policy
 * @slot: of L1, in use
 * @key: of the other one, below DS_POLICY_KEYS, which stands where the one before stood; by
 *	default it was not used again yet, in the modes of document 001 as often as that one
 */
void ds_policy_rekey(struct ds_policy *p, u32 slot, u32 key);

/**
 * ds_policy_pin - a slot's token stays, or no longer has to
 * @p: the policy
 * @slot: of L1
 * @pinned: it stays
 *
 * Return: 0, also if that was so; -EINVAL: there is no token in it
 */
int ds_policy_pin(struct ds_policy *p, u32 slot, bool pinned);

/**
 * ds_policy_promise - a slot's token is on its way, and the slot is its own until it is there
 * @p: the policy
 * @slot: of L1, in use
 * @coming: tokens that are, this one included
 *
 * It is pinned until the next ds_policy_pin(). By default it has a place in staging or main as if
 * it had come at once, and staging is larger by as many as there are beside it: how many they are
 * changes with each miss, so the most of lately counts. What room there were now and then, a rule
 * would fill with tokens that it would not have chosen.
 */
void ds_policy_promise(struct ds_policy *p, u32 slot, u32 coming);

/* Bytes of all that the policy keeps, itself included. */
u64 ds_policy_bytes(const struct ds_policy *p);

/* How many uses there had been when the last ageing interval ended; 0 without such. */
static inline u64 ds_policy_aged_at(const struct ds_policy *p)
{
	return p->base ? p->base->uses : 0;
}

/* Whose a slot is; it is in use. Without the lock it may be neither the one before nor the next. */
static inline u32 ds_policy_key(const struct ds_policy *p, u32 slot)
{
	const struct ds_policy_slot *s = &p->slots[slot];

	return (u32)(READ_ONCE(s->key_high) & (DS_SLOT_USED - 1)) << 8 | READ_ONCE(s->key_low);
}

/* Hits since the last miss. A late store may have set @hits_head back, to below @hits_tail. */
static inline u32 ds_policy_noted(const struct ds_policy *p, u32 head)
{
	u32 hits = head - READ_ONCE(p->hits_tail);

	return (s32)hits < 0 ? 0 : hits;
}

/* The shadow hears of a hit with the next miss, unless too many come before. No lock. */
void ds_policy_note(struct ds_policy *p, u32 slot);

/*
 * Epochs that the last use is ago. Hits of a long run are of epochs that begin when it ends: who
 * was used in it was used now.
 */
static inline u32 ds_policy_since_use(const struct ds_policy *p, u8 heat)
{
	u32 hottest = READ_ONCE(p->hottest) >> 3;
	u32 ahead = ds_epochs_since(READ_ONCE(p->epoch), hottest);
	u32 idle = ds_epochs_since(heat >> 3, hottest);

	return idle > ahead ? idle - ahead : 0;
}

/* A hit of a slot that may be hotter. */
static inline void ds_policy_heat(struct ds_policy *p, struct ds_policy_slot *s, u8 heat)
{
	u32 sampled = READ_ONCE(s->link) & DS_SLOT_SAMPLED;
	u8 uses = heat & DS_POLICY_USES;

	if (p->base) {
		WRITE_ONCE(s->link, sampled | READ_ONCE(p->base->now));
		if (heat != 0xff)
			WRITE_ONCE(s->heat, heat + 1);
	} else {
		ds_recency_hit(&p->recency, ds_policy_since_use(p, heat));
		uses += uses < DS_POLICY_USES;
		WRITE_ONCE(s->heat, (READ_ONCE(p->hottest) & ~DS_POLICY_USES) | uses);
	}
}

/**
 * ds_policy_hit - a token is used in L1
 * @p: the policy
 * @slot: of L1, below its capacity; its token may be another one meanwhile
 *
 * Without a lock, in any context. Two at a time may count as one, and one that comes late counts
 * for the slot's next token.
 */
static inline void ds_policy_hit(struct ds_policy *p, u32 slot)
{
	struct ds_policy_slot *s = &p->slots[slot];
	u32 link = READ_ONCE(s->link);
	u8 heat = READ_ONCE(s->heat);

	if (heat != READ_ONCE(p->hottest))
		ds_policy_heat(p, s, heat);
	if (link & DS_SLOT_SAMPLED)
		ds_policy_note(p, slot);
}

/* ---- for the files of the policy ---- */

static inline u64 ds_policy_hash(u32 key)
{
	u64 h = (key + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;

	h = (h ^ h >> 29) * 0x94d049bb133111ebull;
	return h ^ h >> 32;
}

/* A slot that ds_policy_forget() left, or DS_POLICY_NONE if none was found now. */
u32 ds_policy_forgotten(struct ds_policy *p);

static inline bool ds_policy_is_sampled(const struct ds_policy *p, u64 hash)
{
	return ds_sample_has(p->sampled, hash);
}

#endif /* DS_TOKENCACHE_POLICY_H */
