// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: queue pairs and chains of work requests.
 *
 * Normal operation. A chain is posted under ds_qp.lock with one doorbell and
 * only its last request signalled, so a good chain has exactly one completion,
 * whoever polls it: the completion queue's work, or a synchronous caller in
 * ds_qp_poll() at the same time.
 *
 * Events. A completion that raises an event costs a tasklet, a wake-up of the
 * completion queue's work and two switches of context, as much again as the
 * rest of a small read; and the work takes the processor from the poller. So an
 * event is dropped while somebody polls, and the queue is armed again only when
 * it holds a chain that nobody polls for. No completion is overlooked: an event
 * clears @armed before it looks at @polling, and the last poller clears
 * @polling before it looks at @armed.
 *
 * Recovery. A bad completion breaks the queue pair. Then each request of each
 * chain has a completion, and two of one chain may be in the hands of two
 * pollers. So a chain that has not ended well stays on ds_qp.posted until
 * ds_qp_destroy() has drained the queue pair and stopped all polling; only then
 * is it done, from there. A request without a completion by then was executed,
 * as the queue pair completes in order.
 *
 * Capacity. The send queue holds sq_size requests of chains and one of the
 * drain; the receive queue rq_size and one of the drain. Each of them can give
 * one completion when the queue pair breaks, so the completion queue holds
 * sq_size + rq_size + 2 and cannot overrun. sq_free counts requests of chains
 * down before they are posted and up when their chain has ended.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "debug.h"
#include "device.h"
#include "stats.h"
#include "tokens.h"
#include "trace.h"
#include "verbs.h"

#define DS_MAX_SEND_SGE		32
#define DS_POLL_MIN_NS		(50 * NSEC_PER_USEC)
#define DS_POLL_MAX_NS		(2 * NSEC_PER_MSEC)

/* Break the queue pair; true for the call that did it. */
static bool ds_qp_set_broken(struct ds_qp *qp)
{
	bool first;

	spin_lock_bh(&qp->lock);
	first = !qp->broken;
	qp->broken = true;
	/* Each request that is flushed comes here. */
	if (first || READ_ONCE(qp->token.late))
		ds_token_qp_state(&qp->token, IB_QPS_ERR);
	spin_unlock_bh(&qp->lock);
	wake_up_all(&qp->sq_wait);
	return first;
}

/* Never more than there is, not even for a moment: who waits would see less than comes back. */
static bool ds_qp_take_room(struct ds_qp *qp, int count)
{
	int room = atomic_read(&qp->sq_free);

	do {
		if (room < count)
			return false;
	} while (!atomic_try_cmpxchg(&qp->sq_free, &room, room - count));
	return true;
}

static void ds_qp_give_room(struct ds_qp *qp, int count)
{
	atomic_add(count, &qp->sq_free);
	if (wq_has_sleeper(&qp->sq_wait))
		wake_up_all(&qp->sq_wait);
}

static void ds_qp_fail(struct ds_qp *qp)
{
	if (ds_qp_set_broken(qp) && qp->failed)
		qp->failed(qp);
}

static void ds_qp_unhold(struct ds_qp *qp)
{
	if (refcount_dec_and_test(&qp->pollers))
		complete(&qp->unpolled);
}

static void ds_qp_event_work(struct work_struct *work)
{
	ds_qp_fail(container_of(work, struct ds_qp, event_work));
}

/* Some drivers on 6.1 call this in their hard interrupt. */
static void ds_qp_event(struct ib_event *event, void *context)
{
	struct ds_qp *qp = context;

	switch (event->event) {
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		queue_work(system_wq, &qp->event_work);
		break;
	default:
		break;
	}
}

/* A completion while the queue was armed, which it is no more. Context: softirq. */
static void ds_qp_cq_event(struct ib_cq *cq, void *private)
{
	struct ds_qp *qp = cq->cq_context;

	WRITE_ONCE(qp->armed, false);
	smp_mb();	/* pairs with the one in ds_qp_poll_end() */
	if (atomic_read(&qp->polling))
		return;
	WRITE_ONCE(qp->armed, true);
	qp->cq_event(cq, private);
}

/* Let completions raise events, if they do not. The completion queue must be held. */
static void ds_qp_arm(struct ds_qp *qp)
{
	if (READ_ONCE(qp->armed))
		return;
	WRITE_ONCE(qp->armed, true);	/* first: an event may clear it at once */
	if (ib_req_notify_cq(qp->cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0)
		qp->cq_event(qp->cq, qp->cq->cq_context);
}

static int ds_qp_make_tokens(struct ds_qp *qp, const struct ds_qp_attr *attr)
{
	struct ds_token_desc cq = { .type = DS_TOKEN_CQ, .cq.number = qp->cq->res.id,
				    .cq.entries = qp->cq->cqe,
				    .cq.vector = qp->cq->comp_vector };
	struct ds_token_desc q = { .type = DS_TOKEN_QP, .qp.number = qp->ib->qp_num,
				   .qp.qp_type = qp->ib->qp_type, .qp.access = DS_QP_ACCESS,
				   /* rdma_create_qp() has gone on to INIT. */
				   .qp.state = attr->id ? IB_QPS_INIT : IB_QPS_RESET,
				   .qp.pd = ds_token_index(attr->pd_token) };
	u32 token;
	int ret;

	ret = ds_token_add(qp->device, &cq, &qp->cq_token);
	if (ret)
		return ret;
	q.qp.scq = ds_token_index(qp->cq_token);
	q.qp.rcq = q.qp.scq;
	ret = ds_token_add(qp->device, &q, &token);
	if (ret) {
		ds_token_end(qp->cq_token);
		return ret;
	}
	spin_lock_bh(&qp->lock);
	qp->token.token = token;
	if (qp->broken)		/* before there was a token */
		ds_token_qp_state(&qp->token, IB_QPS_ERR);
	spin_unlock_bh(&qp->lock);
	return 0;
}

static int ds_qp_create_ib(struct ds_qp *qp, const struct ds_qp_attr *attr)
{
	struct ib_qp_init_attr init = {
		.event_handler	= ds_qp_event,
		.qp_context	= qp,
		.send_cq	= qp->cq,
		.recv_cq	= qp->cq,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
		.port_num	= 1,
		.cap = {
			.max_send_wr	= attr->sq_size + 1,
			.max_recv_wr	= attr->rq_size + 1,
			.max_send_sge	= min_t(u32, DS_MAX_SEND_SGE,
						attr->dev->ib->attrs.max_send_sge),
			.max_recv_sge	= 1,
		},
	};
	int ret;

	if (attr->id) {
		ret = rdma_create_qp(attr->id, attr->pd, &init);
		qp->ib = attr->id->qp;
		return ret;
	}
	qp->ib = ib_create_qp(attr->pd, &init);
	return PTR_ERR_OR_ZERO(qp->ib);
}

struct ds_qp *ds_qp_create(const struct ds_qp_attr *attr)
{
	u32 cqes = attr->sq_size + attr->rq_size + 2;
	struct ds_qp *qp;
	int ret;

	qp = kzalloc(sizeof(*qp), GFP_KERNEL);
	if (!qp)
		return ERR_PTR(-ENOMEM);

	spin_lock_init(&qp->lock);
	INIT_LIST_HEAD(&qp->posted);
	init_waitqueue_head(&qp->sq_wait);
	init_completion(&qp->unpolled);
	INIT_WORK(&qp->event_work, ds_qp_event_work);
	refcount_set(&qp->pollers, 1);
	atomic_set(&qp->sq_free, attr->sq_size);
	qp->sq_size = attr->sq_size;
	qp->id = attr->id;
	qp->failed = attr->failed;
	qp->stats = attr->stats;
	qp->ctx = attr->ctx;
	qp->device = attr->dev->tokens;
	ds_token_qp_init(&qp->token, qp->device);

	qp->cq = ib_alloc_cq_any(attr->dev->ib, qp, cqes, IB_POLL_WORKQUEUE);
	if (IS_ERR(qp->cq)) {
		ret = PTR_ERR(qp->cq);
		goto err_free;
	}
	qp->cq_event = qp->cq->comp_handler;
	qp->cq->comp_handler = ds_qp_cq_event;
	qp->armed = true;	/* ib_alloc_cq_any() has done it */
	ret = ds_qp_create_ib(qp, attr);
	if (ret)
		goto err_free_cq;
	ret = ds_qp_make_tokens(qp, attr);
	if (ret)
		goto err_destroy_qp;
	return qp;

err_destroy_qp:
	if (qp->id)
		rdma_destroy_qp(qp->id);
	else
		ib_destroy_qp(qp->ib);
	cancel_work_sync(&qp->event_work);
err_free_cq:
	ib_free_cq(qp->cq);
err_free:
	kfree(qp);
	return ERR_PTR(ret);
}

void ds_qp_set_state(struct ds_qp *qp, enum ib_qp_state state)
{
	spin_lock_bh(&qp->lock);
	if (!qp->broken)
		ds_token_qp_state(&qp->token, state);
	spin_unlock_bh(&qp->lock);
}

void ds_qp_wait_idle(struct ds_qp *qp, u32 ms)
{
	wait_event_timeout(qp->sq_wait,
			   qp->broken || atomic_read(&qp->sq_free) == (int)qp->sq_size,
			   msecs_to_jiffies(ms));
}

void ds_qp_break(struct ds_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	ds_qp_set_broken(qp);
	ib_modify_qp(qp->ib, &attr, IB_QP_STATE);
}

/* The queue pair is gone: end what did not end by itself. */
static void ds_qp_end_rest(struct ds_qp *qp)
{
	struct ds_chain *chain, *next;
	LIST_HEAD(rest);

	spin_lock_bh(&qp->lock);
	list_splice_init(&qp->posted, &rest);
	spin_unlock_bh(&qp->lock);

	list_for_each_entry_safe(chain, next, &rest, link) {
		list_del_init(&chain->link);
		trace_ds_chain_done(0, chain->count, -ECONNRESET);
		chain->done(chain);
	}
}

void ds_qp_destroy(struct ds_qp *qp)
{
	ds_qp_set_broken(qp);
	ds_qp_arm(qp);		/* for the drain */
	ib_drain_qp(qp->ib);
	if (!refcount_dec_and_test(&qp->pollers))
		wait_for_completion(&qp->unpolled);
	if (qp->id)
		rdma_destroy_qp(qp->id);
	else
		ib_destroy_qp(qp->ib);
	cancel_work_sync(&qp->event_work);
	ib_free_cq(qp->cq);
	qp->ib = NULL;
	qp->cq = NULL;
	ds_qp_end_rest(qp);
	ds_token_qp_end(&qp->token);
	ds_token_end(qp->cq_token);
}

void ds_qp_free(struct ds_qp *qp)
{
	WARN_ON_ONCE(!list_empty(&qp->posted));
	kfree(qp);
}

static void ds_wr_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct ds_wr *wr = container_of(wc->wr_cqe, struct ds_wr, cqe);
	struct ds_chain *chain = wr->chain;
	struct ds_qp *qp = cq->cq_context;

	wr->status = wc->status;
	if (wc->status != IB_WC_SUCCESS) {
		ds_qp_fail(qp);
		return;
	}
	if (wr != &chain->wrs[chain->count - 1])
		return;

	spin_lock_bh(&qp->lock);
	list_del_init(&chain->link);
	spin_unlock_bh(&qp->lock);
	ds_qp_give_room(qp, chain->count);
	trace_ds_chain_done(qp->ib->qp_num, chain->count, 0);
	chain->done(chain);
}

static void ds_chain_link(struct ds_chain *chain)
{
	struct ds_wr *wr = chain->wrs;
	u32 i;

	for (i = 0; i < chain->count; i++, wr++) {
		wr->cqe.done = ds_wr_done;
		wr->chain = chain;
		wr->status = IB_WC_SUCCESS;
		wr->wr.wr_cqe = &wr->cqe;
		wr->wr.next = i + 1 < chain->count ? &wr[1].wr : NULL;
		wr->wr.send_flags &= ~IB_SEND_SIGNALED;
	}
	wr[-1].wr.send_flags |= IB_SEND_SIGNALED;
}

/* For tests: the device takes one request and refuses the rest. */
static int ds_post_partial(struct ds_qp *qp, struct ds_chain *chain,
			   const struct ib_send_wr **bad)
{
	int ret;

	chain->wrs[0].wr.next = NULL;
	ret = ib_post_send(qp->ib, &chain->wrs[0].wr, bad);
	if (ret)
		return ret;
	*bad = &chain->wrs[1].wr;
	return -ENOMEM;
}

static int ds_chain_try(struct ds_qp *qp, struct ds_chain *chain)
{
	const struct ib_send_wr *bad = NULL;
	bool partial = false;
	u32 i, posted;
	int ret;

	if (!ds_qp_take_room(qp, chain->count)) {
		ds_stat_inc(qp->stats, DS_STAT_SQ_FULL);
		return -EAGAIN;
	}
	ds_chain_link(chain);
	if (chain->count > 1)
		partial = ds_failpoint(DS_FP_CHAIN_PARTIAL);

	/*
	 * The lock keeps bottom halves off until the doorbell is rung: rxe on
	 * 6.1 then sends at the unlock, in this context, instead of waking
	 * ksoftirqd.
	 */
	spin_lock_bh(&qp->lock);
	if (qp->broken || ds_token_qp_check(&qp->token)) {
		spin_unlock_bh(&qp->lock);
		ds_qp_give_room(qp, chain->count);
		return -ENOTCONN;
	}
	trace_ds_chain_post(qp->ib->qp_num, chain->count, chain->wrs[0].wr.opcode);
	if (!chain->polled)
		ds_qp_arm(qp);
	chain->posted = chain->count;
	list_add_tail(&chain->link, &qp->posted);
	if (partial)
		ret = ds_post_partial(qp, chain, &bad);
	else
		ret = ib_post_send(qp->ib, &chain->wrs[0].wr, &bad);
	if (unlikely(ret)) {
		for (i = 0; i < chain->count && &chain->wrs[i].wr != bad; i++)
			;
		chain->posted = i == chain->count ? 0 : i;
		if (!chain->posted)
			list_del_init(&chain->link);
		refcount_inc(&qp->pollers);	/* keeps it, as it is not broken yet */
	} else if (qp->stats) {
		ds_stat_inc(qp->stats, DS_STAT_CHAINS);
		ds_stat_inc(qp->stats, DS_STAT_DOORBELLS);
		ds_stat_add(qp->stats, DS_STAT_WORK_REQUESTS, chain->count);
	}
	posted = chain->posted;
	ds_token_qp_posted(&qp->token, posted);
	/* Behind the unlock a chain in the device may be done, freed, and with it @qp. */
	spin_unlock_bh(&qp->lock);
	if (likely(!ret))
		return 0;

	ds_qp_fail(qp);
	ds_qp_unhold(qp);
	/* A part is on its way: it ends when the queue pair is destroyed. */
	return posted ? 0 : -ENOTCONN;
}

int ds_chain_post(struct ds_qp *qp, struct ds_chain *chain)
{
	return ds_failpoint(DS_FP_CHAIN_POST) ?: ds_chain_try(qp, chain);
}

void ds_qp_notify(struct ds_qp *qp)
{
	spin_lock_bh(&qp->lock);
	if (!qp->broken)
		ds_qp_arm(qp);
	spin_unlock_bh(&qp->lock);
}

void ds_qp_nudge(struct ds_qp *qp)
{
	if (qp->ib->device->ops.driver_id != RDMA_DRIVER_RXE)
		return;
	spin_lock_bh(&qp->lock);
	if (!qp->broken && !list_empty(&qp->posted))
		ib_post_send(qp->ib, NULL, NULL);
	spin_unlock_bh(&qp->lock);
}

int ds_chain_post_wait(struct ds_qp *qp, struct ds_chain *chain, u64 deadline)
{
	s64 left;
	int ret;

	ret = ds_failpoint(DS_FP_CHAIN_POST);
	if (ret)	/* room that never comes: the wait for it is over */
		return ret == -EAGAIN ? -ETIMEDOUT : ret;
	for (;;) {
		ret = ds_chain_try(qp, chain);
		if (ret != -EAGAIN)
			return ret;
		ds_qp_notify(qp);	/* room may have to come from polled chains */
		left = deadline - ktime_get_ns();
		if (left <= 0)
			return -ETIMEDOUT;
		ret = wait_event_killable_timeout(qp->sq_wait, qp->broken ||
						  atomic_read(&qp->sq_free) >= (int)chain->count,
						  nsecs_to_jiffies(left) + 1);
		if (ret < 0)
			return -EINTR;
	}
}

void ds_qp_rtt(struct ds_qp *qp, u64 ns)
{
	u64 old = READ_ONCE(qp->srtt_ns);

	WRITE_ONCE(qp->srtt_ns, old ? old - old / 8 + ns / 8 : ns);
}

static void ds_qp_poll_end(struct ds_qp *qp)
{
	atomic_dec(&qp->polling);
	smp_mb__after_atomic();	/* pairs with the one in ds_qp_cq_event() */
	spin_lock_bh(&qp->lock);
	if (!list_empty(&qp->posted) || qp->receives || qp->broken)
		ds_qp_arm(qp);
	spin_unlock_bh(&qp->lock);
}

/* How long a completion is worth waiting for; 0: it takes too long. */
static u64 ds_qp_poll_budget(const struct ds_qp *qp)
{
	u64 budget = 2 * READ_ONCE(qp->srtt_ns);

	return budget > DS_POLL_MAX_NS ? 0 : max_t(u64, budget, DS_POLL_MIN_NS);
}

void ds_qp_poll(struct ds_qp *qp, struct completion *finished)
{
	u64 end;

	if (!refcount_inc_not_zero(&qp->pollers))
		return;
	atomic_inc(&qp->polling);
	end = ktime_get_ns() + ds_qp_poll_budget(qp);
	do {
		if (ib_process_cq_direct(qp->cq, 16) <= 0)
			cpu_relax();
	} while (!completion_done(finished) && !need_resched() && ktime_get_ns() < end);

	/* What made us stop may be the very completion that we wait for. */
	if (!completion_done(finished))
		ib_process_cq_direct(qp->cq, 16);
	ds_qp_poll_end(qp);
	ds_qp_unhold(qp);
}

int ds_recv_post(struct ds_qp *qp, struct ib_recv_wr *wr)
{
	int ret = -ENOTCONN;

	spin_lock_bh(&qp->lock);
	qp->receives = true;
	if (!qp->broken)
		ret = ib_post_recv(qp->ib, wr, NULL);
	spin_unlock_bh(&qp->lock);
	return ret;
}
