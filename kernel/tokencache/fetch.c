// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: batch and mailbox of a token cache.
 */
#include "fetch.h"
#include "table.h"

static struct ds_fetch *of_batch(struct ds_batch *b)
{
	return container_of(b, struct ds_fetch, batch);
}

static struct ds_fetch *of_box(struct ds_expand *box)
{
	return container_of(box, struct ds_fetch, box);
}

/* ---- where tokens are ---- */

/* What a requester's copy of the directory says. The home of a token in L1 counts. */
static u32 offset_of(u32 token, u64 word)
{
	return ds_word_tier(word) == 2 ? ds_word_l2_slot(word) | DS_FETCH_L2 :
					 ds_token_index(token);
}

static u32 home_page(u32 token)
{
	return ds_token_index(token) / DS_FETCH_HOME_PAGE;
}

static u32 page_of(u32 token, u64 word)
{
	return ds_word_tier(word) == 2 ?
	       ds_word_l2_slot(word) >> DS_L2_SLOT_BITS | DS_FETCH_L2 : home_page(token);
}

/* The live token of an index, if it is at home; else 0, which is no handle. */
static u32 token_at_home(const struct ds_cache *c, u32 index)
{
	const u64 *place = ds_token_word(&c->table, index);
	u64 word = place ? READ_ONCE(*place) : 0;

	if (ds_word_tier(word) != 3)
		return 0;
	return ds_token_make(ds_word_type(word), ds_word_gen(word), index);
}

#define TO_L1	0x1u
#define TO_L2	0x2u

/* A pinned one would be fetched for nothing, in the place of another one. */
static bool may_go(const struct ds_cache *c, u32 token, u32 tiers)
{
	u64 word;

	if (!token || ds_token_find(&c->table, token, &word) || word & DS_WORD_PINNED)
		return false;
	return (tiers & TO_L1 && ds_cache_allows(c, token, 1)) ||
	       (tiers & TO_L2 && ds_cache_allows(c, token, 2));
}

static u32 home_neighbours(const struct ds_cache *c, u32 token, u32 tiers, u32 *tokens, u32 most)
{
	u32 index = ds_token_index(token), first = index - index % DS_FETCH_HOME_PAGE, i, n = 0;

	for (i = 1; i < DS_FETCH_HOME_PAGE && n < most; i++) {
		tokens[n] = token_at_home(c, first + (index + i) % DS_FETCH_HOME_PAGE);
		n += may_go(c, tokens[n], tiers);
	}
	return n;
}

static u32 l2_neighbours(const struct ds_cache *c, u32 page, u32 token, u32 *tokens, u32 most)
{
	const struct ds_l2_page *p = &c->table.l2.pages[page];
	u32 slots = READ_ONCE(p->mixed) ? DS_L2_MIXED_SLOTS : DS_L2_PAGE_SLOTS, at = 0, i, n = 0;
	u64 word;

	if (!ds_token_find(&c->table, token, &word))
		at = ds_l2_index(ds_word_slot(word));	/* elsewhere by now: any will do */
	for (i = 1; i < slots && n < most; i++) {
		tokens[n] = READ_ONCE(p->slots[(at + i) % slots].token);
		n += may_go(c, tokens[n], TO_L1);
	}
	return n;
}

u32 ds_fetch_page(const struct ds_cache *c, u32 token)
{
	u64 word;

	return ds_token_find(&c->table, token, &word) ? DS_BATCH_NOWHERE : page_of(token, word);
}

u32 ds_fetch_neighbours(const struct ds_cache *c, u32 page, u32 token, u32 *tokens, u32 most)
{
	return page & DS_FETCH_L2 ? l2_neighbours(c, page & ~DS_FETCH_L2, token, tokens, most) :
				    home_neighbours(c, token, TO_L1 | TO_L2, tokens, most);
}

u32 ds_fetch_to_stage(const struct ds_cache *c, u32 token, u32 *tokens, u32 most)
{
	return c->table.l2.pages ? home_neighbours(c, token, TO_L2, tokens, most) : 0;
}

/* ---- the batch's ---- */

static u32 batch_page(struct ds_batch *b, u32 token)
{
	return ds_fetch_page(of_batch(b)->cache, token);
}

/* With a use, so that its home does not become another one's meanwhile. */
static int copy(struct ds_token_table *t, u32 page, struct ds_batch_item *item)
{
	int ret = ds_token_hold(t, item->token);

	if (ret)
		return ret;
	ret = ds_token_find(t, item->token, &item->word);
	if (!ret)
		ret = ds_token_copy(t, item->token, &item->word, &item->pack);
	ds_token_put(t, item->token);
	if (ret)
		return ret;
	return page_of(item->token, item->word) == page ? 0 : -ESTALE;
}

static int batch_fetch(struct ds_batch *b, u32 page, struct ds_batch_item *items, u32 count)
{
	struct ds_token_table *t = &of_batch(b)->cache->table;
	u32 i;

	for (i = 0; i < count; i++)
		items[i].ret = copy(t, page, &items[i]);
	return 0;
}

static u32 batch_neighbours(struct ds_batch *b, u32 page, u32 token, u32 *tokens, u32 most)
{
	return ds_fetch_neighbours(of_batch(b)->cache, page, token, tokens, most);
}

static int batch_install(struct ds_batch *b, const struct ds_batch_item *item)
{
	struct ds_fetch *f = of_batch(b);
	struct ds_cache *c = f->cache;
	u64 word;
	int ret;

	if (ds_token_find(&c->table, item->token, &word) || !ds_word_same(word, item->word))
		return -ESTALE;
	ds_cache_used(c, item->token, item->joined);
	ret = ds_cache_miss(c, item->token);
	if (!ret && f->moved)
		f->moved(f, item->token, item->since);
	return ret == -EEXIST ? 0 : ret;	/* another miss was faster */
}

static void batch_used(struct ds_batch *b, u32 token, u32 misses)
{
	ds_cache_used(of_batch(b)->cache, token, misses);
}

static void batch_pause(struct ds_batch *b)
{
	struct ds_fetch *f = of_batch(b);

	if (f->pause)
		f->pause(f);
}

static const struct ds_batch_ops batch_ops = {
	.page = batch_page,
	.fetch = batch_fetch,
	.neighbours = batch_neighbours,
	.install = batch_install,
	.pause = batch_pause,
};

/* ---- the mailbox's ---- */

static int box_allowed(struct ds_expand *box, u32 requester, u32 token)
{
	struct ds_fetch *f = of_box(box);

	return f->allowed(f, requester, token);
}

static int box_locate(struct ds_expand *box, u32 token, u32 offset, u32 *page)
{
	const struct ds_token_table *t = &of_box(box)->cache->table;
	u32 end = offset & DS_FETCH_L2 ? t->l2.nr_pages << DS_L2_SLOT_BITS :
					 1u << DS_TOKEN_INDEX_BITS;
	u64 word;
	int ret;

	if ((offset & ~DS_FETCH_L2) >= end)
		return -EINVAL;
	ret = ds_token_find(t, token, &word);
	if (ret)
		return ret;
	*page = home_page(token);
	return offset_of(token, word) == offset ? 0 : -ESTALE;
}

static int box_produce(struct ds_expand *box, u32 token, struct ds_token_desc *d)
{
	struct ds_token_table *t = &of_box(box)->cache->table;
	int ret = ds_token_get(t, token, d);

	if (!ret)
		ds_token_put(t, token);
	return ret;
}

static int box_stage(struct ds_expand *box, u32 token, const struct ds_token_desc *d)
{
	(void)d;	/* its packed form is at home, from where it is moved */
	return ds_cache_stage(of_box(box)->cache, token);
}

static u32 box_neighbours(struct ds_expand *box, u32 page, u32 token, u32 *tokens, u32 most)
{
	(void)page;
	return ds_fetch_to_stage(of_box(box)->cache, token, tokens, most);
}

static const struct ds_expand_ops box_ops = {
	.allowed = box_allowed,
	.locate = box_locate,
	.produce = box_produce,
	.stage = box_stage,
	.neighbours = box_neighbours,
};

/* ---- both ---- */

int ds_fetch_init(struct ds_fetch *f, struct ds_cache *cache,
		  int (*allowed)(struct ds_fetch *f, u32 requester, u32 token),
		  const u64 *batch, const u64 *expand)
{
	int ret = ds_batch_init(&f->batch, &batch_ops, batch);

	if (ret)
		return ret;
	ret = ds_expand_init(&f->box, &box_ops, expand);
	if (ret)
		ds_batch_destroy(&f->batch);
	f->batch.used = batch_used;
	f->cache = cache;
	f->allowed = allowed;
	f->moved = NULL;
	f->pause = NULL;
	return ret;
}

void ds_fetch_destroy(struct ds_fetch *f)
{
	ds_batch_destroy(&f->batch);
	ds_expand_destroy(&f->box);
}

int ds_fetch_miss(struct ds_fetch *f, u32 token, struct ds_waiter *w, u64 now)
{
	u64 word;

	/* Each use of it is a miss, and would be fetched for nothing. */
	if (!ds_token_find(&f->cache->table, token, &word) && word & DS_WORD_PINNED)
		return -EPERM;
	return ds_batch_add(&f->batch, token, w, now);
}

int ds_fetch_whole(struct ds_fetch *f, u32 token, u32 requester, u32 priority,
		   struct ds_expand_waiter *w, u64 now)
{
	struct ds_expand_req req = {
		.token = token, .requester = requester, .priority = priority,
	};
	u64 word;

	/* Whether it is there says the host, to whom it may. */
	if (!ds_token_find(&f->cache->table, token, &word))
		req.offset = offset_of(token, word);
	return ds_expand_ask(&f->box, &req, w, now);
}

u64 ds_fetch_work(struct ds_fetch *f, u64 now, u32 budget)
{
	u64 next;
	u32 served;

	if (!ds_batch_due(&f->batch, now))
		ds_batch_flush(&f->batch, now);
	/* First: who can be answered now has not waited in vain, however late it is. */
	served = ds_expand_serve(&f->box, budget);
	next = ds_expand_expire(&f->box, now);
	return served == budget ? 0 : min(next, ds_batch_due(&f->batch, now));
}

void ds_fetch_revoked(struct ds_fetch *f, u32 token)
{
	ds_expand_revoked(&f->box, token);
}

void ds_fetch_shut(struct ds_fetch *f)
{
	ds_batch_shut(&f->batch);
	ds_expand_shut(&f->box);
}
