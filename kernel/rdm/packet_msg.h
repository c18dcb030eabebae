/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: packets of wire version 2 on peer connections: the service DS_SERVICE_PACKET.
 */
#ifndef _DS_PACKET_MSG_H
#define _DS_PACKET_MSG_H

int ds_packet_msg_init(void);
void ds_packet_msg_exit(void);

#endif
