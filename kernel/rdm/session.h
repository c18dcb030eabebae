/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: sessions of the packet service: each change is made at most once, however
 * often its packets come.
 *
 * A client numbers its changes from 1. The session keeps the answers to the newest
 * DS_PACKET_WINDOW numbers: a number that comes again gets the answer of then, one
 * that is older is refused. Sessions end with their space, and with the server;
 * their numbers do not come again, so no packet of a former life does anything.
 *
 * Changes under the caller's lock only. May sleep.
 */
#ifndef DS_RDM_SESSION_H
#define DS_RDM_SESSION_H

#include "packet.h"

#define DS_SESSIONS_MAX		256u	/* of a space */
#define DS_SESSIONS_PEER_MAX	16u	/* of a peer, in a space */
#define DS_SESSION_IDLE_NS	10000000000ull	/* may make room for another after this */
#define DS_SESSION_PARTED	4u	/* WRITEs of a session that may be incomplete */

/**
 * struct ds_session_change - a change and its answer
 * @seq: its number, 0: none yet
 * @done: the answer stands
 * @op: what it was, with the next two: another request may not have the number
 * @address: see @op
 * @length: see @op
 * @answer: status, address, length and offset
 */
struct ds_session_change {
	u64 seq;
	bool done;
	u8 op;
	u64 address;
	u64 length;
	struct {
		u16 status;
		u64 address;
		u64 length;
		u64 offset;
	} answer;
};

/**
 * struct ds_session_write - a WRITE of which parts have come
 * @seq: its number, 0: none
 * @blocks: which blocks of DS_PACKET_BLOCK bytes have come
 * @data: room for the range
 */
struct ds_session_write {
	u64 seq;
	u64 blocks;
	u8 *data;
};

/**
 * struct ds_session - a client's
 * @id: its number, never 0
 * @peer: whose it is
 * @nonce: by which it was opened
 * @newest: largest number of a change
 * @used_ns: when it was used last
 * @changes: the newest ones, number modulo window
 * @writes: incomplete ones
 */
struct ds_session {
	u64 id;
	u64 peer;
	u64 nonce;
	u64 newest;
	u64 used_ns;
	struct ds_session_change changes[DS_PACKET_WINDOW];
	struct ds_session_write writes[DS_SESSION_PARTED];
};

/**
 * struct ds_sessions - those of a space
 * @secret: makes their numbers
 * @opened: how many there were
 * @count: how many there are
 * @at: place of each, the low byte of its number
 */
struct ds_sessions {
	const u8 *secret;
	u64 opened;
	u32 count;
	struct ds_session *at[DS_SESSIONS_MAX];
};

void ds_sessions_init(struct ds_sessions *all, const u8 *secret);
void ds_sessions_exit(struct ds_sessions *all);

/**
 * ds_session_open - begin a session, or find the one that was begun so
 * @peer: number of the peer
 * @nonce: chosen by it
 * @id: set to the session's number
 *
 * When a peer or the space has its fill, the one of them that was idle for longest
 * ends, if that was DS_SESSION_IDLE_NS at least.
 *
 * Return: enum ds_packet_status: OK, BUSY or MEMORY
 */
u16 ds_session_open(struct ds_sessions *all, u64 peer, u64 nonce, u64 *id);

/* The peer's session with this number, or NULL. */
struct ds_session *ds_session_find(struct ds_sessions *all, u64 peer, u64 id);
void ds_session_close(struct ds_sessions *all, struct ds_session *session);

/**
 * ds_session_begin - a change has come
 * @p: its request, or a part of it
 * @change: set to its place if the status is OK; @change->done: it has been made
 *
 * Return: enum ds_packet_status: OK or SEQUENCE
 */
u16 ds_session_begin(struct ds_session *session, const struct ds_packet *p,
		     struct ds_session_change **change);

/**
 * ds_session_gather - put a part of a WRITE to the others
 * @p: the part
 * @whole: set to the data if all parts are there; good until ds_session_end()
 *
 * Return: enum ds_packet_status: OK; BUSY: too many WRITEs are incomplete; MEMORY
 */
u16 ds_session_gather(struct ds_session *session, const struct ds_packet *p, const u8 **whole);

/* The change was made, or cannot be: @r is its answer from now on. */
void ds_session_end(struct ds_session *session, struct ds_session_change *change,
		    const struct ds_packet *r);

#endif /* DS_RDM_SESSION_H */
