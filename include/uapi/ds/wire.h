/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * DS: what two hosts say to each other (docs/protocol.md has the charts).
 *
 * All fields are little-endian. Padding and reserved fields are zero and
 * checked. Values are never renumbered; a change of layout is a new version.
 */
#ifndef _UAPI_DS_WIRE_H
#define _UAPI_DS_WIRE_H

#include <linux/types.h>
#include <ds/packet.h>

#define DS_WIRE_MAGIC		0x4453	/* "SD" in a dump: bytes 53 44 */
#define DS_WIRE_VERSION		2	/* 1 knew nothing of struct ds_seg_req's @knows */
#define DS_WIRE_ORDER		0x01020304u	/* as this host stores it */
#define DS_WIRE_PORT		18527	/* default port of the listener */
#define DS_NODE_MAX		65535	/* largest node number */

/* ---- Connection manager: private data of REQ, REP and REJ, at most 56 bytes ---- */

/**
 * enum ds_role - what a queue pair is for
 * @DS_ROLE_CONTROL: messages; made first, in a protection domain without memory
 * @DS_ROLE_BULK: one-sided operations
 * @DS_ROLE_URGENT: page faults and object-owner words
 */
enum ds_role {
	DS_ROLE_CONTROL = 0,
	DS_ROLE_BULK = 1,
	DS_ROLE_URGENT = 2,
};

/**
 * struct ds_cm_req - private data of a connection request
 * @cma_reserved: 0; the connection manager writes here for some address families
 * @magic: DS_WIRE_MAGIC
 * @version_min: oldest version that the caller speaks
 * @version_max: newest
 * @role: enum ds_role
 * @nic: index of the NIC pair; only 0 so far
 * @group: group of hosts; others are refused
 * @cookie: with BULK and URGENT: one-time value from struct ds_auth_ok, else 0
 * @lane: with BULK: index of the queue pair, else 0
 * @reserved: 0
 */
struct ds_cm_req {
	__u8 cma_reserved[2];
	__le16 magic;
	__u8 version_min;
	__u8 version_max;
	__u8 role;
	__u8 nic;
	__le64 group;
	__le64 cookie;
	__le16 lane;
	__u8 reserved[14];
} __attribute__((packed));

/**
 * enum ds_reject - why a connection or a HELLO is refused
 * @DS_REJECT_NONE: it is not
 * @DS_REJECT_MAGIC: not a DS request, or malformed
 * @DS_REJECT_VERSION: no version in common
 * @DS_REJECT_GROUP: another group
 * @DS_REJECT_COOKIE: unknown, used or expired cookie
 * @DS_REJECT_BUSY: too many connections, or shutting down
 * @DS_REJECT_DOMAIN: unknown trust domain
 * @DS_REJECT_AUTH: the key is not proved
 * @DS_REJECT_PLATFORM: page size or byte order differs
 * @DS_REJECT_NODE: a node number that is taken or not set
 */
enum ds_reject {
	DS_REJECT_NONE = 0,
	DS_REJECT_MAGIC = 1,
	DS_REJECT_VERSION = 2,
	DS_REJECT_GROUP = 3,
	DS_REJECT_COOKIE = 4,
	DS_REJECT_BUSY = 5,
	DS_REJECT_DOMAIN = 6,
	DS_REJECT_AUTH = 7,
	DS_REJECT_PLATFORM = 8,
	DS_REJECT_NODE = 9,
};

/**
 * struct ds_cm_rep - private data of an accepted or refused connection
 * @cma_reserved: 0
 * @magic: DS_WIRE_MAGIC
 * @version: version chosen; with a refusal the newest that the refuser speaks
 * @reason: enum ds_reject
 * @reserved: 0
 */
struct ds_cm_rep {
	__u8 cma_reserved[2];
	__le16 magic;
	__u8 version;
	__u8 reason;
	__u8 reserved[10];
} __attribute__((packed));

/* ---- Control messages: SEND on the control queue pair ---- */

#define DS_MSG_MAX_PAYLOAD	4096

/**
 * enum ds_msg_type - kind of a message
 * @DS_MSG_HELLO: first, from the side that connected: struct ds_hello
 * @DS_MSG_HELLO_REPLY: struct ds_hello with @mac filled
 * @DS_MSG_AUTH: struct ds_auth
 * @DS_MSG_AUTH_OK: struct ds_auth_ok; the link is up
 * @DS_MSG_REFUSE: no payload, @status is an enum ds_reject; the link is closed
 * @DS_MSG_REQUEST: to a service, wants a RESPONSE with the same @seq
 * @DS_MSG_RESPONSE: @status is 0 or a negative errno
 * @DS_MSG_ONE_WAY: to a service, no response
 * @DS_MSG_CREDIT: no payload, only gives credits back
 */
enum ds_msg_type {
	DS_MSG_HELLO = 1,
	DS_MSG_HELLO_REPLY = 2,
	DS_MSG_AUTH = 3,
	DS_MSG_AUTH_OK = 4,
	DS_MSG_REFUSE = 5,
	DS_MSG_REQUEST = 6,
	DS_MSG_RESPONSE = 7,
	DS_MSG_ONE_WAY = 8,
	DS_MSG_CREDIT = 9,
};

/**
 * enum ds_service - services of the kernel; user programs have 0x100 and above
 * @DS_SERVICE_LINK: heartbeat: an empty REQUEST
 * @DS_SERVICE_SEGMENT: struct ds_seg_req
 * @DS_SERVICE_REVOKE: struct ds_seg_revoke, from the owner to an attacher
 * @DS_SERVICE_FENCE: struct ds_fence_req
 * @DS_SERVICE_PACKET: packets of ds/packet.h, version 2, for one space; programs may send to it
 */
enum ds_service {
	DS_SERVICE_LINK = 0,
	DS_SERVICE_SEGMENT = 1,
	DS_SERVICE_REVOKE = 2,
	DS_SERVICE_FENCE = 3,
	DS_SERVICE_PACKET = 4,
};

/**
 * struct ds_msg_hdr - head of every message, followed by @length bytes
 * @magic: DS_WIRE_MAGIC
 * @version: DS_WIRE_VERSION
 * @type: enum ds_msg_type
 * @service: enum ds_service or a user program's port; 0 where none applies
 * @credits: receive buffers that the sender has posted again since it last said so
 * @length: bytes of payload, at most DS_MSG_MAX_PAYLOAD
 * @status: RESPONSE: 0 or a negative errno; REFUSE: enum ds_reject; else 0
 * @seq: REQUEST: number unique on this connection; RESPONSE: that number; else 0
 * @epoch: incarnation of the host that began the exchange
 */
struct ds_msg_hdr {
	__le16 magic;
	__u8 version;
	__u8 type;
	__le16 service;
	__le16 credits;
	__le32 length;
	__le32 status;
	__le64 seq;
	__le64 epoch;
} __attribute__((packed));

#define DS_NONCE_LEN	32
#define DS_MAC_LEN	32	/* HMAC-SHA-256 */

/**
 * struct ds_hello - who a host is and that it knows the domain key
 * @uuid: of the host, made when its module was loaded
 * @incarnation: of the host; another one means that it restarted
 * @group: group of hosts
 * @node: node number, 1 to DS_NODE_MAX
 * @domain: trust domain
 * @page_size: bytes of a page
 * @order: DS_WIRE_ORDER in the host's own byte order
 * @lanes: bulk queue pairs that the host wants for each pair of NICs
 * @nics: number of its NICs
 * @reserved: 0
 * @nonce: random
 * @mac: HELLO: 0; HELLO_REPLY: HMAC(key, "DS1 server" | HELLO | HELLO_REPLY with @mac 0)
 */
struct ds_hello {
	__u8 uuid[16];
	__le64 incarnation;
	__le64 group;
	__le32 node;
	__le32 domain;
	__le32 page_size;
	__u32 order;
	__le16 lanes;
	__le16 nics;
	__u8 reserved[12];
	__u8 nonce[DS_NONCE_LEN];
	__u8 mac[DS_MAC_LEN];
} __attribute__((packed));

/**
 * struct ds_auth - the connecting side's proof
 * @mac: HMAC(key, "DS1 client" | HELLO | HELLO_REPLY)
 */
struct ds_auth {
	__u8 mac[DS_MAC_LEN];
} __attribute__((packed));

#define DS_MAX_LANES	32	/* bulk queue pairs of a NIC pair */

/**
 * struct ds_auth_ok - leave to connect the data queue pairs
 * @lanes: number of bulk queue pairs, at least 1: max of both sides' wishes
 * @reserved: 0
 * @urgent: cookie of the urgent queue pair
 * @bulk: cookies of the bulk queue pairs
 *
 * A cookie is random, good for one connection request, from the same host,
 * while the control connection lasts.
 */
struct ds_auth_ok {
	__le16 lanes;
	__u8 reserved[6];
	__le64 urgent;
	__le64 bulk[DS_MAX_LANES];
} __attribute__((packed));

/**
 * enum ds_seg_verb - what a struct ds_seg_req wants
 * @DS_SEG_ATTACH: keys of the segment, from chunk @first on
 * @DS_SEG_DETACH: takes back one DS_SEG_ATTACH from chunk 0 on; with the last one the
 *	caller has no operation in flight, and its keys end
 */
enum ds_seg_verb {
	DS_SEG_ATTACH = 1,
	DS_SEG_DETACH = 2,
};

/**
 * struct ds_seg_req - request to DS_SERVICE_SEGMENT
 * @verb: enum ds_seg_verb
 * @first: with DS_SEG_ATTACH: first chunk wanted; else 0
 * @segment: number of the segment
 * @knows: with DS_SEG_ATTACH: @last of the answer to DS_FENCE_MISSED: clients that
 *	were fenced up to there have been ended; else 0
 * @reserved: 0
 */
struct ds_seg_req {
	__le32 verb;
	__le32 first;
	__le64 segment;
	__le64 knows;
	__u8 reserved[8];
} __attribute__((packed));

#define DS_CHUNK_SHIFT	21	/* a chunk is one memory region of 2 MiB; the last may be shorter */
#define DS_CHUNK_SIZE	(1u << DS_CHUNK_SHIFT)
#define DS_SEG_KEYS_MAX	1000	/* keys in one message */

/**
 * struct ds_seg_keys - answer to DS_SEG_ATTACH
 * @length: bytes of the segment
 * @access: DS_ACCESS_* granted
 * @chunk_shift: log2 of the bytes of a chunk
 * @first: first chunk of this answer
 * @count: keys in this answer
 * @reserved: 0
 * @rkeys: remote keys; a chunk's addresses are offsets in the segment
 */
struct ds_seg_keys {
	__le64 length;
	__le32 access;
	__le32 chunk_shift;
	__le32 first;
	__le32 count;
	__u8 reserved[8];

	__extension__ __le32 rkeys[];
} __attribute__((packed));

/**
 * struct ds_seg_revoke - request to DS_SERVICE_REVOKE: stop using a segment
 * @segment: number of the segment
 * @gone: 1 if the segment is deleted, 0 if it can be attached anew
 * @reserved: 0
 *
 * The response says that the attacher has no operation in flight on it. The
 * owner does not depend on it: after a time it takes the keys away regardless.
 */
struct ds_seg_revoke {
	__le64 segment;
	__u8 gone;
	__u8 reserved[7];
} __attribute__((packed));

/**
 * enum ds_fence_verb - what a struct ds_fence_req wants
 * @DS_FENCE_NODE: to a memory server, from an attacher of @segment: no operation of the
 *	client @token of node @node is under way here or will be. The server asks that
 *	node by DS_FENCE_CLIENT, and ends its connections when it does not say so in time
 * @DS_FENCE_CLIENT: from a memory server to an attacher of @segment: end the client
 *	@token of this node, and answer when it has no operation under way
 *
 * @DS_FENCE_MISSED: to a memory server, before its segment is attached: which clients of
 *	this node were fenced while it could not be asked? Answer: struct ds_fenced
 *
 * With DS_FENCE_IF_GONE nothing is ended: -EEXIST if the client is there and not
 * ended, or its node does not tell. -EACCES: it has not attached the segment.
 */
enum ds_fence_verb {
	DS_FENCE_NODE = 1,
	DS_FENCE_CLIENT = 2,
	DS_FENCE_MISSED = 3,
};

/**
 * struct ds_fence_req - request to DS_SERVICE_FENCE
 * @verb: enum ds_fence_verb
 * @node: DS_FENCE_NODE: node of the client; else 0
 * @segment: number of the segment
 * @token: number of the client on its node; DS_FENCE_MISSED: 0
 * @flags: 0 or DS_FENCE_IF_GONE of ioctl.h
 * @reserved: 0
 */
struct ds_fence_req {
	__le32 verb;
	__le32 node;
	__le64 segment;
	__le64 token;
	__le32 flags;
	__u8 reserved[4];
} __attribute__((packed));

#define DS_FENCED_MAX	500	/* clients in one message */

/**
 * struct ds_fenced - answer to DS_FENCE_MISSED
 * @count: length of @tokens
 * @all: 1 if all clients of the node count as fenced, as there were too many
 * @last: what was fenced up to here
 * @tokens: numbers of the clients
 *
 * The server forgets them when the node then attaches a segment and says @last.
 */
struct ds_fenced {
	__le32 count;
	__le32 all;
	__le64 last;

	__extension__ __le64 tokens[];
} __attribute__((packed));

#endif /* _UAPI_DS_WIRE_H */
