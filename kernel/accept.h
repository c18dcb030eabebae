/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: the server side of connections.
 */
#ifndef _DS_ACCEPT_H
#define _DS_ACCEPT_H

#include <rdma/rdma_cm.h>
#include <uapi/ds/wire.h>

struct ds_conn;

/*
 * For listen.c: take over a connection request. Context: handler of the
 * connection manager. Return: 0 or why it is refused, an enum ds_reject.
 */
u32 ds_conn_accept(struct rdma_cm_id *id, const struct rdma_conn_param *param);
u32 ds_conn_accept_lane(struct rdma_cm_id *id, const struct rdma_conn_param *param,
			const struct ds_cm_req *req);

/*
 * For conn.c, when the client has proved its key. ds_conn_admit(): if that is still its
 * domain's key, end its earlier connections; returns -ENOENT if not.
 * ds_conn_server_up(): make ready for its lanes; returns 0 when the connection is
 * up, or an errno. Context: process, may sleep.
 */
int ds_conn_admit(struct ds_conn *conn);
int ds_conn_server_up(struct ds_conn *conn);

#endif
