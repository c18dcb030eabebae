// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: whole descriptions of wide tokens, kept.
 *
 * A buffer is free, asked for, kept, or asked for by a token that has ended meanwhile: then
 * it is free when the mailbox has told it so, for until then the host may write to it.
 */
#include "whole.h"
#include "table.h"

static struct ds_whole_copy *set_of(struct ds_whole *w, u32 token)
{
	return &w->copies[hash_64(token, ilog2((u64)DS_WHOLE_SETS)) * DS_WHOLE_WAYS];
}

/* A use keeps the token from ending, and so the copy from being another one's. */
static const struct ds_token_desc *find_kept(struct ds_whole *w, u32 token)
{
	struct ds_whole_copy *set = set_of(w, token);
	u32 i;

	for (i = 0; i < DS_WHOLE_WAYS; i++)
		/* Pairs with the release in copy_told(): the description is there. */
		if (smp_load_acquire(&set[i].kept) == token)
			return &set[i].desc;
	return NULL;
}

/* The buffer that a token has asked for. Under the lock, as all below. */
static struct ds_whole_copy *find_copy(struct ds_whole *w, u32 token)
{
	struct ds_whole_copy *set = set_of(w, token);
	u32 i;

	for (i = 0; i < DS_WHOLE_WAYS; i++)
		if (set[i].token == token && !set[i].ended)
			return &set[i];
	return NULL;
}

static struct ds_whole_copy *find_free(struct ds_whole *w, u32 token)
{
	struct ds_whole_copy *set = set_of(w, token);
	u32 i;

	for (i = 0; i < DS_WHOLE_WAYS; i++)
		if (!set[i].token)
			return &set[i];
	return NULL;
}

static void copy_told(struct ds_waiter *waiter, int ret)
{
	struct ds_whole_copy *copy = container_of(waiter, struct ds_whole_copy, w.base);
	struct ds_whole *w = copy->owner;

	ds_spin_lock(&w->lock);
	if (ret || copy->ended) {
		w->stats.failed++;
		copy->token = 0;
		copy->ended = false;
	} else {
		w->stats.kept++;
		/* Pairs with the acquire in find_kept(). */
		smp_store_release(&copy->kept, copy->token);
	}
	ds_spin_unlock(&w->lock);
}

void ds_whole_init(struct ds_whole *w, struct ds_fetch *fetch)
{
	u32 i;

	memset(w, 0, sizeof(*w));
	w->fetch = fetch;
	ds_spin_init(&w->lock);
	for (i = 0; i < ARRAY_SIZE(w->copies); i++) {
		w->copies[i].owner = w;
		w->copies[i].w.base.done = copy_told;
		w->copies[i].w.buffer = &w->copies[i].desc;
	}
}

int ds_whole_get(struct ds_whole *w, u32 token, struct ds_token_desc *out)
{
	const struct ds_token_desc *whole = NULL;
	struct ds_cache *c = w->fetch->cache;
	struct ds_token_pack p;
	int ret, at_home = 0;
	u32 where;
	u64 word;

	ret = ds_token_get_pack(&c->table, token, &word, &p);
	if (ret)
		return ret;
	if (ds_token_pack_is_wide(&p, &where)) {
		whole = find_kept(w, token);
		at_home = !whole;
		if (at_home)
			whole = ds_wide_get(&c->table.wide, where);
	}
	ret = ds_token_unpack(&p, whole, out);
	if (ret) {
		ds_token_put(&c->table, token);
		return ret;
	}
	ds_token_found(out, word);
	ds_cache_hit(c, out->tier, out->slot);
	return at_home;
}

/* Who finds no room in each use must not keep others from the lock. */
static bool is_full_of_kept(const struct ds_whole_copy *set)
{
	u32 i;

	for (i = 0; i < DS_WHOLE_WAYS; i++)
		if (!READ_ONCE(set[i].kept))
			return false;
	return true;
}

int ds_whole_ask(struct ds_whole *w, u32 token, u32 requester, u64 now)
{
	struct ds_whole_copy *copy;
	int ret = -EEXIST;

	if (is_full_of_kept(set_of(w, token)))
		return find_kept(w, token) ? -EEXIST : -ENOSPC;
	ds_spin_lock(&w->lock);
	if (find_copy(w, token))
		goto out;
	copy = find_free(w, token);
	if (!copy) {
		ret = -ENOSPC;
		goto out;
	}
	ret = ds_fetch_whole(w->fetch, token, requester, DS_EXPAND_BACKGROUND, &copy->w, now);
	if (ret == -EINPROGRESS)
		copy->token = token;
out:
	ds_spin_unlock(&w->lock);
	return ret;
}

void ds_whole_forget(struct ds_whole *w, u32 token)
{
	struct ds_whole_copy *copy;

	ds_spin_lock(&w->lock);
	copy = find_copy(w, token);
	if (copy && (copy->kept || ds_expand_cancel(&w->fetch->box, &copy->w))) {
		WRITE_ONCE(copy->kept, 0);
		copy->token = 0;
	} else if (copy) {
		copy->ended = true;
	}
	ds_spin_unlock(&w->lock);
}
