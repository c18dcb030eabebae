// SPDX-License-Identifier: Apache-2.0
/*
 * On-demand expand: a world of tokens with owners, pages and an L2 that may be full, and a
 * host that is as slow as the test wants.
 */
#include "core_rdm.h"
#include "tokencache/slotmap.c"
#include "tokencache/expand.c"

enum { TOKENS = 2048, PAGE = 16, DOMAINS = 4, TESTERS = 2048 };

static struct ds_expand box;
static bool ended[TOKENS], in_l2[TOKENS];
static u32 looked_at, produced, stage_calls, l2_room;
static u32 served[TOKENS * 4], serves;
static int produce_ret;
static void (*during_produce)(void), (*during_stage)(void);

static u32 offset_of(u32 token)
{
	return token * 2 + 1;
}

static int allowed(struct ds_expand *b, u32 requester, u32 token)
{
	assert_ptr_equal(b, &box);
	return token < TOKENS && token % DOMAINS == requester ? 0 : -EACCES;
}

static int locate(struct ds_expand *b, u32 token, u32 offset, u32 *page)
{
	assert_ptr_equal(b, &box);
	looked_at++;
	if (offset > offset_of(TOKENS))
		return -EINVAL;
	*page = token / PAGE;
	return offset == offset_of(token) && !ended[token] ? 0 : -ESTALE;
}

static int produce(struct ds_expand *b, u32 token, struct ds_token_desc *d)
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

static int into_l2(struct ds_expand *b, u32 token, const struct ds_token_desc *d)
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

static u32 neighbours(struct ds_expand *b, u32 page, u32 token, u32 *tokens, u32 most)
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

struct tester {
	struct ds_expand_waiter w;
	struct ds_token_desc buffer;
	u32 told;
	int ret;
};

static struct tester testers[TESTERS];

static void told(struct ds_waiter *w, int ret)
{
	struct tester *t = container_of(w, struct tester, w.base);

	t->told++;
	t->ret = ret;
}

static struct ds_expand_waiter *waiter(u32 i, bool copy)
{
	testers[i] = (struct tester){ .w.base.done = told };
	testers[i].w.buffer = copy ? &testers[i].buffer : NULL;
	return &testers[i].w;
}

static void assert_told(u32 i, int ret)
{
	assert_int_equal(testers[i].told, 1);
	assert_int_equal(testers[i].ret, ret);
}

static int ask(u32 token, u32 priority, struct ds_expand_waiter *w, u64 now)
{
	struct ds_expand_req req = {
		.token = token, .offset = offset_of(token), .requester = token % DOMAINS,
		.priority = priority,
	};

	return ds_expand_ask(&box, &req, w, now);
}

static void ask_staged(u32 token, u32 i)
{
	assert_int_equal(ask(token, DS_EXPAND_URGENT, waiter(i, false), 0), -EINPROGRESS);
}

static void ask_copy(u32 token, u32 i)
{
	assert_int_equal(ask(token, DS_EXPAND_URGENT, waiter(i, true), 0), -EINPROGRESS);
}

static void ask_background(u32 token)
{
	assert_int_equal(ask(token, DS_EXPAND_BACKGROUND, NULL, 0), -EINPROGRESS);
}

static void start_with(u64 mailbox, u64 background)
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
	params[DS_EXPAND_PRESTAGE] = 0;
	assert_int_equal(ds_expand_init(&box, &ops, params), 0);
}

static void start(void)
{
	start_with(256, 192);
}

static void set(enum ds_expand_param which, u64 value)
{
	assert_int_equal(ds_expand_set(&box, which, value), 0);
}

/* Each slot is somewhere once. */
static void assert_slots(void)
{
	u32 slots = (u32)param(&box, DS_EXPAND_MAILBOX), slot, background = 0, used = 0;

	assert_int_equal(box.queue[0].count + box.queue[1].count + box.taken.count +
			 box.spare.count, slots);
	for (slot = 0; slot < slots; slot++) {
		const struct ds_expand_slot *s = &box.slots[slot];

		assert_true((s->seq == NO_REQUEST) == (s->list == &box.spare));
		assert_true(s->list == &box.spare || s->list == &box.taken ||
			    s->list == &box.queue[s->priority]);
		used += s->seq != NO_REQUEST;
		background += s->seq != NO_REQUEST && s->priority == DS_EXPAND_BACKGROUND;
	}
	assert_int_equal(used, slots - box.spare.count);
	assert_int_equal(box.background, background);
}

static void finish(void)
{
	assert_slots();
	ds_expand_shut(&box);
	assert_int_equal(box.spare.count, param(&box, DS_EXPAND_MAILBOX));
	ds_expand_destroy(&box);
}

/* ---- bad input ---- */

static void parameters(void **state)
{
	u64 params[DS_EXPAND_PARAMS];
	u32 i;

	(void)state;
	start();
	for (i = 0; i < DS_EXPAND_PARAMS; i++) {
		const struct ds_param *p = &ds_expand_params[i];

		assert_in_range(p->normal, p->least, p->most);
		params[i] = p->normal;
		assert_int_equal(ds_expand_set(&box, i, p->most + 1), -EINVAL);
		if (p->least)
			assert_int_equal(ds_expand_set(&box, i, p->least - 1), -EINVAL);
		assert_int_equal(ds_expand_set(&box, i, p->least), p->fixed ? -EPERM : 0);
	}
	assert_int_equal(ds_expand_set(&box, DS_EXPAND_PARAMS, 1), -EINVAL);
	finish();
	for (i = 0; i < DS_EXPAND_PARAMS; i++) {
		params[i] = ds_expand_params[i].most + 1;
		assert_int_equal(ds_expand_init(&box, &ops, params), -EINVAL);
		params[i] = ds_expand_params[i].normal;
	}
	assert_int_equal(ds_expand_init(&box, &ops, NULL), 0);
	finish();
}

static void memory_runs_out(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < 4; i++) {
		allocs_left = (int)i;
		assert_int_equal(ds_expand_init(&box, &ops, NULL), -ENOMEM);
		assert_int_equal(allocs_held, 0);
	}
	allocs_left = 4;
	assert_int_equal(ds_expand_init(&box, &ops, NULL), 0);
	ds_expand_destroy(&box);
}

/* Who may not have a token learns nothing of it: it is not even looked at. */
static void denied_before_all_else(void **state)
{
	struct ds_expand_req req = { .token = 5 };
	u32 requester, i, denied = 0;

	(void)state;
	start();
	ended[9] = true;
	for (requester = 0; requester < DOMAINS + 2; requester++) {
		for (i = 0; i < 3; i++) {
			req.token = (const u32[]){ 5, 9, TOKENS + 1 }[i];
			if (req.token < TOKENS && req.token % DOMAINS == requester)
				continue;
			req.requester = requester;
			req.offset = requester % 2 ? offset_of(req.token) : ~0u;
			assert_int_equal(ds_expand_ask(&box, &req, waiter(0, true), 0), -EACCES);
			denied++;
		}
	}
	assert_int_equal(looked_at, 0);
	assert_int_equal(box.stats.denied, denied);
	/* Nor by joining one that is under way. */
	ask_copy(5, 1);
	req = (struct ds_expand_req){ .token = 5, .offset = offset_of(5), .requester = 2 };
	assert_int_equal(ds_expand_ask(&box, &req, waiter(0, true), 0), -EACCES);
	assert_int_equal(ds_expand_serve(&box, 9), 1);
	assert_told(1, 0);
	assert_int_equal(testers[0].told, 0);
	assert_int_equal(testers[0].buffer.pd.number, 0);
	finish();
}

static void wrong_requests(void **state)
{
	struct ds_expand_req req = { .token = 5, .requester = 1 };

	(void)state;
	start();
	req.offset = 0xfffffff0;
	assert_int_equal(ds_expand_ask(&box, &req, NULL, 0), -EINVAL);
	req.offset = offset_of(6);
	assert_int_equal(ds_expand_ask(&box, &req, NULL, 0), -ESTALE);
	req.offset = offset_of(5);
	req.priority = DS_EXPAND_PRIORITIES;
	assert_int_equal(ds_expand_ask(&box, &req, NULL, 0), -EINVAL);
	ended[5] = true;
	req.priority = DS_EXPAND_URGENT;
	assert_int_equal(ds_expand_ask(&box, &req, NULL, 0), -ESTALE);
	assert_int_equal(box.stats.invalid, 3);
	assert_int_equal(ds_expand_serve(&box, 9), 0);
	waiter(0, false);	/* that never waited */
	assert_false(ds_expand_cancel(&box, &testers[0].w));
	ds_expand_revoked(&box, 77);
	assert_int_equal(ds_expand_expire(&box, ~0ull), DS_EXPAND_NEVER);
	finish();
}

/* ---- delivery ---- */

static void staged_or_copied(void **state)
{
	(void)state;
	start();
	ask_staged(10, 0);
	ask_copy(11, 1);
	assert_int_equal(ds_expand_serve(&box, 1), 1);
	assert_told(0, 0);
	assert_true(in_l2[10]);
	assert_int_equal(testers[1].told, 0);
	assert_int_equal(ds_expand_serve(&box, 5), 1);
	assert_told(1, 0);
	assert_int_equal(testers[1].buffer.pd.number, 77);
	assert_false(in_l2[11]);
	assert_int_equal(box.stats.staged, 1);
	assert_int_equal(box.stats.copied, 1);
	/* Both at once, from one request. */
	ask_copy(12, 2);
	ask_staged(12, 3);
	ask_copy(12, 4);
	assert_int_equal(ds_expand_serve(&box, 5), 1);
	assert_told(2, 0);
	assert_told(3, 0);
	assert_told(4, 0);
	assert_true(in_l2[12]);
	assert_int_equal(testers[4].buffer.pd.number, 84);
	assert_int_equal(produced, 3);
	finish();
}

static void l2_is_full_or_absent(void **state)
{
	struct ds_expand_ops no_l2 = ops;

	(void)state;
	start();
	l2_room = 0;
	ask_staged(10, 0);
	ask_copy(10, 1);
	assert_int_equal(ds_expand_serve(&box, 5), 1);
	assert_told(0, -ENOSPC);
	assert_told(1, 0);
	assert_int_equal(testers[1].buffer.pd.number, 70);
	no_l2.stage = NULL;
	box.ops = &no_l2;
	l2_room = 9;
	ask_staged(10, 0);
	ask_copy(10, 1);
	assert_int_equal(ds_expand_serve(&box, 5), 1);
	assert_told(0, -ENOSPC);
	assert_told(1, 0);
	assert_int_equal(box.stats.failed, 2);
	assert_int_equal(box.stats.staged, 0);
	finish();
}

static void the_host_fails(void **state)
{
	(void)state;
	start();
	ask_staged(10, 0);
	ask_copy(10, 1);
	produce_ret = -EIO;
	assert_int_equal(ds_expand_serve(&box, 5), 1);
	assert_told(0, -EIO);
	assert_told(1, -EIO);
	assert_int_equal(testers[1].buffer.pd.number, 0);
	assert_int_equal(stage_calls, 0);
	assert_int_equal(box.stats.failed, 1);
	finish();
}

/* EXPAND_ISSUED: who comes again joins, and the host sees one request. */
static void no_storm(void **state)
{
	u32 i;

	(void)state;
	start();
	for (i = 0; i < 1000; i++)
		assert_int_equal(ask(10, DS_EXPAND_URGENT, NULL, i), -EINPROGRESS);
	assert_int_equal(box.stats.asked, 1);
	assert_int_equal(box.stats.joined, 999);
	assert_int_equal(ds_expand_serve(&box, 5), 1);
	assert_int_equal(produced, 1);
	assert_true(in_l2[10]);
	finish();
}

static void join_in_time(void)
{
	during_produce = NULL;
	ask_staged(10, 5);
	ask_copy(10, 6);
}

static void join_while_staging(void)
{
	during_stage = NULL;
	ask_copy(20, 7);
	ask_staged(20, 8);
}

/* One that the host has already can be joined, with another delivery too. */
static void joined_while_served(void **state)
{
	(void)state;
	start();
	ask_copy(10, 4);
	during_produce = join_in_time;
	assert_int_equal(ds_expand_serve(&box, 5), 1);
	assert_told(4, 0);
	assert_told(5, 0);
	assert_told(6, 0);
	assert_true(in_l2[10]);
	ask_staged(20, 9);
	during_stage = join_while_staging;
	assert_int_equal(ds_expand_serve(&box, 5), 1);
	assert_told(7, 0);
	assert_told(8, 0);
	assert_told(9, 0);
	assert_int_equal(testers[7].buffer.pd.number, 140);
	assert_int_equal(produced, 2);
	assert_int_equal(stage_calls, 2);
	finish();
}

/* ---- room and order ---- */

static void bounded(void **state)
{
	u32 i;

	(void)state;
	start_with(4, 3);
	for (i = 0; i < 3; i++)
		ask_background(i);
	assert_int_equal(ask(3, DS_EXPAND_BACKGROUND, NULL, 0), -EAGAIN);
	ask_staged(4, 0);
	assert_int_equal(ask(5, DS_EXPAND_URGENT, waiter(1, false), 0), -EAGAIN);
	assert_int_equal(box.stats.full, 2);
	ask_background(1);	/* joins */
	/* What a host has taken is still in the mailbox. */
	{
		struct ds_expand_job job;

		assert_true(ds_expand_take(&box, &job));
		assert_int_equal(job.token, 4);
		assert_int_equal(ask(5, DS_EXPAND_URGENT, waiter(1, false), 0), -EAGAIN);
		assert_true(ds_expand_complete(&box, &job, -EIO, NULL));
		assert_told(0, -EIO);
	}
	ask_staged(5, 1);
	assert_int_equal(ds_expand_serve(&box, 100), 4);
	assert_told(1, 0);
	assert_int_equal(testers[0].told, 1);
	assert_int_equal(box.stats.served[DS_EXPAND_URGENT], 2);
	assert_int_equal(box.stats.served[DS_EXPAND_BACKGROUND], 3);
	finish();
}

static void urgent_first_but_not_for_ever(void **state)
{
	u32 i, at = 0;

	(void)state;
	start();
	set(DS_EXPAND_URGENT_RUN, 3);
	for (i = 0; i < 4; i++)
		ask_background(100 + i);
	for (i = 0; i < 14; i++)
		ask_staged(i, i);
	assert_int_equal(ds_expand_serve(&box, 100), 18);
	/* Three urgent ones, one that waited, and in each queue as they came. */
	for (i = 0; i < 14; i++) {
		assert_int_equal(served[at++], i);
		if (i % 3 == 2)
			assert_int_equal(served[at++], 100 + i / 3);
	}
	assert_int_equal(box.stats.aged, 4);
	/* Urgent ones that nobody had to wait for do not count. */
	for (i = 0; i < 10; i++)
		ask_staged(200 + i, i);
	assert_int_equal(ds_expand_serve(&box, 10), 10);
	ask_background(300);
	ask_staged(301, 0);
	serves = 0;
	assert_int_equal(ds_expand_serve(&box, 10), 2);
	assert_int_equal(served[0], 301);
	finish();
}

/* Under a flood of urgent requests one of the background waits for so many, not more. */
static void background_does_not_starve(void **state)
{
	u32 i, next = 0, run = (u32)ds_expand_params[DS_EXPAND_URGENT_RUN].normal;

	(void)state;
	start();
	ask_background(1000);
	for (i = 0; !in_l2[1000]; i++) {
		ask_staged(next, next);
		ask_staged(next + 1, next + 1);
		next += 2;
		assert_int_equal(ds_expand_serve(&box, 1), 1);
	}
	assert_int_equal(i, run + 1);
	finish();
}

static void joined_by_an_urgent_one(void **state)
{
	struct ds_expand_job job, next;
	u32 i;

	(void)state;
	start_with(8, 4);
	for (i = 0; i < 4; i++)
		ask_background(i);
	ask_staged(2, 0);
	assert_int_equal(box.stats.raised, 1);
	assert_true(ds_expand_take(&box, &job));
	assert_int_equal(job.token, 2);
	ask_background(7);	/* there is room for one more */
	assert_int_equal(ask(8, DS_EXPAND_BACKGROUND, NULL, 0), -EAGAIN);
	/* Taken already: it counts as urgent, and comes no sooner. */
	produce_ret = 0;
	assert_true(ds_expand_complete(&box, &job, -EIO, NULL));
	assert_true(ds_expand_take(&box, &job));
	assert_int_equal(job.token, 0);
	ask_staged(0, 1);
	assert_int_equal(box.stats.raised, 2);
	assert_slots();
	assert_true(ds_expand_take(&box, &next));
	assert_int_equal(next.token, 1);
	assert_true(ds_expand_complete(&box, &job, -EIO, NULL));
	assert_told(1, -EIO);
	assert_int_equal(box.stats.served[DS_EXPAND_URGENT], 2);
	finish();
}

/* ---- who goes, and what comes late ---- */

static struct ds_expand_job taken(u32 token)
{
	struct ds_expand_job job = { 0 };

	assert_true(ds_expand_take(&box, &job));
	assert_int_equal(job.token, token);
	return job;
}

/* A completion with content, which must not reach anybody. */
static void assert_late(const struct ds_expand_job *job)
{
	struct ds_token_desc d = { .type = DS_TOKEN_PD, .pd.number = job->token * 7 };
	u64 late = box.stats.late;
	u32 stages = stage_calls;

	assert_false(ds_expand_complete(&box, job, 0, &d));
	assert_int_equal(box.stats.late, late + 1);
	assert_int_equal(stage_calls, stages);
	assert_slots();
}

static void late_after_a_timeout(void **state)
{
	struct ds_expand_job job, again;

	(void)state;
	start_with(1, 1);
	set(DS_EXPAND_TIMEOUT_NS, 5000);
	assert_int_equal(ask(10, DS_EXPAND_URGENT, waiter(0, true), 100), -EINPROGRESS);
	assert_int_equal(ask(10, DS_EXPAND_URGENT, waiter(1, true), 600), -EINPROGRESS);
	assert_int_equal(ds_expand_expire(&box, 200), 4900);
	job = taken(10);
	assert_int_equal(ds_expand_expire(&box, 5099), 1);
	assert_int_equal(testers[0].told, 0);
	assert_int_equal(ds_expand_expire(&box, 5100), 500);
	assert_told(0, -ETIMEDOUT);
	assert_int_equal(testers[1].told, 0);
	assert_int_equal(ds_expand_expire(&box, 6000), DS_EXPAND_NEVER);
	assert_told(1, -ETIMEDOUT);
	assert_int_equal(box.stats.withdrawn, 1);
	/* The slot has another request of the same token by now. */
	ask_copy(10, 2);
	again = taken(10);
	assert_int_equal(again.slot, job.slot);
	assert_late(&job);
	assert_int_equal(testers[2].told, 0);
	assert_true(ds_expand_complete(&box, &again, -EIO, NULL));
	assert_told(2, -EIO);
	assert_late(&again);
	assert_false(ds_expand_cancel(&box, &testers[0].w));
	assert_int_equal(testers[0].buffer.pd.number, 0);
	finish();
}

static void late_after_a_cancel(void **state)
{
	struct ds_expand_job job;

	(void)state;
	start();
	ask_copy(10, 0);
	ask_copy(10, 1);
	assert_true(ds_expand_cancel(&box, &testers[0].w));
	assert_false(ds_expand_cancel(&box, &testers[0].w));
	job = taken(10);
	assert_true(ds_expand_cancel(&box, &testers[1].w));
	assert_late(&job);
	assert_int_equal(testers[0].told + testers[1].told, 0);
	/* Not taken yet: the host does not see it. */
	ask_copy(11, 0);
	assert_true(ds_expand_cancel(&box, &testers[0].w));
	assert_int_equal(ds_expand_serve(&box, 9), 0);
	/* Somebody else asked without waiting. */
	ask_copy(12, 0);
	assert_int_equal(ask(12, DS_EXPAND_URGENT, NULL, 0), -EINPROGRESS);
	assert_true(ds_expand_cancel(&box, &testers[0].w));
	assert_int_equal(ds_expand_serve(&box, 9), 1);
	assert_true(in_l2[12]);
	assert_int_equal(box.stats.withdrawn, 2);
	assert_int_equal(box.stats.cancelled, 4);
	finish();
}

static void late_after_a_revoke(void **state)
{
	struct ds_expand_job job;

	(void)state;
	start();
	ask_copy(10, 0);
	ask_staged(10, 1);
	job = taken(10);
	ended[10] = true;
	ds_expand_revoked(&box, 10);
	assert_told(0, -ESTALE);
	assert_told(1, -ESTALE);
	assert_late(&job);
	assert_false(in_l2[10]);
	/* Revoked with nobody being told: produce() says so. */
	ask_copy(11, 0);
	ended[11] = true;
	assert_int_equal(ds_expand_serve(&box, 9), 1);
	assert_told(0, -ESTALE);
	finish();
}

static void shut(void)
{
	ds_expand_shut(&box);
}

static void the_device_goes(void **state)
{
	struct ds_expand_job job;

	(void)state;
	start();
	ask_copy(10, 0);
	ask_staged(11, 1);
	ask_background(12);
	job = taken(10);
	ds_expand_shut(&box);
	assert_told(0, -ENODEV);
	assert_told(1, -ENODEV);
	assert_late(&job);
	assert_int_equal(ask(13, DS_EXPAND_URGENT, waiter(2, true), 0), -ENODEV);
	assert_int_equal(ds_expand_serve(&box, 9), 0);
	assert_false(ds_expand_cancel(&box, &testers[0].w));
	ds_expand_shut(&box);
	finish();
	/* In the middle of a host's work. */
	start();
	ask_staged(10, 0);
	ask_staged(11, 1);
	during_produce = shut;
	assert_int_equal(ds_expand_serve(&box, 9), 1);
	assert_told(0, -ENODEV);
	assert_told(1, -ENODEV);
	assert_int_equal(stage_calls, 0);
	finish();
	start();
	ask_staged(10, 0);
	during_stage = shut;
	assert_int_equal(ds_expand_serve(&box, 9), 1);
	assert_told(0, -ENODEV);
	assert_int_equal(box.stats.late, 1);
	finish();
}

/* ---- pre-staging ---- */

static void hot_pages_are_prestaged(void **state)
{
	u32 i;

	(void)state;
	start();
	set(DS_EXPAND_HOT_PAGE, 3);
	set(DS_EXPAND_PRESTAGE, 5);
	in_l2[35] = true;
	for (i = 0; i < 2; i++)
		ask_staged(32 + i, i);
	ask_background(36);
	assert_int_equal(ds_expand_serve(&box, 2), 2);
	assert_int_equal(box.stats.prestaged, 0);
	ask_staged(34, 2);
	assert_int_equal(ds_expand_serve(&box, 1), 1);
	/* 35 is in L2, 36 under way: of 36 to 40 there are four. */
	assert_int_equal(box.stats.prestaged, 4);
	assert_int_equal(box.queue[DS_EXPAND_BACKGROUND].count, 5);
	assert_int_equal(ds_expand_serve(&box, 100), 5);
	for (i = 32; i <= 40; i++)
		assert_true(in_l2[i]);
	assert_false(in_l2[41]);
	/* They make nothing hot. */
	assert_int_equal(box.stats.prestaged, 4);
	assert_int_equal(ds_expand_serve(&box, 100), 0);
	/* But if somebody asks for one of them meanwhile, it counts. */
	set(DS_EXPAND_HOT_PAGE, 1);
	set(DS_EXPAND_PRESTAGE, 1);
	ask_staged(64, 0);
	assert_int_equal(ds_expand_serve(&box, 1), 1);
	ask_staged(65, 1);
	assert_int_equal(box.stats.joined, 1);
	assert_int_equal(ds_expand_serve(&box, 1), 1);
	assert_told(1, 0);
	assert_int_equal(box.stats.prestaged, 6);
	assert_int_equal(ds_expand_serve(&box, 9), 1);
	assert_true(in_l2[66]);
	finish();
}

static u32 shut_and_neighbours(struct ds_expand *b, u32 page, u32 token, u32 *tokens, u32 most)
{
	ds_expand_shut(b);
	return neighbours(b, page, token, tokens, most);
}

static void the_device_goes_before_prestaging(void **state)
{
	struct ds_expand_ops gone = ops;

	(void)state;
	start();
	gone.neighbours = shut_and_neighbours;
	box.ops = &gone;
	set(DS_EXPAND_HOT_PAGE, 1);
	set(DS_EXPAND_PRESTAGE, 8);
	ask_staged(32, 0);
	assert_int_equal(ds_expand_serve(&box, 9), 1);
	assert_told(0, 0);
	assert_int_equal(box.stats.prestaged, 0);
	assert_int_equal(box.spare.count, param(&box, DS_EXPAND_MAILBOX));
	finish();
}

static void prestaging_is_bounded_and_off(void **state)
{
	u32 i, n;

	(void)state;
	start_with(16, 2);
	set(DS_EXPAND_HOT_PAGE, 1);
	set(DS_EXPAND_PRESTAGE, 8);
	ask_staged(32, 0);
	assert_int_equal(ds_expand_serve(&box, 1), 1);
	assert_int_equal(box.stats.prestaged, 2);
	assert_slots();
	finish();
	for (n = 0; n < 2; n++) {
		start();
		set(DS_EXPAND_HOT_PAGE, n);
		set(DS_EXPAND_PRESTAGE, n ? 0 : 8);
		for (i = 0; i < 10; i++) {
			ask_staged(32 + i, i);
			assert_int_equal(ds_expand_serve(&box, 9), 1);
		}
		assert_int_equal(box.stats.prestaged, 0);
		finish();
	}
	/* Failures make nothing hot. */
	start();
	set(DS_EXPAND_HOT_PAGE, 1);
	set(DS_EXPAND_PRESTAGE, 8);
	ask_staged(32, 0);
	produce_ret = -EIO;
	assert_int_equal(ds_expand_serve(&box, 9), 1);
	assert_int_equal(box.stats.prestaged, 0);
	finish();
}

/* Pages with the same place in the table: one that is asked for often gets it. */
static void heat_of_pages_that_collide(void **state)
{
	u32 page, other, i;

	(void)state;
	start();
	set(DS_EXPAND_HOT_PAGE, 4);
	for (page = 0, other = 1; hash_64(other, 6) != hash_64(page, 6);)
		other++;
	for (i = 0; i < 3; i++)
		assert_false(is_hot(&box, page));
	for (i = 0; i < 3; i++)
		assert_false(is_hot(&box, other));	/* wears it off */
	for (i = 0; i < 3; i++)
		assert_false(is_hot(&box, other));
	assert_true(is_hot(&box, other));
	assert_false(is_hot(&box, other));		/* from the beginning */
	finish();
}

/* ---- any history ---- */

static struct ds_expand_job jobs[64];
static bool waits[TESTERS];

static void complete_one(u32 i)
{
	struct ds_token_desc d = { .type = DS_TOKEN_PD, .pd.number = jobs[i].token * 7 };

	if (jobs[i].seq)
		ds_expand_complete(&box, &jobs[i], random_below(8) ? 0 : -EIO, &d);
	jobs[i].seq = 0;
}

static void ask_at_random(u32 i, u64 now)
{
	u32 token = random_below(random_below(2) ? 64 : TOKENS);
	bool waiting = random_below(4);
	int ret;

	if (waits[i])
		return;
	ret = ask(token, random_below(2), waiting ? waiter(i, random_below(2)) : NULL, now);
	waits[i] = waiting && ret == -EINPROGRESS;
	assert_true(ret == -EINPROGRESS || ret == -EAGAIN || (ret == -ESTALE && ended[token]));
}

static void check_tester(u32 i)
{
	assert_true(testers[i].told <= 1);
	waits[i] = waits[i] && !testers[i].told;
}

static void random_histories(void **state)
{
	u64 steps = random_steps(), step;
	u32 i;

	(void)state;
	start_with(32, 20);
	set(DS_EXPAND_PRESTAGE, 4);
	set(DS_EXPAND_TIMEOUT_NS, 1000);
	memset(waits, 0, sizeof(waits));
	memset(testers, 0, sizeof(testers));
	memset(jobs, 0, sizeof(jobs));
	for (step = 0; step < steps; step++) {
		i = random_below(TESTERS);
		switch (random_below(10)) {
		case 0:
			ended[i % TOKENS] = !ended[i % TOKENS];
			in_l2[i % TOKENS] = false;
			l2_room = random_below(100);
			if (ended[i % TOKENS])
				ds_expand_revoked(&box, i % TOKENS);
			break;
		case 1:
			assert_int_equal(ds_expand_cancel(&box, &testers[i].w),
					 waits[i] && !testers[i].told);
			waits[i] = false;
			break;
		case 2:
			ds_expand_expire(&box, step * 10);
			assert_slots();
			break;
		case 3:
		case 4:
			i %= ARRAY_SIZE(jobs);
			complete_one(i);
			if (!ds_expand_take(&box, &jobs[i]))
				jobs[i].seq = 0;
			break;
		default:
			ask_at_random(i, step * 10);
		}
		check_tester(i);
	}
	assert_true(box.stats.late && box.stats.expired && box.stats.raised && box.stats.aged &&
		    box.stats.full && box.stats.withdrawn && box.stats.prestaged);
	ds_expand_shut(&box);
	for (i = 0; i < TESTERS; i++)
		assert_true(!waits[i] || testers[i].told == 1);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parameters),
		TEST(memory_runs_out),
		TEST(denied_before_all_else),
		TEST(wrong_requests),
		TEST(staged_or_copied),
		TEST(l2_is_full_or_absent),
		TEST(the_host_fails),
		TEST(no_storm),
		TEST(joined_while_served),
		TEST(bounded),
		TEST(urgent_first_but_not_for_ever),
		TEST(background_does_not_starve),
		TEST(joined_by_an_urgent_one),
		TEST(late_after_a_timeout),
		TEST(late_after_a_cancel),
		TEST(late_after_a_revoke),
		TEST(the_device_goes),
		TEST(hot_pages_are_prestaged),
		TEST(the_device_goes_before_prestaging),
		TEST(prestaging_is_bounded_and_off),
		TEST(heat_of_pages_that_collide),
		TEST(random_histories),
	};

	return cmocka_run_group_tests_name("core_expand", tests, NULL, NULL);
}
