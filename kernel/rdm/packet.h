/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: a request of the packet service, whatever wire version it came by.
 */
#ifndef DS_RDM_PACKET_H
#define DS_RDM_PACKET_H

#include "../shim.h"
#include <ds/packet.h>

/**
 * struct ds_packet - a request or a reply in this host's words
 * @op: enum ds_packet_op
 * @status: enum ds_packet_status. Of a request that was parsed: DS_PACKET_OK, or
 *	why it can only be refused
 * @tag: see struct ds_packet2_header; version 1 has none, as the next two
 * @tenant: see there
 * @session: see there
 * @seq: see there
 * @space: number of the space
 * @part: bytes at @data; a READ's: bytes wanted
 * @address: virtual
 * @length: bytes of the range
 * @offset: of the part in the range
 * @data: in the packet it was parsed from, or NULL
 */
struct ds_packet {
	u8 op;
	u16 status;
	u32 tag;
	u32 tenant;
	u32 space;
	u32 part;
	u64 session;
	u64 seq;
	u64 address;
	u64 length;
	u64 offset;
	const u8 *data;
};

#endif /* DS_RDM_PACKET_H */
