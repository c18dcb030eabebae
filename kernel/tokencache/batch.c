// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: tokens that were missed are fetched together.
 */
#include "batch.h"

#define BATCH_MAX	1024u
#define PREFETCH_MAX	65536u	/* bytes; document 001's L2_PAGE_PREFETCH_SIZE */
#define BUSY_NS		1000u	/* until DMA that was saturated is tried again */

/* 001 fetches 64 KiB, which are 4096 tokens: more than a miss is worth. */
const struct ds_param ds_batch_params[DS_BATCH_PARAMS] = {
	[DS_PREFETCH_BATCH_THRESHOLD]	= { "PREFETCH_BATCH_THRESHOLD", 1, BATCH_MAX, 64, false },
	[DS_MAX_BATCH]			= { "MAX_BATCH", 1, BATCH_MAX, 256, false },
	[DS_PREFETCH_TIMER_NS]		= { "PREFETCH_TIMER_NS", 0, 1000000000, 5000, false },
	[DS_L2_PAGE_PREFETCH_SIZE]	= { "L2_PAGE_PREFETCH_SIZE", 0, PREFETCH_MAX, 256, false },
	[DS_PREFETCH_DROP]		= { "PREFETCH_DROP", 0, 1, 0, false },
	[DS_PREFETCH_QUEUE]		= { "PREFETCH_QUEUE", 1, 65536, 1024, true },
	[DS_PREFETCH_STAGING]		= { "PREFETCH_STAGING", 1, 65536, 256, true },
};

/* A token that waits; @joined: misses beside the first; @taken: a flush has it. */
struct ds_batch_entry {
	u64 since;
	u32 joined;
	struct ds_waiter *waiters;
	bool taken;
};

struct ds_batch_staged {
	struct ds_batch_item item;
	bool full;
};

struct ds_batch_work {
	u32 page;
	u32 slot;
	u32 token;
};

static u64 param(const struct ds_batch *b, enum ds_batch_param which)
{
	return READ_ONCE(b->params[which]);
}

/* ---- beginning and end ---- */

static int batch_alloc(struct ds_batch *b)
{
	u64 queue = param(b, DS_PREFETCH_QUEUE), staging = param(b, DS_PREFETCH_STAGING);
	int ret = ds_slotmap_init(&b->map, (u32)(queue + staging));

	if (ret)
		return ret;
	b->queue = ds_alloc(queue * sizeof(b->queue[0]));
	b->links = ds_alloc(queue * sizeof(b->links[0]));
	b->staging = ds_alloc(staging * sizeof(b->staging[0]));
	b->work = ds_alloc(BATCH_MAX * sizeof(b->work[0]));
	b->tokens = ds_alloc(PREFETCH_MAX / DS_BATCH_TOKEN_BYTES * sizeof(b->tokens[0]));
	b->items = ds_alloc((BATCH_MAX + PREFETCH_MAX / DS_BATCH_TOKEN_BYTES) *
			    sizeof(b->items[0]));
	return b->queue && b->links && b->staging && b->work && b->tokens && b->items ?
	       0 : -ENOMEM;
}

int ds_batch_init(struct ds_batch *b, const struct ds_batch_ops *ops, const u64 *params)
{
	u32 slot;
	int ret;

	memset(b, 0, sizeof(*b));
	ret = ds_param_init(b->params, params, ds_batch_params, DS_BATCH_PARAMS);
	if (ret)
		return ret;
	ret = batch_alloc(b);
	if (ret) {
		ds_batch_destroy(b);
		return ret;
	}
	b->ops = ops;
	ds_spin_init(&b->lock);
	ds_slotlist_init(&b->waiting);
	ds_slotlist_init(&b->spare);
	for (slot = 0; slot < param(b, DS_PREFETCH_QUEUE); slot++)
		ds_slotlist_add(&b->spare, b->links, slot);
	return 0;
}

void ds_batch_destroy(struct ds_batch *b)
{
	ds_slotmap_destroy(&b->map);
	ds_free(b->queue);
	ds_free(b->links);
	ds_free(b->staging);
	ds_free(b->work);
	ds_free(b->tokens);
	ds_free(b->items);
}

int ds_batch_set(struct ds_batch *b, u32 which, u64 value)
{
	if (which >= DS_BATCH_PARAMS || !ds_param_fits(&ds_batch_params[which], value))
		return -EINVAL;
	if (ds_batch_params[which].fixed)
		return -EPERM;
	WRITE_ONCE(b->params[which], value);
	return 0;
}

/* ---- the queue, under the lock ---- */

static bool in_queue(const struct ds_batch *b, u32 slot)
{
	return slot < param(b, DS_PREFETCH_QUEUE);
}

static u32 enter(struct ds_batch *b, u32 token, u64 now)
{
	u32 slot = b->spare.first;

	ds_slotlist_del(&b->spare, b->links, slot);
	ds_slotlist_add(&b->waiting, b->links, slot);
	ds_slotmap_add(&b->map, slot, token);
	b->queue[slot] = (struct ds_batch_entry){ .since = now };
	b->stats.queued++;
	return slot;
}

/* A token waits no more. Return: who waited for it. */
static struct ds_waiter *leave(struct ds_batch *b, u32 slot)
{
	ds_slotlist_del(&b->waiting, b->links, slot);
	ds_slotlist_add(&b->spare, b->links, slot);
	ds_slotmap_del(&b->map, slot);
	return b->queue[slot].waiters;
}

/* The device has gone away: a token waits no more, and who waited is among @waiters. */
static void cut(struct ds_batch *b, u32 slot, struct ds_waiter **waiters)
{
	ds_waiter_move(waiters, leave(b, slot));
	b->stats.cut++;
}

static int refuse(struct ds_batch *b)
{
	if (param(b, DS_PREFETCH_DROP)) {
		b->stats.dropped++;
		return -ENOSPC;
	}
	b->stats.refused++;
	b->starved = true;
	return -EAGAIN;
}

static int wait_for(struct ds_batch *b, u32 token, struct ds_waiter *w, u64 now)
{
	u32 slot = ds_slotmap_find(&b->map, token);

	if (b->gone)
		return -ENODEV;
	if (slot == DS_SLOT_NONE && !b->spare.count)
		return refuse(b);
	if (slot == DS_SLOT_NONE) {
		slot = enter(b, token, now);
	} else {
		b->queue[slot].joined++;
		b->stats.joined++;
	}
	if (w)
		ds_waiter_add(&b->queue[slot].waiters, w);
	return -EINPROGRESS;
}

/* Is there room that a producer waits for? It is told once. */
static bool takes_room(struct ds_batch *b)
{
	bool room = b->starved && b->spare.count;

	if (room)
		b->starved = false;
	return room;
}

static void tell_room(struct ds_batch *b, bool room)
{
	if (room && b->ops->room)
		b->ops->room(b);
}

/* ---- staging ---- */

/* Who is there longest, used or not, makes place. */
static void stage(struct ds_batch *b, const struct ds_batch_item *item)
{
	struct ds_batch_staged *s;
	u32 slot;

	ds_spin_lock(&b->lock);
	if (item->ret || ds_slotmap_find(&b->map, item->token) != DS_SLOT_NONE) {
		b->stats.unused++;
		goto out;
	}
	s = &b->staging[b->stage_at];
	slot = (u32)param(b, DS_PREFETCH_QUEUE) + b->stage_at;
	if (s->full) {
		ds_slotmap_del(&b->map, slot);
		b->stats.unused++;
	}
	*s = (struct ds_batch_staged){ .item = *item, .full = true };
	ds_slotmap_add(&b->map, slot, item->token);
	b->stage_at = (b->stage_at + 1) % (u32)param(b, DS_PREFETCH_STAGING);
out:
	ds_spin_unlock(&b->lock);
}

/* Take a token out of staging, if it is there. Under the lock. */
static bool unstage(struct ds_batch *b, u32 token, struct ds_batch_item *item)
{
	u32 slot = ds_slotmap_find(&b->map, token);
	struct ds_batch_staged *s;

	if (slot == DS_SLOT_NONE || in_queue(b, slot))
		return false;
	s = &b->staging[slot - param(b, DS_PREFETCH_QUEUE)];
	*item = s->item;
	s->full = false;
	ds_slotmap_del(&b->map, slot);
	b->stats.used++;
	return true;
}

static int install(struct ds_batch *b, const struct ds_batch_item *item)
{
	return item->ret ?: b->ops->install(b, item);
}

/* Under the lock. */
static void count_end(struct ds_batch *b, const struct ds_batch_item *item, int ret)
{
	if (!ret)
		b->stats.installed++;
	else if (ret == -ESTALE)
		b->stats.stale++;
	else if (item->ret)
		b->stats.failed++;
	else
		b->stats.declined++;
}

int ds_batch_add(struct ds_batch *b, u32 token, struct ds_waiter *w, u64 now)
{
	struct ds_batch_item item;
	int ret;

	ds_spin_lock(&b->lock);
	/* One that is stale by now, or could not come, is fetched. */
	while (!b->gone && unstage(b, token, &item)) {
		ds_spin_unlock(&b->lock);
		item.since = now;
		ret = install(b, &item);
		ds_spin_lock(&b->lock);
		count_end(b, &item, ret);
		if (ret != -ESTALE && ret != -EAGAIN)
			goto unlock;
	}
	ret = wait_for(b, token, w, now);
unlock:
	ds_spin_unlock(&b->lock);
	return ret;
}

bool ds_batch_cancel(struct ds_batch *b, u32 token, struct ds_waiter *w)
{
	bool found;
	u32 slot;

	ds_spin_lock(&b->lock);
	slot = ds_slotmap_find(&b->map, token);
	found = slot != DS_SLOT_NONE && in_queue(b, slot) &&
		ds_waiter_del(&b->queue[slot].waiters, w);
	ds_spin_unlock(&b->lock);
	return found;
}

/* ---- flush ---- */

static u64 due_in(const struct ds_batch *b, u64 now)
{
	u64 timer = param(b, DS_PREFETCH_TIMER_NS), since, age;
	u64 enough = min(param(b, DS_PREFETCH_BATCH_THRESHOLD), param(b, DS_PREFETCH_QUEUE));

	if (!b->waiting.count)
		return DS_BATCH_NEVER;
	if (b->flushing)
		return max(timer, 1ull);
	if (now < b->resume_at)
		return b->resume_at - now;
	since = b->queue[b->waiting.first].since;
	age = now > since ? now - since : 0;
	return b->waiting.count >= enough || age >= timer ? 0 : timer - age;
}

u64 ds_batch_due(struct ds_batch *b, u64 now)
{
	u64 ns;

	ds_spin_lock(&b->lock);
	ns = due_in(b, now);
	ds_spin_unlock(&b->lock);
	return ns;
}

/* Begin a flush. Return: tokens taken; they stay in the queue, where others may join. */
static u32 take(struct ds_batch *b)
{
	u32 slot, count = 0;

	ds_spin_lock(&b->lock);
	if (b->flushing)
		goto out;
	for (slot = b->waiting.first;
	     slot != DS_SLOT_NONE && count < param(b, DS_MAX_BATCH); slot = b->links[slot].after) {
		b->queue[slot].taken = true;
		b->work[count++] = (struct ds_batch_work) {
			.slot = slot, .token = ds_slotmap_token(&b->map, slot),
		};
	}
	b->flushing = count;
	b->stats.flushes += b->flushing;
out:
	ds_spin_unlock(&b->lock);
	return count;
}

/* By page, and in a page as they came. There are few. */
static void cluster_by_page(struct ds_batch *b, u32 count)
{
	struct ds_batch_work work;
	u32 i, at;

	for (i = 0; i < count; i++) {
		work = b->work[i];
		work.page = b->ops->page(b, work.token);
		for (at = i; at && b->work[at - 1].page > work.page; at--)
			b->work[at] = b->work[at - 1];
		b->work[at] = work;
	}
}

static u32 cluster_size(const struct ds_batch_work *work, u32 most)
{
	u32 count = 1;

	while (count < most && work[count].page == work->page)
		count++;
	return count;
}

/* Put neighbours behind @count items that were asked for. Return: how many. */
static u32 add_neighbours(struct ds_batch *b, u32 page, u32 count)
{
	u32 most = (u32)param(b, DS_L2_PAGE_PREFETCH_SIZE) / DS_BATCH_TOKEN_BYTES, found, i;
	u32 added = 0;

	most = min(most, b->near);
	if (!most || !b->ops->neighbours)
		return 0;
	found = b->ops->neighbours(b, page, b->items[count - 1].token, b->tokens, most);
	ds_spin_lock(&b->lock);
	for (i = 0; i < found; i++)
		if (ds_slotmap_find(&b->map, b->tokens[i]) == DS_SLOT_NONE)
			b->items[count + added++] = (struct ds_batch_item){ .token = b->tokens[i] };
	ds_spin_unlock(&b->lock);
	b->near -= added;
	return added;
}

/* One DMA operation. */
static int fetch(struct ds_batch *b, u32 page, struct ds_batch_item *items, u32 count,
		 u32 neighbours)
{
	int ret = b->ops->fetch(b, page, items, count + neighbours);

	ds_spin_lock(&b->lock);
	if (ret == -EBUSY) {
		b->stats.busy++;
	} else {
		b->stats.fetches++;
		b->stats.fetched += count;
		b->stats.neighbours += neighbours;
	}
	ds_spin_unlock(&b->lock);
	return ret;
}

/* What is known of who waits, as late as can be: a miss may join until the token is installed. */
static void note_misses(struct ds_batch *b, u32 slot, struct ds_batch_item *item)
{
	ds_spin_lock(&b->lock);
	item->joined = b->queue[slot].joined;
	item->since = b->queue[slot].since;
	ds_spin_unlock(&b->lock);
}

/* A token waits no more, and who joined while it was being installed has used it, too. */
static void end(struct ds_batch *b, u32 slot, const struct ds_batch_item *item, int ret)
{
	struct ds_waiter *waiters;
	u32 late;

	ds_spin_lock(&b->lock);
	count_end(b, item, ret);
	late = b->queue[slot].joined - item->joined;
	waiters = leave(b, slot);
	ds_spin_unlock(&b->lock);
	if (late && b->used && !item->ret && ret != -ESTALE)
		b->used(b, item->token, late);
	ds_waiter_tell(waiters, ret);
}

/*
 * A token that is written to all the time would hardly ever come if it had to stay as it was while
 * those before it are installed. If it still lies there it is fetched again, and is the next one.
 */
static int install_asked(struct ds_batch *b, u32 page, struct ds_batch_item *item)
{
	int ret = install(b, item);

	if (ret != -ESTALE || item->ret || b->ops->page(b, item->token) != page)
		return ret;
	ret = fetch(b, page, item, 1, 0);
	if (ret == -EBUSY)
		return -ESTALE;
	if (ret)
		item->ret = ret;
	return install(b, item);
}

/* Tokens of one page. -EBUSY: they wait on; whatever else happens, they are told. */
static int flush_page(struct ds_batch *b, const struct ds_batch_work *work, u32 count)
{
	u32 i, neighbours = 0;
	int ret = -ESTALE;

	for (i = 0; i < count; i++)
		b->items[i] = (struct ds_batch_item){ .token = work[i].token };
	if (work->page != DS_BATCH_NOWHERE) {
		neighbours = add_neighbours(b, work->page, count);
		ret = fetch(b, work->page, b->items, count, neighbours);
		if (ret == -EBUSY)
			return ret;
	}
	for (i = 0; ret && i < count + neighbours; i++)
		b->items[i].ret = ret;
	for (i = 0; i < count; i++) {
		note_misses(b, work[i].slot, &b->items[i]);
		end(b, work[i].slot, &b->items[i],
		    install_asked(b, work->page, &b->items[i]));
	}
	for (; i < count + neighbours; i++)
		stage(b, &b->items[i]);
	return 0;
}

/* End a flush that has done @done of @count tokens. The others wait on, if they may. */
static void put_back(struct ds_batch *b, u32 done, u32 count, u64 now)
{
	struct ds_waiter *waiters = NULL;
	bool room;

	ds_spin_lock(&b->lock);
	if (done < count)
		b->resume_at = now + BUSY_NS;
	for (; done < count; done++) {
		if (b->gone)
			cut(b, b->work[done].slot, &waiters);
		else
			b->queue[b->work[done].slot].taken = false;
	}
	b->flushing = false;
	room = takes_room(b);
	ds_spin_unlock(&b->lock);
	ds_waiter_tell(waiters, -ENODEV);
	tell_room(b, room);
}

u32 ds_batch_flush(struct ds_batch *b, u64 now)
{
	u32 count = take(b), done, size;

	if (!count)
		return 0;
	cluster_by_page(b, count);
	b->near = (u32)param(b, DS_PREFETCH_STAGING);
	for (done = 0; done < count; done += size) {
		size = cluster_size(&b->work[done], count - done);
		if (flush_page(b, &b->work[done], size))
			break;
		if (b->ops->pause)
			b->ops->pause(b);
	}
	put_back(b, done, count, now);
	return done;
}

void ds_batch_shut(struct ds_batch *b)
{
	struct ds_waiter *waiters = NULL;
	u32 slot, after;
	bool room;

	ds_spin_lock(&b->lock);
	b->gone = true;
	for (slot = b->waiting.first; slot != DS_SLOT_NONE; slot = after) {
		after = b->links[slot].after;
		if (!b->queue[slot].taken)
			cut(b, slot, &waiters);
	}
	room = takes_room(b);
	ds_spin_unlock(&b->lock);
	ds_waiter_tell(waiters, -ENODEV);
	tell_room(b, room);
}
