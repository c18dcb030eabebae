// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: the packet service: from a packet to the packets that answer it.
 */
#include "packet1.h"
#include "packet2.h"
#include "serve.h"

#define DS_SERVE_HEAD	((u32)sizeof(struct ds_packet2_header))

/* Count how a request ended. */
static u16 ds_serve_count(struct ds_packet_space *s, u16 status)
{
	if (s)
		s->counters.statuses[status]++;
	return status;
}

/* ---- Version 1 ---- */

static u16 ds_serve1_read(struct ds_packet_space *s, const struct ds_packet *p,
			  struct ds_packet_out *out)
{
	struct ds_vspace_run runs[DS_VSPACE_RUNS];
	u32 count;
	u16 status;

	if (ds_packet1_size(p->part) > out->room)
		return DS_PACKET_MTU;
	s->counters.ops[p->op]++;
	status = ds_packet_find(s, p->address, p->length, runs, &count);
	if (status)
		return status;
	ds_packet_copy(s, runs, 0, out->packet + DS_PACKET1_DATA_AT, p->part);
	s->counters.bytes_read += p->part;
	return DS_PACKET_OK;
}

static u16 ds_serve1_do(struct ds_packet_space *s, const struct ds_packet *p,
			struct ds_packet *r, struct ds_packet_out *out)
{
	/* Who cannot prove a key has no part in a space that has one. */
	if (!s || ds_packet_space_key(s))
		return DS_PACKET_NO_SPACE;
	if (p->status)
		return p->status;
	if (p->op == DS_PACKET_READ)
		return ds_serve1_read(s, p, out);
	return ds_packet_run(s, p, p->data, r);
}

void ds_packet_serve1(struct ds_packet_space *s, const struct ds_packet *p, bool answer_writes,
		      u64 *counter, struct ds_packet_out *out)
{
	struct ds_packet r = *p;

	if (out->room < DS_PACKET1_DATA_AT)
		return;		/* what cannot be answered is not done */
	r.status = ds_serve_count(s, ds_serve1_do(s, p, &r, out));
	if (p->op == DS_PACKET_WRITE && !answer_writes)
		return;
	out->emit(out, ds_packet1_reply(out->packet, &r, ++*counter));
}

/* ---- Version 2 ---- */

/* The request's own names, and nothing else. */
static void ds_serve2_begin(const struct ds_packet *p, struct ds_packet *r)
{
	memset(r, 0, sizeof(*r));
	r->op = p->op;
	r->tag = p->tag;
	r->tenant = p->tenant;
	r->space = p->space;
	r->session = p->session;
	r->seq = p->seq;
}

static void ds_serve2_emit(struct ds_packet_space *s, const struct ds_packet *r,
			   struct ds_packet_out *out)
{
	if (out->room >= DS_SERVE_HEAD + r->part)
		out->emit(out, ds_packet2_build(out->packet, r, true,
						s ? ds_packet_space_key(s) : NULL));
}

static void ds_serve2_end(struct ds_packet_space *s, struct ds_packet *r, u16 status,
			  struct ds_packet_out *out)
{
	r->status = ds_serve_count(s, status);
	ds_serve2_emit(s, r, out);
}

static void ds_serve2_read(struct ds_packet_space *s, const struct ds_packet *p,
			   struct ds_packet *r, struct ds_packet_out *out)
{
	struct ds_vspace_run runs[DS_VSPACE_RUNS];
	u32 count, done;
	u16 status;

	s->counters.ops[p->op]++;
	status = ds_packet_find(s, p->address, p->length, runs, &count);
	if (!status && out->room <= DS_SERVE_HEAD)
		status = DS_PACKET_MTU;
	if (status) {
		ds_serve2_end(s, r, status, out);
		return;
	}
	ds_serve_count(s, status);
	r->address = p->address;
	r->length = p->length;
	for (done = 0; done < p->part && out->room > DS_SERVE_HEAD; done += r->part) {
		r->offset = p->offset + done;
		r->part = min(p->part - done, out->room - DS_SERVE_HEAD);
		ds_packet_copy(s, runs, r->offset, out->packet + DS_SERVE_HEAD, r->part);
		s->counters.bytes_read += r->part;
		ds_serve2_emit(s, r, out);
	}
}

static void ds_serve2_ping(struct ds_packet_space *s, const struct ds_packet *p,
			   struct ds_packet *r, struct ds_packet_out *out)
{
	u16 status = DS_PACKET_OK;

	s->counters.ops[p->op]++;
	if (p->part > out->room || out->room - p->part < DS_SERVE_HEAD) {
		status = DS_PACKET_MTU;
	} else {
		r->part = p->part;
		r->data = p->data;
	}
	ds_serve2_end(s, r, status, out);
}

static void ds_serve2_open(struct ds_packet_space *s, u64 peer, const struct ds_packet *p,
			   struct ds_packet *r, struct ds_packet_out *out)
{
	s->counters.ops[p->op]++;
	ds_serve2_end(s, r, ds_session_open(&s->sessions, peer, p->seq, &r->session), out);
}

/* A WRITE in one part needs no gathering. Return: its data, NULL: not all is there. */
static const u8 *ds_serve2_data(struct ds_packet_space *s, struct ds_session *session,
				const struct ds_packet *p, u16 *status)
{
	const u8 *whole;

	if (p->op != DS_PACKET_WRITE && p->op != DS_PACKET_WRITE_PERSISTENT)
		return p->data;
	if (p->part == p->length)
		return p->data;
	*status = ds_session_gather(session, p, &whole);
	if (!*status && !whole)
		s->counters.parts++;
	return whole;
}

static void ds_serve2_again(struct ds_packet_space *s, const struct ds_session_change *change,
			    struct ds_packet *r, struct ds_packet_out *out)
{
	s->counters.repeated++;
	r->status = change->answer.status;
	r->address = change->answer.address;
	r->length = change->answer.length;
	r->offset = change->answer.offset;
	ds_serve2_emit(s, r, out);
}

static void ds_serve2_change(struct ds_packet_space *s, struct ds_session *session,
			     const struct ds_packet *p, struct ds_packet *r,
			     struct ds_packet_out *out)
{
	struct ds_session_change *change;
	const u8 *data;
	u16 status;

	status = ds_session_begin(session, p, &change);
	if (status) {
		ds_serve2_end(s, r, status, out);
		return;
	}
	if (change->done) {
		ds_serve2_again(s, change, r, out);
		return;
	}
	data = ds_serve2_data(s, session, p, &status);
	if (status) {
		/* Not for ever: the client may send its parts again. */
		ds_serve2_end(s, r, status, out);
		return;
	}
	if (!data && p->part)
		return;		/* more parts are to come */
	r->status = ds_packet_run(s, p, data, r);
	ds_session_end(session, change, r);
	ds_serve2_end(s, r, r->status, out);
}

void ds_packet_serve2(struct ds_packet_space *s, u64 peer, const struct ds_packet *p,
		      struct ds_packet_out *out)
{
	struct ds_session *session;
	struct ds_packet r;

	if (out->room < DS_SERVE_HEAD)
		return;		/* what cannot be answered is not done */
	ds_serve2_begin(p, &r);
	if (!s || s->attr.tenant != p->tenant) {
		ds_serve2_end(s, &r, DS_PACKET_NO_SPACE, out);
		return;
	}
	if (p->status) {
		ds_serve2_end(s, &r, p->status, out);
		return;
	}
	switch (p->op) {
	case DS_PACKET_READ:
		ds_serve2_read(s, p, &r, out);
		return;
	case DS_PACKET_PING:
		ds_serve2_ping(s, p, &r, out);
		return;
	case DS_PACKET_OPEN:
		ds_serve2_open(s, peer, p, &r, out);
		return;
	}

	session = ds_session_find(&s->sessions, peer, p->session);
	if (!session) {
		ds_serve2_end(s, &r, DS_PACKET_SESSION, out);
	} else if (p->op == DS_PACKET_CLOSE) {
		s->counters.ops[p->op]++;
		ds_session_close(&s->sessions, session);
		ds_serve2_end(s, &r, DS_PACKET_OK, out);
	} else {
		ds_serve2_change(s, session, p, &r, out);
	}
}
