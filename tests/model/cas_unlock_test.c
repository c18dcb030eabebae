// SPDX-License-Identifier: Apache-2.0
/*
 * Why a lock word is only ever touched by RDMA atomics of one device (docs/design.md
 * rules 2 and 3): all interleavings of a model of the responder.
 *
 * The holder A of a lock word gives it back while contenders try to take it by
 * CAS from 0. soft-RoCE runs a CAS as a load and a store under a lock, which a
 * WRITE does not take. On Linux 6.1 the store happens even if the compare
 * failed, and then puts the old value back; on 6.12 only a CAS that succeeds
 * stores. soft-RoCE has one lock for all its devices; two devices of real
 * hardware know nothing of each other, and are modelled with a lock each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { A = 0, ACTORS_MAX = 4, DEVICES = 2 };

enum op { OP_WRITE, OP_CAS };
enum responder { LINUX_6_1, LINUX_6_12 };

/* One operation: what it does and how far it has come. */
struct actor {
	enum op op;
	int device;
	uint64_t compare, swap;
	int steps_done;		/* of 1 for WRITE, of 2 for CAS */
	uint64_t seen;
};

struct world {
	enum responder responder;
	uint64_t word;
	bool busy[DEVICES];	/* a CAS is between its load and its store */
	int actors;
	struct actor actor[ACTORS_MAX];
};

struct count {
	unsigned int schedules;
	unsigned int lost;	/* A gave the lock back and nobody can ever take it */
	unsigned int two;	/* two contenders took it */
};

static bool finished(const struct actor *a)
{
	return a->steps_done == (a->op == OP_WRITE ? 1 : 2);
}

static bool can_step(const struct world *w, const struct actor *a)
{
	return !finished(a) && !(a->op == OP_CAS && !a->steps_done && w->busy[a->device]);
}

static void step(struct world *w, struct actor *a)
{
	if (a->op == OP_WRITE) {
		w->word = a->swap;
	} else if (!a->steps_done) {
		w->busy[a->device] = true;
		a->seen = w->word;
	} else {
		if (a->seen == a->compare)
			w->word = a->swap;
		else if (w->responder == LINUX_6_1)
			w->word = a->seen;
		w->busy[a->device] = false;
	}
	a->steps_done++;
}

static void judge(const struct world *w, struct count *n)
{
	int i, taken = 0;

	for (i = A + 1; i < w->actors; i++)
		taken += w->actor[i].seen == 0;
	n->schedules++;
	n->lost += !taken && w->word != 0;
	n->two += taken > 1;
}

static void explore(const struct world *w, struct count *n)
{
	bool stepped = false;
	int i;

	for (i = 0; i < w->actors; i++) {
		struct world next = *w;

		if (!can_step(w, &w->actor[i]))
			continue;
		stepped = true;
		step(&next, &next.actor[i]);
		explore(&next, n);
	}
	if (!stepped)
		judge(w, n);
}

/* A unlocks by @unlock; contender i comes through device i * @spread % DEVICES. */
static struct count run(enum responder responder, enum op unlock, int contenders, int spread)
{
	const uint64_t mine = 100;
	struct world w = {
		.responder = responder, .word = mine, .actors = contenders + 1,
		.actor = { { .op = unlock, .compare = mine, .swap = 0 } },
	};
	struct count n = { 0 };
	int i;

	for (i = 1; i <= contenders; i++)
		w.actor[i] = (struct actor){
			.op = OP_CAS, .device = i * spread % DEVICES, .swap = mine + i,
		};
	explore(&w, &n);
	print_message("# %s, unlock by %s, %d contender(s), %d device(s): %u schedules, %u lost, %u taken twice\n",
		      responder == LINUX_6_1 ? "6.1" : "6.12",
		      unlock == OP_CAS ? "CAS" : "WRITE", contenders, spread + 1, n.schedules,
		      n.lost, n.two);
	return n;
}

/* The one lost schedule: B loads, A writes 0, B puts the old value back. */
static void unlock_by_write_is_lost(void **state)
{
	struct count n = run(LINUX_6_1, OP_WRITE, 1, 0);

	(void)state;
	assert_int_equal(n.schedules, 3);
	assert_int_equal(n.lost, 1);
	assert_int_equal(n.two, 0);
	assert_int_not_equal(run(LINUX_6_1, OP_WRITE, 2, 0).lost, 0);
}

static void the_store_after_a_failed_compare_does_it(void **state)
{
	struct count n = run(LINUX_6_12, OP_WRITE, 1, 0);

	(void)state;
	assert_int_equal(n.schedules, 3);
	assert_int_equal(n.lost, 0);
}

static void unlock_by_cas_never_loses(void **state)
{
	static const unsigned int schedules[] = { 2, 6, 24 };	/* orders of whole CASes */
	int contenders;

	(void)state;
	for (contenders = 1; contenders < ACTORS_MAX; contenders++) {
		struct count n = run(LINUX_6_1, OP_CAS, contenders, 0);

		assert_int_equal(n.schedules, schedules[contenders - 1]);
		assert_int_equal(n.lost, 0);
		assert_int_equal(n.two, 0);
	}
}

/* With a lock for each device a CAS is no better than a WRITE. */
static void cas_through_two_devices_loses(void **state)
{
	(void)state;
	assert_int_not_equal(run(LINUX_6_1, OP_CAS, 1, 1).lost, 0);
	assert_int_not_equal(run(LINUX_6_12, OP_CAS, 2, 1).two, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unlock_by_write_is_lost),
		cmocka_unit_test(the_store_after_a_failed_compare_does_it),
		cmocka_unit_test(unlock_by_cas_never_loses),
		cmocka_unit_test(cas_through_two_devices_loses),
	};

	return cmocka_run_group_tests_name("cas_unlock", tests, NULL, NULL);
}
