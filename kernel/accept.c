// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the server side of connections: control lanes from anybody, data lanes
 * from those who have a cookie.
 */
#include <linux/string.h>
#include "accept.h"
#include "conn.h"
#include "conn_list.h"
#include "device.h"
#include "domain.h"
#include "hmac.h"
#include "lane.h"
#include "msg.h"
#include "verbs.h"

u32 ds_conn_accept(struct rdma_cm_id *id, const struct rdma_conn_param *param)
{
	struct rdma_conn_param reply;
	struct ds_hs_host self;
	struct ds_conn *conn;
	struct ds_cm_rep rep;
	int ret;

	if (!ds_conn_room())
		return DS_REJECT_BUSY;
	conn = ds_conn_new(true);
	if (!conn)
		return DS_REJECT_BUSY;
	/* Until it is published, the end of its queue pair must not begin a teardown. */
	conn->state = DS_CONN_CLOSING;
	conn->stats = &conn->own_stats;
	memcpy(&conn->addr, &id->route.addr.dst_addr, sizeof(conn->addr));
	ds_node_describe(&self, 0);
	ds_hs_init(&conn->hs, true, &self, &ds_hmac_ops, &conn->domain_serial);
	conn->hs.to_self = ds_lane_to_self(id);
	conn->dev = ds_device_get(id->device);
	if (!conn->dev)
		goto err_put;

	conn->ctrl.id = id;
	ret = ds_lane_make_qp(&conn->ctrl);
	if (ret)
		goto err_qp;
	ds_hs_make_rep(&rep, DS_REJECT_NONE);
	ds_lane_param(&conn->ctrl, &reply, &rep, sizeof(rep));
	id->context = &conn->ctrl;
	id->event_handler = ds_lane_event;
	ds_conn_publish(conn);
	ds_conn_beat_after(conn, DS_CONN_NEW, DS_HANDSHAKE_MS);
	ret = rdma_accept(id, &reply);
	if (ret)
		ds_conn_close(conn, "the connection could not be accepted");
	ds_conn_put(conn);	/* the list has its own */
	return DS_REJECT_NONE;

err_qp:
	if (conn->ctrl.qp)
		ds_qp_destroy(conn->ctrl.qp);
	ds_msg_close(conn);
	ds_device_put(conn->dev);
err_put:
	ds_conn_put(conn);
	return DS_REJECT_BUSY;
}

/* The lane that @req has the cookie of, which is spent by this. */
static struct ds_lane *ds_conn_take_cookie(struct ds_conn *conn, const struct ds_cm_req *req)
{
	u64 cookie = le64_to_cpu(req->cookie);
	u32 index = le16_to_cpu(req->lane);
	struct ds_lane *lane;

	if (req->role == DS_ROLE_URGENT)
		lane = &conn->urgent;
	else if (index < conn->lanes)
		lane = &conn->bulk[index];
	else
		return NULL;

	spin_lock_bh(&conn->lock);
	if (conn->state == DS_CONN_UP && cookie && lane->cookie == cookie)
		lane->cookie = 0;
	else
		lane = NULL;
	spin_unlock_bh(&conn->lock);
	return lane;
}

/* What a lane's request is matched with. */
struct ds_lane_request {
	struct rdma_cm_id	*id;
	const struct ds_cm_req	*req;
	struct ds_lane		*lane;	/* found */
};

static bool ds_conn_has_cookie(struct ds_conn *conn, void *ctx)
{
	struct ds_lane_request *r = ctx;

	if (conn->dev->ib != r->id->device ||
	    !ds_addr_equal(&conn->addr, &r->id->route.addr.dst_addr))
		return false;
	r->lane = ds_conn_take_cookie(conn, r->req);
	return r->lane;
}

u32 ds_conn_accept_lane(struct rdma_cm_id *id, const struct rdma_conn_param *param,
			const struct ds_cm_req *req)
{
	struct ds_lane_request r = { .id = id, .req = req };
	struct rdma_conn_param reply;
	struct ds_cm_rep rep;
	struct ds_lane *lane;
	struct ds_conn *conn;
	u32 reject = DS_REJECT_BUSY;
	int ret;

	conn = ds_conn_match_server(ds_conn_has_cookie, &r);
	if (!conn)
		return DS_REJECT_COOKIE;
	lane = r.lane;

	mutex_lock(&conn->lanes_lock);
	if (READ_ONCE(conn->state) != DS_CONN_UP)
		goto unlock;
	lane->id = id;
	ret = ds_lane_make_qp(lane);
	if (ret) {
		lane->id = NULL;
		goto unlock;
	}
	id->context = lane;
	id->event_handler = ds_lane_event;
	ds_hs_make_rep(&rep, DS_REJECT_NONE);
	ds_lane_param(lane, &reply, &rep, sizeof(rep));
	ret = rdma_accept(id, &reply);
	if (ret)
		ds_conn_close(conn, "a data lane could not be accepted");
	reject = DS_REJECT_NONE;
unlock:
	mutex_unlock(&conn->lanes_lock);
	ds_conn_put(conn);
	return reject;
}

/* An earlier connection of the same host, in the same domain, from the same address? */
static bool ds_conn_is_older(struct ds_conn *old, void *ctx)
{
	struct ds_conn *conn = ctx;

	return old->trusted && old->serial < conn->serial &&
	       !memcmp(old->hs.peer.uuid, conn->hs.peer.uuid, sizeof(conn->hs.peer.uuid)) &&
	       old->hs.peer.domain == conn->hs.peer.domain &&
	       ds_addr_equal(&old->addr, &conn->addr);
}

/*
 * A host that connects again has given its earlier connection up. Before it may
 * operate on the new one, the old queue pairs are gone on this side too: a
 * packet of before that is still on its way can then do nothing (rule 9). Only
 * older connections are waited for, so no two wait for each other.
 */
static void ds_conn_fence_older(struct ds_conn *conn)
{
	struct ds_conn *old;

	while ((old = ds_conn_match_server(ds_conn_is_older, conn))) {
		ds_conn_close(old, "the other host connected anew");
		ds_conn_wait_closed(old);
		ds_conn_put(old);
	}
}

int ds_conn_admit(struct ds_conn *conn)
{
	struct ds_domain *domain = ds_domain_get(conn->hs.peer.domain);

	if (!domain)
		return -ENOENT;
	/* One that was made anew since the hello may have another key. */
	if (domain->serial != conn->domain_serial) {
		ds_domain_put(domain);
		return -ENOENT;
	}
	conn->domain = domain;
	ds_conn_fence_older(conn);
	return 0;
}

int ds_conn_server_up(struct ds_conn *conn)
{
	struct ds_pd *pd;
	u32 i;

	ds_conn_fence_older(conn);	/* one may have been trusted meanwhile */
	pd = ds_pd_get(conn->dev, conn->domain);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	conn->pd = pd;
	conn->lanes = le16_to_cpu(conn->hs.auth_ok.lanes);
	conn->urgent.cookie = le64_to_cpu(conn->hs.auth_ok.urgent);
	for (i = 0; i < conn->lanes; i++)
		conn->bulk[i].cookie = le64_to_cpu(conn->hs.auth_ok.bulk[i]);
	return ds_conn_set_up(conn) ? 0 : -ENOTCONN;
}
