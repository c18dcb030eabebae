// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: one connection to another host, from its first step to its end.
 *
 * Normal operation. A client connects its control lane, runs the handshake on
 * it, then connects the lanes that AUTH_OK allowed, one by one. A server
 * accepts a control lane from anybody, but gives it nothing except the
 * handshake until that is through; then it accepts lanes by cookie.
 *
 * Recovery. There is none within a connection: whatever fails calls
 * ds_conn_close(), once is enough, and the work behind it takes all queue pairs
 * down. Callbacks of the connection manager must not destroy their id, so this
 * is always done by the work.
 *
 * Locking order:
 *	ds_conn.lanes_lock
 *		ds_conn.lock
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/slab.h>
#include <uapi/ds/netlink.h>
#include "accept.h"
#include "conn.h"
#include "conn_list.h"
#include "debug.h"
#include "device.h"
#include "domain.h"
#include "hmac.h"
#include "lane.h"
#include "msg.h"
#include "netlink.h"
#include "params.h"
#include "peer.h"
#include "rdm/grant.h"
#include "rdm/space.h"
#include "trace.h"
#include "verbs.h"

#define DS_MISSED_BEATS		5
#define DS_REFUSE_MS		500

static void ds_conn_release(struct kref *ref)
{
	struct ds_conn *conn = container_of(ref, struct ds_conn, ref);
	u32 i;

	for (i = 0; i < DS_MAX_LANES; i++) {
		if (conn->bulk[i].qp)
			ds_qp_free(conn->bulk[i].qp);
	}
	if (conn->urgent.qp)
		ds_qp_free(conn->urgent.qp);
	if (conn->ctrl.qp)
		ds_qp_free(conn->ctrl.qp);
	ds_msg_free(conn);
	if (conn->peer)
		ds_peer_put(conn->peer);	/* @stats is in it */
	kfree_sensitive(conn);
}

void ds_conn_get(struct ds_conn *conn)
{
	kref_get(&conn->ref);
}

void ds_conn_put(struct ds_conn *conn)
{
	kref_put(&conn->ref, ds_conn_release);
}

/* ---- client ---- */

static void ds_conn_beat_work(struct work_struct *work);
static void ds_conn_close_work(struct work_struct *work);

/*
 * A server's lanes are made inside the connection manager's handler, a client's
 * are made by calls into the connection manager: two classes for lockdep, as one
 * connection is never both.
 */
static struct lock_class_key ds_lanes_key[2];

struct ds_conn *ds_conn_new(bool server)
{
	struct ds_conn *conn;
	u32 i;

	conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	if (!conn)
		return NULL;
	if (ds_msg_alloc(conn)) {
		kfree(conn);
		return NULL;
	}
	kref_init(&conn->ref);
	INIT_LIST_HEAD(&conn->link);
	spin_lock_init(&conn->lock);
	mutex_init(&conn->lanes_lock);
	lockdep_set_class(&conn->lanes_lock, &ds_lanes_key[server]);
	init_completion(&conn->settled);
	init_completion(&conn->closed);
	INIT_DELAYED_WORK(&conn->beat_work, ds_conn_beat_work);
	INIT_WORK(&conn->close_work, ds_conn_close_work);
	conn->server = server;
	ds_lane_init(conn, &conn->ctrl);
	ds_lane_init(conn, &conn->urgent);
	for (i = 0; i < DS_MAX_LANES; i++)
		ds_lane_init(conn, &conn->bulk[i]);
	return conn;
}

struct ds_conn *ds_conn_alloc(struct ds_peer *peer)
{
	struct ds_conn *conn = ds_conn_new(false);

	if (!conn)
		return NULL;
	conn->peer = peer;
	kref_get(&peer->ref);
	conn->stats = &peer->stats;
	conn->addr = peer->addr;
	conn->domain = peer->domain;
	ds_domain_ref(conn->domain);
	ds_conn_publish(conn);
	return conn;
}

/*
 * Have the beat work run if the state is still @state. The teardown cancels the
 * work after it has set the state under the lock, so it is never queued later.
 */
void ds_conn_beat_after(struct ds_conn *conn, enum ds_conn_state state, u32 ms)
{
	spin_lock_bh(&conn->lock);
	if (conn->state == state)
		mod_delayed_work(ds_wq, &conn->beat_work, msecs_to_jiffies(ms));
	spin_unlock_bh(&conn->lock);
}

/* Those who connect to us are listed while they are up, and strangers change nothing. */
static void ds_conn_listed(const struct ds_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (!conn->server)
		return;
	ds_netlink_changed(DS_CMD_PEER_GET);
	ds_netlink_changed(DS_CMD_STAT_GET);
}

/* NEW -> UP; false if it is being closed already. */
bool ds_conn_set_up(struct ds_conn *conn)
{
	bool up;

	spin_lock_bh(&conn->lock);
	up = conn->state == DS_CONN_NEW;
	if (up) {
		conn->state = DS_CONN_UP;
		conn->was_up = true;
		ds_conn_listed(conn);
	}
	spin_unlock_bh(&conn->lock);
	ds_conn_beat_after(conn, DS_CONN_UP, ds_heartbeat_ms);
	if (up) {
		ds_stat_inc(conn->stats, DS_STAT_CONNECTS);
		trace_ds_conn(conn->hs.peer.node, conn->server, "up");
	}
	return up;
}

static int ds_conn_open_lanes(struct ds_conn *conn)
{
	u32 lanes = le16_to_cpu(conn->hs.auth_ok.lanes);
	struct ds_pd *pd;
	int ret;
	u32 i;

	pd = ds_pd_get(conn->dev, conn->domain);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	conn->pd = pd;
	for (i = 0; i < lanes; i++) {
		ret = ds_failpoint(DS_FP_LANE_CONNECT);
		if (!ret)
			ret = ds_lane_resolve(&conn->bulk[i]);
		if (!ret)
			ret = ds_lane_connect(&conn->bulk[i], DS_ROLE_BULK,
					      le64_to_cpu(conn->hs.auth_ok.bulk[i]), i);
		if (ret)
			return ret;
	}
	conn->lanes = lanes;
	ret = ds_lane_resolve(&conn->urgent);
	if (!ret)
		ret = ds_lane_connect(&conn->urgent, DS_ROLE_URGENT,
				      le64_to_cpu(conn->hs.auth_ok.urgent), 0);
	return ret;
}

/* Make HELLO. From the connection on, the handshake is the inbox's alone. */
static void ds_conn_hello(struct ds_conn *conn, struct ds_hs_out *out)
{
	struct ds_hs_host self;

	ds_node_describe(&self, conn->domain->id);
	ds_hs_init(&conn->hs, false, &self, &ds_hmac_ops, &conn->domain_serial);
	conn->hs.to_self = ds_lane_to_self(conn->ctrl.id);
	ds_hs_hello(&conn->hs, out);
}

static int ds_conn_shake_hands(struct ds_conn *conn, const struct ds_hs_out *hello)
{
	int ret;

	ret = ds_failpoint(DS_FP_HELLO);
	if (!ret)
		ret = ds_msg_send_raw(conn, hello->type, 0, &hello->payload, hello->length);
	if (ret)
		return ret;
	if (!wait_for_completion_timeout(&conn->settled, msecs_to_jiffies(DS_HANDSHAKE_MS)))
		return -ETIMEDOUT;
	return READ_ONCE(conn->state) == DS_CONN_CLOSING ? -ECONNREFUSED : 0;
}

static const char *ds_conn_open_error(struct ds_conn *conn, int ret)
{
	if (conn->refused)
		return ds_reject_text(conn->refused);
	switch (ret) {
	case -ETIMEDOUT:
		if (conn->dev && ds_device_is_deaf(conn->dev, conn->ctrl.id->port_num))
			return "queue pair 1 of the RDMA device is in error; make the device anew";
		return "no answer in time";
	case -ECONNREFUSED:
		return "nobody listens at the address and port, or the host is too busy";
	case -EHOSTUNREACH:
		return "the address cannot be reached over an RDMA device";
	case -ENODEV:
		return "no usable RDMA device leads to the address";
	case -ENOMEM:
		return "out of memory";
	case -EPROTO:
		return "the other host would let no READ be under way";
	default:
		return "the connection failed while it was made";
	}
}

static int ds_conn_try_open(struct ds_conn *conn)
{
	struct ds_hs_out hello;
	int ret;

	ret = ds_lane_resolve(&conn->ctrl);
	if (ret)
		return ret;
	conn->dev = ds_device_get(conn->ctrl.id->device);
	if (!conn->dev)
		return -ENODEV;
	ds_conn_hello(conn, &hello);
	ret = ds_lane_connect(&conn->ctrl, DS_ROLE_CONTROL, 0, 0);
	if (!ret)
		ret = ds_conn_shake_hands(conn, &hello);
	if (!ret)
		ret = ds_conn_open_lanes(conn);
	if (!ret && !ds_conn_set_up(conn))
		ret = -ENOTCONN;
	return ret;
}

int ds_conn_open(struct ds_conn *conn)
{
	const char *error = NULL;
	int ret;

	/*
	 * Somebody may have closed it. Device and lanes last for as long as the lock is
	 * held; a teardown that had the lock before does not look for lanes made after.
	 */
	ret = ds_failpoint(DS_FP_CONN_OPEN);
	mutex_lock(&conn->lanes_lock);
	if (!ret && READ_ONCE(conn->state) == DS_CONN_CLOSING)
		ret = -ENOTCONN;
	if (!ret)
		ret = ds_conn_try_open(conn);
	if (ret)
		error = ds_conn_open_error(conn, ret);
	mutex_unlock(&conn->lanes_lock);
	if (ret) {
		ds_conn_close(conn, error);
		ds_conn_wait_closed(conn);
		/* A refusal flushes the queue pair, which may be seen before the reason. */
		if (conn->refused)
			conn->reason = ds_reject_text(conn->refused);
	}
	return ret;
}

/* The other host has proved its key. Return 1, 0 if it is closed, or -EPROTO and a refusal. */
static int ds_conn_shaken(struct ds_conn *conn, struct ds_hs_out *out)
{
	u32 reject;

	if (conn->server && ds_conn_admit(conn)) {
		ds_conn_close(conn, "its trust domain is another one now");
		return 0;
	}
	reject = ds_conn_trust(conn);
	if (reject) {
		*out = (struct ds_hs_out){ .type = DS_MSG_REFUSE, .status = reject };
		conn->hs.reject = reject;
		return -EPROTO;
	}
	if (conn->server && ds_conn_server_up(conn)) {
		ds_conn_close(conn, "no resources for an authenticated connection");
		return 0;
	}
	return 1;
}

void ds_conn_handshake(struct ds_conn *conn, const struct ds_msg_hdr *hdr, const void *payload)
{
	struct ds_hs_out out;
	int ret, up;

	if (READ_ONCE(conn->state) != DS_CONN_NEW) {
		ds_conn_close(conn, "a handshake message came after the handshake");
		return;
	}
	up = ds_hs_input(&conn->hs, hdr, payload, &out);
	trace_ds_handshake(conn->hs.peer.node, conn->server, "input", conn->hs.reject);
	if (up == 1) {
		up = ds_conn_shaken(conn, &out);
		if (!up)
			return;
	}
	if (out.type) {
		conn->refusing = out.type == DS_MSG_REFUSE;
		ret = ds_failpoint(out.type == DS_MSG_AUTH_OK ? DS_FP_AUTH_OK : DS_FP_HELLO);
		if (!ret)
			ret = ds_msg_send_raw(conn, out.type, out.status, &out.payload, out.length);
		if (ret && up >= 0)
			ds_conn_close(conn, "the handshake could not be sent");
	}
	if (up < 0) {
		conn->refused = conn->hs.reject;
		ds_stat_inc(conn->stats, DS_STAT_HANDSHAKES_REFUSED);
		ds_conn_close(conn, ds_reject_text(conn->hs.reject));
	} else if (up == 1) {
		complete_all(&conn->settled);
		if (conn->server)
			ds_event_peer(conn->hs.peer.node, true, true, NULL);
	}
}

/* Not left to the inbox, whose work a disconnect overtakes. */
void ds_conn_refused(struct ds_conn *conn, u32 reason)
{
	if (conn->server || READ_ONCE(conn->trusted))
		return;
	conn->refused = reason && reason <= DS_REJECT_NODE ? reason : DS_REJECT_MAGIC;
}

static void ds_conn_all_lanes(struct ds_conn *conn, void (*fn)(struct ds_lane *lane))
{
	u32 i;

	for (i = 0; i < DS_MAX_LANES; i++)
		fn(&conn->bulk[i]);
	fn(&conn->urgent);
	fn(&conn->ctrl);
}

/* ---- heartbeat ---- */

static void ds_conn_beat(struct ds_conn *conn)
{
	int status, ret;
	u32 none = 0;
	u64 start;

	ds_conn_all_lanes(conn, ds_lane_nudge);	/* all are there: it is who has connected them */
	start = ktime_get_ns();
	ret = ds_msg_request(conn, DS_SERVICE_LINK, NULL, 0, NULL, &none, &status,
			     DS_MISSED_BEATS * ds_heartbeat_ms, NULL);
	if (ret == -ETIMEDOUT)
		ds_conn_close(conn, "the other host does not answer heartbeats");
	else if (!ret)
		ds_qp_rtt(conn->ctrl.qp, ktime_get_ns() - start);
}

static void ds_conn_beat_work(struct work_struct *work)
{
	struct ds_conn *conn = container_of(to_delayed_work(work), struct ds_conn, beat_work);
	u64 silence = 2ull * DS_MISSED_BEATS * ds_heartbeat_ms * NSEC_PER_MSEC;

	if (READ_ONCE(conn->state) == DS_CONN_NEW) {
		ds_conn_close(conn, "the handshake took too long");
		return;
	}
	if (!conn->server)
		ds_conn_beat(conn);
	else if (ds_msg_heard_ns(conn) > max_t(u64, silence, 10ull * NSEC_PER_SEC))
		ds_conn_close(conn, "the other host fell silent");

	ds_conn_beat_after(conn, DS_CONN_UP, ds_heartbeat_ms);
}

/* ---- teardown ---- */

void ds_conn_close(struct ds_conn *conn, const char *reason)
{
	enum ds_conn_state old;

	spin_lock_bh(&conn->lock);
	old = conn->state;
	if (old != DS_CONN_CLOSING) {
		conn->state = DS_CONN_CLOSING;
		conn->reason = reason;
	}
	if (old == DS_CONN_UP)
		ds_conn_listed(conn);
	spin_unlock_bh(&conn->lock);
	if (old == DS_CONN_CLOSING)
		return;
	trace_ds_conn(conn->hs.peer.node, conn->server, reason);
	if (old == DS_CONN_UP)
		ds_stat_inc(conn->stats, DS_STAT_DISCONNECTS);
	/* An opener that waits goes on, finds the state, and gives up. */
	complete_all(&conn->settled);
	ds_conn_all_lanes(conn, ds_lane_wake);
	queue_work(ds_close_wq, &conn->close_work);
}

static void ds_conn_close_work(struct work_struct *work)
{
	struct ds_conn *conn = container_of(work, struct ds_conn, close_work);

	/* A lane in the making is whole or refused after this. */
	mutex_lock(&conn->lanes_lock);
	mutex_unlock(&conn->lanes_lock);

	/* A device may send in its own time what is lost when the queue pair breaks. */
	if (conn->refusing)
		ds_qp_wait_idle(conn->ctrl.qp, DS_REFUSE_MS);
	ds_conn_all_lanes(conn, ds_lane_break);
	ds_msg_abort(conn);
	cancel_delayed_work_sync(&conn->beat_work);
	if (conn->server)
		ds_grant_conn_gone(conn);
	ds_conn_all_lanes(conn, ds_lane_destroy);
	if (!conn->server)
		ds_space_conn_down(conn);
	ds_msg_close(conn);

	if (conn->pd)
		ds_pd_put(conn->pd);
	if (conn->domain)
		ds_domain_put(conn->domain);
	if (conn->was_up && conn->server)
		ds_event_peer(conn->hs.peer.node, true, false, conn->reason);

	ds_conn_unpublish(conn);
	if (conn->dev)
		ds_device_put(conn->dev);	/* who looks through the list looks at it */
	complete_all(&conn->closed);
	if (conn->peer)
		ds_peer_conn_closed(conn->peer, conn);
	ds_conn_put(conn);	/* the list's */
}

void ds_conn_wait_closed(struct ds_conn *conn)
{
	wait_for_completion(&conn->closed);
}

struct ds_qp *ds_conn_lane(struct ds_conn *conn, u32 hash)
{
	return conn->bulk[hash % conn->lanes].qp;
}

int ds_conn_init(void)
{
	return ds_hmac_init();
}

void ds_conn_exit(void)
{
	ds_conn_close_device(NULL, "the module is being unloaded");
	ds_hmac_exit();
}
