/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * DS: the ioctl interface of /dev/ds.
 *
 * General format. Every argument is a struct that begins with @size, the size
 * of the struct as the caller knows it. A caller may know a smaller or a
 * larger struct than the kernel: missing fields count as zero, and bytes that
 * the kernel does not know must be zero. Fields with the prefix out_ are
 * written by the kernel. @flags and fields called reserved must be zero unless
 * said otherwise. User pointers travel as __u64. Times are milliseconds on
 * CLOCK_MONOTONIC.
 *
 * Errors that every call may return:
 *  - ENOTTY: the ioctl number is not known
 *  - EINVAL: a field has a wrong value, a reserved field is not zero, or @size
 *    is smaller than the first version of the struct
 *  - E2BIG: bytes behind the struct that the kernel knows are not zero, or an
 *    array is longer than the limit in struct ds_ioc_info
 *  - EOPNOTSUPP: a flag, opcode or type that this kernel does not know
 *  - EFAULT: a pointer of the caller cannot be read or written
 *  - EBADF: a handle that this open file was never given
 *  - ESTALE: a handle that this open file was given and that is closed
 *  - EACCES: the object does not grant this access
 *  - ENOENT: nothing has the given number (space, node, segment)
 *  - ERANGE: an address is outside of the space
 *  - EDQUOT: a limit of this process or of the module is reached
 *  - ENOMEM: no memory, or RLIMIT_MEMLOCK or the memory cgroup's limit reached
 *  - EINTR: a fatal signal ended the wait
 *
 * An operation's own result is in its struct ds_cqe. Errors there:
 *  - EINVAL, E2BIG, EBADF, ESTALE, EACCES, ERANGE, ENOMEM: as above
 *  - EXDEV: a chain over several servers or spaces
 *  - ECANCELED: an earlier operation of the chain failed
 *  - ENXIO: no segment is attached as the server that the address is on
 *  - ENOTCONN: the server's node is not connected, or the connection broke
 *  - ENODATA: the node has restarted or has deleted the segment: its data is gone
 *  - EKEYREVOKED: the node took the keys away; attach anew
 *  - EREMOTEIO: the node's device refused the access
 *  - EIO: this host's device failed
 *  - ESHUTDOWN: the handle's client has ended: see DS_IOC_ENROLL
 *  - ETIMEDOUT: the time of DS_IOC_SUBMIT was over before the end
 *  - EINPROGRESS: it has not ended; its completion comes to the ring
 */
#ifndef _UAPI_DS_IOCTL_H
#define _UAPI_DS_IOCTL_H

#include <linux/types.h>
#include <linux/ioctl.h>

#define DS_ABI_VERSION	1

/* The numbers 0xBD 00-3F. Never renumbered. */
#define DS_IOC_TYPE	0xBD

/**
 * struct ds_ioc_info - what this kernel offers (DS_IOC_INFO)
 * @size: sizeof(struct ds_ioc_info)
 * @flags: Must be 0
 * @out_abi: DS_ABI_VERSION of the kernel
 * @out_node: this host's node number, 0 if none is set
 * @out_max_ops: longest array that DS_IOC_SUBMIT takes
 * @out_max_chain: most operations in one chain
 * @out_max_op_bytes: longest READ or WRITE
 * @out_max_msg_bytes: longest payload of a control message
 * @out_max_buf_bytes: longest buffer
 * @out_features: bit mask, 0 in this version
 */
struct ds_ioc_info {
	__u32 size;
	__u32 flags;
	__u32 out_abi;
	__u32 out_node;
	__u32 out_max_ops;
	__u32 out_max_chain;
	__u32 out_max_op_bytes;
	__u32 out_max_msg_bytes;
	__aligned_u64 out_max_buf_bytes;
	__aligned_u64 out_features;
};

/* Rights on a space or a segment. */
#define DS_ACCESS_READ		(1u << 0)
#define DS_ACCESS_WRITE		(1u << 1)
#define DS_ACCESS_ATOMIC	(1u << 2)
#define DS_ACCESS_ALL		(DS_ACCESS_READ | DS_ACCESS_WRITE | DS_ACCESS_ATOMIC)

/**
 * struct ds_ioc_space_open - open a space for operations (DS_IOC_SPACE_OPEN)
 * @size: sizeof(struct ds_ioc_space_open)
 * @flags: Must be 0
 * @space: number of the space
 * @access: DS_ACCESS_* that the caller wants; -EACCES if one is not granted
 * @out_handle: handle for struct ds_op
 * @out_servers: memory servers of the space, attached or not
 * @out_server_shift: log2 of a server's size in bytes
 * @reserved: Must be 0
 * @out_base: first address
 * @out_last: last address
 */
struct ds_ioc_space_open {
	__u32 size;
	__u32 flags;
	__u32 space;
	__u32 access;
	__u32 out_handle;
	__u32 out_servers;
	__u32 out_server_shift;
	__u32 reserved;
	__aligned_u64 out_base;
	__aligned_u64 out_last;
};

/**
 * enum ds_handle_type - the tables of handles of an open file
 * @DS_HANDLE_SPACE: from DS_IOC_SPACE_OPEN
 * @DS_HANDLE_BUF: from DS_IOC_BUF_CREATE or DS_IOC_BUF_PIN
 * @DS_HANDLE_SEG: from DS_IOC_SEG_CREATE
 * @DS_HANDLE_SERVICE: from DS_IOC_SERVICE_BIND
 */
enum ds_handle_type {
	DS_HANDLE_SPACE = 0,
	DS_HANDLE_BUF = 1,
	DS_HANDLE_SEG = 2,
	DS_HANDLE_SERVICE = 3,
};

#define DS_HANDLE_TYPES		4

/**
 * struct ds_ioc_close - give a handle back (DS_IOC_CLOSE)
 * @size: sizeof(struct ds_ioc_close)
 * @flags: Must be 0
 * @type: enum ds_handle_type
 * @handle: the handle; it is stale from here on
 *
 * Operations in flight keep what they use until they complete. Closing a
 * segment waits until no peer can reach its pages any more.
 */
struct ds_ioc_close {
	__u32 size;
	__u32 flags;
	__u32 type;
	__u32 handle;
};

/**
 * struct ds_ioc_buf_create - make a buffer of kernel pages (DS_IOC_BUF_CREATE)
 * @size: sizeof(struct ds_ioc_buf_create)
 * @flags: Must be 0
 * @length: bytes, a multiple of 4096
 * @numa_node: NUMA node of the pages, -1 for the caller's; -1 with DS_SEG_USER_MEMORY
 * @out_handle: handle for struct ds_op
 * @out_mmap_offset: offset for mmap(2) of /dev/ds, MAP_SHARED, whole length
 *
 * Charged to the caller's memory cgroup.
 */
struct ds_ioc_buf_create {
	__u32 size;
	__u32 flags;
	__aligned_u64 length;
	__s32 numa_node;
	__u32 out_handle;
	__aligned_u64 out_mmap_offset;
};

/**
 * struct ds_ioc_buf_pin - use memory of the caller as buffer (DS_IOC_BUF_PIN)
 * @size: sizeof(struct ds_ioc_buf_pin)
 * @flags: Must be 0
 * @addr: start, a multiple of 4096
 * @length: bytes, a multiple of 4096; the memory must be writable
 * @out_handle: handle for struct ds_op
 * @reserved: Must be 0
 *
 * Counts in RLIMIT_MEMLOCK. Later munmap() does not change which pages are used.
 */
struct ds_ioc_buf_pin {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 length;
	__u32 out_handle;
	__u32 reserved;
};

/* struct ds_ioc_seg_create: @flags */
#define DS_SEG_USER_MEMORY	(1u << 0)	/* pin @addr instead of kernel pages */

/**
 * struct ds_ioc_seg_create - export memory until the file closes (DS_IOC_SEG_CREATE)
 * @size: sizeof(struct ds_ioc_seg_create)
 * @flags: DS_SEG_*
 * @length: bytes, a multiple of 4096, at most 1 TiB
 * @addr: with DS_SEG_USER_MEMORY: start, a multiple of 4096; else 0
 * @domain: trust domain that may attach it
 * @access: DS_ACCESS_* granted to attachers
 * @numa_node: NUMA node of the pages, -1 for the caller's
 * @out_handle: handle for DS_IOC_CLOSE
 * @out_segment: number by which peers attach it
 */
struct ds_ioc_seg_create {
	__u32 size;
	__u32 flags;
	__aligned_u64 length;
	__aligned_u64 addr;
	__u32 domain;
	__u32 access;
	__s32 numa_node;
	__u32 out_handle;
	__aligned_u64 out_segment;
};

/**
 * enum ds_opcode - what an operation does
 * @DS_OP_READ: copy @length bytes from the space into the buffer
 * @DS_OP_WRITE: copy @length bytes from the buffer into the space
 * @DS_OP_CAS: if the word at @addr equals @compare_add, set it to @swap
 * @DS_OP_FETCH_ADD: add @compare_add to the word at @addr
 *
 * CAS and FETCH_ADD act on an aligned little-endian 64-bit word, take no
 * buffer and return the old value in struct ds_cqe.
 */
enum ds_opcode {
	DS_OP_READ = 0,
	DS_OP_WRITE = 1,
	DS_OP_CAS = 2,
	DS_OP_FETCH_ADD = 3,
};

#define DS_OPCODES		4

/* struct ds_op: @flags */
#define DS_OP_CHAIN	(1u << 0)	/* the next operation follows on the same queue pair */
#define DS_OP_FENCE	(1u << 1)	/* starts after earlier READs and atomics of its chain */

/**
 * struct ds_op - one operation on remote memory
 * @opcode: enum ds_opcode
 * @flags: DS_OP_*
 * @lane: 0 to choose the queue pair by the address, else a number: chains with
 *	the same number and the same server share a queue pair
 * @space: handle of the space
 * @addr: address in the space; [@addr, @addr + @length) is within one server
 * @length: bytes, at least 1; 8 for CAS and FETCH_ADD
 * @buf: handle of the buffer; 0 for CAS and FETCH_ADD
 * @buf_offset: first byte within the buffer
 * @compare_add: CAS: value to compare with; FETCH_ADD: value to add
 * @swap: CAS: value to store
 * @user_data: returned in the completion
 * @reserved: Must be 0
 *
 * A chain is a run of operations with DS_OP_CHAIN set on all but the last. All
 * are on one server and execute in order; if one fails, later ones do not.
 */
struct ds_op {
	__u8 opcode;
	__u8 flags;
	__u16 lane;
	__u32 space;
	__aligned_u64 addr;
	__u32 length;
	__u32 buf;
	__aligned_u64 buf_offset;
	__aligned_u64 compare_add;
	__aligned_u64 swap;
	__aligned_u64 user_data;
	__aligned_u64 reserved;
};

/**
 * enum ds_outcome - what is known about an operation that has ended
 * @DS_NOT_EXECUTED: it did not happen and will not; it may be tried again
 * @DS_EXECUTED: it happened
 * @DS_UNKNOWN: the connection broke; it may have happened, wholly or in part
 *
 * Status 0 goes with DS_EXECUTED only. docs/design.md rule 9.
 */
enum ds_outcome {
	DS_NOT_EXECUTED = 0,
	DS_EXECUTED = 1,
	DS_UNKNOWN = 2,
};

/**
 * struct ds_cqe - the end of one operation
 * @user_data: of the operation
 * @value: CAS and FETCH_ADD: the word's old value
 * @status: 0 or a negative errno
 * @outcome: enum ds_outcome
 * @reserved: 0
 * @node: node that the operation was for, 0 if it was refused before that was known
 * @length: bytes transferred
 */
struct ds_cqe {
	__aligned_u64 user_data;
	__aligned_u64 value;
	__s32 status;
	__u8 outcome;
	__u8 reserved[3];
	__u32 node;
	__u32 length;
};

/**
 * struct ds_ring - head of the completion ring, mmap'ed from /dev/ds
 * @tail: completions written so far; the kernel writes it, read it with acquire
 * @entries: length of @cqes, a power of two
 * @head: completions consumed so far; the caller writes it, with release
 * @cqes: completion n is at n & (@entries - 1)
 *
 * @head and @tail run freely and wrap at 2^32.
 */
struct ds_ring {
	__u32 tail;
	__u32 entries;
	__u32 reserved0[14];
	__u32 head;
	__u32 reserved1[15];

	__extension__ struct ds_cqe cqes[];	/* C++ has no such arrays of its own */
};

/**
 * struct ds_ioc_ring_create - make the file's completion ring (DS_IOC_RING_CREATE)
 * @size: sizeof(struct ds_ioc_ring_create)
 * @flags: Must be 0
 * @entries: a power of two, 1 to 65536
 * @reserved: Must be 0
 * @out_mmap_offset: offset for mmap(2) of /dev/ds
 * @out_mmap_length: length for mmap(2)
 *
 * Once for each open file (-EEXIST). poll(2) says EPOLLIN while the ring holds
 * a completion that is not consumed.
 */
struct ds_ioc_ring_create {
	__u32 size;
	__u32 flags;
	__u32 entries;
	__u32 reserved;
	__aligned_u64 out_mmap_offset;
	__aligned_u64 out_mmap_length;
};

/* struct ds_ioc_submit: @flags */
#define DS_SUBMIT_ASYNC		(1u << 0)	/* completions go to the ring */

/**
 * struct ds_ioc_submit - run operations (DS_IOC_SUBMIT)
 * @size: sizeof(struct ds_ioc_submit)
 * @flags: DS_SUBMIT_*
 * @ops: array of struct ds_op
 * @cqes: synchronous: array of @nr_ops struct ds_cqe to fill; else 0
 * @nr_ops: length of @ops, at least 1
 * @timeout_ms: synchronous: longest wait, 0 for 30 s; asynchronous: 0
 * @out_accepted: operations taken, always whole chains
 * @patience_ms: synchronous: wait for all no longer than that, if there is a ring
 *	(-EINVAL); 0: until @timeout_ms; asynchronous: 0
 *
 * Synchronous: returns when each operation has ended and its entry of @cqes is
 * written; returns 0 even if operations failed. At the end of @timeout_ms what
 * has not ended is reported as -ETIMEDOUT with DS_UNKNOWN. A fatal signal ends
 * the wait at once; the operations then end by themselves.
 *
 * If @patience_ms is not longer, operations that are under way at its end are reported
 * as -EINPROGRESS with DS_UNKNOWN, and their completions go to the ring, when they
 * end, as of asynchronous ones: @timeout_ms is not theirs any more. Those that found no
 * room in a send queue are -ETIMEDOUT, DS_NOT_EXECUTED. If the ring has no room
 * for them the call waits on, until @timeout_ms.
 *
 * Asynchronous: returns when the operations are posted. -EAGAIN if not even the
 * first chain was taken: the ring or the queue pair is full; consume
 * completions and call again with what was not accepted. An operation that is
 * refused counts as accepted and has a completion.
 */
struct ds_ioc_submit {
	__u32 size;
	__u32 flags;
	__aligned_u64 ops;
	__aligned_u64 cqes;
	__u32 nr_ops;
	__u32 timeout_ms;
	__u32 out_accepted;
	__u32 patience_ms;
};

#define DS_SERVICE_USER_FIRST	0x100	/* service ports of user programs */
#define DS_SERVICE_USER_LAST	0xffff

/**
 * struct ds_ioc_service_bind - receive messages for a service port (DS_IOC_SERVICE_BIND)
 * @size: sizeof(struct ds_ioc_service_bind)
 * @flags: Must be 0
 * @service: DS_SERVICE_USER_FIRST to DS_SERVICE_USER_LAST; -EADDRINUSE if taken
 * @queue: messages that may wait, 1 to 1024; further ones are refused with -EBUSY. Room
 *	for all, 4 KiB each, is charged to the caller; -ENOMEM
 * @out_handle: handle for DS_IOC_MSG_RECV and DS_IOC_MSG_REPLY
 * @reserved: Must be 0
 *
 * Nodes whose messages wait take turns. If there is no room for one, the node that has
 * most waiting gives up its last for it, unless the two would then have changed places.
 */
struct ds_ioc_service_bind {
	__u32 size;
	__u32 flags;
	__u32 service;
	__u32 queue;
	__u32 out_handle;
	__u32 reserved;
};

/* struct ds_ioc_msg_send: @flags */
#define DS_SEND_ONE_WAY		(1u << 0)	/* no reply is wanted */

/**
 * struct ds_ioc_msg_send - send a message, and wait for its reply (DS_IOC_MSG_SEND)
 * @size: sizeof(struct ds_ioc_msg_send)
 * @flags: DS_SEND_*
 * @node: node to send to, which must be a connected peer (-ENOTCONN)
 * @service: service port there, or DS_SERVICE_PACKET of ds/wire.h
 * @data: payload
 * @length: its bytes, at most ds_ioc_info.out_max_msg_bytes
 * @timeout_ms: longest wait, 0 for 30 s
 * @reply: where the reply's payload goes; 0 with DS_SEND_ONE_WAY
 * @reply_size: room there; -EMSGSIZE if the reply is longer
 * @out_reply_length: bytes of the reply, also with -EMSGSIZE
 * @out_status: status that the service replied with
 * @out_outcome: enum ds_outcome of the request, also when the call fails
 *
 * -ECONNREFUSED: nobody has bound the service. -EBUSY: its queue is full.
 */
struct ds_ioc_msg_send {
	__u32 size;
	__u32 flags;
	__u32 node;
	__u32 service;
	__aligned_u64 data;
	__aligned_u64 reply;
	__u32 length;
	__u32 reply_size;
	__u32 timeout_ms;
	__u32 out_reply_length;
	__s32 out_status;
	__u32 out_outcome;
};

/**
 * struct ds_ioc_msg_recv - wait for a message to a bound service (DS_IOC_MSG_RECV)
 * @size: sizeof(struct ds_ioc_msg_recv)
 * @flags: Must be 0
 * @handle: of the service
 * @timeout_ms: longest wait, 0 to return -EAGAIN at once
 * @data: where the payload goes
 * @data_size: room there; -EMSGSIZE if the message is longer, it stays queued
 * @out_length: bytes of the message
 * @out_node: node that sent it
 * @out_want_reply: 1 if the sender waits for a reply, else 0
 * @out_cookie: for DS_IOC_MSG_REPLY
 */
struct ds_ioc_msg_recv {
	__u32 size;
	__u32 flags;
	__u32 handle;
	__u32 timeout_ms;
	__aligned_u64 data;
	__u32 data_size;
	__u32 out_length;
	__u32 out_node;
	__u32 out_want_reply;
	__aligned_u64 out_cookie;
};

/**
 * struct ds_ioc_msg_reply - answer a message (DS_IOC_MSG_REPLY)
 * @size: sizeof(struct ds_ioc_msg_reply)
 * @flags: Must be 0
 * @handle: of the service
 * @status: given to the sender as out_status
 * @cookie: from DS_IOC_MSG_RECV; -ENOENT if it is not waiting for a reply
 * @data: payload
 * @length: its bytes
 * @reserved: Must be 0
 */
struct ds_ioc_msg_reply {
	__u32 size;
	__u32 flags;
	__u32 handle;
	__s32 status;
	__aligned_u64 cookie;
	__aligned_u64 data;
	__u32 length;
	__u32 reserved;
};

/* struct ds_ioc_enroll: @flags */
#define DS_ENROLL_WITHDRAW	(1u << 0)	/* end it instead */

/**
 * struct ds_ioc_enroll - make a handle of a space one that can be fenced (DS_IOC_ENROLL)
 * @size: sizeof(struct ds_ioc_enroll)
 * @flags: DS_ENROLL_*
 * @space: handle of the space; -EBUSY if it is enrolled
 * @timeout_ms: with DS_ENROLL_WITHDRAW: longest wait, 0 for 30 s; else 0
 * @out_token: number of the client on this node, 1 to 2^48 - 1; by it and the node
 *	others fence it
 *
 * Operations on the handle end with -ESHUTDOWN, DS_NOT_EXECUTED, once somebody has
 * fenced the client. To go on, withdraw and enroll again.
 *
 * DS_ENROLL_WITHDRAW waits until no operation of the client is under way;
 * -ETIMEDOUT: one is. Then the handle is one of nobody's again. Closing it ends the
 * client, too.
 */
struct ds_ioc_enroll {
	__u32 size;
	__u32 flags;
	__u32 space;
	__u32 timeout_ms;
	__aligned_u64 out_token;
};

/* struct ds_ioc_fence: @flags */
#define DS_FENCE_IF_GONE	(1u << 0)	/* -EBUSY if the client lives */

/**
 * struct ds_ioc_fence - end a client of a space, wherever it is (DS_IOC_FENCE)
 * @size: sizeof(struct ds_ioc_fence)
 * @flags: DS_FENCE_*
 * @space: handle of the space, opened for writing; the client has the same segments
 *	in its own space
 * @node: node of the client
 * @token: out_token of its DS_IOC_ENROLL
 * @timeout_ms: longest wait, 0 for 30 s
 * @reserved: Must be 0
 *
 * When it returns 0, no operation of the client is under way or will ever be. A node
 * that does not answer a server in time loses its connection to that server.
 *
 * Without the client's answer each server of the space is needed. -ENOTCONN: one is
 * not connected; -EKEYREVOKED: one took its keys away; -ETIMEDOUT: one did not answer,
 * try again; -EACCES: the handle cannot write, or the client is one of another space;
 * with DS_FENCE_IF_GONE -EBUSY: the client lives, or its node does not tell.
 */
struct ds_ioc_fence {
	__u32 size;
	__u32 flags;
	__u32 space;
	__u32 node;
	__aligned_u64 token;
	__u32 timeout_ms;
	__u32 reserved;
};

#define DS_IOC_INFO		_IOWR(DS_IOC_TYPE, 0x00, struct ds_ioc_info)
#define DS_IOC_SPACE_OPEN	_IOWR(DS_IOC_TYPE, 0x01, struct ds_ioc_space_open)
#define DS_IOC_CLOSE		_IOWR(DS_IOC_TYPE, 0x02, struct ds_ioc_close)
#define DS_IOC_BUF_CREATE	_IOWR(DS_IOC_TYPE, 0x03, struct ds_ioc_buf_create)
#define DS_IOC_BUF_PIN		_IOWR(DS_IOC_TYPE, 0x04, struct ds_ioc_buf_pin)
#define DS_IOC_SEG_CREATE	_IOWR(DS_IOC_TYPE, 0x05, struct ds_ioc_seg_create)
#define DS_IOC_RING_CREATE	_IOWR(DS_IOC_TYPE, 0x06, struct ds_ioc_ring_create)
#define DS_IOC_SUBMIT		_IOWR(DS_IOC_TYPE, 0x07, struct ds_ioc_submit)
#define DS_IOC_SERVICE_BIND	_IOWR(DS_IOC_TYPE, 0x08, struct ds_ioc_service_bind)
#define DS_IOC_MSG_SEND		_IOWR(DS_IOC_TYPE, 0x09, struct ds_ioc_msg_send)
#define DS_IOC_MSG_RECV		_IOWR(DS_IOC_TYPE, 0x0a, struct ds_ioc_msg_recv)
#define DS_IOC_MSG_REPLY	_IOWR(DS_IOC_TYPE, 0x0b, struct ds_ioc_msg_reply)
#define DS_IOC_ENROLL		_IOWR(DS_IOC_TYPE, 0x0c, struct ds_ioc_enroll)
#define DS_IOC_FENCE		_IOWR(DS_IOC_TYPE, 0x0d, struct ds_ioc_fence)

#endif /* _UAPI_DS_IOCTL_H */
