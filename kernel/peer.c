// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: peers, the hosts that this host was told to connect to.
 *
 * A peer's work is the only one that opens its connection, so there is one
 * connection at a time: the work opens it, and when it has ended, queues itself
 * again after a delay that grows with each failure.
 *
 * Locking order:
 *	ds_peers_lock
 *		ds_peer.lock
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <uapi/ds/netlink.h>
#include "conn.h"
#include "domain.h"
#include "netlink.h"
#include "params.h"
#include "peer.h"
#include "rdm/space.h"
#include "trace.h"

#define DS_BACKOFF_MIN_MS	100
#define DS_BACKOFF_MAX_MS	5000

static LIST_HEAD(ds_peers);
static DEFINE_MUTEX(ds_peers_lock);
static bool ds_peers_ended;	/* none is added any more */

static void ds_peer_release(struct kref *ref)
{
	struct ds_peer *peer = container_of(ref, struct ds_peer, ref);

	ds_domain_put(peer->domain);
	kfree(peer);
}

void ds_peer_put(struct ds_peer *peer)
{
	kref_put(&peer->ref, ds_peer_release);
}

static void ds_peer_set_state(struct ds_peer *peer, u32 state, const char *reason)
{
	lockdep_assert_held(&peer->lock);
	if (peer->state != DS_PEER_CLOSING)
		peer->state = state;
	peer->reason = reason;
	trace_ds_peer(peer->node, peer->state, reason);
	wake_up_all(&peer->wait);
}

/* Full jitter: peers that lost one host do not all come back at once. */
static unsigned long ds_peer_backoff(struct ds_peer *peer)
{
	u32 ms = DS_BACKOFF_MAX_MS;

	if (peer->state != DS_PEER_REFUSED && peer->failures < 6)
		ms = DS_BACKOFF_MIN_MS << peer->failures;
	return msecs_to_jiffies(ms / 2 + get_random_u32() % (ms / 2 + 1));
}

/* Is the host that answered the one that this peer stands for? */
static void ds_peer_learn(struct ds_peer *peer, const struct ds_hs_host *host)
{
	if (peer->node && peer->node != host->node)
		pr_warn("node %u: its address now belongs to node %u\n", peer->node, host->node);
	if (peer->incarnation && peer->incarnation != host->incarnation)
		pr_info("node %u restarted: its segments of before are lost\n", host->node);
	peer->node = host->node;
	peer->incarnation = host->incarnation;
	memcpy(peer->uuid, host->uuid, sizeof(peer->uuid));
}

static void ds_peer_opened(struct ds_peer *peer, struct ds_conn *conn)
{
	mutex_lock(&peer->lock);
	if (peer->conn != conn) {	/* it has ended again already */
		mutex_unlock(&peer->lock);
		return;
	}
	ds_peer_learn(peer, &conn->hs.peer);
	peer->failures = 0;
	ds_peer_set_state(peer, DS_PEER_UP, NULL);
	mutex_unlock(&peer->lock);
	ds_event_peer(peer->node, false, true, NULL);
	ds_space_conn_up(conn);
}

static void ds_peer_work(struct work_struct *work)
{
	struct ds_peer *peer = container_of(to_delayed_work(work), struct ds_peer, work);
	struct ds_conn *conn = NULL;
	bool refused;
	int ret;

	mutex_lock(&peer->lock);
	if (peer->state != DS_PEER_CLOSING && !peer->conn) {
		conn = ds_conn_alloc(peer);
		peer->conn = conn;
		if (!conn)	/* no memory for it now */
			mod_delayed_work(ds_wq, &peer->work, ds_peer_backoff(peer));
		else if (!peer->failures && !peer->node)
			peer->reason = "the first attempt to connect is under way";
	}
	mutex_unlock(&peer->lock);
	if (!conn)
		return;

	ret = ds_conn_open(conn);
	if (!ret) {
		ds_peer_opened(peer, conn);
	} else {
		refused = conn->refused != DS_REJECT_NONE;
		mutex_lock(&peer->lock);
		peer->failures++;
		ds_peer_set_state(peer, refused ? DS_PEER_REFUSED : DS_PEER_CONNECTING,
				  conn->reason);
		if (peer->state != DS_PEER_CLOSING)
			mod_delayed_work(ds_wq, &peer->work, ds_peer_backoff(peer));
		mutex_unlock(&peer->lock);
	}
	ds_conn_put(conn);
}

void ds_peer_conn_closed(struct ds_peer *peer, struct ds_conn *conn)
{
	bool was_up;

	mutex_lock(&peer->lock);
	was_up = peer->state == DS_PEER_UP;
	if (peer->conn == conn)
		peer->conn = NULL;
	if (was_up)
		ds_peer_set_state(peer, DS_PEER_CONNECTING, conn->reason);
	else if (peer->state == DS_PEER_CONNECTING)
		peer->reason = conn->reason;	/* it may have been up too shortly */
	if (peer->state != DS_PEER_CLOSING)
		queue_delayed_work(ds_wq, &peer->work, ds_peer_backoff(peer));
	wake_up_all(&peer->wait);
	mutex_unlock(&peer->lock);
	if (was_up)
		ds_event_peer(peer->node, false, false, conn->reason);
}

static bool ds_peer_has_addr(const struct ds_peer *peer, const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)&peer->addr;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)&peer->addr;
	const struct sockaddr_in *b4 = (const struct sockaddr_in *)addr;

	if (peer->addr.ss_family != addr->ss_family)
		return false;
	if (addr->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr && a4->sin_port == b4->sin_port;
	return ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr) && a6->sin6_port == b6->sin6_port;
}

static struct ds_peer *ds_peer_new(const struct sockaddr_storage *addr, u32 domain,
				   struct netlink_ext_ack *extack)
{
	struct ds_peer *peer;

	peer = kzalloc(sizeof(*peer), GFP_KERNEL);
	if (!peer)
		return ERR_PTR(-ENOMEM);
	peer->domain = ds_domain_get(domain);
	if (!peer->domain) {
		NL_SET_ERR_MSG(extack, "the trust domain is not known here; add its key first");
		kfree(peer);
		return ERR_PTR(-ENOENT);
	}
	kref_init(&peer->ref);
	mutex_init(&peer->lock);
	init_waitqueue_head(&peer->wait);
	INIT_DELAYED_WORK(&peer->work, ds_peer_work);
	peer->addr = *addr;
	peer->state = DS_PEER_CONNECTING;
	peer->reason = "not yet tried";
	return peer;
}

static void ds_peers_changed(void)
{
	lockdep_assert_held(&ds_peers_lock);
	ds_netlink_changed(DS_CMD_PEER_GET);
	ds_netlink_changed(DS_CMD_STAT_GET);
}

static int ds_peer_insert(struct ds_peer *peer)
{
	struct ds_peer *other;
	int ret = 0;

	mutex_lock(&ds_peers_lock);
	if (ds_peers_ended)
		ret = -ESHUTDOWN;
	list_for_each_entry(other, &ds_peers, link) {
		if (ds_peer_has_addr(other, &peer->addr))
			ret = -EEXIST;
	}
	if (!ret) {
		kref_get(&peer->ref);
		list_add_tail(&peer->link, &ds_peers);
		ds_peers_changed();
		/* Here, as who finds it may delete it at once and cancels the work. */
		queue_delayed_work(ds_wq, &peer->work, 0);
	}
	mutex_unlock(&ds_peers_lock);
	return ret;
}

/* The peer is out of the list: end its connection for good. */
static void ds_peer_shut(struct ds_peer *peer)
{
	struct ds_conn *conn;

	mutex_lock(&peer->lock);
	peer->state = DS_PEER_CLOSING;
	conn = peer->conn;
	if (conn)
		ds_conn_get(conn);
	wake_up_all(&peer->wait);
	mutex_unlock(&peer->lock);

	if (conn) {
		ds_conn_close(conn, "the peer was deleted");
		ds_conn_wait_closed(conn);
		ds_conn_put(conn);
	}
	cancel_delayed_work_sync(&peer->work);
	/* The teardown tells the peer last. */
	wait_event(peer->wait, !READ_ONCE(peer->conn));
	ds_peer_put(peer);
}

static bool ds_peer_remove(struct ds_peer *peer)
{
	bool there;

	mutex_lock(&ds_peers_lock);
	there = !list_empty(&peer->link);
	list_del_init(&peer->link);
	ds_peers_changed();
	mutex_unlock(&ds_peers_lock);
	return there;
}

static int ds_peer_wait_up(struct ds_peer *peer, u32 timeout_ms)
{
	long left;

	left = wait_event_killable_timeout(peer->wait, READ_ONCE(peer->state) != DS_PEER_CONNECTING,
					   msecs_to_jiffies(timeout_ms) + 1);
	if (left < 0)
		return -EINTR;
	if (!left)
		return -ETIMEDOUT;
	switch (READ_ONCE(peer->state)) {
	case DS_PEER_UP:
		return 0;
	case DS_PEER_REFUSED:
		return -ECONNREFUSED;
	default:
		return -ENOENT;		/* deleted meanwhile */
	}
}

int ds_peer_add(const struct sockaddr_storage *addr, u32 domain, u32 timeout_ms,
		u32 *node, struct netlink_ext_ack *extack)
{
	struct ds_peer *peer;
	int ret;

	if (!ds_node_id()) {
		NL_SET_ERR_MSG(extack, "this host has no node number; set one first");
		return -EINVAL;
	}
	peer = ds_peer_new(addr, domain, extack);
	if (IS_ERR(peer))
		return PTR_ERR(peer);
	ret = ds_peer_insert(peer);
	if (ret) {
		if (ret == -EEXIST)
			NL_SET_ERR_MSG(extack,
				       "there is a peer with this address and port already");
		else
			NL_SET_ERR_MSG(extack, "the host shuts down");
		goto put;
	}
	ret = ds_peer_wait_up(peer, timeout_ms);
	*node = READ_ONCE(peer->node);
	if (ret == -ETIMEDOUT) {
		NL_SET_ERR_MSG(extack, "no connection yet; the peer is kept and tried again");
	} else if (ret == -ECONNREFUSED) {
		if (extack)
			extack->_msg = READ_ONCE(peer->reason);
		if (ds_peer_remove(peer))
			ds_peer_shut(peer);
	} else if (ret == -ENOENT) {
		NL_SET_ERR_MSG(extack, "the peer was deleted before it was connected");
	}
put:
	ds_peer_put(peer);
	return ret;
}

int ds_peer_del(u32 node, const struct sockaddr_storage *addr,
		struct netlink_ext_ack *extack)
{
	struct ds_peer *peer, *found = NULL;

	mutex_lock(&ds_peers_lock);
	list_for_each_entry(peer, &ds_peers, link) {
		if (node ? peer->node == node : ds_peer_has_addr(peer, addr)) {
			list_del_init(&peer->link);
			ds_peers_changed();
			found = peer;
			break;
		}
	}
	mutex_unlock(&ds_peers_lock);
	if (!found) {
		NL_SET_ERR_MSG(extack, "there is no such peer");
		return -ENOENT;
	}
	ds_peer_shut(found);
	return 0;
}

struct ds_peer *ds_peer_find(u32 node)
{
	struct ds_peer *peer, *found = NULL;

	mutex_lock(&ds_peers_lock);
	list_for_each_entry(peer, &ds_peers, link) {
		if (peer->node == node) {
			kref_get(&peer->ref);
			found = peer;
			break;
		}
	}
	mutex_unlock(&ds_peers_lock);
	return found;
}

int ds_peer_for_each(int (*fn)(struct ds_peer *peer, void *ctx), void *ctx)
{
	struct ds_peer *peer;
	int ret = 0;

	mutex_lock(&ds_peers_lock);
	list_for_each_entry(peer, &ds_peers, link) {
		ret = fn(peer, ctx);
		if (ret)
			break;
	}
	mutex_unlock(&ds_peers_lock);
	return ret;
}

bool ds_peer_any(void)
{
	bool any;

	mutex_lock(&ds_peers_lock);
	any = !list_empty(&ds_peers);
	mutex_unlock(&ds_peers_lock);
	return any;
}

void ds_peer_exit(void)
{
	struct ds_peer *peer;

	for (;;) {
		mutex_lock(&ds_peers_lock);
		ds_peers_ended = true;
		peer = list_first_entry_or_null(&ds_peers, struct ds_peer, link);
		if (peer)
			list_del_init(&peer->link);
		mutex_unlock(&ds_peers_lock);
		if (!peer)
			return;
		ds_peer_shut(peer);
	}
}
