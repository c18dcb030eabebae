// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: DS_IOC_SUBMIT: from an array of the caller's to operations with their
 * handles resolved, and back to completions.
 *
 * An array that is malformed is refused as a whole before anything runs. What
 * only one operation names wrongly, a handle, an address or a range, ends that
 * operation, and with it the rest of its chain.
 */
#include <linux/ktime.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "buffer.h"
#include "file.h"
#include "rdm/client.h"
#include "rdm/op.h"
#include "rdm/space.h"
#include "ring.h"

#define DS_SUBMIT_ON_STACK	2u	/* longer arrays are allocated */
#define DS_SUBMIT_PIECE		8u	/* operations copied at once */
#define DS_SUBMIT_DEFAULT_MS	30000

static_assert(sizeof(struct ds_op) == 64);

/* Whether the operation before this one, if any, holds a reference for both. */
static bool ds_submit_shares_space(const struct ds_op_arg *before, const struct ds_op_arg *arg)
{
	return before && before->space && before->op.space == arg->op.space;
}

/* Atomic operations name no buffer; one that does so all the same is refused later. */
static bool ds_submit_shares_buf(const struct ds_op_arg *before, const struct ds_op_arg *arg)
{
	return before && before->buf && before->op.buf == arg->op.buf;
}

static bool ds_op_is_atomic(const struct ds_op *op)
{
	return op->opcode == DS_OP_CAS || op->opcode == DS_OP_FETCH_ADD;
}

/* Is this an operation at all? */
static int ds_submit_check_op(const struct ds_op *op)
{
	if (op->opcode >= DS_OPCODES || op->flags & ~(DS_OP_CHAIN | DS_OP_FENCE))
		return -EOPNOTSUPP;
	return op->reserved ? -EINVAL : 0;
}

/* Copy the array once, so that what is checked is what runs; check its shape. */
static int ds_submit_copy_in(struct ds_op_arg *args, u64 uops, u32 count)
{
	const struct ds_op __user *from = u64_to_user_ptr(uops);
	struct ds_op piece[DS_SUBMIT_PIECE];
	u32 i, n, chain = 0;
	int err;

	for (i = 0; i < count; i++) {
		if (i % DS_SUBMIT_PIECE == 0) {
			n = min(count - i, DS_SUBMIT_PIECE);
			if (copy_from_user(piece, from + i, n * sizeof(piece[0])))
				return -EFAULT;
		}
		args[i].op = piece[i % DS_SUBMIT_PIECE];
		err = ds_submit_check_op(&args[i].op);
		if (err)
			return err;
		if (++chain > DS_MAX_CHAIN_OPS)
			return -E2BIG;
		if (!(args[i].op.flags & DS_OP_CHAIN))
			chain = 0;
	}
	return chain ? -EINVAL : 0;
}

static void ds_submit_get_space(struct ds_file *file, struct ds_op_arg *arg)
{
	struct ds_space_handle *sh;

	sh = ds_handle_get(&file->tables[DS_HANDLE_SPACE], arg->op.space, &arg->error);
	arg->space = NULL;
	arg->access = 0;
	arg->client = NULL;
	if (sh) {
		ds_space_get(sh->space);
		arg->space = sh->space;
		arg->access = sh->access;
		arg->client = sh->client;
		if (arg->client)
			ds_client_get(arg->client);
	}
}

static void ds_submit_get_buf(struct ds_file *file, struct ds_op_arg *arg)
{
	int err = 0;

	arg->buf = NULL;
	if (ds_op_is_atomic(&arg->op))
		return;
	arg->buf = ds_handle_get(&file->tables[DS_HANDLE_BUF], arg->op.buf, &err);
	if (arg->buf)
		ds_buffer_get(arg->buf);
	else if (!arg->error)
		arg->error = err;
}

/*
 * Resolve the handles, with one look-up and one reference for each run of
 * operations that name the same.
 */
static void ds_submit_resolve(struct ds_file *file, struct ds_op_arg *args, u32 count)
{
	struct ds_op_arg *before = NULL, *arg;

	lockdep_assert_held(&file->lock);
	for (arg = args; arg < args + count; before = arg++) {
		if (ds_submit_shares_space(before, arg)) {
			arg->space = before->space;
			arg->access = before->access;
			arg->client = before->client;
			arg->error = 0;
		} else {
			ds_submit_get_space(file, arg);
		}
		if (ds_submit_shares_buf(before, arg))
			arg->buf = before->buf;
		else
			ds_submit_get_buf(file, arg);
	}
}

/* Drop the references of ds_submit_resolve(), by the same rule. */
static void ds_submit_release(struct ds_op_arg *args, u32 count)
{
	struct ds_op_arg *before = NULL, *arg;

	for (arg = args; arg < args + count; before = arg++) {
		if (arg->space && !ds_submit_shares_space(before, arg)) {
			ds_space_put(arg->space);
			if (arg->client)
				ds_client_put(arg->client);
		}
		if (arg->buf && !ds_submit_shares_buf(before, arg))
			ds_buffer_put(arg->buf);
	}
}

/* Operations in the first chain. */
static u32 ds_submit_first_chain(const struct ds_op_arg *args)
{
	u32 count = 1;

	while (args[count - 1].op.flags & DS_OP_CHAIN)
		count++;
	return count;
}

/* The longest run of whole chains within the first @room of @count operations. */
static u32 ds_submit_whole_chains(const struct ds_op_arg *args, u32 room)
{
	while (room && args[room - 1].op.flags & DS_OP_CHAIN)
		room--;
	return room;
}

static int ds_submit_async(struct ds_file *file, struct ds_op_arg *args,
			   struct ds_ioc_submit *arg)
{
	struct ds_file_ring *ring;
	u32 room, count, taken;
	int err = 0;

	mutex_lock(&file->lock);
	ring = file->ring;
	if (!ring)
		err = -EINVAL;
	else if (ds_submit_first_chain(args) > ds_ring_entries(ring))
		err = -E2BIG;	/* else it would be -EAGAIN for ever */
	if (!err) {
		room = ds_ring_reserve(ring, arg->nr_ops);
		count = ds_submit_whole_chains(args, room);
		ds_submit_resolve(file, args, count);
	}
	mutex_unlock(&file->lock);
	if (err)
		return err;

	taken = count ? ds_ops_start(args, count, 0, ds_ring_complete, ring) : 0;
	if (taken < room)	/* else the ring is that of its completions */
		ds_ring_unreserve(ring, room - taken);
	ds_submit_release(args, count);
	arg->out_accepted = taken;
	return taken ? 0 : -EAGAIN;
}

static int ds_submit_sync(struct ds_file *file, struct ds_op_arg *args, struct ds_cqe *cqes,
			  struct ds_ioc_submit *arg)
{
	u32 timeout_ms = arg->timeout_ms ?: DS_SUBMIT_DEFAULT_MS;
	u64 now = ktime_get_ns();
	struct ds_op_waits waits = {
		.deadline = now + (u64)timeout_ms * NSEC_PER_MSEC,
		.patience = now + (u64)arg->patience_ms * NSEC_PER_MSEC,
	};
	struct ds_cqe __user *to = u64_to_user_ptr(arg->cqes);
	size_t bytes = arg->nr_ops * sizeof(*cqes);
	int err;

	/* Nothing shall happen of which the caller cannot be told. */
	if (clear_user(to, bytes))
		return -EFAULT;

	mutex_lock(&file->lock);
	if (arg->patience_ms && !file->ring) {
		mutex_unlock(&file->lock);
		return -EINVAL;
	}
	ds_submit_resolve(file, args, arg->nr_ops);
	if (arg->patience_ms && arg->patience_ms <= timeout_ms) {
		waits.ring = file->ring;
		ds_ring_get(waits.ring);
	}
	mutex_unlock(&file->lock);

	err = ds_ops_run(args, arg->nr_ops, &waits, cqes);
	if (waits.ring)
		ds_ring_put(waits.ring);
	ds_submit_release(args, arg->nr_ops);
	if (err)
		return err;
	arg->out_accepted = arg->nr_ops;
	return copy_to_user(to, cqes, bytes) ? -EFAULT : 0;
}

/* Room for @count operations and completions on the stack or in one allocation. */
struct ds_submit_room {
	struct ds_op_arg	args[DS_SUBMIT_ON_STACK];
	struct ds_cqe		cqes[DS_SUBMIT_ON_STACK];
};

int ds_file_submit(struct ds_file *file, void *p)
{
	struct ds_ioc_submit *arg = p;
	bool async = arg->flags & DS_SUBMIT_ASYNC;
	struct ds_submit_room room;
	struct ds_op_arg *args = room.args;
	struct ds_cqe *cqes = room.cqes;
	int err;

	arg->out_accepted = 0;
	if (arg->flags & ~DS_SUBMIT_ASYNC)
		return -EOPNOTSUPP;
	if (!arg->nr_ops || (async && (arg->cqes || arg->timeout_ms || arg->patience_ms)))
		return -EINVAL;
	if (arg->nr_ops > DS_MAX_OPS)
		return -E2BIG;

	if (arg->nr_ops > DS_SUBMIT_ON_STACK) {
		args = kvmalloc(arg->nr_ops * (sizeof(*args) + sizeof(*cqes)),
				GFP_KERNEL_ACCOUNT);
		if (!args)
			return -ENOMEM;
		cqes = (struct ds_cqe *)(args + arg->nr_ops);
	}
	err = ds_submit_copy_in(args, arg->ops, arg->nr_ops);
	if (!err && async)
		err = ds_submit_async(file, args, arg);
	else if (!err)
		err = ds_submit_sync(file, args, cqes, arg);
	if (args != room.args)
		kvfree(args);
	return err;
}
