// SPDX-License-Identifier: Apache-2.0
/*
 * DS: packets of both wire versions, good and bad ones, as many and as fast as the link
 * takes them. What they write lies in the middle of an area that is the flood's own.
 */
#include <stdlib.h>
#include <time.h>

#include "rdm/packet2.h"

#include "hostile.h"
#include "tap.h"
#include "wire1.h"

#define SAFE	1024	/* bytes at either end of the area that are never written */

static struct hostile *h;
static uint64_t state;
static uint8_t frame[RAW_MAX];

static uint64_t any(void)
{
	return random_number(&state);
}

static uint64_t below(uint64_t limit)
{
	return any() % limit;
}

/* Where a good request would go, but sometimes anywhere: there is nothing of ours. */
static uint64_t any_address(void)
{
	switch (below(8)) {
	case 0:
		return any();
	case 1:
		return 0 - below(128);
	case 2:
		return any() >> below(64) | UINT64_C(1) << 63;
	default:
		return version1_area() + SAFE + below(AREA - 2 * SAFE - 1024);
	}
}

static uint64_t any_length(void)
{
	switch (below(8)) {
	case 0:
		return any() >> below(64);
	case 1:
		return 0 - below(128);
	default:
		return below(256);
	}
}

static void fill(uint8_t *at, size_t length)
{
	for (size_t i = 0; i < length; i++)
		at[i] = any();
}

static size_t version1(void)
{
	uint8_t opcode = below(4) ? below(4) : any();
	uint64_t length = any_length();
	size_t data = below(4) ? w1_in_units(length % 512) : 64 * below(5), size;

	if (opcode == W1_READ && below(8))
		data = 0;
	size = w1_request(frame, below(8) ? h->space : any(), opcode,
			  opcode == W1_ALLOC && below(4) ? 0 : any_address(), length, NULL, 0);
	fill(frame + W1_DATA, data);
	size += data;
	if (!below(8))
		size = RAW_PAYLOAD + below(size - RAW_PAYLOAD + 1);
	raw_headers(&h->v1, frame, size);
	return size;
}

static size_t version2(void)
{
	struct ds_packet p = {
		.op = below(8) ? 1 + below(DS_PACKET_PING) : any(), .tag = any(),
		.space = below(8) ? h->space : any() >> below(64), .tenant = below(8) ? h->tenant : any(),
		.session = below(4) ? version2_session() : any(), .seq = any() >> below(64),
		.address = any_address(), .length = any_length(), .offset = below(4) ? 0 : any() >> below(64),
	};
	bool key = !below(8);
	size_t size;

	p.part = below(4) ? p.length : below(512);
	if (p.op == DS_PACKET_CLOSE)
		p.session = any();
	if (p.op == DS_PACKET_CAS || p.op == DS_PACKET_FETCH_ADD)
		p.part = below(8) ? 16 : p.part;
	p.part %= 1024;
	fill(frame + RAW_PAYLOAD + sizeof(struct ds_packet2_header), p.part);
	size = RAW_PAYLOAD + ds_packet2_build(frame + RAW_PAYLOAD, &p, false, key ? h->key : NULL);
	if (!below(8))
		frame[RAW_PAYLOAD + below(size - RAW_PAYLOAD)] ^= 1 << below(8);
	if (!below(16))
		size = RAW_PAYLOAD + below(size - RAW_PAYLOAD + 64);
	raw_headers(&h->v2, frame, size);
	return size;
}

/* One bit or more of what carries it, but the MAC addresses; the checksum right or not. */
static void spoil_headers(size_t size)
{
	for (uint64_t bits = 1 + below(3); bits; bits--)
		frame[12 + below(RAW_PAYLOAD - 12)] ^= 1 << below(8);
	if (below(2) && (frame[RAW_IP] & 15) == 5)
		raw_sum(&h->v1, frame, size);
}

void flood(struct hostile *hostile, uint64_t count, uint64_t seed)
{
	time_t start = time(NULL);
	char name[128];

	h = hostile;
	state = seed;
	begin();
	for (uint64_t i = 0; i < count; i++) {
		bool first = h->v1.server_port && (!h->v2.server_port || below(2));
		size_t size = first ? version1() : version2();

		if (!below(16))
			spoil_headers(size);
		raw_send(first ? &h->v1 : &h->v2, frame, size);
	}
	printf("# %" PRIu64 " packets in %ld s\n", count, (long)(time(NULL) - start));
	if (h->v1.server_port)
		version1_probe();
	if (h->v2.server_port)
		version2_probe();
	snprintf(name, sizeof(name), "a flood of %" PRIu64 " packets, seed %" PRIu64, count, seed);
	end(name);
}
