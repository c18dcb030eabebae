/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: which rule of replacement would do best? Small caches find out.
 *
 * For each rule there is a miniature of the cache that holds no values. It sees
 * only the keys of a sample that is as much smaller as it is itself, chosen by hash:
 * so it hits about as often as the whole would under this rule (Waldspurger and
 * others, 2017). All see the same keys, so their difference is known much better than
 * their hit ratios. As many keys of the cache as a miniature has entries should be in the sample;
 * the caller sees to that.
 *
 *  FIFO		what came first leaves: best if the last use comes soon
 *  TWICE	what was used again leaves, else what came first: best if nothing is
 *			used more often than that
 *  LRU		what was not used for longest leaves
 *  S3FIFO		what was used twice in a short queue, or comes back soon after
 *			it, goes to a long one (Yang and others, 2023)
 *  S3FIFO_SHORT	the same with a very short queue, for a skew that lasts
 *  LIRS		what comes back sooner than the longest unused one of those
 *			that are kept takes its place (Jiang and Zhang, 2002)
 *  SIEVE		a hand goes round, from the oldest to the newest: what was not used since
 *			it last came by leaves (Zhang and others, 2024)
 *
 * A rule replaces the one in use if it hit more often by 3 and by more than chance:
 * by two square roots of the accesses where both differed; in the first sixteen judgements, while
 * the miniatures fill and say little, by the root of 7 times as many. Older accesses
 * count less: half after 14 times as many samples as a miniature has entries. So
 * rules that are nearly as good do not take turns. No rule is ahead by more than a
 * quarter of as many accesses as a miniature has entries, so that it loses its lead
 * soon when the load changes. But in a loop rules hit in turn, each in its part of the
 * loop, however good they are: each change of the rule doubles that lead, up to 16
 * times; it is halved again when there was none for 64 judgements.
 *
 * Where each key is used again after a while, and then no more, FIFO may hit for ever, or
 * miss for ever: who comes back too late takes a place again, so that others come back too
 * late. Its miniature may do the one and the cache the other. TWICE, which knows who comes back,
 * gets out of that; FIFO does not follow it before it had eight judgements to do so.
 *
 * A miniature may be wrong. The sample of a loop that is a little longer than the cache
 * may be shorter than a miniature: then all of these hit always, and the cache may
 * never. So it is told how the cache itself did. What the miniature of the rule in use
 * hit more often than the cache, if it is five standard deviations, counts for the
 * other rules, and what is known of all is forgotten when one of them takes its place.
 * What the cache hit more often, because its working set fits and the sample does not fit
 * into the miniature, counts for the rule in use; beyond the lead that a rule may have, so
 * such a rule is left late if the working set fits no more.
 * Of those that are equal LIRS is taken, which does least harm, and is left only for
 * one whose miniature hits more often. SIEVE is the best of all for some mixtures and does harm
 * where chance chose it: it has to lead each of the others, by three square roots.
 *
 * An entry is 14 bits of a key's hash and 2 of what it is. Searches are linear, which
 * is cheap as there are at most DS_SHADOW_MAX and few accesses are in the sample.
 * Not thread safe.
 */
#ifndef DS_TOKENCACHE_SHADOW_H
#define DS_TOKENCACHE_SHADOW_H

#include "../shim.h"

#define DS_SHADOW_MAX		256u	/* entries of a miniature */
#define DS_SHADOW_MIN		8u
#define DS_SHADOW_PRINT_BITS	14	/* of a key's hash */
#define DS_SHADOW_SHARE_ONE	1024u
#define DS_SHADOW_SHARE_MAX	102u

enum ds_rule {
	DS_RULE_FIFO,
	DS_RULE_TWICE,
	DS_RULE_LRU,
	DS_RULE_S3FIFO,
	DS_RULE_S3FIFO_SHORT,
	DS_RULE_LIRS,
	DS_RULE_SIEVE,
	DS_RULES
};

/* All are in one queue. */
static inline bool ds_rule_is_plain(u32 rule)
{
	return rule == DS_RULE_FIFO || rule == DS_RULE_TWICE || rule == DS_RULE_LRU;
}

#define DS_SHADOW_PAIRS		(DS_RULES * (DS_RULES - 1) / 2)

enum ds_shadow_list {
	DS_SHADOW_CAME,			/* of FIFO; the oldest is first, as in all */
	DS_SHADOW_ONCE,			/* of TWICE: not used again yet */
	DS_SHADOW_RECENT,		/* of LRU */
	DS_SHADOW_STAGING,		/* of S3FIFO, as the two below */
	DS_SHADOW_MAIN,
	DS_SHADOW_GHOST,
	DS_SHADOW_SHORT_STAGING,	/* of S3FIFO_SHORT, in the same order */
	DS_SHADOW_SHORT_MAIN,
	DS_SHADOW_SHORT_GHOST,
	DS_SHADOW_STACK,		/* of LIRS: by last use; residents and others */
	DS_SHADOW_GUESTS,		/* of LIRS: residents that are not kept */
	DS_SHADOW_SIEVED,		/* of SIEVE */
	DS_SHADOW_LISTS
};

/**
 * struct ds_shadow - miniatures of one cache
 * @lists: where behind @apart each begins, and how many are in it
 * @size: entries of a miniature
 * @kept: of LIRS, in the stack
 * @guests: of LIRS, when it is full
 * @hand: of SIEVE, who is looked at next
 * @samples: since the last judgement
 * @over: hits of the miniature of the rule in use where the cache missed, 64 for one;
 *	older ones count less
 * @under: misses where the cache hit, likewise
 * @changes: of the rule lately, which double the lead that one may have
 * @steady: judgements since the last one
 * @judged: how often so far, until it does not matter any more
 * @waited: TWICE was better than LIRS at the last judgement, which is in use nevertheless
 * @hits: of each rule, 64 for one; older ones count less. First in the memory of all
 * @apart: accesses where two of them differed, likewise, by pair
 */
struct ds_shadow {
	struct {
		u16 first;
		u16 count;
	} lists[DS_SHADOW_LISTS];
	u16 size;
	u16 kept;
	u16 guests;
	u16 hand;
	u16 samples;
	u8 changes;
	u8 steady;
	u8 judged;
	bool waited;
	u32 over;
	u32 under;
	u32 *hits;
	u32 *apart;
};

/**
 * ds_shadow_init - empty miniatures
 * @s: filled, for ds_shadow_destroy()
 * @size: entries of each, DS_SHADOW_MIN to DS_SHADOW_MAX
 * @share: see ds_shadow_set_guests()
 *
 * Return: 0, -ENOMEM
 */
int ds_shadow_init(struct ds_shadow *s, u32 size, u32 share);

void ds_shadow_destroy(struct ds_shadow *s);

/* What a miniature knows of a key, whose hash is good in all of its bits. */
static inline u16 ds_shadow_print(u64 hash)
{
	return (u16)((u32)hash >> (32 - DS_SHADOW_PRINT_BITS));
}

/**
 * ds_shadow_access - a key of the sample is used
 * @s: the miniatures
 * @print: of the key
 * @rule: in use
 * @hit: what the cache itself did
 *
 * Return: the rule to use
 */
enum ds_rule ds_shadow_access(struct ds_shadow *s, u32 print, enum ds_rule rule, bool hit);

/* From here on it is asked; which rules were in use, and how they did, was not its choice. */
void ds_shadow_begin(struct ds_shadow *s);

/* Whether a rule's miniature leads the one of the rule in use, perhaps by chance. */
bool ds_shadow_agrees(const struct ds_shadow *s, enum ds_rule in_use, enum ds_rule rule);

/* LIRS does not keep so many of DS_SHADOW_SHARE_ONE, at most DS_SHADOW_SHARE_MAX. */
void ds_shadow_set_guests(struct ds_shadow *s, u32 share);

/* Bytes that miniatures of this size take. */
u64 ds_shadow_bytes(u32 size);

#endif /* DS_TOKENCACHE_SHADOW_H */
