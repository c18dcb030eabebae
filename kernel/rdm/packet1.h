/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: wire version 1 of the packet service, the original's units of 64 bytes.
 *
 * All lengths here are of UDP payloads, which begin at byte 42 of the frame.
 */
#ifndef DS_RDM_PACKET1_H
#define DS_RDM_PACKET1_H

#include "packet.h"

/**
 * ds_packet1_size - length of a packet
 * @data: bytes of its data
 *
 * Return: bytes of the payload; the data takes whole units.
 */
u32 ds_packet1_size(u32 data);

/**
 * ds_packet1_parse - read a request
 * @payload: as it came; not written to
 * @length: its bytes
 * @p: filled; @p->status says why it can only be refused
 *
 * Return: 0; -EBADMSG: no request at all, there is nothing to refuse.
 */
int ds_packet1_parse(const void *payload, u32 length, struct ds_packet *p);

/**
 * ds_packet1_request - write a request
 * @payload: room for ds_packet1_size(@p->part) bytes
 * @p: READ, WRITE, WRITE_PERSISTENT or ALLOC; @p->data is copied
 *
 * Return: bytes written; 0: version 1 has no such request.
 */
u32 ds_packet1_request(void *payload, const struct ds_packet *p);

/**
 * ds_packet1_reply - write a reply
 * @payload: room for ds_packet1_size(@p->part) bytes; a READ's data is there already,
 *	@p->part bytes at DS_PACKET1_DATA_AT
 * @p: the reply; an error has no data
 * @counter: of replies to this peer
 *
 * Return: bytes of the payload.
 */
u32 ds_packet1_reply(void *payload, const struct ds_packet *p, u64 counter);

/**
 * ds_packet1_parse_reply - read a reply
 * @p: filled. @p->op is READ for every error that is not an ALLOC's
 * @counter: of the reply
 *
 * Return: 0; -EBADMSG: this is no reply.
 */
int ds_packet1_parse_reply(const void *payload, u32 length, struct ds_packet *p, u64 *counter);

#endif /* DS_RDM_PACKET1_H */
