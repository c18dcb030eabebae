// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: operations on spaces: from struct ds_op to work requests and back.
 *
 * An array of operations is first planned: each chain gets its server's keys
 * and its lane, and is counted in work requests and scatter entries. Chains that
 * are to be waited for together and share keys and lane are joined, so that a
 * batch to one server is one doorbell and one completion. Then each plan
 * becomes a struct ds_req and is posted.
 *
 * A request holds, from planning to completion, its keys (and by them the
 * connection), the tokens of its chunks and the buffers.
 */
#include <linux/kref.h>
#include <linux/slab.h>
#include <uapi/ds/wire.h>
#include "attach.h"
#include "buffer.h"
#include "conn.h"
#include "device.h"
#include "op.h"
#include "outcome.h"
#include "space.h"
#include "stats.h"
#include "tokens.h"
#include "trace.h"
#include "verbs.h"

#define DS_JOIN_WRS	128	/* work requests that joined chains have at most */
#define DS_NODE_SHIFT	10	/* operations on one 1 KiB node share a lane */

/* An operation within a request. */
struct ds_req_op {
	struct ds_buffer	*buf;
	u64			user_data;
	u64			*result;	/* atomics: the old value */
	u32			index;		/* in the caller's array */
	u32			length;
	u32			first_wr;
	u32			wrs;
	u8			opcode;
};

/* What is posted as one chain. */
struct ds_req {
	struct ds_chain		chain;
	struct ds_keyset	*keys;
	ds_op_done		done;
	void			*ctx;
	u32			count;		/* of @ops */
	u32			atomics;	/* of them */
	u64			*results;	/* DMA target of atomics */
	u64			results_dma;
	u32			results_size;	/* bytes */
	u32			*tokens;	/* one for each work request */
	struct ib_sge		*sges;
	struct ds_req_op	ops[];
};

/* Operations that will be one request. */
struct ds_plan {
	struct ds_keyset	*keys;
	u32			lane;
	u32			wrs;
	u32			sges;
	u32			ops;
	u32			atomics;
};

/* ---- counting ---- */

static u32 ds_max_sge(const struct ds_keyset *keys)
{
	return min_t(u32, 32, keys->conn->dev->ib->attrs.max_send_sge);
}

/* Bytes from @offset of @buf that are contiguous in memory, at most @length. */
static u32 ds_buffer_run(const struct ds_buffer *buf, u64 offset, u32 length)
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
static u32 ds_chunk_run(const struct ds_keyset *keys, u64 offset, u32 length)
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

	if (!(keys->access & need[op->opcode]))
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

/* ---- planning ---- */

static u32 ds_chain_length(const struct ds_op_arg *args, u32 count)
{
	u32 n = 0;

	while (n < count && args[n++].op.flags & DS_OP_CHAIN)
		;
	return n;
}

/*
 * Plan the chain of @n operations. On failure @bad is the operation at fault and
 * @node whose memory it is about.
 */
static int ds_plan_chain(struct ds_plan *plan, const struct ds_op_arg *args, u32 n,
			 u64 batch_addr, u32 *bad, u32 *node)
{
	struct ds_layout_pos pos;
	bool reads_only = true;
	u32 i, server = 0;
	int ret;

	memset(plan, 0, sizeof(*plan));
	*node = 0;
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
		} else if (args[i].space != args[0].space || pos.server != server) {
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
	if (plan->keys)
		ds_keyset_put(plan->keys);
	plan->keys = NULL;
	return ret;
}

/* ---- filling ---- */

static void ds_req_free(struct ds_req *req)
{
	struct ib_device *ib = req->keys->conn->dev->ib;
	u32 i;

	for (i = 0; i < req->count; i++) {
		if (req->ops[i].buf)
			ds_buffer_put(req->ops[i].buf);
	}
	if (req->results_dma)
		ib_dma_unmap_single(ib, req->results_dma, req->results_size, DMA_FROM_DEVICE);
	kfree(req->results);
	ds_keyset_put(req->keys);
	kvfree(req);
}

/* What the device held while the request was on its way. */
static void ds_req_release(struct ds_req *req)
{
	struct ib_device *ib = req->keys->conn->dev->ib;
	const struct ib_send_wr *wr;
	u32 i, s;

	for (i = 0; i < req->chain.count; i++) {
		ds_token_put(&ds_tokens, req->tokens[i]);
		wr = &req->chain.wrs[i].wr;
		if (ib_uses_virt_dma(ib) ||
		    (wr->opcode != IB_WR_RDMA_READ && wr->opcode != IB_WR_RDMA_WRITE))
			continue;
		for (s = 0; s < wr->num_sge; s++)
			ib_dma_unmap_page(ib, wr->sg_list[s].addr, wr->sg_list[s].length,
					  wr->opcode == IB_WR_RDMA_READ ? DMA_FROM_DEVICE :
					  DMA_TO_DEVICE);
	}
}

/* Take the token of the chunk at @offset for the next work request. */
static int ds_req_key(struct ds_req *req, u64 offset, u32 *rkey)
{
	u32 token = req->keys->tokens[offset >> req->keys->chunk_shift];
	struct ds_token_desc desc;
	int ret;

	ret = ds_token_get(&ds_tokens, token, &desc);
	if (ret)
		return ret;
	req->tokens[req->chain.count] = token;
	*rkey = desc.key;
	return 0;
}

static int ds_req_fill_sges(struct ds_req *req, struct ib_send_wr *wr, u32 *sge,
			    const struct ds_buffer *buf, u64 from, u32 length)
{
	struct ib_device *ib = req->keys->conn->dev->ib;
	enum dma_data_direction dir = wr->opcode == IB_WR_RDMA_READ ? DMA_FROM_DEVICE :
								      DMA_TO_DEVICE;
	u32 max_sge = ds_max_sge(req->keys), done = 0, run;
	struct ib_sge *s;

	wr->sg_list = &req->sges[*sge];
	while (done < length && wr->num_sge < max_sge) {
		run = ds_buffer_run(buf, from + done, length - done);
		s = &req->sges[(*sge)++];
		s->addr = ib_dma_map_page(ib, buf->pages[(from + done) >> PAGE_SHIFT],
					  offset_in_page(from + done), run, dir);
		if (ib_dma_mapping_error(ib, s->addr))
			return -ENOMEM;
		s->length = run;
		s->lkey = req->keys->conn->pd->ib->local_dma_lkey;
		wr->num_sge++;
		done += run;
	}
	return done;
}

static int ds_req_fill_rdma(struct ds_req *req, const struct ds_op_arg *arg, u64 offset, u32 *sge)
{
	u64 from = arg->op.buf_offset;
	u32 left = arg->op.length;
	struct ds_wr *wr;
	int ret;

	while (left) {
		wr = &req->chain.wrs[req->chain.count];
		ret = ds_req_key(req, offset, &wr->rdma.rkey);
		if (ret)
			return ret;
		req->chain.count++;
		wr->wr.opcode = arg->op.opcode == DS_OP_READ ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE;
		wr->rdma.remote_addr = offset;
		ret = ds_req_fill_sges(req, &wr->wr, sge, arg->buf, from,
				       ds_chunk_run(req->keys, offset, left));
		if (ret < 0)
			return ret;
		from += ret;
		offset += ret;
		left -= ret;
	}
	return 0;
}

static int ds_req_fill_atomic(struct ds_req *req, const struct ds_op *op, u64 offset,
			      u32 result, u32 *sge)
{
	struct ds_wr *wr = &req->chain.wrs[req->chain.count];
	struct ib_sge *s = &req->sges[(*sge)++];
	int ret;

	ret = ds_req_key(req, offset, &wr->atomic.rkey);
	if (ret)
		return ret;
	req->chain.count++;
	wr->wr.opcode = op->opcode == DS_OP_CAS ? IB_WR_ATOMIC_CMP_AND_SWP :
						  IB_WR_ATOMIC_FETCH_AND_ADD;
	wr->atomic.remote_addr = offset;
	wr->atomic.compare_add = op->compare_add;
	wr->atomic.swap = op->swap;
	s->addr = req->results_dma + result * sizeof(u64);
	s->length = sizeof(u64);
	s->lkey = req->keys->conn->pd->ib->local_dma_lkey;
	wr->wr.sg_list = s;
	wr->wr.num_sge = 1;
	return 0;
}

static int ds_req_add(struct ds_req *req, const struct ds_op_arg *arg, u32 index, u32 *sge)
{
	struct ds_req_op *rop = &req->ops[req->count];
	const struct ds_op *op = &arg->op;
	struct ds_layout_pos pos;
	int ret;

	ds_layout_range(&arg->space->layout, op->addr, op->length, &pos);
	rop->user_data = op->user_data;
	rop->index = index;
	rop->length = op->length;
	rop->opcode = op->opcode;
	rop->first_wr = req->chain.count;
	req->count++;
	if (arg->buf && (op->opcode == DS_OP_READ || op->opcode == DS_OP_WRITE)) {
		ds_buffer_get(arg->buf);
		rop->buf = arg->buf;
		ret = ds_req_fill_rdma(req, arg, pos.offset, sge);
	} else {
		rop->result = &req->results[req->atomics];
		ret = ds_req_fill_atomic(req, op, pos.offset, req->atomics++, sge);
	}
	rop->wrs = req->chain.count - rop->first_wr;
	if (!ret && op->flags & DS_OP_FENCE)
		req->chain.wrs[rop->first_wr].wr.send_flags |= IB_SEND_FENCE;
	trace_ds_op(arg->space->id, op->opcode, op->addr, op->length,
		    req->keys->conn->hs.peer.node);
	return ret;
}

static void ds_req_done(struct ds_chain *chain);

/* Takes over the plan's reference on its keys. */
static struct ds_req *ds_req_alloc(const struct ds_plan *plan, ds_op_done done, void *ctx)
{
	size_t wrs_at, sges_at, tokens_at, size;
	struct ib_device *ib = plan->keys->conn->dev->ib;
	struct ds_req *req;

	wrs_at = ALIGN(struct_size(req, ops, plan->ops), 8);
	sges_at = wrs_at + plan->wrs * sizeof(struct ds_wr);
	tokens_at = sges_at + plan->sges * sizeof(struct ib_sge);
	size = tokens_at + plan->wrs * sizeof(u32);
	req = kvzalloc(size, GFP_KERNEL);
	if (!req)
		goto err_put;
	req->keys = plan->keys;
	req->done = done;
	req->ctx = ctx;
	req->chain.wrs = (void *)req + wrs_at;
	req->chain.done = ds_req_done;
	req->sges = (void *)req + sges_at;
	req->tokens = (void *)req + tokens_at;
	if (!plan->atomics)
		return req;

	req->results_size = plan->atomics * sizeof(u64);
	req->results = kzalloc(req->results_size, GFP_KERNEL);
	if (!req->results)
		goto err_free;
	req->results_dma = ib_dma_map_single(ib, req->results, req->results_size, DMA_FROM_DEVICE);
	if (!ib_dma_mapping_error(ib, req->results_dma))
		return req;
	kfree(req->results);
err_free:
	kvfree(req);
err_put:
	ds_keyset_put(plan->keys);
	return NULL;
}

/* ---- completion ---- */

static enum ds_wc_class ds_wc_class(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_SUCCESS:
		return DS_WC_OK;
	case IB_WC_REM_ACCESS_ERR:
	case IB_WC_REM_INV_REQ_ERR:
	case IB_WC_REM_OP_ERR:
		return DS_WC_REMOTE_NAK;
	case IB_WC_LOC_LEN_ERR:
	case IB_WC_LOC_QP_OP_ERR:
	case IB_WC_LOC_PROT_ERR:
	case IB_WC_LOC_ACCESS_ERR:
		return DS_WC_LOCAL;
	default:
		return DS_WC_LOST;
	}
}

/*
 * How an operation ended: as its first work request that did not end well. One
 * that never reached the device did nothing, unless requests before it did.
 */
static enum ds_wc_class ds_req_class(const struct ds_req *req, const struct ds_req_op *op)
{
	u32 i, end = op->first_wr + op->wrs;
	enum ds_wc_class class;

	for (i = op->first_wr; i < end; i++) {
		if (i >= req->chain.posted)
			return i == op->first_wr ? DS_WC_LOCAL : DS_WC_LOST;
		class = ds_wc_class(req->chain.wrs[i].status);
		if (class == DS_WC_LOCAL && i > op->first_wr)
			return DS_WC_LOST;
		if (class != DS_WC_OK)
			return class;
	}
	return DS_WC_OK;
}

static void ds_count_op(struct ds_stats *stats, const struct ds_req_op *op,
			const struct ds_cqe *cqe)
{
	ds_stat_inc(stats, DS_STAT_OPS_READ + op->opcode);
	if (cqe->outcome == DS_NOT_EXECUTED)
		ds_stat_inc(stats, DS_STAT_OPS_NOT_EXECUTED);
	else if (cqe->outcome == DS_UNKNOWN)
		ds_stat_inc(stats, DS_STAT_OPS_UNKNOWN);
	else if (op->opcode == DS_OP_READ)
		ds_stat_add(stats, DS_STAT_BYTES_READ, op->length);
	else if (op->opcode == DS_OP_WRITE)
		ds_stat_add(stats, DS_STAT_BYTES_WRITTEN, op->length);
}

/* @refused: an operation before this one was refused, so this one did not run. */
static bool ds_req_end_op(struct ds_req *req, const struct ds_req_op *op, bool refused)
{
	u32 node = req->keys->conn->hs.peer.node;
	enum ds_wc_class class = ds_req_class(req, op);
	struct ds_cqe cqe = {
		.user_data	= op->user_data,
		.node		= node,
	};

	if (refused) {
		cqe.status = -ECANCELED;
		cqe.outcome = DS_NOT_EXECUTED;
	} else {
		ds_outcome(op->opcode, class, &cqe);
	}
	if (class == DS_WC_OK) {
		cqe.length = op->length;
		if (op->result)
			cqe.value = *op->result;
	}
	ds_count_op(req->keys->conn->stats, op, &cqe);
	trace_ds_op_done(node, op->opcode, cqe.status, cqe.outcome);
	req->done(req->ctx, op->index, &cqe);
	return class == DS_WC_REMOTE_NAK || class == DS_WC_LOCAL;
}

static void ds_req_done(struct ds_chain *chain)
{
	struct ds_req *req = container_of(chain, struct ds_req, chain);
	bool refused = false;
	u32 i;

	ds_req_release(req);
	for (i = 0; i < req->count; i++)
		refused |= ds_req_end_op(req, &req->ops[i], refused);
	ds_req_free(req);
}

/* Operations that never were in a request. */
static void ds_refuse(const struct ds_op_arg *args, u32 first, u32 n, u32 bad, int error,
		      u32 node, ds_op_done done, void *ctx)
{
	struct ds_cqe cqe = { .outcome = DS_NOT_EXECUTED };
	u32 i;

	for (i = 0; i < n; i++) {
		cqe.user_data = args[first + i].op.user_data;
		cqe.status = i == bad ? error : -ECANCELED;
		cqe.node = node;
		ds_stat_inc(NULL, DS_STAT_OPS_NOT_EXECUTED);
		done(ctx, first + i, &cqe);
	}
}

/* ---- posting ---- */

/*
 * @index: for each operation of the plan its place in @args. @polled: of the chain.
 * Takes over the plan's keys.
 */
static int ds_plan_post(const struct ds_plan *plan, const struct ds_op_arg *args,
			const u32 *index, u64 deadline, bool polled, ds_op_done done, void *ctx)
{
	struct ds_req *req = ds_req_alloc(plan, done, ctx);
	struct ds_qp *qp;
	u32 i, sge = 0;
	int ret = 0;

	if (!req)
		return -ENOMEM;
	for (i = 0; i < plan->ops && !ret; i++)
		ret = ds_req_add(req, &args[index[i]], index[i], &sge);
	if (!ret) {
		req->chain.polled = polled;
		qp = ds_conn_lane(req->keys->conn, plan->lane);
		ret = deadline ? ds_chain_post_wait(qp, &req->chain, deadline) :
				 ds_chain_post(qp, &req->chain);
		if (!ret)
			return 0;
	}
	if (ret == -ESTALE)
		ret = -EKEYREVOKED;
	ds_req_release(req);
	ds_req_free(req);
	return ret;
}

/* One chain, not joined with others: -EAGAIN means that it was not taken. */
static int ds_start_chain(const struct ds_op_arg *args, u32 first, u32 n, u64 deadline,
			  ds_op_done done, void *ctx)
{
	u32 index[DS_MAX_CHAIN_OPS];
	struct ds_plan plan;
	u32 i, bad, node;
	int ret;

	if (n > DS_MAX_CHAIN_OPS) {
		ds_refuse(args, first, n, 0, -E2BIG, 0, done, ctx);
		return 0;
	}
	ret = ds_plan_chain(&plan, args + first, n, args[first].op.addr, &bad, &node);
	if (ret) {
		ds_refuse(args, first, n, bad, ret, node, done, ctx);
		return 0;
	}
	for (i = 0; i < n; i++)
		index[i] = first + i;
	ret = ds_plan_post(&plan, args, index, deadline, false, done, ctx);
	if (ret && ret != -EAGAIN)
		ds_refuse(args, first, n, 0, ret, node, done, ctx);
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

/* ---- synchronous ---- */

/* What ds_ops_run() and the completions share; outlives a caller that gives up. */
struct ds_batch {
	struct kref		ref;
	spinlock_t		lock;		/* @left and @cqes */
	struct completion	finished;
	u32			count;
	u32			left;
	struct ds_cqe		cqes[];
};

static void ds_batch_release(struct kref *ref)
{
	kvfree(container_of(ref, struct ds_batch, ref));
}

static void ds_batch_done(void *ctx, u32 index, const struct ds_cqe *cqe)
{
	struct ds_batch *batch = ctx;
	bool last;

	spin_lock_bh(&batch->lock);
	batch->cqes[index] = *cqe;
	last = !--batch->left;
	spin_unlock_bh(&batch->lock);
	if (last)
		complete(&batch->finished);
	kref_put(&batch->ref, ds_batch_release);
}

/* Whose answer is waited for, should the wait end first. */
static void ds_batch_expect(struct ds_batch *batch, u32 index, u32 node)
{
	spin_lock_bh(&batch->lock);
	batch->cqes[index].node = node;
	spin_unlock_bh(&batch->lock);
}

static struct ds_batch *ds_batch_alloc(const struct ds_op_arg *args, u32 count)
{
	struct ds_batch *batch;
	u32 i;

	batch = kvzalloc(struct_size(batch, cqes, count), GFP_KERNEL);
	if (!batch)
		return NULL;
	kref_init(&batch->ref);
	spin_lock_init(&batch->lock);
	init_completion(&batch->finished);
	batch->count = count;
	batch->left = count;
	for (i = 0; i < count; i++) {
		batch->cqes[i].user_data = args[i].op.user_data;
		batch->cqes[i].status = -ETIMEDOUT;
		batch->cqes[i].outcome = DS_UNKNOWN;
		kref_get(&batch->ref);
	}
	return batch;
}

/* A plan that chains are being joined to. */
struct ds_join {
	struct ds_plan	plan;
	u32		index[DS_JOIN_WRS];
};

#define DS_JOINS	4	/* servers and lanes that a batch gathers for at once */

struct ds_joins {
	const struct ds_op_arg	*args;
	u64			deadline;
	struct ds_batch		*batch;
	struct ds_conn		*conn;		/* of all plans so far, with a reference */
	struct ds_qp		*qp;		/* of the first plan, to poll */
	u32			used;
	struct ds_join		join[DS_JOINS];
};

static void ds_join_post(struct ds_joins *j, struct ds_join *join)
{
	struct ds_conn *conn = join->plan.keys->conn;
	struct ds_qp *qp = ds_conn_lane(conn, join->plan.lane);
	u32 node = conn->hs.peer.node;
	u32 i, ops = join->plan.ops;
	int ret;

	if (!j->conn) {
		ds_conn_get(conn);
		j->conn = conn;
		j->qp = qp;
	}
	for (i = 0; i < ops; i++)
		ds_batch_expect(j->batch, join->index[i], node);
	ret = ds_plan_post(&join->plan, j->args, join->index, j->deadline, qp == j->qp,
			   ds_batch_done, j->batch);
	for (i = 0; ret && i < ops; i++)
		ds_refuse(j->args, join->index[i], 1, 0, ret, node, ds_batch_done, j->batch);
}

static void ds_joins_flush(struct ds_joins *j)
{
	u32 i;

	for (i = 0; i < j->used; i++)
		ds_join_post(j, &j->join[i]);
	j->used = 0;
}

/* Add a planned chain to a fitting join, or begin one. */
static void ds_joins_add(struct ds_joins *j, const struct ds_plan *plan, u32 first)
{
	u32 max = min_t(u32, DS_JOIN_WRS, ds_conn_lane(plan->keys->conn, plan->lane)->sq_size / 2);
	struct ds_join *join;
	u32 i;

	for (i = 0; i < j->used; i++) {
		join = &j->join[i];
		if (join->plan.keys != plan->keys || join->plan.lane != plan->lane)
			continue;
		if (join->plan.wrs + plan->wrs <= max && join->plan.ops + plan->ops <= DS_JOIN_WRS)
			goto found;
		ds_joins_flush(j);	/* all, to keep the order within a lane simple */
		break;
	}
	if (j->used == DS_JOINS)
		ds_joins_flush(j);
	join = &j->join[j->used++];
	memset(&join->plan, 0, sizeof(join->plan));
	join->plan.keys = plan->keys;
	join->plan.lane = plan->lane;
	goto fill;
found:
	ds_keyset_put(plan->keys);	/* the join has its own */
fill:
	for (i = 0; i < plan->ops; i++)
		join->index[join->plan.ops + i] = first + i;
	join->plan.ops += plan->ops;
	join->plan.wrs += plan->wrs;
	join->plan.sges += plan->sges;
	join->plan.atomics += plan->atomics;
}

static void ds_batch_post(struct ds_joins *j, u32 count)
{
	const struct ds_op_arg *args = j->args;
	u32 first, n, bad, node;
	struct ds_plan plan;
	int ret;

	for (first = 0; first < count; first += n) {
		n = ds_chain_length(args + first, count - first);
		ret = n > DS_MAX_CHAIN_OPS ? -E2BIG : 0;
		bad = 0;
		node = 0;
		if (!ret)
			ret = ds_plan_chain(&plan, args + first, n, args[0].op.addr, &bad, &node);
		if (ret)
			ds_refuse(args, first, n, bad, ret, node, ds_batch_done, j->batch);
		else
			ds_joins_add(j, &plan, first);
	}
	ds_joins_flush(j);
}

static int ds_batch_wait(struct ds_batch *batch, struct ds_qp *qp, u64 deadline)
{
	u64 start = ktime_get_ns();
	long ret;
	s64 left;

	if (qp)
		ds_qp_poll(qp, &batch->finished);
	if (completion_done(&batch->finished)) {
		if (qp)
			ds_qp_rtt(qp, ktime_get_ns() - start);
		return 0;
	}
	left = deadline - ktime_get_ns();
	ret = wait_for_completion_killable_timeout(&batch->finished,
						   left > 0 ? nsecs_to_jiffies(left) + 1 : 0);
	if (ret > 0 && qp)
		ds_qp_rtt(qp, ktime_get_ns() - start);
	return ret < 0 ? -EINTR : 0;
}

int ds_ops_run(const struct ds_op_arg *args, u32 count, u64 deadline, struct ds_cqe *cqes)
{
	struct ds_joins *j;
	struct ds_batch *batch;
	int ret = -ENOMEM;

	j = kmalloc(sizeof(*j), GFP_KERNEL);
	if (!j)
		return -ENOMEM;
	batch = ds_batch_alloc(args, count);
	if (!batch)
		goto free_joins;
	j->args = args;
	j->deadline = deadline;
	j->batch = batch;
	j->conn = NULL;
	j->qp = NULL;
	j->used = 0;

	ds_batch_post(j, count);
	ret = ds_batch_wait(batch, j->qp, deadline);
	spin_lock_bh(&batch->lock);
	memcpy(cqes, batch->cqes, count * sizeof(*cqes));
	spin_unlock_bh(&batch->lock);
	if (j->conn)
		ds_conn_put(j->conn);
	kref_put(&batch->ref, ds_batch_release);
free_joins:
	kfree(j);
	return ret;
}
