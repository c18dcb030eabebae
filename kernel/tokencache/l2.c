// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: L2 of the token cache.
 */
#include "l2.h"
#include "tick.h"

#define BUCKETS_PER_PAGE	16u	/* and no fewer */
#define CHAIN_LOOK		8u	/* pages of a chain, for one of a bucket */
#define CROWD			256u	/* that have a page of their own from then on */
#define ROOMY			(DS_L2_MIXED_SLOTS * 3 / 4)	/* room for anybody */
#define VICTIM_LOOK		64u	/* slots */
#define VICTIM_CHOICE		16u	/* of them, that are somebody's and not kept */

/* ---- chains of pages ---- */

static u32 bucket_of(const struct ds_l2 *l2, u32 high)
{
	return hash_64(high, l2->bits);
}

static u32 mixed_chain(const struct ds_l2 *l2)
{
	return 1u << l2->bits;
}

static u32 empty_chain(const struct ds_l2 *l2)
{
	return mixed_chain(l2) + 1;
}

static u32 slots_of(const struct ds_l2_page *page)
{
	return page->mixed ? DS_L2_MIXED_SLOTS : DS_L2_PAGE_SLOTS;
}

static bool has_room(const struct ds_l2_page *page)
{
	return page->used < slots_of(page);
}

static void unchain(struct ds_l2 *l2, struct ds_l2_page *page)
{
	u32 *head = &l2->heads[page->chain], id = (u32)page->id;

	l2->pages[page->prev].next = page->next;
	l2->pages[page->next].prev = page->prev;
	if (*head == id)
		*head = page->next == id ? DS_L2_NONE : page->next;
}

static void chain(struct ds_l2 *l2, struct ds_l2_page *page, u32 to, bool first)
{
	u32 *head = &l2->heads[to], id = (u32)page->id;

	page->chain = to;
	if (*head == DS_L2_NONE) {
		page->next = id;
		page->prev = id;
	} else {
		page->next = *head;
		page->prev = l2->pages[*head].prev;
		l2->pages[page->prev].next = id;
		l2->pages[page->next].prev = id;
	}
	if (first || *head == DS_L2_NONE)
		*head = id;
}

static void rechain(struct ds_l2 *l2, struct ds_l2_page *page, u32 to, bool first)
{
	unchain(l2, page);
	chain(l2, page, to, first);
}

static struct ds_l2_page *first_of(const struct ds_l2 *l2, u32 of)
{
	return l2->heads[of] == DS_L2_NONE ? NULL : &l2->pages[l2->heads[of]];
}

/*
 * A page of a bucket, one that has room if there is one. Others may have the same hash, and
 * many of these before it: it is not found then, and there is to be no other one.
 */
static struct ds_l2_page *page_of_bucket(const struct ds_l2 *l2, u32 high, bool *many)
{
	struct ds_l2_page *first = first_of(l2, bucket_of(l2, high)), *page = first;
	u32 looked;

	*many = false;
	for (looked = 0; page && looked < CHAIN_LOOK; looked++) {
		if (page->base == high)
			return page;
		page = &l2->pages[page->next];
		if (page == first)
			return NULL;
	}
	*many = page;
	return NULL;
}

/* ---- slots ---- */

static bool bit_is_set(const u64 *map, u32 i)
{
	return map[i / 64] >> i % 64 & 1;
}

static void bit_set(u64 *map, u32 i, bool value)
{
	map[i / 64] = (map[i / 64] & ~(1ull << i % 64)) | (u64)value << i % 64;
}

static u32 free_slot(const struct ds_l2_page *page)
{
	u32 i = 0;
	u64 free;

	while (!~page->taken[i])
		i++;
	free = ~page->taken[i];
	return i * 64 + (u32)ilog2(free & -free);
}

/* A slot, of which a reader sees that it is nobody's, is to be a token's. */
static void slot_begin(struct ds_l2 *l2, struct ds_l2_page *page, u32 i, u32 high)
{
	WRITE_ONCE(page->recent[i], ds_l2_now(page));
	bit_set(page->kept, i, true);
	if (!page->mixed)
		return;
	/* Pairs with the acquire in ds_l2_read(). */
	smp_store_release(&page->high[i], high);
	l2->crowd[bucket_of(l2, high)]++;
}

static void slot_end(struct ds_l2 *l2, struct ds_l2_page *page, u32 i)
{
	WRITE_ONCE(page->slots[i].token, 0);
	bit_set(page->kept, i, false);
	if (!page->mixed)
		return;
	l2->crowd[bucket_of(l2, page->high[i])]--;
	/* It lies where a bucket's page has slots. A reader who sees this sees that above, too. */
	smp_store_release(&page->high[i], 0);
}

static u32 slot_take(struct ds_l2 *l2, struct ds_l2_page *page, u32 high)
{
	u32 i = free_slot(page);

	bit_set(page->taken, i, true);
	page->used++;
	WRITE_ONCE(l2->used, l2->used + 1);
	slot_begin(l2, page, i, high);
	if (!has_room(page))
		rechain(l2, page, page->chain, false);
	return (u32)page->id << DS_L2_SLOT_BITS | i;
}

/* An empty page becomes that of a bucket, or mixed. All its slots say that they are nobody's. */
static struct ds_l2_page *page_open(struct ds_l2 *l2, u32 to, u32 high)
{
	struct ds_l2_page *page = first_of(l2, empty_chain(l2));

	if (!page) {
		l2->crowded = true;
		return NULL;
	}
	/* Both pair with the acquires in ds_l2_read(). */
	smp_store_release(&page->base, high);
	/* See above. */
	smp_store_release(&page->mixed, to == mixed_chain(l2));
	l2->nr_mixed += page->mixed;
	page->hand = 0;
	rechain(l2, page, to, true);
	return page;
}

static void page_close(struct ds_l2 *l2, struct ds_l2_page *page)
{
	l2->nr_mixed -= page->mixed;
	rechain(l2, page, empty_chain(l2), true);
}

u32 ds_l2_take(struct ds_l2 *l2, u64 fixed)
{
	u32 high = (u32)(fixed >> 32), bucket = bucket_of(l2, high);
	bool many;
	struct ds_l2_page *page = page_of_bucket(l2, high, &many);

	if (page ? !has_room(page) : !many && l2->crowd[bucket] >= CROWD)
		page = page_open(l2, bucket, high);
	if (!page) {
		page = first_of(l2, mixed_chain(l2));
		if (!has_room(page))
			page = page_open(l2, mixed_chain(l2), 0);
	}
	return page ? slot_take(l2, page, high) : DS_L2_NONE;
}

/* The hand goes round the slots of a page, and then to the next page of the chain. */
static u32 hand_next(struct ds_l2 *l2, struct ds_l2_page *page)
{
	u32 i = page->hand;

	page->hand = (i + 1) % slots_of(page);
	if (!page->hand)
		rechain(l2, page, page->chain, false);
	return i;
}

/*
 * A page where somebody leaves for one of a bucket: its own, and mixed ones as often as there are
 * such among all pages. Those who came before their bucket had a page would stay for ever else.
 */
static struct ds_l2_page *page_to_leave(struct ds_l2 *l2, u32 high)
{
	bool many;
	struct ds_l2_page *page = page_of_bucket(l2, high, &many);

	if (page) {
		l2->turn += l2->nr_mixed;
		if (l2->turn < l2->nr_pages)
			return page;
		l2->turn -= l2->nr_pages;
	}
	return first_of(l2, mixed_chain(l2));
}

/* How many times have come since its last use? */
static u32 age_of(const struct ds_l2_page *page, u32 i)
{
	return ((u32)ds_l2_now(page) - READ_ONCE(page->recent[i])) % DS_L2_TIMES;
}

u32 ds_l2_victim(struct ds_l2 *l2, u64 fixed)
{
	struct ds_l2_page *page = page_to_leave(l2, (u32)(fixed >> 32));
	u32 victim = DS_L2_NONE, oldest = 0, choice = 0, looked, i, age;

	for (looked = 0; looked < VICTIM_LOOK && choice < VICTIM_CHOICE; looked++) {
		i = hand_next(l2, page);
		if (!bit_is_set(page->taken, i) || bit_is_set(page->kept, i))
			continue;
		age = age_of(page, i);
		if (!choice++ || age > oldest) {
			victim = (u32)page->id << DS_L2_SLOT_BITS | i;
			oldest = age;
		}
	}
	if (choice)
		WRITE_ONCE(page->clock, page->clock + 1);
	return victim;
}

void ds_l2_renew(struct ds_l2 *l2, u32 slot, u64 fixed)
{
	struct ds_l2_page *page = ds_l2_page_of(l2, slot);

	slot_end(l2, page, ds_l2_index(slot));
	slot_begin(l2, page, ds_l2_index(slot), (u32)(fixed >> 32));
}

void ds_l2_give(struct ds_l2 *l2, u32 slot)
{
	struct ds_l2_page *page = ds_l2_page_of(l2, slot);
	bool was_full = !has_room(page);

	slot_end(l2, page, ds_l2_index(slot));
	bit_set(page->taken, ds_l2_index(slot), false);
	page->used--;
	WRITE_ONCE(l2->used, l2->used - 1);
	if (!page->used && page->id)
		page_close(l2, page);
	else if (was_full)
		rechain(l2, page, page->chain, true);
	if (page->used <= (page->mixed ? ROOMY : 0))
		l2->crowded = false;
}

void ds_l2_keep(struct ds_l2 *l2, u32 slot, bool keep)
{
	bit_set(ds_l2_page_of(l2, slot)->kept, ds_l2_index(slot), keep);
}

bool ds_l2_is_kept(const struct ds_l2 *l2, u32 slot)
{
	return bit_is_set(ds_l2_page_of(l2, slot)->kept, ds_l2_index(slot));
}

/*
 * The first of some slots of one word of the maps that was not used since the last time, nor is
 * kept; @end if there is none, or it is not @wanted.
 */
static u32 first_idle(struct ds_l2_page *page, u32 i, u32 end, bool wanted)
{
	u64 slots = (page->taken[i / 64] & ~page->kept[i / 64]) >> i % 64;
	u8 recent;

	for (; i < end; i++, slots >>= 1) {
		if (!(slots & 1))
			continue;
		recent = READ_ONCE(page->recent[i]);
		if (recent & DS_L2_AWAKE)
			WRITE_ONCE(page->recent[i], recent & ~DS_L2_AWAKE);
		else if (wanted)
			return i;
	}
	return end;
}

/* On to a slot, which may be behind the last one of its page. */
static void idle_next(struct ds_l2 *l2, const struct ds_l2_page *page, u32 i)
{
	u32 id = (u32)page->id;

	l2->at = i < DS_L2_PAGE_SLOTS ? id << DS_L2_SLOT_BITS | i :
					(id + 1) % l2->nr_pages << DS_L2_SLOT_BITS;
}

u32 ds_l2_idle(struct ds_l2 *l2, u64 now, u64 idle)
{
	u32 left = DS_TICK_LOOK, i, end, slot;
	struct ds_l2_page *page;

	while (left) {
		page = ds_l2_page_of(l2, l2->at);
		i = ds_l2_index(l2->at);
		if (!i && (!page->used || now - page->swept < idle)) {
			idle_next(l2, page, DS_L2_PAGE_SLOTS);
			left--;
			continue;
		}
		page->swept = now;
		end = min(min(i + left, i / 64 * 64 + 64), DS_L2_PAGE_SLOTS);
		slot = first_idle(page, i, end, l2->crowded);
		if (slot < end) {
			idle_next(l2, page, slot + 1);
			return (u32)page->id << DS_L2_SLOT_BITS | slot;
		}
		idle_next(l2, page, end);
		left -= end - i;
	}
	return DS_L2_NONE;
}

void ds_l2_fill(struct ds_l2 *l2, u32 slot, u32 token, const struct ds_token_pack *p)
{
	struct ds_l2_page *page = ds_l2_page_of(l2, slot);
	struct ds_l2_slot *s = ds_l2_slot_of(l2, slot);
	u64 filled, seen = READ_ONCE(page->filled);

	do {
		filled = seen;
		/* Orders: no reader sees what follows with the counter of before. */
		seen = ds_cmpxchg64(&page->filled, filled, filled + 1);
	} while (seen != filled);
	WRITE_ONCE(s->token, 0);
	/* Each pairs with the acquire of the same in ds_l2_read(). */
	smp_store_release(&s->low, (u32)p->fixed);
	/* See above. */
	smp_store_release(&s->hot, p->hot);
	/* See above. */
	smp_store_release(&s->token, token);
}

/* ---- memory ---- */

static void chains_init(struct ds_l2 *l2)
{
	u32 i;

	for (i = 0; i <= empty_chain(l2); i++)
		l2->heads[i] = DS_L2_NONE;
	for (i = 0; i < l2->nr_pages; i++) {
		l2->pages[i].id = i;
		chain(l2, &l2->pages[i], i ? empty_chain(l2) : mixed_chain(l2), false);
	}
	l2->pages[0].mixed = 1;
	l2->nr_mixed = 1;
}

int ds_l2_init(struct ds_l2 *l2, u32 nr_pages, int node)
{
	if (!nr_pages || nr_pages > DS_L2_PAGES_MAX)
		return -EINVAL;
	memset(l2, 0, sizeof(*l2));
	l2->nr_pages = nr_pages;
	l2->bits = (u32)ilog2(nr_pages * BUCKETS_PER_PAGE * 2 - 1);
	l2->pages = ds_alloc_node((size_t)nr_pages * sizeof(l2->pages[0]), node);
	l2->heads = ds_alloc((empty_chain(l2) + 1) * sizeof(l2->heads[0]));
	l2->crowd = ds_alloc(mixed_chain(l2) * sizeof(l2->crowd[0]));
	if (!l2->pages || !l2->heads || !l2->crowd) {
		ds_l2_destroy(l2);
		return -ENOMEM;
	}
	chains_init(l2);
	return 0;
}

void ds_l2_destroy(struct ds_l2 *l2)
{
	ds_free(l2->crowd);
	ds_free(l2->heads);
	ds_free(l2->pages);
	memset(l2, 0, sizeof(*l2));
}
