// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: planning: whether a chain of operations is allowed, which server's keys and
 * which lane it uses, and how many work requests and scatter entries it takes.
 */
#include <linux/hash.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <uapi/ds/wire.h>
#include "attach.h"
#include "buffer.h"
#include "client.h"
#include "conn.h"
#include "device.h"
#include "request.h"
#include "space.h"
#include "verbs.h"

#define DS_NODE_SHIFT	10	/* operations on one 1 KiB node share a lane */

/* ---- counting ---- */

u32 ds_max_sge(const struct ds_keyset *keys)
{
	return min_t(u32, 32, keys->conn->dev->ib->attrs.max_send_sge);
}

/* Bytes from @offset of @buf that are contiguous in memory, at most @length. */
u32 ds_buffer_run(const struct ds_buffer *buf, u64 offset, u32 length)
{
	u64 i = offset >> PAGE_SHIFT;
	u32 run = PAGE_SIZE - offset_in_page(offset);

	while (run < length && page_to_pfn(buf->pages[i + 1]) == page_to_pfn(buf->pages[i]) + 1) {
		run += PAGE_SIZE;
		i++;
	}
	return min(run, length);
}

/* Bytes from @offset of the segment that are in the same chunk, at most @length. */
u32 ds_chunk_run(const struct ds_keyset *keys, u64 offset, u32 length)
{
	u64 chunk = 1ull << keys->chunk_shift;

	return min_t(u64, length, chunk - (offset & (chunk - 1)));
}

/* Count one READ or WRITE; ds_req_fill_rdma() walks the same way. */
static void ds_plan_rdma(struct ds_plan *plan, const struct ds_op *op,
			 const struct ds_buffer *buf, u64 offset)
{
	u32 max_sge = ds_max_sge(plan->keys);
	u64 from = op->buf_offset;
	u32 left = op->length;
	u32 chunk, sges, run;

	while (left) {
		chunk = ds_chunk_run(plan->keys, offset, left);
		plan->wrs++;
		for (sges = 0; chunk && sges < max_sge; sges++) {
			run = ds_buffer_run(buf, from, chunk);
			from += run;
			offset += run;
			chunk -= run;
			left -= run;
		}
		plan->sges += sges;
	}
}

/* ---- checking ---- */

static int ds_op_check(const struct ds_op_arg *arg)
{
	const struct ds_op *op = &arg->op;
	u64 end;

	if (op->opcode == DS_OP_CAS || op->opcode == DS_OP_FETCH_ADD) {
		if (op->length != sizeof(u64) || op->addr % sizeof(u64) ||
		    op->buf || op->buf_offset)
			return -EINVAL;
		return arg->access & DS_ACCESS_ATOMIC ? 0 : -EACCES;
	}
	if (!op->length || op->compare_add || op->swap)
		return -EINVAL;
	if (op->length > DS_MAX_OP_BYTES)
		return -E2BIG;
	if (check_add_overflow(op->buf_offset, (u64)op->length, &end) || end > arg->buf->length)
		return -ERANGE;
	if (op->opcode == DS_OP_READ)
		return arg->access & DS_ACCESS_READ ? 0 : -EACCES;
	return arg->access & DS_ACCESS_WRITE ? 0 : -EACCES;
}

static int ds_op_check_keys(const struct ds_op *op, const struct ds_keyset *keys, u64 offset)
{
	static const u8 need[DS_OPCODES] = {
		[DS_OP_READ]		= DS_ACCESS_READ,
		[DS_OP_WRITE]		= DS_ACCESS_WRITE,
		[DS_OP_CAS]		= DS_ACCESS_ATOMIC,
		[DS_OP_FETCH_ADD]	= DS_ACCESS_ATOMIC,
	};

	if (!(keys->access & need[array_index_nospec(op->opcode, DS_OPCODES)]))
		return -EACCES;
	if (offset >= keys->length || op->length > keys->length - offset)
		return -ERANGE;
	return 0;
}

static u32 ds_op_lane(const struct ds_op *op, bool reads_only, u64 batch_addr)
{
	u64 addr = reads_only ? batch_addr : op->addr;

	return op->lane ? op->lane : hash_64(addr >> DS_NODE_SHIFT, 32);
}

/* ---- chains ---- */

u32 ds_chain_length(const struct ds_op_arg *args, u32 count)
{
	u32 n = 0;

	while (n < count && args[n++].op.flags & DS_OP_CHAIN)
		;
	return n;
}

void ds_plan_drop(const struct ds_plan *plan)
{
	ds_client_leave(plan->client);
	if (plan->keys)
		ds_keyset_put(plan->keys);
}

int ds_plan_chain(struct ds_plan *plan, const struct ds_op_arg *args, u32 n,
		  u64 batch_addr, u32 *bad, u32 *node)
{
	struct ds_layout_pos pos;
	bool reads_only = true;
	u32 i, server = 0;
	int ret;

	memset(plan, 0, sizeof(*plan));
	*bad = 0;
	*node = 0;
	if (n > DS_MAX_CHAIN_OPS)
		return -E2BIG;
	for (i = 0; i < n; i++) {
		const struct ds_op *op = &args[i].op;

		*bad = i;
		ret = args[i].error ? args[i].error : ds_op_check(&args[i]);
		if (!ret)
			ret = ds_layout_range(&args[i].space->layout, op->addr, op->length, &pos);
		if (ret)
			goto err;
		if (!i) {
			server = pos.server;
			plan->keys = ds_keyset_get(args[0].space, server, node, &ret);
			if (!plan->keys)
				return ret;
			ret = ds_client_enter(args[0].client);
			if (ret)
				goto err;
			plan->client = args[0].client;
		} else if (args[i].space != args[0].space ||
			   args[i].client != args[0].client || pos.server != server) {
			ret = -EXDEV;
			goto err;
		}
		ret = ds_op_check_keys(op, plan->keys, pos.offset);
		if (ret)
			goto err;
		if (op->opcode == DS_OP_READ || op->opcode == DS_OP_WRITE) {
			ds_plan_rdma(plan, op, args[i].buf, pos.offset);
		} else {
			plan->wrs++;
			plan->sges++;
			plan->atomics++;
		}
		reads_only &= op->opcode == DS_OP_READ;
	}
	plan->ops = n;
	plan->lane = ds_op_lane(&args[0].op, reads_only, batch_addr) % plan->keys->conn->lanes;
	if (plan->wrs <= ds_conn_lane(plan->keys->conn, plan->lane)->sq_size)
		return 0;
	*bad = 0;
	ret = -E2BIG;
err:
	ds_plan_drop(plan);
	return ret;
}
