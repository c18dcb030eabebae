// SPDX-License-Identifier: Apache-2.0
/*
 * What the other tests of memory orders rest on: the model shows what a weak machine does, and
 * nothing that the orders forbid.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim.h"
#include "../weak/weak.h"

static struct {
	u64 x, y, lock, plain;
	u64 seen[WEAK_THREADS];
} *w;

static void setup(void)
{
	w = weak_alloc(sizeof(*w));
}

static void never(const char *name, struct weak_scenario s)
{
	s.setup = setup;
	s.budget = 4;
	if (!weak_explore(&s))
		return;
	weak_show();
	fail_msg("%s", name);
}

static void sometimes(const char *name, struct weak_scenario s)
{
	s.setup = setup;
	s.budget = 4;
	if (!weak_explore(&s))
		fail_msg("%s", name);
}

#define NEVER(...)	never(#__VA_ARGS__, (struct weak_scenario){ __VA_ARGS__ })
#define SOMETIMES(...)	sometimes(#__VA_ARGS__, (struct weak_scenario){ __VA_ARGS__ })

/* ---- a message: data, then a flag ---- */

static void send(void)
{
	WRITE_ONCE(w->x, 1);
	smp_store_release(&w->y, 1);
}

static void send_relaxed(void)
{
	WRITE_ONCE(w->x, 1);
	WRITE_ONCE(w->y, 1);
}

static void send_by_exchange(void)
{
	WRITE_ONCE(w->x, 1);
	ds_cmpxchg64(&w->y, 0, 1);
}

/* The kernel's exchange orders that, C11's does not. */
static void send_after_exchange(void)
{
	WRITE_ONCE(w->x, 1);
	ds_cmpxchg64(&w->plain, 0, 1);
	WRITE_ONCE(w->y, 1);
}

static void receive(void)
{
	if (smp_load_acquire(&w->y))
		weak_check(READ_ONCE(w->x));
}

static void receive_relaxed(void)
{
	if (READ_ONCE(w->y))
		weak_check(READ_ONCE(w->x));
}

/* One that fails orders nothing. */
static void receive_by_no_exchange(void)
{
	if (ds_cmpxchg64(&w->y, 7, 8))
		weak_check(READ_ONCE(w->x));
}

static void receive_by_exchange(void)
{
	if (ds_cmpxchg64(&w->y, 1, 2) == 1)
		weak_check(READ_ONCE(w->x));
}

/* By somebody between them. */
static void pass_on(void)
{
	if (smp_load_acquire(&w->y))
		smp_store_release(&w->plain, 1);
}

static void receive_passed_on(void)
{
	if (smp_load_acquire(&w->plain))
		weak_check(READ_ONCE(w->x));
}

static void message(void **state)
{
	(void)state;
	NEVER(.threads = { send, receive });
	NEVER(.threads = { send, receive_by_exchange });
	NEVER(.threads = { send_by_exchange, receive_by_exchange });
	NEVER(.threads = { send, pass_on, receive_passed_on });
	SOMETIMES(.threads = { send_after_exchange, receive });
	SOMETIMES(.threads = { send_relaxed, receive });
	SOMETIMES(.threads = { send, receive_relaxed });
	SOMETIMES(.threads = { send, receive_by_no_exchange });
	SOMETIMES(.threads = { send_relaxed, pass_on, receive_passed_on });
}

/* ---- each writes one word and reads the other's ---- */

static void write_x(void)
{
	smp_store_release(&w->x, 1);
	w->seen[0] = smp_load_acquire(&w->y);
}

static void write_y(void)
{
	smp_store_release(&w->y, 1);
	w->seen[1] = smp_load_acquire(&w->x);
}

static void one_has_seen(void)
{
	weak_check(w->seen[0] || w->seen[1]);
}

static void store_buffers(void **state)
{
	(void)state;
	SOMETIMES(.threads = { write_x, write_y }, .check = one_has_seen);
}

/* ---- one word ---- */

static void write_1_2(void)
{
	WRITE_ONCE(w->x, 1);
	WRITE_ONCE(w->x, 2);
}

static void read_twice(void)
{
	u64 first = READ_ONCE(w->x);

	weak_check(READ_ONCE(w->x) >= first);
}

static void read_stale(void)
{
	weak_check(READ_ONCE(w->x) != 1);
}

static void add(void)
{
	u64 seen = READ_ONCE(w->x), old;

	do {
		old = seen;
		seen = ds_cmpxchg64(&w->x, old, old + 1);
	} while (seen != old);
}

static void all_are_added(void)
{
	weak_check(READ_ONCE(w->x) == 3);
}

static void coherence(void **state)
{
	(void)state;
	NEVER(.threads = { write_1_2, read_twice });
	SOMETIMES(.threads = { write_1_2, read_stale });
	NEVER(.threads = { add, add, add }, .check = all_are_added);
}

/* ---- two writers, whose words two readers see in different orders: arm64 does not, others do ---- */

static void write_one(void)
{
	WRITE_ONCE(w->x, 1);
}

static void read_x_y(void)
{
	w->seen[0] = smp_load_acquire(&w->x) && !smp_load_acquire(&w->y);
}

static void write_other_read_y_x(void)
{
	WRITE_ONCE(w->y, 1);
	w->seen[1] = !READ_ONCE(w->x);
}

static void not_both(void)
{
	weak_check(!(w->seen[0] && w->seen[1]));
}

static void no_order_of_all(void **state)
{
	(void)state;
	SOMETIMES(.threads = { write_one, read_x_y, write_other_read_y_x }, .check = not_both);
}

/* ---- plain accesses ---- */

static void write_plain(void)
{
	w->plain = 1;
	smp_store_release(&w->y, 1);
}

static void read_plain(void)
{
	if (smp_load_acquire(&w->y))
		weak_check(w->plain == 1);
}

static void read_plain_relaxed(void)
{
	if (READ_ONCE(w->y))
		w->seen[1] = w->plain;
}

static void read_plain_and_say_so(void)
{
	w->seen[1] = w->plain;
	smp_store_release(&w->y, 1);
}

static void write_after_it_was_read(void)
{
	if (smp_load_acquire(&w->y))
		w->plain = 1;
}

static void write_when_it_was_read(void)
{
	if (READ_ONCE(w->y))
		w->plain = 1;
}

static void add_locked(void)
{
	weak_lock(&w->lock);
	w->plain++;
	weak_unlock(&w->lock);
}

static void add_unlocked(void)
{
	w->plain++;
}

static void three_are_added(void)
{
	weak_check(w->plain == 3);
}

static void plain(void **state)
{
	(void)state;
	NEVER(.threads = { write_plain, read_plain });
	NEVER(.threads = { read_plain_and_say_so, write_after_it_was_read });
	NEVER(.threads = { add_locked, add_locked, add_locked }, .check = three_are_added);
	SOMETIMES(.threads = { write_plain, read_plain_relaxed });
	SOMETIMES(.threads = { read_plain_and_say_so, write_when_it_was_read });
	SOMETIMES(.threads = { add_locked, add_unlocked });
}

/* ---- waiting ---- */

static void wait_for_y(void)
{
	while (!smp_load_acquire(&w->y))
		weak_yield();
}

static void waiting(void **state)
{
	(void)state;
	NEVER(.threads = { wait_for_y, send });
	SOMETIMES(.threads = { wait_for_y });	/* for ever */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message),
		cmocka_unit_test(store_buffers),
		cmocka_unit_test(coherence),
		cmocka_unit_test(no_order_of_all),
		cmocka_unit_test(plain),
		cmocka_unit_test(waiting),
	};

	return cmocka_run_group_tests_name("core_weak_model", tests, NULL, NULL);
}
