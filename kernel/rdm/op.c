// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: operations that end in their own time: each chain is a request of its own.
 */
#include <linux/errno.h>
#include "op.h"
#include "request.h"

/* One chain, not joined with others: -EAGAIN means that it was not taken. */
static int ds_start_chain(const struct ds_op_arg *args, u32 first, u32 n, u64 deadline,
			  ds_op_done done, void *ctx)
{
	u32 index[DS_MAX_CHAIN_OPS];
	struct ds_plan plan;
	u32 i, bad, node;
	int ret;

	ret = ds_plan_chain(&plan, args + first, n, args[first].op.addr, &bad, &node);
	if (ret) {
		ds_ops_refuse(args, first, n, bad, ret, node, done, ctx);
		return 0;
	}
	for (i = 0; i < n; i++)
		index[i] = first + i;
	ret = ds_plan_post(&plan, args, index, deadline, false, done, ctx);
	if (ret && ret != -EAGAIN)
		ds_ops_refuse(args, first, n, 0, ret, node, done, ctx);
	return ret == -EAGAIN ? ret : 0;
}

u32 ds_ops_start(const struct ds_op_arg *args, u32 count, u64 deadline,
		 ds_op_done done, void *ctx)
{
	u32 first, n;

	for (first = 0; first < count; first += n) {
		n = ds_chain_length(args + first, count - first);
		if (ds_start_chain(args, first, n, deadline, done, ctx))
			break;
	}
	return first;
}
