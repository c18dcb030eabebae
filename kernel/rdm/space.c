// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: spaces, the maps from addresses to segments of peers.
 *
 * Locking order:
 *	ds_space.lock		held while keys are asked for, at most the time that
 *				the caller gave
 *	ds_spaces_lock, ds_clients_lock
 */
#include <linux/cred.h>
#include <linux/slab.h>
#include <uapi/ds/ioctl.h>
#include <uapi/ds/netlink.h>
#include <uapi/ds/wire.h>
#include "attach.h"
#include "client.h"
#include "conn.h"
#include "domain.h"
#include "fence.h"
#include "msg.h"
#include "netlink.h"
#include "peer.h"
#include "space.h"
#include "trace.h"

#define DS_REATTACH_MS	5000

static LIST_HEAD(ds_spaces);
static DEFINE_MUTEX(ds_spaces_lock);

static void ds_space_release(struct kref *ref)
{
	struct ds_space *space = container_of(ref, struct ds_space, ref);

	ds_domain_put(space->domain);
	kvfree(space);
}

void ds_space_get(struct ds_space *space)
{
	kref_get(&space->ref);
}

void ds_space_put(struct ds_space *space)
{
	kref_put(&space->ref, ds_space_release);
}

static struct ds_attach *ds_space_server(struct ds_space *space, u32 server)
{
	return rcu_dereference_protected(space->servers[server], lockdep_is_held(&space->lock));
}

static void ds_space_told(struct ds_space *space, u32 server, struct ds_attach *a)
{
	trace_ds_attach(space->id, server, a->node, a->state);
	ds_event_attach(space->id, server, a->node, a->state);
}

/* ---- the list of spaces ---- */

static struct ds_space *ds_space_find(u32 id)
{
	struct ds_space *space, *found = NULL;

	mutex_lock(&ds_spaces_lock);
	list_for_each_entry(space, &ds_spaces, link) {
		if (space->id == id) {
			ds_space_get(space);
			found = space;
			break;
		}
	}
	mutex_unlock(&ds_spaces_lock);
	return found;
}

/* The space with the smallest number above @last, in exchange for @space's reference. */
static struct ds_space *ds_space_next(struct ds_space *space, u32 *last)
{
	struct ds_space *next, *found = NULL;

	if (space)
		ds_space_put(space);
	mutex_lock(&ds_spaces_lock);
	list_for_each_entry(next, &ds_spaces, link) {
		if (next->id > *last && (!found || next->id < found->id))
			found = next;
	}
	if (found) {
		ds_space_get(found);
		*last = found->id;
	}
	mutex_unlock(&ds_spaces_lock);
	return found;
}

int ds_space_for_each(int (*fn)(struct ds_space *space, void *ctx), void *ctx)
{
	struct ds_space *space = NULL;
	u32 last = 0;
	int ret = 0;

	while (!ret && (space = ds_space_next(space, &last)))
		ret = fn(space, ctx);
	if (space)
		ds_space_put(space);
	return ret;
}

static int ds_space_insert(struct ds_space *space)
{
	struct ds_space *other;
	int ret = 0;

	mutex_lock(&ds_spaces_lock);
	list_for_each_entry(other, &ds_spaces, link) {
		if (other->id == space->id)
			ret = -EEXIST;
	}
	if (!ret) {
		list_add_tail(&space->link, &ds_spaces);
		ds_netlink_changed(DS_CMD_SPACE_GET);
	}
	mutex_unlock(&ds_spaces_lock);
	return ret;
}

int ds_space_add(u32 id, u32 domain, const struct ds_layout *layout, u32 access,
		 kuid_t uid, struct netlink_ext_ack *extack)
{
	struct ds_space *space;
	int ret;

	if (ds_layout_check(layout)) {
		NL_SET_ERR_MSG(extack, "a space has 1 to 1024 servers of 2^24 to 2^40 bytes");
		return -EINVAL;
	}
	if (!id || !access || access & ~DS_ACCESS_ALL) {
		NL_SET_ERR_MSG(extack, "number 0, or access that is not read, write, atomic");
		return -EINVAL;
	}
	space = kvzalloc(struct_size(space, servers, layout->servers), GFP_KERNEL_ACCOUNT);
	if (!space)
		return -ENOMEM;
	kref_init(&space->ref);
	mutex_init(&space->lock);
	space->id = id;
	space->layout = *layout;
	space->access = access;
	space->uid = uid;
	space->domain = ds_domain_get(domain);
	if (!space->domain) {
		NL_SET_ERR_MSG(extack, "the trust domain is not known here; add its key first");
		kvfree(space);
		return -ENOENT;
	}
	ret = ds_space_insert(space);
	if (ret) {
		NL_SET_ERR_MSG(extack, "there is a space with this number already");
		ds_space_put(space);
	}
	return ret;
}

/*
 * Say whose keys the space is about to take or to give up. Whoever looks at @busy
 * without the lock, then at the servers, then at @busy again, sees one of them.
 */
static void ds_space_begin(struct ds_space *space, struct ds_conn *conn)
{
	lockdep_assert_held(&space->lock);
	WRITE_ONCE(space->busy, conn);
	smp_wmb();	/* pairs with ds_space_concerns() */
}

static void ds_space_end(struct ds_space *space)
{
	smp_store_release(&space->busy, NULL);	/* pairs with ds_space_concerns() */
}

static struct ds_conn *ds_space_conn_of(struct ds_space *space, struct ds_attach *a)
{
	struct ds_keyset *keys = rcu_dereference_protected(a->keys, lockdep_is_held(&space->lock));

	return keys ? keys->conn : NULL;
}

/* Take a server out, when what is in flight on its keys has ended; false if there is none. */
static bool ds_space_drop(struct ds_space *space, u32 server)
{
	struct ds_attach *a = ds_space_server(space, server);

	if (!a)
		return false;
	ds_space_begin(space, ds_space_conn_of(space, a));
	RCU_INIT_POINTER(space->servers[server], NULL);
	space->attached--;
	ds_netlink_changed(DS_CMD_ATTACH_GET);
	ds_attach_release(a);
	ds_space_end(space);
	return true;
}

/*
 * Take its servers away; false if that was done before. It is in the list until
 * then: a connection that ends must find it and wait for what is in flight.
 */
static bool ds_space_clear(struct ds_space *space)
{
	bool first;
	u32 i;

	mutex_lock(&space->lock);
	first = !space->dead;
	space->dead = true;
	ds_clients_end(space);
	for (i = 0; i < space->layout.servers; i++)
		ds_space_drop(space, i);
	mutex_unlock(&space->lock);
	return first;
}

/* Clear it, and drop the list's reference. */
static bool ds_space_remove(struct ds_space *space)
{
	if (!ds_space_clear(space))
		return false;
	mutex_lock(&ds_spaces_lock);
	list_del(&space->link);
	ds_netlink_changed(DS_CMD_SPACE_GET);
	mutex_unlock(&ds_spaces_lock);
	ds_space_put(space);
	return true;
}

int ds_space_del(u32 id, struct netlink_ext_ack *extack)
{
	struct ds_space *space = ds_space_find(id);
	bool removed = false;

	if (space) {
		removed = ds_space_remove(space);
		ds_space_put(space);
	}
	if (!removed) {
		NL_SET_ERR_MSG(extack, "there is no space with this number");
		return -ENOENT;
	}
	return 0;
}

struct ds_space *ds_space_open(u32 id, u32 access)
{
	struct ds_space *space = ds_space_find(id);

	if (!space)
		return ERR_PTR(-ENOENT);
	if (READ_ONCE(space->dead)) {
		ds_space_put(space);
		return ERR_PTR(-ENOENT);
	}
	if (access & ~space->access ||
	    (uid_valid(space->uid) && !uid_eq(space->uid, current_euid()) &&
	     !capable(CAP_DAC_OVERRIDE))) {
		ds_space_put(space);
		return ERR_PTR(-EACCES);
	}
	return space;
}

/* ---- attach and detach ---- */

static int ds_space_attach_error(int ret, struct netlink_ext_ack *extack)
{
	switch (ret) {
	case -ENOENT:
		NL_SET_ERR_MSG(extack, "the node has no segment with this number");
		break;
	case -EACCES:
		NL_SET_ERR_MSG(extack, "the segment belongs to another trust domain");
		break;
	case -EFBIG:
		NL_SET_ERR_MSG(extack, "the segment is longer than a server of the space");
		break;
	case -EDQUOT:
		NL_SET_ERR_MSG(extack, "the node lets no peer attach more segments");
		break;
	case -ENOSPC:
		NL_SET_ERR_MSG(extack, "this host has no tokens for so many chunks; detach others");
		break;
	case -EAGAIN:
		NL_SET_ERR_MSG(extack, "the node is taking the segment's keys away; try again");
		break;
	case -ENOTCONN:
		NL_SET_ERR_MSG(extack, "the connection to the node ended");
		break;
	case -ETIMEDOUT:
		NL_SET_ERR_MSG(extack, "the node did not answer in time");
		break;
	}
	return ret;
}

/* A slot may be taken again when its segment cannot be used. */
static int ds_space_slot_free(struct ds_space *space, u32 server, struct netlink_ext_ack *extack)
{
	struct ds_attach *a;

	if (space->dead)
		return -ENOENT;
	if (server >= space->layout.servers) {
		NL_SET_ERR_MSG(extack, "the space has no server with this index");
		return -ERANGE;
	}
	a = ds_space_server(space, server);
	if (a && a->state == DS_ATTACH_UP) {
		NL_SET_ERR_MSG(extack, "a segment is attached as this server already");
		return -EEXIST;
	}
	return 0;
}

/* Ask for the keys. The caller says ds_space_end() when they can be found. */
static int ds_space_ask(struct ds_space *space, struct ds_attach *a, struct ds_conn *conn,
			u32 timeout_ms)
{
	u64 deadline = ktime_get_ns() + (u64)timeout_ms * NSEC_PER_MSEC, knows;
	int ret;

	ds_space_begin(space, conn);
	ret = ds_fence_catch_up(conn, a->segment, timeout_ms, &knows);
	return ret ?: ds_attach_up(a, conn, 1ull << space->layout.server_shift, knows, deadline);
}

static int ds_space_fill_slot(struct ds_space *space, u32 server, struct ds_conn *conn,
			      u64 segment, u32 timeout_ms, struct netlink_ext_ack *extack)
{
	struct ds_attach *old, *a;
	int ret;

	ret = ds_space_slot_free(space, server, extack);
	if (ret)
		return ret;
	a = ds_attach_create(conn->hs.peer.node, segment);
	if (!a)
		return -ENOMEM;
	ret = ds_space_ask(space, a, conn, timeout_ms);
	if (ret) {
		ds_space_end(space);
		kfree(a);
		return ds_space_attach_error(ret, extack);
	}
	old = ds_space_server(space, server);
	rcu_assign_pointer(space->servers[server], a);
	ds_netlink_changed(DS_CMD_ATTACH_GET);
	ds_space_end(space);
	if (old)
		ds_attach_release(old);
	else
		space->attached++;
	ds_space_told(space, server, a);
	return 0;
}

/* The connection that we made to @node, with a reference. */
static struct ds_conn *ds_space_conn(u32 node)
{
	struct ds_peer *peer = ds_peer_find(node);
	struct ds_conn *conn = NULL;

	if (!peer)
		return NULL;
	mutex_lock(&peer->lock);
	if (peer->state == DS_PEER_UP && peer->conn) {
		conn = peer->conn;
		ds_conn_get(conn);
	}
	mutex_unlock(&peer->lock);
	ds_peer_put(peer);
	return conn;
}

int ds_space_attach(u32 id, u32 server, u32 node, u64 segment, u32 timeout_ms,
		    struct netlink_ext_ack *extack)
{
	struct ds_space *space = ds_space_find(id);
	struct ds_conn *conn;
	int ret;

	if (!space) {
		NL_SET_ERR_MSG(extack, "there is no space with this number");
		return -ENOENT;
	}
	conn = ds_space_conn(node);
	if (!conn) {
		NL_SET_ERR_MSG(extack, "the node is no connected peer of this host; add it first");
		ret = -ENOTCONN;
		goto put_space;
	}
	if (conn->domain != space->domain) {
		NL_SET_ERR_MSG(extack, "the space and the peer are of different trust domains");
		ret = -EACCES;
		goto put_conn;
	}
	mutex_lock(&space->lock);
	ret = ds_space_fill_slot(space, server, conn, segment, timeout_ms, extack);
	mutex_unlock(&space->lock);
put_conn:
	ds_conn_put(conn);
put_space:
	ds_space_put(space);
	return ret;
}

int ds_space_detach(u32 id, u32 server, struct netlink_ext_ack *extack)
{
	struct ds_space *space = ds_space_find(id);
	bool dropped;

	if (!space) {
		NL_SET_ERR_MSG(extack, "there is no space with this number");
		return -ENOENT;
	}
	mutex_lock(&space->lock);
	dropped = server < space->layout.servers && ds_space_drop(space, server);
	mutex_unlock(&space->lock);
	ds_space_put(space);
	if (!dropped) {
		NL_SET_ERR_MSG(extack, "nothing is attached as this server");
		return -ENOENT;
	}
	return 0;
}

int ds_space_attach_info(struct ds_space *space, u32 server, struct ds_attach_info *info)
{
	struct ds_attach *a;
	int ret = -ENOENT;

	mutex_lock(&space->lock);
	for (; server < space->layout.servers; server++) {
		a = ds_space_server(space, server);
		if (!a)
			continue;
		info->server = server;
		info->node = a->node;
		info->segment = a->segment;
		info->length = a->length;
		info->access = a->access;
		info->chunks = a->chunks;
		info->state = a->state;
		ret = 0;
		break;
	}
	mutex_unlock(&space->lock);
	return ret;
}

u32 ds_space_attached(struct ds_space *space)
{
	return READ_ONCE(space->attached);
}

bool ds_space_has(struct ds_space *space, u32 node, u64 segment)
{
	struct ds_attach *a;
	bool found = false;
	u32 i;

	rcu_read_lock();
	for (i = 0; i < space->layout.servers && !found; i++) {
		a = rcu_dereference(space->servers[i]);
		found = a && a->node == node && a->segment == segment;
	}
	rcu_read_unlock();
	return found;
}

/* ---- connections come and go ---- */

/* Say so. Return false when it is of no use to go on with this connection. */
static bool ds_space_stays_down(const struct ds_space *space, u32 server, int ret)
{
	if (ret == -ETIMEDOUT || ret == -ENOTCONN)
		return false;
	pr_warn_ratelimited("space %u: server %u is not attached again: error %d\n", space->id,
			    server, -ret);
	return true;
}

/* Return false when it is of no use to go on with this connection. */
static bool ds_space_try_again(struct ds_space *space, u32 server, struct ds_conn *conn)
{
	struct ds_attach *a = ds_space_server(space, server);
	int ret;

	if (!a || a->node != conn->hs.peer.node || a->state != DS_ATTACH_DOWN)
		return true;
	ret = ds_space_ask(space, a, conn, DS_REATTACH_MS);
	ds_space_end(space);
	if (ret == -ENODATA || ret == -ENOENT || ret == -EACCES || ret == -EFBIG)
		ds_attach_down(a, DS_ATTACH_LOST);
	else if (ret)
		return ds_space_stays_down(space, server, ret);
	ds_space_told(space, server, a);
	return true;
}

/* Node number and incarnation are what the other host says; its domain is proved. */
static int ds_space_up_one(struct ds_space *space, void *ctx)
{
	struct ds_conn *conn = ctx;
	bool go_on = true;
	u32 i;

	if (conn->domain != space->domain)
		return 0;
	mutex_lock(&space->lock);
	for (i = 0; i < space->layout.servers && !space->dead && go_on; i++)
		go_on = ds_space_try_again(space, i, conn);
	mutex_unlock(&space->lock);
	return go_on ? 0 : -ENOTCONN;
}

void ds_space_conn_up(struct ds_conn *conn)
{
	ds_space_for_each(ds_space_up_one, conn);
}

static bool ds_space_uses(struct ds_space *space, struct ds_attach *a, struct ds_conn *conn)
{
	return a && ds_space_conn_of(space, a) == conn;
}

/*
 * Has the space anything to do with the connection? Without its lock, which is held
 * while some other host is asked for its keys, and that may take its time.
 */
static bool ds_space_concerns(struct ds_space *space, struct ds_conn *conn)
{
	struct ds_keyset *keys;
	struct ds_attach *a;
	bool found;
	u32 i;

	found = smp_load_acquire(&space->busy) == conn;	/* pairs with ds_space_end() */
	rcu_read_lock();
	for (i = 0; i < space->layout.servers && !found; i++) {
		a = rcu_dereference(space->servers[i]);
		keys = a ? rcu_dereference(a->keys) : NULL;
		found = keys && keys->conn == conn;
	}
	rcu_read_unlock();
	smp_rmb();	/* pairs with ds_space_begin() */
	return found || READ_ONCE(space->busy) == conn;
}

static int ds_space_down_one(struct ds_space *space, void *ctx)
{
	struct ds_conn *conn = ctx;
	struct ds_attach *a;
	u32 i;

	if (!ds_space_concerns(space, conn))
		return 0;
	mutex_lock(&space->lock);
	for (i = 0; i < space->layout.servers; i++) {
		a = ds_space_server(space, i);
		if (!ds_space_uses(space, a, conn))
			continue;
		ds_attach_down(a, DS_ATTACH_DOWN);
		ds_space_told(space, i, a);
	}
	mutex_unlock(&space->lock);
	return 0;
}

void ds_space_conn_down(struct ds_conn *conn)
{
	ds_space_for_each(ds_space_down_one, conn);
}

/* ---- the owner takes its keys away ---- */

struct ds_revoke {
	struct ds_conn	*conn;
	u64		segment;
	bool		gone;
};

static int ds_space_revoke_one(struct ds_space *space, void *ctx)
{
	struct ds_revoke *r = ctx;
	struct ds_attach *a;
	u32 i;

	if (!ds_space_concerns(space, r->conn))
		return 0;
	mutex_lock(&space->lock);
	for (i = 0; i < space->layout.servers; i++) {
		a = ds_space_server(space, i);
		if (!ds_space_uses(space, a, r->conn) || a->segment != r->segment)
			continue;
		ds_attach_down(a, r->gone ? DS_ATTACH_LOST : DS_ATTACH_REVOKED);
		ds_space_told(space, i, a);
	}
	mutex_unlock(&space->lock);
	return 0;
}

static int ds_space_serve_revoke(void *ctx, const struct ds_msg *msg, void *reply,
				 u32 *reply_length)
{
	const struct ds_seg_revoke *req = msg->data;
	struct ds_revoke r = { .conn = msg->conn };

	if (msg->length != sizeof(*req) || req->gone > 1 ||
	    memchr_inv(req->reserved, 0, sizeof(req->reserved)))
		return -EINVAL;
	r.segment = le64_to_cpu(req->segment);
	r.gone = req->gone;
	ds_space_for_each(ds_space_revoke_one, &r);
	return 0;
}

int ds_space_init(void)
{
	return ds_msg_bind(DS_SERVICE_REVOKE, ds_space_serve_revoke, NULL);
}

void ds_space_exit(void)
{
	struct ds_space *space;

	ds_msg_unbind(DS_SERVICE_REVOKE);
	while ((space = list_first_entry_or_null(&ds_spaces, struct ds_space, link)))
		ds_space_remove(space);
}
