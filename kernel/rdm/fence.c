// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: fencing, the end of a client on any host.
 *
 * Normal operation. Compute nodes know each other by their memory servers only.
 * Who fences asks each server of its space; the server asks the client's node,
 * which ends the client and answers when the last of its chains has ended. Other
 * messages to that node do not wait behind it.
 *
 * Recovery. A node that does not answer loses its connections to that server: when
 * their queue pairs are destroyed, nothing that is still on its way can be
 * executed. The server remembers who was fenced (fenced.c), and tells the node when
 * it comes back, before it gets any keys.
 *
 * A chain whose connection broke ends on its own host before its packets have: the
 * other end may hold some. So "it has ended" counts only if it comes over a
 * connection that is still up, which has lost nothing.
 */
#include <linux/bits.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <uapi/ds/ioctl.h>
#include <uapi/ds/wire.h>
#include "attach.h"
#include "client.h"
#include "conn.h"
#include "conn_list.h"
#include "domain.h"
#include "fence.h"
#include "fenced.h"
#include "grant.h"
#include "msg.h"
#include "msg_queue.h"
#include "params.h"
#include "segment.h"
#include "space.h"

#define DS_FENCE_CLIENT_MS	1500	/* for the client's chains to end */
#define DS_FENCE_ASK_MS		2500	/* for its node to answer */
#define DS_FENCE_LOOK_MS	500	/* the same, when nothing is to be ended */
#define DS_FENCES_MAX		64	/* that a server works on for a trust domain */
#define DS_FENCE_ANSWERS	64	/* that wait of a connection; twice what one waits for */

/* A request that a memory server works on. */
struct ds_fence {
	struct list_head	link;		/* in ds_fences */
	struct work_struct	work;
	struct ds_conn		*conn;		/* who asked, with a reference */
	u64			seq;
	struct ds_fence_req	req;
};

/* An answer of the client's node that waits for the client. */
struct ds_fence_answer {
	struct ds_client_watch	watch;
	struct ds_client	*client;	/* with a reference */
	struct ds_conn		*conn;		/* likewise */
	struct ds_msg_from	from;		/* likewise */
};

static LIST_HEAD(ds_fences);
static DEFINE_SPINLOCK(ds_fences_lock);	/* innermost */
static atomic_t ds_fence_answers;
static DECLARE_WAIT_QUEUE_HEAD(ds_fences_wait);

/* ---- who fences ---- */

/* The server's connection with a reference, NULL if it has none; or an ERR_PTR. */
static struct ds_conn *ds_fence_server(struct ds_space *space, u32 server, u64 *segment)
{
	struct ds_keyset *keys;
	struct ds_conn *conn;
	int ret;
	u32 node;

	keys = ds_keyset_get(space, server, &node, &ret);
	if (!keys)	/* memory that is not there is nobody's */
		return ret == -ENXIO || ret == -ENODATA ? NULL : ERR_PTR(ret);
	*segment = keys->segment;
	conn = keys->conn;
	ds_conn_get(conn);
	ds_keyset_put(keys);
	return conn;
}

static int ds_fence_error(int status)
{
	switch (status) {
	case 0:
	case -EACCES:
	case -ETIMEDOUT:
		return status;
	case -EEXIST:
		return -EBUSY;
	case -EBUSY:
		return -ETIMEDOUT;	/* with other fences: try again */
	default:
		return -EIO;
	}
}

static int ds_fence_ask_server(struct ds_space *space, u32 server, struct ds_fence_req *req,
			       u64 deadline)
{
	s64 left = deadline - ktime_get_ns();
	struct ds_conn *conn;
	int ret, status;
	u64 segment;

	if (left <= 0)
		return -ETIMEDOUT;
	conn = ds_fence_server(space, server, &segment);
	if (IS_ERR_OR_NULL(conn))
		return PTR_ERR_OR_ZERO(conn);
	req->segment = cpu_to_le64(segment);
	ret = ds_msg_user_request(conn, DS_SERVICE_FENCE, req, sizeof(*req), NULL, NULL, &status,
				  left / NSEC_PER_MSEC + 1, NULL);
	ds_conn_put(conn);
	return ret ?: ds_fence_error(status);
}

int ds_fence(struct ds_space *space, u32 node, u64 token, u32 flags, u32 timeout_ms)
{
	u64 deadline = ktime_get_ns() + (u64)timeout_ms * NSEC_PER_MSEC;
	struct ds_fence_req req = {
		.verb	= cpu_to_le32(DS_FENCE_NODE),
		.node	= cpu_to_le32(node),
		.token	= cpu_to_le64(token),
		.flags	= cpu_to_le32(flags),
	};
	int ret = 0;
	u32 i;

	for (i = 0; i < space->layout.servers && !ret; i++)
		ret = ds_fence_ask_server(space, i, &req, deadline);
	return ret;
}

int ds_fence_catch_up(struct ds_conn *conn, u64 segment, u32 timeout_ms, u64 *last)
{
	struct ds_fence_req req = {
		.verb		= cpu_to_le32(DS_FENCE_MISSED),
		.segment	= cpu_to_le64(segment),
	};
	u32 length = DS_MSG_MAX_PAYLOAD;
	struct ds_fenced *fenced;
	int ret, status;

	fenced = kmalloc(DS_MSG_MAX_PAYLOAD, GFP_KERNEL);
	if (!fenced)
		return -ENOMEM;
	ret = ds_msg_request(conn, DS_SERVICE_FENCE, &req, sizeof(req), fenced, &length, &status,
			     timeout_ms, NULL);
	if (!ret && (status || length < sizeof(*fenced) ||
		     le32_to_cpu(fenced->count) > DS_FENCED_MAX ||
		     length != struct_size(fenced, tokens, le32_to_cpu(fenced->count))))
		ret = -EPROTO;
	if (!ret) {
		ds_fenced_learn(conn, fenced);
		*last = le64_to_cpu(fenced->last);
	}
	kfree(fenced);
	return ret;
}

/* ---- the memory server ---- */

/* The next connection of the node whose client is fenced. */
struct ds_fence_match {
	const struct ds_fence	*fence;
	u64			serial;		/* of the one before */
};

static bool ds_fence_is_of_node(struct ds_conn *conn, void *ctx)
{
	struct ds_fence_match *match = ctx;
	const struct ds_fence *fence = match->fence;

	if (!READ_ONCE(conn->trusted) || conn->serial <= match->serial ||
	    conn->hs.peer.node != le32_to_cpu(fence->req.node) ||
	    conn->hs.peer.domain != fence->conn->hs.peer.domain)
		return false;
	match->serial = conn->serial;
	return true;
}

/* @told: set if the client's node has answered. */
static int ds_fence_by_conn(const struct ds_fence *fence, struct ds_conn *conn, bool *told)
{
	struct ds_fence_req req = fence->req;
	bool look = req.flags & cpu_to_le32(DS_FENCE_IF_GONE);
	int ret, status = 0;

	req.verb = cpu_to_le32(DS_FENCE_CLIENT);
	req.node = 0;
	ret = ds_msg_request(conn, DS_SERVICE_FENCE, &req, sizeof(req), NULL, NULL, &status,
			     look ? DS_FENCE_LOOK_MS : DS_FENCE_ASK_MS, NULL) ?: status;
	*told |= !ret;
	if (!ret || ret == -EACCES)
		return ret;
	if (look)
		return -EEXIST;
	ds_conn_close(conn, "a client there was fenced and did not end in time");
	ds_conn_wait_closed(conn);
	return 0;
}

/* False: its trust domain has enough of them under way. */
static bool ds_fence_enter(struct ds_fence *fence)
{
	struct ds_fence *other;
	u32 count = 0;

	spin_lock(&ds_fences_lock);
	list_for_each_entry(other, &ds_fences, link)
		count += other->conn->hs.peer.domain == fence->conn->hs.peer.domain;
	if (count < DS_FENCES_MAX)
		list_add_tail(&fence->link, &ds_fences);
	spin_unlock(&ds_fences_lock);
	return count < DS_FENCES_MAX;
}

static void ds_fence_free(struct ds_fence *fence)
{
	ds_conn_put(fence->conn);
	kfree(fence);
}

static void ds_fence_leave(struct ds_fence *fence)
{
	bool last;

	spin_lock(&ds_fences_lock);
	list_del(&fence->link);
	last = list_empty(&ds_fences);
	spin_unlock(&ds_fences_lock);
	ds_fence_free(fence);
	if (last)
		wake_up_all(&ds_fences_wait);
}

static void ds_fence_work(struct work_struct *work)
{
	struct ds_fence *fence = container_of(work, struct ds_fence, work);
	bool look = fence->req.flags & cpu_to_le32(DS_FENCE_IF_GONE);
	struct ds_fence_match match = { .fence = fence };
	struct ds_fenced_client *client;
	bool told = false;
	struct ds_conn *conn;
	int ret = 0;

	/* First, so that a connection that comes up from here on is told. */
	client = ds_fenced_begin(fence->conn, &fence->req);
	if (IS_ERR(client)) {
		ret = PTR_ERR(client);
		goto respond;
	}
	while (!ret && (conn = ds_conn_match_server(ds_fence_is_of_node, &match))) {
		ret = ds_fence_by_conn(fence, conn, &told);
		ds_conn_put(conn);
	}
	ret = ds_fenced_done(fence->conn, client, look, told, ret);
respond:
	ds_msg_respond(fence->conn, DS_SERVICE_FENCE, fence->seq, ret, NULL, 0);
	ds_fence_leave(fence);
}

/* Only who has attached a segment may fence those who have. */
static int ds_fence_may_ask(const struct ds_fence_req *req, struct ds_conn *conn)
{
	struct ds_segment *seg;
	bool holds;

	if (!conn->server)
		return -EPERM;
	seg = ds_segment_find(le64_to_cpu(req->segment));
	if (!seg)
		return -ENOENT;
	holds = ds_grant_holds(seg, conn);
	ds_segment_put(seg);
	return holds ? 0 : -EACCES;
}

static int ds_fence_serve_node(const struct ds_fence_req *req, const struct ds_msg *msg)
{
	struct ds_fence *fence;
	int ret;

	if (!msg->want_reply || !req->node || le32_to_cpu(req->node) > DS_NODE_MAX)
		return -EINVAL;
	ret = ds_fence_may_ask(req, msg->conn);
	if (ret)
		return ret;
	fence = kmalloc(sizeof(*fence), GFP_KERNEL);
	if (!fence)
		return -ENOMEM;
	INIT_WORK(&fence->work, ds_fence_work);
	ds_conn_get(msg->conn);
	fence->conn = msg->conn;
	fence->seq = msg->seq;
	fence->req = *req;
	if (!ds_fence_enter(fence)) {
		ds_fence_free(fence);
		return -EBUSY;
	}
	queue_work(ds_fence_wq, &fence->work);
	return DS_MSG_REPLY_LATER;
}

/* ---- the client's node ---- */

/* The client has ended. What a connection that is down has lost may still be on its way. */
static int ds_fence_ended(const struct ds_conn *conn)
{
	return READ_ONCE(conn->state) == DS_CONN_UP ? 0 : -ENOTCONN;
}

static void ds_fence_answer_work(struct work_struct *work)
{
	struct ds_fence_answer *answer = container_of(to_delayed_work(work),
						      struct ds_fence_answer, watch.work);
	struct ds_conn *conn = answer->conn;
	int ret = -ETIMEDOUT;

	if (ds_client_unwatch(answer->client, &answer->watch))
		ret = ds_fence_ended(conn);
	ds_client_put(answer->client);
	ds_msg_finish(&answer->from, DS_SERVICE_FENCE, ret, NULL, 0);
	kfree(answer);
	atomic_dec(&conn->fences);
	ds_conn_put(conn);
	if (atomic_dec_and_test(&ds_fence_answers))
		wake_up_all(&ds_fences_wait);
}

/* Not in the inbox: all that the other host says would wait behind it. */
static int ds_fence_answer_later(struct ds_client *client, const struct ds_msg *msg,
				 u32 timeout_ms)
{
	struct ds_fence_answer *answer;

	if (atomic_inc_return(&msg->conn->fences) > DS_FENCE_ANSWERS) {
		atomic_dec(&msg->conn->fences);
		return -EBUSY;
	}
	answer = kmalloc(sizeof(*answer), GFP_KERNEL);
	if (!answer) {
		atomic_dec(&msg->conn->fences);
		return -ENOMEM;
	}
	INIT_DELAYED_WORK(&answer->watch.work, ds_fence_answer_work);
	ds_client_get(client);
	answer->client = client;
	ds_conn_get(msg->conn);
	answer->conn = msg->conn;
	ds_conn_get(msg->conn);
	answer->from = (struct ds_msg_from){ .conn = msg->conn, .seq = msg->seq,
					     .want_reply = true };
	atomic_inc(&ds_fence_answers);
	ds_client_watch(client, &answer->watch, timeout_ms);
	return DS_MSG_REPLY_LATER;
}

static int ds_fence_client(const struct ds_fence_req *req, struct ds_client *client,
			   const struct ds_msg *msg)
{
	bool look = req->flags & cpu_to_le32(DS_FENCE_IF_GONE);

	if (!ds_client_ended(client)) {
		/* The server's number is what it says; its domain is proved. */
		if (!ds_space_has(ds_client_space(client), msg->conn->hs.peer.node,
				  le64_to_cpu(req->segment)))
			return -EACCES;
		if (look)
			return -EEXIST;
		ds_client_end(client);
	}
	if (ds_client_gone(client) || !msg->want_reply || ds_fence_ended(msg->conn))
		return ds_fence_ended(msg->conn);
	return ds_fence_answer_later(client, msg, look ? DS_FENCE_LOOK_MS : DS_FENCE_CLIENT_MS);
}

static int ds_fence_serve_client(const struct ds_fence_req *req, const struct ds_msg *msg)
{
	struct ds_client *client;
	int ret = -EACCES;

	if (msg->conn->server)
		return -EPERM;
	client = ds_client_find(le64_to_cpu(req->token));
	if (!client)
		return ds_fence_ended(msg->conn);
	if (ds_client_space(client)->domain == msg->conn->domain)
		ret = ds_fence_client(req, client, msg);
	ds_client_put(client);
	return ret;
}

static int ds_fence_serve(void *ctx, const struct ds_msg *msg, void *reply, u32 *reply_length)
{
	const struct ds_fence_req *req = msg->data;

	if (msg->length != sizeof(*req) || memchr_inv(req->reserved, 0, sizeof(req->reserved)) ||
	    le32_to_cpu(req->flags) & ~DS_FENCE_IF_GONE ||
	    !req->token == (le32_to_cpu(req->verb) != DS_FENCE_MISSED))
		return -EINVAL;
	switch (le32_to_cpu(req->verb)) {
	case DS_FENCE_NODE:
		return ds_fence_serve_node(req, msg);
	case DS_FENCE_CLIENT:
		return req->node ? -EINVAL : ds_fence_serve_client(req, msg);
	case DS_FENCE_MISSED:
		if (!msg->conn->server)
			return -EPERM;
		return ds_fenced_tell(msg->conn, reply, reply_length);
	default:
		return -EOPNOTSUPP;
	}
}

int ds_fence_init(void)
{
	ds_clients_init();
	return ds_msg_bind(DS_SERVICE_FENCE, ds_fence_serve, NULL);
}

/* No connection is left, so no request is waited for long. */
void ds_fence_exit(void)
{
	ds_msg_unbind(DS_SERVICE_FENCE);
	wait_event(ds_fences_wait, list_empty_careful(&ds_fences) &&
		   !atomic_read(&ds_fence_answers));
	flush_workqueue(ds_fence_wq);	/* the last one may not have returned */
	ds_fenced_exit();
}
