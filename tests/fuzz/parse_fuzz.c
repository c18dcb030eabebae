// SPDX-License-Identifier: Apache-2.0
/*
 * DS: any bytes, given to the parsers of both wire versions of the packet service.
 *
 * The first byte of an input says whose parser gets the rest, and whether the CRC and the
 * MAC of version 2 are made right before: without that almost nothing would get behind
 * them. What a parser takes must lie in the input, and must come out the same when it is
 * built and parsed again.
 */
#include <stdio.h>

#include "rdm/packet1.h"
#include "rdm/packet2.h"

#define MOST	(DS_PACKET_MAX_LENGTH + 512)

enum { VERSION2 = 1, REPLY = 2, SEALED = 4, KEYED = 8 };	/* bits of the first byte */

static const u8 key[DS_PACKET_KEY_LEN] = "a key for tests";
static u8 again[MOST];

#define HOLDS(condition) do {							\
	if (!(condition)) {							\
		fprintf(stderr, "not so: %s (line %d)\n", #condition, __LINE__);	\
		abort();							\
	}									\
} while (0)

static bool same(const struct ds_packet *a, const struct ds_packet *b)
{
	return a->op == b->op && a->status == b->status && a->tag == b->tag &&
	       a->tenant == b->tenant && a->space == b->space && a->part == b->part &&
	       a->session == b->session && a->seq == b->seq && a->address == b->address &&
	       a->length == b->length && a->offset == b->offset && !a->data == !b->data &&
	       (!a->data || !memcmp(a->data, b->data, a->part));
}

static void check_bounds(const u8 *bytes, size_t length, const struct ds_packet *p)
{
	HOLDS(p->status < DS_PACKET_STATUS_COUNT);
	if (p->data) {
		HOLDS(p->data > bytes && p->data <= bytes + length);
		HOLDS(p->part <= length - (p->data - bytes));
	}
}

/* Nothing of this host's memory goes out behind the data. */
static bool padded(u32 from, u32 to)
{
	while (from < to && !again[from])
		from++;
	return from == to;
}

/* The parser looks at no more than @length bytes: ASan would see it. */
static void try_request1(const u8 *bytes, size_t length)
{
	struct ds_packet p, q;
	u32 size;

	if (ds_packet1_parse(bytes, length, &p))
		return;
	check_bounds(bytes, length, &p);
	HOLDS(p.op >= DS_PACKET_READ && p.op <= DS_PACKET_ALLOC);
	if (p.status) {
		HOLDS(!p.data && !p.part);
		return;
	}
	HOLDS(!p.data == (p.op == DS_PACKET_READ || p.op == DS_PACKET_ALLOC));
	HOLDS(p.op == DS_PACKET_ALLOC || (p.part == p.length && p.part && p.part <= DS_PACKET_MAX_LENGTH));
	memset(again, 0xff, length);
	size = ds_packet1_request(again, &p);
	HOLDS(size == length);
	HOLDS(padded(DS_PACKET1_DATA_AT + (p.data ? p.part : 0), size));
	HOLDS(!ds_packet1_parse(again, size, &q));
	HOLDS(same(&p, &q));
}

static void try_reply1(const u8 *bytes, size_t length)
{
	struct ds_packet p, q;
	u64 counter, counter_again;
	u32 size;

	if (ds_packet1_parse_reply(bytes, length, &p, &counter))
		return;
	check_bounds(bytes, length, &p);
	HOLDS(!p.data || (p.op == DS_PACKET_READ && !p.status && p.part == p.length));
	memset(again, 0xff, length);
	if (p.data)
		memcpy(again + DS_PACKET1_DATA_AT, p.data, p.part);
	size = ds_packet1_reply(again, &p, counter);
	HOLDS(size == length);
	HOLDS(padded(DS_PACKET1_DATA_AT + p.part, size));
	HOLDS(!ds_packet1_parse_reply(again, size, &q, &counter_again));
	HOLDS(same(&p, &q) && counter == counter_again);
}

static u32 data_of(const struct ds_packet2_header *h, bool reply)
{
	return h->opcode == DS_PACKET_READ && !reply ? 0 : le32_to_cpu(h->part);
}

/* As a sender would: then only the fields decide. */
static void seal(u8 *bytes, size_t length, bool reply, bool keyed)
{
	struct ds_packet2_header *h = (void *)bytes;
	size_t size = sizeof(*h);

	if (length < size)
		return;
	if (data_of(h, reply) <= length - size)
		size += data_of(h, reply);
	h->crc = cpu_to_le32(~crc32c(~0u, bytes + 12, size - 12));
	h->mac = 0;
	h->flags &= ~DS_PACKET2_MAC;
	if (!keyed)
		return;
	h->flags |= DS_PACKET2_MAC;
	h->crc = cpu_to_le32(~crc32c(~0u, bytes + 12, size - 12));
	h->mac = cpu_to_le64(ds_siphash(bytes + 8, size - 8, key));
}

static void try_version2(const u8 *bytes, size_t length, u8 how)
{
	bool reply = how & REPLY, authentic;
	struct ds_packet p, q;
	int size;

	size = ds_packet2_parse(bytes, length, reply, &p);
	if (size < 0) {
		HOLDS(size == -EBADMSG);
		return;
	}
	HOLDS(size >= (int)sizeof(struct ds_packet2_header) && (size_t)size <= length);
	check_bounds(bytes, size, &p);
	authentic = ds_packet2_authentic(bytes, size, key);
	if (how & SEALED)
		HOLDS(authentic == !!(how & KEYED));
	HOLDS(ds_packet2_authentic(bytes, size, NULL) == !(bytes[16] & DS_PACKET2_MAC));
	if ((u32)size > MOST)
		return;
	HOLDS(ds_packet2_build(again, &p, reply, authentic ? key : NULL) == (u32)size);
	HOLDS(ds_packet2_parse(again, size, reply, &q) == size);
	HOLDS(same(&p, &q));
	HOLDS(ds_packet2_authentic(again, size, authentic ? key : NULL));
	if (authentic)
		HOLDS(!memcmp(again, bytes, size));
}

int LLVMFuzzerTestOneInput(const u8 *input, size_t length);

int LLVMFuzzerTestOneInput(const u8 *input, size_t length)
{
	u8 how, *bytes;

	if (!length)
		return 0;
	how = *input++;
	length--;
	/* A block of just that size, so that a byte too far is seen. */
	bytes = malloc(length);
	if (length)
		memcpy(bytes, input, length);
	if (how & VERSION2) {
		if (how & SEALED)
			seal(bytes, length, how & REPLY, how & KEYED);
		try_version2(bytes, length, how);
	} else if (how & REPLY) {
		try_reply1(bytes, length);
	} else {
		try_request1(bytes, length);
	}
	free(bytes);
	return 0;
}
