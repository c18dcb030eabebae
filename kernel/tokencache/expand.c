// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: the mailbox in which the host is asked for whole descriptors.
 *
 * A slot is spare, in one of the queues, or taken, and until it is completed its request
 * may be joined. It is spare at once when nobody waits any more; a completion then finds
 * another number there.
 */
#include "expand.h"

#define NO_REQUEST	0u	/* number of a spare slot */
#define NOT_STAGED	1	/* nor tried; beside 0 and errors of expand_stage() */

const struct ds_param ds_expand_params[DS_EXPAND_PARAMS] = {
	[DS_EXPAND_URGENT_RUN] = { "EXPAND_URGENT_RUN", 1, 1024, 8, false },
	[DS_EXPAND_TIMEOUT_NS] = { "EXPAND_TIMEOUT_NS", 1000, 60000000000, 10000000, false },
	[DS_EXPAND_HOT_PAGE] = { "EXPAND_HOT_PAGE", 0, 65536, 4, false },
	[DS_EXPAND_PRESTAGE] = { "EXPAND_PRESTAGE", 0, DS_EXPAND_NEIGHBOURS, 8, false },
	[DS_EXPAND_BACKGROUND_MAX] = { "EXPAND_BACKGROUND_MAX", 1, 4096, 192, false },
	[DS_EXPAND_REQUESTER_MAX] = { "EXPAND_REQUESTER_MAX", 1, 4096, 64, false },
	[DS_EXPAND_MAILBOX] = { "EXPAND_MAILBOX", 1, 4096, 256, true },
};

/**
 * struct ds_expand_slot - a request
 * @seq: its number, or NO_REQUEST
 * @waiters: of struct ds_expand_waiter
 * @list: in which the slot is
 * @page: of the token, at home
 * @priority: enum ds_expand_priority
 * @requester: who was the first to ask, or made the page hot
 * @unattended: somebody asked without waiting
 * @stage: somebody wants it in L2
 * @prestaged: nobody asked
 */
struct ds_expand_slot {
	u64 seq;
	struct ds_waiter *waiters;
	struct ds_slotlist *list;
	u32 page;
	u32 priority;
	u32 requester;
	bool unattended;
	bool stage;
	bool prestaged;
};

static u64 expand_param(const struct ds_expand *box, enum ds_expand_param which)
{
	return READ_ONCE(box->params[which]);
}

static struct ds_expand_waiter *waiter_of(struct ds_waiter *w)
{
	return container_of(w, struct ds_expand_waiter, base);
}

static void put_into(struct ds_expand *box, struct ds_slotlist *list, u32 slot)
{
	if (box->slots[slot].list)
		ds_slotlist_del(box->slots[slot].list, box->links, slot);
	ds_slotlist_add(list, box->links, slot);
	box->slots[slot].list = list;
}

/* ---- beginning and end ---- */

int ds_expand_init(struct ds_expand *box, const struct ds_expand_ops *ops, const u64 *params)
{
	u32 slot, slots;
	int ret;

	memset(box, 0, sizeof(*box));
	ret = ds_param_init(box->params, params, ds_expand_params, DS_EXPAND_PARAMS);
	if (ret)
		return ret;
	slots = (u32)expand_param(box, DS_EXPAND_MAILBOX);
	ret = ds_slotmap_init(&box->map, slots);
	if (ret)
		return ret;
	box->slots = ds_alloc(slots * sizeof(box->slots[0]));
	box->links = ds_alloc(slots * sizeof(box->links[0]));
	if (!box->slots || !box->links) {
		ds_expand_destroy(box);
		return -ENOMEM;
	}
	box->ops = ops;
	ds_spin_init(&box->lock);
	ds_slotlist_init(&box->queue[DS_EXPAND_URGENT]);
	ds_slotlist_init(&box->queue[DS_EXPAND_BACKGROUND]);
	ds_slotlist_init(&box->taken);
	ds_slotlist_init(&box->spare);
	for (slot = 0; slot < slots; slot++)
		put_into(box, &box->spare, slot);
	return 0;
}

void ds_expand_destroy(struct ds_expand *box)
{
	ds_slotmap_destroy(&box->map);
	ds_free(box->slots);
	ds_free(box->links);
}

int ds_expand_set(struct ds_expand *box, u32 which, u64 value)
{
	if (which >= DS_EXPAND_PARAMS || !ds_param_fits(&ds_expand_params[which], value))
		return -EINVAL;
	if (ds_expand_params[which].fixed)
		return -EPERM;
	WRITE_ONCE(box->params[which], value);
	return 0;
}

/* ---- requests, under the lock ---- */

/* Return: 0; -EBUSY: the requester has its part of it; -EAGAIN: all is in use. */
static int check_room(const struct ds_expand *box, u32 requester, u32 priority)
{
	if (box->held[requester] >= expand_param(box, DS_EXPAND_REQUESTER_MAX))
		return -EBUSY;
	if (!box->spare.count || (priority == DS_EXPAND_BACKGROUND &&
				  box->background >= expand_param(box, DS_EXPAND_BACKGROUND_MAX)))
		return -EAGAIN;
	return 0;
}

static u32 open_request(struct ds_expand *box, u32 token, u32 page, u32 requester, u32 priority)
{
	u32 slot = box->spare.first;
	struct ds_expand_slot *s = &box->slots[slot];

	put_into(box, &box->queue[priority], slot);
	ds_slotmap_add(&box->map, slot, token);
	s->seq = ++box->seq;
	s->page = page;
	s->priority = priority;
	s->requester = requester;
	s->unattended = false;
	s->stage = false;
	box->background += priority == DS_EXPAND_BACKGROUND;
	box->held[requester]++;
	return slot;
}

/* Return: who waited. */
static struct ds_waiter *close_request(struct ds_expand *box, u32 slot)
{
	struct ds_expand_slot *s = &box->slots[slot];
	struct ds_waiter *waiters = s->waiters;

	put_into(box, &box->spare, slot);
	ds_slotmap_del(&box->map, slot);
	s->seq = NO_REQUEST;
	s->waiters = NULL;
	box->background -= s->priority == DS_EXPAND_BACKGROUND;
	box->held[s->requester]--;
	return waiters;
}

/* With its token, or with the mailbox. Return: who waited. */
static struct ds_waiter *cut_request(struct ds_expand *box, u32 slot)
{
	box->stats.ended++;
	return close_request(box, slot);
}

static void raise_request(struct ds_expand *box, u32 slot)
{
	struct ds_expand_slot *s = &box->slots[slot];

	if (s->priority == DS_EXPAND_URGENT)
		return;
	s->priority = DS_EXPAND_URGENT;
	box->background--;
	box->stats.raised++;
	if (s->list != &box->taken)
		put_into(box, &box->queue[DS_EXPAND_URGENT], slot);
}

/* Somebody has left. */
static void withdraw(struct ds_expand *box, u32 slot)
{
	struct ds_expand_slot *s = &box->slots[slot];

	if (s->waiters || s->unattended)
		return;
	close_request(box, slot);
	box->stats.withdrawn++;
}

static void attend(struct ds_expand *box, u32 slot, struct ds_expand_waiter *w, u64 now)
{
	struct ds_expand_slot *s = &box->slots[slot];

	s->prestaged = false;
	s->stage |= !w || !w->buffer;
	s->unattended |= !w;
	if (!w)
		return;
	w->deadline = now + expand_param(box, DS_EXPAND_TIMEOUT_NS);
	w->slot = slot;
	ds_waiter_add(&s->waiters, &w->base);
}

/* ---- the requester ---- */

static int expand_enter(struct ds_expand *box, const struct ds_expand_req *req, u32 page,
			struct ds_expand_waiter *w, u64 now)
{
	u32 slot = ds_slotmap_find(&box->map, req->token);
	int ret;

	if (box->gone)
		return -ENODEV;
	if (slot != DS_SLOT_NONE) {
		box->stats.joined++;
		if (req->priority == DS_EXPAND_URGENT)
			raise_request(box, slot);
	} else {
		ret = check_room(box, req->requester, req->priority);
		box->stats.limited += ret == -EBUSY;
		box->stats.full += ret == -EAGAIN;
		if (ret)
			return ret;
		box->stats.asked++;
		slot = open_request(box, req->token, page, req->requester, req->priority);
	}
	if (w)
		w->requester = req->requester;
	attend(box, slot, w, now);
	return -EINPROGRESS;
}

int ds_expand_ask(struct ds_expand *box, const struct ds_expand_req *req,
		  struct ds_expand_waiter *w, u64 now)
{
	u32 page = 0;
	int ret;

	if (req->priority >= DS_EXPAND_PRIORITIES || req->requester >= DS_EXPAND_REQUESTERS)
		return -EINVAL;
	ret = box->ops->allowed(box, req->requester, req->token);
	if (ret) {
		ds_spin_lock(&box->lock);
		box->stats.denied++;
		goto out;
	}
	ret = box->ops->locate(box, req->token, req->offset, &page);
	ds_spin_lock(&box->lock);
	if (ret)
		box->stats.invalid++;
	else
		ret = expand_enter(box, req, page, w, now);
out:
	ds_spin_unlock(&box->lock);
	return ret;
}

bool ds_expand_cancel(struct ds_expand *box, struct ds_expand_waiter *w)
{
	struct ds_expand_slot *s = &box->slots[w->slot];
	bool found;

	ds_spin_lock(&box->lock);
	found = ds_waiter_del(&s->waiters, &w->base);
	if (found) {
		box->stats.cancelled++;
		withdraw(box, w->slot);
	}
	ds_spin_unlock(&box->lock);
	return found;
}

/* Move who has waited too long to @late. Return: the next deadline. */
static u64 split_late(struct ds_waiter **from, struct ds_waiter **late, u64 now)
{
	u64 next = DS_EXPAND_NEVER;
	struct ds_waiter *w;

	while ((w = *from)) {
		if (waiter_of(w)->deadline > now) {
			next = min(next, waiter_of(w)->deadline);
			from = &w->next;
			continue;
		}
		*from = w->next;
		ds_waiter_add(late, w);
	}
	return next;
}

u64 ds_expand_expire(struct ds_expand *box, u64 now)
{
	struct ds_waiter *late = NULL, *before, *w;
	u64 next = DS_EXPAND_NEVER;
	u32 slot;

	ds_spin_lock(&box->lock);
	for (slot = 0; slot < expand_param(box, DS_EXPAND_MAILBOX); slot++) {
		before = late;
		next = min(next, split_late(&box->slots[slot].waiters, &late, now));
		for (w = late; w != before; w = w->next)
			box->stats.expired++;
		if (late != before)
			withdraw(box, slot);
	}
	ds_spin_unlock(&box->lock);
	ds_waiter_tell(late, -ETIMEDOUT);
	return next == DS_EXPAND_NEVER ? next : next - now;
}

void ds_expand_revoked(struct ds_expand *box, u32 token)
{
	struct ds_waiter *waiters = NULL;
	u32 slot;

	ds_spin_lock(&box->lock);
	slot = ds_slotmap_find(&box->map, token);
	if (slot != DS_SLOT_NONE)
		waiters = cut_request(box, slot);
	ds_spin_unlock(&box->lock);
	ds_waiter_tell(waiters, -ESTALE);
}

/* Move who waits for a requester to @gone. */
static void split_gone(struct ds_expand *box, struct ds_waiter **from, u32 requester,
		       struct ds_waiter **gone)
{
	struct ds_waiter *w;

	while ((w = *from)) {
		if (waiter_of(w)->requester != requester) {
			from = &w->next;
			continue;
		}
		*from = w->next;
		ds_waiter_add(gone, w);
		box->stats.gone++;
	}
}

void ds_expand_gone(struct ds_expand *box, u32 requester)
{
	struct ds_waiter *gone = NULL;
	struct ds_expand_slot *s;
	u32 slot;

	ds_spin_lock(&box->lock);
	for (slot = 0; slot < expand_param(box, DS_EXPAND_MAILBOX); slot++) {
		s = &box->slots[slot];
		if (s->seq == NO_REQUEST)
			continue;
		split_gone(box, &s->waiters, requester, &gone);
		s->unattended &= s->requester != requester;
		withdraw(box, slot);
	}
	ds_spin_unlock(&box->lock);
	ds_waiter_tell(gone, -ENODEV);
}

void ds_expand_shut(struct ds_expand *box)
{
	struct ds_waiter *waiters = NULL;
	u32 slot;

	ds_spin_lock(&box->lock);
	box->gone = true;
	for (slot = 0; slot < expand_param(box, DS_EXPAND_MAILBOX); slot++)
		if (box->slots[slot].seq != NO_REQUEST)
			ds_waiter_move(&waiters, cut_request(box, slot));
	ds_spin_unlock(&box->lock);
	ds_waiter_tell(waiters, -ENODEV);
}

/* ---- the host ---- */

/* Urgent ones first, but not for ever. */
static struct ds_slotlist *next_queue(struct ds_expand *box)
{
	struct ds_slotlist *urgent = &box->queue[DS_EXPAND_URGENT];
	struct ds_slotlist *background = &box->queue[DS_EXPAND_BACKGROUND];

	if (background->count &&
	    (!urgent->count || box->run >= expand_param(box, DS_EXPAND_URGENT_RUN))) {
		box->run = 0;
		box->stats.aged += urgent->count != 0;
		return background;
	}
	box->run = background->count ? box->run + 1 : 0;
	return urgent;
}

bool ds_expand_take(struct ds_expand *box, struct ds_expand_job *job)
{
	u32 slot;

	ds_spin_lock(&box->lock);
	slot = next_queue(box)->first;
	if (slot != DS_SLOT_NONE) {
		put_into(box, &box->taken, slot);
		*job = (struct ds_expand_job) {
			.token = ds_slotmap_token(&box->map, slot),
			.slot = slot,
			.seq = box->slots[slot].seq,
		};
	}
	ds_spin_unlock(&box->lock);
	return slot != DS_SLOT_NONE;
}

/* A page was asked for. Return: often enough for its neighbours to be pre-staged. */
static bool is_hot(struct ds_expand *box, u32 page)
{
	struct ds_expand_heat *h = &box->heat[hash_64(page, ilog2((u64)DS_EXPAND_PAGES))];
	u64 hot = expand_param(box, DS_EXPAND_HOT_PAGE);

	if (!hot)
		return false;
	if (h->page != page && h->asked) {
		h->asked--;
		return false;
	}
	h->page = page;
	if (++h->asked < hot)
		return false;
	h->asked = 0;
	return true;
}

/* What is left to be done for a request that has left the mailbox. */
struct ds_expand_end {
	struct ds_waiter *copies;
	struct ds_waiter *others;
	u32 page;
	u32 requester;
	bool hot;
};

static void prestage(struct ds_expand *box, const struct ds_expand_end *end, u32 token)
{
	u32 most = (u32)expand_param(box, DS_EXPAND_PRESTAGE);
	u32 tokens[DS_EXPAND_NEIGHBOURS], found, i, slot;

	if (!most || !box->ops->stage || !box->ops->neighbours)
		return;
	found = box->ops->neighbours(box, end->page, token, tokens, most);
	ds_spin_lock(&box->lock);
	for (i = 0; i < found && !box->gone; i++) {
		if (ds_slotmap_find(&box->map, tokens[i]) != DS_SLOT_NONE)
			continue;
		if (check_room(box, end->requester, DS_EXPAND_BACKGROUND))
			break;
		slot = open_request(box, tokens[i], end->page, end->requester,
				    DS_EXPAND_BACKGROUND);
		attend(box, slot, NULL, 0);
		box->slots[slot].prestaged = true;
		box->stats.prestaged++;
	}
	ds_spin_unlock(&box->lock);
}

static int expand_stage(struct ds_expand *box, u32 token, const struct ds_token_desc *d)
{
	return box->ops->stage ? box->ops->stage(box, token, d) : -ENOSPC;
}

/* Take who wants a copy out of a list. */
static struct ds_waiter *split_copies(struct ds_expand *box, struct ds_waiter **from)
{
	struct ds_waiter *copies = NULL, *w;

	while ((w = *from)) {
		if (!waiter_of(w)->buffer) {
			from = &w->next;
			continue;
		}
		*from = w->next;
		ds_waiter_add(&copies, w);
		box->stats.copied++;
	}
	return copies;
}

static void end_request(struct ds_expand *box, u32 slot, int ret, int staged,
			struct ds_expand_end *end)
{
	struct ds_expand_slot *s = &box->slots[slot];

	box->stats.served[s->priority]++;
	box->stats.staged += !staged;
	box->stats.failed += staged && staged != NOT_STAGED;
	end->page = s->page;
	end->requester = s->requester;
	end->hot = !ret && !s->prestaged && is_hot(box, s->page);
	end->others = close_request(box, slot);
	end->copies = ret ? NULL : split_copies(box, &end->others);
}

/* Return: 0; -EAGAIN: somebody wants it in L2 first; -ESTALE: the request has ended. */
static int try_to_end(struct ds_expand *box, const struct ds_expand_job *job, int ret,
		      int staged, struct ds_expand_end *end)
{
	const struct ds_expand_slot *s = &box->slots[job->slot];
	int result = 0;

	ds_spin_lock(&box->lock);
	if (s->seq != job->seq) {
		box->stats.late++;
		result = -ESTALE;
	} else if (s->stage && staged == NOT_STAGED) {
		result = -EAGAIN;
	} else {
		end_request(box, job->slot, ret, staged, end);
	}
	ds_spin_unlock(&box->lock);
	return result;
}

static void copy_and_tell(struct ds_waiter *list, const struct ds_token_desc *d)
{
	struct ds_waiter *w;

	for (w = list; w; w = w->next)
		*waiter_of(w)->buffer = *d;
	ds_waiter_tell(list, 0);
}

bool ds_expand_complete(struct ds_expand *box, const struct ds_expand_job *job, int ret,
			const struct ds_token_desc *d)
{
	int staged = ret ?: NOT_STAGED, ended;
	struct ds_expand_end end;

	/* Twice at most. Who wants it in L2 may have joined a moment ago. */
	while ((ended = try_to_end(box, job, ret, staged, &end)) == -EAGAIN)
		staged = expand_stage(box, job->token, d);
	if (ended)
		return false;
	copy_and_tell(end.copies, d);
	ds_waiter_tell(end.others, staged);
	if (end.hot)
		prestage(box, &end, job->token);
	return true;
}

u32 ds_expand_serve(struct ds_expand *box, u32 budget)
{
	struct ds_expand_job job;
	struct ds_token_desc d;
	u32 served;

	for (served = 0; served < budget && ds_expand_take(box, &job); served++) {
		memset(&d, 0, sizeof(d));	/* buffers get no more than produce() says */
		ds_expand_complete(box, &job, box->ops->produce(box, job.token, &d), &d);
	}
	return served;
}
