/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: tracepoints, group "ds" (/sys/kernel/tracing/events/ds).
 *
 *	trace_ds_conn(u32 node, bool server, const char *what)
 *	trace_ds_handshake(u32 node, bool server, const char *what, u32 reject)
 *	trace_ds_peer(u32 node, u32 state, const char *reason)
 *	trace_ds_attach(u32 space, u32 server, u32 node, u32 state)
 *	trace_ds_segment(u64 id, const char *what, u64 length)
 *	trace_ds_chain_post(u32 qpn, u32 count, u8 first_opcode)
 *	trace_ds_chain_done(u32 qpn, u32 count, int status)
 *	trace_ds_op(u32 space, u8 opcode, u64 addr, u32 length, u32 node)
 *	trace_ds_op_done(u32 node, u8 opcode, int status, u8 outcome)
 *	trace_ds_msg(bool sent, u32 node, u8 type, u16 service, u32 length, u64 seq)
 *	trace_ds_packet(u32 wire, u64 caller, const struct ds_packet *packet)
 *	trace_ds_token_access(u32 token, u8 op, u8 tier)
 *	trace_ds_token_move(u32 token, u8 from, u8 to)
 *
 * @node is 0 where it is not known yet. @first_opcode is an enum ib_wr_opcode,
 * @status 0 or a negative errno, @caller an IPv4 address, or a node
 * with bit 32 set, @packet a request that was read, not yet run; @tier is where the token
 * was found, 0 if that is not known, @to where it is by now, @from if the move
 * was aborted; all other numbers are those of the uapi. Strings may be NULL and are cut at
 * the length of their field.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ds

#if !defined(_DS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _DS_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>
#include <rdma/ib_verbs.h>
#include <uapi/ds/ioctl.h>
#include <uapi/ds/netlink.h>
#include <uapi/ds/token.h>
#include <uapi/ds/wire.h>
#include "rdm/packet.h"

/* Arrays, because __assign_str() takes other arguments on 6.12 than on 6.1. */
#define DS_TRACE_WHAT	16
#define DS_TRACE_REASON	64

TRACE_DEFINE_ENUM(DS_PEER_CONNECTING);
TRACE_DEFINE_ENUM(DS_PEER_UP);
TRACE_DEFINE_ENUM(DS_PEER_REFUSED);
TRACE_DEFINE_ENUM(DS_PEER_CLOSING);
#define ds_show_peer_state(x) __print_symbolic(x,	\
	{ DS_PEER_CONNECTING,	"connecting" },		\
	{ DS_PEER_UP,		"up" },			\
	{ DS_PEER_REFUSED,	"refused" },		\
	{ DS_PEER_CLOSING,	"closing" })

TRACE_DEFINE_ENUM(DS_ATTACH_DOWN);
TRACE_DEFINE_ENUM(DS_ATTACH_UP);
TRACE_DEFINE_ENUM(DS_ATTACH_LOST);
TRACE_DEFINE_ENUM(DS_ATTACH_REVOKED);
#define ds_show_attach_state(x) __print_symbolic(x,	\
	{ DS_ATTACH_DOWN,	"down" },		\
	{ DS_ATTACH_UP,		"up" },			\
	{ DS_ATTACH_LOST,	"lost" },		\
	{ DS_ATTACH_REVOKED,	"revoked" })

TRACE_DEFINE_ENUM(DS_OP_READ);
TRACE_DEFINE_ENUM(DS_OP_WRITE);
TRACE_DEFINE_ENUM(DS_OP_CAS);
TRACE_DEFINE_ENUM(DS_OP_FETCH_ADD);
#define ds_show_opcode(x) __print_symbolic(x,		\
	{ DS_OP_READ,		"read" },		\
	{ DS_OP_WRITE,		"write" },		\
	{ DS_OP_CAS,		"cas" },		\
	{ DS_OP_FETCH_ADD,	"fetch_add" })

TRACE_DEFINE_ENUM(DS_NOT_EXECUTED);
TRACE_DEFINE_ENUM(DS_EXECUTED);
TRACE_DEFINE_ENUM(DS_UNKNOWN);
#define ds_show_outcome(x) __print_symbolic(x,		\
	{ DS_NOT_EXECUTED,	"not executed" },	\
	{ DS_EXECUTED,		"executed" },		\
	{ DS_UNKNOWN,		"unknown" })

TRACE_DEFINE_ENUM(DS_MSG_HELLO);
TRACE_DEFINE_ENUM(DS_MSG_HELLO_REPLY);
TRACE_DEFINE_ENUM(DS_MSG_AUTH);
TRACE_DEFINE_ENUM(DS_MSG_AUTH_OK);
TRACE_DEFINE_ENUM(DS_MSG_REFUSE);
TRACE_DEFINE_ENUM(DS_MSG_REQUEST);
TRACE_DEFINE_ENUM(DS_MSG_RESPONSE);
TRACE_DEFINE_ENUM(DS_MSG_ONE_WAY);
TRACE_DEFINE_ENUM(DS_MSG_CREDIT);
#define ds_show_msg_type(x) __print_symbolic(x,		\
	{ DS_MSG_HELLO,		"hello" },		\
	{ DS_MSG_HELLO_REPLY,	"hello_reply" },	\
	{ DS_MSG_AUTH,		"auth" },		\
	{ DS_MSG_AUTH_OK,	"auth_ok" },		\
	{ DS_MSG_REFUSE,	"refuse" },		\
	{ DS_MSG_REQUEST,	"request" },		\
	{ DS_MSG_RESPONSE,	"response" },		\
	{ DS_MSG_ONE_WAY,	"one_way" },		\
	{ DS_MSG_CREDIT,	"credit" })

TRACE_DEFINE_ENUM(IB_WR_RDMA_WRITE);
TRACE_DEFINE_ENUM(IB_WR_SEND);
TRACE_DEFINE_ENUM(IB_WR_RDMA_READ);
TRACE_DEFINE_ENUM(IB_WR_ATOMIC_CMP_AND_SWP);
TRACE_DEFINE_ENUM(IB_WR_ATOMIC_FETCH_AND_ADD);
TRACE_DEFINE_ENUM(IB_WR_LOCAL_INV);
TRACE_DEFINE_ENUM(IB_WR_REG_MR);
#define ds_show_wr_opcode(x) __print_symbolic(x,	\
	{ IB_WR_RDMA_WRITE,		"write" },	\
	{ IB_WR_SEND,			"send" },	\
	{ IB_WR_RDMA_READ,		"read" },	\
	{ IB_WR_ATOMIC_CMP_AND_SWP,	"cas" },	\
	{ IB_WR_ATOMIC_FETCH_AND_ADD,	"fetch_add" },	\
	{ IB_WR_LOCAL_INV,		"local_inv" },	\
	{ IB_WR_REG_MR,			"reg_mr" })

TRACE_DEFINE_ENUM(DS_TOKEN_PD);
TRACE_DEFINE_ENUM(DS_TOKEN_MR);
TRACE_DEFINE_ENUM(DS_TOKEN_CQ);
TRACE_DEFINE_ENUM(DS_TOKEN_QP);
#define ds_show_token_type(x) __print_symbolic((x) >> DS_TOKEN_TYPE_OFF,	\
	{ DS_TOKEN_PD,		"pd" },			\
	{ DS_TOKEN_MR,		"mr" },			\
	{ DS_TOKEN_CQ,		"cq" },			\
	{ DS_TOKEN_QP,		"qp" })

TRACE_DEFINE_ENUM(DS_TOKEN_OP_READ);
TRACE_DEFINE_ENUM(DS_TOKEN_OP_WRITE);
TRACE_DEFINE_ENUM(DS_TOKEN_OP_CREATE);
TRACE_DEFINE_ENUM(DS_TOKEN_OP_FREE);
#define ds_show_token_op(x) __print_symbolic(x,		\
	{ DS_TOKEN_OP_READ,	"read" },		\
	{ DS_TOKEN_OP_WRITE,	"write" },		\
	{ DS_TOKEN_OP_CREATE,	"create" },		\
	{ DS_TOKEN_OP_FREE,	"free" })

/* ---- connections, peers, attachments: what is the state of a link? ---- */

TRACE_EVENT(ds_conn,
	    TP_PROTO(u32 node, bool server, const char *what),
	    TP_ARGS(node, server, what),
	    TP_STRUCT__entry(__field(u32, node)
			     __field(bool, server)
			     __array(char, what, DS_TRACE_REASON)
	    ),
	    TP_fast_assign(__entry->node = node;
			   __entry->server = server;
			   strscpy(__entry->what, what ?: "", DS_TRACE_REASON);
	    ),
	    TP_printk("node=%u side=%s what=\"%s\"", __entry->node,
		      __entry->server ? "server" : "client", __entry->what)
);

TRACE_EVENT(ds_handshake,
	    TP_PROTO(u32 node, bool server, const char *what, u32 reject),
	    TP_ARGS(node, server, what, reject),
	    TP_STRUCT__entry(__field(u32, node)
			     __field(u32, reject)
			     __field(bool, server)
			     __array(char, what, DS_TRACE_WHAT)
	    ),
	    TP_fast_assign(__entry->node = node;
			   __entry->reject = reject;
			   __entry->server = server;
			   strscpy(__entry->what, what ?: "", DS_TRACE_WHAT);
	    ),
	    TP_printk("node=%u side=%s what=%s reject=%u", __entry->node,
		      __entry->server ? "server" : "client", __entry->what, __entry->reject)
);

TRACE_EVENT(ds_peer,
	    TP_PROTO(u32 node, u32 state, const char *reason),
	    TP_ARGS(node, state, reason),
	    TP_STRUCT__entry(__field(u32, node)
			     __field(u32, state)
			     __array(char, reason, DS_TRACE_REASON)
	    ),
	    TP_fast_assign(__entry->node = node;
			   __entry->state = state;
			   strscpy(__entry->reason, reason ?: "", DS_TRACE_REASON);
	    ),
	    TP_printk("node=%u state=%s reason=\"%s\"", __entry->node,
		      ds_show_peer_state(__entry->state), __entry->reason)
);

TRACE_EVENT(ds_attach,
	    TP_PROTO(u32 space, u32 server, u32 node, u32 state),
	    TP_ARGS(space, server, node, state),
	    TP_STRUCT__entry(__field(u32, space)
			     __field(u32, server)
			     __field(u32, node)
			     __field(u32, state)
	    ),
	    TP_fast_assign(__entry->space = space;
			   __entry->server = server;
			   __entry->node = node;
			   __entry->state = state;
	    ),
	    TP_printk("space=%u server=%u node=%u state=%s", __entry->space, __entry->server,
		      __entry->node, ds_show_attach_state(__entry->state))
);

/* ---- segments: created, registered, revoked, deleted ---- */

TRACE_EVENT(ds_segment,
	    TP_PROTO(u64 id, const char *what, u64 length),
	    TP_ARGS(id, what, length),
	    TP_STRUCT__entry(__field(u64, id)
			     __field(u64, length)
			     __array(char, what, DS_TRACE_WHAT)
	    ),
	    TP_fast_assign(__entry->id = id;
			   __entry->length = length;
			   strscpy(__entry->what, what ?: "", DS_TRACE_WHAT);
	    ),
	    TP_printk("segment=%llu what=%s length=%llu", __entry->id, __entry->what,
		      __entry->length)
);

/* ---- chains: what goes to the device and comes back ---- */

TRACE_EVENT(ds_chain_post,
	    TP_PROTO(u32 qpn, u32 count, u8 first_opcode),
	    TP_ARGS(qpn, count, first_opcode),
	    TP_STRUCT__entry(__field(u32, qpn)
			     __field(u32, count)
			     __field(u8, opcode)
	    ),
	    TP_fast_assign(__entry->qpn = qpn;
			   __entry->count = count;
			   __entry->opcode = first_opcode;
	    ),
	    TP_printk("qpn=%u count=%u first=%s", __entry->qpn, __entry->count,
		      ds_show_wr_opcode(__entry->opcode))
);

TRACE_EVENT(ds_chain_done,
	    TP_PROTO(u32 qpn, u32 count, int status),
	    TP_ARGS(qpn, count, status),
	    TP_STRUCT__entry(__field(u32, qpn)
			     __field(u32, count)
			     __field(int, status)
	    ),
	    TP_fast_assign(__entry->qpn = qpn;
			   __entry->count = count;
			   __entry->status = status;
	    ),
	    TP_printk("qpn=%u count=%u status=%d", __entry->qpn, __entry->count, __entry->status)
);

/* ---- operations: what users ask for ---- */

TRACE_EVENT(ds_op,
	    TP_PROTO(u32 space, u8 opcode, u64 addr, u32 length, u32 node),
	    TP_ARGS(space, opcode, addr, length, node),
	    TP_STRUCT__entry(__field(u64, addr)
			     __field(u32, space)
			     __field(u32, length)
			     __field(u32, node)
			     __field(u8, opcode)
	    ),
	    TP_fast_assign(__entry->addr = addr;
			   __entry->space = space;
			   __entry->length = length;
			   __entry->node = node;
			   __entry->opcode = opcode;
	    ),
	    TP_printk("space=%u op=%s addr=0x%llx length=%u node=%u", __entry->space,
		      ds_show_opcode(__entry->opcode), __entry->addr, __entry->length,
		      __entry->node)
);

TRACE_EVENT(ds_op_done,
	    TP_PROTO(u32 node, u8 opcode, int status, u8 outcome),
	    TP_ARGS(node, opcode, status, outcome),
	    TP_STRUCT__entry(__field(u32, node)
			     __field(int, status)
			     __field(u8, opcode)
			     __field(u8, outcome)
	    ),
	    TP_fast_assign(__entry->node = node;
			   __entry->status = status;
			   __entry->opcode = opcode;
			   __entry->outcome = outcome;
	    ),
	    TP_printk("node=%u op=%s status=%d outcome=%s", __entry->node,
		      ds_show_opcode(__entry->opcode), __entry->status,
		      ds_show_outcome(__entry->outcome))
);

/* ---- control messages ---- */

TRACE_EVENT(ds_msg,
	    TP_PROTO(bool sent, u32 node, u8 type, u16 service, u32 length, u64 seq),
	    TP_ARGS(sent, node, type, service, length, seq),
	    TP_STRUCT__entry(__field(u64, seq)
			     __field(u32, node)
			     __field(u32, length)
			     __field(u16, service)
			     __field(u8, type)
			     __field(bool, sent)
	    ),
	    TP_fast_assign(__entry->seq = seq;
			   __entry->node = node;
			   __entry->length = length;
			   __entry->service = service;
			   __entry->type = type;
			   __entry->sent = sent;
	    ),
	    TP_printk("%s node=%u type=%s service=%u length=%u seq=%llu",
		      __entry->sent ? "sent" : "received", __entry->node,
		      ds_show_msg_type(__entry->type), __entry->service, __entry->length,
		      __entry->seq)
);

/* ---- packets ---- */

TRACE_EVENT(ds_packet,
	    TP_PROTO(u32 wire, u64 caller, const struct ds_packet *packet),
	    TP_ARGS(wire, caller, packet),
	    TP_STRUCT__entry(__field(u64, caller)
			     __field(u64, address)
			     __field(u64, length)
			     __field(u64, seq)
			     __field(u32, wire)
			     __field(u32, space)
			     __field(u16, parsed)
			     __field(u8, op)
	    ),
	    TP_fast_assign(__entry->caller = caller;
			   __entry->address = packet->address;
			   __entry->length = packet->length;
			   __entry->seq = packet->seq;
			   __entry->wire = wire;
			   __entry->space = packet->space;
			   __entry->parsed = packet->status;
			   __entry->op = packet->op;
	    ),
	    TP_printk("wire=%u caller=%#llx space=%u op=%u address=%#llx length=%llu seq=%llu parsed=%u",
		      __entry->wire, __entry->caller, __entry->space, __entry->op,
		      __entry->address, __entry->length, __entry->seq, __entry->parsed)
);

/* ---- the token cache ---- */

TRACE_EVENT(ds_token_access,
	    TP_PROTO(u32 token, u8 op, u8 tier),
	    TP_ARGS(token, op, tier),
	    TP_STRUCT__entry(__field(u32, token)
			     __field(u8, op)
			     __field(u8, tier)
	    ),
	    TP_fast_assign(__entry->token = token;
			   __entry->op = op;
			   __entry->tier = tier;
	    ),
	    TP_printk("token=%#x type=%s op=%s tier=%u", __entry->token,
		      ds_show_token_type(__entry->token), ds_show_token_op(__entry->op),
		      __entry->tier)
);

TRACE_EVENT(ds_token_move,
	    TP_PROTO(u32 token, u8 from, u8 to),
	    TP_ARGS(token, from, to),
	    TP_STRUCT__entry(__field(u32, token)
			     __field(u8, from)
			     __field(u8, to)
	    ),
	    TP_fast_assign(__entry->token = token;
			   __entry->from = from;
			   __entry->to = to;
	    ),
	    TP_printk("token=%#x type=%s from=%u to=%u %s", __entry->token,
		      ds_show_token_type(__entry->token), __entry->from, __entry->to,
		      __entry->from == __entry->to ? "aborted" : "moved")
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
