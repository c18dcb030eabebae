// SPDX-License-Identifier: Apache-2.0
/*
 * Extents: sizes at every k, exhaustion, wrong callers, generations, the tails
 * of the dead, and many threads at once.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "rdm/extent.h"

/* A memory server of zeros. */
struct server {
	struct ds_extents e;
	u8 *memory;
	size_t bytes;
};

static const struct ds_owner alice = { .client = 5, .incarnation = 0x1234 };
static const struct ds_owner bob = { .client = DS_LAYOUT_MAX_CLIENT, .incarnation = 0xffff };

static const u32 regions[] = { DS_REGION_LEVEL1, DS_REGION_LEVEL2, DS_REGION_LEVEL3,
			       DS_REGION_LEAF };

static u64 *word_at(void *memory, u64 offset)
{
	struct server *s = memory;

	assert_true(offset % 8 == 0 && offset + 8 <= s->bytes);
	return (u64 *)(s->memory + offset);
}

static int failing;	/* errno that each access ends with, if it is not 0 */
static u32 reads, swaps;

static int read_words(void *memory, u64 offset, u64 *words, u32 count)
{
	u32 i;

	assert_in_range(count, 1, DS_EXTENT_READ_WORDS);
	__atomic_fetch_add(&reads, 1, __ATOMIC_RELAXED);
	for (i = 0; i < count; i++)
		words[i] = READ_ONCE(*word_at(memory, offset + i * 8));
	return failing;
}

static int cas_word(void *memory, u64 offset, u64 before, u64 after, u64 *found)
{
	__atomic_fetch_add(&swaps, 1, __ATOMIC_RELAXED);
	if (failing)
		return failing;
	*found = ds_cmpxchg64(word_at(memory, offset), before, after);
	return 0;
}

static const struct ds_extent_ops ops = { .read = read_words, .cas = cas_word };

static void start(struct server *s, u32 k)
{
	struct ds_layout l = { .servers = 1, .server_shift = 24 + k };

	s->bytes = 1ul << l.server_shift;
	s->memory = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_true(s->memory != MAP_FAILED);
	ds_extents_init(&s->e, &l, &ops, s);
}

static void end(struct server *s)
{
	munmap(s->memory, s->bytes);
}

static u32 all_extents(const struct ds_layout *l)
{
	u32 all = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(regions); i++)
		all += ds_extent_count(l, regions[i]);
	return all;
}

/* What a client does: the first line of the node, with its generation. */
static void write_node(struct server *s, const struct ds_extent *x, u32 n, u32 generation, u32 mark)
{
	*word_at(s, x->offset + n * 1024ul + 8) = 0xabcdef0000000000 | mark << 16 | generation;
}

static void sizes(void **state)
{
	struct ds_layout l = { .servers = 1, .server_shift = 24 };
	u64 table;
	u32 k;
	size_t i;

	(void)state;
	assert_int_equal(ds_extent_nodes(&l, DS_REGION_LEAF), 16);
	assert_int_equal(ds_extent_count(&l, DS_REGION_LEAF), 896);
	assert_int_equal(ds_extent_nodes(&l, DS_REGION_LEVEL3), 4);
	assert_int_equal(ds_extent_count(&l, DS_REGION_LEVEL3), 448);
	assert_int_equal(ds_extent_count(&l, DS_REGION_LEVEL2), 32);
	assert_int_equal(ds_extent_count(&l, DS_REGION_LEVEL1), 16);
	for (k = 0; k <= DS_LAYOUT_MAX_K; k++) {
		l.server_shift = 24 + k;
		for (i = 0; i < ARRAY_SIZE(regions); i++) {
			u64 nodes = ds_extent_nodes(&l, regions[i]);

			assert_in_range(nodes, 4, 4096);
			assert_int_equal(nodes & (nodes - 1), 0);
			/* Nothing of a region is left over. */
			assert_int_equal(nodes * ds_extent_count(&l, regions[i]) * 1024,
					 ds_layout_region_end(&l, regions[i]) -
					 ds_layout_region_start(&l, regions[i]));
		}
		table = DS_LAYOUT_LEVEL1_OFFSET - DS_LAYOUT_EXTENT_OFFSET;
		assert_true(all_extents(&l) * 8ul <= table << k);
	}
}

static void wrong_arguments(void **state)
{
	static const struct ds_owner nobody[] = { { 0, 1 }, { 1, 0 }, { 8192, 1 }, { 65535, 1 } };
	struct ds_extent x = { .index = 77 };
	struct server s;
	size_t i;

	(void)state;
	start(&s, 0);
	assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_ROOT, alice, &x), -EINVAL);
	assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_COUNT, alice, &x), -EINVAL);
	assert_int_equal(ds_extent_alloc(&s.e, UINT32_MAX, alice, &x), -EINVAL);
	for (i = 0; i < ARRAY_SIZE(nobody); i++)
		assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, nobody[i], &x), -EINVAL);
	assert_int_equal(x.index, 77);
	assert_int_equal(ds_extent_free(&s.e, 0, alice, 0), -ESTALE);
	assert_int_equal(ds_extent_free(&s.e, all_extents(&s.e.layout), alice, 0), -EINVAL);
	assert_int_equal(ds_extent_free(&s.e, UINT32_MAX, alice, 0), -EINVAL);
	assert_int_equal(ds_extent_reclaim(&s.e, alice), 0);
	end(&s);
}

static void wrong_frees(void **state)
{
	struct ds_owner alice_before = { alice.client, alice.incarnation - 1 };
	struct ds_extent x, y;
	struct server s;

	(void)state;
	start(&s, 0);
	assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, alice, &x), 0);
	assert_int_equal(ds_extent_free(&s.e, x.index, bob, 0), -EACCES);
	assert_int_equal(ds_extent_free(&s.e, x.index, alice_before, 0), -EACCES);
	assert_int_equal(ds_extent_free(&s.e, x.index, alice, 17), -EINVAL);
	assert_int_equal(ds_extent_free(&s.e, x.index, alice, UINT32_MAX), -EINVAL);
	assert_int_equal(ds_extent_free(&s.e, x.index, alice, 5), 0);
	assert_int_equal(ds_extent_free(&s.e, x.index, alice, 5), -ESTALE);
	/* The next owner may not give back what was used before. */
	assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, bob, &y), 0);
	assert_int_equal(y.index, x.index);
	assert_int_equal(ds_extent_free(&s.e, y.index, bob, 4), -EINVAL);
	assert_int_equal(ds_extent_free(&s.e, y.index, alice, 5), -EACCES);
	assert_int_equal(ds_extent_free(&s.e, y.index, bob, 5), 0);
	end(&s);
}

static void record_is_as_written(void **state)
{
	struct ds_extent x;
	struct server s;

	(void)state;
	start(&s, 0);
	assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEVEL1, alice, &x), 0);
	assert_int_equal(x.index, 0);
	assert_int_equal(*word_at(&s, 0xc000),
			 1ull << 62 | 5ull << 49 | 0x1234ull << 33 | 1ull << 17);
	assert_int_equal(ds_extent_free(&s.e, 0, alice, 3), 0);
	assert_int_equal(*word_at(&s, 0xc000), 2ull << 62 | 1ull << 17 | 3ull << 4);
	end(&s);
}

/* Every extent once, each within its region, none over another; then no more. */
static void fill_region(struct server *s, u32 region)
{
	const struct ds_layout *l = &s->e.layout;
	u32 count = ds_extent_count(l, region), i;
	u8 *seen = calloc(count, 1);
	struct ds_extent x;

	for (i = 0; i < count; i++) {
		u64 at;

		assert_int_equal(ds_extent_alloc(&s->e, region, alice, &x), 0);
		assert_true(x.offset >= ds_layout_region_start(l, region));
		assert_true(x.offset + x.nodes * 1024ul <= ds_layout_region_end(l, region));
		at = (x.offset - ds_layout_region_start(l, region)) / (x.nodes * 1024ul);
		assert_int_equal(x.offset,
				 ds_layout_region_start(l, region) + at * x.nodes * 1024ul);
		assert_int_equal(seen[at]++, 0);
		assert_int_equal(x.generation, 1);
		assert_int_equal(x.used, 0);
	}
	assert_int_equal(ds_extent_alloc(&s->e, region, bob, &x), -ENOSPC);
	free(seen);
}

static void exhaustion(void **state)
{
	static const u32 ks[] = { 0, 1, 3 };
	struct ds_extent x;
	struct server s;
	size_t i, r;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ks); i++) {
		start(&s, ks[i]);
		for (r = 0; r < ARRAY_SIZE(regions); r++)
			fill_region(&s, regions[r]);
		/* One that comes back is found, wherever it is. */
		assert_int_equal(ds_extent_free(&s.e, 3, alice, 0), 0);
		assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEVEL1, bob, &x), 0);
		assert_int_equal(x.index, 3);
		assert_int_equal(x.generation, 2);
		assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEVEL1, bob, &x), -ENOSPC);
		assert_int_equal(ds_extent_reclaim(&s.e, bob), 1);
		assert_int_equal(ds_extent_reclaim(&s.e, alice), all_extents(&s.e.layout) - 1);
		end(&s);
	}
}

static void used_up_piece_by_piece(void **state)
{
	struct ds_extent x;
	struct server s;
	u32 used;

	(void)state;
	start(&s, 0);
	for (used = 0; used < 16; used += 4) {
		assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, used % 8 ? alice : bob, &x), 0);
		assert_int_equal(x.index, 16 + 32 + 448);
		assert_int_equal(x.used, used);
		assert_int_equal(x.generation, 1);
		assert_int_equal(ds_extent_free(&s.e, x.index, used % 8 ? alice : bob, used + 4), 0);
	}
	assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, alice, &x), 0);
	assert_int_equal(x.index, 16 + 32 + 448 + 1);
	end(&s);
}

/* Where the next extent of the leaves is taken. */
static u32 next_leaf(struct server *s)
{
	struct ds_extent x;

	s->e.next[DS_REGION_LEAF] = 0;
	assert_int_equal(ds_extent_alloc(&s->e, DS_REGION_LEAF, bob, &x), 0);
	assert_int_equal(ds_extent_free(&s->e, x.index, bob, x.used), 0);
	return x.index;
}

#define RECORD(state, client, incarnation, used)					\
	((u64)(state) << 62 | (u64)(client) << 49 | (u64)(incarnation) << 33 | 1ull << 17 | \
	 (u64)(used) << 4)

/* What no client leaves behind is not taken for room: nodes that somebody uses may be there. */
static void damaged_records_give_no_nodes(void **state)
{
	static const u64 damaged[] = {
		RECORD(0, 0, 0, 1),  RECORD(0, 0, 0, 16), RECORD(0, 5, 0, 0),
		RECORD(0, 0, 1, 0),  RECORD(2, 0, 0, 0),  RECORD(2, 0, 0, 16),
		RECORD(2, 0, 0, 17), RECORD(2, 0, 0, 8191), RECORD(2, 5, 1, 3),
	};
	static const u32 first = 16 + 32 + 448;
	struct server s;
	u64 *record;
	size_t i;

	(void)state;
	start(&s, 0);
	record = word_at(&s, 0xc000 + first * 8ul);
	for (i = 0; i < ARRAY_SIZE(damaged); i++) {
		*record = damaged[i];
		assert_int_equal(next_leaf(&s), first + 1);
		assert_int_equal(*record, damaged[i]);
	}
	*record = RECORD(2, 0, 0, 15);
	assert_int_equal(next_leaf(&s), first);
	end(&s);
}

/* One bit of the state makes none of what is in use. */
static void a_state_with_a_flipped_bit(void **state)
{
	static const u32 first = 16 + 32 + 448;
	u32 used, bit;

	(void)state;
	for (used = 1; used <= 17; used++) {
		for (bit = 62; bit < 64; bit++) {
			struct ds_extent x;
			struct server s;

			start(&s, 0);
			assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, alice, &x), 0);
			if (used < 17)	/* else it is hers still */
				assert_int_equal(ds_extent_free(&s.e, x.index, alice, used), 0);
			*word_at(&s, 0xc000 + first * 8ul) ^= 1ull << bit;
			assert_int_equal(next_leaf(&s), first + 1);
			end(&s);
		}
	}
}

static void generations_wrap_without_zero(void **state)
{
	struct ds_extent x;
	struct server s;
	u32 i;

	(void)state;
	start(&s, 0);
	for (i = 1; i <= 65535 + 3; i++) {
		assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEVEL2, alice, &x), 0);
		assert_int_equal(x.index, 16);
		assert_int_equal(x.generation, i <= 65535 ? i : i - 65535);
		assert_int_equal(ds_extent_free(&s.e, x.index, alice, 0), 0);
	}
	end(&s);
}

/* Alice dies; bob gets what she had, and tells how far she came. */
static void expect_tail(struct server *s, u32 index, u32 used, u32 generation)
{
	struct ds_extent x;

	assert_int_equal(ds_extent_reclaim(&s->e, alice), 1);
	assert_int_equal(ds_extent_reclaim(&s->e, alice), 0);
	s->e.next[DS_REGION_LEAF] = 0;
	assert_int_equal(ds_extent_alloc(&s->e, DS_REGION_LEAF, bob, &x), 0);
	if (used == 16) {
		assert_int_equal(x.index, index + 1);
	} else {
		assert_int_equal(x.index, index);
		assert_int_equal(x.used, used);
		assert_int_equal(x.generation, generation);
	}
}

static void tails_of_the_dead(void **state)
{
	static const struct {
		int last;		/* node written last, in this generation */
		u32 used;
		u32 generation;
	} cases[] = { { -1, 0, 2 }, { 0, 1, 1 }, { 7, 8, 1 }, { 14, 15, 1 }, { 15, 16, 1 } };
	struct ds_extent x;
	struct server s;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		start(&s, 0);
		assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, alice, &x), 0);
		if (cases[i].last >= 0)
			write_node(&s, &x, cases[i].last, 1, DS_NODE_MARK);
		expect_tail(&s, x.index, cases[i].used, cases[i].generation);
		end(&s);
	}
}

static void what_is_no_node_of_this_generation(void **state)
{
	struct ds_extent x;
	struct server s;

	(void)state;
	start(&s, 0);
	/* Bob's nodes of generation 1 are dead when the extent is free again. */
	assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, bob, &x), 0);
	write_node(&s, &x, 12, 1, DS_NODE_MARK);
	assert_int_equal(ds_extent_free(&s.e, x.index, bob, 0), 0);
	assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, alice, &x), 0);
	assert_int_equal(x.generation, 2);
	write_node(&s, &x, 5, 2, DS_NODE_MARK);
	write_node(&s, &x, 9, 2, DS_NODE_MARK ^ 1);
	write_node(&s, &x, 10, 3, DS_NODE_MARK);
	expect_tail(&s, x.index, 6, 2);
	end(&s);
}

static void the_dead_leave_what_others_used(void **state)
{
	struct ds_extent x;
	struct server s;

	(void)state;
	start(&s, 0);
	assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, bob, &x), 0);
	assert_int_equal(ds_extent_free(&s.e, x.index, bob, 6), 0);
	assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, alice, &x), 0);
	expect_tail(&s, x.index, 6, 1);
	end(&s);
}

static void reclaim_takes_one_life_only(void **state)
{
	struct ds_owner alice_again = { alice.client, alice.incarnation + 1 };
	struct ds_extent a, b, c;
	struct server s;

	(void)state;
	start(&s, 0);
	assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, alice, &a), 0);
	assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEVEL3, alice_again, &b), 0);
	assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, bob, &c), 0);
	assert_int_equal(ds_extent_reclaim(&s.e, alice), 1);
	assert_int_equal(ds_extent_free(&s.e, a.index, alice, 0), -ESTALE);
	assert_int_equal(ds_extent_free(&s.e, b.index, alice_again, 0), 0);
	assert_int_equal(ds_extent_free(&s.e, c.index, bob, 0), 0);
	end(&s);
}

/* ---- what it costs, and when it cannot be done ---- */

static void a_read_and_a_swap(void **state)
{
	struct ds_extent x;
	struct server s;
	u32 i;

	(void)state;
	start(&s, 0);
	for (i = 0; i < 500; i++) {
		reads = swaps = 0;
		assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, alice, &x), 0);
		assert_int_equal(swaps, 1);
		/* The record behind the last one taken may begin another READ. */
		assert_in_range(reads, 1, 2);
	}
	end(&s);
}

static void memory_that_does_not_answer(void **state)
{
	struct ds_extent x;
	struct server s;

	(void)state;
	start(&s, 0);
	failing = -ENOTCONN;
	assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, alice, &x), -ENOTCONN);
	failing = 0;
	assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, alice, &x), 0);
	failing = -ENOTCONN;
	assert_int_equal(ds_extent_free(&s.e, x.index, alice, 0), -ENOTCONN);
	assert_int_equal(ds_extent_reclaim(&s.e, alice), -ENOTCONN);
	failing = 0;
	assert_int_equal(ds_extent_reclaim(&s.e, alice), 1);
	end(&s);
}

/* ---- many threads: an extent has one owner at a time ---- */

enum { THREADS = 4, ROUNDS = 20000 };

static struct server shared;
static u32 owners[16];	/* of each level 1 extent; plain, so that the sanitizer looks too */
static u32 doubly;

static void *come_and_go(void *arg)
{
	struct ds_owner me = { .client = (u16)(uintptr_t)arg, .incarnation = 1 };
	struct ds_extents e;
	struct ds_extent x;
	int i;

	/* As another process would: a struct of its own. */
	ds_extents_init(&e, &shared.e.layout, &ops, &shared);
	for (i = 0; i < ROUNDS; i++) {
		if (ds_extent_alloc(&e, DS_REGION_LEVEL1, me, &x))
			continue;
		if (owners[x.index])
			__atomic_fetch_add(&doubly, 1, __ATOMIC_RELAXED);
		owners[x.index] = me.client;
		if (owners[x.index] != me.client)
			__atomic_fetch_add(&doubly, 1, __ATOMIC_RELAXED);
		owners[x.index] = 0;
		if (i % 3 == 0)
			ds_extent_reclaim(&e, me);
		else if (ds_extent_free(&e, x.index, me, x.used))
			__atomic_fetch_add(&doubly, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void one_owner_at_a_time(void **state)
{
	pthread_t threads[THREADS];
	uintptr_t i;

	(void)state;
	start(&shared, 0);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, (void *)(i + 1)), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(doubly, 0);
	end(&shared);
}

static void assert_tally(struct server *s, u32 free, u32 owned, u32 part, u32 full)
{
	struct ds_extent_tally tally;

	assert_int_equal(ds_extent_count_all(&s->e, &tally), 0);
	assert_int_equal(tally.free, free);
	assert_int_equal(tally.owned, owned);
	assert_int_equal(tally.part, part);
	assert_int_equal(tally.full, full);
}

/* The thread sanitizer may leave no hole of 1 TiB, as the layout of a process varies. */
#ifdef __SANITIZE_THREAD__
#define MOST_K 8
#else
#define MOST_K DS_LAYOUT_MAX_K
#endif

static void all_are_counted(void **state)
{
	struct ds_extent_tally tally = { .free = 77 };
	struct ds_extent first, x;
	struct server s;
	u32 all, k;

	(void)state;
	for (k = 0; k <= MOST_K; k += 8) {
		start(&s, k);
		all = all_extents(&s.e.layout);
		assert_tally(&s, all, 0, 0, 0);
		assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEVEL1, alice, &x), 0);
		assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, alice, &first), 0);
		assert_tally(&s, all - 2, 2, 0, 0);
		assert_int_equal(ds_extent_free(&s.e, x.index, alice, 0), 0);
		assert_int_equal(ds_extent_free(&s.e, first.index, alice, 3), 0);
		assert_tally(&s, all - 1, 0, 1, 0);
		/* The last one that there is. */
		do {
			assert_int_equal(ds_extent_alloc(&s.e, DS_REGION_LEAF, bob, &x), 0);
			assert_int_equal(ds_extent_free(&s.e, x.index, bob, x.nodes), 0);
		} while (x.index != all - 1);
		assert_tally(&s, all - ds_extent_count(&s.e.layout, DS_REGION_LEAF), 0, 0,
			     ds_extent_count(&s.e.layout, DS_REGION_LEAF));
		failing = -EIO;
		assert_int_equal(ds_extent_count_all(&s.e, &tally), -EIO);
		failing = 0;
		assert_int_equal(tally.free, 77);
		end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(wrong_arguments),
		cmocka_unit_test(wrong_frees),
		cmocka_unit_test(record_is_as_written),
		cmocka_unit_test(exhaustion),
		cmocka_unit_test(used_up_piece_by_piece),
		cmocka_unit_test(damaged_records_give_no_nodes),
		cmocka_unit_test(a_state_with_a_flipped_bit),
		cmocka_unit_test(generations_wrap_without_zero),
		cmocka_unit_test(tails_of_the_dead),
		cmocka_unit_test(what_is_no_node_of_this_generation),
		cmocka_unit_test(the_dead_leave_what_others_used),
		cmocka_unit_test(reclaim_takes_one_life_only),
		cmocka_unit_test(a_read_and_a_swap),
		cmocka_unit_test(memory_that_does_not_answer),
		cmocka_unit_test(one_owner_at_a_time),
		cmocka_unit_test(all_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
