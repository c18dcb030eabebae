/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: the packet service: from a packet to the packets that answer it.
 *
 * Context: as packet_space.h; the space's lock is held.
 */
#ifndef DS_RDM_SERVE_H
#define DS_RDM_SERVE_H

#include "packet_space.h"

/**
 * struct ds_packet_out - where answers go
 * @packet: where the next one is to be written
 * @room: bytes there
 * @emit: one of @length bytes is written: send it, and set @packet and @room for the next
 */
struct ds_packet_out {
	u8 *packet;
	u32 room;
	void (*emit)(struct ds_packet_out *out, u32 length);
};

/**
 * ds_packet_serve1 - answer a request of wire version 1
 * @s: its space; NULL: there is none that the peer may use
 * @p: as parsed
 * @answer_writes: WRITE is answered; WRITE_PERSISTENT always is
 * @counter: of replies to the peer; counts one up with each
 */
void ds_packet_serve1(struct ds_packet_space *s, const struct ds_packet *p, bool answer_writes,
		      u64 *counter, struct ds_packet_out *out);

/**
 * ds_packet_serve2 - answer a request of wire version 2
 * @s: its space, whose key it was made with; NULL as above
 * @peer: number of the peer
 * @p: as parsed
 *
 * A READ's answer is as many packets as it takes, or as there is room for.
 */
void ds_packet_serve2(struct ds_packet_space *s, u64 peer, const struct ds_packet *p,
		      struct ds_packet_out *out);

#endif /* DS_RDM_SERVE_H */
