// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: packets of wire version 2 on peer connections.
 *
 * A request message holds packets, each at a multiple of eight bytes; the response
 * holds the answers in the same manner, in their order, as far as they fit. A peer
 * may reach spaces whose segment is in its own trust domain.
 */
#include <linux/align.h>
#include "conn.h"
#include "domain.h"
#include "msg.h"
#include "stats.h"
#include "trace.h"
#include "packet2.h"
#include "packet_msg.h"
#include "rdm_space.h"
#include "segment.h"
#include "serve.h"

/* Numbers of peers: those of callers by UDP are IPv4 addresses. */
#define DS_PACKET_NODE	BIT_ULL(32)

static void ds_packet_msg_emit(struct ds_packet_out *out, u32 length)
{
	u32 padded = min_t(u32, ALIGN(length, 8), out->room);

	memset(out->packet + length, 0, padded - length);
	out->packet += padded;
	out->room -= padded;
	ds_stat_inc(NULL, DS_STAT_PACKETS_SENT);
}

static void ds_packet_msg_serve(struct ds_conn *conn, const struct ds_packet *p,
				const void *packet, u32 size, struct ds_packet_out *out)
{
	struct ds_rdm_space *space = ds_rdm_space_enter(p->space);
	struct ds_packet_space *core = NULL;

	trace_ds_packet(2, DS_PACKET_NODE | conn->hs.peer.node, p);
	if (space && space->seg->dom == conn->domain)
		core = &space->core;
	if (core && !ds_packet2_authentic(packet, size, ds_packet_space_key(core)))
		ds_stat_inc(NULL, DS_STAT_PACKETS_FORGED);
	else
		ds_packet_serve2(core, DS_PACKET_NODE | conn->hs.peer.node, p, out);
	if (space)
		ds_rdm_space_leave(space);
}

/* Context: see ds_msg_handler. */
static int ds_packet_msg_handle(void *ctx, const struct ds_msg *msg, void *reply,
				u32 *reply_length)
{
	struct ds_packet_out out = {
		.packet	= reply,
		.room	= DS_MSG_MAX_PAYLOAD,
		.emit	= ds_packet_msg_emit,
	};
	const u8 *packet = msg->data;
	u32 left = msg->length, step;
	struct ds_packet p;
	int size;

	/* When the connection is closed, its teardown waits for us. */
	for (; left && READ_ONCE(msg->conn->state) != DS_CONN_CLOSING;
	     packet += step, left -= step) {
		ds_stat_inc(NULL, DS_STAT_PACKETS_RECEIVED);
		size = ds_packet2_parse(packet, left, false, &p);
		if (size < 0) {
			ds_stat_inc(NULL, DS_STAT_PACKETS_MALFORMED);
			if (packet == msg->data)
				return -EBADMSG;
			break;		/* those before it were run, and are answered */
		}
		ds_packet_msg_serve(msg->conn, &p, packet, size, &out);
		step = min_t(u32, ALIGN(size, 8), left);
	}
	*reply_length = DS_MSG_MAX_PAYLOAD - out.room;
	return 0;
}

int ds_packet_msg_init(void)
{
	return ds_msg_bind(DS_SERVICE_PACKET, ds_packet_msg_handle, NULL);
}

void ds_packet_msg_exit(void)
{
	ds_msg_unbind(DS_SERVICE_PACKET);
}
