/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: control messages between hosts (document 003's control plane): requests
 * with a response, and one-way messages, to a service of the other host, up to
 * DS_MSG_MAX_PAYLOAD bytes.
 */
#ifndef _DS_MSG_H
#define _DS_MSG_H

#include <linux/types.h>
#include <uapi/ds/wire.h>

struct ds_conn;
struct ds_qp;

/**
 * struct ds_msg - a message that arrived, as a service's handler sees it
 * @conn: where it came from; valid during the handler, take a reference to keep
 * @service: service it is for
 * @want_reply: it is a REQUEST
 * @seq: of the REQUEST
 * @length: bytes of @data
 * @data: payload; a private copy that the peer cannot change; valid during the handler
 */
struct ds_msg {
	struct ds_conn	*conn;
	u16		service;
	bool		want_reply;
	u64		seq;
	u32		length;
	const void	*data;
};

/**
 * typedef ds_msg_handler - what a service does with a message
 * @reply: room of DS_MSG_MAX_PAYLOAD bytes for the response
 * @reply_length: set to its bytes
 *
 * Context: workqueue, may sleep; several may run at once.
 * Return: status of the response (0 or -errno), or DS_MSG_REPLY_LATER if
 *	ds_msg_respond() will be called
 */
typedef int (*ds_msg_handler)(void *ctx, const struct ds_msg *msg, void *reply,
			      u32 *reply_length);

#define DS_MSG_REPLY_LATER	1

/* service.c. -EADDRINUSE if the service is taken. Unbinding waits until no handler runs. */
int ds_msg_bind(u16 service, ds_msg_handler handler, void *ctx);
void ds_msg_unbind(u16 service);

/**
 * ds_msg_request - send a request and wait for the response
 * @reply: room for the payload; @reply_length: in: its size, out: bytes that arrived
 * @status: status of the response
 * @outcome: enum ds_outcome of the request, may be NULL
 *
 * Context: process, killable, at most @timeout_ms.
 * Return: 0 when a response arrived; -EMSGSIZE if it did not fit; -ENOTCONN,
 *	-ETIMEDOUT, -EINTR
 */
int ds_msg_request(struct ds_conn *conn, u16 service, const void *data, u32 length,
		   void *reply, u32 *reply_length, int *status, u32 timeout_ms, u8 *outcome);

/* The same for the program that runs, which takes turns with other users' (msg_turn.h). */
int ds_msg_user_request(struct ds_conn *conn, u16 service, const void *data, u32 length,
			void *reply, u32 *reply_length, int *status, u32 timeout_ms, u8 *outcome);

/* Send a one-way message of its; returns when it is posted. Waits for credit like a request. */
int ds_msg_user_one_way(struct ds_conn *conn, u16 service, const void *data, u32 length,
			u32 timeout_ms);

/* Answer a request whose handler returned DS_MSG_REPLY_LATER. */
int ds_msg_respond(struct ds_conn *conn, u16 service, u64 seq, int status,
		   const void *data, u32 length);

/* Queue sizes of a control queue pair; msg.c says why. */
#define DS_MSG_CREDITS	32
#define DS_MSG_PROGRAMS	24	/* responses that programs may wait for */
#define DS_MSG_SPARE	16
#define DS_MSG_RQ	(2 * DS_MSG_CREDITS + DS_MSG_SPARE)
#define DS_MSG_SQ	128

/*
 * For conn.c: the message side of a connection, in the order of its life.
 * ds_msg_abort() waits until nobody sends any more and is called once for each
 * connection; ds_msg_close() comes after the queue pair is destroyed.
 */
int ds_msg_alloc(struct ds_conn *conn);
int ds_msg_open(struct ds_conn *conn);	/* between making and connecting the queue pair */
void ds_msg_abort(struct ds_conn *conn);
void ds_msg_close(struct ds_conn *conn);
void ds_msg_free(struct ds_conn *conn);
int ds_msg_send_raw(struct ds_conn *conn, u8 type, u32 status, const void *data, u32 length);
u64 ds_msg_heard_ns(struct ds_conn *conn);	/* time since the peer's last message */

int ds_msg_init(void);
void ds_msg_exit(void);

#endif
