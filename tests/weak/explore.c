// SPDX-License-Identifier: Apache-2.0
/*
 * All that may happen to some threads, within a budget: they are run again and again, each time
 * with other choices, in the order of a depth-first search. A thread runs on until it ends or
 * waits; that another one comes before its next step costs one of the budget, and so does a load
 * that does not read the newest store. Who comes first, and when another one has ended, is free.
 */
#include "weak.h"

#include <stdio.h>
#include <string.h>
#include <ucontext.h>

enum { CHOICES = 4096, STACK = 1 << 16, HELD = 8, WAITS = 10000 };

int weak_thread = -1;
bool weak_traced;
uint64_t weak_runs;

static struct choice {
	unsigned char of, chosen, cost, spent;	/* before it */
} choices[CHOICES];
static unsigned int nr_choices, at, spent, waits;
static bool is_known;	/* each choice */

static const struct weak_scenario *scenario;
static const char *failed;
static ucontext_t explorer, contexts[WEAK_THREADS];
static char stacks[WEAK_THREADS][STACK];
static bool is_over[WEAK_THREADS];
static const void *held[HELD];	/* locks */

static void leave(void)
{
	ucontext_t *from = &contexts[weak_thread];

	weak_thread = -1;
	swapcontext(from, &explorer);
}

void weak_fail(const char *what)
{
	if (!failed)
		failed = what;
	if (weak_thread >= 0)
		leave();	/* for ever */
}

static unsigned int choose(unsigned int n, unsigned int cost)
{
	struct choice *c = &choices[at];

	if (n == 1 || (cost && spent + cost > scenario->budget))
		return 0;
	if (at == CHOICES - 1)
		weak_fail("it has no end");
	if (at++ == nr_choices)
		choices[nr_choices++] = (struct choice){ .of = (unsigned char)n, .cost = (unsigned char)cost,
							 .spent = (unsigned char)spent };
	spent += c->chosen ? cost : 0;
	return c->chosen;
}

unsigned int weak_choose(unsigned int n)
{
	return choose(n, 1);
}

/* The next leaf of the tree. */
static bool next_choices(void)
{
	while (nr_choices) {
		struct choice *c = &choices[nr_choices - 1];

		if (++c->chosen < c->of)
			return true;
		nr_choices--;
	}
	return false;
}

/* There are more choices than were known. */
void weak_begin_again(void)
{
	is_known = false;
}

/* ---- threads ---- */

/* The @which of those that can run, in turn after the one that runs; -1: there are not so many. */
static int other(unsigned int which)
{
	int i, t;

	for (i = 1; i <= WEAK_THREADS; i++) {
		t = (weak_thread + i) % WEAK_THREADS;
		if (t != weak_thread && !is_over[t] && !which--)
			return t;
	}
	return -1;
}

static unsigned int others(void)
{
	unsigned int n = 0;

	while (other(n) >= 0)
		n++;
	return n;
}

static void go_to(int t)
{
	ucontext_t *from = weak_thread < 0 ? &explorer : &contexts[weak_thread];

	weak_thread = t;
	swapcontext(from, &contexts[t]);
}

void weak_step(void)
{
	unsigned int which = choose(others() + 1, 1);

	if (which)
		go_to(other(which - 1));
}

void weak_yield(void)
{
	unsigned int n = others();

	if (++waits == WAITS)
		weak_fail("it has no end");
	if (n)
		go_to(other(choose(n, 1)));
}

static void run(void)
{
	scenario->threads[weak_thread]();
	is_over[weak_thread] = true;
	if (others())
		go_to(other(choose(others(), 0)));
	else
		leave();
}

static int place_of(const void *lock)
{
	int i;

	for (i = 0; i < HELD && held[i] != lock; i++)
		;
	return i;
}

void weak_lock(const void *lock)
{
	if (weak_thread < 0)
		return;
	weak_step();
	while (place_of(lock) < HELD)
		weak_yield();
	held[place_of(NULL)] = lock;
	weak_acquired(lock);
}

void weak_unlock(const void *lock)
{
	if (weak_thread < 0)
		return;
	held[place_of(lock)] = NULL;
	weak_released(lock);
}

static void run_once(void)
{
	int i;

	weak_runs++;
	at = 0;
	spent = 0;
	waits = 0;
	memset(held, 0, sizeof(held));
	weak_memory_begin();
	for (i = 0; i < WEAK_THREADS; i++) {
		is_over[i] = !scenario->threads[i];
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = STACK;
		makecontext(&contexts[i], run, 0);
	}
	go_to(other(choose(others(), 0)));
	if (!failed && scenario->check)
		scenario->check();
	weak_memory_undo();
}

const char *weak_explore(const struct weak_scenario *s)
{
	scenario = s;
	nr_choices = 0;
	weak_runs = 0;
	failed = NULL;
	weak_memory_new();
	s->setup();
	while (!failed) {
		is_known = true;
		run_once();
		if (!is_known) {
			failed = NULL;	/* it will be met again */
			nr_choices = 0;
		} else if (failed || !next_choices()) {
			break;
		}
	}
	return failed;
}

void weak_show(void)
{
	printf("# run %llu: %s\n", (unsigned long long)weak_runs, failed);
	weak_traced = true;
	run_once();
	weak_traced = false;
}
