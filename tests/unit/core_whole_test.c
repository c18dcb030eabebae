// SPDX-License-Identifier: Apache-2.0
/*
 * Whole descriptions of wide tokens, kept: what is read is what the token says, from a copy
 * or from home, and a token that has ended leaves none behind.
 */
#include "core_test.h"
#include "tokencache/fetch.h"
#include "tokencache/inline.h"
#include "tokencache/whole.c"
#include "core_queue_pair.h"

enum { CAPACITY = 64, TOKENS = 1024, OWNER = 7 };

static struct ds_cache cache;
static struct ds_fetch fetch;
static struct ds_whole buffers;
static u32 tokens[TOKENS];
static u16 posted[TOKENS];

/* All but each eighth are wide. */
static bool is_wide(u32 i)
{
	return i % 8;
}

static u32 create(u32 i)
{
	posted[i] = 0;
	return create_queue_pair(&cache.table, i, is_wide(i) ? 1 << 21 : 1);
}

static void revoke(u32 i)
{
	assert_int_equal(ds_token_revoke(&cache.table, tokens[i], NULL), 0);
	ds_fetch_revoked(&fetch, tokens[i]);
}

static void end(u32 i)
{
	revoke(i);
	ds_whole_forget(&buffers, tokens[i]);
	ds_token_free(&cache.table, tokens[i]);
}

static int allowed(struct ds_fetch *f, u32 requester, u32 token)
{
	assert_ptr_equal(f, &fetch);
	(void)token;
	return requester == OWNER ? 0 : -EACCES;
}

static void start(void)
{
	u32 i;

	assert_int_equal(ds_cache_init(&cache, TOKENS + 10, CAPACITY, DS_POLICY_DEFAULT, 2,
				       DS_L2_ANYWHERE), 0);
	assert_int_equal(ds_fetch_init(&fetch, &cache, allowed, NULL, NULL), 0);
	ds_whole_init(&buffers, &fetch);
	for (i = 0; i < TOKENS; i++)
		tokens[i] = create(i);
}

static void stop(void)
{
	u32 i;

	ds_fetch_shut(&fetch);
	for (i = 0; i < TOKENS; i++)
		end(i);
	for (i = 0; i < ARRAY_SIZE(buffers.copies); i++)
		assert_true(!buffers.copies[i].token && !buffers.copies[i].kept &&
			    !buffers.copies[i].ended);
	ds_fetch_destroy(&fetch);
	assert_int_equal(ds_cache_destroy(&cache), 0);
}

/* Return: 1 if it was read at home. */
static int use(u32 i)
{
	struct ds_token_desc d;
	int ret = ds_whole_get(&buffers, tokens[i], &d);

	assert_true(ret == 0 || ret == 1);
	assert_int_equal(d.type, DS_TOKEN_QP);
	assert_int_equal(d.qp.number, i + 1);
	assert_int_equal(d.qp.pd, is_wide(i) ? 1 << 21 : 1);
	assert_int_equal(d.qp.posted, posted[i]);
	ds_token_put(&cache.table, tokens[i]);
	return ret;
}

static int ask(u32 i)
{
	return ds_whole_ask(&buffers, tokens[i], OWNER, 0);
}

static void work(void)
{
	ds_fetch_work(&fetch, 1, 100);
}

static void numbers_that_are_no_tokens(void **state)
{
	struct ds_token_desc d;
	u32 old;

	(void)state;
	start();
	assert_int_equal(ds_whole_get(&buffers, 0, &d), -EBADF);
	assert_int_equal(ds_whole_get(&buffers, 5, &d), -EBADF);
	assert_int_equal(ds_whole_get(&buffers, ~0u, &d), -EBADF);
	assert_int_equal(ds_whole_ask(&buffers, ~0u, OWNER, 0), -EBADF);
	assert_int_equal(ds_whole_ask(&buffers, tokens[1], OWNER + 1, 0), -EACCES);
	assert_null(find_copy(&buffers, tokens[1]));
	ds_whole_forget(&buffers, tokens[1]);	/* of which there is nothing */
	old = tokens[1];
	end(1);
	assert_int_equal(ds_whole_get(&buffers, old, &d), -ESTALE);
	assert_int_equal(ds_whole_ask(&buffers, old, OWNER, 0), -ESTALE);
	tokens[1] = create(1);
	stop();
}

static void a_copy_is_kept(void **state)
{
	(void)state;
	start();
	assert_int_equal(use(0), 0);	/* not wide */
	assert_int_equal(use(1), 1);
	assert_int_equal(ask(1), -EINPROGRESS);
	assert_int_equal(ask(1), -EEXIST);
	assert_int_equal(use(1), 1);	/* not yet */
	work();
	assert_int_equal(buffers.stats.kept, 1);
	assert_int_equal(fetch.box.stats.copied, 1);
	assert_int_equal(fetch.box.stats.served[DS_EXPAND_BACKGROUND], 1);
	assert_int_equal(use(1), 0);
	assert_int_equal(ask(1), -EEXIST);
	/* It is what is read. */
	find_copy(&buffers, tokens[1])->desc.qp.number = 77;
	{
		struct ds_token_desc d;

		assert_int_equal(ds_whole_get(&buffers, tokens[1], &d), 0);
		assert_int_equal(d.qp.number, 77);
		ds_token_put(&cache.table, tokens[1]);
	}
	find_copy(&buffers, tokens[1])->desc.qp.number = 2;
	/* What changes is in the packed form, in whatever tier. */
	assert_int_equal(ds_token_add_posted(&cache.table, tokens[1], 5), 0);
	posted[1] = 5;
	assert_int_equal(use(1), 0);
	assert_int_equal(ds_cache_miss(&cache, tokens[1]), 0);
	assert_int_equal(ds_token_add_posted(&cache.table, tokens[1], 1), 0);
	posted[1] = 6;
	assert_int_equal(use(1), 0);
	stop();
}

/* Was a token used lately, where it is? */
static bool was_used(const struct ds_token_desc *d)
{
	if (d->tier == 2)
		return ds_l2_page_of(&cache.table.l2, d->slot)->recent[ds_l2_index(d->slot)];
	return d->tier == 3 || cache.policy.slots[d->slot].heat;
}

static void was_not_used(const struct ds_token_desc *d)
{
	if (d->tier == 2)
		ds_l2_page_of(&cache.table.l2, d->slot)->recent[ds_l2_index(d->slot)] = 0;
	else if (d->tier == 1)
		cache.policy.slots[d->slot].heat = 0;
}

static void who_chooses_hears_of_it(void **state)
{
	struct ds_token_desc d, same;
	u32 i, tier;

	(void)state;
	start();
	assert_int_equal(ds_cache_stage(&cache, tokens[1]), 0);
	assert_int_equal(ds_cache_miss(&cache, tokens[2]), 0);
	assert_int_equal(ds_cache_miss(&cache, tokens[8]), 0);
	for (i = 0; i < 4; i++) {
		u32 token = tokens[(const u32[]){ 1, 2, 8, 3 }[i]];

		tier = (const u32[]){ 2, 1, 1, 3 }[i];
		assert_int_equal(ds_token_get(&cache.table, token, &same), 0);
		was_not_used(&same);
		assert_true(ds_whole_get(&buffers, token, &d) >= 0);
		assert_true(was_used(&d));
		assert_int_equal(d.tier, tier);
		assert_int_equal(same.tier, tier);
		assert_int_equal(d.slot, same.slot);
		ds_token_put(&cache.table, token);
		ds_token_put(&cache.table, token);
	}
	stop();
}

static void what_has_ended_leaves_nothing(void **state)
{
	struct ds_expand_job job;
	struct ds_token_desc other = { .type = DS_TOKEN_QP, .qp.number = 99 };

	(void)state;
	start();
	/* Kept; asked for; and in the hands of a host, who comes late. */
	assert_int_equal(ask(1), -EINPROGRESS);
	work();
	end(1);
	tokens[1] = create(1);
	assert_int_equal(use(1), 1);
	assert_int_equal(ask(2), -EINPROGRESS);
	end(2);
	assert_int_equal(buffers.stats.failed, 1);
	tokens[2] = create(2);
	assert_int_equal(ask(3), -EINPROGRESS);
	assert_true(ds_expand_take(&fetch.box, &job));
	end(3);
	assert_int_equal(buffers.stats.failed, 2);
	assert_false(ds_expand_complete(&fetch.box, &job, 0, &other));
	tokens[3] = create(3);
	assert_int_equal(use(3), 1);
	/* The mailbox was not told of the revoke, only that nobody waits any more. */
	assert_int_equal(ask(4), -EINPROGRESS);
	ds_whole_forget(&buffers, tokens[4]);
	assert_null(find_copy(&buffers, tokens[4]));
	assert_int_equal(fetch.box.stats.cancelled, 1);
	work();
	assert_int_equal(use(4), 1);
	stop();
}

/* It has left the mailbox and is about to be told: the buffer is not free before that. */
static void ended_between_the_copy_and_its_news(void **state)
{
	struct ds_whole_copy *copy;
	u32 old;

	(void)state;
	start();
	assert_int_equal(ask(1), -EINPROGRESS);
	copy = find_copy(&buffers, tokens[1]);
	assert_true(ds_expand_cancel(&fetch.box, &copy->w));	/* as a host that has it */
	old = tokens[1];
	end(1);
	assert_true(copy->ended);
	assert_int_equal(copy->token, old);
	assert_null(find_copy(&buffers, old));
	copy_told(&copy->w.base, 0);
	assert_int_equal(copy->token, 0);
	assert_int_equal(copy->kept, 0);
	assert_false(copy->ended);
	tokens[1] = create(1);
	stop();
}

static void errors_are_asked_for_again(void **state)
{
	(void)state;
	start();
	assert_int_equal(ask(1), -EINPROGRESS);
	ds_expand_gone(&fetch.box, OWNER);
	assert_int_equal(buffers.stats.failed, 1);
	assert_int_equal(use(1), 1);
	assert_int_equal(ask(1), -EINPROGRESS);
	assert_int_equal(ds_expand_expire(&fetch.box, ~0ull), DS_EXPAND_NEVER);
	assert_int_equal(buffers.stats.failed, 2);
	assert_int_equal(ask(1), -EINPROGRESS);
	work();
	assert_int_equal(use(1), 0);
	stop();
}

/* Words that are no token's: it is not used for that. */
static void unreadable(void **state)
{
	struct ds_token_desc d;
	u64 *home, was, word;

	(void)state;
	start();
	home = ds_token_home_of(&cache.table, tokens[0]);
	was = *home;
	*home = 0;
	assert_int_equal(ds_whole_get(&buffers, tokens[0], &d), -EPROTO);
	assert_int_equal(ds_token_get(&cache.table, tokens[0], &d), -EPROTO);
	assert_int_equal(ds_token_find(&cache.table, tokens[0], &word), 0);
	assert_int_equal(ds_word_uses(word), 0);
	*home = was;
	assert_int_equal(use(0), 0);
	stop();
}

static void buffers_are_bounded(void **state)
{
	u32 i, got = 0, wide = 0, from_copies = 0;
	int ret;

	(void)state;
	start();
	for (i = 0; i < TOKENS; i++) {
		ret = ask(i);
		assert_true(ret == -EINPROGRESS || ret == -ENOSPC);
		got += ret == -EINPROGRESS;
		wide += ret == -EINPROGRESS && is_wide(i);
		work();
	}
	assert_true(got <= DS_WHOLE_SETS * DS_WHOLE_WAYS && got > DS_WHOLE_SETS * 3);
	assert_int_equal(buffers.stats.kept, got);
	for (i = 0; i < TOKENS; i++)
		from_copies += !use(i) && is_wide(i);
	assert_int_equal(from_copies, wide);
	/* One that ends makes room for another one of its set. */
	for (i = 0; !find_copy(&buffers, tokens[i]); i++)
		;
	end(i);
	tokens[i] = create(i);
	for (i = 0; i < TOKENS && ask(i) != -EINPROGRESS; i++)
		;
	assert_true(i < TOKENS);
	stop();
}

/* Copies that are asked for have their buffers, too; those of other sets are of no use. */
static void no_buffer_is_left(void **state)
{
	u32 i, asked = 0;

	(void)state;
	start();
	for (i = 0; i < TOKENS; i++)
		if (set_of(&buffers, tokens[i]) == buffers.copies)
			assert_int_equal(ask(i), asked++ < DS_WHOLE_WAYS ? -EINPROGRESS : -ENOSPC);
	assert_true(asked > DS_WHOLE_WAYS);
	stop();
}

static bool are_all_kept(const struct ds_whole_copy *set)
{
	return set[0].kept && set[1].kept && set[2].kept && set[3].kept;
}

/* Once all buffers of a set are kept, who asks for one does not wait for the lock. */
static void a_full_set_takes_no_lock(void **state)
{
	u32 i, kept = 0, full = 0;
	int ret;

	(void)state;
	start();
	for (i = 0; i < TOKENS; i++) {
		ask(i);
		work();
	}
	ds_spin_lock(&buffers.lock);
	for (i = 0; i < TOKENS; i++) {
		if (!are_all_kept(set_of(&buffers, tokens[i])))
			continue;
		ret = ask(i);
		kept += ret == -EEXIST;
		full += ret == -ENOSPC;
	}
	ds_spin_unlock(&buffers.lock);
	assert_in_range(kept, DS_WHOLE_WAYS, buffers.stats.kept);
	assert_true(full > 0);
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(numbers_that_are_no_tokens),
		TEST(a_copy_is_kept),
		TEST(who_chooses_hears_of_it),
		TEST(what_has_ended_leaves_nothing),
		TEST(ended_between_the_copy_and_its_news),
		TEST(errors_are_asked_for_again),
		TEST(unreadable),
		TEST(buffers_are_bounded),
		TEST(no_buffer_is_left),
		TEST(a_full_set_takes_no_lock),
	};

	return cmocka_run_group_tests_name("core_whole", tests, NULL, NULL);
}
