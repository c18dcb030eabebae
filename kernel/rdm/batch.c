// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: operations that are waited for together. Chains that share keys and lane
 * are joined, so that a batch to one server is one doorbell and one completion.
 */
#include <linux/kref.h>
#include <linux/slab.h>
#include <uapi/ds/wire.h>
#include "attach.h"
#include "conn.h"
#include "request.h"
#include "ring.h"
#include "verbs.h"

#define DS_JOIN_WRS	128	/* work requests that joined chains have at most */

/* What ds_ops_run() and the completions share; outlives a caller that gives up. */
struct ds_batch {
	struct kref		ref;
	spinlock_t		lock;		/* all below but @finished */
	struct completion	finished;
	u32			left;		/* have not ended */
	struct ds_file_ring	*ring;		/* where they end when nobody waits any more */
	struct ds_cqe		cqes[];
};

static void ds_batch_release(struct kref *ref)
{
	kvfree(container_of(ref, struct ds_batch, ref));
}

static void ds_batch_done(void *ctx, u32 index, const struct ds_cqe *cqe)
{
	struct ds_batch *batch = ctx;
	struct ds_file_ring *ring;
	bool last;

	spin_lock_bh(&batch->lock);
	ring = batch->ring;
	if (!ring)
		batch->cqes[index] = *cqe;
	last = !--batch->left;
	spin_unlock_bh(&batch->lock);
	if (ring)
		ds_ring_complete(ring, index, cqe);
	else if (last)
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

	batch = kvzalloc(struct_size(batch, cqes, count), GFP_KERNEL_ACCOUNT);
	if (!batch)
		return NULL;
	kref_init(&batch->ref);
	spin_lock_init(&batch->lock);
	init_completion(&batch->finished);
	batch->left = count;
	for (i = 0; i < count; i++) {
		batch->cqes[i].user_data = args[i].op.user_data;
		batch->cqes[i].status = -EINPROGRESS;
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

/* Plan the chain at @first, or refuse it. */
static bool ds_joins_plan(struct ds_joins *j, u32 first, u32 n, struct ds_plan *plan)
{
	u32 bad, node;
	int ret;

	ret = ds_plan_chain(plan, j->args + first, n, j->args[0].op.addr, &bad, &node);
	if (ret)
		ds_ops_refuse(j->args, first, n, bad, ret, node, ds_batch_done, j->batch);
	return !ret;
}

/* Post a plan; without @deadline only if there is room. Return: whether it is done with. */
static bool ds_joins_post(struct ds_joins *j, const struct ds_plan *plan, const u32 *index,
			  u64 deadline)
{
	struct ds_conn *conn = plan->keys->conn;
	struct ds_qp *qp = ds_conn_lane(conn, plan->lane);
	u32 node = conn->hs.peer.node;
	u32 i;
	int ret;

	if (!j->conn) {
		ds_conn_get(conn);
		j->conn = conn;
		j->qp = qp;
	}
	/* Who waits for room does not poll. */
	if (deadline && qp != j->qp)
		ds_qp_notify(j->qp);
	for (i = 0; i < plan->ops; i++)
		ds_batch_expect(j->batch, index[i], node);
	ret = ds_plan_post(plan, j->args, index, deadline, qp == j->qp, ds_batch_done, j->batch);
	if (ret == -EAGAIN && !deadline)
		return false;
	for (i = 0; ret && i < plan->ops; i++)
		ds_ops_refuse(j->args, index[i], 1, 0, ret, node, ds_batch_done, j->batch);
	return true;
}

/* Post chains of a plan that was dropped, each when there is room for it. */
static void ds_joins_post_late(struct ds_joins *j, const u32 *index, u32 ops)
{
	struct ds_plan plan;
	u32 i, n;

	for (i = 0; i < ops; i += n) {
		n = ds_chain_length(j->args + index[i], ops - i);
		if (ds_joins_plan(j, index[i], n, &plan))
			ds_joins_post(j, &plan, index + i, j->deadline);
	}
}

/*
 * A connection goes down when nobody holds its keys. So who waits for room on one
 * holds none of others: where there is no room plans are dropped, and made anew.
 */
static void ds_joins_flush(struct ds_joins *j)
{
	u64 deadline = j->used == 1 ? j->deadline : 0;
	bool late[DS_JOINS];
	u32 i;

	for (i = 0; i < j->used; i++)
		late[i] = !ds_joins_post(j, &j->join[i].plan, j->join[i].index, deadline);
	for (i = 0; i < j->used; i++)
		if (late[i])
			ds_joins_post_late(j, j->join[i].index, j->join[i].plan.ops);
	j->used = 0;
}

/* The join that has the same keys, client and lane, or a new one; NULL: there is no place. */
static struct ds_join *ds_joins_find(struct ds_joins *j, const struct ds_plan *plan)
{
	struct ds_join *join;

	for (join = j->join; join < j->join + j->used; join++) {
		if (join->plan.keys == plan->keys && join->plan.client == plan->client &&
		    join->plan.lane == plan->lane)
			return join;
	}
	if (j->used == DS_JOINS)
		return NULL;
	j->used++;
	memset(&join->plan, 0, sizeof(join->plan));
	return join;
}

/* Add a planned chain to a join. Return false, and it is dropped, if all are to be posted first. */
static bool ds_joins_add(struct ds_joins *j, const struct ds_plan *plan, u32 first)
{
	u32 max = min_t(u32, DS_JOIN_WRS, ds_conn_lane(plan->keys->conn, plan->lane)->sq_size / 2);
	struct ds_join *join = ds_joins_find(j, plan);
	u32 i;

	if (join && !join->plan.ops) {
		join->plan.keys = plan->keys;
		join->plan.client = plan->client;
		join->plan.lane = plan->lane;
	} else {
		ds_plan_drop(plan);	/* the join, if any, holds the same */
		if (!join || join->plan.wrs + plan->wrs > max ||
		    join->plan.ops + plan->ops > DS_JOIN_WRS)
			return false;
	}
	for (i = 0; i < plan->ops; i++)
		join->index[join->plan.ops + i] = first + i;
	join->plan.ops += plan->ops;
	join->plan.wrs += plan->wrs;
	join->plan.sges += plan->sges;
	join->plan.atomics += plan->atomics;
	return true;
}

static void ds_batch_post(struct ds_joins *j, u32 count)
{
	struct ds_plan plan;
	u32 first = 0, n;

	while (first < count) {
		n = ds_chain_length(j->args + first, count - first);
		if (!ds_joins_plan(j, first, n, &plan) || ds_joins_add(j, &plan, first))
			first += n;
		else
			ds_joins_flush(j);
	}
	ds_joins_flush(j);
}

/* As wait_for_completion_killable_timeout(). */
static long ds_batch_sleep(struct ds_batch *batch, u64 until)
{
	s64 left = until - ktime_get_ns();

	return wait_for_completion_killable_timeout(&batch->finished,
						    left > 0 ? nsecs_to_jiffies(left) + 1 : 0);
}

/* What has not ended ends in the ring from here on, and @cqes stay as they are; if it has room. */
static bool ds_batch_leave(struct ds_batch *batch, struct ds_file_ring *ring)
{
	bool fits;
	u32 room;

	spin_lock_bh(&batch->lock);
	room = ds_ring_reserve(ring, batch->left);
	fits = room == batch->left;
	if (fits)
		batch->ring = ring;
	spin_unlock_bh(&batch->lock);
	if (!fits)
		ds_ring_unreserve(ring, room);
	return fits;
}

static int ds_batch_wait(struct ds_batch *batch, struct ds_qp *qp,
			 const struct ds_op_waits *waits)
{
	u64 start = ktime_get_ns();
	long ret;

	if (qp)
		ds_qp_poll(qp, &batch->finished);
	if (completion_done(&batch->finished)) {
		if (qp)
			ds_qp_rtt(qp, ktime_get_ns() - start);
		return 0;
	}
	ret = ds_batch_sleep(batch, waits->ring ? waits->patience : waits->deadline);
	if (!ret && waits->ring && !ds_batch_leave(batch, waits->ring))
		ret = ds_batch_sleep(batch, waits->deadline);
	if (ret > 0 && qp)
		ds_qp_rtt(qp, ktime_get_ns() - start);
	return ret < 0 ? -EINTR : 0;
}

static void ds_batch_report(struct ds_batch *batch, u32 count, struct ds_cqe *cqes)
{
	bool all;
	u32 i;

	spin_lock_bh(&batch->lock);
	memcpy(cqes, batch->cqes, count * sizeof(*cqes));
	all = !batch->left || batch->ring;
	spin_unlock_bh(&batch->lock);
	for (i = 0; !all && i < count; i++) {
		if (cqes[i].status == -EINPROGRESS)
			cqes[i].status = -ETIMEDOUT;
	}
}

int ds_ops_run(const struct ds_op_arg *args, u32 count, const struct ds_op_waits *waits,
	       struct ds_cqe *cqes)
{
	struct ds_joins *j;
	struct ds_batch *batch;
	int ret = -ENOMEM;

	j = kmalloc(sizeof(*j), GFP_KERNEL_ACCOUNT);
	if (!j)
		return -ENOMEM;
	batch = ds_batch_alloc(args, count);
	if (!batch)
		goto free_joins;
	j->args = args;
	j->deadline = waits->ring ? waits->patience : waits->deadline;
	j->batch = batch;
	j->conn = NULL;
	j->qp = NULL;
	j->used = 0;

	ds_batch_post(j, count);
	ret = ds_batch_wait(batch, j->qp, waits);
	ds_batch_report(batch, count, cqes);
	if (j->conn)
		ds_conn_put(j->conn);
	kref_put(&batch->ref, ds_batch_release);
free_joins:
	kfree(j);
	return ret;
}
