// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: the token directory and the tokens' homes.
 *
 * A use keeps the token from being freed, and so its home from being written for
 * another: ds_token_get() begins the use first and copies afterwards.
 */
#include "table.h"

#define NO_INDEX	(~0u)
#define NO_WIDE		0u	/* in the slot of a revoked word; else the record and one */
#define WORDS_BYTES	(DS_TOKEN_PAGE * sizeof(u64))

static struct ds_token_indices *indices_of(const struct ds_token_table *t, u8 owner, u32 words)
{
	return &t->indices[owner * 2u + words - 1];
}

static void page_free(struct ds_token_page *page)
{
	ds_free_pages(page->words, WORDS_BYTES);
	ds_free(page->home);
	page->words = NULL;
	page->home = NULL;
}

static int page_alloc(struct ds_token_page *page, u32 words)
{
	page->words = ds_alloc_pages(WORDS_BYTES);
	page->home = ds_alloc((size_t)DS_TOKEN_PAGE * words * sizeof(u64));
	if (page->words && page->home)
		return 0;
	page_free(page);
	return -ENOMEM;
}

static void page_install(struct ds_token_page *page, struct ds_token_page *spare)
{
	page->home = spare->home;
	/* Pairs with the acquire in ds_token_word(). */
	smp_store_release(&page->words, spare->words);
	spare->words = NULL;
	spare->home = NULL;
}

/* Who looks without a use may read the home still, and finds the word changed. */
static void chain_add(const struct ds_token_table *t, struct ds_token_chain *chain, u32 index,
		      u32 words)
{
	/* Not before its word was changed. */
	smp_store_release(ds_token_home(t, index, words), NO_INDEX);
	if (chain->head == NO_INDEX)
		chain->head = index;
	else
		/* Likewise: somebody may look at that one's home, too. */
		smp_store_release(ds_token_home(t, chain->tail, words), index);
	chain->tail = index;
}

/* Its first, or NO_INDEX. */
static u32 chain_take(const struct ds_token_table *t, struct ds_token_chain *chain, u32 words)
{
	u32 index = chain->head;

	if (index != NO_INDEX)
		chain->head = (u32)*ds_token_home(t, index, words);
	return index;
}

static u32 pages_of(const struct ds_token_table *t, u8 owner)
{
	u32 i, pages = 0;

	for (i = 0; i < t->used; i++)
		pages += t->owners[i] == owner;
	return pages;
}

/*
 * A page for an owner's tokens of one size. -EAGAIN: it needs one in @spare. Pages never change
 * hands, so each leaves as many as it has to those who come later.
 */
static int page_take(struct ds_token_table *t, u8 owner, struct ds_token_indices *set,
		     struct ds_token_page *spare)
{
	u32 left = DS_TOKEN_PAGES - t->used;

	if (!left || (owner && pages_of(t, owner) >= left))
		return -ENOSPC;
	if (!spare->words)
		return -EAGAIN;
	WRITE_ONCE(t->owners[t->used], owner);
	page_install(&t->pages[t->used], spare);
	set->next = t->used * DS_TOKEN_PAGE;
	WRITE_ONCE(t->used, t->used + 1);
	set->end = set->next + DS_TOKEN_PAGE;
	/* For programs: the words are there. */
	smp_store_release(&t->head->end, set->end);
	return 0;
}

/*
 * Take a free index, the one longest so if there are several. -EAGAIN: it needs
 * a new page; call again with one in @spare. Under the lock.
 */
static int token_take(struct ds_token_table *t, u8 owner, u32 words,
		      struct ds_token_page *spare, u32 *index)
{
	struct ds_token_indices *set = indices_of(t, owner, words);
	int ret = 0;

	if (t->live >= t->limit)
		return -EDQUOT;
	*index = chain_take(t, &set->unused, words);
	if (*index != NO_INDEX)
		return 0;
	/* Who makes tokens without an end leaves half of the pages to others. */
	if (set->next == set->end && t->used >= DS_TOKEN_PAGES / 2) {
		*index = chain_take(t, &set->retired, words);
		if (*index != NO_INDEX)
			return 0;
	}
	if (set->next == set->end)
		ret = page_take(t, owner, set, spare);
	if (!ret)
		*index = set->next++;
	return ret;
}

static int token_create_locked(struct ds_token_table *t, u8 owner, u8 type,
			       const struct ds_token_pack *p,
			       struct ds_token_page *spare, u32 *token)
{
	u32 words = ds_token_words(type), index, gen;
	u64 *word, *home;
	int ret;

	ret = token_take(t, owner, words, spare, &index);
	if (ret)
		return ret;

	word = ds_token_word(t, index);
	home = ds_token_home(t, index, words);
	gen = ds_word_gen(READ_ONCE(*word)) % DS_WORD_GEN_MAX + 1;
	/* Not before whoever freed the index has changed its word: as in chain_add(). */
	smp_store_release(&home[0], p->fixed);
	if (words == 2)
		/* See above. */
		smp_store_release(&home[1], p->hot);
	/* Pairs with the exchange in ds_token_begin(): the home is written. */
	smp_store_release(word, ds_word_make(gen, DS_TOKEN_L3, type));
	WRITE_ONCE(t->live, t->live + 1);
	*token = ds_token_make(type, gen, index);
	return 0;
}

static int token_create(struct ds_token_table *t, u8 owner, u8 type,
			const struct ds_token_pack *p, u32 *token)
{
	struct ds_token_page spare = { NULL, NULL };
	int ret;

	/* At most twice: a page in hand is enough. */
	for (;;) {
		ds_spin_lock(&t->lock);
		ret = token_create_locked(t, owner, type, p, &spare, token);
		ds_spin_unlock(&t->lock);
		if (ret != -EAGAIN)
			break;
		ret = page_alloc(&spare, ds_token_words(type));
		if (ret)
			return ret;
	}
	page_free(&spare);
	return ret;
}

static void table_free(struct ds_token_table *t)
{
	ds_free_pages(t->head, DS_DIRECTORY_WORDS);
	ds_free(t->indices);
	ds_free(t->owners);
	ds_free(t->pages);
	t->head = NULL;
	t->indices = NULL;
	t->owners = NULL;
	t->pages = NULL;
}

int ds_token_table_init(struct ds_token_table *t, u32 limit)
{
	u32 i;

	if (!limit || limit > 1u << DS_TOKEN_INDEX_BITS)
		return -EINVAL;
	memset(t, 0, sizeof(*t));
	t->pages = ds_alloc(DS_TOKEN_PAGES * sizeof(t->pages[0]));
	t->owners = ds_alloc(DS_TOKEN_PAGES);
	t->indices = ds_alloc(DS_TOKEN_SETS * sizeof(t->indices[0]));
	t->head = ds_alloc_pages(DS_DIRECTORY_WORDS);
	if (!t->pages || !t->owners || !t->indices || !t->head) {
		table_free(t);
		return -ENOMEM;
	}
	ds_wide_init(&t->wide);
	t->head->version = DS_DIRECTORY_VERSION;
	ds_spin_init(&t->lock);
	for (i = 0; i < DS_TOKEN_SETS; i++) {
		t->indices[i].unused.head = NO_INDEX;
		t->indices[i].retired.head = NO_INDEX;
	}
	t->limit = limit;
	return 0;
}

u32 ds_token_table_destroy(struct ds_token_table *t)
{
	u32 i;

	for (i = 0; i < t->used; i++)
		page_free(&t->pages[i]);
	ds_wide_destroy(&t->wide);
	table_free(t);
	return t->live;
}

int ds_token_create_for(struct ds_token_table *t, u8 owner, const struct ds_token_desc *d,
			u32 *token)
{
	struct ds_token_pack p;
	u32 where;
	int ret;

	ret = ds_token_check(d);
	if (ret)
		return ret;
	if (!ds_token_pack(d, &p))
		return token_create(t, owner, d->type, &p, token);

	ret = ds_wide_add(&t->wide, d, &where);
	if (ret)
		return ret;
	ds_token_pack_wide(d, where, &p);
	ret = token_create(t, owner, d->type, &p, token);
	if (ret)
		ds_wide_del(&t->wide, where);
	return ret;
}

int ds_token_create(struct ds_token_table *t, const struct ds_token_desc *d, u32 *token)
{
	return ds_token_create_for(t, 0, d, token);
}

u8 ds_token_owner(const struct ds_token_table *t, u32 token)
{
	return READ_ONCE(t->owners[ds_token_index(token) / DS_TOKEN_PAGE]);
}

int ds_token_find(const struct ds_token_table *t, u32 token, u64 *word)
{
	const u64 *place = ds_token_word(t, token);
	int ret;
	u64 w;

	if (!place)
		return -EBADF;
	/* What is read at home next is not older than the word. */
	w = smp_load_acquire(place);
	ret = ds_word_check(w, token);
	if (!ret)
		*word = w;
	return ret;
}

/* The last use is the revoker's. */
int ds_token_begin(u64 *place, u32 token, u64 *word)
{
	u64 w, seen = READ_ONCE(*place);
	int ret;

	do {
		w = seen;
		ret = ds_word_check(w, token);
		if (ret)
			return ret;
		if (ds_word_uses(w) >= DS_WORD_USES_MAX - 1)
			return -EOVERFLOW;
		seen = ds_cmpxchg64(place, w, w + DS_WORD_USE);
	} while (seen != w);
	*word = w + DS_WORD_USE;
	return 0;
}

int ds_token_get_pack(struct ds_token_table *t, u32 token, u64 *word, struct ds_token_pack *p)
{
	u64 *place = ds_token_word(t, token);
	int ret;

	if (!place)
		return -EBADF;
	ret = ds_token_begin(place, token, word);
	if (ret)
		return ret;
	ret = ds_token_copy(t, token, word, p);
	if (ret)
		ds_token_put(t, token);
	return ret;
}

int ds_token_get(struct ds_token_table *t, u32 token, struct ds_token_desc *out)
{
	const struct ds_token_desc *wide = NULL;
	struct ds_token_pack p;
	u32 where;
	u64 word;
	int ret;

	ret = ds_token_get_pack(t, token, &word, &p);
	if (ret)
		return ret;
	if (ds_token_pack_is_wide(&p, &where))
		wide = ds_wide_get(&t->wide, where);
	ret = ds_token_unpack(&p, wide, out);
	if (ret)
		ds_token_put(t, token);
	else
		ds_token_found(out, word);
	return ret;
}

int ds_token_hold(struct ds_token_table *t, u32 token)
{
	u64 *place = ds_token_word(t, token), word;

	return place ? ds_token_begin(place, token, &word) : -EBADF;
}

/* Where the waiter of a revoked token is kept: in the last word of its home. */
static u64 *token_waiter(const struct ds_token_table *t, u32 index, u64 word)
{
	u32 words = ds_token_words((u8)ds_word_type(word));

	return &ds_token_home(t, index, words)[words - 1];
}

static bool is_last(u64 word)
{
	return ds_word_state(word) == DS_TOKEN_REVOKED && ds_word_uses(word) == 1;
}

/* End a use. True if nobody uses a revoked token any more; who waits is then in @idle. */
static bool token_end(const struct ds_token_table *t, u32 index, u64 *place,
		      struct ds_token_idle **idle)
{
	u64 word, seen;

	/* Pairs with the exchange in token_end() of the revoker: the waiter is written. */
	seen = smp_load_acquire(place);
	do {
		word = seen;
		if (!ds_word_uses(word))
			return false;
		/* Behind the exchange the home may be somebody else's. */
		if (is_last(word))
			*idle = (struct ds_token_idle *)(unsigned long)
				READ_ONCE(*token_waiter(t, index, word));
		if (ds_cmpxchg64(place, word, word - DS_WORD_USE) == word)
			return is_last(word);
		/* See above. */
		seen = smp_load_acquire(place);
	} while (true);
}

void ds_token_put(struct ds_token_table *t, u32 token)
{
	u64 *place = ds_token_word(t, token);
	struct ds_token_idle *idle;

	if (place && token_end(t, ds_token_index(token), place, &idle))
		idle->done(idle);
}

/* The slot of a revoked word says what has to be freed with it. */
static u32 revoked_slot(const struct ds_token_table *t, u32 index, u64 word)
{
	const u64 *home = ds_token_home(t, index, ds_token_words((u8)ds_word_type(word)));
	struct ds_token_pack p = { READ_ONCE(home[0]), 0 };
	u32 where;

	return ds_token_pack_is_wide(&p, &where) ? where + 1 : NO_WIDE;
}

/* The revoker is one of the users until the waiter is written. */
static int token_revoke(struct ds_token_table *t, u32 token, u64 *place)
{
	u64 word, seen = READ_ONCE(*place);
	u32 index = ds_token_index(token);
	int ret;

	for (;;) {
		/* Who writes is soon done, and would write over the waiter. */
		word = seen & ~DS_WORD_WRITER;
		ret = ds_word_check(word, token);
		if (ret)
			return ret;
		seen = ds_cmpxchg64(place, word, DS_WORD_USE +
				    ds_word_move(word, DS_TOKEN_REVOKED,
						 revoked_slot(t, index, word)));
		if (seen == word)
			break;
		cpu_relax();
	}
	ds_token_leave(t, token, word);
	return 0;
}

int ds_token_revoke(struct ds_token_table *t, u32 token, struct ds_token_idle *idle)
{
	u64 *place = ds_token_word(t, token);
	u32 index = ds_token_index(token);
	int ret;

	if (!place)
		return -EBADF;
	ret = token_revoke(t, token, place);
	if (ret)
		return ret;
	/* Not before the word was changed, so that nobody takes it for a description. */
	smp_store_release(token_waiter(t, index, READ_ONCE(*place)), (u64)(unsigned long)idle);
	return token_end(t, index, place, &idle) ? 0 : -EINPROGRESS;
}

void ds_token_free(struct ds_token_table *t, u32 token)
{
	u32 words = ds_token_words((u8)ds_token_type_of(token)), wide;
	struct ds_token_indices *set = indices_of(t, ds_token_owner(t, token), words);
	u32 index = ds_token_index(token);
	u64 *place = ds_token_word(t, token), word;

	if (!place)
		return;

	ds_spin_lock(&t->lock);
	word = READ_ONCE(*place);
	wide = ds_word_slot(word);
	if (ds_word_state(word) != DS_TOKEN_REVOKED || ds_word_uses(word) ||
	    ds_word_gen(word) != ds_token_gen(token) ||
	    ds_word_type(word) != ds_token_type_of(token) ||
	    ds_cmpxchg64(place, word, ds_word_move(word, DS_TOKEN_FREE, 0)) != word)
		goto out;
	if (wide != NO_WIDE)
		ds_wide_del(&t->wide, wide - 1);
	WRITE_ONCE(t->live, t->live - 1);
	chain_add(t, ds_token_gen(token) == DS_WORD_GEN_MAX ? &set->retired : &set->unused,
		  index, words);
out:
	ds_spin_unlock(&t->lock);
}

u32 ds_token_count(const struct ds_token_table *t)
{
	return READ_ONCE(t->live);
}
