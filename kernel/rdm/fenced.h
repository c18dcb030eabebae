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

/**
 * ds_fenced_begin - remember a client that is being fenced or looked for
 * @by: who asks for it
 * @req: the request, which names the client
 *
 * Return: for ds_fenced_done(), or ERR_PTR(-ENOMEM)
 */
struct ds_fenced_client *ds_fenced_begin(const struct ds_conn *by, const struct ds_fence_req *req);

/**
 * ds_fenced_done - what was begun is at its end
 * @look: nobody was fenced
 * @told: the client's node has answered; else it is to be told when it comes
 * @ret: 0, or why it has failed
 *
 * Return: what to answer: @ret, or -EEXIST of a look if the node has attached meanwhile
 */
int ds_fenced_done(const struct ds_conn *by, struct ds_fenced_client *client, bool look, bool told,
		   int ret);

/* Answer DS_FENCE_MISSED of a server's connection. Return: 0 */
int ds_fenced_tell(const struct ds_conn *conn, void *reply, u32 *reply_length);

/* The host behind @conn has ended those that it was told of, up to @last of an answer. */
void ds_fenced_forget(const struct ds_conn *conn, u64 last);

/* The client's node: end those in the answer of a server. */
void ds_fenced_learn(const struct ds_conn *conn, const struct ds_fenced *fenced);

void ds_fenced_exit(void);

#endif
