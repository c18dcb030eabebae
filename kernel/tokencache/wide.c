// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: descriptions of the objects that do not fit into a packed token.
 */
#include "wide.h"

#define PAGES	((DS_WIDE_MAX + DS_WIDE_PAGE) / DS_WIDE_PAGE)

/* A free record is a link of the chain of free ones. */
union record {
	struct ds_token_desc desc;
	u32 next;
};

struct ds_wide_page {
	union record records[DS_WIDE_PAGE];
};

static union record *record_of(const struct ds_wide *w, u32 where)
{
	/* Pairs with the release in wide_take(). */
	return &smp_load_acquire(&w->pages[where / DS_WIDE_PAGE])->records[where % DS_WIDE_PAGE];
}

void ds_wide_init(struct ds_wide *w)
{
	memset(w, 0, sizeof(*w));
	ds_spin_init(&w->lock);
}

void ds_wide_destroy(struct ds_wide *w)
{
	u32 i;

	for (i = 0; i < w->used; i += DS_WIDE_PAGE)
		ds_free(w->pages[i / DS_WIDE_PAGE]);
	ds_free(w->pages);
	w->pages = NULL;
}

/* The first record brings the table, which has room for all that there can be. */
static int wide_prepare(struct ds_wide *w)
{
	struct ds_wide_page **pages;

	if (READ_ONCE(w->pages))
		return 0;
	pages = ds_alloc(PAGES * sizeof(pages[0]));
	if (!pages)
		return -ENOMEM;
	ds_spin_lock(&w->lock);
	if (!w->pages) {
		WRITE_ONCE(w->pages, pages);
		pages = NULL;
	}
	ds_spin_unlock(&w->lock);
	ds_free(pages);
	return 0;
}

/* -EAGAIN: it needs a new page; call again with one in *@spare. Under the lock. */
static int wide_take(struct ds_wide *w, struct ds_wide_page **spare, u32 *where)
{
	struct ds_wide_page **page = &w->pages[w->used / DS_WIDE_PAGE];

	if (w->free) {
		*where = w->free - 1;
		w->free = record_of(w, *where)->next;
		return 0;
	}
	if (w->used == DS_WIDE_MAX)
		return -ENOSPC;
	if (!*page) {
		if (!*spare)
			return -EAGAIN;
		/* Pairs with the acquire in record_of(). */
		smp_store_release(page, *spare);
		*spare = NULL;
	}
	*where = w->used++;
	return 0;
}

int ds_wide_add(struct ds_wide *w, const struct ds_token_desc *d, u32 *where)
{
	struct ds_wide_page *spare = NULL;
	int ret = wide_prepare(w);

	if (ret)
		return ret;
	/* At most twice: a page in hand is enough. */
	do {
		ds_spin_lock(&w->lock);
		ret = wide_take(w, &spare, where);
		if (!ret) {
			record_of(w, *where)->desc = *d;
			w->live++;
		}
		ds_spin_unlock(&w->lock);
		if (ret != -EAGAIN)
			break;
		spare = ds_alloc(sizeof(*spare));
	} while (spare);

	ds_free(spare);
	return ret == -EAGAIN ? -ENOMEM : ret;
}

const struct ds_token_desc *ds_wide_get(const struct ds_wide *w, u32 where)
{
	return &record_of(w, where)->desc;
}

void ds_wide_del(struct ds_wide *w, u32 where)
{
	ds_spin_lock(&w->lock);
	record_of(w, where)->next = w->free;
	w->free = where + 1;
	w->live--;
	ds_spin_unlock(&w->lock);
}
