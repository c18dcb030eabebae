// SPDX-License-Identifier: Apache-2.0
/* On-demand expand: who may ask for what, what is delivered, and who comes first. */
#include "core_expand.h"
#include "core_param.h"

/* ---- bad input ---- */

/* docs/tokencache.md */
static const struct ds_param documented[DS_EXPAND_PARAMS] = {
	{ "EXPAND_URGENT_RUN", 1, 1024, 8, false },
	{ "EXPAND_TIMEOUT_NS", 1000, 60000000000, 10000000, false },
	{ "EXPAND_HOT_PAGE", 0, 65536, 4, false },
	{ "EXPAND_PRESTAGE", 0, 64, 8, false },
	{ "EXPAND_BACKGROUND_MAX", 1, 4096, 192, false },
	{ "EXPAND_REQUESTER_MAX", 1, 4096, 64, false },
	{ "EXPAND_MAILBOX", 1, 4096, 256, true },
};

static void parameters(void **state)
{
	u64 params[DS_EXPAND_PARAMS];
	u32 i;

	(void)state;
	start();
	for (i = 0; i < DS_EXPAND_PARAMS; i++) {
		const struct ds_param *p = &ds_expand_params[i];

		assert_param(p, &documented[i]);
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

static int anybody(struct ds_expand *b, u32 requester, u32 token)
{
	(void)b, (void)requester, (void)token;
	return 0;
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
	/* Who has no number, though it may have the token. */
	{
		struct ds_expand_ops any = ops;

		any.allowed = anybody;
		box.ops = &any;
		req.requester = DS_EXPAND_REQUESTERS;
		assert_int_equal(ds_expand_ask(&box, &req, NULL, 0), -EINVAL);
		box.ops = &ops;
	}
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
	struct ds_token_desc want;
	u32 i;

	(void)state;
	memset(&want, 0, sizeof(want));	/* what produce() does not say is 0 */
	want.type = DS_TOKEN_PD;
	want.pd.number = 77;
	start();
	ask_staged(10, 0);
	ask_copy(11, 1);
	assert_int_equal(ds_expand_serve(&box, 1), 1);
	assert_told(0, 0);
	assert_true(in_l2[10]);
	assert_int_equal(testers[1].told, 0);
	assert_int_equal(ds_expand_serve(&box, 5), 1);
	assert_told(1, 0);
	assert_memory_equal(&testers[1].buffer, &want, sizeof(want));
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
	/* A place in the mailbox that was one's who wanted it staged is another one's later. */
	for (i = 0; i < box.params[DS_EXPAND_MAILBOX]; i++) {
		ask_copy(20, 5);
		assert_int_equal(ds_expand_serve(&box, 5), 1);
	}
	assert_false(in_l2[20]);
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

/* One requester leaves room to the others, whatever it wants. */
static void a_requester_has_a_limit(void **state)
{
	struct ds_expand_job job;
	u32 i;

	(void)state;
	start_with(8, 8);
	set(DS_EXPAND_REQUESTER_MAX, 3);
	for (i = 0; i < 2; i++)
		ask_staged(i * DOMAINS, i);
	ask_background(2 * DOMAINS);
	assert_int_equal(ask(3 * DOMAINS, DS_EXPAND_URGENT, waiter(3, false), 0), -EBUSY);
	assert_int_equal(ask(3 * DOMAINS, DS_EXPAND_BACKGROUND, NULL, 0), -EBUSY);
	assert_int_equal(box.stats.limited, 2);
	assert_int_equal(box.stats.full, 0);
	ask_staged(DOMAINS, 4);		/* to join is no new request */
	/* The others have theirs, and then there is no room at all. */
	for (i = 0; i < 5; i++)
		ask_staged(i * DOMAINS + 1 + i % 2, 5 + i);
	assert_int_equal(ask(3, DS_EXPAND_URGENT, waiter(3, false), 0), -EAGAIN);
	assert_int_equal(box.stats.full, 1);
	/* One that a host has is held still; when it has ended, there is room for another one. */
	assert_true(ds_expand_take(&box, &job));
	assert_int_equal(job.token, 0);
	assert_int_equal(ask(3 * DOMAINS, DS_EXPAND_URGENT, waiter(3, false), 0), -EBUSY);
	assert_true(ds_expand_complete(&box, &job, -EIO, NULL));
	ask_staged(3 * DOMAINS, 3);
	assert_slots();
	/* With less than it has it gets nothing, and loses nothing. */
	set(DS_EXPAND_REQUESTER_MAX, 1);
	assert_int_equal(ds_expand_serve(&box, 100), 8);
	assert_told(3, 0);
	ask_staged(4 * DOMAINS, 20);
	assert_int_equal(ask(5 * DOMAINS, DS_EXPAND_URGENT, waiter(21, false), 0), -EBUSY);
	finish();
}

/* What is pre-staged is of who made the page hot. */
static void prestaging_has_the_limit_too(void **state)
{
	(void)state;
	start();
	set(DS_EXPAND_HOT_PAGE, 1);
	set(DS_EXPAND_PRESTAGE, 8);
	set(DS_EXPAND_REQUESTER_MAX, 3);
	ask_staged(33, 0);
	assert_int_equal(ds_expand_serve(&box, 1), 1);
	assert_int_equal(box.stats.prestaged, 3);
	assert_int_equal(box.held[1], 3);
	assert_int_equal(ask(65, DS_EXPAND_URGENT, waiter(1, false), 0), -EBUSY);
	ask_staged(66, 2);
	assert_slots();
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
	assert_int_equal(box.stats.aged, 4);
	finish();
}

/* One of the background left when it was its turn: urgent ones do not wait for it. */
static void whose_turn_it_was_has_left(void **state)
{
	(void)state;
	start();
	set(DS_EXPAND_URGENT_RUN, 1);
	ask_background(100);
	ask_staged(0, 0);
	ask_staged(1, 1);
	assert_int_equal(ds_expand_serve(&box, 1), 1);
	ds_expand_revoked(&box, 100);
	assert_int_equal(ds_expand_serve(&box, 9), 1);
	assert_told(1, 0);
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
		TEST(a_requester_has_a_limit),
		TEST(prestaging_has_the_limit_too),
		TEST(urgent_first_but_not_for_ever),
		TEST(whose_turn_it_was_has_left),
		TEST(background_does_not_starve),
		TEST(joined_by_an_urgent_one),
	};

	return cmocka_run_group_tests_name("core_expand", tests, NULL, NULL);
}
