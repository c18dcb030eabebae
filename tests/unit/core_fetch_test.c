// SPDX-License-Identifier: Apache-2.0
/*
 * A whole token cache whose misses go through the batch and whose wide tokens go through the
 * mailbox: what is read is always what the token says. core_fetch_host_test has the mailbox alone.
 */
#include "core_fetch.h"
#include "tokencache/change.h"

static void wrong_parameters(void **state)
{
	u64 batch[DS_BATCH_PARAMS] = { 0 }, expand[DS_EXPAND_PARAMS] = { 0 };

	(void)state;
	assert_int_equal(ds_fetch_init(&fetch, &cache, allowed, batch, NULL), -EINVAL);
	assert_int_equal(ds_fetch_init(&fetch, &cache, allowed, NULL, expand), -EINVAL);
}

static void forged_and_ended(void **state)
{
	static const u32 forged[] = { 0, 0xffffffff, 0x80000000, 5 };
	u32 i, old;

	(void)state;
	start(4, 16);
	for (i = 0; i < ARRAY_SIZE(forged); i++) {
		assert_int_equal(ds_fetch_miss(&fetch, forged[i], &waiter(i, false)->base, 0),
				 -EINPROGRESS);
		assert_int_equal(ds_fetch_whole(&fetch, forged[i],
						ds_token_index(forged[i]) % DOMAINS,
						DS_EXPAND_URGENT, NULL, 0), -EBADF);
	}
	old = tokens[7];
	assert_int_equal(miss(7, 0), -EINPROGRESS);
	end(old);
	tokens[7] = create(7);
	ds_fetch_work(&fetch, 1000000, 9);
	for (i = 0; i < ARRAY_SIZE(forged); i++)
		assert_told(i, -ESTALE);
	assert_told(7, -ESTALE);
	assert_int_equal(fetch.batch.stats.fetches, 0);
	assert_int_equal(ds_fetch_whole(&fetch, old, ds_token_index(old) % DOMAINS,
					DS_EXPAND_URGENT, NULL, 0), -ESTALE);
	assert_int_equal(use(7), 3);
	stop();
}

/* 64 misses of neighbours at home are one DMA operation; then they are in L1. */
static void misses_at_home(void **state)
{
	u32 i, first;

	(void)state;
	start(0, 0);
	first = (DS_FETCH_HOME_PAGE - ds_token_index(tokens[0]) % DS_FETCH_HOME_PAGE) %
		DS_FETCH_HOME_PAGE;
	for (i = first; i < first + 64; i++) {
		assert_true(ds_batch_due(&fetch.batch, 0) > 0);
		assert_int_equal(use(i), 3);
		assert_int_equal(miss(i, 0), -EINPROGRESS);
	}
	assert_int_equal(ds_fetch_work(&fetch, 0, 9), DS_BATCH_NEVER);
	assert_int_equal(fetch.batch.stats.fetches, 1);
	for (i = first; i < first + 64; i++) {
		assert_told(i, 0);
		assert_int_equal(use(i), 1);
	}
	stop();
}

/* Tokens in L2 are fetched by pages of L2. */
static void misses_in_l2(void **state)
{
	u32 i;

	(void)state;
	start(4, 0);
	for (i = 0; i < 40; i++) {
		assert_int_equal(ds_cache_stage(&cache, tokens[i * 20]), 0);
		assert_int_equal(tier_of(i * 20), 2);
	}
	for (i = 0; i < 40; i++)
		assert_int_equal(miss(i * 20, i), -EINPROGRESS);
	ds_fetch_work(&fetch, 5000, 9);
	for (i = 0; i < 40; i++) {
		assert_told(i * 20, 0);
		assert_int_equal(use(i * 20), 1);
	}
	/* At home these were in four pages. Here narrow ones and wide ones are apart. */
	assert_in_range(fetch.batch.stats.fetches, 1, 2);
	stop();
}

static u32 last_moved;
static u64 last_since;

static void note_moved(struct ds_fetch *f, u32 token, u64 since)
{
	assert_ptr_equal(f, &fetch);
	last_moved = token;
	last_since = since;
}

static void neighbours_wait_in_staging(void **state)
{
	u32 i;

	(void)state;
	start(4, 8);
	fetch.moved = note_moved;
	assert_int_equal(miss(100, 7), -EINPROGRESS);
	assert_int_equal(ds_fetch_miss(&fetch, tokens[100], NULL, 9), -EINPROGRESS);
	ds_fetch_work(&fetch, 5007, 9);
	assert_told(100, 0);
	assert_int_equal(last_moved, tokens[100]);
	assert_int_equal(last_since, 7);
	for (i = 101; i <= 108; i++)
		assert_int_equal(use(i), 3);
	assert_int_equal(miss(101, 6000), 0);
	assert_int_equal(use(101), 1);
	assert_int_equal(last_moved, tokens[101]);
	assert_int_equal(last_since, 6000);
	/* Written to since. */
	post(102, 1);
	assert_int_equal(miss(102, 6000), -EINPROGRESS);
	/* So often that its version is the same again. */
	for (i = 0; i < 1024; i++)
		post(103, 1);
	assert_int_equal(miss(103, 6000), 0);
	assert_int_equal(use(103), 1);
	/* Gone. */
	end(tokens[104]);
	assert_int_equal(miss(104, 6000), -EINPROGRESS);
	tokens[104] = create(104);
	ds_fetch_work(&fetch, 20000, 9);
	assert_told(102, 0);
	assert_int_equal(last_moved, tokens[102]);
	assert_told(104, -ESTALE);
	assert_int_equal(use(102), 1);
	assert_int_equal(fetch.batch.stats.used, 4);
	assert_int_equal(fetch.batch.stats.stale, 3);
	assert_int_equal(fetch.batch.stats.fetches, 2);
	/* Who does not come was not moved. */
	assert_int_equal(miss(200, 30000), -EINPROGRESS);
	assert_int_equal(ds_cache_pin(&cache, tokens[200], true), 0);
	ds_fetch_work(&fetch, 40000, 9);
	assert_told(200, -EPERM);
	assert_int_equal(fetch.batch.stats.declined, 1);
	assert_int_equal(last_moved, tokens[102]);
	/* Nor is it fetched while that is known. */
	assert_int_equal(miss(200, 50000), -EPERM);
	assert_int_equal(testers[200].told, 0);
	ds_fetch_work(&fetch, 60000, 9);
	assert_int_equal(fetch.batch.stats.fetched, 3);
	assert_int_equal(ds_cache_pin(&cache, tokens[200], false), 0);
	assert_int_equal(miss(200, 70000), -EINPROGRESS);
	ds_fetch_work(&fetch, 80000, 9);
	assert_told(200, 0);
	assert_int_equal(fetch.batch.stats.fetched, 4);
	stop();
}

/* Only who is there is a neighbour, and only what is in the page comes with it. */
static void pages(void **state)
{
	const struct ds_batch_ops *batch;
	struct ds_batch_item item = { 0 };
	u32 near[4], page, l2_pages;

	(void)state;
	start(2, 0);
	batch = fetch.batch.ops;
	page = batch->page(&fetch.batch, tokens[300]);
	assert_int_equal(ds_cache_miss(&cache, tokens[301]), 0);
	assert_int_equal(ds_cache_stage(&cache, tokens[302]), 0);
	end(tokens[304]);
	assert_int_equal(batch->neighbours(&fetch.batch, page, tokens[300], near, 4), 4);
	assert_int_equal(near[0], tokens[303]);
	assert_int_equal(near[1], tokens[305]);
	assert_int_equal(near[3], tokens[307]);
	tokens[304] = create(304);
	/* One that has gone from home to L2 since its page was asked for. */
	item.token = tokens[302];
	assert_int_equal(batch->fetch(&fetch.batch, page, &item, 1), 0);
	assert_int_equal(item.ret, -ESTALE);
	page = batch->page(&fetch.batch, tokens[302]);
	assert_true(page & DS_FETCH_L2);
	assert_int_equal(batch->fetch(&fetch.batch, page, &item, 1), 0);
	assert_int_equal(item.ret, 0);
	assert_int_equal(item.pack.fixed & 0xffffff, 303);
	assert_int_equal(batch->neighbours(&fetch.batch, page, tokens[302], near, 4), 0);
	assert_int_equal(ds_cache_stage(&cache, tokens[330]), 0);
	assert_int_equal(batch->neighbours(&fetch.batch, page, tokens[302], near, 4), 1);
	assert_int_equal(near[0], tokens[330]);
	assert_int_equal(ds_cache_stage(&cache, tokens[320]), 0);
	/* Those behind it first. */
	assert_int_equal(batch->neighbours(&fetch.batch, page, tokens[330], near, 4), 2);
	assert_int_equal(near[0], tokens[320]);
	assert_int_equal(near[1], tokens[302]);
	stop();
	/* For the mailbox only where there is room for them. */
	for (l2_pages = 0; l2_pages <= 2; l2_pages += 2) {
		start(l2_pages, 0);
		page = 300 / DS_FETCH_HOME_PAGE;
		assert_int_equal(fetch.box.ops->neighbours(&fetch.box, page, tokens[300], near, 4),
				 l2_pages ? 4 : 0);
		stop();
	}
}

static u32 last_uses;

static void count_last_use(struct ds_token_idle *idle)
{
	(void)idle;
	last_uses++;
}

/* One that has ended, or may not be read on its way, is not copied; no use of it is lost. */
static void what_cannot_be_copied(void **state)
{
	struct ds_token_idle idle = { .done = count_last_use };
	struct ds_batch_item item = { 0 };
	struct ds_cache_change ch;
	u32 page;

	(void)state;
	start(2, 0);
	last_uses = 0;
	item.token = tokens[9];
	page = ds_fetch_page(&cache, item.token);
	cache.table.blocking = true;
	assert_int_equal(ds_cache_miss_begin(&cache, item.token, &ch), 0);
	assert_int_equal(fetch.batch.ops->fetch(&fetch.batch, page, &item, 1), 0);
	assert_int_equal(item.ret, -EAGAIN);
	ds_spin_lock(&cache.lock);
	assert_int_equal(ds_change_end(&cache, &ch, 0), 0);
	ds_spin_unlock(&cache.lock);
	assert_int_equal(ds_token_hold(&cache.table, item.token), 0);
	assert_int_equal(ds_token_revoke(&cache.table, item.token, &idle), -EINPROGRESS);
	assert_int_equal(fetch.batch.ops->fetch(&fetch.batch, page, &item, 1), 0);
	assert_int_equal(item.ret, -ESTALE);
	assert_int_equal(last_uses, 0);
	ds_token_put(&cache.table, item.token);
	assert_int_equal(last_uses, 1);
	ds_token_free(&cache.table, item.token);
	tokens[9] = create(9);
	stop();
}

static void moved_meanwhile(void **state)
{
	(void)state;
	start(4, 0);
	assert_int_equal(miss(9, 0), -EINPROGRESS);
	assert_int_equal(ds_cache_stage(&cache, tokens[9]), 0);
	ds_fetch_work(&fetch, 5000, 9);
	assert_told(9, 0);
	assert_int_equal(use(9), 1);
	assert_int_equal(miss(9, 6000), -EINPROGRESS);	/* another miss was faster */
	ds_fetch_work(&fetch, 20000, 9);
	assert_told(9, 0);
	stop();
}

static u32 pauses;

/* With a miss: others go on meanwhile. */
static void pause_and_miss(struct ds_fetch *f)
{
	assert_int_equal(++pauses, f->batch.stats.fetches);
	assert_int_equal(ds_fetch_miss(f, tokens[9], NULL, 0), -EINPROGRESS);
}

/* Each page, at home and in L2: the host's machine has other things to do. */
static void pauses_between_pages(void **state)
{
	static const u32 missed[] = { 1, 300, 302, 2 };
	u32 i;

	(void)state;
	start(2, 0);
	fetch.pause = pause_and_miss;
	pauses = 0;
	assert_int_equal(ds_cache_stage(&cache, tokens[302]), 0);
	for (i = 0; i < ARRAY_SIZE(missed); i++)
		assert_int_equal(miss(missed[i], 0), -EINPROGRESS);
	assert_int_equal(ds_fetch_work(&fetch, 5000, 9), 0);
	assert_int_equal(pauses, 3);
	stop();
}

static void work_says_when(void **state)
{
	(void)state;
	start(2, 0);
	assert_int_equal(ds_fetch_work(&fetch, 0, 9), DS_BATCH_NEVER);
	assert_int_equal(miss(7, 100), -EINPROGRESS);
	assert_int_equal(ds_fetch_work(&fetch, 1100, 9), 4000);
	assert_int_equal(whole(6, true, owner(6)), -EINPROGRESS);
	assert_int_equal(whole(8, true, owner(8)), -EINPROGRESS);
	assert_int_equal(ds_fetch_work(&fetch, 1100, 1), 0);
	assert_int_equal(ds_fetch_work(&fetch, 1100, 2), 4000);
	assert_int_equal(ds_fetch_work(&fetch, 5100, 2), DS_BATCH_NEVER);
	stop();
}

/* Hot inline meanwhile, ends and births: what is read is always what was written. */
static void random_uses(void **state)
{
	u64 steps = random_steps(), step;
	u32 i, hits = 0;

	(void)state;
	start(1, 4);
	for (step = 0; step < steps; step++) {
		i = random_below(random_below(2) ? TOKENS : TOKENS / 16);
		switch (random_below(32)) {
		case 0:
			end(tokens[i]);
			tokens[i] = create(i);
			posted[i] = 0;
			break;
		case 1:
			whole(i, random_below(2), owner(i));
			ds_fetch_work(&fetch, step * 100, 9);
			if (testers[i].told && !testers[i].ret && testers[i].w.buffer)
				assert_int_equal(testers[i].buffer.qp.posted, posted[i]);
			break;
		case 2:
		case 3:
		case 4:
			post(i, (u16)random_below(100));
			break;
		default:
			if (use(i) == 1)
				hits++;
			else
				ds_fetch_miss(&fetch, tokens[i], NULL, step * 100);
			ds_fetch_work(&fetch, step * 100, 9);
		}
	}
	print_message("# %u hits; %llu misses waited, %llu joined, %llu found in staging; %llu DMA "
		      "operations\n", hits, fetch.batch.stats.queued, fetch.batch.stats.joined,
		      fetch.batch.stats.used, fetch.batch.stats.fetches);
	assert_true(hits && fetch.batch.stats.used && fetch.batch.stats.stale);
	stop();
}

static void join_late(struct ds_fetch *f, u32 token, u64 since)
{
	u32 i;

	(void)since;
	for (i = 1; i < 3 && token == tokens[1]; i++)
		ds_fetch_miss(f, tokens[i], NULL, 0);
}

/*
 * Document 001 counts uses: also those that come while a token waits to be fetched, and while
 * another one of its page, or it, is being installed.
 */
static void misses_that_join_are_uses(void **state)
{
	u32 i, most = DS_POLICY_PROMOTE_TO_L1_THRESHOLD;

	(void)state;
	start_with(DS_POLICY_LITERAL_001, 1, 0);
	fetch.moved = join_late;
	for (i = 0; i < 3 * most - 2; i++)
		ds_fetch_miss(&fetch, tokens[1 + i % 3], NULL, 0);
	ds_fetch_work(&fetch, 1000000000, 1);
	assert_int_equal(tier_of(1), 1);
	assert_int_equal(tier_of(2), 1);
	assert_int_equal(tier_of(3), 2);
	assert_int_equal(ds_sketch_count(&cache.policy.base->sketch,
					 ds_policy_hash(ds_token_index(tokens[1]))), most + 1);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(misses_that_join_are_uses),
		TEST(wrong_parameters),
		TEST(forged_and_ended),
		TEST(misses_at_home),
		TEST(misses_in_l2),
		TEST(neighbours_wait_in_staging),
		TEST(pages),
		TEST(what_cannot_be_copied),
		TEST(moved_meanwhile),
		TEST(pauses_between_pages),
		TEST(work_says_when),
		TEST(random_uses),
	};

	return cmocka_run_group_tests_name("core_fetch", tests, NULL, NULL);
}
