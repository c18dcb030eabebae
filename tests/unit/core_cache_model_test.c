// SPDX-License-Identifier: Apache-2.0
/*
 * All that happens to the token cache, at random: misses at once and in halves, pins, shares that
 * change, staging, writes, ticks, uses without end and revokes. Words, slots of both tiers, the
 * policy, the shares and all counts must say the same of where tokens are.
 *
 * DS_TEST_STEPS and DS_TEST_SEED: more of it, and another one.
 */
#include "core_tier.h"

enum { OBJECTS = 1000, HOT = 90, DOMAINS = 4, HALVES = 6, NOBODY = OBJECTS };
enum { HISTORY = 20000, STEPS_EACH = 20 };	/* they are short */

enum object_state { LIVE, ENDING, ENDED };

/* Its token is tokens[i], in which posted[i] were posted. */
struct object {
	struct ds_token_idle idle;
	enum object_state state;
};

/* What a history is like. */
struct taste {
	u32 pins;	/* of 32; the others are unpinned */
	u32 kept;	/* slots that a domain keeps at most, or always if it is @tight */
	bool tight;	/* all of L1 comes to be pinned or kept */
};

static struct object objects[OBJECTS];
static struct ds_cache_change halves[HALVES];
static bool is_open[HALVES];
static u32 pds[DOMAINS], busiest;	/* object that cannot be used more */
static u64 now, uses, fixed_all, own_places;

static void told(struct ds_token_idle *idle)
{
	container_of(idle, struct object, idle)->state = ENDED;
}

static void create_object(u32 i)
{
	struct ds_token_desc d = {
		.type = DS_TOKEN_QP, .qp.number = i + 1, .qp.access = i % 7, .qp.srq = i & 1,
		.qp.pd = i % 5 == 4 ? DS_TOKEN_NONE : ds_token_index(pds[i % DOMAINS]),
	};

	assert_int_equal(ds_token_create(&cache.table, &d, &tokens[i]), 0);
	posted[i] = 0;
	objects[i].state = LIVE;
	objects[i].idle.done = told;
}

/* ---- what must be so ---- */

static void check_in_l1(u32 i, u64 word, bool quiet, u32 owner[CAPACITY])
{
	u32 slot = ds_word_l1_slot(word);

	assert_int_equal(owner[slot], 0);
	owner[slot] = tokens[i];
	assert_int_equal(cache.table.l1.slots[slot].token, tokens[i]);
	if (quiet)
		assert_int_equal(cache.table.l1.slots[slot].shown, tokens[i]);
}

static void check_in_l2(u32 i, u64 word, bool quiet)
{
	u32 slot = ds_word_l2_slot(word);

	assert_int_equal(ds_l2_slot_of(&cache.table.l2, slot)->token, tokens[i]);
	if (quiet)
		assert_int_equal(ds_l2_is_kept(&cache.table.l2, slot), !!(word & DS_WORD_PINNED));
}

/* @quiet: nobody is on his way. */
static void check_tokens(bool quiet, u32 owner[CAPACITY])
{
	u32 i, in[4] = { 0 }, pins = 0;

	memset(owner, 0, CAPACITY * sizeof(owner[0]));
	for (i = 0; i < OBJECTS; i++) {
		u64 word;
		u32 tier;

		if (objects[i].state != LIVE)
			continue;
		word = word_of(tokens[i]);
		tier = ds_word_tier(word);
		in[tier]++;
		if (tier == 1)
			check_in_l1(i, word, quiet, owner);
		else if (tier == 2)
			check_in_l2(i, word, quiet);
		pins += tier == 1 && word & DS_WORD_PINNED;
		if (!quiet)
			continue;
		assert_false(ds_word_is_moving(word));
		assert_int_equal(ds_word_uses(word), i == busiest ? DS_WORD_USES_MAX - 1 : 0);
	}
	assert_int_equal(cache.pins, pins);
	assert_true(pins <= cache.pins_max);
	if (quiet)
		assert_int_equal(cache.table.l2.used, in[2]);
}

/* The policy knows of each slot whose it is, and whether its token has to stay. */
static void check_policy(const u32 owner[CAPACITY])
{
	u32 slot, used = 0, pinned = 0, of_queue[2] = { 0 };
	struct ds_policy *p = &cache.policy;

	for (slot = 0; slot < CAPACITY; slot++) {
		bool is_used = p->slots[slot].key_high & DS_SLOT_USED;
		bool stays = p->slots[slot].key_high & DS_SLOT_PINNED;

		assert_int_equal(is_used, !!owner[slot]);
		used += is_used;
		pinned += stays;
		if (!is_used) {
			assert_false(stays);
			continue;
		}
		assert_int_equal(ds_policy_key(p, slot), ds_token_index(owner[slot]));
		assert_int_equal(stays, word_of(owner[slot]) & DS_WORD_PINNED ||
					ds_share_keeps(&cache.shares, slot));
		of_queue[!!(p->slots[slot].link & DS_SLOT_MAIN)] += !stays;
	}
	assert_int_equal(p->pinned, pinned);
	assert_int_equal(p->fresh - p->forgotten, used);
	if (!p->base) {
		assert_int_equal(p->staged, of_queue[0]);
		assert_int_equal(p->kept, of_queue[1]);
	}
}

static void check_shares(const u32 owner[CAPACITY])
{
	u32 slot, i, used[DS_SHARES] = { 0 }, held[DS_SHARES] = { 0 };
	struct ds_shares *s = &cache.shares;

	for (slot = 0; s->slots && slot < CAPACITY; slot++) {
		const struct ds_share_slot *at = &s->slots[slot];

		assert_false(at->busy);
		if (!at->share) {
			assert_false(at->held || at->pinned);
			continue;
		}
		assert_int_equal(ds_share_domain(&cache.table, owner[slot]),
				 s->of[at->share - 1].domain);
		used[at->share - 1]++;
		held[at->share - 1] += at->held;
	}
	for (i = 0; i < s->count; i++) {
		assert_int_equal(s->of[i].used, used[i]);
		assert_int_equal(s->of[i].held, held[i]);
	}
}

static void check(void)
{
	u32 owner[CAPACITY], k;
	bool quiet = true;

	for (k = 0; k < HALVES; k++)
		quiet &= !is_open[k];
	check_tokens(quiet, owner);
	if (!quiet)
		return;
	check_policy(owner);
	check_shares(owner);
}

/* ---- what happens ---- */

/* The tier where it was found, or an error. */
static int look(u32 i)
{
	struct ds_token_pack p;
	struct ds_token_desc d;
	int tier = ds_cache_look(&cache, tokens[i], &p);

	if (objects[i].state != LIVE) {
		assert_int_equal(tier, -ESTALE);
	} else if (tier > 0) {
		assert_int_equal(ds_token_unpack(&p, NULL, &d), 0);
		assert_int_equal(d.qp.number, i + 1);
		assert_int_equal(d.qp.posted, posted[i]);
	} else {	/* with blocking it is not read on its way */
		assert_int_equal(tier, -EAGAIN);
		assert_true(cache.table.blocking && ds_word_is_moving(word_of(tokens[i])));
	}
	return tier;
}

/* By default a token comes to L1 whenever one of its domain can leave. */
static void miss(u32 i)
{
	bool fixed = cache.policy.pinned == CAPACITY, own = false;
	struct ds_share *share;
	int ret;

	share = ds_share_find(&cache.shares, ds_share_domain(&cache.table, tokens[i]));
	if (share)
		own = ds_share_oldest(&cache.shares, share) != DS_SHARE_NONE;
	ret = ds_cache_miss(&cache, tokens[i]);
	assert_false(own && !cache.policy.base && ret == -ENOSPC);
	fixed_all += fixed;
	own_places += fixed && !ret;
}

static void end_half(u32 k, bool abort)
{
	if (is_open[k] && abort)
		ds_change_end(&cache, &halves[k], -ECANCELED);
	else if (is_open[k])
		ds_change_end(&cache, &halves[k], 0);
	is_open[k] = false;
}

static void begin_or_end_half(u32 k, u32 i)
{
	if (is_open[k])
		end_half(k, !random_below(3));
	else
		is_open[k] = !ds_cache_miss_begin(&cache, tokens[i], &halves[k]);
}

static void end_halves(void)
{
	u32 k;

	for (k = 0; k < HALVES; k++)
		end_half(k, false);
}

static void revoke(u32 i)
{
	int ret;

	if (objects[i].state != LIVE)
		return;
	objects[i].state = ENDING;
	ret = ds_token_revoke(&cache.table, tokens[i], &objects[i].idle);
	if (ret)
		assert_int_equal(ret, -EINPROGRESS);
	else
		objects[i].state = ENDED;
	look(i);
}

/* One that is used as often as can be counted but for one: there it stays. */
static void use_without_end(u32 i)
{
	u32 n, last = busiest, token = tokens[last == NOBODY ? i : last];

	if (last == NOBODY && (objects[i].state != LIVE || ds_word_uses(word_of(token))))
		return;
	busiest = last == NOBODY ? i : NOBODY;
	for (n = 0; n < DS_WORD_USES_MAX - 1; n++) {
		if (last == NOBODY)
			assert_int_equal(ds_token_hold(&cache.table, token), 0);
		else
			ds_token_put(&cache.table, token);
	}
}

static void tick(void)
{
	struct ds_policy_load load = {
		.l1 = random_below(1001), .l2 = random_below(1001), .dma = random_below(1001),
		.cpu = random_below(1001), .moves = random_below(50), .waits = random_below(50),
		.blocking = cache.table.blocking,
	};

	now += random_below(20000000);
	uses += random_below(900);
	ds_cache_tick(&cache, now, uses, &load, 1 + random_below(3));
}

static void change_share(const struct taste *taste)
{
	u32 min = taste->tight ? taste->kept : random_below(taste->kept + 1), max = CAPACITY;
	int ret;

	if (!random_below(3))
		max = min + 1 + random_below(5);
	assert_int_equal(ds_shares_prepare(&cache.shares), 0);
	ret = ds_cache_partition(&cache, random_below(DOMAINS), min, max);
	if (ret)
		assert_int_equal(ret, -ENOSPC);
}

static void write_to(u32 i)
{
	if (!ds_token_add_posted(&cache.table, tokens[i], 1))
		posted[i]++;
}

static void one_step(const struct taste *taste)
{
	u32 i = random_below(random_below(2) ? OBJECTS : HOT);

	if (objects[i].state == ENDED) {
		ds_token_free(&cache.table, tokens[i]);
		create_object(i);
	}
	switch (random_below(24)) {
	case 0:
		if (!random_below(8))
			revoke(i);
		break;
	case 1:
		ds_cache_pin(&cache, tokens[i], random_below(32) < taste->pins);
		break;
	case 2:
		ds_cache_stage(&cache, tokens[i]);
		break;
	case 3:
		tick();
		break;
	case 4:
		if (!random_below(11))
			change_share(taste);
		break;
	case 5:
	case 6:
	case 7:
		begin_or_end_half(random_below(HALVES), i);
		break;
	case 8:
	case 9:
		write_to(i);
		break;
	case 10:
		cache.table.blocking = random_below(2);
		break;
	case 11:
		if (!random_below(200))
			use_without_end(i);
		break;
	default:
		if (look(i) > 1)
			miss(i);
	}
}

/* ---- histories ---- */

static void begin(u32 mode, u32 l2_pages)
{
	u32 i;

	assert_int_equal(ds_cache_init(&cache, OBJECTS + DOMAINS, CAPACITY, mode, l2_pages,
				       DS_L2_ANYWHERE), 0);
	cache.pins_max = CAPACITY / 2;
	if (cache.policy.base) {
		cache.policy.base->params.promote_to_l1_threshold = 2;
		cache.policy.base->params.promote_to_l2_threshold = 1;
	}
	for (i = 0; i < DOMAINS; i++) {
		struct ds_token_desc d = { .type = DS_TOKEN_PD, .pd.domain = i, .pd.number = i };

		assert_int_equal(ds_token_create(&cache.table, &d, &pds[i]), 0);
	}
	for (i = 0; i < OBJECTS; i++)
		create_object(i);
	now = 0;
	uses = 0;
	busiest = NOBODY;
}

/* Nobody has to stay: no domain has, or keeps, more than it may. */
static void settle(void)
{
	u32 i;

	for (i = 0; i < OBJECTS; i++)
		ds_cache_pin(&cache, tokens[i], false);
	ds_cache_tick(&cache, now, uses, &no_load, CAPACITY);
	check();
	for (i = 0; i < cache.shares.count; i++) {
		const struct ds_share *share = &cache.shares.of[i];

		assert_true(share->used <= share->max);
		assert_true(share->held <= share->min);
	}
}

static void finish(void)
{
	u32 i;

	end_halves();
	if (busiest != NOBODY)
		use_without_end(busiest);
	cache.table.blocking = false;
	check();
	settle();
	for (i = 0; i < OBJECTS; i++) {
		look(i);
		revoke(i);
		assert_int_equal(objects[i].state, ENDED);
		ds_token_free(&cache.table, tokens[i]);
	}
	for (i = 0; i < DOMAINS; i++)
		end(pds[i]);
	assert_int_equal(cache.table.l2.used, 0);
	assert_int_equal(cache.policy.pinned, 0);
	assert_int_equal(ds_cache_destroy(&cache), 0);
}

static void a_history(u32 mode, u32 l2_pages, u64 steps)
{
	struct taste taste = { .pins = random_below(32), .kept = 1 + random_below(CAPACITY / 4) };
	u64 step;

	if (!random_below(3))
		taste = (struct taste){ 31, CAPACITY / 2 / DOMAINS, true };
	begin(mode, l2_pages);
	for (step = 0; step < steps; step++) {
		one_step(&taste);
		if (step % 997 == 0)
			end_halves();
		if (step % 97 == 0 || step % 997 == 0)
			check();
	}
	finish();
}

static void random_histories(void **state)
{
	u64 steps = STEPS_EACH * random_steps(), step;
	u32 history = 0;

	(void)state;
	fixed_all = 0;
	own_places = 0;
	for (step = 0; step < steps; step += HISTORY, history++)
		a_history(history % DS_POLICY_MODES, history / DS_POLICY_MODES % 3, HISTORY);
	print_message("# %llu misses while all of L1 had to stay, %llu came there all the same\n",
		      fixed_all, own_places);
	assert_true(own_places > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(random_histories),
	};

	return cmocka_run_group_tests_name("core_cache_model", tests, NULL, NULL);
}
