/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: lanes, the queue pairs of a connection with their connection manager ids.
 */
#ifndef _DS_LANE_H
#define _DS_LANE_H

#include <linux/types.h>
#include <rdma/rdma_cm.h>

struct ds_conn;
struct ds_lane;

void ds_lane_init(struct ds_conn *conn, struct ds_lane *lane);

/* The queue pair for a lane whose id is there. Context: process. */
int ds_lane_make_qp(struct ds_lane *lane);

/* Fill @param for a request or its answer with @length bytes of private data. */
void ds_lane_param(struct ds_lane *lane, struct rdma_conn_param *param,
		   const void *data, u8 length);

/* The client's two steps. Each waits at most DS_CONN_STEP_MS. Context: process. */
int ds_lane_resolve(struct ds_lane *lane);
int ds_lane_connect(struct ds_lane *lane, u8 role, u64 cookie, u16 index);

/* Handler of the connection manager; id->context is the lane. */
int ds_lane_event(struct rdma_cm_id *id, struct rdma_cm_event *event);

/* Of a connection that is up; see ds_qp_nudge(). */
void ds_lane_nudge(struct ds_lane *lane);

/* Teardown, in this order: whoever waits goes on; nothing is sent; all is gone. */
void ds_lane_wake(struct ds_lane *lane);
void ds_lane_break(struct ds_lane *lane);
void ds_lane_destroy(struct ds_lane *lane);

bool ds_addr_equal(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* A host may connect to itself, to use its own segments as it uses others'. */
bool ds_lane_to_self(const struct rdma_cm_id *id);

#endif
