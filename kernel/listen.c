// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the listener. It accepts connection requests on ds_port of all RDMA
 * devices, refuses malformed ones with a reason, and gives the rest to conn.c.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/in.h>
#include <linux/in6.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>
#include "accept.h"
#include "conn.h"
#include "domain.h"
#include "params.h"
#include "trace.h"

#define DS_LISTEN_BACKLOG	128

static struct rdma_cm_id *ds_listener;

static int ds_listen_request(struct rdma_cm_id *id, const struct rdma_conn_param *param)
{
	struct ds_cm_req req;
	struct ds_cm_rep rep;
	u32 reject;

	reject = ds_hs_check_req(param->private_data, param->private_data_len,
				 ds_node_group(), &req);
	if (reject == DS_REJECT_NONE) {
		if (req.role == DS_ROLE_CONTROL)
			reject = ds_conn_accept(id, param);
		else
			reject = ds_conn_accept_lane(id, param, &req);
	}
	trace_ds_handshake(0, true, "request", reject);
	if (reject == DS_REJECT_NONE)
		return 0;

	ds_stat_inc(NULL, DS_STAT_HANDSHAKES_REFUSED);
	ds_hs_make_rep(&rep, reject);
	rdma_reject(id, &rep, sizeof(rep), IB_CM_REJ_CONSUMER_DEFINED);
	return -ECONNREFUSED;	/* the connection manager destroys the id */
}

static int ds_listen_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return ds_listen_request(id, &event->param.conn);
	default:
		pr_debug("listener: %s (%d)\n", rdma_event_msg(event->event), event->status);
		return 0;
	}
}

/* IPv6's wildcard takes IPv4 too; without IPv6 there is IPv4's. */
static int ds_listen_bind(void)
{
	struct sockaddr_in6 any6 = {
		.sin6_family	= AF_INET6,
		.sin6_port	= htons(ds_port),
		.sin6_addr	= IN6ADDR_ANY_INIT,
	};
	struct sockaddr_in any4 = {
		.sin_family	= AF_INET,
		.sin_port	= htons(ds_port),
	};
	int ret;

	ret = rdma_bind_addr(ds_listener, (struct sockaddr *)&any6);
	if (ret == -EAFNOSUPPORT)
		ret = rdma_bind_addr(ds_listener, (struct sockaddr *)&any4);
	return ret;
}

int ds_listen_start(void)
{
	int ret;

	ds_listener = rdma_create_id(&init_net, ds_listen_event, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(ds_listener))
		return PTR_ERR(ds_listener);
	ret = ds_listen_bind();
	if (ret) {
		pr_err("port %u cannot be used (%d); is another program listening on it?\n",
		       ds_port, ret);
		goto err_destroy;
	}
	ret = rdma_listen(ds_listener, DS_LISTEN_BACKLOG);
	if (ret)
		goto err_destroy;
	return 0;

err_destroy:
	rdma_destroy_id(ds_listener);
	return ret;
}

/* Twice, if the module is unloaded while the host goes down. */
void ds_listen_stop(void)
{
	if (ds_listener)
		rdma_destroy_id(ds_listener);
	ds_listener = NULL;
}
