/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * DS: handles, the small numbers by which objects are named (docs/design.md rule 5).
 *
 * A token handle names an RDMA object that ds.ko made: a protection domain, a
 * memory region, a completion queue or a queue pair. A file handle names an
 * object of one open /dev/ds. Both carry a generation, so that a handle kept
 * too long is told from a handle of the slot's next user.
 */
#ifndef _UAPI_DS_TOKEN_H
#define _UAPI_DS_TOKEN_H

#include <linux/types.h>

/**
 * enum ds_token_type - what a token describes (document 001's codes)
 * @DS_TOKEN_PD: protection domain
 * @DS_TOKEN_MR: memory region, ours or a peer's
 * @DS_TOKEN_CQ: completion queue
 * @DS_TOKEN_QP: queue pair
 */
enum ds_token_type {
	DS_TOKEN_PD = 0,
	DS_TOKEN_MR = 1,
	DS_TOKEN_CQ = 2,
	DS_TOKEN_QP = 3,
};

#define DS_TOKEN_TYPES		4

/**
 * enum ds_token_op - what is done with a token, in the tracepoint ds_token_access
 * @DS_TOKEN_OP_READ: it is looked up
 * @DS_TOKEN_OP_WRITE: it is looked up and changed
 * @DS_TOKEN_OP_CREATE: it is made
 * @DS_TOKEN_OP_FREE: it is revoked
 */
enum ds_token_op {
	DS_TOKEN_OP_READ = 0,
	DS_TOKEN_OP_WRITE = 1,
	DS_TOKEN_OP_CREATE = 2,
	DS_TOKEN_OP_FREE = 3,
};

/* Token handle: type 2 | generation 8 | index 22. Generation 0 is never used. */
#define DS_TOKEN_INDEX_OFF	0
#define DS_TOKEN_INDEX_BITS	22	/* at most 4,194,304 objects a host */
#define DS_TOKEN_GEN_OFF	22
#define DS_TOKEN_GEN_BITS	8	/* an index rests for long after 255 uses */
#define DS_TOKEN_TYPE_OFF	30
#define DS_TOKEN_TYPE_BITS	2

/* DS_A_FLAGS of a token. */
#define DS_TOKEN_PINNED		(1u << 0)	/* it is never moved */
#define DS_TOKEN_DIRTY		(1u << 1)	/* its home is older */
#define DS_TOKEN_WIDE		(1u << 2)	/* its description did not fit */
#define DS_TOKEN_MOVING		(1u << 3)	/* it is on its way to another tier */
#define DS_TOKEN_FOREIGN	(1u << 4)	/* imported: of another user of the device */

/* DS_A_LAYOUT of a token: how its words are packed. Memory that nobody has written is none. */
#define DS_TOKEN_LAYOUT_NARROW	1
#define DS_TOKEN_LAYOUT_WIDE	3		/* a number in place of its description */

#define DS_TOKEN_NO_PD		0xffffffffu

/**
 * struct ds_token_object - an RDMA object of another user of a device, to be imported
 * @length: of an MR: bytes
 * @type: enum ds_token_type
 * @number: of a PD, CQ or QP: the device's number; of an MR: 0
 * @pd: of an MR or QP: number of its PD, DS_TOKEN_NO_PD if it is not known
 * @lkey: of an MR: local key
 * @rkey: of an MR: remote key
 * @entries: of a CQ
 * @qp_type: of a QP: as RDMA_NLDEV_ATTR_RES_TYPE: 1 GSI, 2 RC, 3 UC, 4 UD, and others
 * @state: of a QP: as RDMA_NLDEV_ATTR_RES_STATE: 0 RESET, 1 INIT, 2 RTR, 3 RTS, 4 SQD, 5 SQE,
 *	6 the error state
 *
 * What the type does not have is 0, and @pd of a PD or a CQ DS_TOKEN_NO_PD.
 */
struct ds_token_object {
	__u64 length;
	__u32 type;
	__u32 number;
	__u32 pd;
	__u32 lkey;
	__u32 rkey;
	__u32 entries;
	__u32 qp_type;
	__u32 state;
};

#define DS_TOKEN_OBJECTS_MAX	1024u	/* in a message */

/* File handle: generation 12 | index 20. Generation 0 is never used. */
#define DS_HANDLE_INDEX_OFF	0
#define DS_HANDLE_INDEX_BITS	20
#define DS_HANDLE_GEN_OFF	20
#define DS_HANDLE_GEN_BITS	12	/* a slot is retired after 4,095 uses */

#endif /* _UAPI_DS_TOKEN_H */
