// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: control messages between hosts.
 *
 * Normal operation. A message is a SEND on the control queue pair into a
 * receive buffer that its owner has posted before. A response, a credit and a
 * heartbeat are handled as they arrive; all other messages wait in the connection's
 * inbox, whose work runs them in order. A receive buffer is posted again when its
 * message has been handled, so a slow service slows its senders down.
 *
 * Receive buffers. A side may have DS_MSG_CREDITS requests and one-way messages
 * on their way that the other side has not given back: those take
 * DS_MSG_CREDITS buffers there. It waits for at most DS_MSG_CREDITS responses
 * at a time: those take as many buffers here. Handshake, heartbeat answers and
 * credits need DS_MSG_SPARE more. The sum is the receive queue DS_MSG_RQ, so no message
 * ever finds it empty.
 *
 * Locking: ds_msg_state.lock is innermost and is not held over a post.
 */
#include <linux/completion.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include "conn.h"
#include "debug.h"
#include "device.h"
#include "msg.h"
#include "params.h"
#include "service.h"
#include "trace.h"
#include "verbs.h"

#define DS_MSG_BUF		(sizeof(struct ds_msg_hdr) + DS_MSG_MAX_PAYLOAD)
#define DS_MSG_GIVE_BACK	(DS_MSG_CREDITS / 4)	/* owed credits that are worth a message */

/* A receive buffer. */
struct ds_rx {
	struct ib_cqe		cqe;
	struct list_head	link;
	struct ds_conn		*conn;
	u32			length;
	u64			dma;
	struct ds_msg_hdr	*hdr;
};

/* A message on its way out; freed by its completion. */
struct ds_tx {
	struct ds_chain		chain;
	struct ds_wr		wr;
	struct ib_sge		sge;
	struct ds_conn		*conn;
	struct ds_msg_hdr	hdr;
	u8			payload[];
};

/* A request that waits for its response, on the requester's stack. */
struct ds_wait {
	struct completion	done;
	void			*reply;
	u32			size;
	u32			length;
	int			status;
	bool			answered;
};

struct ds_msg_state {
	spinlock_t		lock;		/* of all but rx and users */
	refcount_t		users;		/* one for the open connection, one a sender */
	struct completion	unused;
	bool			aborted;
	int			credits;	/* messages that we may send */
	u32			owed;		/* credits that we have not given back */
	u32			waiting;	/* requests of ours without response */
	wait_queue_head_t	wait;
	struct xarray		pending;	/* seq -> struct ds_wait */
	u64			seq;
	u64			heard;
	struct list_head	inbox;
	struct work_struct	inbox_work;
	void			*reply;		/* of the inbox work */
	struct ds_rx		rx[DS_MSG_RQ];
};

static struct ib_device *ds_msg_ib(struct ds_conn *conn)
{
	return conn->dev->ib;
}

static int ds_rx_post(struct ds_rx *rx)
{
	struct ib_sge sge = {
		.addr	= rx->dma,
		.length	= DS_MSG_BUF,
		.lkey	= rx->conn->dev->ctrl_pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe		= &rx->cqe,
		.sg_list	= &sge,
		.num_sge	= 1,
	};

	ib_dma_sync_single_for_device(ds_msg_ib(rx->conn), rx->dma, DS_MSG_BUF, DMA_FROM_DEVICE);
	return ds_recv_post(rx->conn->ctrl.qp, &wr);
}

static void ds_tx_free(struct ds_chain *chain)
{
	struct ds_tx *tx = container_of(chain, struct ds_tx, chain);

	ib_dma_unmap_single(ds_msg_ib(tx->conn), tx->sge.addr, tx->sge.length, DMA_TO_DEVICE);
	ds_conn_put(tx->conn);
	kfree(tx);
}

static struct ds_tx *ds_tx_alloc(struct ds_conn *conn, u8 type, u16 service, u64 seq,
				 u32 status, const void *data, u32 length)
{
	struct ds_tx *tx;

	tx = kzalloc(struct_size(tx, payload, length), GFP_KERNEL);
	if (!tx)
		return NULL;
	tx->conn = conn;
	tx->hdr.magic = cpu_to_le16(DS_WIRE_MAGIC);
	tx->hdr.version = DS_WIRE_VERSION;
	tx->hdr.type = type;
	tx->hdr.service = cpu_to_le16(service);
	tx->hdr.length = cpu_to_le32(length);
	tx->hdr.status = cpu_to_le32(status);
	tx->hdr.seq = cpu_to_le64(seq);
	tx->hdr.epoch = cpu_to_le64(conn->hs.epoch);
	if (length)
		memcpy(tx->payload, data, length);
	return tx;
}

/* Nothing is sent after the last user is gone. */
static bool ds_msg_enter(struct ds_msg_state *m)
{
	return refcount_inc_not_zero(&m->users);
}

static void ds_msg_leave(struct ds_msg_state *m)
{
	if (refcount_dec_and_test(&m->users))
		complete(&m->unused);
}

/* Put the credits we owe into the header; only an open connection may. */
static void ds_tx_give_back(struct ds_tx *tx)
{
	struct ds_msg_state *m = tx->conn->msg;

	if (tx->hdr.type < DS_MSG_REQUEST)
		return;
	spin_lock_bh(&m->lock);
	tx->hdr.credits = cpu_to_le16(m->owed);
	m->owed = 0;
	spin_unlock_bh(&m->lock);
}

static int ds_tx_post_mapped(struct ds_tx *tx, bool wait)
{
	struct ds_stats *stats = tx->conn->stats;
	struct ds_qp *qp = tx->conn->ctrl.qp;
	int ret;

	ret = ds_failpoint(DS_FP_MSG_SEND);
	if (ret) {
		/* Lost on the way, as far as the sender can tell. */
		ds_tx_free(&tx->chain);
		return 0;
	}
	if (wait)
		ret = ds_chain_post_wait(qp, &tx->chain, ktime_get_ns() + NSEC_PER_SEC);
	else
		ret = ds_chain_post(qp, &tx->chain);
	if (!ret)
		ds_stat_inc(stats, DS_STAT_MSGS_SENT);	/* @tx may be sent and freed */
	return ret;
}

/* Send and forget; @tx is not the caller's any more. @wait for room in the queue. */
static int ds_tx_post(struct ds_tx *tx, bool wait)
{
	struct ds_conn *conn = tx->conn;
	struct ds_msg_state *m = conn->msg;
	u32 bytes = sizeof(tx->hdr) + le32_to_cpu(tx->hdr.length);
	int ret;

	if (!ds_msg_enter(m)) {
		kfree(tx);
		return -ENOTCONN;
	}
	ds_tx_give_back(tx);
	tx->sge.length = bytes;
	tx->sge.lkey = conn->dev->ctrl_pd->local_dma_lkey;
	tx->sge.addr = ib_dma_map_single(ds_msg_ib(conn), &tx->hdr, bytes, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(ds_msg_ib(conn), tx->sge.addr)) {
		kfree(tx);
		ret = -ENOMEM;
		goto leave;
	}
	ds_conn_get(conn);
	tx->wr.wr.opcode = IB_WR_SEND;
	tx->wr.wr.sg_list = &tx->sge;
	tx->wr.wr.num_sge = 1;
	tx->chain.wrs = &tx->wr;
	tx->chain.count = 1;
	tx->chain.done = ds_tx_free;
	trace_ds_msg(true, conn->hs.peer.node, tx->hdr.type, le16_to_cpu(tx->hdr.service),
		     bytes, le64_to_cpu(tx->hdr.seq));
	ret = ds_tx_post_mapped(tx, wait);
	if (ret) {
		spin_lock_bh(&m->lock);
		m->owed += le16_to_cpu(tx->hdr.credits);
		spin_unlock_bh(&m->lock);
		ds_tx_free(&tx->chain);
	}
leave:
	ds_msg_leave(m);
	return ret;
}

int ds_msg_send_raw(struct ds_conn *conn, u8 type, u32 status, const void *data, u32 length)
{
	struct ds_tx *tx = ds_tx_alloc(conn, type, 0, 0, status, data, length);

	return tx ? ds_tx_post(tx, false) : -ENOMEM;
}

/* What a message needs before it may be sent. */
#define DS_NEED_CREDIT	1u
#define DS_NEED_SLOT	2u	/* for its response */

static bool ds_msg_may_send(const struct ds_msg_state *m, u32 needs)
{
	return (!(needs & DS_NEED_CREDIT) || READ_ONCE(m->credits) > 0) &&
	       (!(needs & DS_NEED_SLOT) || READ_ONCE(m->waiting) < DS_MSG_CREDITS);
}

static int ds_msg_reserve(struct ds_conn *conn, u32 needs, u64 deadline)
{
	struct ds_msg_state *m = conn->msg;
	s64 left;
	int ret;

	for (;;) {
		ret = 0;
		spin_lock_bh(&m->lock);
		if (m->aborted) {
			ret = -ENOTCONN;
		} else if (ds_msg_may_send(m, needs)) {
			m->credits -= !!(needs & DS_NEED_CREDIT);
			m->waiting += !!(needs & DS_NEED_SLOT);
		} else {
			ret = -EAGAIN;
		}
		spin_unlock_bh(&m->lock);
		if (ret != -EAGAIN)
			return ret;
		left = deadline - ktime_get_ns();
		if (left <= 0)
			return -ETIMEDOUT;
		ret = wait_event_killable_timeout(m->wait, READ_ONCE(m->aborted) ||
						  ds_msg_may_send(m, needs),
						  nsecs_to_jiffies(left) + 1);
		if (ret < 0)
			return -EINTR;
	}
}

static void ds_msg_add_credits(struct ds_msg_state *m, u32 credits)
{
	spin_lock_bh(&m->lock);
	m->credits = min_t(int, m->credits + credits, DS_MSG_CREDITS);
	spin_unlock_bh(&m->lock);
	wake_up_all(&m->wait);
}

static void ds_msg_wait_end(struct ds_msg_state *m, u64 seq)
{
	xa_erase_bh(&m->pending, seq);
	spin_lock_bh(&m->lock);
	m->waiting--;
	spin_unlock_bh(&m->lock);
	wake_up_all(&m->wait);
}

static int ds_msg_do_request(struct ds_conn *conn, u16 service, const void *data, u32 length,
			     void *reply, u32 *reply_length, int *status, u32 timeout_ms,
			     u8 *outcome)
{
	u64 deadline = ktime_get_ns() + (u64)timeout_ms * NSEC_PER_MSEC;
	struct ds_wait w = { .reply = reply, .size = reply_length ? *reply_length : 0 };
	bool credit = service != DS_SERVICE_LINK;	/* a busy host is not a dead one */
	struct ds_msg_state *m = conn->msg;
	struct ds_tx *tx;
	s64 left;
	u64 seq;
	int ret;

	init_completion(&w.done);
	ret = ds_msg_reserve(conn, DS_NEED_SLOT | (credit ? DS_NEED_CREDIT : 0), deadline);
	if (ret)
		return ret;

	spin_lock_bh(&m->lock);
	seq = ++m->seq;
	spin_unlock_bh(&m->lock);
	ret = xa_err(xa_store_bh(&m->pending, seq, &w, GFP_KERNEL));
	if (ret)
		goto unreserve;
	tx = ds_tx_alloc(conn, DS_MSG_REQUEST, service, seq, 0, data, length);
	if (!tx) {
		ret = -ENOMEM;
		goto unreserve;
	}
	ret = ds_tx_post(tx, true);
	if (ret)
		goto unreserve;

	*outcome = DS_UNKNOWN;
	left = max_t(s64, deadline - ktime_get_ns(), 0);
	ret = wait_for_completion_killable_timeout(&w.done, nsecs_to_jiffies(left) + 1);
	/* From here no response can touch @w. */
	ds_msg_wait_end(m, seq);
	if (w.answered) {
		*outcome = w.status == -ECONNREFUSED || w.status == -EBUSY ?
			   DS_NOT_EXECUTED : DS_EXECUTED;
		*status = w.status;
		if (reply_length)
			*reply_length = w.length;
		ds_stat_inc(conn->stats, DS_STAT_MSG_ROUND_TRIPS);
		return w.length > w.size ? -EMSGSIZE : 0;
	}
	return ret < 0 ? -EINTR : ret ? -ENOTCONN : -ETIMEDOUT;

unreserve:
	ds_msg_wait_end(m, seq);
	if (credit)
		ds_msg_add_credits(m, 1);
	return ret;
}

int ds_msg_request(struct ds_conn *conn, u16 service, const void *data, u32 length,
		   void *reply, u32 *reply_length, int *status, u32 timeout_ms, u8 *outcome)
{
	u8 unwanted;
	int ret;

	if (!outcome)
		outcome = &unwanted;
	*outcome = DS_NOT_EXECUTED;
	if (!ds_msg_enter(conn->msg))
		return -ENOTCONN;
	ret = ds_msg_do_request(conn, service, data, length, reply, reply_length, status,
				timeout_ms, outcome);
	ds_msg_leave(conn->msg);
	return ret;
}

int ds_msg_one_way(struct ds_conn *conn, u16 service, const void *data, u32 length,
		   u32 timeout_ms)
{
	u64 deadline = ktime_get_ns() + (u64)timeout_ms * NSEC_PER_MSEC;
	struct ds_tx *tx;
	int ret;

	ret = ds_msg_reserve(conn, DS_NEED_CREDIT, deadline);
	if (ret)
		return ret;
	tx = ds_tx_alloc(conn, DS_MSG_ONE_WAY, service, 0, 0, data, length);
	ret = tx ? ds_tx_post(tx, true) : -ENOMEM;
	if (ret)
		ds_msg_add_credits(conn->msg, 1);
	return ret;
}

int ds_msg_respond(struct ds_conn *conn, u16 service, u64 seq, int status,
		   const void *data, u32 length)
{
	struct ds_tx *tx;

	tx = ds_tx_alloc(conn, DS_MSG_RESPONSE, service, seq, (u32)status, data, length);
	return tx ? ds_tx_post(tx, true) : -ENOMEM;
}

/* The receive buffer is free again; @credit: its message took a credit. */
static void ds_rx_done(struct ds_rx *rx, bool credit)
{
	struct ds_conn *conn = rx->conn;
	struct ds_msg_state *m = conn->msg;
	bool give;

	if (ds_rx_post(rx) || !credit)
		return;
	spin_lock_bh(&m->lock);
	give = ++m->owed >= DS_MSG_GIVE_BACK;
	spin_unlock_bh(&m->lock);
	if (give)
		ds_msg_send_raw(conn, DS_MSG_CREDIT, 0, NULL, 0);
}

static void ds_msg_answer(struct ds_conn *conn, const struct ds_msg_hdr *hdr, const void *data)
{
	struct ds_msg_state *m = conn->msg;
	struct ds_wait *w;

	xa_lock_bh(&m->pending);
	w = xa_load(&m->pending, le64_to_cpu(hdr->seq));
	if (w && !w->answered) {
		w->length = le32_to_cpu(hdr->length);
		w->status = (s32)le32_to_cpu(hdr->status);
		memcpy(w->reply, data, min(w->length, w->size));
		w->answered = true;
		complete(&w->done);
	}
	xa_unlock_bh(&m->pending);
}

static void ds_msg_dispatch(struct ds_rx *rx)
{
	struct ds_conn *conn = rx->conn;
	struct ds_msg msg = {
		.conn		= conn,
		.service	= le16_to_cpu(rx->hdr->service),
		.want_reply	= rx->hdr->type == DS_MSG_REQUEST,
		.seq		= le64_to_cpu(rx->hdr->seq),
		.length		= le32_to_cpu(rx->hdr->length),
		.data		= rx->hdr + 1,
	};
	void *reply = conn->msg->reply;
	u32 reply_length = 0;
	int status;

	status = ds_service_handle(&msg, reply, &reply_length);
	if (status == -ECONNREFUSED || status == -EBUSY)
		ds_stat_inc(conn->stats, DS_STAT_MSGS_REFUSED);
	ds_rx_done(rx, true);
	if (msg.want_reply && status != DS_MSG_REPLY_LATER)
		ds_msg_respond(conn, msg.service, msg.seq, status, reply, reply_length);
}

/* Not by the inbox: a service that takes long there is no dead host. */
static bool ds_msg_is_heartbeat(const struct ds_rx *rx)
{
	return rx->hdr->type == DS_MSG_REQUEST && READ_ONCE(rx->conn->trusted) &&
	       le16_to_cpu(rx->hdr->service) == DS_SERVICE_LINK;
}

static void ds_msg_answer_heartbeat(struct ds_rx *rx)
{
	struct ds_tx *tx = ds_tx_alloc(rx->conn, DS_MSG_RESPONSE, DS_SERVICE_LINK,
				       le64_to_cpu(rx->hdr->seq), 0, NULL, 0);

	ds_rx_done(rx, false);
	if (tx)
		ds_tx_post(tx, false);
}

/* What is handled as it arrives; false: the message is for a service. */
static bool ds_msg_take(struct ds_rx *rx)
{
	switch (rx->hdr->type) {
	case DS_MSG_RESPONSE:
		ds_msg_answer(rx->conn, rx->hdr, rx->hdr + 1);
		ds_rx_done(rx, false);
		return true;
	case DS_MSG_CREDIT:
		ds_rx_done(rx, false);
		return true;
	default:
		if (!ds_msg_is_heartbeat(rx))
			return false;
		ds_msg_answer_heartbeat(rx);
		return true;
	}
}

static void ds_msg_inbox_work(struct work_struct *work)
{
	struct ds_msg_state *m = container_of(work, struct ds_msg_state, inbox_work);
	struct ds_rx *rx;

	for (;;) {
		spin_lock_bh(&m->lock);
		rx = list_first_entry_or_null(&m->inbox, struct ds_rx, link);
		if (rx)
			list_del_init(&rx->link);
		spin_unlock_bh(&m->lock);
		if (!rx)
			return;
		if (rx->hdr->type < DS_MSG_REQUEST) {
			ds_conn_handshake(rx->conn, rx->hdr, rx->hdr + 1);
			ds_rx_done(rx, false);
		} else if (READ_ONCE(rx->conn->trusted)) {
			if (!ds_msg_take(rx))
				ds_msg_dispatch(rx);
		} else {
			ds_conn_close(rx->conn, "a message came before the handshake was through");
		}
		cond_resched();
	}
}

static void ds_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct ds_rx *rx = container_of(wc->wr_cqe, struct ds_rx, cqe);
	struct ds_conn *conn = rx->conn;
	struct ds_msg_state *m = conn->msg;

	if (wc->status != IB_WC_SUCCESS) {
		/* Flushed by us, it is closing already; else the other host broke it. */
		ds_conn_close(conn, "the control queue pair failed");
		return;
	}
	ib_dma_sync_single_for_cpu(ds_msg_ib(conn), rx->dma, DS_MSG_BUF, DMA_FROM_DEVICE);
	if (wc->byte_len < sizeof(*rx->hdr) || ds_msg_check_hdr(rx->hdr, wc->byte_len)) {
		ds_conn_close(conn, "a malformed message arrived");
		return;
	}
	WRITE_ONCE(m->heard, ktime_get_ns());
	ds_stat_inc(conn->stats, DS_STAT_MSGS_RECEIVED);
	trace_ds_msg(false, conn->hs.peer.node, rx->hdr->type, le16_to_cpu(rx->hdr->service),
		     wc->byte_len, le64_to_cpu(rx->hdr->seq));
	if (rx->hdr->credits)
		ds_msg_add_credits(m, le16_to_cpu(rx->hdr->credits));

	/* The inbox closes a connection to a stranger who says more than hello. */
	if (READ_ONCE(conn->trusted) && ds_msg_take(rx))
		return;
	spin_lock_bh(&m->lock);
	list_add_tail(&rx->link, &m->inbox);
	spin_unlock_bh(&m->lock);
	queue_work(ds_wq, &m->inbox_work);
}

static int ds_rx_open(struct ds_rx *rx)
{
	rx->hdr = kmalloc(DS_MSG_BUF, GFP_KERNEL);
	if (!rx->hdr)
		return -ENOMEM;
	rx->dma = ib_dma_map_single(ds_msg_ib(rx->conn), rx->hdr, DS_MSG_BUF, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(ds_msg_ib(rx->conn), rx->dma)) {
		kfree(rx->hdr);
		rx->hdr = NULL;
		return -ENOMEM;
	}
	return ds_rx_post(rx);
}

static void ds_rx_close(struct ds_rx *rx)
{
	if (!rx->hdr)
		return;
	ib_dma_unmap_single(ds_msg_ib(rx->conn), rx->dma, DS_MSG_BUF, DMA_FROM_DEVICE);
	kfree(rx->hdr);
	rx->hdr = NULL;
}

int ds_msg_alloc(struct ds_conn *conn)
{
	struct ds_msg_state *m;
	u32 i;

	m = kvzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return -ENOMEM;
	m->reply = kmalloc(DS_MSG_MAX_PAYLOAD, GFP_KERNEL);
	if (!m->reply) {
		kvfree(m);
		return -ENOMEM;
	}
	spin_lock_init(&m->lock);
	refcount_set(&m->users, 1);
	init_completion(&m->unused);
	init_waitqueue_head(&m->wait);
	xa_init_flags(&m->pending, XA_FLAGS_LOCK_BH);
	INIT_LIST_HEAD(&m->inbox);
	INIT_WORK(&m->inbox_work, ds_msg_inbox_work);
	m->credits = DS_MSG_CREDITS;
	m->heard = ktime_get_ns();
	for (i = 0; i < DS_MSG_RQ; i++) {
		m->rx[i].conn = conn;
		m->rx[i].cqe.done = ds_recv_done;
		INIT_LIST_HEAD(&m->rx[i].link);
	}
	conn->msg = m;
	return 0;
}

int ds_msg_open(struct ds_conn *conn)
{
	int ret;
	u32 i;

	for (i = 0; i < DS_MSG_RQ; i++) {
		ret = ds_rx_open(&conn->msg->rx[i]);
		if (ret)
			return ret;
	}
	return 0;
}

void ds_msg_abort(struct ds_conn *conn)
{
	struct ds_msg_state *m = conn->msg;
	struct ds_wait *w;
	unsigned long seq;

	spin_lock_bh(&m->lock);
	m->aborted = true;
	spin_unlock_bh(&m->lock);
	wake_up_all(&m->wait);
	xa_lock_bh(&m->pending);
	xa_for_each(&m->pending, seq, w)
		complete(&w->done);
	xa_unlock_bh(&m->pending);
	if (!refcount_dec_and_test(&m->users))
		wait_for_completion(&m->unused);
}

void ds_msg_close(struct ds_conn *conn)
{
	u32 i;

	/* No completion comes any more, so nobody queues the work again. */
	cancel_work_sync(&conn->msg->inbox_work);
	for (i = 0; i < DS_MSG_RQ; i++)
		ds_rx_close(&conn->msg->rx[i]);
}

void ds_msg_free(struct ds_conn *conn)
{
	xa_destroy(&conn->msg->pending);
	kfree(conn->msg->reply);
	kvfree(conn->msg);
}

u64 ds_msg_heard_ns(struct ds_conn *conn)
{
	return ktime_get_ns() - READ_ONCE(conn->msg->heard);
}
