// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: lanes, the queue pairs of a connection with their connection manager ids.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include "conn.h"
#include "device.h"
#include "domain.h"
#include "lane.h"
#include "msg.h"
#include "params.h"
#include "verbs.h"

#define DS_ACK_TIMEOUT		16	/* 4.096 us << 16 = 268 ms, seven tries */
#define DS_RETRIES		7
#define DS_READS_IN_FLIGHT	16
#define DS_LANE_SERVER_SQ	4	/* a server posts nothing on data lanes */

bool ds_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return ipv6_addr_equal(&((const struct sockaddr_in6 *)a)->sin6_addr,
			       &((const struct sockaddr_in6 *)b)->sin6_addr);
}

bool ds_lane_to_self(const struct rdma_cm_id *id)
{
	return ds_addr_equal(&id->route.addr.src_addr, &id->route.addr.dst_addr);
}

static void ds_lane_failed(struct ds_qp *qp)
{
	struct ds_lane *lane = qp->ctx;

	ds_conn_close(lane->conn, lane == &lane->conn->ctrl ?
		      "the control queue pair failed" : "a data queue pair failed");
}

/* What the two hosts agree on when they connect; the queue pair will have it. */
static u32 ds_lane_mtu(const struct rdma_cm_id *id)
{
	const struct sa_path_rec *path = id->route.path_rec;

	return path ? ib_mtu_enum_to_int(path->mtu) : 0;
}

static void ds_lane_watch_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct ds_lane *lane = container_of(wc->wr_cqe, struct ds_lane, watch);

	ds_conn_close(lane->conn, wc->status == IB_WC_SUCCESS ?
		      "the other host sent a message on a data queue pair" :
		      "the other host broke a data queue pair");
}

/*
 * A server posts nothing on a data lane that would fail when the client breaks
 * it, say by a dead key, and not every device tells: soft-RoCE has no event for
 * that. But each device flushes the receives of a broken queue pair. So there is
 * one, without room, because no message is ever sent to it.
 */
static int ds_lane_watch(struct ds_lane *lane)
{
	struct ib_recv_wr wr = { .wr_cqe = &lane->watch };

	lane->watch.done = ds_lane_watch_done;
	return ds_recv_post(lane->qp, &wr);
}

int ds_lane_make_qp(struct ds_lane *lane)
{
	struct ds_conn *conn = lane->conn;
	bool ctrl = lane == &conn->ctrl;
	struct ds_qp_attr attr = {
		.id		= lane->id,
		.dev		= conn->dev,
		.pd		= ctrl ? conn->dev->ctrl_pd : conn->pd->ib,
		.pd_token	= ctrl ? conn->dev->ctrl_token : conn->pd->token,
		.sq_size	= ctrl ? DS_MSG_SQ : conn->server ? DS_LANE_SERVER_SQ : ds_sq_size,
		.rq_size	= ctrl ? DS_MSG_RQ : 1,
		.failed		= ds_lane_failed,
		.stats		= ctrl ? NULL : conn->stats,
		.ctx		= lane,
	};
	struct ds_qp *qp;
	int ret;

	attr.sq_size = min_t(u32, attr.sq_size, conn->dev->ib->attrs.max_qp_wr - 1);
	qp = ds_qp_create(&attr);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	lane->qp = qp;
	if (ctrl) {
		conn->mtu = ds_lane_mtu(lane->id);
		return ds_msg_open(conn);
	}
	ret = conn->server ? ds_lane_watch(lane) : 0;
	if (ret) {
		ds_qp_destroy(qp);
		ds_qp_free(qp);
		lane->qp = NULL;
	}
	return ret;
}

void ds_lane_param(struct ds_lane *lane, struct rdma_conn_param *param,
		   const void *data, u8 length)
{
	const struct ib_device_attr *attrs = &lane->conn->dev->ib->attrs;

	memset(param, 0, sizeof(*param));
	param->private_data = data;
	param->private_data_len = length;
	param->initiator_depth = min(DS_READS_IN_FLIGHT, attrs->max_qp_init_rd_atom);
	param->responder_resources = min(DS_READS_IN_FLIGHT, attrs->max_qp_rd_atom);
	param->retry_count = DS_RETRIES;
	param->rnr_retry_count = DS_RETRIES;
	param->qp_num = lane->qp->ib->qp_num;
}

static void ds_lane_rejected(struct ds_lane *lane, const struct rdma_cm_event *event)
{
	struct ds_conn *conn = lane->conn;

	lane->error = -ECONNREFUSED;
	if (lane->established || conn->server) {
		/* A host that ends what it has not seen established rejects it. */
		ds_conn_close(conn, "the other host closed the connection");
		return;
	}
	if (event->status != IB_CM_REJ_CONSUMER_DEFINED)
		return;		/* nobody listens, or it is busy: no verdict of a DS */
	conn->refused = ds_hs_check_rep(event->param.conn.private_data,
					event->param.conn.private_data_len);
	if (conn->refused == DS_REJECT_NONE)
		conn->refused = DS_REJECT_MAGIC;	/* no reason to refuse */
}

/*
 * A queue pair that may have no READ on its way never begins one, and so neither ends nor
 * fails what is posted.
 */
static bool ds_lane_may_read(const struct rdma_cm_event *event)
{
	return event->param.conn.initiator_depth;
}

static void ds_lane_established(struct ds_lane *lane, const struct rdma_cm_event *event)
{
	struct ds_conn *conn = lane->conn;

	lane->established = true;
	ds_qp_set_state(lane->qp, IB_QPS_RTS);
	if (conn->server)
		return;
	conn->refused = ds_hs_check_rep(event->param.conn.private_data,
					event->param.conn.private_data_len);
	if (conn->refused != DS_REJECT_NONE)
		lane->error = -ECONNREFUSED;
	else if (!ds_lane_may_read(event))
		lane->error = -EPROTO;
}

int ds_lane_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct ds_lane *lane = id->context;

	pr_debug("node %u: %s (%d)\n", lane->conn->hs.peer.node,
		 rdma_event_msg(event->event), event->status);
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		ds_lane_established(lane, event);
		break;
	case RDMA_CM_EVENT_REJECTED:
		ds_lane_rejected(lane, event);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		lane->error = -EHOSTUNREACH;
		if (lane->conn->server)
			ds_conn_close(lane->conn, "the connection could not be made");
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		lane->error = -ENOTCONN;
		ds_conn_close(lane->conn, "the other host closed the connection");
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		lane->error = -ENODEV;
		ds_conn_close(lane->conn, "the RDMA device was removed");
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		lane->error = -ENOTCONN;
		ds_conn_close(lane->conn, "the local address changed");
		break;
	default:
		return 0;
	}
	complete(&lane->step);
	return 0;
}

/* The client's wait for the next event of a lane. */
static int ds_lane_wait(struct ds_lane *lane)
{
	if (!wait_for_completion_timeout(&lane->step, msecs_to_jiffies(DS_CONN_STEP_MS)))
		return -ETIMEDOUT;
	if (READ_ONCE(lane->conn->state) == DS_CONN_CLOSING)
		return -ENOTCONN;
	return lane->error;
}

int ds_lane_resolve(struct ds_lane *lane)
{
	struct ds_conn *conn = lane->conn;
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(&init_net, ds_lane_event, lane, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	lane->id = id;
	rdma_set_ack_timeout(id, DS_ACK_TIMEOUT);
	ret = rdma_resolve_addr(id, NULL, (struct sockaddr *)&conn->addr, DS_CONN_STEP_MS / 2);
	if (!ret)
		ret = ds_lane_wait(lane);
	if (!ret)
		ret = rdma_resolve_route(id, DS_CONN_STEP_MS / 2);
	if (!ret)
		ret = ds_lane_wait(lane);
	return ret;
}

int ds_lane_connect(struct ds_lane *lane, u8 role, u64 cookie, u16 index)
{
	struct rdma_conn_param param;
	struct ds_cm_req req;
	int ret;

	ret = ds_lane_make_qp(lane);
	if (ret)
		return ret;
	ds_hs_make_req(&req, role, 0, ds_node_group(), cookie, index);
	ds_lane_param(lane, &param, &req, sizeof(req));
	ret = rdma_connect(lane->id, &param);
	return ret ? ret : ds_lane_wait(lane);
}

void ds_lane_init(struct ds_conn *conn, struct ds_lane *lane)
{
	lane->conn = conn;
	init_completion(&lane->step);
}

void ds_lane_wake(struct ds_lane *lane)
{
	complete_all(&lane->step);
}

void ds_lane_nudge(struct ds_lane *lane)
{
	if (lane->qp)
		ds_qp_nudge(lane->qp);
}

void ds_lane_break(struct ds_lane *lane)
{
	if (lane->id && lane->qp) {
		rdma_disconnect(lane->id);
		ds_qp_break(lane->qp);
	}
}

/* The order matters: a queue pair is gone before its id, both before the device. */
void ds_lane_destroy(struct ds_lane *lane)
{
	if (lane->qp)
		ds_qp_destroy(lane->qp);
	if (lane->id)
		rdma_destroy_id(lane->id);
	lane->id = NULL;
}
