/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: fencing, the end of a client on any host.
 */
#ifndef _DS_FENCE_H
#define _DS_FENCE_H

#include <linux/types.h>

struct ds_conn;
struct ds_space;

/**
 * ds_fence - end the client @token of node @node, which uses the segments of @space
 * @flags: DS_FENCE_*
 *
 * Context: process, killable, at most @timeout_ms.
 * Return: 0: none of its operations is under way or will be; or an errno of
 *	struct ds_ioc_fence
 */
int ds_fence(struct ds_space *space, u32 node, u64 token, u32 flags, u32 timeout_ms);

/**
 * ds_fence_catch_up - end the clients of this host that were fenced while the server
 * behind @conn could not ask for it
 * @segment: that is going to be attached
 * @last: for ds_attach_up()
 *
 * Context: process, killable. Return: 0, -ENOMEM, -EPROTO, or as ds_msg_request()
 */
int ds_fence_catch_up(struct ds_conn *conn, u64 segment, u32 timeout_ms, u64 *last);

int ds_fence_init(void);
void ds_fence_exit(void);

#endif
