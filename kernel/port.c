// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: service ports of user programs.
 *
 * Hosts whose messages wait at a port take turns. When it is full, the host that has most
 * there gives its last message up for another host's: nobody who floods a port keeps
 * others from it.
 */
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include "conn.h"
#include "msg.h"
#include "port.h"
#include "stats.h"

#define DS_PORT_DEFAULT_MS	30000

static_assert(DS_PORT_MAX_BYTES == DS_MSG_MAX_PAYLOAD);

/**
 * struct ds_port_msg - a message that came
 * @link: in ds_port.unused or ds_port.turns, or in @more of its host's first message
 * @more: of a host's first message: those behind it
 * @count: likewise: how many of the host wait
 * @conn: where it came from; a reference is held
 * @seq: of the request
 * @want_reply: it is a request
 * @length: bytes of @data
 * @data: payload
 */
struct ds_port_msg {
	struct list_head	link;
	struct list_head	more;
	u32			count;
	struct ds_conn		*conn;
	u64			seq;
	bool			want_reply;
	u32			length;
	u8			data[DS_PORT_MAX_BYTES];
};

/* A request that was received, to be answered by its cookie. A reference to @conn is held. */
struct ds_port_request {
	struct ds_conn		*conn;
	u64			seq;
	u64			cookie;
};

/**
 * struct ds_port - a service that a user program has bound
 * @ref: one for the handle, one for each ioctl at work
 * @service: its number
 * @msgs: room for all that may wait, charged to who has bound: others decide how much comes,
 *	and the inbox that brings it must not wait for his memory
 * @wait: those who wait for a message
 * @lock: protects all below; nothing of the caller's is touched under it
 * @unused: of @msgs; those in no list are being received
 * @turns: of each host whose messages are not yet received the first one; whose turn it is
 *	comes first
 * @pending: requests received and not answered, by the low half of their cookie
 * @closed: nothing may be queued or made pending any more
 */
struct ds_port {
	struct kref		ref;
	u16			service;
	struct ds_port_msg	*msgs;
	wait_queue_head_t	wait;
	struct mutex		lock;		/* see above */
	struct list_head	unused;
	struct list_head	turns;
	struct xarray		pending;
	bool			closed;
};

/* ---- Messages ---- */

/*
 * End a message that no program will answer. A host that sends requests and takes no
 * answers would have us wait for each: the first such wait is the last.
 */
static void ds_port_refuse(struct ds_port *port, struct ds_conn *conn, u64 seq, int status)
{
	if (ds_msg_respond(conn, port->service, seq, status, NULL, 0) == -ETIMEDOUT)
		ds_conn_close(conn, "the other host takes no answers");
}

/* A request that was received, and that nobody will answer. */
static void ds_port_reset(struct ds_port *port, struct ds_port_request *request)
{
	ds_port_refuse(port, request->conn, request->seq, -ECONNRESET);
	ds_conn_put(request->conn);
	kfree(request);
}

/* End a message that was not received. Its connection's reference goes with it. */
static void ds_port_return(struct ds_port *port, struct ds_conn *conn, u64 seq, bool want_reply,
			   int status)
{
	if (want_reply)
		ds_port_refuse(port, conn, seq, status);
	ds_conn_put(conn);
}

/* ---- Turns ---- */

/* The first message of the host behind @conn, or NULL. */
static struct ds_port_msg *ds_port_first(struct ds_port *port, const struct ds_conn *conn)
{
	struct ds_port_msg *m;

	list_for_each_entry(m, &port->turns, link) {
		if (m->conn->hs.peer.node == conn->hs.peer.node)
			return m;
	}
	return NULL;
}

/* Behind the other messages of its host, of which @first is the first, if there are any. */
static void ds_port_append(struct ds_port *port, struct ds_port_msg *first, struct ds_port_msg *m)
{
	if (first) {
		list_add_tail(&m->link, &first->more);
		first->count++;
	} else {
		INIT_LIST_HEAD(&m->more);
		m->count = 1;
		list_add_tail(&m->link, &port->turns);
	}
}

/* Before them, and it is its host's turn. */
static void ds_port_prepend(struct ds_port *port, struct ds_port_msg *first, struct ds_port_msg *m)
{
	INIT_LIST_HEAD(&m->more);
	m->count = 1;
	if (first) {
		list_splice(&first->more, &m->more);
		list_move(&first->link, &m->more);
		m->count += first->count;
	}
	list_add(&m->link, &port->turns);
}

/* Take a first message out. Its host has its next turn when all others had theirs. */
static void ds_port_remove(struct ds_port *port, struct ds_port_msg *m)
{
	struct ds_port_msg *next = list_first_entry_or_null(&m->more, struct ds_port_msg, link);

	list_del(&m->link);
	if (!next)
		return;
	list_move_tail(&next->link, &port->turns);
	INIT_LIST_HEAD(&next->more);
	list_splice(&m->more, &next->more);
	next->count = m->count - 1;
}

/*
 * Take out the last message of the host that has most, for one of a host that has @count.
 * NULL if it would have fewer then: it would do the same to the other.
 */
static struct ds_port_msg *ds_port_displace(struct ds_port *port, u32 count)
{
	struct ds_port_msg *most = NULL, *m;

	list_for_each_entry(m, &port->turns, link) {
		if (!most || m->count > most->count)
			most = m;
	}
	if (!most || most->count <= count + 1)
		return NULL;
	most->count--;
	m = list_last_entry(&most->more, struct ds_port_msg, link);
	list_del(&m->link);
	return m;
}

/* The handler of ds_msg_bind(). */
static int ds_port_arrived(void *ctx, const struct ds_msg *msg, void *reply, u32 *reply_length)
{
	struct ds_port_msg *first, *m;
	struct ds_conn *conn = NULL;
	struct ds_port *port = ctx;
	bool want_reply;
	u64 seq;

	*reply_length = 0;
	mutex_lock(&port->lock);
	first = ds_port_first(port, msg->conn);
	m = list_first_entry_or_null(&port->unused, struct ds_port_msg, link);
	if (m) {
		list_del(&m->link);
	} else {
		m = ds_port_displace(port, first ? first->count : 0);
		if (!m) {
			mutex_unlock(&port->lock);
			return -EBUSY;
		}
		conn = m->conn;
		seq = m->seq;
		want_reply = m->want_reply;
	}
	ds_conn_get(msg->conn);
	m->conn = msg->conn;
	m->seq = msg->seq;
	m->want_reply = msg->want_reply;
	m->length = msg->length;
	memcpy(m->data, msg->data, msg->length);
	ds_port_append(port, first, m);
	mutex_unlock(&port->lock);
	wake_up(&port->wait);
	if (conn) {
		ds_stat_inc(conn->stats, DS_STAT_MSGS_REFUSED);
		ds_port_return(port, conn, seq, want_reply, -EBUSY);
	}
	return msg->want_reply ? DS_MSG_REPLY_LATER : 0;
}

/* ---- Ports ---- */

static void ds_port_release(struct kref *ref)
{
	struct ds_port *port = container_of(ref, struct ds_port, ref);

	mutex_destroy(&port->lock);
	xa_destroy(&port->pending);
	kvfree(port->msgs);
	kfree(port);
}

void ds_port_get(struct ds_port *port)
{
	kref_get(&port->ref);
}

void ds_port_put(struct ds_port *port)
{
	kref_put(&port->ref, ds_port_release);
}

static struct ds_port *ds_port_new(u16 service, u32 queue)
{
	struct ds_port *port;
	u32 i;

	port = kzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);
	if (!port)
		return NULL;
	/* Not a reason to kill processes, as with buffers. */
	port->msgs = kvcalloc(queue, sizeof(*port->msgs),
			      GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (!port->msgs) {
		kfree(port);
		return NULL;
	}
	kref_init(&port->ref);
	port->service = service;
	init_waitqueue_head(&port->wait);
	mutex_init(&port->lock);
	INIT_LIST_HEAD(&port->unused);
	INIT_LIST_HEAD(&port->turns);
	for (i = 0; i < queue; i++)
		list_add_tail(&port->msgs[i].link, &port->unused);
	xa_init_flags(&port->pending, XA_FLAGS_ALLOC1);
	return port;
}

struct ds_port *ds_port_bind(u32 service, u32 queue)
{
	struct ds_port *port;
	int err;

	if (service < DS_SERVICE_USER_FIRST || service > DS_SERVICE_USER_LAST ||
	    !queue || queue > DS_PORT_MAX_QUEUE)
		return ERR_PTR(-EINVAL);
	port = ds_port_new(service, queue);
	if (!port)
		return ERR_PTR(-ENOMEM);
	err = ds_msg_bind(service, ds_port_arrived, port);
	if (err) {
		ds_port_put(port);
		return ERR_PTR(err);
	}
	return port;
}

void ds_port_close(struct ds_port *port)
{
	struct ds_port_request *request;
	struct ds_port_msg *m;
	unsigned long id;

	ds_msg_unbind(port->service);

	mutex_lock(&port->lock);
	port->closed = true;
	mutex_unlock(&port->lock);
	wake_up_all(&port->wait);

	/* Nothing is added any more, nor taken out by others. */
	while ((m = list_first_entry_or_null(&port->turns, struct ds_port_msg, link))) {
		ds_port_remove(port, m);
		ds_port_return(port, m->conn, m->seq, m->want_reply, -ECONNREFUSED);
	}
	xa_for_each(&port->pending, id, request) {
		xa_erase(&port->pending, id);
		ds_port_reset(port, request);
	}
	ds_port_put(port);
}

/* ---- Receive ---- */

static bool ds_port_ready(struct ds_port *port)
{
	return !list_empty(&port->turns) || READ_ONCE(port->closed);
}

/* The first message, if it has at most *@length bytes, which is set to its length. */
static struct ds_port_msg *ds_port_take(struct ds_port *port, u32 *length)
{
	u32 room = *length;
	struct ds_port_msg *m;

	mutex_lock(&port->lock);
	m = list_first_entry_or_null(&port->turns, struct ds_port_msg, link);
	if (port->closed) {
		m = ERR_PTR(-ESTALE);
	} else if (!m) {
		m = ERR_PTR(-EAGAIN);
	} else {
		*length = m->length;
		if (m->length > room)
			m = ERR_PTR(-EMSGSIZE);
		else
			ds_port_remove(port, m);
	}
	mutex_unlock(&port->lock);
	return m;
}

/* A message was received, and there is room for another. */
static void ds_port_free(struct ds_port *port, struct ds_port_msg *m)
{
	mutex_lock(&port->lock);
	list_add(&m->link, &port->unused);
	mutex_unlock(&port->lock);
}

/* Put back what its receiver could not take, as first. */
static void ds_port_untake(struct ds_port *port, struct ds_port_msg *m)
{
	bool closed;

	mutex_lock(&port->lock);
	closed = port->closed;
	if (!closed)
		ds_port_prepend(port, ds_port_first(port, m->conn), m);
	mutex_unlock(&port->lock);
	if (closed)
		ds_port_return(port, m->conn, m->seq, m->want_reply, -ECONNREFUSED);
	else
		wake_up(&port->wait);
}

/* Let a request wait for its answer; its connection's reference goes with it. */
static int ds_port_expect(struct ds_port *port, const struct ds_port_msg *m, u64 *cookie)
{
	struct ds_port_request *request;
	u32 id;
	int err;

	request = kmalloc(sizeof(*request), GFP_KERNEL_ACCOUNT);
	if (!request)
		return -ENOMEM;
	request->conn = m->conn;
	request->seq = m->seq;
	mutex_lock(&port->lock);
	if (port->closed)
		err = -ESTALE;
	else
		err = xa_alloc(&port->pending, &id, request, XA_LIMIT(1, DS_PORT_MAX_PENDING),
			       GFP_KERNEL_ACCOUNT);
	if (!err) {
		request->cookie = (u64)get_random_u32() << 32 | id;
		*cookie = request->cookie;
	}
	mutex_unlock(&port->lock);
	if (err)
		kfree(request);
	return err == -EBUSY ? -EDQUOT : err;
}

/*
 * The pending request with this cookie, or NULL. It is not pending any more. Those of
 * a closed port are ds_port_close()'s.
 */
static struct ds_port_request *ds_port_unexpect(struct ds_port *port, u64 cookie)
{
	struct ds_port_request *request;

	mutex_lock(&port->lock);
	request = xa_load(&port->pending, (u32)cookie);
	if (request && request->cookie == cookie && !port->closed)
		xa_erase(&port->pending, (u32)cookie);
	else
		request = NULL;
	mutex_unlock(&port->lock);
	return request;
}

/* Wait for a message for at most *@left jiffies, which is set to what remains. */
static int ds_port_wait(struct ds_port *port, long *left)
{
	if (!*left)
		return ds_port_ready(port) ? 0 : -EAGAIN;
	*left = wait_event_killable_timeout(port->wait, ds_port_ready(port), *left);
	if (*left < 0)
		return -EINTR;
	return *left ? 0 : -ETIMEDOUT;
}

int ds_port_recv(struct ds_port *port, struct ds_ioc_msg_recv *arg)
{
	long left = msecs_to_jiffies(arg->timeout_ms);
	u32 length = arg->data_size;
	struct ds_port_msg *m;
	int err;

	/* Another receiver may be faster, then the wait goes on. */
	do {
		err = ds_port_wait(port, &left);
		if (err)
			return err;
		m = ds_port_take(port, &length);
	} while (m == ERR_PTR(-EAGAIN) && left);
	if (IS_ERR(m)) {
		if (m == ERR_PTR(-EMSGSIZE))
			arg->out_length = length;
		return PTR_ERR(m);
	}

	arg->out_length = length;
	arg->out_node = m->conn->hs.peer.node;
	arg->out_want_reply = m->want_reply;
	if (copy_to_user(u64_to_user_ptr(arg->data), m->data, length))
		err = -EFAULT;
	else if (m->want_reply)
		err = ds_port_expect(port, m, &arg->out_cookie);
	if (err) {
		ds_port_untake(port, m);
		return err;
	}
	if (!arg->out_want_reply)
		ds_conn_put(m->conn);
	ds_port_free(port, m);
	return 0;
}

/* ---- Reply and send ---- */

/*
 * Statuses by which a kernel says that no program has answered; a program may
 * not use them.
 */
static bool ds_port_is_refusal(int status)
{
	return status == -ECONNREFUSED || status == -EBUSY || status == -ECONNRESET;
}

static void *ds_port_copy_in(u64 data, u32 length)
{
	if (length > DS_PORT_MAX_BYTES)
		return ERR_PTR(-E2BIG);
	return memdup_user(u64_to_user_ptr(data), length);
}

int ds_port_reply(struct ds_port *port, const struct ds_ioc_msg_reply *arg)
{
	struct ds_port_request *request;
	void *data;
	int err;

	if (ds_port_is_refusal(arg->status))
		return -EINVAL;
	data = ds_port_copy_in(arg->data, arg->length);
	if (IS_ERR(data))
		return PTR_ERR(data);

	request = ds_port_unexpect(port, arg->cookie);
	if (!request) {
		err = -ENOENT;
		goto free;
	}
	err = ds_msg_respond(request->conn, port->service, request->seq, arg->status, data,
			     arg->length);
	ds_conn_put(request->conn);
	kfree(request);
free:
	kfree(data);
	return err;
}

void ds_port_drop(struct ds_port *port, u64 cookie)
{
	struct ds_port_request *request = ds_port_unexpect(port, cookie);

	if (request)
		ds_port_reset(port, request);
}

static int ds_port_request(struct ds_conn *conn, const void *data, struct ds_ioc_msg_send *arg)
{
	u32 length = min_t(u32, arg->reply_size, DS_PORT_MAX_BYTES);
	int status = 0, err;
	u8 outcome = DS_NOT_EXECUTED;
	void *reply;

	reply = kmalloc(length, GFP_KERNEL_ACCOUNT);
	if (!reply)
		return -ENOMEM;

	err = ds_msg_user_request(conn, arg->service, data, arg->length, reply, &length,
				  &status, arg->timeout_ms ?: DS_PORT_DEFAULT_MS, &outcome);
	arg->out_outcome = outcome;
	if (err && err != -EMSGSIZE)
		goto free;

	if (ds_port_is_refusal(status)) {
		arg->out_outcome = status == -ECONNRESET ? DS_UNKNOWN : DS_NOT_EXECUTED;
		err = status;
		goto free;
	}
	arg->out_status = status;
	arg->out_reply_length = length;
	if (!err && copy_to_user(u64_to_user_ptr(arg->reply), reply, length))
		err = -EFAULT;
free:
	kfree(reply);
	return err;
}

/* Most services below the programs' are for kernels only. */
static bool ds_port_may_send(u32 service)
{
	return service == DS_SERVICE_PACKET ||
	       (service >= DS_SERVICE_USER_FIRST && service <= DS_SERVICE_USER_LAST);
}

int ds_port_send(struct ds_ioc_msg_send *arg)
{
	bool one_way = arg->flags & DS_SEND_ONE_WAY;
	struct ds_conn *conn;
	void *data;
	int err;

	if (!ds_port_may_send(arg->service) ||
	    (one_way && (arg->reply || arg->reply_size)))
		return -EINVAL;
	data = ds_port_copy_in(arg->data, arg->length);
	if (IS_ERR(data))
		return PTR_ERR(data);

	conn = ds_conn_find(arg->node);
	if (!conn) {
		err = -ENOTCONN;
		goto free;
	}
	if (one_way) {
		err = ds_msg_user_one_way(conn, arg->service, data, arg->length,
					  arg->timeout_ms ?: DS_PORT_DEFAULT_MS);
		/* Nobody tells whether a message that was sent has come. */
		arg->out_outcome = err ? DS_NOT_EXECUTED : DS_UNKNOWN;
	} else {
		err = ds_port_request(conn, data, arg);
	}
	ds_conn_put(conn);
free:
	kfree(data);
	return err;
}
