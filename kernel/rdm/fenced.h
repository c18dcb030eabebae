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
struct ds_fenced_client;

/* How a fence ended. */
enum ds_fenced_end {
	DS_FENCED_TOLD,		/* the node knows */
	DS_FENCED_MISSED,	/* it does not, and is to be told when it comes */
	DS_FENCED_FAILED,	/* it does not, and nobody counts on it */
};

/**
 * ds_fenced_begin - remember a client that is being fenced
 * @by: who asks for it
 * @req: the request, which names the client
 *
 * Return: for ds_fenced_done(); or an ERR_PTR: -ENOMEM, -EDQUOT: too many are remembered
 */
struct ds_fenced_client *ds_fenced_begin(const struct ds_conn *by, const struct ds_fence_req *req);
void ds_fenced_done(struct ds_fenced_client *client, enum ds_fenced_end end);

/* Answer DS_FENCE_MISSED of a server's connection: those with numbers above @after. Return: 0 */
int ds_fenced_tell(struct ds_conn *conn, u64 after, void *reply, u32 *reply_length);

/* The host behind @conn has ended those that it was told of by this connection. */
void ds_fenced_forget(struct ds_conn *conn);

/* The client's node: end those in the answer of a server. */
void ds_fenced_learn(const struct ds_conn *conn, const struct ds_fenced *fenced);

void ds_fenced_exit(void);

#endif
