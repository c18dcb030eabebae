/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: L2, the middle tier of the token cache (document 001): pages in memory that may be
 * of another kind than the host's, such as that of a CXL device.
 *
 * A token's slot is its page and its slot in the page. Tokens whose first words have the same
 * high half, which neighbours have (pack.h), are a *bucket*. A page belongs to a bucket, says
 * its high half once, and has 16 bytes a slot for the rest: handle, low half, second word.
 * What has few neighbours goes to *mixed* pages, in which the high halves are behind the
 * slots; the first page always is one, so that there is a place for any token. A page that
 * has become empty is given to whoever needs one.
 *
 * A reader copies a slot without a lock. A page counts its fillings, and a slot's handle is
 * 0 while it is filled or nobody's: what was copied is of one filling, and of the token that
 * was asked for, if both were the same before and after.
 *
 * Who leaves was not used for longest of a few slots, on to which a page's hand goes: that comes
 * near to LRU wherever a token lies, and tokens change places whenever one goes up to L1 and
 * another comes down. A use is the store of a byte, of when it was, by a clock that counts who has
 * left the page. For one of a bucket that has a page somebody of that leaves, or of a mixed
 * page, in proportion.
 *
 * All calls but those of reading, filling and hits are made under one lock of the caller,
 * and take a bounded time that does not depend on the number of pages.
 */
#ifndef DS_TOKENCACHE_L2_H
#define DS_TOKENCACHE_L2_H

#include "pack.h"

#define DS_L2_PAGES_MAX		2048u
#define DS_L2_PAGE_BYTES	16384u
#define DS_L2_PAGE_SLOTS	946u	/* of a bucket's page */
#define DS_L2_MIXED_SLOTS	756u
#define DS_L2_SLOT_BITS		10
#define DS_L2_MAP_WORDS		((DS_L2_PAGE_SLOTS + 63) / 64)
#define DS_L2_NONE		0xffffffffu
#define DS_L2_ANYWHERE		(-1)	/* no node in particular */

/* In @recent: used since ds_l2_idle() came by, and the time of the last use. */
#define DS_L2_AWAKE		0x80u
#define DS_L2_TIMES		0x80u
#define DS_L2_TICK		16u	/* of a page's clock, to the next time */

/**
 * struct ds_l2_slot - a token in L2
 * @token: handle; 0: nobody's, or being filled
 * @low: half of the first word
 * @hot: second word
 */
struct ds_l2_slot {
	u32 token;
	u32 low;
	u64 hot;
};

/**
 * struct ds_l2_page - a page (document 001's CompressedPageHdr and what follows it)
 * @id: number of the page
 * @filled: number of times that one of its slots was filled
 * @used: slots that are somebody's
 * @base: high half of the first words of its tokens, unless it is mixed
 * @mixed: each slot has a high half of its own
 * @chain: that of its bucket, of mixed or of empty pages
 * @next: page in that chain; that of the last one is the first
 * @prev: likewise the other way round
 * @hand: slot to look at next when somebody has to leave
 * @clock: how many had to
 * @swept: when ds_l2_idle() had come by
 * @taken: slots that are somebody's, by bit
 * @kept: slots that nobody has to leave, by bit
 * @recent: ds_l2_now() of the last use, by slot
 * @slots: they
 * @high: in a mixed page, by slot
 */
struct ds_l2_page {
	u64 id;
	u64 filled;
	u32 used;
	u32 base;
	u32 mixed;
	u32 chain;
	u32 next;
	u32 prev;
	u32 hand;
	u32 clock;
	u64 swept;
	u64 taken[DS_L2_MAP_WORDS];
	u64 kept[DS_L2_MAP_WORDS];
	u8 recent[(DS_L2_PAGE_SLOTS + 7) / 8 * 8];
	union {
		struct ds_l2_slot slots[DS_L2_PAGE_SLOTS];
		struct {
			struct ds_l2_slot mixed_slots[DS_L2_MIXED_SLOTS];
			u32 high[DS_L2_MIXED_SLOTS];
		};
	};
};

static_assert(sizeof(struct ds_l2_page) == DS_L2_PAGE_BYTES, "no byte more");
static_assert(DS_L2_PAGES_MAX << DS_L2_SLOT_BITS == 0x200000,
	      "a slot has room in a word beside DS_FROM_L2");
static_assert(DS_L2_PAGE_SLOTS <= 1u << DS_L2_SLOT_BITS, "a slot's number has room");
static_assert(DS_L2_TICK * DS_L2_TIMES >= 2 * DS_L2_PAGE_SLOTS,
	      "whose turn it was to leave has left before its time comes again");

/**
 * struct ds_l2 - the tier
 * @pages: they; NULL without one
 * @nr_pages: how many
 * @heads: first page of each chain, DS_L2_NONE if it is empty: a bucket's, by hash, then that of
 *	mixed and that of empty pages. Those that have room come first
 * @crowd: tokens of a bucket that are in mixed pages, by hash
 * @bits: of such a hash
 * @used: slots that are somebody's
 * @nr_mixed: pages that are mixed
 * @turn: times that somebody left since a mixed page's turn, by @nr_mixed
 * @at: slot to which ds_l2_idle() has come
 * @crowded: somebody found no page, and there has been no room for anybody since
 * @left: called when the token of a slot was revoked, in the revoker's context; NULL if
 *	nobody wants to know
 */
struct ds_l2 {
	struct ds_l2_page *pages;
	u32 nr_pages;
	u32 *heads;
	u32 *crowd;
	u32 bits;
	u32 used;
	u32 nr_mixed;
	u32 turn;
	u32 at;
	bool crowded;
	void (*left)(struct ds_l2 *l2, u32 slot, u32 token);
};

/**
 * ds_l2_init - make an empty tier
 * @l2: tier
 * @nr_pages: 1 to DS_L2_PAGES_MAX
 * @node: number of the NUMA node where the pages are to be, or DS_L2_ANYWHERE; in user space
 *	it means nothing
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int ds_l2_init(struct ds_l2 *l2, u32 nr_pages, int node);

/** ds_l2_destroy - free the pages; nobody reads any more */
void ds_l2_destroy(struct ds_l2 *l2);

/**
 * ds_l2_take - a slot for a token
 * @l2: tier
 * @fixed: first word of the token
 *
 * It is kept until ds_l2_keep() says otherwise.
 *
 * Return: the slot; DS_L2_NONE if somebody has to leave first.
 */
u32 ds_l2_take(struct ds_l2 *l2, u64 fixed);

/**
 * ds_l2_victim - who has to leave for a token
 * @l2: tier
 * @fixed: first word of a token for which ds_l2_take() has no slot
 *
 * Return: a slot that is somebody's and not kept, and will do for the token: that of 16 which was
 * not used for longest. DS_L2_NONE if all that were looked at, 64, are kept.
 */
u32 ds_l2_victim(struct ds_l2 *l2, u64 fixed);

/**
 * ds_l2_renew - a slot has passed from one token to another
 * @l2: tier
 * @slot: of ds_l2_victim(), whose token has left
 * @fixed: first word of the other
 */
void ds_l2_renew(struct ds_l2 *l2, u32 slot, u64 fixed);

/**
 * ds_l2_give - a slot is nobody's
 * @l2: tier
 * @slot: that was somebody's
 */
void ds_l2_give(struct ds_l2 *l2, u32 slot);

/**
 * ds_l2_keep - nobody has to leave a slot, or somebody may have to
 * @l2: tier
 * @slot: that is somebody's
 * @keep: nobody has to
 */
void ds_l2_keep(struct ds_l2 *l2, u32 slot, bool keep);

/** ds_l2_is_kept - is a slot kept? */
bool ds_l2_is_kept(const struct ds_l2 *l2, u32 slot);

/**
 * ds_l2_idle - who was not used for long, while pages are wanted?
 * @l2: tier
 * @now: in ns, monotonic
 * @idle: how long, in ns
 *
 * Looks at DS_TICK_LOOK slots, where it stopped the last time. It sees who was not used between
 * two of its rounds, which are @idle or more apart.
 *
 * Return: a slot that is somebody's and not kept, or DS_L2_NONE.
 */
u32 ds_l2_idle(struct ds_l2 *l2, u64 now, u64 idle);

/**
 * ds_l2_fill - put a token into its slot
 * @l2: tier
 * @slot: of ds_l2_take() or ds_l2_renew() for its first word
 * @token: its handle
 * @p: what it says
 *
 * Takes no lock; other slots of the page may be filled at the same time.
 */
void ds_l2_fill(struct ds_l2 *l2, u32 slot, u32 token, const struct ds_token_pack *p);

static inline struct ds_l2_page *ds_l2_page_of(const struct ds_l2 *l2, u32 slot)
{
	return &l2->pages[slot >> DS_L2_SLOT_BITS];
}

static inline u32 ds_l2_index(u32 slot)
{
	return slot & ((1u << DS_L2_SLOT_BITS) - 1);
}

static inline struct ds_l2_slot *ds_l2_slot_of(const struct ds_l2 *l2, u32 slot)
{
	return &ds_l2_page_of(l2, slot)->slots[ds_l2_index(slot)];
}

/**
 * ds_l2_read - copy a slot
 * @l2: tier
 * @slot: of a token's word
 * @token: whose it should be
 * @p: result, of use on success only
 *
 * Any context, takes no lock.
 *
 * Return: true if what was copied is of one filling, with that token.
 */
static inline bool ds_l2_read(const struct ds_l2 *l2, u32 slot, u32 token,
			      struct ds_token_pack *p)
{
	const struct ds_l2_page *page = ds_l2_page_of(l2, slot);
	const struct ds_l2_slot *s = ds_l2_slot_of(l2, slot);
	/* Each pairs with the release of what it reads: whoever sees some of a later filling */
	u64 filled = smp_load_acquire(&page->filled), high;

	/* sees below that the handle is another one, or the counter. */
	if (smp_load_acquire(&s->token) != token)
		return false;
	/* See above; the page may be of another kind by now. */
	if (smp_load_acquire(&page->mixed)) {
		if (ds_l2_index(slot) >= DS_L2_MIXED_SLOTS)
			return false;
		/* See above. */
		high = smp_load_acquire(&page->high[ds_l2_index(slot)]);
	} else {
		/* See above. */
		high = smp_load_acquire(&page->base);
	}
	/* See above. */
	p->fixed = high << 32 | smp_load_acquire(&s->low);
	/* See above. */
	p->hot = smp_load_acquire(&s->hot);
	/* Before the counter is read again. */
	return smp_load_acquire(&s->token) == token && READ_ONCE(page->filled) == filled;
}

/** ds_l2_now - what says that a token of a page is used now */
static inline u8 ds_l2_now(const struct ds_l2_page *page)
{
	return (u8)(DS_L2_AWAKE | READ_ONCE(page->clock) / DS_L2_TICK % DS_L2_TIMES);
}

/**
 * ds_l2_hit - a token was used in L2
 * @l2: tier
 * @slot: its slot, which may be another token's meanwhile
 *
 * Any context, takes no lock.
 */
static inline void ds_l2_hit(struct ds_l2 *l2, u32 slot)
{
	struct ds_l2_page *page = ds_l2_page_of(l2, slot);
	u8 *recent = &page->recent[ds_l2_index(slot)], now = ds_l2_now(page);

	if (READ_ONCE(*recent) != now)
		WRITE_ONCE(*recent, now);
}

#endif /* DS_TOKENCACHE_L2_H */
