// SPDX-License-Identifier: Apache-2.0
/*
 * Wire version 2 of the packet service: each field at its byte, each check by a packet
 * that is wrong in nothing else, CRC and MAC by every bit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "rdm/packet2.h"

#define HEAD	80
#define MOST	65536

/* Where the fields are. */
enum { MAC = 0, CRC = 8, MAGIC = 12, VERSION = 14, OPCODE = 15, FLAGS = 16, RESERVED = 17, STATUS = 18,
	TAG = 20, TENANT = 24, SPACE = 28, PART = 32, RESERVED2 = 36, SESSION = 40, SEQ = 48, ADDRESS = 56,
	LENGTH = 64, OFFSET = 72 };

static const u8 key[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
static const u8 other_key[16] = { 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

static u8 packet[HEAD + MOST + 8];
static u8 data[MOST];

/* A request to WRITE the second of two blocks and a bit, in which each field has another value. */
static const struct ds_packet write_packet = {
	.op = DS_PACKET_WRITE, .tag = 0x21222324, .tenant = 0x31323334, .space = 0x4142, .part = 1030,
	.session = 0x5152535455565758, .seq = 0x6162636465666768, .address = 0x7172737475767778,
	.length = 2054, .offset = 1024, .data = data,
};

static void put(u32 at, u64 value, u32 bytes)
{
	memcpy(packet + at, &value, bytes);
}

static u64 get(u32 at, u32 bytes)
{
	u64 value = 0;

	memcpy(&value, packet + at, bytes);
	return value;
}

/* The CRC anew, so that the packet's change is all that is wrong. */
static void seal(u32 size)
{
	put(CRC, ~crc32c(~0u, packet + MAGIC, size - MAGIC), 4);
}

/* A copy in a heap block of its own size. */
static int parse(u32 length, bool reply, struct ds_packet *p)
{
	u8 *copy = malloc(length + 1);
	int rc;

	assert_non_null(copy);
	memcpy(copy + 1, packet, length);
	memset(p, 0xff, sizeof(*p));
	rc = ds_packet2_parse(copy + 1, length, reply, p);
	assert_true(rc == -EBADMSG || (rc >= HEAD && (u32)rc <= length));
	if (rc > 0 && p->data) {
		assert_ptr_equal(p->data, copy + 1 + HEAD);
		assert_true(HEAD + p->part <= (u32)rc);
		p->data = packet + HEAD;
	}
	free(copy);
	return rc;
}

static bool parses(u32 length, bool reply)
{
	struct ds_packet p;

	return parse(length, reply, &p) > 0;
}

/* Of a request that is well made but for what @p wants: its status. */
static int fate(const struct ds_packet *p)
{
	struct ds_packet got;
	u32 size = ds_packet2_build(packet, p, false, NULL);

	assert_int_equal(parse(size, false, &got), size);
	assert_int_equal(got.op, p->op);
	return got.status;
}

static void same(const struct ds_packet *a, const struct ds_packet *b)
{
	assert_int_equal(a->op, b->op);
	assert_int_equal(a->status, b->status);
	assert_int_equal(a->tag, b->tag);
	assert_int_equal(a->tenant, b->tenant);
	assert_int_equal(a->space, b->space);
	assert_int_equal(a->part, b->part);
	assert_int_equal(a->session, b->session);
	assert_int_equal(a->seq, b->seq);
	assert_int_equal(a->address, b->address);
	assert_int_equal(a->length, b->length);
	assert_int_equal(a->offset, b->offset);
}

static void request_is_what_the_wire_says(void **state)
{
	static const u8 want[HEAD - MAGIC] = {
		0x44, 0x52, 2, 2, 0, 0, 0, 0,
		0x24, 0x23, 0x22, 0x21, 0x34, 0x33, 0x32, 0x31,
		0x42, 0x41, 0, 0, 0x06, 0x04, 0, 0, 0, 0, 0, 0,
		0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51,
		0x68, 0x67, 0x66, 0x65, 0x64, 0x63, 0x62, 0x61,
		0x78, 0x77, 0x76, 0x75, 0x74, 0x73, 0x72, 0x71,
		0x06, 0x08, 0, 0, 0, 0, 0, 0,
		0, 0x04, 0, 0, 0, 0, 0, 0,
	};
	struct ds_packet got;

	(void)state;
	memset(packet, 0xff, sizeof(packet));
	assert_int_equal(ds_packet2_build(packet, &write_packet, false, NULL), HEAD + 1030);
	assert_memory_equal(packet + MAGIC, want, sizeof(want));
	assert_memory_equal(packet + HEAD, data, 1030);
	assert_int_equal(packet[HEAD + 1030], 0xff);
	assert_int_equal(get(MAC, 8), 0);
	assert_int_equal(get(CRC, 4), (u32)~crc32c(~0u, packet + 12, HEAD + 1030 - 12));

	assert_int_equal(parse(HEAD + 1030, false, &got), HEAD + 1030);
	same(&got, &write_packet);
	assert_memory_equal(got.data, data, 1030);
}

static void reply_is_what_the_wire_says(void **state)
{
	struct ds_packet p = write_packet, got;
	int status;

	(void)state;
	p.op = DS_PACKET_READ;
	for (status = 0; status < DS_PACKET_STATUS_COUNT; status++) {
		p.status = status;
		assert_int_equal(ds_packet2_build(packet, &p, true, NULL), HEAD + 1030);
		assert_int_equal(packet[FLAGS], 1);
		assert_int_equal(packet[OPCODE], 1);
		assert_int_equal(get(STATUS, 2), status);
		assert_int_equal(parse(HEAD + 1030, true, &got), HEAD + 1030);
		same(&got, &p);
		assert_false(parses(HEAD + 1030, false));
	}
	for (; status <= UINT16_MAX; status++) {
		put(STATUS, status, 2);
		seal(HEAD + 1030);
		assert_false(parses(HEAD + 1030, true));
	}
}

static void read_request_has_no_data(void **state)
{
	struct ds_packet p = write_packet, got;

	(void)state;
	p.op = DS_PACKET_READ;
	p.seq = 0;
	memset(packet, 0xff, sizeof(packet));
	assert_int_equal(ds_packet2_build(packet, &p, false, NULL), HEAD);
	assert_int_equal(packet[HEAD], 0xff);
	assert_int_equal(parse(HEAD, false, &got), HEAD);
	same(&got, &p);
	assert_null(got.data);
}

static void truncated_at_each_byte_and_longer(void **state)
{
	u32 length, size = ds_packet2_build(packet, &write_packet, false, NULL);
	struct ds_packet p;

	(void)state;
	for (length = 0; length < size; length++)
		assert_false(parses(length, false));
	/* What is behind it may be another packet. */
	for (; length < size + 8; length++)
		assert_int_equal(parse(length, false, &p), size);
}

static void each_bit_is_in_the_crc(void **state)
{
	struct ds_packet p = write_packet;
	u32 size, bit;

	(void)state;
	p.length = p.part = 40;
	p.offset = 0;
	size = ds_packet2_build(packet, &p, false, NULL);
	assert_true(parses(size, false));
	for (bit = 0; bit < size * 8; bit++) {
		packet[bit / 8] ^= 1 << bit % 8;
		assert_false(parses(size, false));
		packet[bit / 8] ^= 1 << bit % 8;
	}
}

static void fixed_fields(void **state)
{
	static const struct { u32 at; u64 bits; } t[] = {
		{ MAC, ~0ULL }, { MAGIC, 0xffff }, { VERSION, 0xff }, { FLAGS, 0xfd }, { RESERVED, 0xff },
		{ STATUS, 0xffff }, { RESERVED2, 0xffffffff },
	};
	u32 i, bit, size = ds_packet2_build(packet, &write_packet, false, NULL);

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++)
		for (bit = 0; bit < 64; bit++) {
			u8 *byte = packet + t[i].at + bit / 8;

			if (!(t[i].bits >> bit & 1))
				continue;
			*byte ^= 1 << bit % 8;
			seal(size);
			assert_false(parses(size, false));
			*byte ^= 1 << bit % 8;
		}
	seal(size);
	assert_true(parses(size, false));
}

static void a_part_longer_than_the_packet(void **state)
{
	static const u32 parts[] = { 1031, 1032, 4096, 65537, 0x7fffffff, 0x80000000, 0xffffffb0, 0xffffffff };
	u32 i, size = ds_packet2_build(packet, &write_packet, false, NULL);

	(void)state;
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		put(PART, parts[i], 4);
		seal(size);
		assert_false(parses(size, false));
	}
}

static void each_opcode(void **state)
{
	struct ds_packet p = { .tag = 1 };
	int op;

	(void)state;
	for (op = 0; op < 256; op++) {
		int want;

		p.op = op;
		want = op == DS_PACKET_ALLOC || (op >= DS_PACKET_FREE && op != DS_PACKET_CAS &&
						 op != DS_PACKET_FETCH_ADD && op <= DS_PACKET_PING) ?
			       DS_PACKET_OK :
		       op >= DS_PACKET_READ && op <= DS_PACKET_WRITE_PERSISTENT ? DS_PACKET_LENGTH :
		       op == DS_PACKET_CAS || op == DS_PACKET_FETCH_ADD ? DS_PACKET_MALFORMED :
									  DS_PACKET_OPCODE;
		assert_int_equal(fate(&p), want);
	}
}

static void lengths_of_reads_and_writes(void **state)
{
	static const u64 good[] = { 1, 63, 64, 65, 1023, 1024, 1025, MOST - 1, MOST };
	static const u64 bad[] = { 0, MOST + 1, 1ULL << 32, (1ULL << 32) + 1, 1ULL << 63, UINT64_MAX };
	static const u8 ops[] = { DS_PACKET_READ, DS_PACKET_WRITE, DS_PACKET_WRITE_PERSISTENT };
	u32 i, k;

	(void)state;
	for (k = 0; k < ARRAY_SIZE(ops); k++) {
		struct ds_packet p = { .op = ops[k], .data = data };

		for (i = 0; i < ARRAY_SIZE(good); i++) {
			p.length = good[i];
			p.part = good[i];
			assert_int_equal(fate(&p), DS_PACKET_OK);
		}
		p.part = 64;
		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			p.length = bad[i];
			assert_int_equal(fate(&p), DS_PACKET_LENGTH);
		}
	}
}

/* A part lies in its range, and a WRITE's in whole blocks. */
static void parts_of_a_range(void **state)
{
	static const struct { u64 length, offset; u32 part; bool read, write; } t[] = {
		{ 2054, 1024, 1030, true, true },
		{ 2054, 0, 1024, true, true },
		{ 2054, 0, 2048, true, true },
		{ 2054, 2048, 6, true, true },
		{ 2054, 0, 0, false, false },
		{ 2054, 1024, 1031, false, false },
		{ 2054, 2054, 1, false, false },
		{ 2054, 2055, 1, false, false },
		{ 2054, UINT64_MAX, 1, false, false },
		{ 2054, UINT64_MAX - 1023, 1024, false, false },
		{ 2054, 1024, 0xffffffff, false, false },
		{ 2054, 0, 1000, true, false },
		{ 2054, 1, 1024, true, false },
		{ 2054, 1000, 1054, true, false },
		{ 2054, 2047, 7, true, false },
	};
	struct ds_packet got;
	u32 i, size;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct ds_packet p = { .op = DS_PACKET_READ, .data = data, .length = t[i].length,
				       .offset = t[i].offset, .part = t[i].part };

		assert_int_equal(fate(&p), t[i].read ? DS_PACKET_OK : DS_PACKET_MALFORMED);
		if (t[i].part > MOST)
			continue;
		p.op = DS_PACKET_WRITE;
		assert_int_equal(fate(&p), t[i].write ? DS_PACKET_OK : DS_PACKET_MALFORMED);
		/* In a reply nothing of it is looked at: the client knows what it asked. */
		size = ds_packet2_build(packet, &p, true, NULL);
		assert_int_equal(parse(size, true, &got), size);
	}
}

static void fields_that_mean_nothing_are_0(void **state)
{
	static const struct { u8 op; bool part, offset, address, length, seq; } t[] = {
		{ DS_PACKET_ALLOC, false, false, true, true, true },
		{ DS_PACKET_FREE, false, false, true, true, true },
		{ DS_PACKET_OPEN, false, false, false, false, true },
		{ DS_PACKET_CLOSE, false, false, false, false, true },
		{ DS_PACKET_PING, true, false, false, false, false },
	};
	u32 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct ds_packet p = { .op = t[i].op, .data = data }, q;

		assert_int_equal(fate(&p), DS_PACKET_OK);
#define ONLY(field, value, allowed)	\
		(q = p, q.field = (value), assert_int_equal(fate(&q), (allowed) ? DS_PACKET_OK : DS_PACKET_MALFORMED))
		ONLY(part, 1, t[i].part);
		ONLY(offset, 1, t[i].offset);
		ONLY(offset, 1ULL << 63, t[i].offset);
		ONLY(address, 1, t[i].address);
		ONLY(address, 1ULL << 63, t[i].address);
		ONLY(length, 1, t[i].length);
		ONLY(length, 1ULL << 63, t[i].length);
		ONLY(seq, 1, t[i].seq);
		ONLY(seq, 1ULL << 63, t[i].seq);
#undef ONLY
	}
	{
		struct ds_packet read = { .op = DS_PACKET_READ, .length = 64, .part = 64, .seq = 1 };

		assert_int_equal(fate(&read), DS_PACKET_MALFORMED);
	}
}

static void atomics(void **state)
{
	static const u8 ops[] = { DS_PACKET_CAS, DS_PACKET_FETCH_ADD };
	static const u32 lengths[] = { 0, 1, 4, 7, 9, 16, 64 };
	u32 i, k;

	(void)state;
	assert_int_equal(sizeof(struct ds_packet2_operands), 16);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		struct ds_packet good = { .op = ops[i], .part = 16, .length = 8, .data = data }, p;

		assert_int_equal(fate(&good), DS_PACKET_OK);
		for (k = 0; k < 33; k++) {
			p = good;
			p.part = k;
			assert_int_equal(fate(&p), k == 16 ? DS_PACKET_OK : DS_PACKET_MALFORMED);
		}
		for (k = 0; k < ARRAY_SIZE(lengths); k++) {
			p = good;
			p.length = lengths[k];
			assert_int_equal(fate(&p), DS_PACKET_MALFORMED);
		}
		p = good;
		p.offset = 8;
		assert_int_equal(fate(&p), DS_PACKET_MALFORMED);
	}
}

static void mac_of_each_bit(void **state)
{
	struct ds_packet p = write_packet;
	u32 size, bit;

	(void)state;
	p.length = p.part = 40;
	p.offset = 0;
	size = ds_packet2_build(packet, &p, false, key);
	assert_int_equal(size, HEAD + 40);
	assert_int_equal(packet[FLAGS], 2);
	assert_true(parses(size, false));
	assert_int_equal(get(MAC, 8), ds_siphash(packet + 8, size - 8, key));
	assert_true(ds_packet2_authentic(packet, size, key));
	for (bit = 0; bit < size * 8; bit++) {
		packet[bit / 8] ^= 1 << bit % 8;
		assert_false(ds_packet2_authentic(packet, size, key));
		packet[bit / 8] ^= 1 << bit % 8;
	}
	assert_false(ds_packet2_authentic(packet, size, other_key));
	assert_false(ds_packet2_authentic(packet, size - 1, key));
}

static void who_has_a_key_wants_a_mac(void **state)
{
	u32 size = ds_packet2_build(packet, &write_packet, false, NULL);

	(void)state;
	assert_true(ds_packet2_authentic(packet, size, NULL));
	assert_false(ds_packet2_authentic(packet, size, key));
	/* A right MAC that the flags do not tell of. */
	put(MAC, ds_siphash(packet + 8, size - 8, key), 8);
	assert_false(ds_packet2_authentic(packet, size, key));
	assert_false(parses(size, false));

	size = ds_packet2_build(packet, &write_packet, false, key);
	assert_true(ds_packet2_authentic(packet, size, key));
	assert_false(ds_packet2_authentic(packet, size, NULL));
	assert_true(parses(size, false));
}

/* What the sender says itself need not be copied. */
static void data_that_is_there_already(void **state)
{
	struct ds_packet p = write_packet, got;
	u32 size;

	(void)state;
	memset(packet, 0, sizeof(packet));
	memset(packet + HEAD, 0x77, 1030);
	p.data = NULL;
	size = ds_packet2_build(packet, &p, true, key);
	assert_int_equal(parse(size, true, &got), size);
	assert_true(ds_packet2_authentic(packet, size, key));
	assert_int_equal(got.data[0], 0x77);
	assert_int_equal(got.data[1029], 0x77);
}

static int fill(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < sizeof(data); i++)
		data[i] = (u8)(i * 7 + (i >> 8));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_is_what_the_wire_says),
		cmocka_unit_test(reply_is_what_the_wire_says),
		cmocka_unit_test(read_request_has_no_data),
		cmocka_unit_test(truncated_at_each_byte_and_longer),
		cmocka_unit_test(each_bit_is_in_the_crc),
		cmocka_unit_test(fixed_fields),
		cmocka_unit_test(a_part_longer_than_the_packet),
		cmocka_unit_test(each_opcode),
		cmocka_unit_test(lengths_of_reads_and_writes),
		cmocka_unit_test(parts_of_a_range),
		cmocka_unit_test(fields_that_mean_nothing_are_0),
		cmocka_unit_test(atomics),
		cmocka_unit_test(mac_of_each_bit),
		cmocka_unit_test(who_has_a_key_wants_a_mac),
		cmocka_unit_test(data_that_is_there_already),
	};

	return cmocka_run_group_tests_name("core_packet2", tests, fill, NULL);
}
