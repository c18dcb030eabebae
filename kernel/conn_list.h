/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: the list of connections: who is in it, who is found, and how many there may be.
 */
#ifndef _DS_CONN_LIST_H
#define _DS_CONN_LIST_H

#include <linux/types.h>

struct ds_conn;
struct ds_device;

/* For conn.c and accept.c. Once it is in the list, it ends by ds_conn_close() only. */
void ds_conn_publish(struct ds_conn *conn);
void ds_conn_unpublish(struct ds_conn *conn);

/**
 * ds_conn_trust - the other host has proved its key: from here on it is served
 *
 * Context: process.
 * Return: DS_REJECT_NONE, or why it is refused all the same, an enum ds_reject
 */
u32 ds_conn_trust(struct ds_conn *conn);

/* The up connection to @node with a reference, outgoing preferred; or NULL. */
struct ds_conn *ds_conn_find(u32 node);

/* A server's connection with a reference, or NULL. @match is called with the list locked. */
struct ds_conn *ds_conn_match_server(bool (*match)(struct ds_conn *conn, void *ctx), void *ctx);

/* Call @fn for each connection that a host made to us, until it returns non-zero. */
int ds_conn_each_server(int (*fn)(struct ds_conn *conn, void *ctx), void *ctx);

/* Is there room for one more that connects to us? */
bool ds_conn_room(void);

/* Close each connection on @dev (all if NULL) and wait until they are gone. */
void ds_conn_close_device(struct ds_device *dev, const char *reason);

#endif
