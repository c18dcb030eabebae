// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: packets of wire version 2 on peer connections.
 *
 * A request message holds packets for one space, each at a multiple of eight bytes; the
 * response holds the answers in the same manner, in their order, as far as they fit. A peer
 * may reach spaces whose segment is in its own trust domain.
 *
 * The inbox must not wait for storage: all that the peer says waits behind it. So messages for
 * a space that has storage wait in a queue of the space's own, and a work of its own serves them.
 */
#include <linux/align.h>
#include <linux/err.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "conn.h"
#include "domain.h"
#include "msg.h"
#include "msg_queue.h"
#include "params.h"
#include "stats.h"
#include "trace.h"
#include "packet2.h"
#include "packet_msg.h"
#include "rdm_space.h"
#include "segment.h"
#include "serve.h"

/* Numbers of peers: those of callers by UDP are IPv4 addresses. */
#define DS_PACKET_NODE	BIT_ULL(32)

#define DS_PACKET_QUEUE	64	/* messages that wait for a space */

/**
 * struct ds_packet_queue - messages that wait for a space
 * @space: whose it is
 * @lock: protects @queue and @closed
 * @queue: the messages
 * @closed: the space is being deleted: nothing is queued any more
 * @work: serves them
 * @reply: the work's
 */
struct ds_packet_queue {
	struct ds_rdm_space	*space;
	struct mutex		lock;		/* see above */
	struct ds_msg_queue	queue;
	bool			closed;
	struct work_struct	work;
	u8			reply[DS_MSG_MAX_PAYLOAD];
};

/* ---- packets ---- */

static void ds_packet_msg_emit(struct ds_packet_out *out, u32 length)
{
	u32 padded = min_t(u32, ALIGN(length, 8), out->room);

	memset(out->packet + length, 0, padded - length);
	out->packet += padded;
	out->room -= padded;
	ds_stat_inc(NULL, DS_STAT_PACKETS_SENT);
}

/* @space: NULL: there is none that the peer may reach. */
static void ds_packet_msg_serve(struct ds_rdm_space *space, struct ds_conn *conn,
				const struct ds_packet *p, const void *packet, u32 size,
				struct ds_packet_out *out)
{
	bool locked = space && ds_rdm_space_lock(space);
	struct ds_packet_space *core = locked ? &space->core : NULL;

	trace_ds_packet(2, DS_PACKET_NODE | conn->hs.peer.node, p);
	if (core && !ds_packet2_authentic(packet, size, ds_packet_space_key(core)))
		ds_stat_inc(NULL, DS_STAT_PACKETS_FORGED);
	else
		ds_packet_serve2(core, DS_PACKET_NODE | conn->hs.peer.node, p, out);
	if (locked)
		ds_rdm_space_unlock(space);
}

/* A message for the space with number @id; it has room for that. */
static int ds_packet_msg_run(struct ds_rdm_space *space, u32 id, struct ds_conn *conn,
			     const void *data, u32 length, void *reply, u32 *reply_length)
{
	struct ds_packet_out out = {
		.packet	= reply,
		.room	= DS_MSG_MAX_PAYLOAD,
		.emit	= ds_packet_msg_emit,
	};
	const u8 *packet = data;
	u32 left = length, step;
	struct ds_packet p;
	int size;

	/* When the connection is closed, its teardown may wait for us. */
	for (; left && READ_ONCE(conn->state) != DS_CONN_CLOSING; packet += step, left -= step) {
		ds_stat_inc(NULL, DS_STAT_PACKETS_RECEIVED);
		size = ds_packet2_parse(packet, left, false, &p);
		if (size < 0 || p.space != id) {
			ds_stat_inc(NULL, DS_STAT_PACKETS_MALFORMED);
			if (packet == data)
				return -EBADMSG;
			break;		/* those before it were run, and are answered */
		}
		ds_packet_msg_serve(space, conn, &p, packet, size, &out);
		step = min_t(u32, ALIGN(size, 8), left);
	}
	*reply_length = DS_MSG_MAX_PAYLOAD - out.room;
	return 0;
}

/* ---- messages that wait ---- */

/* The next one is to be served; NULL: none waits. */
static struct ds_queued *ds_packet_queue_take(struct ds_packet_queue *q)
{
	struct ds_queued *m;

	mutex_lock(&q->lock);
	m = ds_msg_queue_first(&q->queue);
	if (m)
		ds_msg_queue_take(&q->queue, m);
	mutex_unlock(&q->lock);
	return m;
}

static void ds_packet_queue_work(struct work_struct *work)
{
	struct ds_packet_queue *q = container_of(work, struct ds_packet_queue, work);
	struct ds_queued *m;
	u32 length;
	int status;

	while ((m = ds_packet_queue_take(q))) {
		length = 0;
		status = ds_packet_msg_run(q->space, q->space->id, m->from.conn, m->data,
					   m->length, q->reply, &length);
		ds_msg_finish(&m->from, DS_SERVICE_PACKET, status, q->reply, length);
		mutex_lock(&q->lock);
		ds_msg_queue_free(&q->queue, m);
		mutex_unlock(&q->lock);
		cond_resched();
	}
}

static int ds_packet_queue_add(struct ds_packet_queue *q, const struct ds_msg *msg)
{
	struct ds_msg_from gone = {};
	int err = -EBUSY;

	mutex_lock(&q->lock);
	if (!q->closed)
		err = ds_msg_queue_add(&q->queue, msg, &gone);
	if (!err)
		queue_work(ds_packet_wq, &q->work);
	mutex_unlock(&q->lock);
	if (gone.conn) {
		ds_stat_inc(gone.conn->stats, DS_STAT_MSGS_REFUSED);
		ds_msg_finish(&gone, DS_SERVICE_PACKET, -EBUSY, NULL, 0);
	}
	return err ?: msg->want_reply ? DS_MSG_REPLY_LATER : 0;
}

struct ds_packet_queue *ds_packet_queue_create(struct ds_rdm_space *space)
{
	struct ds_packet_queue *q = kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);

	if (!q)
		return ERR_PTR(-ENOMEM);
	if (ds_msg_queue_init(&q->queue, DS_PACKET_QUEUE)) {
		kfree(q);
		return ERR_PTR(-ENOMEM);
	}
	q->space = space;
	mutex_init(&q->lock);
	INIT_WORK(&q->work, ds_packet_queue_work);
	return q;
}

void ds_packet_queue_close(struct ds_packet_queue *q)
{
	if (!q)
		return;
	mutex_lock(&q->lock);
	q->closed = true;
	mutex_unlock(&q->lock);
	flush_work(&q->work);
}

void ds_packet_queue_free(struct ds_packet_queue *q)
{
	if (!q)
		return;
	mutex_destroy(&q->lock);
	ds_msg_queue_destroy(&q->queue);
	kfree(q);
}

/* ---- the service ---- */

/* The space with a reference, or NULL: there is none that the peer may reach. */
static struct ds_rdm_space *ds_packet_msg_space(const struct ds_conn *conn, u32 id)
{
	struct ds_rdm_space *space = ds_rdm_space_find(id);

	if (!space || space->dom == conn->domain)
		return space;
	ds_rdm_space_put(space);
	return NULL;
}

/* Context: see ds_msg_handler. */
static int ds_packet_msg_handle(void *ctx, const struct ds_msg *msg, void *reply,
				u32 *reply_length)
{
	const struct ds_packet2_header *first = msg->data;
	struct ds_rdm_space *space = NULL;
	u32 id = 0;
	int ret;

	if (msg->length >= sizeof(*first)) {
		id = le32_to_cpu(first->space);
		space = ds_packet_msg_space(msg->conn, id);
	}
	if (space && space->queue)
		ret = ds_packet_queue_add(space->queue, msg);
	else
		ret = ds_packet_msg_run(space, id, msg->conn, msg->data, msg->length, reply,
					reply_length);
	if (space)
		ds_rdm_space_put(space);
	return ret;
}

int ds_packet_msg_init(void)
{
	return ds_msg_bind(DS_SERVICE_PACKET, ds_packet_msg_handle, NULL);
}

void ds_packet_msg_exit(void)
{
	ds_msg_unbind(DS_SERVICE_PACKET);
}
