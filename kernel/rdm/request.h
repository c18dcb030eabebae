/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: the two steps between operations and the device. plan.c checks chains and
 * counts what they need; request.c fills in work requests, posts them and ends
 * the operations. op.c and batch.c decide what becomes one request.
 */
#ifndef _DS_REQUEST_H
#define _DS_REQUEST_H

#include "op.h"

struct ds_buffer;
struct ds_client;
struct ds_keyset;

/**
 * struct ds_plan - operations that will be one request
 * @keys: of their server, with a reference
 * @client: whose they are, entered; or NULL
 * @lane: data lane of the connection
 * @wrs: work requests
 * @sges: scatter entries of all of them
 * @ops: operations
 * @atomics: of them
 */
struct ds_plan {
	struct ds_keyset	*keys;
	struct ds_client	*client;
	u32			lane;
	u32			wrs;
	u32			sges;
	u32			ops;
	u32			atomics;
};

/* Operations of the chain that @args begins with; @count: of the array. */
u32 ds_chain_length(const struct ds_op_arg *args, u32 count);

/**
 * ds_plan_chain - check a chain and count what it needs
 * @n: its operations
 * @batch_addr: address that stands for all that is submitted with it: chains of
 *	READs alone share a lane by it
 * @bad: set on failure: the operation at fault
 * @node: set on failure: whose memory it is about, 0 if that is not known
 *
 * Return: 0, and @plan holds its keys and its client; or a negative errno of
 *	struct ds_cqe
 */
int ds_plan_chain(struct ds_plan *plan, const struct ds_op_arg *args, u32 n,
		  u64 batch_addr, u32 *bad, u32 *node);

/**
 * ds_plan_post - make a request of a plan and post it
 * @index: for each operation of the plan its place in @args
 * @deadline: ktime ns until which to wait for room; 0: do not wait
 * @polled: somebody polls for its end, see struct ds_chain
 *
 * Takes over what the plan holds, also on failure.
 * Return: 0, and @done is called for each operation; -EAGAIN: no room; or another
 *	negative errno
 */
int ds_plan_post(const struct ds_plan *plan, const struct ds_op_arg *args,
		 const u32 *index, u64 deadline, bool polled, ds_op_done done, void *ctx);

/* Let go of what a plan holds. */
void ds_plan_drop(const struct ds_plan *plan);

/* End @n operations from @first on that never were in a request: @bad with @error. */
void ds_ops_refuse(const struct ds_op_arg *args, u32 first, u32 n, u32 bad, int error,
		   u32 node, ds_op_done done, void *ctx);

/* How a piece of memory is cut up; planning and filling must agree on it. */
u32 ds_max_sge(const struct ds_keyset *keys);
u32 ds_buffer_run(const struct ds_buffer *buf, u64 offset, u32 length);
u32 ds_chunk_run(const struct ds_keyset *keys, u64 offset, u32 length);

#endif
