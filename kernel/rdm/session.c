// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: sessions of the packet service.
 */
#include "session.h"

static_assert(DS_PACKET_MAX_LENGTH / DS_PACKET_BLOCK == 64, "one bit for each block");
static_assert(DS_SESSIONS_MAX == 256, "the place is the low byte of the number");

void ds_sessions_init(struct ds_sessions *all, const u8 *secret)
{
	memset(all, 0, sizeof(*all));
	all->secret = secret;
}

static void ds_session_drop_write(struct ds_session_write *w)
{
	ds_free(w->data);
	memset(w, 0, sizeof(*w));
}

void ds_session_close(struct ds_sessions *all, struct ds_session *session)
{
	u32 i;

	for (i = 0; i < DS_SESSION_PARTED; i++)
		ds_session_drop_write(&session->writes[i]);
	all->at[session->id % DS_SESSIONS_MAX] = NULL;
	all->count--;
	ds_free(session);
}

void ds_sessions_exit(struct ds_sessions *all)
{
	u32 i;

	for (i = 0; i < DS_SESSIONS_MAX; i++)
		if (all->at[i])
			ds_session_close(all, all->at[i]);
}

/* ---- Open ---- */

/* A peer's sessions: their number, the one with this nonce, the one idle for longest. */
struct ds_sessions_of {
	u32 count;
	struct ds_session *same;
	struct ds_session *idle;
};

static void ds_session_older(struct ds_session **idle, struct ds_session *session)
{
	if (!*idle || session->used_ns < (*idle)->used_ns)
		*idle = session;
}

static void ds_sessions_survey(struct ds_sessions *all, u64 peer, u64 nonce,
			       struct ds_sessions_of *mine, struct ds_sessions_of *every)
{
	struct ds_session *session;
	u32 i;

	memset(mine, 0, sizeof(*mine));
	memset(every, 0, sizeof(*every));
	for (i = 0; i < DS_SESSIONS_MAX; i++) {
		session = all->at[i];
		if (!session)
			continue;
		every->count++;
		ds_session_older(&every->idle, session);
		if (session->peer != peer)
			continue;
		mine->count++;
		ds_session_older(&mine->idle, session);
		if (session->nonce == nonce)
			mine->same = session;
	}
}

/* End the one that was idle for longest, if that was long. */
static bool ds_session_make_room(struct ds_sessions *all, struct ds_session *idle)
{
	if (ds_mono_ns() - idle->used_ns < DS_SESSION_IDLE_NS)
		return false;
	ds_session_close(all, idle);
	return true;
}

static u64 ds_session_number(struct ds_sessions *all, u32 place)
{
	u64 id;

	do {
		all->opened++;
		id = ds_siphash(&all->opened, sizeof(all->opened), all->secret);
		id = (id & ~(u64)(DS_SESSIONS_MAX - 1)) | place;
	} while (!id);
	return id;
}

u16 ds_session_open(struct ds_sessions *all, u64 peer, u64 nonce, u64 *id)
{
	struct ds_sessions_of mine, every;
	struct ds_session *session;
	u32 place = 0;

	ds_sessions_survey(all, peer, nonce, &mine, &every);
	if (mine.same) {
		*id = mine.same->id;
		return DS_PACKET_OK;
	}
	if (mine.count == DS_SESSIONS_PEER_MAX && !ds_session_make_room(all, mine.idle))
		return DS_PACKET_BUSY;
	if (all->count == DS_SESSIONS_MAX && !ds_session_make_room(all, every.idle))
		return DS_PACKET_BUSY;

	session = ds_alloc(sizeof(*session));
	if (!session)
		return DS_PACKET_MEMORY;
	while (all->at[place])
		place++;
	session->id = ds_session_number(all, place);
	session->peer = peer;
	session->nonce = nonce;
	session->used_ns = ds_mono_ns();
	all->at[place] = session;
	all->count++;
	*id = session->id;
	return DS_PACKET_OK;
}

struct ds_session *ds_session_find(struct ds_sessions *all, u64 peer, u64 id)
{
	struct ds_session *session;

	session = all->at[ds_array_index_nospec(id % DS_SESSIONS_MAX, DS_SESSIONS_MAX)];
	if (!session || session->id != id || session->peer != peer)
		return NULL;
	session->used_ns = ds_mono_ns();
	return session;
}

/* ---- Changes ---- */

/* Numbers have gone on: parts of WRITEs that left the window never come together. */
static void ds_session_advance(struct ds_session *session, u64 seq)
{
	struct ds_session_write *w;

	if (seq <= session->newest)
		return;
	session->newest = seq;
	for (w = session->writes; w < session->writes + DS_SESSION_PARTED; w++)
		if (w->seq && seq - w->seq >= DS_PACKET_WINDOW)
			ds_session_drop_write(w);
}

u16 ds_session_begin(struct ds_session *session, const struct ds_packet *p,
		     struct ds_session_change **change)
{
	struct ds_session_change *c = &session->changes[p->seq % DS_PACKET_WINDOW];

	if (!p->seq || (session->newest >= DS_PACKET_WINDOW &&
			p->seq <= session->newest - DS_PACKET_WINDOW))
		return DS_PACKET_SEQUENCE;
	if (c->seq == p->seq) {
		if (c->op != p->op || c->address != p->address || c->length != p->length)
			return DS_PACKET_SEQUENCE;
	} else {
		memset(c, 0, sizeof(*c));
		c->seq = p->seq;
		c->op = p->op;
		c->address = p->address;
		c->length = p->length;
		ds_session_advance(session, p->seq);
	}
	*change = c;
	return DS_PACKET_OK;
}

/* All blocks of a range, or of a part of it. */
static u64 ds_session_blocks(u64 offset, u64 length)
{
	u64 first = offset / DS_PACKET_BLOCK;
	u64 count = (length + DS_PACKET_BLOCK - 1) / DS_PACKET_BLOCK;

	return (count == 64 ? ~0ull : (1ull << count) - 1) << first;
}

/* The write with this number, or a free place. */
static struct ds_session_write *ds_session_place(struct ds_session *session, u64 seq)
{
	struct ds_session_write *w, *room = NULL;
	u32 i;

	for (i = 0; i < DS_SESSION_PARTED; i++) {
		w = &session->writes[i];
		if (w->seq == seq)
			return w;
		if (!w->seq)
			room = w;
	}
	return room;
}

u16 ds_session_gather(struct ds_session *session, const struct ds_packet *p, const u8 **whole)
{
	struct ds_session_write *w = ds_session_place(session, p->seq);

	*whole = NULL;
	if (!w)
		return DS_PACKET_BUSY;
	if (w->seq != p->seq) {
		ds_session_drop_write(w);
		w->data = ds_alloc(p->length);
		if (!w->data)
			return DS_PACKET_MEMORY;
		w->seq = p->seq;
	}
	memcpy(w->data + p->offset, p->data, p->part);
	w->blocks |= ds_session_blocks(p->offset, p->part);
	if (w->blocks == ds_session_blocks(0, p->length))
		*whole = w->data;
	return DS_PACKET_OK;
}

void ds_session_end(struct ds_session *session, struct ds_session_change *change,
		    const struct ds_packet *r)
{
	u32 i;

	change->done = true;
	change->answer.status = r->status;
	change->answer.address = r->address;
	change->answer.length = r->length;
	change->answer.offset = r->offset;
	for (i = 0; i < DS_SESSION_PARTED; i++)
		if (session->writes[i].seq == change->seq)
			ds_session_drop_write(&session->writes[i]);
}
