// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: service ports of user programs.
 */
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include "conn.h"
#include "msg.h"
#include "port.h"

#define DS_PORT_DEFAULT_MS	30000

static_assert(DS_PORT_MAX_BYTES == DS_MSG_MAX_PAYLOAD);

/**
 * struct ds_port_msg - a message that came, later a request to be answered
 * @link: in ds_port.queue
 * @conn: where it came from; a reference is held
 * @seq: of the request
 * @want_reply: it is a request
 * @cookie: by which it is answered, once it is received
 * @length: bytes of @data
 * @data: payload
 */
struct ds_port_msg {
	struct list_head	link;
	struct ds_conn		*conn;
	u64			seq;
	bool			want_reply;
	u64			cookie;
	u32			length;
	u8			data[];
};

/**
 * struct ds_port - a service that a user program has bound
 * @ref: one for the handle, one for each ioctl at work
 * @service: its number
 * @memcg: of who has bound it, charged with what waits here; NULL without such groups
 * @wait: those who wait for a message
 * @lock: protects all below; nothing of the caller's is touched under it
 * @limit: longest @queue
 * @queued: length of @queue
 * @queue: messages not yet received
 * @pending: requests received and not answered, by the low half of their cookie
 * @closed: nothing may be queued or made pending any more
 */
struct ds_port {
	struct kref		ref;
	u16			service;
	struct mem_cgroup	*memcg;
	wait_queue_head_t	wait;
	struct mutex		lock;		/* see above */
	u32			limit;
	u32			queued;
	struct list_head	queue;
	struct xarray		pending;
	bool			closed;
};

/* ---- Messages ---- */

/*
 * Others decide how much comes: whose program does not take it pays for it. That is no
 * reason to kill it; the sender hears that there is no room.
 */
static struct ds_port_msg *ds_port_msg_new(const struct ds_port *port, const struct ds_msg *msg)
{
	struct mem_cgroup *before = set_active_memcg(port->memcg);
	struct ds_port_msg *m;

	m = kmalloc(struct_size(m, data, msg->length),
		    GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN);
	set_active_memcg(before);
	if (!m)
		return NULL;
	ds_conn_get(msg->conn);
	m->conn = msg->conn;
	m->seq = msg->seq;
	m->want_reply = msg->want_reply;
	m->cookie = 0;
	m->length = msg->length;
	memcpy(m->data, msg->data, msg->length);
	return m;
}

static void ds_port_msg_free(struct ds_port_msg *m)
{
	ds_conn_put(m->conn);
	kfree(m);
}

/*
 * End a message that no program will answer. A host that sends requests and takes no
 * answers would have us wait for each: the first such wait is the last.
 */
static void ds_port_refuse(struct ds_port *port, struct ds_port_msg *m, int status)
{
	if (m->want_reply &&
	    ds_msg_respond(m->conn, port->service, m->seq, status, NULL, 0) == -ETIMEDOUT)
		ds_conn_close(m->conn, "the other host takes no answers");
	ds_port_msg_free(m);
}

/* The handler of ds_msg_bind(). */
static int ds_port_arrived(void *ctx, const struct ds_msg *msg, void *reply, u32 *reply_length)
{
	struct ds_port *port = ctx;
	struct ds_port_msg *m = ds_port_msg_new(port, msg);

	*reply_length = 0;
	if (!m)
		return -EBUSY;

	mutex_lock(&port->lock);
	if (port->queued >= port->limit) {
		mutex_unlock(&port->lock);
		ds_port_msg_free(m);
		return -EBUSY;
	}
	list_add_tail(&m->link, &port->queue);
	port->queued++;
	mutex_unlock(&port->lock);
	wake_up(&port->wait);
	return msg->want_reply ? DS_MSG_REPLY_LATER : 0;
}

/* ---- Ports ---- */

static void ds_port_release(struct kref *ref)
{
	struct ds_port *port = container_of(ref, struct ds_port, ref);

	mutex_destroy(&port->lock);
	xa_destroy(&port->pending);
	mem_cgroup_put(port->memcg);
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

struct ds_port *ds_port_bind(u32 service, u32 queue)
{
	struct ds_port *port;
	int err;

	if (service < DS_SERVICE_USER_FIRST || service > DS_SERVICE_USER_LAST ||
	    !queue || queue > DS_PORT_MAX_QUEUE)
		return ERR_PTR(-EINVAL);

	port = kzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);
	if (!port)
		return ERR_PTR(-ENOMEM);
	kref_init(&port->ref);
	port->service = service;
	port->memcg = get_mem_cgroup_from_mm(current->mm);
	init_waitqueue_head(&port->wait);
	mutex_init(&port->lock);
	port->limit = queue;
	INIT_LIST_HEAD(&port->queue);
	xa_init_flags(&port->pending, XA_FLAGS_ALLOC1);

	err = ds_msg_bind(service, ds_port_arrived, port);
	if (err) {
		ds_port_put(port);
		return ERR_PTR(err);
	}
	return port;
}

void ds_port_close(struct ds_port *port)
{
	struct ds_port_msg *m, *next;
	unsigned long id;

	ds_msg_unbind(port->service);

	mutex_lock(&port->lock);
	port->closed = true;
	mutex_unlock(&port->lock);
	wake_up_all(&port->wait);

	/* Nothing is added any more, nor taken out by others. */
	list_for_each_entry_safe(m, next, &port->queue, link)
		ds_port_refuse(port, m, -ECONNREFUSED);
	xa_for_each(&port->pending, id, m) {
		xa_erase(&port->pending, id);
		ds_port_refuse(port, m, -ECONNRESET);
	}
	ds_port_put(port);
}

/* ---- Receive ---- */

static bool ds_port_ready(struct ds_port *port)
{
	return !list_empty(&port->queue) || READ_ONCE(port->closed);
}

/* The first message, if it has at most *@length bytes, which is set to its length. */
static struct ds_port_msg *ds_port_take(struct ds_port *port, u32 *length)
{
	u32 room = *length;
	struct ds_port_msg *m;

	mutex_lock(&port->lock);
	m = list_first_entry_or_null(&port->queue, struct ds_port_msg, link);
	if (port->closed) {
		m = ERR_PTR(-ESTALE);
	} else if (!m) {
		m = ERR_PTR(-EAGAIN);
	} else {
		*length = m->length;
		if (m->length > room) {
			m = ERR_PTR(-EMSGSIZE);
		} else {
			list_del(&m->link);
			port->queued--;
		}
	}
	mutex_unlock(&port->lock);
	return m;
}

/* Put back what its receiver could not take, as first, even if the queue is full. */
static void ds_port_untake(struct ds_port *port, struct ds_port_msg *m)
{
	bool closed;

	mutex_lock(&port->lock);
	closed = port->closed;
	if (!closed) {
		list_add(&m->link, &port->queue);
		port->queued++;
	}
	mutex_unlock(&port->lock);

	if (closed)
		ds_port_refuse(port, m, -ECONNREFUSED);
	else
		wake_up(&port->wait);
}

/* Let a request wait for its answer; from here on it is not the caller's. */
static int ds_port_expect(struct ds_port *port, struct ds_port_msg *m, u64 *cookie)
{
	u32 id;
	int err;

	mutex_lock(&port->lock);
	if (port->closed)
		err = -ESTALE;
	else
		err = xa_alloc(&port->pending, &id, m, XA_LIMIT(1, DS_PORT_MAX_PENDING),
			       GFP_KERNEL_ACCOUNT);
	if (!err) {
		m->cookie = (u64)get_random_u32() << 32 | id;
		*cookie = m->cookie;
	}
	mutex_unlock(&port->lock);
	return err == -EBUSY ? -EDQUOT : err;
}

/*
 * The pending request with this cookie, or NULL. It is not pending any more. Those of
 * a closed port are ds_port_close()'s.
 */
static struct ds_port_msg *ds_port_unexpect(struct ds_port *port, u64 cookie)
{
	struct ds_port_msg *m;

	mutex_lock(&port->lock);
	m = xa_load(&port->pending, (u32)cookie);
	if (m && m->cookie == cookie && !port->closed)
		xa_erase(&port->pending, (u32)cookie);
	else
		m = NULL;
	mutex_unlock(&port->lock);
	return m;
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
	bool want_reply;
	u32 node;
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

	want_reply = m->want_reply;
	node = m->conn->hs.peer.node;
	if (copy_to_user(u64_to_user_ptr(arg->data), m->data, length))
		err = -EFAULT;
	else if (want_reply)
		err = ds_port_expect(port, m, &arg->out_cookie);
	else
		ds_port_msg_free(m);
	if (err) {
		ds_port_untake(port, m);
		return err;
	}

	arg->out_length = length;
	arg->out_node = node;
	arg->out_want_reply = want_reply;
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
	struct ds_port_msg *m;
	void *data;
	int err;

	if (ds_port_is_refusal(arg->status))
		return -EINVAL;
	data = ds_port_copy_in(arg->data, arg->length);
	if (IS_ERR(data))
		return PTR_ERR(data);

	m = ds_port_unexpect(port, arg->cookie);
	if (!m) {
		err = -ENOENT;
		goto free;
	}
	err = ds_msg_respond(m->conn, port->service, m->seq, arg->status, data, arg->length);
	ds_port_msg_free(m);
free:
	kfree(data);
	return err;
}

void ds_port_drop(struct ds_port *port, u64 cookie)
{
	struct ds_port_msg *m = ds_port_unexpect(port, cookie);

	if (m)
		ds_port_refuse(port, m, -ECONNRESET);
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

	err = ds_msg_request(conn, arg->service, data, arg->length, reply, &length, &status,
			     arg->timeout_ms ?: DS_PORT_DEFAULT_MS, &outcome);
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
		err = ds_msg_one_way(conn, arg->service, data, arg->length,
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
