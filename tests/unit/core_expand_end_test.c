// SPDX-License-Identifier: Apache-2.0
/* On-demand expand: who leaves, what comes late, what is asked for beforehand, and any history. */
#include "core_expand.h"

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
	/* Nor does anybody who was in its place before. */
	start_with(1, 1);
	ask_background(12);
	assert_int_equal(ds_expand_serve(&box, 9), 1);
	ask_copy(13, 0);
	assert_true(ds_expand_cancel(&box, &testers[0].w));
	assert_int_equal(box.stats.withdrawn, 1);
	assert_int_equal(ds_expand_serve(&box, 9), 0);
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
	ds_expand_revoked(&box, 10);	/* of which nobody asks */
	assert_int_equal(box.stats.ended, 1);
	assert_int_equal(box.stats.withdrawn, 0);
	assert_slots();
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

/* ---- a requester goes away ---- */

static int anybody(struct ds_expand *b, u32 requester, u32 token)
{
	assert_ptr_equal(b, &box);
	return requester == DOMAINS ? -ENODEV : token < TOKENS ? 0 : -EACCES;
}

static int ask_as(u32 requester, u32 token, struct ds_expand_waiter *w)
{
	struct ds_expand_req req = {
		.token = token, .offset = offset_of(token), .requester = requester,
	};

	return ds_expand_ask(&box, &req, w, 0);
}

static void a_requester_goes(void **state)
{
	struct ds_expand_job job;

	(void)state;
	start();
	ask_copy(9, 0);			/* of 1, which a host has taken */
	job = taken(9);
	ask_staged(13, 1);		/* of 1 */
	ask_background(17);		/* of 1, without waiting */
	ask_staged(2, 2);		/* of another one, also without waiting */
	ask_background(6);
	ds_expand_gone(&box, 1);
	assert_told(0, -ENODEV);
	assert_told(1, -ENODEV);
	assert_int_equal(box.stats.gone, 2);
	assert_int_equal(box.stats.withdrawn, 3);
	assert_int_equal(box.held[1], 0);
	assert_late(&job);
	assert_int_equal(testers[0].buffer.pd.number, 0);
	assert_int_equal(ds_expand_serve(&box, 9), 2);
	assert_told(2, 0);
	assert_true(in_l2[6] && !in_l2[13] && !in_l2[17]);
	ds_expand_gone(&box, 1);	/* again */
	ds_expand_gone(&box, 3);	/* that never asked */
	assert_int_equal(box.stats.gone, 2);
	/* It may have come back. */
	ask_staged(21, 3);
	assert_int_equal(ds_expand_serve(&box, 9), 1);
	assert_told(3, 0);
	finish();
}

/* Others that have joined lose nothing by it. */
static void a_requester_goes_and_others_stay(void **state)
{
	struct ds_expand_ops any = ops;

	(void)state;
	start();
	any.allowed = anybody;
	box.ops = &any;
	assert_int_equal(ask_as(1, 10, waiter(0, false)), -EINPROGRESS);
	assert_int_equal(ask_as(2, 10, waiter(1, true)), -EINPROGRESS);
	assert_int_equal(ask_as(2, 11, waiter(2, false)), -EINPROGRESS);
	assert_int_equal(ask_as(1, 11, waiter(3, true)), -EINPROGRESS);
	assert_int_equal(ask_as(DOMAINS, 11, waiter(4, true)), -ENODEV);
	ds_expand_gone(&box, 1);
	assert_told(0, -ENODEV);
	assert_told(3, -ENODEV);
	assert_int_equal(box.held[1], 1);	/* until its first request has ended */
	assert_int_equal(ds_expand_serve(&box, 9), 2);
	assert_told(1, 0);
	assert_told(2, 0);
	assert_int_equal(testers[1].buffer.pd.number, 70);
	assert_int_equal(testers[0].told + testers[3].told, 2);
	assert_int_equal(testers[4].told, 0);
	assert_int_equal(box.stats.withdrawn, 0);
	finish();
}

static void a_requester_goes_in_the_middle(void)
{
	during_produce = during_stage = NULL;
	ds_expand_gone(&box, 2);
}

static void a_requester_goes_while_it_is_served(void **state)
{
	(void)state;
	start();
	ask_staged(10, 0);
	ask_copy(10, 1);
	during_produce = a_requester_goes_in_the_middle;
	assert_int_equal(ds_expand_serve(&box, 9), 1);
	ask_copy(14, 2);
	ask_staged(14, 3);
	during_stage = a_requester_goes_in_the_middle;
	assert_int_equal(ds_expand_serve(&box, 9), 1);
	assert_told(0, -ENODEV);
	assert_told(1, -ENODEV);
	assert_told(2, -ENODEV);
	assert_told(3, -ENODEV);
	assert_int_equal(testers[2].buffer.pd.number, 0);
	assert_int_equal(box.stats.late, 2);
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
	assert_int_equal(box.spare.count, expand_param(&box, DS_EXPAND_MAILBOX));
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
	assert_true(ret == -EINPROGRESS || ret == -EAGAIN || ret == -EBUSY ||
		    (ret == -ESTALE && ended[token]));
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
	set(DS_EXPAND_REQUESTER_MAX, 9);
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
			if (!random_below(16))
				ds_expand_gone(&box, random_below(DOMAINS));
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
		    box.stats.full && box.stats.limited && box.stats.gone && box.stats.withdrawn &&
		    box.stats.prestaged && box.stats.ended);
	ds_expand_shut(&box);
	for (i = 0; i < TESTERS; i++)
		assert_true(!waits[i] || testers[i].told == 1);
	finish();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(late_after_a_timeout),
		TEST(late_after_a_cancel),
		TEST(late_after_a_revoke),
		TEST(the_device_goes),
		TEST(a_requester_goes),
		TEST(a_requester_goes_and_others_stay),
		TEST(a_requester_goes_while_it_is_served),
		TEST(hot_pages_are_prestaged),
		TEST(the_device_goes_before_prestaging),
		TEST(prestaging_is_bounded_and_off),
		TEST(heat_of_pages_that_collide),
		TEST(random_histories),
	};

	return cmocka_run_group_tests_name("core_expand_end", tests, NULL, NULL);
}
