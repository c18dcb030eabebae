// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: a bounded queue of messages that wait for who is slow to take them.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "conn.h"
#include "msg.h"
#include "msg_queue.h"

int ds_msg_queue_init(struct ds_msg_queue *q, u32 room)
{
	u32 i;

	/* Not a reason to kill processes, as with buffers. */
	q->msgs = kvcalloc(room, sizeof(*q->msgs),
			   GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (!q->msgs)
		return -ENOMEM;
	INIT_LIST_HEAD(&q->unused);
	INIT_LIST_HEAD(&q->turns);
	for (i = 0; i < room; i++)
		list_add_tail(&q->msgs[i].link, &q->unused);
	return 0;
}

void ds_msg_queue_destroy(struct ds_msg_queue *q)
{
	kvfree(q->msgs);
}

/* The first message of the host behind @conn, or NULL. */
static struct ds_queued *ds_queued_first(const struct ds_msg_queue *q, const struct ds_conn *conn)
{
	struct ds_queued *m;

	list_for_each_entry(m, &q->turns, link) {
		if (m->from.conn->hs.peer.node == conn->hs.peer.node)
			return m;
	}
	return NULL;
}

/* Behind the other messages of its host, of which @first is the first, if there are any. */
static void ds_queued_append(struct ds_msg_queue *q, struct ds_queued *first, struct ds_queued *m)
{
	if (first) {
		list_add_tail(&m->link, &first->more);
		first->count++;
	} else {
		INIT_LIST_HEAD(&m->more);
		m->count = 1;
		list_add_tail(&m->link, &q->turns);
	}
}

/*
 * Take out the last message of the host that has most, for one of a host that has @count.
 * NULL if it would have fewer then: it would do the same to the other.
 */
static struct ds_queued *ds_queued_displace(struct ds_msg_queue *q, u32 count)
{
	struct ds_queued *most = NULL, *m;

	list_for_each_entry(m, &q->turns, link) {
		if (!most || m->count > most->count)
			most = m;
	}
	if (!most || most->count <= count + 1)
		return NULL;
	most->count--;
	m = list_last_entry(&most->more, struct ds_queued, link);
	list_del(&m->link);
	return m;
}

int ds_msg_queue_add(struct ds_msg_queue *q, const struct ds_msg *msg, struct ds_msg_from *gone)
{
	struct ds_queued *first = ds_queued_first(q, msg->conn), *m;

	gone->conn = NULL;
	m = list_first_entry_or_null(&q->unused, struct ds_queued, link);
	if (m) {
		list_del(&m->link);
	} else {
		m = ds_queued_displace(q, first ? first->count : 0);
		if (!m)
			return -EBUSY;
		*gone = m->from;
	}
	ds_conn_get(msg->conn);
	m->from.conn = msg->conn;
	m->from.seq = msg->seq;
	m->from.want_reply = msg->want_reply;
	m->length = msg->length;
	memcpy(m->data, msg->data, msg->length);
	ds_queued_append(q, first, m);
	return 0;
}

struct ds_queued *ds_msg_queue_first(struct ds_msg_queue *q)
{
	return list_first_entry_or_null(&q->turns, struct ds_queued, link);
}

void ds_msg_queue_take(struct ds_msg_queue *q, struct ds_queued *m)
{
	struct ds_queued *next = list_first_entry_or_null(&m->more, struct ds_queued, link);

	list_del(&m->link);
	if (!next)
		return;
	list_move_tail(&next->link, &q->turns);
	INIT_LIST_HEAD(&next->more);
	list_splice(&m->more, &next->more);
	next->count = m->count - 1;
}

void ds_msg_queue_untake(struct ds_msg_queue *q, struct ds_queued *m)
{
	struct ds_queued *first = ds_queued_first(q, m->from.conn);

	INIT_LIST_HEAD(&m->more);
	m->count = 1;
	if (first) {
		list_splice(&first->more, &m->more);
		list_move(&first->link, &m->more);
		m->count += first->count;
	}
	list_add(&m->link, &q->turns);
}

void ds_msg_queue_free(struct ds_msg_queue *q, struct ds_queued *m)
{
	list_add(&m->link, &q->unused);
}

/*
 * A host that sends requests and takes no answers would have us wait for each: the first
 * such wait is the last.
 */
void ds_msg_finish(const struct ds_msg_from *from, u16 service, int status, const void *data,
		   u32 length)
{
	if (from->want_reply &&
	    ds_msg_respond(from->conn, service, from->seq, status, data, length) == -ETIMEDOUT)
		ds_conn_close(from->conn, "the other host takes no answers");
	ds_conn_put(from->conn);
}
