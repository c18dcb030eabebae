// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the host's token table.
 */
#include <linux/completion.h>
#include <rdma/ib_verbs.h>
#include <uapi/ds/ioctl.h>
#include "tokens.h"

struct ds_token_table ds_tokens;

int ds_tokens_init(void)
{
	return ds_token_table_init(&ds_tokens, 1u << DS_TOKEN_INDEX_BITS);
}

void ds_tokens_exit(void)
{
	WARN_ON_ONCE(ds_token_table_destroy(&ds_tokens));
}

int ds_token_access(u32 access)
{
	int ib = 0;

	if (access & DS_ACCESS_READ)
		ib |= IB_ACCESS_REMOTE_READ;
	if (access & DS_ACCESS_WRITE)
		ib |= IB_ACCESS_REMOTE_WRITE;
	if (access & DS_ACCESS_ATOMIC)
		ib |= IB_ACCESS_REMOTE_ATOMIC;
	return ib;
}

struct ds_token_waiter {
	struct ds_token_idle	idle;
	struct completion	unused;
};

static void ds_token_unused(struct ds_token_idle *idle)
{
	complete(&container_of(idle, struct ds_token_waiter, idle)->unused);
}

void ds_token_end(u32 token)
{
	struct ds_token_waiter waiter = { .idle.done = ds_token_unused };
	int ret;

	init_completion(&waiter.unused);
	ret = ds_token_revoke(&ds_tokens, token, &waiter.idle);
	if (ret == -EINPROGRESS)
		wait_for_completion(&waiter.unused);
	else if (ret)
		return;
	ds_token_free(&ds_tokens, token);
}
