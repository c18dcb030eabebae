/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: wire version 2 of the packet service.
 */
#ifndef DS_RDM_PACKET2_H
#define DS_RDM_PACKET2_H

#include "packet.h"

/**
 * ds_packet2_parse - read a packet
 * @packet: as it came; not written to
 * @length: bytes there; there may be more behind the packet
 * @reply: it shall be a reply, or else a request
 * @p: filled; a request's @p->status says why it can only be refused
 *
 * Looks at what can be known without the space: magic, version, CRC, and fields
 * that do not fit together.
 *
 * Return: bytes of the packet; -EBADMSG: no whole packet of version 2.
 */
int ds_packet2_parse(const void *packet, u32 length, bool reply, struct ds_packet *p);

/**
 * ds_packet2_authentic - was the packet made by someone who knows the key?
 * @packet: has been parsed
 * @size: what ds_packet2_parse() returned
 * @key: DS_PACKET_KEY_LEN bytes, or NULL: the space has no key, anybody's will do
 *
 * A packet with a MAC is not authentic where there is no key: its maker expects one.
 */
bool ds_packet2_authentic(const void *packet, u32 size, const u8 *key);

/**
 * ds_packet2_build - write a packet
 * @packet: room for sizeof(struct ds_packet2_header) and @p->part bytes
 * @p: what it says; @p->data is copied, NULL: the data is there already
 * @reply: it is one
 * @key: as above
 *
 * A request to READ has no data, whatever @p->part.
 *
 * Return: bytes of the packet.
 */
u32 ds_packet2_build(void *packet, const struct ds_packet *p, bool reply, const u8 *key);

#endif /* DS_RDM_PACKET2_H */
