/* SPDX-License-Identifier: Apache-2.0 */
/* For tests with threads: who revokes a token waits until nobody uses it any more. */
#ifndef CORE_ENDER_H
#define CORE_ENDER_H

#include <sched.h>

#include "tokencache/token.h"

struct ender {
	struct ds_token_idle idle;
	bool done;
};

static inline void ender_told(struct ds_token_idle *idle)
{
	__atomic_store_n(&container_of(idle, struct ender, idle)->done, true, __ATOMIC_RELEASE);
}

/* @ret: of ds_token_revoke(). */
static inline void ender_waits(struct ender *e, int ret)
{
	while (ret == -EINPROGRESS && !__atomic_load_n(&e->done, __ATOMIC_ACQUIRE))
		sched_yield();
}

#endif /* CORE_ENDER_H */
