/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * DS: packets by which remote memory is reached without a queue pair (document
 * 002; docs/protocol.md has the tables and charts).
 *
 * Version 1 is the original's, byte for byte: units of 64 bytes, the first of
 * which holds the Ethernet, IPv4 and UDP headers and one byte, the application.
 * Version 2 has tags, tenants, statuses, sequences and checks. All fields are
 * little-endian, values are never renumbered.
 */
#ifndef _UAPI_DS_PACKET_H
#define _UAPI_DS_PACKET_H

#include <linux/types.h>

#define DS_PACKET1_PORT		18528	/* default UDP port of version 1 */
#define DS_PACKET2_PORT		18529	/* of version 2 */

/* ---- Version 1 ---- */

#define APP_RDMA_OPCODE_READ			0
#define APP_RDMA_OPCODE_WRITE			1
#define APP_RDMA_OPCODE_WRITE_PERSISTENT	2
#define APP_RDMA_OPCODE_ALLOC			3
#define APP_RDMA_OPCODE_REPLY_WRITE		4
#define APP_RDMA_OPCODE_REPLY_ALLOC		5
#define APP_RDMA_OPCODE_REPLY_ALLOC_ERROR	6
#define APP_RDMA_OPCODE_REPLY_READ		7
#define APP_RDMA_OPCODE_REPLY_READ_ERROR	8

#define DS_PACKET1_UNIT		64	/* bytes of a unit */
#define DS_PACKET1_DATA		128	/* offset of the data in the frame */

/* Offsets in the UDP payload, which begins 42 bytes into the frame. */
#define DS_PACKET1_UDP		42
#define DS_PACKET1_APP_AT	0	/* u8: the space */
#define DS_PACKET1_HEADER_AT	22	/* struct app_rdma_header */
#define DS_PACKET1_COUNTER_AT	39	/* replies: le64, 1 in the first one to a peer */
#define DS_PACKET1_DATA_AT	86

/**
 * struct app_rdma_header - unit 1 of a packet; the rest of the unit is padding
 * @opcode: APP_RDMA_OPCODE_*
 * @address: virtual; ALLOC: 0
 * @length: bytes. REPLY_ALLOC: offset of the allocation in the pool. In error
 *	replies, which also tell of a failed WRITE that wants an answer: enum
 *	ds_packet_status
 */
struct app_rdma_header {
	__u8 opcode;
	__le64 address;
	__le64 length;
} __attribute__((packed));

/* ---- Version 2 ---- */

#define DS_PACKET2_MAGIC	0x5244u	/* "DR" in a dump */
#define DS_PACKET2_VERSION	2

/**
 * enum ds_packet_op - what a request wants
 * @DS_PACKET_READ: @part bytes from @offset of the range on
 * @DS_PACKET_WRITE: done when all parts of the range have come, in any order
 * @DS_PACKET_WRITE_PERSISTENT: the same, answered when the data is on stable storage
 * @DS_PACKET_ALLOC: @length bytes; @address: DS_ACCESS_* wanted, 0 for all of the
 *	space's. The reply has the virtual address in @address, the offset in the pool
 *	in @length and the generation of addresses in @offset
 * @DS_PACKET_FREE: the allocation that begins at @address; @length 0 or its length
 * @DS_PACKET_CAS: of the eight bytes at @address, which is aligned; data: struct
 *	ds_packet2_operands. The reply has what the word was in @length
 * @DS_PACKET_FETCH_ADD: the same
 * @DS_PACKET_OPEN: begin a session; @seq: a random number that the client chose. The
 *	reply has it in @session. The same number again opens no second one
 * @DS_PACKET_CLOSE: end @session
 * @DS_PACKET_PING: answered with its own data
 */
enum ds_packet_op {
	DS_PACKET_READ = 1,
	DS_PACKET_WRITE = 2,
	DS_PACKET_WRITE_PERSISTENT = 3,
	DS_PACKET_ALLOC = 4,
	DS_PACKET_FREE = 5,
	DS_PACKET_CAS = 6,
	DS_PACKET_FETCH_ADD = 7,
	DS_PACKET_OPEN = 8,
	DS_PACKET_CLOSE = 9,
	DS_PACKET_PING = 10,
};

/**
 * enum ds_packet_status - how a request ended
 * @DS_PACKET_OK: done
 * @DS_PACKET_MALFORMED: length, units, part or reserved fields do not fit together
 * @DS_PACKET_OPCODE: no such operation
 * @DS_PACKET_NO_SPACE: no such space, or it is not this tenant's or peer's
 * @DS_PACKET_PERMISSION: the space or the allocation does not allow it
 * @DS_PACKET_ADDRESS: the range is not within one allocation
 * @DS_PACKET_LENGTH: 0, or longer than DS_PACKET_MAX_LENGTH
 * @DS_PACKET_ALIGNMENT: the word of an atomic is not aligned
 * @DS_PACKET_FULL: the pool or its addresses are used up
 * @DS_PACKET_MEMORY: the server has no memory for its own tables
 * @DS_PACKET_NOT_PERSISTENT: the space's segment has no file behind it
 * @DS_PACKET_IO: the file behind the segment could not be written, or not in time; it may
 *	hold a part of the data, or come to hold it
 * @DS_PACKET_SESSION: no such session: it was never opened, or the server restarted
 * @DS_PACKET_SEQUENCE: older than the window, or used for another request
 * @DS_PACKET_BUSY: too many sessions or writes in parts; try again later
 * @DS_PACKET_MTU: request or reply does not fit into a packet of the link
 */
enum ds_packet_status {
	DS_PACKET_OK = 0,
	DS_PACKET_MALFORMED = 1,
	DS_PACKET_OPCODE = 2,
	DS_PACKET_NO_SPACE = 3,
	DS_PACKET_PERMISSION = 4,
	DS_PACKET_ADDRESS = 5,
	DS_PACKET_LENGTH = 6,
	DS_PACKET_ALIGNMENT = 7,
	DS_PACKET_FULL = 8,
	DS_PACKET_MEMORY = 9,
	DS_PACKET_NOT_PERSISTENT = 10,
	DS_PACKET_IO = 11,
	DS_PACKET_SESSION = 12,
	DS_PACKET_SEQUENCE = 13,
	DS_PACKET_BUSY = 14,
	DS_PACKET_MTU = 15,
};

#define DS_PACKET_STATUS_COUNT	16

#define DS_PACKET_MAX_LENGTH	65536u	/* bytes of one READ or WRITE */
#define DS_PACKET_BLOCK		1024u	/* parts of a WRITE but the last are multiples of it */
#define DS_PACKET_WINDOW	64u	/* newest sequences of a session that may be answered */
#define DS_PACKET_SPACES	65536u	/* spaces of a host; version 1 names the first 256 */

#define DS_PACKET2_REPLY	(1u << 0)	/* in flags */
#define DS_PACKET2_MAC		(1u << 1)	/* there is a MAC */

#define DS_PACKET_KEY_LEN	16	/* bytes of a space's SipHash key */

/**
 * struct ds_packet2_header - head of a packet, followed by @part bytes of data
 * @mac: with DS_PACKET2_MAC SipHash-2-4 of all behind it, under the space's key; else 0
 * @crc: CRC32C of all behind it (from ~0, inverted at the end)
 * @magic: DS_PACKET2_MAGIC
 * @version: DS_PACKET2_VERSION
 * @opcode: enum ds_packet_op
 * @flags: DS_PACKET2_*
 * @reserved: 0
 * @status: enum ds_packet_status; requests: 0
 * @tag: chosen by the client; the reply has it
 * @tenant: whom the space must belong to
 * @space: number of the space
 * @part: bytes of data in this packet; requests to READ: bytes that are wanted
 * @reserved2: 0
 * @session: from OPEN; needed by all that change something. READ and PING: any number,
 *	which comes back in the reply
 * @seq: number of the change within the session, from 1, each used once; else 0
 * @address: virtual
 * @length: bytes of the whole range
 * @offset: of this packet's part in the range
 *
 * On UDP a packet is a datagram. On a peer connection a message holds one packet
 * or more; each begins at a multiple of eight bytes.
 */
struct ds_packet2_header {
	__le64 mac;
	__le32 crc;
	__le16 magic;
	__u8 version;
	__u8 opcode;
	__u8 flags;
	__u8 reserved;
	__le16 status;
	__le32 tag;
	__le32 tenant;
	__le32 space;
	__le32 part;
	__le32 reserved2;
	__le64 session;
	__le64 seq;
	__le64 address;
	__le64 length;
	__le64 offset;
} __attribute__((packed));

/**
 * struct ds_packet2_operands - data of CAS and FETCH_ADD
 * @operand: CAS: the new value; FETCH_ADD: what is added
 * @compare: CAS: stored only over this value; FETCH_ADD: 0
 */
struct ds_packet2_operands {
	__le64 operand;
	__le64 compare;
};

/* ---- Address spaces ---- */

/**
 * enum ds_packet_kind - how a space translates addresses
 * @DS_PACKET_DIRECT: an address is an offset in the pool
 * @DS_PACKET_SEGMENTS: a table of base, limit and offset, searched by halves
 * @DS_PACKET_HASH: a table of pages, in buckets of seven
 */
enum ds_packet_kind {
	DS_PACKET_DIRECT = 0,
	DS_PACKET_SEGMENTS = 1,
	DS_PACKET_HASH = 2,
};

#define DS_PACKET_PAGE_SHIFT_MIN	12
#define DS_PACKET_PAGE_SHIFT_MAX	21

#endif /* _UAPI_DS_PACKET_H */
