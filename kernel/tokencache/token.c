// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: the flat token table.
 *
 * The word of a slot, moved as one:
 *
 *	bits 0-31	references
 *	bits 32-33	enum ds_token_type
 *	bits 34-35	enum token_state
 *	bits 40-47	generation; 0 in a slot that was never used
 *
 * A reference keeps the slot from being freed, and so the descriptor from being
 * written: ds_token_get() takes the reference first and copies afterwards.
 */
#include "token.h"

#define INDEX_MASK	(~0u >> (32 - DS_TOKEN_INDEX_BITS))
#define SLOTS_MAX	(INDEX_MASK + 1)
#define PAGE_SLOTS	1024u
#define PAGES		(SLOTS_MAX / PAGE_SLOTS)
#define GEN_LAST	(~0u >> (32 - DS_TOKEN_GEN_BITS))
#define NO_SLOT		(~0u)

#define WORD_TYPE_OFF	32
#define WORD_STATE_OFF	34
#define WORD_GEN_OFF	40
#define WORD_REFS_MAX	(~0u)

enum token_state {
	TOKEN_FREE = 0,
	TOKEN_LIVE = 1,
	TOKEN_REVOKED = 2,
};

/**
 * struct ds_token_slot - one index of the table
 * @word: see above
 * @desc: descriptor; written in state FREE, read with a reference held
 * @idle: of the revoke; written in state LIVE, read in state REVOKED
 * @ctx: for @idle
 * @next: next slot in the chain of free ones
 */
struct ds_token_slot {
	u64 word;
	struct ds_token_desc desc;
	void (*idle)(void *ctx);
	void *ctx;
	u32 next;
};

struct ds_token_page {
	struct ds_token_slot slots[PAGE_SLOTS];
};

static u64 word_make(u32 gen, enum token_state state, u32 type)
{
	return (u64)gen << WORD_GEN_OFF | (u64)state << WORD_STATE_OFF |
	       (u64)type << WORD_TYPE_OFF;
}

static u32 word_refs(u64 word)
{
	return (u32)word;
}

static u32 word_type(u64 word)
{
	return word >> WORD_TYPE_OFF & (DS_TOKEN_TYPES - 1);
}

static enum token_state word_state(u64 word)
{
	return (enum token_state)(word >> WORD_STATE_OFF & 3);
}

static u32 word_gen(u64 word)
{
	return word >> WORD_GEN_OFF & GEN_LAST;
}

static u32 token_index(u32 token)
{
	return token >> DS_TOKEN_INDEX_OFF & INDEX_MASK;
}

static u32 token_gen(u32 token)
{
	return token >> DS_TOKEN_GEN_OFF & GEN_LAST;
}

static u32 token_type(u32 token)
{
	return token >> DS_TOKEN_TYPE_OFF & (DS_TOKEN_TYPES - 1);
}

/* May the token be used? 0, -ESTALE or -EBADF. */
static int token_check(u64 word, u32 token)
{
	u32 gen = token_gen(token);

	if (!gen || gen > word_gen(word))
		return -EBADF;
	if (gen < word_gen(word))
		return -ESTALE;
	if (token_type(token) != word_type(word))
		return -EBADF;
	return word_state(word) == TOKEN_LIVE ? 0 : -ESTALE;
}

/* The slot of an index, NULL if there never was a token near it. */
static struct ds_token_slot *token_slot(struct ds_token_table *t, u32 index)
{
	struct ds_token_page *page;

	/* Pairs with the release in token_take(): the page is zeroed. */
	page = smp_load_acquire(&t->pages[index / PAGE_SLOTS]);
	return page ? &page->slots[index % PAGE_SLOTS] : NULL;
}

/*
 * Take a free slot, the one longest so if there are several. -EAGAIN: it needs
 * a new page; call again with one in *@spare. Under the lock.
 */
static int token_take(struct ds_token_table *t, struct ds_token_page **spare,
		      u32 *index)
{
	struct ds_token_page **page;

	if (t->live >= t->limit)
		return -EDQUOT;
	if (t->free_head != NO_SLOT) {
		*index = t->free_head;
		t->free_head = token_slot(t, *index)->next;
		return 0;
	}
	if (t->used == SLOTS_MAX)
		return -ENOSPC;

	page = &t->pages[t->used / PAGE_SLOTS];
	if (!*page) {
		if (!*spare)
			return -EAGAIN;
		/* Pairs with the acquire in token_slot(). */
		smp_store_release(page, *spare);
		*spare = NULL;
	}
	*index = t->used++;
	return 0;
}

static int token_create_locked(struct ds_token_table *t,
			       const struct ds_token_desc *d,
			       struct ds_token_page **spare, u32 *token)
{
	struct ds_token_slot *slot;
	u32 index, gen;
	int ret;

	ret = token_take(t, spare, &index);
	if (ret)
		return ret;

	slot = token_slot(t, index);
	gen = word_gen(READ_ONCE(slot->word)) + 1;
	slot->desc = *d;
	/* Pairs with the exchange in ds_token_get(): the descriptor is there. */
	smp_store_release(&slot->word, word_make(gen, TOKEN_LIVE, d->type));
	WRITE_ONCE(t->live, t->live + 1);

	*token = (u32)d->type << DS_TOKEN_TYPE_OFF | gen << DS_TOKEN_GEN_OFF |
		 index << DS_TOKEN_INDEX_OFF;
	return 0;
}

int ds_token_table_init(struct ds_token_table *t, u32 limit)
{
	if (!limit || limit > SLOTS_MAX)
		return -EINVAL;
	memset(t, 0, sizeof(*t));
	t->pages = ds_alloc(PAGES * sizeof(t->pages[0]));
	if (!t->pages)
		return -ENOMEM;
	ds_spin_init(&t->lock);
	t->free_head = NO_SLOT;
	t->limit = limit;
	return 0;
}

u32 ds_token_table_destroy(struct ds_token_table *t)
{
	u32 i;

	for (i = 0; i < PAGES; i++)
		ds_free(t->pages[i]);
	ds_free(t->pages);
	t->pages = NULL;
	return t->live;
}

int ds_token_create(struct ds_token_table *t, const struct ds_token_desc *d,
		    u32 *token)
{
	struct ds_token_page *spare = NULL;
	int ret;

	if (d->type >= DS_TOKEN_TYPES || d->reserved)
		return -EINVAL;

	/* At most twice: a page in hand is enough. */
	do {
		ds_spin_lock(&t->lock);
		ret = token_create_locked(t, d, &spare, token);
		ds_spin_unlock(&t->lock);
		if (ret != -EAGAIN)
			break;
		spare = ds_alloc(sizeof(*spare));
	} while (spare);

	ds_free(spare);
	return ret == -EAGAIN ? -ENOMEM : ret;
}

int ds_token_get(struct ds_token_table *t, u32 token, struct ds_token_desc *out)
{
	struct ds_token_slot *slot = token_slot(t, token_index(token));
	u64 word;
	int ret;

	if (!slot)
		return -EBADF;
	do {
		word = READ_ONCE(slot->word);
		ret = token_check(word, token);
		if (ret)
			return ret;
		if (word_refs(word) == WORD_REFS_MAX)
			return -EOVERFLOW;
	} while (ds_cmpxchg64(&slot->word, word, word + 1) != word);

	*out = slot->desc;
	return 0;
}

void ds_token_put(struct ds_token_table *t, u32 token)
{
	struct ds_token_slot *slot = token_slot(t, token_index(token));
	void (*idle)(void *ctx);
	void *ctx = NULL;
	u64 word;

	if (!slot)
		return;
	do {
		/* Pairs with the exchange in ds_token_revoke(): @idle is there. */
		word = smp_load_acquire(&slot->word);
		if (!word_refs(word))
			return;
		idle = NULL;
		/* Behind the exchange the slot may be somebody else's. */
		if (word_state(word) == TOKEN_REVOKED && word_refs(word) == 1) {
			idle = slot->idle;
			ctx = slot->ctx;
		}
	} while (ds_cmpxchg64(&slot->word, word, word - 1) != word);

	if (idle)
		idle(ctx);
}

int ds_token_revoke(struct ds_token_table *t, u32 token,
		    void (*idle)(void *ctx), void *ctx)
{
	struct ds_token_slot *slot = token_slot(t, token_index(token));
	u64 word, revoked;
	int ret;

	if (!slot)
		return -EBADF;

	/* Against another revoke; gets and puts go on. */
	ds_spin_lock(&t->lock);
	ret = token_check(READ_ONCE(slot->word), token);
	if (ret)
		goto out;
	slot->idle = idle;
	slot->ctx = ctx;
	do {
		word = READ_ONCE(slot->word);
		revoked = word_make(word_gen(word), TOKEN_REVOKED,
				    word_type(word)) | word_refs(word);
	} while (ds_cmpxchg64(&slot->word, word, revoked) != word);
	ret = word_refs(word) ? -EINPROGRESS : 0;
out:
	ds_spin_unlock(&t->lock);
	return ret;
}

void ds_token_free(struct ds_token_table *t, u32 token)
{
	u64 word = word_make(token_gen(token), TOKEN_REVOKED, token_type(token));
	u64 free = word_make(token_gen(token), TOKEN_FREE, token_type(token));
	u32 index = token_index(token);
	struct ds_token_slot *slot = token_slot(t, index);

	if (!slot)
		return;

	ds_spin_lock(&t->lock);
	if (ds_cmpxchg64(&slot->word, word, free) != word)
		goto out;
	WRITE_ONCE(t->live, t->live - 1);
	if (token_gen(token) == GEN_LAST)
		goto out;	/* retired */
	slot->next = NO_SLOT;
	if (t->free_head == NO_SLOT)
		t->free_head = index;
	else
		token_slot(t, t->free_tail)->next = index;
	t->free_tail = index;
out:
	ds_spin_unlock(&t->lock);
}

u32 ds_token_count(const struct ds_token_table *t)
{
	return READ_ONCE(t->live);
}
