/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: the authenticated handshake of two hosts (include/uapi/ds/wire.h).
 *
 *	client			server
 *	HELLO	------------->
 *		<-------------	HELLO_REPLY	server proves the domain key
 *	AUTH	------------->			client proves it
 *		<-------------	AUTH_OK		cookies for the data queue pairs
 *
 * This file makes and checks the messages and keeps the state of one
 * connection; sending, receiving and timeouts are the caller's. Nothing here
 * sleeps but the callbacks may. One caller at a time for each struct ds_hs.
 */
#ifndef DS_HANDSHAKE_H
#define DS_HANDSHAKE_H

#include "shim.h"
#include <ds/wire.h>

#define DS_HS_KEY_LEN	32

/**
 * struct ds_hs_vec - one part of the bytes that an HMAC covers
 * @data: bytes
 * @len: their number
 */
struct ds_hs_vec {
	const void *data;
	u32 len;
};

/**
 * struct ds_hs_ops - what the caller brings
 * @hmac: HMAC-SHA-256 with @key over the @n parts of @vec one after the other;
 *	0 or a negative errno
 * @random: fill @p with @n random bytes that nobody can guess
 * @key: put the key of a trust domain into @key; 0, or -ENOENT if the host is
 *	not in the domain
 */
struct ds_hs_ops {
	int (*hmac)(void *ctx, const u8 *key, u32 keylen,
		    const struct ds_hs_vec *vec, u32 n, u8 mac[DS_MAC_LEN]);
	void (*random)(void *ctx, void *p, u32 n);
	int (*key)(void *ctx, u32 domain, u8 key[DS_HS_KEY_LEN]);
};

/**
 * struct ds_hs_host - what the sides tell each other; fields of struct ds_hello
 * @uuid: of the host
 * @incarnation: of the host
 * @group: group of hosts
 * @node: node number
 * @domain: trust domain
 * @lanes: bulk queue pairs wanted for each pair of NICs
 * @nics: number of NICs
 *
 * A server leaves @domain 0: it takes the client's, if it has a key for it.
 */
struct ds_hs_host {
	u8 uuid[16];
	u64 incarnation;
	u64 group;
	u32 node;
	u32 domain;
	u16 lanes;
	u16 nics;
};

/**
 * struct ds_hs_out - message to send
 * @type: enum ds_msg_type, 0 for nothing
 * @status: for the header: enum ds_reject with DS_MSG_REFUSE, else 0
 * @length: bytes of @payload
 * @payload: what follows the header
 *
 * The rest of the header: service and seq 0, epoch ds_hs.epoch.
 */
struct ds_hs_out {
	u8 type;
	u32 status;
	u32 length;
	union {
		struct ds_hello hello;
		struct ds_auth auth;
		struct ds_auth_ok auth_ok;
	} payload;
};

/**
 * struct ds_hs - state of the handshake on one connection
 * @state: private
 * @reject: enum ds_reject: why it failed, ours or the peer's verdict
 * @epoch: client's incarnation, the epoch of the exchange; for the headers.
 *	A server has it once ds_hs_input() was given a HELLO
 * @self: this host
 * @peer: the other host; to be believed only when the handshake is up
 * @to_self: both ends of the connection have the same address. The caller sets
 *	it after ds_hs_init(); then the other host must be this one, and
 *	without it must not be
 * @auth_ok: cookies and lanes, valid when the handshake is up; the server's
 *	are those that it issued
 * @ops: callbacks
 * @ctx: for them
 * @hello: private: client: the HELLO sent
 * @expect: private: server: MAC that the client must send
 */
struct ds_hs {
	u8 state;
	u8 reject;
	bool to_self;
	u64 epoch;
	struct ds_hs_host self;
	struct ds_hs_host peer;
	struct ds_auth_ok auth_ok;
	const struct ds_hs_ops *ops;
	void *ctx;
	struct ds_hello hello;
	u8 expect[DS_MAC_LEN];
};

/**
 * ds_hs_make_req - fill the private data of a connection request
 * @r: result
 * @role: enum ds_role
 * @nic: index of the NIC pair
 * @group: group of hosts
 * @cookie: 0 for DS_ROLE_CONTROL
 * @lane: 0 but for DS_ROLE_BULK
 */
void ds_hs_make_req(struct ds_cm_req *r, u8 role, u8 nic, u64 group, u64 cookie,
		    u16 lane);

/**
 * ds_hs_check_req - check the private data of a connection request
 * @data: bytes received, any alignment
 * @len: their number; more than the struct is right if the rest is zero, as the
 *	connection manager pads
 * @group: this host's group
 * @req: copy of the request, written on success only
 *
 * Does not know which cookies are good; @cookie is not 0 where one is needed.
 *
 * Return: DS_REJECT_NONE, or why to refuse.
 */
enum ds_reject ds_hs_check_req(const void *data, u32 len, u64 group,
			       struct ds_cm_req *req);

/**
 * ds_hs_make_rep - fill the private data of an accepted or refused connection
 * @r: result
 * @reason: DS_REJECT_NONE to accept
 */
void ds_hs_make_rep(struct ds_cm_rep *r, enum ds_reject reason);

/**
 * ds_hs_check_rep - check the private data of an answer to a connection request
 * @data: bytes received, any alignment
 * @len: their number
 *
 * Return: DS_REJECT_NONE if it is accepted, the peer's reason if it is refused,
 * DS_REJECT_MAGIC if it is malformed, DS_REJECT_VERSION if a version was
 * chosen that this host does not speak.
 */
enum ds_reject ds_hs_check_rep(const void *data, u32 len);

/**
 * ds_msg_check_hdr - check the header of a received message
 * @hdr: header, copied to where the peer cannot change it
 * @received: bytes received, header included
 *
 * Return: 0, or -EPROTO if it is too short, its length is not what was received
 * or over the limit, its magic, version or type is unknown, or a field is not
 * zero that its type does not use.
 */
int ds_msg_check_hdr(const struct ds_msg_hdr *hdr, u32 received);

/**
 * ds_hs_init - begin a handshake
 * @hs: state
 * @server: true on the side that was connected to
 * @self: this host, copied
 * @ops: callbacks
 * @ctx: for them
 */
void ds_hs_init(struct ds_hs *hs, bool server, const struct ds_hs_host *self,
		const struct ds_hs_ops *ops, void *ctx);

/**
 * ds_hs_hello - make the client's first message
 * @hs: client's state, fresh from ds_hs_init()
 * @out: message to send
 */
void ds_hs_hello(struct ds_hs *hs, struct ds_hs_out *out);

/**
 * ds_hs_input - take a message from the peer
 * @hs: state
 * @hdr: header that has passed ds_msg_check_hdr()
 * @payload: hdr->length bytes, copied to where the peer cannot change them
 * @out: message to send next
 *
 * Return: 0 to go on, 1 when the handshake is up (the server still has to send
 * @out), -ECONNREFUSED when the peer has refused, -EPROTO when this side
 * refuses and @out tells the peer so; hs->reject says why. Another errno is a
 * failed callback's; the peer is told DS_REJECT_BUSY.
 */
int ds_hs_input(struct ds_hs *hs, const struct ds_msg_hdr *hdr,
		const void *payload, struct ds_hs_out *out);

#endif /* DS_HANDSHAKE_H */
