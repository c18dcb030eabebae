/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: service ports, by which user programs talk over the control messages.
 *
 * A port is bound to a service. Messages for it wait in a bounded queue until
 * they are received; a request that was received waits for its answer under a
 * cookie. A port that is closed answers both: what was never received with
 * -ECONNREFUSED, what was received with -ECONNRESET.
 */
#ifndef _DS_PORT_H
#define _DS_PORT_H

#include <linux/types.h>
#include <uapi/ds/ioctl.h>

#define DS_PORT_MAX_QUEUE	1024
#define DS_PORT_MAX_BYTES	4096	/* of a message, which is DS_MSG_MAX_PAYLOAD */
#define DS_PORT_MAX_PENDING	1024	/* requests received and not answered */

struct ds_port;

/**
 * ds_port_bind - begin to receive messages for a service
 *
 * Context: process.
 * Return: the port with a reference, or ERR_PTR: -EINVAL, -EADDRINUSE, -ENOMEM
 */
struct ds_port *ds_port_bind(u32 service, u32 queue);

void ds_port_get(struct ds_port *port);
void ds_port_put(struct ds_port *port);

/* Receive no more, answer all who wait, drop the reference. Context: process. */
void ds_port_close(struct ds_port *port);

/*
 * The ioctls without their flags. They fill the out_ fields and may be called
 * by several at once. Context: process; killable.
 */
int ds_port_recv(struct ds_port *port, struct ds_ioc_msg_recv *arg);
int ds_port_reply(struct ds_port *port, const struct ds_ioc_msg_reply *arg);
int ds_port_send(struct ds_ioc_msg_send *arg);

/* Answer a received request with -ECONNRESET: its receiver did not get it. */
void ds_port_drop(struct ds_port *port, u64 cookie);

#endif
