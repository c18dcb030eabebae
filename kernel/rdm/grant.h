/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: who holds the keys of a segment.
 */
#ifndef _DS_GRANT_H
#define _DS_GRANT_H

#include <linux/types.h>

struct ds_conn;
struct ds_msg;
struct ds_segment;

/* Serves DS_SERVICE_SEGMENT: attach and detach. Context: process. */
int ds_grant_serve(void *ctx, const struct ds_msg *msg, void *reply, u32 *reply_length);

/**
 * ds_grant_take_all - take a segment's keys away from all that hold them
 * @gone: the segment is being deleted: nobody gets keys any more
 *
 * When it returns 0, no peer can reach the pages.
 * Context: process, may sleep for seconds.
 * Return: 0, or -EBUSY: somebody else is at it
 */
int ds_grant_take_all(struct ds_segment *seg, bool gone);

/* A server connection ends: drop what it has attached. Context: process. */
void ds_grant_conn_gone(struct ds_conn *conn);

/* Does the connection hold keys of the segment? */
bool ds_grant_holds(struct ds_segment *seg, struct ds_conn *conn);

/* Connections that hold keys of the segment. */
u32 ds_grant_holders(struct ds_segment *seg);

#endif
