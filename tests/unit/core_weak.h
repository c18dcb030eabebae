/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the token cache's memory orders: its sources, in the arena of tests/weak, and a
 * table with both tiers there.
 */
#ifndef CORE_WEAK_H
#define CORE_WEAK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "shim.h"
#include "../weak/weak.h"

#undef ds_alloc
#undef ds_free
#undef ds_spin_lock
#undef ds_spin_unlock
#define ds_alloc(size)		weak_alloc(size)
#define ds_free(p)		((void)(p))
#define ds_spin_lock(lock)	weak_lock(lock)
#define ds_spin_unlock(lock)	weak_unlock(lock)
#define cpu_relax()		weak_yield()

#include "tokencache/pack.c"
#include "tokencache/wide.c"
#include "tokencache/l1.c"
#include "tokencache/l2.c"
#include "tokencache/token.c"
#include "tokencache/read.c"
#include "tokencache/move.c"
#include "tokencache/inline.c"
#include "core_move.h"

enum { SLOTS = 4, L1_SLOT = 1 };

struct shared {
	struct ds_token_table table;
	u32 token;	/* a QP, number 1 */
	u32 l2_slot;	/* for it */
	u64 flag;
	u64 object;	/* what a token stands for */
	struct ds_token_idle idle;
	u64 seen[WEAK_THREADS];
};

static struct shared *w;

/* Number 1 is in state 0, each in one of its own. */
static inline u32 create(u32 number)
{
	struct ds_token_desc d = { .type = DS_TOKEN_QP, .qp.number = number, .qp.state = number - 1 };
	u32 token = 0;

	weak_check(!ds_token_create(&w->table, &d, &token));
	return token;
}

/* What QPs say first, but for their numbers. */
static inline u64 fixed_of(u32 number)
{
	struct ds_token_desc d = { .type = DS_TOKEN_QP, .qp.number = number };
	struct ds_token_pack p;

	ds_token_pack(&d, &p);
	return p.fixed;
}

static inline void setup_table(void)
{
	w = weak_alloc(sizeof(*w));
	weak_check(!ds_token_table_init(&w->table, 1000));
	weak_check(!ds_l1_init(&w->table.l1, SLOTS));
	weak_check(!ds_l2_init(&w->table.l2, 3, DS_L2_ANYWHERE));
	w->token = create(1);
	w->l2_slot = ds_l2_take(&w->table.l2, fixed_of(1));
}

static inline u32 slot_in(u32 tier)
{
	return tier == 1 ? L1_SLOT : w->l2_slot;
}

/* It may be refused, as somebody else has it. */
static inline void move(u32 token, u32 to)
{
	int ret = move_now(&w->table, token, to, slot_in(to));

	weak_check(!ret || ret == -EAGAIN || ret == -EBUSY || ret == -EEXIST);
}

static inline void must_move(u32 token, u32 to)
{
	weak_check(!move_now(&w->table, token, to, slot_in(to)));
}

/* What a token says by now, when nobody has it. */
static inline void check_token(u32 token, u32 number, u32 posted)
{
	struct ds_token_desc d;

	weak_check(!ds_token_get(&w->table, token, &d));
	weak_check(d.qp.number == number);
	weak_check(d.qp.posted == posted);
	ds_token_put(&w->table, token);
}

/* 0, or an error of these two. */
static inline bool was_read(int ret)
{
	weak_check(!ret || ret == -EAGAIN);
	return !ret;
}

static inline void runs(const char *name, const struct weak_scenario *s)
{
	const char *failed = weak_explore(s);

	print_message("# %s: %llu runs\n", name, (unsigned long long)weak_runs);
	if (failed)
		weak_show();
	assert_null(failed);
}

#endif
