/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of memory orders. The code under test is compiled with -fsanitize=thread, so each of its
 * accesses to memory is a call, which comes to the model here and not to the sanitizer:
 *
 *	tsan.c		the calls
 *	memory.c	what a load may read, and which plain accesses are races
 *	explore.c	threads, and all that may happen to them
 *
 * Shared is what lies in the arena: what weak_alloc() gave out, mostly before the threads begin.
 */
#ifndef WEAK_H
#define WEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEAK_THREADS = 3, WEAK_ARENA = 1 << 20 };

/**
 * struct weak_scenario - threads that meet
 * @setup: makes what they share, once
 * @threads: they; those that are NULL are not there
 * @check: what is to hold when they have ended, with weak_check(); may be NULL
 * @budget: how often at most a thread is interrupted before it waits or ends, or a load does not
 *	read the newest store; all that can happen with no more is tried
 */
struct weak_scenario {
	void (*setup)(void);
	void (*threads[WEAK_THREADS])(void);
	void (*check)(void);
	unsigned int budget;
};

/* What goes wrong; NULL if nothing does. */
const char *weak_explore(const struct weak_scenario *s);

/* Print, step by step, how it went wrong. */
void weak_show(void);

/* How many times the threads were run for that. */
extern uint64_t weak_runs;

/* For threads. */
#define weak_check(ok)	((ok) ? (void)0 : weak_fail(#ok))
void weak_fail(const char *what);
void *weak_alloc(size_t size);	/* zeroed */
void weak_lock(const void *lock);
void weak_unlock(const void *lock);
void weak_yield(void);		/* somebody else first: this one waits */

/* ---- between the files ---- */

enum weak_order { WEAK_RELAXED, WEAK_ACQUIRE, WEAK_RELEASE, WEAK_BOTH };

extern int weak_thread;		/* who runs; -1: nobody, all is done as it is told */
extern bool weak_traced;

static inline bool weak_is_shared(const volatile void *p)
{
	extern char weak_arena[WEAK_ARENA];

	return weak_thread >= 0 && (uintptr_t)p - (uintptr_t)weak_arena < WEAK_ARENA;
}

/* explore.c: before each step that others can see; 0 to @n - 1, of which 0 costs nothing. */
void weak_step(void);
unsigned int weak_choose(unsigned int n);
void weak_begin_again(void);

/* memory.c: of @size bytes in the arena. */
void weak_plain(const volatile void *p, size_t size, bool write);
uint64_t weak_load(const volatile void *p, unsigned int size, enum weak_order order);
void weak_store(volatile void *p, unsigned int size, uint64_t value, enum weak_order order);
uint64_t weak_exchange(volatile void *p, unsigned int size, uint64_t old, uint64_t value,
		       enum weak_order order, enum weak_order failed);
void weak_acquired(const void *lock);
void weak_released(const void *lock);
void weak_memory_new(void);	/* nothing is in the arena */
void weak_memory_begin(void);
void weak_memory_undo(void);

#endif
