/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: operations on spaces: from struct ds_op to chains of work requests and
 * back to struct ds_cqe. The hot path of the module.
 */
#ifndef _DS_OP_H
#define _DS_OP_H

#include <linux/list.h>
#include <linux/types.h>
#include <uapi/ds/ioctl.h>

struct ds_buffer;
struct ds_client;
struct ds_file_ring;
struct ds_space;

#define DS_MAX_OPS		1024		/* of one submit */
#define DS_MAX_CHAIN_OPS	16
#define DS_MAX_OP_BYTES		(4u << 20)

/**
 * struct ds_op_arg - an operation with its handles resolved
 * @op: what to do; copied from the caller, not yet checked beyond its reserved
 *	fields, opcode and flags
 * @space: reference held by the caller during ds_ops_start()
 * @access: DS_ACCESS_* that the caller's handle grants
 * @client: that the handle is enrolled as; the same; or NULL
 * @buf: the same; NULL for atomics
 * @error: 0, or the negative errno with which the operation is refused before
 *	anything else is looked at; @space and @buf may be NULL then
 */
struct ds_op_arg {
	struct ds_op		op;
	struct ds_space		*space;
	u32			access;
	struct ds_client	*client;
	struct ds_buffer	*buf;
	int			error;
};

/**
 * typedef ds_op_done - an operation has ended
 * @ctx: of ds_ops_start()
 * @index: of the operation in the array
 * @cqe: its completion
 *
 * Context: process; several at once; may be called before ds_ops_start() returns.
 */
typedef void (*ds_op_done)(void *ctx, u32 index, const struct ds_cqe *cqe);

/**
 * ds_ops_start - run whole chains of operations
 * @args: the operations; not used after the return
 * @count: their number; the last one ends a chain
 * @deadline: ktime ns until which to wait for room in send queues; 0: do not
 *	wait, stop at the first chain that finds none
 * @done: called once for each operation that was taken, also for refused ones
 *
 * Context: process; killable while it waits.
 * Return: number of operations taken: whole chains, 0 to @count
 */
u32 ds_ops_start(const struct ds_op_arg *args, u32 count, u64 deadline,
		 ds_op_done done, void *ctx);

/**
 * struct ds_op_waits - how long operations are waited for
 * @deadline: ktime ns; what has not ended by then is -ETIMEDOUT, DS_UNKNOWN
 * @patience: ktime ns; what is under way then is -EINPROGRESS, DS_UNKNOWN, and ends in
 *	@ring, if there is room for it
 * @ring: held by the caller; NULL: there is no @patience
 */
struct ds_op_waits {
	u64			deadline;
	u64			patience;
	struct ds_file_ring	*ring;
};

/**
 * ds_ops_run - run whole chains of operations and wait until they have ended
 * @cqes: filled for each operation, in order
 *
 * Polls for a short while before it sleeps. Context: process; killable.
 * Return: 0, or -EINTR: a fatal signal came, @cqes is as at the deadline
 */
int ds_ops_run(const struct ds_op_arg *args, u32 count, const struct ds_op_waits *waits,
	       struct ds_cqe *cqes);

#endif
