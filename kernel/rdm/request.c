// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: requests: from planned operations to work requests and back to struct ds_cqe.
 *
 * A request holds, from planning to completion, its keys (and by them the
 * connection), its client, the tokens of its chunks and the buffers.
 */
#include <linux/slab.h>
#include <uapi/ds/wire.h>
#include "attach.h"
#include "buffer.h"
#include "client.h"
#include "conn.h"
#include "debug.h"
#include "device.h"
#include "outcome.h"
#include "request.h"
#include "space.h"
#include "stats.h"
#include "tokens.h"
#include "trace.h"
#include "verbs.h"

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
	struct ds_client	*client;
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

/* ---- filling ---- */

static void ds_req_free(struct ds_req *req)
{
	u32 i;

	for (i = 0; i < req->count; i++) {
		if (req->ops[i].buf)
			ds_buffer_put(req->ops[i].buf);
	}
	kfree(req->results);
	ds_client_leave(req->client);
	ds_keyset_put(req->keys);
	kvfree(req);
}

/* What the device held while the request was on its way. Results are to be read after it. */
static void ds_req_release(struct ds_req *req)
{
	struct ib_device *ib = req->keys->conn->dev->ib;
	const struct ib_send_wr *wr;
	u32 i, s;

	if (req->results_dma)
		ib_dma_unmap_single(ib, req->results_dma, req->results_size, DMA_FROM_DEVICE);
	for (i = 0; i < req->chain.count; i++) {
		if (req->tokens[i])
			ds_token_drop(req->tokens[i]);
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

/*
 * One use of a token for each request, however many of its work requests go there: a token can
 * count 65534, and requests that wait for room in a queue hold theirs.
 */
static bool ds_req_holds(const struct ds_req *req, u32 token)
{
	u32 i;

	for (i = req->chain.count; i > 0; i--)
		if (req->tokens[i - 1] == token)
			return true;
	return false;
}

/* Use the token of the chunk at @offset for the next work request. */
static int ds_req_key(struct ds_req *req, u64 offset, u32 length, u32 access, u32 *rkey)
{
	u32 token = req->keys->tokens[offset >> req->keys->chunk_shift];
	u32 pd = ds_token_index(req->keys->conn->pd->token);
	struct ds_token_desc desc;
	int ret;

	ret = ds_token_use(req->keys->conn->dev->tokens, token, &desc);
	if (ret)
		return ret;
	if (!ds_token_allows(&desc, pd, offset, length, access)) {
		ds_token_drop(token);
		return -EACCES;
	}
	if (ds_req_holds(req, token))
		ds_token_drop(token);
	else
		req->tokens[req->chain.count] = token;
	*rkey = desc.mr.rkey;
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
	bool read = arg->op.opcode == DS_OP_READ;
	u32 access = read ? IB_ACCESS_REMOTE_READ : IB_ACCESS_REMOTE_WRITE;
	u64 from = arg->op.buf_offset;
	u32 left = arg->op.length, run;
	struct ds_wr *wr;
	int ret;

	while (left) {
		wr = &req->chain.wrs[req->chain.count];
		run = ds_chunk_run(req->keys, offset, left);
		ret = ds_req_key(req, offset, run, access, &wr->rdma.rkey);
		if (ret)
			return ret;
		req->chain.count++;
		wr->wr.opcode = read ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE;
		wr->rdma.remote_addr = offset;
		ret = ds_req_fill_sges(req, &wr->wr, sge, arg->buf, from, run);
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

	ret = ds_req_key(req, offset, sizeof(u64), IB_ACCESS_REMOTE_ATOMIC, &wr->atomic.rkey);
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

/* Takes over what the plan holds. */
static struct ds_req *ds_req_alloc(const struct ds_plan *plan, ds_op_done done, void *ctx)
{
	size_t wrs_at, sges_at, tokens_at, size;
	struct ib_device *ib = plan->keys->conn->dev->ib;
	struct ds_req *req;

	wrs_at = ALIGN(struct_size(req, ops, plan->ops), 8);
	sges_at = wrs_at + plan->wrs * sizeof(struct ds_wr);
	tokens_at = sges_at + plan->sges * sizeof(struct ib_sge);
	size = tokens_at + plan->wrs * sizeof(u32);
	req = kvzalloc(size, GFP_KERNEL_ACCOUNT);
	if (!req)
		goto err_put;
	req->keys = plan->keys;
	req->client = plan->client;
	req->done = done;
	req->ctx = ctx;
	req->chain.wrs = (void *)req + wrs_at;
	req->chain.done = ds_req_done;
	req->sges = (void *)req + sges_at;
	req->tokens = (void *)req + tokens_at;
	if (!plan->atomics)
		return req;

	req->results_size = plan->atomics * sizeof(u64);
	req->results = kzalloc(req->results_size, GFP_KERNEL_ACCOUNT);
	if (!req->results)
		goto err_free;
	req->results_dma = ib_dma_map_single(ib, req->results, req->results_size, DMA_FROM_DEVICE);
	if (!ib_dma_mapping_error(ib, req->results_dma))
		return req;
	kfree(req->results);
err_free:
	kvfree(req);
err_put:
	ds_plan_drop(plan);
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

void ds_ops_refuse(const struct ds_op_arg *args, u32 first, u32 n, u32 bad, int error,
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

static int ds_req_post(struct ds_req *req, u32 lane, u64 deadline)
{
	struct ds_qp *qp = ds_conn_lane(req->keys->conn, lane);
	int ret = ds_failpoint(DS_FP_REQUEST_POST);

	if (ret)
		return ret;
	return deadline ? ds_chain_post_wait(qp, &req->chain, deadline) :
			  ds_chain_post(qp, &req->chain);
}

int ds_plan_post(const struct ds_plan *plan, const struct ds_op_arg *args,
		 const u32 *index, u64 deadline, bool polled, ds_op_done done, void *ctx)
{
	struct ds_req *req = ds_req_alloc(plan, done, ctx);
	u32 i, sge = 0;
	int ret = 0;

	if (!req)
		return -ENOMEM;
	for (i = 0; i < plan->ops && !ret; i++)
		ret = ds_req_add(req, &args[index[i]], index[i], &sge);
	if (!ret) {
		req->chain.polled = polled;
		ret = ds_req_post(req, plan->lane, deadline);
		if (!ret)
			return 0;
	}
	if (ret == -ESTALE)
		ret = -EKEYREVOKED;
	ds_req_release(req);
	ds_req_free(req);
	return ret;
}
