/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the mailbox, alone or with a cache: who waits, how often each was told, and what. */
#ifndef CORE_EXPAND_WAITER_H
#define CORE_EXPAND_WAITER_H

#include "core_test.h"
#include "tokencache/expand.h"

enum { TESTERS = 2048 };

struct tester {
	struct ds_expand_waiter w;
	struct ds_token_desc buffer;
	u32 told;
	int ret;
};

static struct tester testers[TESTERS];

static inline void told(struct ds_waiter *w, int ret)
{
	struct tester *t = container_of(w, struct tester, w.base);

	t->told++;
	t->ret = ret;
}

static inline struct ds_expand_waiter *waiter(u32 i, bool copy)
{
	testers[i] = (struct tester){ .w.base.done = told };
	testers[i].w.buffer = copy ? &testers[i].buffer : NULL;
	return &testers[i].w;
}

static inline void assert_told(u32 i, int ret)
{
	assert_int_equal(testers[i].told, 1);
	assert_int_equal(testers[i].ret, ret);
}

#endif /* CORE_EXPAND_WAITER_H */
