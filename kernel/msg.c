// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: control messages between hosts.
 *
 * Normal operation. A message is a SEND on the control queue pair into a
 * receive buffer that its owner has posted before. inbox.c handles those that
 * arrive. Each message gives back the credits of those handled since the last;
 * when there are many and nothing else to say, a CREDIT does. One that finds the
 * send queue full is sent anew when a message has left the queue.
 *
 * Receive buffers. A side may have DS_MSG_CREDITS requests and one-way messages
 * on their way that the other side has not given back: those take
 * DS_MSG_CREDITS buffers there. It waits for at most DS_MSG_CREDITS responses
 * at a time, fewer of programs, whose like may be slow to answer: those take as many
 * buffers here. Whose turn it is msg_turn.c knows. Handshake, heartbeat answers and
 * credits need DS_MSG_SPARE more. The sum is the receive queue DS_MSG_RQ, so a message
 * finds it empty only where answers come to requests that are not waited for any
 * more; then it is sent again.
 *
 * Locking: ds_msg_state.lock is innermost and is not held over a post.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <uapi/ds/ioctl.h>
#include "debug.h"
#include "msg_state.h"
#include "msg_turn.h"
#include "stats.h"
#include "trace.h"
#include "verbs.h"

/* A message on its way out; freed by its completion. */
struct ds_tx {
	struct ds_chain		chain;
	struct ds_wr		wr;
	struct ib_sge		sge;
	struct ds_conn		*conn;
	struct ds_msg_hdr	hdr;
	u8			payload[];
};

static void ds_tx_free(struct ds_tx *tx)
{
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
	ds_conn_get(conn);
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

static int ds_tx_map(struct ds_tx *tx)
{
	struct ib_device *ib = ds_msg_ib(tx->conn);

	tx->sge.length = sizeof(tx->hdr) + le32_to_cpu(tx->hdr.length);
	tx->sge.lkey = tx->conn->dev->ctrl_pd->local_dma_lkey;
	tx->sge.addr = ib_dma_map_single(ib, &tx->hdr, tx->sge.length, DMA_TO_DEVICE);
	return ib_dma_mapping_error(ib, tx->sge.addr) ? -ENOMEM : 0;
}

static void ds_tx_unmap(struct ds_tx *tx)
{
	ib_dma_unmap_single(ds_msg_ib(tx->conn), tx->sge.addr, tx->sge.length, DMA_TO_DEVICE);
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
	m->owed_late = false;
	spin_unlock_bh(&m->lock);
}

/* @tx was not sent: we owe its credits as before. */
static void ds_tx_keep(struct ds_tx *tx, bool full)
{
	struct ds_msg_state *m = tx->conn->msg;

	spin_lock_bh(&m->lock);
	m->owed += le16_to_cpu(tx->hdr.credits);
	m->owed_late |= full && m->owed >= DS_MSG_GIVE_BACK;
	spin_unlock_bh(&m->lock);
}

/*
 * A message has left the send queue, so there is room for credits that found
 * none. Should the last message leave just before they are seen to be late, then
 * the next heartbeat takes them.
 */
static void ds_tx_done(struct ds_chain *chain)
{
	struct ds_tx *tx = container_of(chain, struct ds_tx, chain);
	struct ds_msg_state *m = tx->conn->msg;
	bool late;

	ds_tx_unmap(tx);
	spin_lock_bh(&m->lock);
	late = m->owed_late;
	m->owed_late = false;
	spin_unlock_bh(&m->lock);
	if (late)
		ds_msg_send(tx->conn, DS_MSG_CREDIT, 0, 0, 0, NULL, 0, 0);
	ds_tx_free(tx);
}

static int ds_tx_post_mapped(struct ds_tx *tx, u64 until)
{
	struct ds_stats *stats = tx->conn->stats;
	struct ds_qp *qp = tx->conn->ctrl.qp;
	int ret;

	ret = ds_failpoint(DS_FP_MSG_SEND);
	if (ret) {
		/* Lost on the way, as far as the sender can tell. */
		ds_tx_done(&tx->chain);
		return 0;
	}
	tx->wr.wr.opcode = IB_WR_SEND;
	tx->wr.wr.sg_list = &tx->sge;
	tx->wr.wr.num_sge = 1;
	tx->chain.wrs = &tx->wr;
	tx->chain.count = 1;
	tx->chain.done = ds_tx_done;
	if (until)
		ret = ds_chain_post_wait(qp, &tx->chain, until);
	else
		ret = ds_chain_post(qp, &tx->chain);
	if (ret)
		ds_tx_unmap(tx);
	else
		ds_stat_inc(stats, DS_STAT_MSGS_SENT);	/* @tx may be sent and freed */
	return ret;
}

/* Send and forget; @tx is not the caller's any more. Wait for room in the queue @until then. */
static int ds_tx_post(struct ds_tx *tx, u64 until)
{
	struct ds_conn *conn = tx->conn;
	int ret;

	if (!ds_msg_enter(conn->msg)) {
		ds_tx_free(tx);
		return -ENOTCONN;
	}
	ds_tx_give_back(tx);
	ret = ds_tx_map(tx);
	if (!ret) {
		trace_ds_msg(true, conn->hs.peer.node, tx->hdr.type,
			     le16_to_cpu(tx->hdr.service), tx->sge.length,
			     le64_to_cpu(tx->hdr.seq));
		ret = ds_tx_post_mapped(tx, until);
	}
	if (ret) {
		ds_tx_keep(tx, ret == -EAGAIN);
		ds_tx_free(tx);
	}
	ds_msg_leave(conn->msg);
	return ret;
}

int ds_msg_send(struct ds_conn *conn, u8 type, u16 service, u64 seq, u32 status,
		const void *data, u32 length, u64 until)
{
	struct ds_tx *tx = ds_tx_alloc(conn, type, service, seq, status, data, length);

	return tx ? ds_tx_post(tx, until) : -ENOMEM;
}

int ds_msg_send_raw(struct ds_conn *conn, u8 type, u32 status, const void *data, u32 length)
{
	return ds_msg_send(conn, type, 0, 0, status, data, length, 0);
}

/* When there must be room in the send queue: a host that takes nothing for so long is ill. */
static u64 ds_msg_room_until(u64 deadline)
{
	return min_t(u64, deadline, ktime_get_ns() + NSEC_PER_SEC);
}

/* Send a request whose turn it is, and wait. @sent: it may have come to the other host. */
static int ds_msg_exchange(struct ds_conn *conn, u16 service, const void *data, u32 length,
			   struct ds_wait *w, u64 deadline, bool *sent)
{
	struct ds_msg_state *m = conn->msg;
	s64 left;
	u64 seq;
	int ret;

	spin_lock_bh(&m->lock);
	seq = ++m->seq;
	spin_unlock_bh(&m->lock);
	ret = xa_err(xa_store_bh(&m->pending, seq, w, GFP_KERNEL));
	if (!ret)
		ret = ds_msg_send(conn, DS_MSG_REQUEST, service, seq, 0, data, length,
				  ds_msg_room_until(deadline));
	*sent = !ret;
	if (!ret) {
		left = max_t(s64, deadline - ktime_get_ns(), 0);
		ret = wait_for_completion_killable_timeout(&w->done, nsecs_to_jiffies(left) + 1);
		ret = ret < 0 ? -EINTR : ret ? -ENOTCONN : -ETIMEDOUT;
	}
	/* From here no response can touch @w. */
	xa_erase_bh(&m->pending, seq);
	return w->answered ? 0 : ret;
}

static int ds_msg_do_request(struct ds_conn *conn, enum ds_turn_kind kind, u16 service,
			     const void *data, u32 length, void *reply, u32 *reply_length,
			     int *status, u32 timeout_ms, u8 *outcome)
{
	u64 deadline = ktime_get_ns() + (u64)timeout_ms * NSEC_PER_MSEC;
	struct ds_wait w = { .reply = reply, .size = reply_length ? *reply_length : 0 };
	bool in_turn = service != DS_SERVICE_LINK;	/* a busy host is not a dead one */
	struct ds_msg_state *m = conn->msg;
	struct ds_turn turn;
	bool sent;
	int ret;

	init_completion(&w.done);
	ret = in_turn ? ds_turn_begin(m, &turn, kind, deadline) : 0;
	if (ret)
		return ret;
	ret = ds_msg_exchange(conn, service, data, length, &w, deadline, &sent);
	if (in_turn)
		ds_turn_end(m, &turn, !sent);
	if (ret) {
		*outcome = sent ? DS_UNKNOWN : DS_NOT_EXECUTED;
		return ret;
	}
	*outcome = w.status == -ECONNREFUSED || w.status == -EBUSY ?
		   DS_NOT_EXECUTED : DS_EXECUTED;
	*status = w.status;
	if (reply_length)
		*reply_length = w.length;
	ds_stat_inc(conn->stats, DS_STAT_MSG_ROUND_TRIPS);
	return w.length > w.size ? -EMSGSIZE : 0;
}

static int ds_msg_request_of(struct ds_conn *conn, enum ds_turn_kind kind, u16 service,
			     const void *data, u32 length, void *reply, u32 *reply_length,
			     int *status, u32 timeout_ms, u8 *outcome)
{
	u8 unwanted;
	int ret;

	if (!outcome)
		outcome = &unwanted;
	*outcome = DS_NOT_EXECUTED;
	if (!ds_msg_enter(conn->msg))
		return -ENOTCONN;
	ret = ds_msg_do_request(conn, kind, service, data, length, reply, reply_length, status,
				timeout_ms, outcome);
	ds_msg_leave(conn->msg);
	return ret;
}

int ds_msg_request(struct ds_conn *conn, u16 service, const void *data, u32 length,
		   void *reply, u32 *reply_length, int *status, u32 timeout_ms, u8 *outcome)
{
	return ds_msg_request_of(conn, DS_TURN_KERNEL, service, data, length, reply,
				 reply_length, status, timeout_ms, outcome);
}

int ds_msg_user_request(struct ds_conn *conn, u16 service, const void *data, u32 length,
			void *reply, u32 *reply_length, int *status, u32 timeout_ms, u8 *outcome)
{
	return ds_msg_request_of(conn, service == DS_SERVICE_FENCE ? DS_TURN_FENCE :
				 DS_TURN_REQUEST, service, data, length, reply, reply_length,
				 status, timeout_ms, outcome);
}

int ds_msg_user_one_way(struct ds_conn *conn, u16 service, const void *data, u32 length,
			u32 timeout_ms)
{
	u64 deadline = ktime_get_ns() + (u64)timeout_ms * NSEC_PER_MSEC;
	struct ds_turn turn;
	int ret;

	ret = ds_turn_begin(conn->msg, &turn, DS_TURN_ONE_WAY, deadline);
	if (ret)
		return ret;
	ret = ds_msg_send(conn, DS_MSG_ONE_WAY, service, 0, 0, data, length,
			  ds_msg_room_until(deadline));
	ds_turn_end(conn->msg, &turn, ret);
	return ret;
}

int ds_msg_respond(struct ds_conn *conn, u16 service, u64 seq, int status,
		   const void *data, u32 length)
{
	return ds_msg_send(conn, DS_MSG_RESPONSE, service, seq, (u32)status, data, length,
			   ds_msg_room_until(U64_MAX));
}

int ds_msg_alloc(struct ds_conn *conn)
{
	struct ds_msg_state *m;

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
	INIT_LIST_HEAD(&m->senders);
	xa_init_flags(&m->pending, XA_FLAGS_LOCK_BH);
	m->credits = DS_MSG_CREDITS;
	m->heard = ktime_get_ns();
	ds_inbox_init(conn, m);
	conn->msg = m;
	return 0;
}

void ds_msg_abort(struct ds_conn *conn)
{
	struct ds_msg_state *m = conn->msg;
	struct ds_wait *w;
	unsigned long seq;

	ds_turns_abort(m);
	xa_lock_bh(&m->pending);
	xa_for_each(&m->pending, seq, w)
		complete(&w->done);
	xa_unlock_bh(&m->pending);
	if (!refcount_dec_and_test(&m->users))
		wait_for_completion(&m->unused);
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
