/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: what msg.c, which sends messages, and inbox.c, which receives them, share.
 * Nobody else includes this.
 */
#ifndef _DS_MSG_STATE_H
#define _DS_MSG_STATE_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include "conn.h"
#include "device.h"
#include "msg.h"

#define DS_MSG_GIVE_BACK	(DS_MSG_CREDITS / 4)	/* owed credits that are worth a message */

/* A receive buffer. */
struct ds_rx {
	struct ib_cqe		cqe;
	struct list_head	link;
	struct ds_conn		*conn;
	u32			length;
	u64			dma;
	struct ds_msg_hdr	*hdr;
};

/* A request that waits for its response, on the requester's stack. */
struct ds_wait {
	struct completion	done;
	void			*reply;
	u32			size;
	u32			length;
	int			status;
	bool			answered;
};

struct ds_msg_state {
	spinlock_t		lock;		/* of all but rx and users */
	refcount_t		users;		/* one for the open connection, one a sender */
	struct completion	unused;
	bool			aborted;
	int			credits;	/* messages that we may send */
	u32			owed;		/* credits that we have not given back */
	bool			owed_late;	/* they found the send queue full */
	u32			waiting;	/* requests of ours without response */
	struct list_head	senders;	/* msg_turn.c */
	struct xarray		pending;	/* seq -> struct ds_wait */
	u64			seq;
	u64			heard;

	/* inbox.c */
	struct list_head	inbox;
	struct work_struct	inbox_work;
	void			*reply;		/* of the inbox work */
	struct ds_rx		rx[DS_MSG_RQ];
};

static inline struct ib_device *ds_msg_ib(struct ds_conn *conn)
{
	return conn->dev->ib;
}

/*
 * msg.c: send and forget; wait for room in the send queue until @until (ktime ns), or
 * not at all if that is 0. Context: process.
 */
int ds_msg_send(struct ds_conn *conn, u8 type, u16 service, u64 seq, u32 status,
		const void *data, u32 length, u64 until);

/* inbox.c: its part of a new state. */
void ds_inbox_init(struct ds_conn *conn, struct ds_msg_state *m);

#endif
