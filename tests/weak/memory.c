// SPDX-License-Identifier: Apache-2.0
/*
 * A model of weak memory: release and acquire of C11 by views.
 *
 * A location has all its stores, the oldest first. A thread's *view* says of each location how
 * far it has seen; a load reads any store that is not older. A release hands on its thread's
 * view with the store, and an acquire that reads this takes it over. A read-modify-write reads
 * the newest store, and hands on that one's view, too; one that fails is a load. There is no
 * order of all: an exchange is an acquire and a release, and no more.
 *
 * So loads pass loads and stores, and stores pass stores, as on arm64 and less tamely. C11 and
 * the kernel forbid what the model forbids, but for two things. A store does not pass an earlier
 * load: that a load is done before a later store is shown by nothing here but a plain one, which
 * would be a race. And the stores to one location are in the order in which they were made.
 *
 * A *race* is a plain access and another one to the same place, one of both a write, neither of
 * which happens before the other. Clocks, one a thread, are handed on with views.
 */
#include "weak.h"

#include <stdio.h>
#include <string.h>

enum { LOCATIONS = 160, STORES = 96, UNDOS = 1 << 16, LOCKS = 8 };
enum kind { PLAIN_READ, PLAIN_WRITE, READ, WRITE, KINDS };

struct view {
	uint16_t seen[LOCATIONS];	/* number of a store */
	uint16_t clock[WEAK_THREADS];
};

struct store {
	uint64_t value;
	struct view view;
};

static struct location {
	const volatile char *place;
	unsigned int size, count;
	struct store stores[STORES];
} locations[LOCATIONS];

static struct view views[WEAK_THREADS];
static struct lock {
	const void *place;
	struct view view;
} locks[LOCKS];

/* When each thread did what last with a byte. */
static struct cell {
	uint32_t run;	/* in another one it did nothing yet */
	uint16_t when[KINDS][WEAK_THREADS];
} cells[WEAK_ARENA];

static struct undo {
	volatile char *place;
	unsigned char size;
	char was[16];
} undos[UNDOS];

_Alignas(64) char weak_arena[WEAK_ARENA];
static size_t allocated, allocated_before;
static uint32_t run;
static uint16_t location_at[WEAK_ARENA];	/* and one */
static bool is_written[WEAK_ARENA];		/* in any run, the location that begins there */
static unsigned int nr_locations, nr_undos, nr_locks;

static void trace(const char *what, const volatile void *p, uint64_t value)
{
	if (weak_traced)
		printf("#   thread %d: %-18s %#7tx  %#llx\n", weak_thread, what, (char *)p - weak_arena,
		       (unsigned long long)value);
}

static void join(struct view *to, const struct view *from)
{
	unsigned int i;

	for (i = 0; i < nr_locations; i++)
		if (to->seen[i] < from->seen[i])
			to->seen[i] = from->seen[i];
	for (i = 0; i < WEAK_THREADS; i++)
		if (to->clock[i] < from->clock[i])
			to->clock[i] = from->clock[i];
}

/* ---- races ---- */

static bool is_race(enum kind a, enum kind b)
{
	return (a <= PLAIN_WRITE || b <= PLAIN_WRITE) && (a % 2 || b % 2);
}

static inline void touch_cell(struct cell *cell, enum kind kind)
{
	const uint16_t *clock = views[weak_thread].clock;
	unsigned int k, i;

	if (cell->run != run)
		*cell = (struct cell){ .run = run };
	for (k = 0; k < KINDS; k++)
		for (i = 0; i < WEAK_THREADS && is_race(k, kind); i++)
			if ((int)i != weak_thread && cell->when[k][i] > clock[i])
				weak_fail("a race of plain accesses");
	cell->when[kind][weak_thread] = clock[weak_thread];
}

static inline void touch(const volatile void *p, size_t size, enum kind kind)
{
	struct cell *cell = &cells[(char *)p - weak_arena];

	while (size--)
		touch_cell(cell++, kind);
}

/* ---- locations ---- */

static uint64_t get(const volatile void *p, unsigned int size)
{
	uint64_t value = 0;

	memcpy(&value, (const void *)p, size);
	return value;
}

static void remember(volatile void *p, size_t size)
{
	size_t i, part;

	for (i = 0; i < size; i += part) {
		struct undo *u = &undos[nr_undos++];

		part = size - i < sizeof(u->was) ? size - i : sizeof(u->was);
		u->place = (volatile char *)p + i;
		u->size = (unsigned char)part;
		memcpy(u->was, (char *)u->place, part);
	}
	if (nr_undos > UNDOS / 2)
		weak_fail("it has no end");
}

/* Does another one begin in it, or reach into it? */
static bool overlaps(const volatile void *p, unsigned int size)
{
	size_t from = (size_t)((char *)p - weak_arena), i;

	for (i = 1; i < size; i++)
		if (location_at[from + i])
			return true;
	for (i = 1; i < sizeof(uint64_t) && i <= from; i++)
		if (location_at[from - i] && locations[location_at[from - i] - 1].size > i)
			return true;
	return false;
}

static struct location *location_of(const volatile void *p, unsigned int size)
{
	uint16_t *at = &location_at[(char *)p - weak_arena];
	struct location *l;

	if (!*at) {
		l = &locations[nr_locations++];
		if (nr_locations == LOCATIONS)
			weak_fail("more locations than the model has room for");
		if (overlaps(p, size))
			weak_fail("two locations in one place");
		*at = (uint16_t)nr_locations;
		l->place = p;
		l->size = size;
		l->count = 1;
		l->stores[0].value = get(p, size);
		memset(&l->stores[0].view, 0, sizeof(l->stores[0].view));
	}
	l = &locations[*at - 1];
	if (l->size != size)
		weak_fail("two locations in one place");
	return l;
}

/* A plain write ends what there was: who reads it without an order is told of a race. */
static void forget_locations(const volatile void *p, size_t size)
{
	memset(&location_at[(char *)p - weak_arena], 0, size * sizeof(location_at[0]));
}

/* What comes from now on is not handed on with what came before. */
static void tick(void)
{
	views[weak_thread].clock[weak_thread]++;
}

static uint64_t read_store(struct location *l, unsigned int which, enum weak_order order)
{
	struct view *view = &views[weak_thread];

	view->seen[l - locations] = (uint16_t)which;
	if (order & WEAK_ACQUIRE)
		join(view, &l->stores[which].view);
	return l->stores[which].value;
}

/* @before: the store whose view is handed on, too, or NULL */
static void add_store(struct location *l, uint64_t value, enum weak_order order, const struct store *before)
{
	static const struct view nothing;
	struct view *view = &views[weak_thread];
	struct store *s = &l->stores[l->count];
	bool *known = &is_written[l->place - weak_arena];

	if (l->count + 1 == STORES)
		weak_fail("it has no end");
	if (!*known)
		weak_begin_again();
	*known = true;
	view->seen[l - locations] = (uint16_t)l->count++;
	s->value = value;
	s->view = order & WEAK_RELEASE ? *view : nothing;
	s->view.seen[l - locations] = view->seen[l - locations];
	if (before)
		join(&s->view, &before->view);
	remember((volatile char *)l->place, l->size);
	memcpy((char *)l->place, &value, l->size);
}

/* ---- what a thread does ---- */

void weak_plain(const volatile void *p, size_t size, bool write)
{
	touch(p, size, write ? PLAIN_WRITE : PLAIN_READ);
	if (write) {
		remember((volatile void *)p, size);
		forget_locations(p, size);
	}
}

uint64_t weak_load(const volatile void *p, unsigned int size, enum weak_order order)
{
	struct location *l;
	unsigned int back;
	uint64_t value;

	/* What nobody writes is the same at any time. */
	if (is_written[(char *)p - weak_arena])
		weak_step();
	l = location_of(p, size);
	touch(p, size, READ);
	back = weak_choose(l->count - views[weak_thread].seen[l - locations]);
	value = read_store(l, l->count - 1 - back, order);
	trace(back ? "reads older" : "reads", p, value);
	tick();
	return value;
}

void weak_store(volatile void *p, unsigned int size, uint64_t value, enum weak_order order)
{
	weak_step();
	touch(p, size, WRITE);
	add_store(location_of(p, size), value, order, NULL);
	trace(order & WEAK_RELEASE ? "writes, release" : "writes", p, value);
	tick();
}

/* One that fails may read any store that makes it fail. */
uint64_t weak_exchange(volatile void *p, unsigned int size, uint64_t old, uint64_t value,
		       enum weak_order order, enum weak_order failed)
{
	unsigned int which[STORES], n = 0, i, read;
	struct location *l;
	uint64_t seen;

	weak_step();
	l = location_of(p, size);
	which[n++] = l->count - 1;
	for (i = l->count - 1; i-- > views[weak_thread].seen[l - locations];)
		if (l->stores[i].value != old)
			which[n++] = i;
	read = which[weak_choose(n)];
	seen = l->stores[read].value;
	if (seen == old) {
		touch(p, size, WRITE);
		read_store(l, read, order);
		add_store(l, value, order, &l->stores[read]);
		trace("exchanges", p, value);
	} else {
		touch(p, size, READ);
		read_store(l, read, failed);
		trace("exchanges not", p, seen);
	}
	tick();
	return seen;
}

static struct lock *lock_of(const void *place)
{
	unsigned int i;

	for (i = 0; i < nr_locks; i++)
		if (locks[i].place == place)
			return &locks[i];
	memset(&locks[i].view, 0, sizeof(locks[i].view));
	locks[i].place = place;
	nr_locks++;
	return &locks[i];
}

void weak_acquired(const void *lock)
{
	join(&views[weak_thread], &lock_of(lock)->view);
	trace("locks", lock, 0);
}

void weak_released(const void *lock)
{
	lock_of(lock)->view = views[weak_thread];
	tick();
	trace("unlocks", lock, 0);
}

/* ---- the arena ---- */

void *weak_alloc(size_t size)
{
	char *p = weak_arena + allocated;

	allocated += (size + 63) / 64 * 64;
	if (allocated > sizeof(weak_arena))
		return NULL;
	/* Who comes to it without an order races with this. */
	if (weak_thread >= 0)
		touch(p, size, PLAIN_WRITE);
	memset(p, 0, size);
	return p;
}

void weak_memory_new(void)
{
	allocated = 0;
	memset(is_written, 0, sizeof(is_written));
}

void weak_memory_begin(void)
{
	unsigned int i;

	memset(views, 0, sizeof(views));
	for (i = 0; i < WEAK_THREADS; i++)
		views[i].clock[i] = 1;
	allocated_before = allocated;
	run++;
}

void weak_memory_undo(void)
{
	while (nr_undos) {
		struct undo *u = &undos[--nr_undos];

		memcpy((char *)u->place, u->was, u->size);
	}
	while (nr_locations)
		location_at[(char *)locations[--nr_locations].place - weak_arena] = 0;
	nr_locks = 0;
	allocated = allocated_before;
}
