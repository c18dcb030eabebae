// SPDX-License-Identifier: Apache-2.0
/*
 * Wire version 1 of the packet service against bytes that were written down from the
 * layout of document 002 and not made by the code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "rdm/packet1.h"

/* Of the UDP payload, which begins 42 bytes into the frame. */
#define HEAD	86
#define UNIT	64
#define MOST	65536

/* What the wire's opcodes are. */
enum { READ, WRITE, WRITE_PERSISTENT, ALLOC, REPLY_WRITE, REPLY_ALLOC, REPLY_ALLOC_ERROR,
	REPLY_READ, REPLY_READ_ERROR };

static u8 packet[HEAD + MOST + 2 * UNIT];

static void put64(u8 *at, u64 value)
{
	int i;

	for (i = 0; i < 8; i++)
		at[i] = (u8)(value >> 8 * i);
}

/* A packet with a pattern for data. Return its length. */
static u32 make(u8 opcode, u64 address, u64 length, u32 data)
{
	u32 i;

	memset(packet, 0, HEAD);
	packet[0] = 7;
	packet[22] = opcode;
	put64(packet + 23, address);
	put64(packet + 31, length);
	for (i = 0; i < data; i++)
		packet[HEAD + i] = (u8)(i * 7 + 1);
	return HEAD + data;
}

/* Parse a copy in a heap block of its own size, at an odd address. */
static int parse(u32 length, struct ds_packet *p)
{
	u8 *copy = malloc(length + 1);
	int rc;

	assert_non_null(copy);
	memcpy(copy + 1, packet, length);
	memset(p, 0xff, sizeof(*p));
	rc = ds_packet1_parse(copy + 1, length, p);
	if (!rc && p->data) {
		assert_ptr_equal(p->data, copy + 1 + HEAD);
		assert_true(HEAD + p->part <= length);
		p->data = packet + HEAD;
	}
	free(copy);
	return rc;
}

static int parse_reply(u32 length, struct ds_packet *p, u64 *counter)
{
	u8 *copy = malloc(length + 1);
	int rc;

	assert_non_null(copy);
	memcpy(copy + 1, packet, length);
	memset(p, 0xff, sizeof(*p));
	rc = ds_packet1_parse_reply(copy + 1, length, p, counter);
	if (!rc && p->data) {
		assert_ptr_equal(p->data, copy + 1 + HEAD);
		assert_true(HEAD + p->part <= length);
		p->data = packet + HEAD;
	}
	free(copy);
	return rc;
}

/* What becomes of a request: -EBADMSG or its status. */
static int fate(u8 opcode, u64 address, u64 length, u32 data)
{
	struct ds_packet p;
	int rc = parse(make(opcode, address, length, data), &p);

	return rc ? rc : p.status;
}

static int reply_fate(u8 opcode, u64 length, u32 data)
{
	struct ds_packet p;
	u64 counter;

	return parse_reply(make(opcode, 0x1000, length, data), &p, &counter);
}

static void values_are_those_of_the_original(void **state)
{
	(void)state;
	assert_int_equal(APP_RDMA_OPCODE_READ, READ);
	assert_int_equal(APP_RDMA_OPCODE_WRITE, WRITE);
	assert_int_equal(APP_RDMA_OPCODE_WRITE_PERSISTENT, WRITE_PERSISTENT);
	assert_int_equal(APP_RDMA_OPCODE_ALLOC, ALLOC);
	assert_int_equal(APP_RDMA_OPCODE_REPLY_WRITE, REPLY_WRITE);
	assert_int_equal(APP_RDMA_OPCODE_REPLY_ALLOC, REPLY_ALLOC);
	assert_int_equal(APP_RDMA_OPCODE_REPLY_ALLOC_ERROR, REPLY_ALLOC_ERROR);
	assert_int_equal(APP_RDMA_OPCODE_REPLY_READ, REPLY_READ);
	assert_int_equal(APP_RDMA_OPCODE_REPLY_READ_ERROR, REPLY_READ_ERROR);
	assert_int_equal(sizeof(struct app_rdma_header), 17);
	assert_int_equal(DS_PACKET1_UDP + DS_PACKET1_APP_AT, 42);
	assert_int_equal(DS_PACKET1_UDP + DS_PACKET1_HEADER_AT, 64);
	assert_int_equal(DS_PACKET1_UDP + DS_PACKET1_COUNTER_AT, 81);
	assert_int_equal(DS_PACKET1_UDP + DS_PACKET1_DATA_AT, 128);
	assert_int_equal(DS_PACKET1_DATA, 128);
}

static void sizes_are_whole_units(void **state)
{
	(void)state;
	assert_int_equal(ds_packet1_size(0), 86);
	assert_int_equal(ds_packet1_size(1), 86 + 64);
	assert_int_equal(ds_packet1_size(63), 86 + 64);
	assert_int_equal(ds_packet1_size(64), 86 + 64);
	assert_int_equal(ds_packet1_size(65), 86 + 128);
	assert_int_equal(ds_packet1_size(MOST), 86 + MOST);
}

/* The header of a WRITE of 65 bytes at 0x1122334455667788 of app 7, in units of 64. */
static const u8 write_header[HEAD] = {
	[0] = 7,
	[22] = 1,
	[23] = 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
	[31] = 65,
};

/* REPLY_READ of 65 bytes there, the 0x0102030405060708th. */
static const u8 reply_header[HEAD] = {
	[0] = 7,
	[22] = 7,
	[23] = 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
	[31] = 65,
	[39] = 0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
};

static void write_is_what_the_wire_says(void **state)
{
	static const u8 zeros[63];
	struct ds_packet p = { .op = DS_PACKET_WRITE, .space = 7, .address = 0x1122334455667788,
			       .length = 65, .part = 65 }, got;
	u8 data[65];

	(void)state;
	memset(data, 0xab, sizeof(data));
	p.data = data;
	memset(packet, 0xff, sizeof(packet));
	assert_int_equal(ds_packet1_request(packet, &p), HEAD + 128);
	assert_memory_equal(packet, write_header, HEAD);
	assert_memory_equal(packet + HEAD, data, 65);
	assert_memory_equal(packet + HEAD + 65, zeros, 63);
	assert_int_equal(packet[HEAD + 128], 0xff);

	assert_int_equal(parse(HEAD + 128, &got), 0);
	assert_int_equal(got.op, DS_PACKET_WRITE);
	assert_int_equal(got.status, DS_PACKET_OK);
	assert_int_equal(got.space, 7);
	assert_int_equal(got.address, 0x1122334455667788);
	assert_int_equal(got.length, 65);
	assert_int_equal(got.part, 65);
	assert_int_equal(got.offset, 0);
	assert_int_equal(got.tag | got.tenant | got.session | got.seq, 0);
	assert_memory_equal(got.data, data, 65);
}

static void other_requests_have_two_units(void **state)
{
	static const struct { u8 op, opcode; u64 address; } t[] = {
		{ DS_PACKET_READ, READ, 0x1122334455667788 },
		{ DS_PACKET_ALLOC, ALLOC, 0 },	/* whatever the caller had there */
	};
	struct ds_packet p = { .space = 7, .address = 0x1122334455667788, .length = 65, .part = 65 };
	u8 want[HEAD];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		memcpy(want, write_header, HEAD);
		want[22] = t[i].opcode;
		put64(want + 23, t[i].address);
		memset(packet, 0xff, sizeof(packet));
		p.op = t[i].op;
		assert_int_equal(ds_packet1_request(packet, &p), HEAD);
		assert_memory_equal(packet, want, HEAD);
		assert_int_equal(packet[HEAD], 0xff);
	}
	p.op = DS_PACKET_WRITE_PERSISTENT;
	p.data = want;
	p.part = 1;
	assert_int_equal(ds_packet1_request(packet, &p), HEAD + UNIT);
	assert_int_equal(packet[22], WRITE_PERSISTENT);
	for (p.op = 0, i = 0; i < 256; i++, p.op++)
		if (!p.op || p.op > DS_PACKET_ALLOC)
			assert_int_equal(ds_packet1_request(packet, &p), 0);
}

static void reply_is_what_the_wire_says(void **state)
{
	static const u8 zeros[63];
	struct ds_packet p = { .op = DS_PACKET_READ, .space = 7, .address = 0x1122334455667788,
			       .length = 65, .part = 65 }, got;
	u64 counter;

	(void)state;
	memset(packet, 0xff, sizeof(packet));
	memset(packet + HEAD, 0xab, 65);
	assert_int_equal(ds_packet1_reply(packet, &p, 0x0102030405060708), HEAD + 128);
	assert_memory_equal(packet, reply_header, HEAD);
	assert_int_equal(packet[HEAD + 64], 0xab);
	assert_memory_equal(packet + HEAD + 65, zeros, 63);
	assert_int_equal(packet[HEAD + 128], 0xff);

	assert_int_equal(parse_reply(HEAD + 128, &got, &counter), 0);
	assert_int_equal(counter, 0x0102030405060708);
	assert_int_equal(got.op, DS_PACKET_READ);
	assert_int_equal(got.space, 7);
	assert_int_equal(got.status, DS_PACKET_OK);
	assert_int_equal(got.address, 0x1122334455667788);
	assert_int_equal(got.length, 65);
	assert_int_equal(got.part, 65);
	assert_memory_equal(got.data, packet + HEAD, 65);
}

/* No data, whatever the request wanted; the status is where the length was. */
static void errors_and_short_replies(void **state)
{
	static const struct { u8 op, status, opcode; u64 length; } t[] = {
		{ DS_PACKET_READ, DS_PACKET_ADDRESS, REPLY_READ_ERROR, 5 },
		{ DS_PACKET_WRITE, DS_PACKET_PERMISSION, REPLY_READ_ERROR, 4 },
		{ DS_PACKET_WRITE_PERSISTENT, DS_PACKET_NOT_PERSISTENT, REPLY_READ_ERROR, 10 },
		{ DS_PACKET_ALLOC, DS_PACKET_FULL, REPLY_ALLOC_ERROR, 8 },
		{ DS_PACKET_ALLOC, DS_PACKET_OK, REPLY_ALLOC, 65 },
		{ DS_PACKET_WRITE, DS_PACKET_OK, REPLY_WRITE, 65 },
		{ DS_PACKET_WRITE_PERSISTENT, DS_PACKET_OK, REPLY_WRITE, 65 },
	};
	u8 want[HEAD];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct ds_packet p = { .op = t[i].op, .status = t[i].status, .space = 7,
				       .address = 0x1122334455667788, .length = 65, .part = 65 };
		struct ds_packet got;
		u64 counter;

		memcpy(want, reply_header, HEAD);
		want[22] = t[i].opcode;
		put64(want + 31, t[i].length);
		memset(packet, 0xff, sizeof(packet));
		assert_int_equal(ds_packet1_reply(packet, &p, 0x0102030405060708), HEAD);
		assert_memory_equal(packet, want, HEAD);
		assert_int_equal(packet[HEAD], 0xff);
		assert_int_equal(parse_reply(HEAD, &got, &counter), 0);
		assert_int_equal(got.status, t[i].status);
		assert_int_equal(got.length, t[i].status ? 0 : t[i].length);
		assert_int_equal(got.part, 0);
		assert_null(got.data);
	}
}

static void truncated_at_each_byte(void **state)
{
	struct ds_packet p;
	u64 counter;
	u32 length, whole = make(WRITE, 0x1000, 128, 128);

	(void)state;
	for (length = 0; length < whole; length++) {
		int rc = parse(length, &p);

		/* Without two units there is nobody's request; without all others a wrong one. */
		assert_int_equal(rc, length < HEAD ? -EBADMSG : 0);
		if (!rc) {
			assert_int_equal(p.status, DS_PACKET_MALFORMED);
			assert_null(p.data);
			assert_int_equal(p.part, 0);
		}
	}
	assert_int_equal(parse(whole, &p), 0);
	assert_int_equal(p.status, DS_PACKET_OK);

	whole = make(REPLY_READ, 0x1000, 128, 128);
	for (length = 0; length < whole; length++)
		assert_int_equal(parse_reply(length, &p, &counter), -EBADMSG);
	assert_int_equal(parse_reply(whole, &p, &counter), 0);
}

static void longer_by_each_byte(void **state)
{
	u32 more;

	(void)state;
	for (more = 1; more <= 2 * UNIT; more++) {
		assert_int_equal(fate(WRITE, 0x1000, 64, 64 + more), DS_PACKET_MALFORMED);
		assert_int_equal(fate(READ, 0x1000, 64, more), DS_PACKET_MALFORMED);
		assert_int_equal(fate(ALLOC, 0, 64, more), DS_PACKET_MALFORMED);
		assert_int_equal(reply_fate(REPLY_READ, 64, 64 + more), -EBADMSG);
		assert_int_equal(reply_fate(REPLY_READ_ERROR, 5, more), -EBADMSG);
		assert_int_equal(reply_fate(REPLY_ALLOC_ERROR, 5, more), -EBADMSG);
		assert_int_equal(reply_fate(REPLY_WRITE, 64, more), -EBADMSG);
		assert_int_equal(reply_fate(REPLY_ALLOC, 64, more), -EBADMSG);
	}
}

static void each_opcode(void **state)
{
	int opcode;

	(void)state;
	for (opcode = 0; opcode < 256; opcode++) {
		bool write = opcode == WRITE || opcode == WRITE_PERSISTENT;

		assert_int_equal(fate(opcode, 0, 64, write ? 64 : 0), opcode <= ALLOC ? 0 : -EBADMSG);
		assert_int_equal(reply_fate(opcode, 5, opcode == REPLY_READ ? 64 : 0),
				 opcode >= REPLY_WRITE && opcode <= REPLY_READ_ERROR ? 0 : -EBADMSG);
	}
}

static void lengths_of_reads_and_writes(void **state)
{
	static const struct { u64 length; int status; } t[] = {
		{ 0, DS_PACKET_LENGTH }, { 1, 0 }, { 63, 0 }, { 64, 0 }, { 65, 0 }, { MOST - 1, 0 }, { MOST, 0 },
		{ MOST + 1, DS_PACKET_LENGTH }, { 1ULL << 32, DS_PACKET_LENGTH },
		{ (1ULL << 32) + 64, DS_PACKET_LENGTH }, { 1ULL << 63, DS_PACKET_LENGTH },
		{ UINT64_MAX - 63, DS_PACKET_LENGTH }, { UINT64_MAX - 62, DS_PACKET_LENGTH },
		{ UINT64_MAX, DS_PACKET_LENGTH },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		u32 units = t[i].length > MOST ? 64 : (t[i].length + 63) / 64 * 64;

		assert_int_equal(fate(READ, 0x1000, t[i].length, 0), t[i].status);
		assert_int_equal(fate(WRITE, 0x1000, t[i].length, units), t[i].status);
		assert_int_equal(fate(WRITE_PERSISTENT, 0x1000, t[i].length, units), t[i].status);
		assert_int_equal(fate(ALLOC, 0, t[i].length, 0), 0);	/* the space knows */
		assert_int_equal(reply_fate(REPLY_READ, t[i].length, units),
				 t[i].status ? -EBADMSG : 0);
	}
}

static void units_of_a_write(void **state)
{
	u32 units;

	(void)state;
	for (units = 0; units <= 4; units++) {
		assert_int_equal(fate(WRITE, 0, 129, units * 64), units == 3 ? 0 : DS_PACKET_MALFORMED);
		assert_int_equal(fate(WRITE, 0, 192, units * 64), units == 3 ? 0 : DS_PACKET_MALFORMED);
		assert_int_equal(reply_fate(REPLY_READ, 129, units * 64), units == 3 ? 0 : -EBADMSG);
	}
	assert_int_equal(fate(WRITE, 0, MOST, MOST), 0);
	assert_int_equal(fate(WRITE, 0, MOST, MOST - 64), DS_PACKET_MALFORMED);
	assert_int_equal(fate(WRITE, 0, MOST, MOST + 64), DS_PACKET_MALFORMED);
	assert_int_equal(fate(ALLOC, 1, 64, 0), DS_PACKET_MALFORMED);
	assert_int_equal(fate(ALLOC, 1ULL << 63, 64, 0), DS_PACKET_MALFORMED);
}

static void statuses_of_errors(void **state)
{
	u64 status;

	(void)state;
	for (status = 0; status < 300; status++) {
		int want = status > 0 && status < DS_PACKET_STATUS_COUNT ? 0 : -EBADMSG;

		assert_int_equal(reply_fate(REPLY_READ_ERROR, status, 0), want);
		assert_int_equal(reply_fate(REPLY_ALLOC_ERROR, status, 0), want);
	}
	assert_int_equal(reply_fate(REPLY_READ_ERROR, 0x10001, 0), -EBADMSG);
	assert_int_equal(reply_fate(REPLY_READ_ERROR, (1ULL << 32) + 1, 0), -EBADMSG);
}

/* Each byte of the header is either a field, which one value is read from, or padding. */
static void padding_means_nothing(void **state)
{
	struct ds_packet first, p;
	u32 length = make(WRITE, 0x1000, 64, 64), at;

	(void)state;
	assert_int_equal(parse(length, &first), 0);
	for (at = 0; at < HEAD; at++) {
		bool field = !at || (at >= 22 && at < 39);
		int rc;

		packet[at] ^= 0x80;
		rc = parse(length, &p);
		assert_int_equal(rc || memcmp(&p, &first, sizeof(p)), field);
		packet[at] ^= 0x80;
	}
}

/* The original's fields are a char and two longs of whatever machine it is built for. */
static void defect_9_fields_have_one_size_and_one_order(void **state)
{
	static const u8 want[] = { 1, 8, 7, 6, 5, 4, 3, 2, 1, 64, 0, 0, 0, 0, 0, 0, 0 };
	struct ds_packet p = { .op = DS_PACKET_WRITE, .address = 0x0102030405060708ull,
			       .length = UNIT, .part = UNIT, .data = packet + HEAD + UNIT };
	int opcode;

	(void)state;
	assert_int_equal(sizeof(struct app_rdma_header), sizeof(want));
	assert_int_equal(ds_packet1_request(packet, &p), HEAD + UNIT);
	assert_memory_equal(packet + 22, want, sizeof(want));
	for (opcode = 0x80; opcode < 0x100; opcode++)	/* none of them is negative */
		assert_int_equal(parse(make((u8)opcode, 0, UNIT, 0), &p), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defect_9_fields_have_one_size_and_one_order),
		cmocka_unit_test(values_are_those_of_the_original),
		cmocka_unit_test(sizes_are_whole_units),
		cmocka_unit_test(write_is_what_the_wire_says),
		cmocka_unit_test(other_requests_have_two_units),
		cmocka_unit_test(reply_is_what_the_wire_says),
		cmocka_unit_test(errors_and_short_replies),
		cmocka_unit_test(truncated_at_each_byte),
		cmocka_unit_test(longer_by_each_byte),
		cmocka_unit_test(each_opcode),
		cmocka_unit_test(lengths_of_reads_and_writes),
		cmocka_unit_test(units_of_a_write),
		cmocka_unit_test(statuses_of_errors),
		cmocka_unit_test(padding_means_nothing),
	};

	return cmocka_run_group_tests_name("core_packet1", tests, NULL, NULL);
}
