/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: queue pairs and chains of work requests. verbs.c is the only file that
 * posts work requests.
 */
#ifndef _DS_VERBS_H
#define _DS_VERBS_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include "token_qp.h"

/* rdma_cm gives the same to a queue pair that serves READs. */
#define DS_QP_ACCESS		(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
				 IB_ACCESS_REMOTE_ATOMIC)

struct ds_chain;
struct ds_device;
struct ds_token_device;
struct ds_stats;

/**
 * struct ds_wr - one work request of a chain
 * @cqe: its completion
 * @chain: the chain it is in
 * @status: IB_WC_SUCCESS unless its completion said otherwise
 * @rdma: READ and WRITE
 * @atomic: CAS and FETCH_ADD
 * @reg: REG_MR
 * @wr: SEND and LOCAL_INV; head of all the others
 */
struct ds_wr {
	struct ib_cqe		cqe;
	struct ds_chain		*chain;
	enum ib_wc_status	status;
	union {
		struct ib_send_wr	wr;
		struct ib_rdma_wr	rdma;
		struct ib_atomic_wr	atomic;
		struct ib_reg_wr	reg;
	};
};

/**
 * struct ds_chain - work requests posted together, completed together
 * @link: in ds_qp.posted, or the caller's while it is not posted
 * @wrs: the requests, in order; the caller fills all but cqe, chain, status,
 *	next and the signalled flag
 * @count: their number, 1 to ds_qp.sq_size
 * @posted: how many of them reached the device; below @count after an error
 * @polled: the caller will call ds_qp_poll() for it, so its completion need not
 *	raise an event
 * @done: called once when nothing of the chain is in the device any more, from
 *	process context, never with a lock held; it may free the chain
 *
 * The first request with a bad status broke the chain: earlier ones were
 * executed. Those behind it carry IB_WC_WR_FLUSH_ERR. A chain that did not end
 * well is done when its queue pair is destroyed, not before: only then is it
 * sure that nothing of it is still on its way.
 */
struct ds_chain {
	struct list_head	link;
	struct ds_wr		*wrs;
	u32			count;
	u32			posted;
	bool			polled;
	void			(*done)(struct ds_chain *chain);
};

/**
 * struct ds_qp - a queue pair with its completion queue
 * @ib: the queue pair
 * @cq: its completion queue, used by it alone
 * @id: connection it belongs to, NULL for a loopback queue pair
 * @lock: protects @posted and @broken, and orders posting before breaking
 * @posted: chains in the device
 * @broken: nothing may be posted any more
 * @receives: receives have been posted
 * @armed: completions raise an event, or the work of @cq runs
 * @cq_event: what the completion queue does with an event
 * @sq_size: work requests that may be in the send queue
 * @sq_free: how many more there is room for
 * @sq_wait: those who wait for room
 * @srtt_ns: smoothed time of synchronous chains
 * @failed: called once when the queue pair breaks by itself; any context but
 *	hard interrupt
 * @event_work: an event of the device broke it
 * @stats: counters of data lanes; NULL: this is control traffic, not counted here
 * @ctx: the owner's
 * @polling: ds_qp_poll()s at work
 * @pollers: one for its life, one for each ds_qp_poll() and failed post at work
 * @unpolled: completed when there are none
 * @device: its device in the token cache
 * @token: the queue pair's token
 * @cq_token: handle of the completion queue's token
 */
struct ds_qp {
	struct ib_qp		*ib;
	struct ib_cq		*cq;
	struct rdma_cm_id	*id;
	spinlock_t		lock;		/* see above */
	struct list_head	posted;
	bool			broken;
	bool			receives;
	bool			armed;
	ib_comp_handler		cq_event;
	u32			sq_size;
	atomic_t		sq_free;
	wait_queue_head_t	sq_wait;
	u64			srtt_ns;
	void			(*failed)(struct ds_qp *qp);
	struct work_struct	event_work;
	struct ds_stats		*stats;
	void			*ctx;
	atomic_t		polling;
	refcount_t		pollers;
	struct completion	unpolled;
	struct ds_token_device	*device;
	struct ds_token_qp	token;
	u32			cq_token;
};

/* What a new queue pair shall hold. */
struct ds_qp_attr {
	struct rdma_cm_id	*id;	/* NULL: loopback */
	struct ds_device	*dev;
	struct ib_pd		*pd;
	u32			pd_token;
	u32			sq_size;
	u32			rq_size;
	void			(*failed)(struct ds_qp *qp);
	struct ds_stats		*stats;
	void			*ctx;	/* for @failed and receive completions */
};

/**
 * ds_qp_create - make a queue pair and its completion queue
 *
 * Context: process, may sleep.
 * Return: it, or an ERR_PTR
 */
struct ds_qp *ds_qp_create(const struct ds_qp_attr *attr);

/* Connect a loopback queue pair to itself. */
int ds_qp_connect_loop(struct ds_qp *qp);

/**
 * ds_qp_destroy - take a queue pair down; when it returns, the peer's requests
 *	have no effect any more and each chain has had its done() (rule 8)
 *
 * The struct stays until ds_qp_free(); posting to it fails with -ENOTCONN.
 * Context: process, may sleep; not from done() or a CM callback.
 */
void ds_qp_destroy(struct ds_qp *qp);
void ds_qp_free(struct ds_qp *qp);

/* Its token says so, unless it is broken. Context: any but a hard interrupt. */
void ds_qp_set_state(struct ds_qp *qp, enum ib_qp_state state);

/* Wait until no chain is in the device, for at most @ms. Context: process. */
void ds_qp_wait_idle(struct ds_qp *qp, u32 ms);

/* Refuse further chains and flush those in the device. Context: process. */
void ds_qp_break(struct ds_qp *qp);

/**
 * ds_chain_post - hand a chain to the device
 *
 * Context: any but hard interrupt.
 * Return: 0: done() will be called; -EAGAIN: no room; -ENOTCONN: broken; with
 *	an error nothing happened and done() is not called
 */
int ds_chain_post(struct ds_qp *qp, struct ds_chain *chain);

/* As ds_chain_post() but waits for room, killable, until @deadline (ktime ns). */
int ds_chain_post_wait(struct ds_qp *qp, struct ds_chain *chain, u64 deadline);

/* Who polls does something else first: completions raise events. Context: process. */
void ds_qp_notify(struct ds_qp *qp);

/**
 * ds_qp_nudge - let soft-RoCE look again at what it has to send
 *
 * On Linux 6.1 it may forget a request with a fence: it sees that a READ before that one is not
 * answered, the answer comes and nobody waits, and then it notes that it waits. Whatever is posted
 * makes it look again, also a list of nothing. Other devices are left alone. Context: any but hard
 * interrupt.
 */
void ds_qp_nudge(struct ds_qp *qp);

/**
 * ds_qp_poll - look for completions for about two round trips
 * @finished: what the caller waits for
 *
 * Saves a synchronous caller the wake-up. Stops at need_resched(). done() of
 * other callers' chains may run here. Context: process.
 */
void ds_qp_poll(struct ds_qp *qp, struct completion *finished);

/* Tell the round trip time of a synchronous chain. */
void ds_qp_rtt(struct ds_qp *qp, u64 ns);

/* Post a receive. The completion's wr_cqe is the caller's. */
int ds_recv_post(struct ds_qp *qp, struct ib_recv_wr *wr);

#endif
