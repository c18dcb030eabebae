/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: a bounded queue of messages that wait for who is slow to take them.
 *
 * Hosts whose messages wait take turns. When it is full, the host that has most there gives
 * its last message up for another host's: nobody who floods a queue keeps others from it.
 *
 * The caller holds a lock around each call.
 */
#ifndef _DS_MSG_QUEUE_H
#define _DS_MSG_QUEUE_H

#include <linux/list.h>
#include <linux/types.h>
#include <uapi/ds/wire.h>

struct ds_conn;
struct ds_msg;

/**
 * struct ds_msg_from - where a message came from, and to whom its answer goes
 * @conn: a reference is held; NULL: no message
 * @seq: of the request
 * @want_reply: it is a request
 */
struct ds_msg_from {
	struct ds_conn	*conn;
	u64		seq;
	bool		want_reply;
};

/**
 * struct ds_queued - a message in a queue, or room for one
 * @link: in ds_msg_queue.unused or ds_msg_queue.turns, or in @more of its host's first message
 * @more: of a host's first message: those behind it
 * @count: likewise: how many of the host wait
 * @from: see there
 * @length: bytes of @data
 * @data: payload
 */
struct ds_queued {
	struct list_head	link;
	struct list_head	more;
	u32			count;
	struct ds_msg_from	from;
	u32			length;
	u8			data[DS_MSG_MAX_PAYLOAD];
};

/**
 * struct ds_msg_queue - a queue
 * @msgs: room for all that may wait: others decide how much comes, and the inbox that brings
 *	it must not wait for memory
 * @unused: of @msgs; those in no list have been taken out
 * @turns: of each host whose messages wait the first one; whose turn it is comes first
 */
struct ds_msg_queue {
	struct ds_queued	*msgs;
	struct list_head	unused;
	struct list_head	turns;
};

/* Room for @room messages, charged to the caller. Context: process. Return: 0, -ENOMEM */
int ds_msg_queue_init(struct ds_msg_queue *q, u32 room);
void ds_msg_queue_destroy(struct ds_msg_queue *q);

/**
 * ds_msg_queue_add - put a message in
 * @gone: set to the one that was given up for it, if there is one; to be refused by -EBUSY
 *
 * Return: 0, or -EBUSY: there is no room for this host's
 */
int ds_msg_queue_add(struct ds_msg_queue *q, const struct ds_msg *msg, struct ds_msg_from *gone);

/* Whose turn it is, or NULL. */
struct ds_queued *ds_msg_queue_first(struct ds_msg_queue *q);

/* Take that one out. Its host has its next turn when all others had theirs. */
void ds_msg_queue_take(struct ds_msg_queue *q, struct ds_queued *m);

/* Put it back, as first. */
void ds_msg_queue_untake(struct ds_msg_queue *q, struct ds_queued *m);

/* One that was taken out is done with: there is room for another. */
void ds_msg_queue_free(struct ds_msg_queue *q, struct ds_queued *m);

/* Answer a message, if it is a request, and let its reference go. Context: process, no lock. */
void ds_msg_finish(const struct ds_msg_from *from, u16 service, int status, const void *data,
		   u32 length);

#endif
