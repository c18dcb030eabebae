// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: control messages as they arrive.
 *
 * Normal operation. A response, a credit and a heartbeat are handled at once;
 * all other messages wait in the connection's inbox, whose work runs them in
 * order. A receive buffer is posted again when its message has been handled, so
 * a slow service slows its senders down. msg.c counts the buffers.
 */
#include <linux/slab.h>
#include "handshake.h"
#include "msg_state.h"
#include "msg_turn.h"
#include "params.h"
#include "service.h"
#include "stats.h"
#include "trace.h"
#include "verbs.h"

#define DS_MSG_BUF		(sizeof(struct ds_msg_hdr) + DS_MSG_MAX_PAYLOAD)

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
		ds_msg_send(conn, DS_MSG_CREDIT, 0, 0, 0, NULL, 0, 0);
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
	struct ds_conn *conn = rx->conn;
	u64 seq = le64_to_cpu(rx->hdr->seq);

	ds_rx_done(rx, false);
	ds_msg_send(conn, DS_MSG_RESPONSE, DS_SERVICE_LINK, seq, 0, NULL, 0, 0);
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
	if (rx->hdr->type == DS_MSG_REFUSE)
		ds_conn_refused(conn, le32_to_cpu(rx->hdr->status));
	if (rx->hdr->credits)
		ds_turns_credit(m, le16_to_cpu(rx->hdr->credits));

	/* The inbox closes a connection to a stranger who says more than hello. */
	if (READ_ONCE(conn->trusted) && ds_msg_take(rx))
		return;
	spin_lock_bh(&m->lock);
	list_add_tail(&rx->link, &m->inbox);
	spin_unlock_bh(&m->lock);
	queue_work(ds_inbox_wq, &m->inbox_work);
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

void ds_inbox_init(struct ds_conn *conn, struct ds_msg_state *m)
{
	u32 i;

	INIT_LIST_HEAD(&m->inbox);
	INIT_WORK(&m->inbox_work, ds_msg_inbox_work);
	for (i = 0; i < DS_MSG_RQ; i++) {
		m->rx[i].conn = conn;
		m->rx[i].cqe.done = ds_recv_done;
		INIT_LIST_HEAD(&m->rx[i].link);
	}
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

void ds_msg_close(struct ds_conn *conn)
{
	u32 i;

	/* No completion comes any more, so nobody queues the work again. */
	cancel_work_sync(&conn->msg->inbox_work);
	for (i = 0; i < DS_MSG_RQ; i++)
		ds_rx_close(&conn->msg->rx[i]);
}
