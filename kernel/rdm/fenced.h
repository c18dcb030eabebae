/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: clients that were fenced while their node could not be asked: what a memory
 * server remembers until the node comes back. Context of all: process.
 */
#ifndef _DS_FENCED_H
#define _DS_FENCED_H

#include <linux/types.h>
#include <uapi/ds/wire.h>

struct ds_conn;

/* Remember, and not, the client that a request of domain @domain names. -ENOMEM. */
int ds_fenced_add(u32 domain, const struct ds_fence_req *req);
void ds_fenced_del(u32 domain, const struct ds_fence_req *req);

/* Answer DS_FENCE_MISSED of a server's connection. Return: 0 */
int ds_fenced_tell(struct ds_conn *conn, void *reply, u32 *reply_length);

/* The host behind @conn has ended those that it was told of by this connection. */
void ds_fenced_forget(struct ds_conn *conn);

/* The client's node: end those in an answer. */
void ds_fenced_end(const struct ds_fenced *fenced);

void ds_fenced_exit(void);

#endif
