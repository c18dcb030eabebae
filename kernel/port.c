// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: service ports of user programs.
 */
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include "conn.h"
#include "conn_list.h"
#include "msg.h"
#include "msg_queue.h"
#include "port.h"
#include "stats.h"

#define DS_PORT_DEFAULT_MS	30000

static_assert(DS_PORT_MAX_BYTES == DS_MSG_MAX_PAYLOAD);

/* A request that was received, to be answered by its cookie. */
struct ds_port_request {
	struct ds_msg_from	from;
	u64			cookie;
};

/**
 * struct ds_port - a service that a user program has bound
 * @ref: one for the handle, one for each ioctl at work
 * @service: its number
 * @wait: those who wait for a message
 * @lock: protects all below; nothing of the caller's is touched under it
 * @queue: messages that are not yet received; its room is charged to who has bound
 * @pending: requests received and not answered, by the low half of their cookie
 * @closed: nothing may be queued or made pending any more
 */
struct ds_port {
	struct kref		ref;
	u16			service;
	wait_queue_head_t	wait;
	struct mutex		lock;		/* see above */
	struct ds_msg_queue	queue;
	struct xarray		pending;
	bool			closed;
};

/* A request that was received, and that nobody will answer. */
static void ds_port_reset(struct ds_port *port, struct ds_port_request *request)
{
	ds_msg_finish(&request->from, port->service, -ECONNRESET, NULL, 0);
	kfree(request);
}

/* The handler of ds_msg_bind(). */
static int ds_port_arrived(void *ctx, const struct ds_msg *msg, void *reply, u32 *reply_length)
{
	struct ds_port *port = ctx;
	struct ds_msg_from gone;
	int err;

	*reply_length = 0;
	mutex_lock(&port->lock);
	err = ds_msg_queue_add(&port->queue, msg, &gone);
	mutex_unlock(&port->lock);
	if (err)
		return err;
	wake_up(&port->wait);
	if (gone.conn) {
		ds_stat_inc(gone.conn->stats, DS_STAT_MSGS_REFUSED);
		ds_msg_finish(&gone, port->service, -EBUSY, NULL, 0);
	}
	return msg->want_reply ? DS_MSG_REPLY_LATER : 0;
}

/* ---- Ports ---- */

static void ds_port_release(struct kref *ref)
{
	struct ds_port *port = container_of(ref, struct ds_port, ref);

	mutex_destroy(&port->lock);
	xa_destroy(&port->pending);
	ds_msg_queue_destroy(&port->queue);
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

	port = kzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);
	if (!port)
		return NULL;
	if (ds_msg_queue_init(&port->queue, queue)) {
		kfree(port);
		return NULL;
	}
	kref_init(&port->ref);
	port->service = service;
	init_waitqueue_head(&port->wait);
	mutex_init(&port->lock);
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
	struct ds_queued *m;
	unsigned long id;

	ds_msg_unbind(port->service);

	mutex_lock(&port->lock);
	port->closed = true;
	mutex_unlock(&port->lock);
	wake_up_all(&port->wait);

	/* Nothing is added any more, nor taken out by others. */
	while ((m = ds_msg_queue_first(&port->queue))) {
		ds_msg_queue_take(&port->queue, m);
		ds_msg_finish(&m->from, port->service, -ECONNREFUSED, NULL, 0);
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
	return ds_msg_queue_first(&port->queue) || READ_ONCE(port->closed);
}

/* The first message, if it has at most *@length bytes, which is set to its length. */
static struct ds_queued *ds_port_take(struct ds_port *port, u32 *length)
{
	u32 room = *length;
	struct ds_queued *m;

	mutex_lock(&port->lock);
	m = ds_msg_queue_first(&port->queue);
	if (port->closed) {
		m = ERR_PTR(-ESTALE);
	} else if (!m) {
		m = ERR_PTR(-EAGAIN);
	} else {
		*length = m->length;
		if (m->length > room)
			m = ERR_PTR(-EMSGSIZE);
		else
			ds_msg_queue_take(&port->queue, m);
	}
	mutex_unlock(&port->lock);
	return m;
}

/* A message was received, and there is room for another. */
static void ds_port_free(struct ds_port *port, struct ds_queued *m)
{
	mutex_lock(&port->lock);
	ds_msg_queue_free(&port->queue, m);
	mutex_unlock(&port->lock);
}

/* Put back what its receiver could not take, as first. */
static void ds_port_untake(struct ds_port *port, struct ds_queued *m)
{
	bool closed;

	mutex_lock(&port->lock);
	closed = port->closed;
	if (!closed)
		ds_msg_queue_untake(&port->queue, m);
	mutex_unlock(&port->lock);
	if (closed)
		ds_msg_finish(&m->from, port->service, -ECONNREFUSED, NULL, 0);
	else
		wake_up(&port->wait);
}

/* Let a request wait for its answer; its connection's reference goes with it. */
static int ds_port_expect(struct ds_port *port, const struct ds_msg_from *from, u64 *cookie)
{
	struct ds_port_request *request;
	u32 id;
	int err;

	request = kmalloc(sizeof(*request), GFP_KERNEL_ACCOUNT);
	if (!request)
		return -ENOMEM;
	request->from = *from;
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
	struct ds_queued *m;
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
	arg->out_node = m->from.conn->hs.peer.node;
	arg->out_want_reply = m->from.want_reply;
	if (copy_to_user(u64_to_user_ptr(arg->data), m->data, length))
		err = -EFAULT;
	else if (m->from.want_reply)
		err = ds_port_expect(port, &m->from, &arg->out_cookie);
	if (err) {
		ds_port_untake(port, m);
		return err;
	}
	if (!arg->out_want_reply)
		ds_conn_put(m->from.conn);
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
	err = ds_msg_respond(request->from.conn, port->service, request->from.seq, arg->status,
			     data, arg->length);
	ds_conn_put(request->from.conn);
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
