/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: packets of wire version 2 on peer connections: the service DS_SERVICE_PACKET.
 */
#ifndef _DS_PACKET_MSG_H
#define _DS_PACKET_MSG_H

struct ds_packet_queue;
struct ds_rdm_space;

/* Where messages for a space wait whose storage may be slow. Context: process. -ENOMEM */
struct ds_packet_queue *ds_packet_queue_create(struct ds_rdm_space *space);

/* Nothing is queued any more, and all that was is answered. The space is dead. May be NULL. */
void ds_packet_queue_close(struct ds_packet_queue *q);
void ds_packet_queue_free(struct ds_packet_queue *q);	/* may be NULL */

int ds_packet_msg_init(void);
void ds_packet_msg_exit(void);

#endif
