/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On-demand expand: a world of tokens with owners, pages and an L2 that may be full, and a
 * host that is as slow as the test wants.
 */
#ifndef CORE_EXPAND_H
#define CORE_EXPAND_H

#include "core_test.h"
#include "tokencache/slotmap.c"
#include "tokencache/expand.c"
#include "core_expand_waiter.h"

enum { TOKENS = 2048, PAGE = 16, DOMAINS = 4 };

static struct ds_expand box;
static bool ended[TOKENS], in_l2[TOKENS];
static u32 looked_at, produced, stage_calls, l2_room;
static u32 served[TOKENS * 4], serves;
static int produce_ret;
static void (*during_produce)(void), (*during_stage)(void);

static inline u32 offset_of(u32 token)
{
	return token * 2 + 1;
}

static inline int allowed(struct ds_expand *b, u32 requester, u32 token)
{
	assert_ptr_equal(b, &box);
	return token < TOKENS && token % DOMAINS == requester ? 0 : -EACCES;
}

static inline int locate(struct ds_expand *b, u32 token, u32 offset, u32 *page)
{
	assert_ptr_equal(b, &box);
	looked_at++;
	if (offset > offset_of(TOKENS))
		return -EINVAL;
	*page = token / PAGE;
	return offset == offset_of(token) && !ended[token] ? 0 : -ESTALE;
}

static inline int produce(struct ds_expand *b, u32 token, struct ds_token_desc *d)
{
	assert_ptr_equal(b, &box);
	produced++;
	served[serves++ % ARRAY_SIZE(served)] = token;
	d->type = DS_TOKEN_PD;
	d->pd.number = token * 7;
	if (during_produce)
		during_produce();
	return ended[token] ? -ESTALE : produce_ret;
}

static inline int into_l2(struct ds_expand *b, u32 token, const struct ds_token_desc *d)
{
	assert_ptr_equal(b, &box);
	assert_int_equal(d->pd.number, token * 7);
	stage_calls++;
	if (during_stage)
		during_stage();
	if (ended[token])
		return -ESTALE;
	if (in_l2[token])
		return 0;
	if (!l2_room)
		return -ENOSPC;
	l2_room--;
	in_l2[token] = true;
	return 0;
}

static inline u32 neighbours(struct ds_expand *b, u32 page, u32 token, u32 *tokens, u32 most)
{
	u32 i, n = 0, other;

	assert_ptr_equal(b, &box);
	assert_int_equal(token / PAGE, page);
	for (i = 1; i < PAGE && n < most; i++) {
		other = page * PAGE + (token + i) % PAGE;
		if (!ended[other] && !in_l2[other])
			tokens[n++] = other;
	}
	return n;
}

static const struct ds_expand_ops ops = {
	.allowed = allowed, .locate = locate, .produce = produce, .stage = into_l2,
	.neighbours = neighbours,
};

/* ---- who asks ---- */

static inline int ask(u32 token, u32 priority, struct ds_expand_waiter *w, u64 now)
{
	struct ds_expand_req req = {
		.token = token, .offset = offset_of(token), .requester = token % DOMAINS,
		.priority = priority,
	};

	return ds_expand_ask(&box, &req, w, now);
}

static inline void ask_staged(u32 token, u32 i)
{
	assert_int_equal(ask(token, DS_EXPAND_URGENT, waiter(i, false), 0), -EINPROGRESS);
}

static inline void ask_copy(u32 token, u32 i)
{
	assert_int_equal(ask(token, DS_EXPAND_URGENT, waiter(i, true), 0), -EINPROGRESS);
}

static inline void ask_background(u32 token)
{
	assert_int_equal(ask(token, DS_EXPAND_BACKGROUND, NULL, 0), -EINPROGRESS);
}

static inline void start_with(u64 mailbox, u64 background)
{
	u64 params[DS_EXPAND_PARAMS];
	u32 i;

	memset(ended, 0, sizeof(ended));
	memset(in_l2, 0, sizeof(in_l2));
	looked_at = produced = stage_calls = serves = 0;
	l2_room = TOKENS;
	produce_ret = 0;
	during_produce = during_stage = NULL;
	for (i = 0; i < DS_EXPAND_PARAMS; i++)
		params[i] = ds_expand_params[i].normal;
	params[DS_EXPAND_MAILBOX] = mailbox;
	params[DS_EXPAND_BACKGROUND_MAX] = background;
	params[DS_EXPAND_REQUESTER_MAX] = 4096;
	params[DS_EXPAND_PRESTAGE] = 0;
	assert_int_equal(ds_expand_init(&box, &ops, params), 0);
}

static inline void start(void)
{
	start_with(256, 192);
}

static inline void set(enum ds_expand_param which, u64 value)
{
	assert_int_equal(ds_expand_set(&box, which, value), 0);
}

/* Each slot is somewhere once, and each request is there or was counted when it left. */
static inline void assert_slots(void)
{
	u32 slots = (u32)expand_param(&box, DS_EXPAND_MAILBOX), slot, background = 0, used = 0;
	u16 held[DS_EXPAND_REQUESTERS] = { 0 };

	assert_int_equal(box.queue[0].count + box.queue[1].count + box.taken.count +
			 box.spare.count, slots);
	for (slot = 0; slot < slots; slot++) {
		const struct ds_expand_slot *s = &box.slots[slot];

		assert_true((s->seq == NO_REQUEST) == (s->list == &box.spare));
		assert_true(s->list == &box.spare || s->list == &box.taken ||
			    s->list == &box.queue[s->priority]);
		used += s->seq != NO_REQUEST;
		background += s->seq != NO_REQUEST && s->priority == DS_EXPAND_BACKGROUND;
		held[s->requester] += s->seq != NO_REQUEST;
	}
	assert_int_equal(used, slots - box.spare.count);
	assert_int_equal(box.stats.asked + box.stats.prestaged, used + box.stats.withdrawn + box.stats.ended +
			 box.stats.served[DS_EXPAND_URGENT] + box.stats.served[DS_EXPAND_BACKGROUND]);
	assert_int_equal(box.background, background);
	assert_memory_equal(box.held, held, sizeof(held));
}

static inline void finish(void)
{
	assert_slots();
	ds_expand_shut(&box);
	assert_int_equal(box.spare.count, expand_param(&box, DS_EXPAND_MAILBOX));
	assert_slots();
	ds_expand_destroy(&box);
}

#endif
