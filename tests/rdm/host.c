// SPDX-License-Identifier: Apache-2.0
/*
 * DS: a host that knows document 002 and nothing else of DS. It makes its frames itself,
 * from the Ethernet header on, and looks at each byte of the answers. Prints TAP.
 *
 * It allocates three times, and version 1 has no way to give that back.
 */
#include <getopt.h>
#include <stdlib.h>

#include "raw.h"
#include "tap.h"
#include "wire1.h"

#define PATIENCE_MS	20000	/* an answer that takes longer is none */

static struct raw raw = { .port = 0 };
static uint8_t app_id;
static bool answered;		/* the server answers WRITE, as the original's code did */
static bool fresh;		/* it has answered nobody before */
static bool is_volatile;	/* its memory does not survive the machine */
static uint64_t bytes = 16384;	/* of an allocation */

static uint8_t frame[RAW_MAX], reply[RAW_MAX];
static size_t reply_length;
static uint64_t counter;	/* of the last reply */

static void expect_zeros(const char *what, size_t from, size_t to)
{
	for (size_t i = from; i < to && i < reply_length; i++)
		if (reply[i]) {
			wrong("%s: byte %zu of the frame is 0x%02x, not 0", what, i, reply[i]);
			return;
		}
}

/* ---- One packet ---- */

static uint16_t big16(size_t at)
{
	return reply[at] << 8 | reply[at + 1];
}

/* Ethernet, IPv4 and UDP: who asked gets it, from whom was asked. */
static void check_headers(void)
{
	expect_bytes("destination MAC", reply, raw.mac, 6);
	expect_bytes("source MAC", reply + 6, raw.server_mac, 6);
	expect("EtherType", big16(12), 0x0800);
	expect("IP version and header length", reply[RAW_IP], 0x45);
	expect("IP length", big16(RAW_IP + 2), reply_length - RAW_IP);
	expect("fragment", big16(RAW_IP + 6) & 0x3fff, 0);
	expect("IP protocol", reply[RAW_IP + 9], 17);
	expect("IP header's checksum", raw_ip_sum(reply + RAW_IP, 20), 0);
	if (!reply[RAW_IP + 8])
		wrong("no hops are left");
	expect_bytes("source address", reply + RAW_IP + 12, raw.server_ip, 4);
	expect_bytes("destination address", reply + RAW_IP + 16, raw.ip, 4);
	expect("source port", big16(RAW_UDP), raw.server_port);
	expect("destination port", big16(RAW_UDP + 2), raw.port);
	expect("UDP length", big16(RAW_UDP + 4), reply_length - RAW_UDP);
	if (!raw.unsummed && !raw_udp_sum_right(reply))
		wrong("the UDP checksum is neither 0 nor right");
}

/* Units 0 and 1. The counter of replies goes up by one, so no reply was left out. */
static void check_app_header(uint8_t opcode)
{
	expect("app id", reply[W1_APP_ID], app_id);
	expect_zeros("padding of unit 0", W1_APP_ID + 1, W1_UNIT);
	expect("opcode", reply[W1_OPCODE], opcode);
	if (counter || fresh)
		expect("counter", w1_get64(reply + W1_COUNTER), counter + 1);
	else if (!w1_get64(reply + W1_COUNTER))
		wrong("the counter is 0");
	counter = w1_get64(reply + W1_COUNTER);
	expect_zeros("padding of unit 1", W1_COUNTER + 8, W1_DATA);
}

/* Wait for a reply of @data_length bytes of data and check all but its address and length. */
static bool hear(uint8_t opcode, const void *data, size_t data_length)
{
	reply_length = raw_receive(&raw, reply, PATIENCE_MS);
	if (!reply_length) {
		wrong("no reply in %d s", PATIENCE_MS / 1000);
		return false;
	}
	if (reply_length < W1_DATA) {
		wrong("the frame of the reply has %zu bytes", reply_length);
		return false;
	}
	check_headers();
	check_app_header(opcode);
	expect("the frame's length", reply_length, W1_DATA + w1_in_units(data_length));
	if (data && reply_length >= W1_DATA + data_length)
		expect_bytes("data", reply + W1_DATA, data, data_length);
	expect_zeros("padding of the data", W1_DATA + data_length, reply_length);
	return true;
}

static void send_frame(size_t length)
{
	raw_headers(&raw, frame, length);
	if (!raw_send(&raw, frame, length))
		wrong("the frame of %zu bytes could not be sent", length);
}

static void ask(uint8_t opcode, uint64_t address, uint64_t length)
{
	send_frame(w1_request(frame, app_id, opcode, address, length, NULL, 0));
}

/* A reply that repeats the request's address, and its length if all went well. */
static bool hear_of(uint8_t opcode, uint64_t address, uint64_t length, const void *data, size_t data_length)
{
	if (!hear(opcode, data, data_length))
		return false;
	expect("address", w1_get64(reply + W1_ADDRESS), address);
	if (opcode != W1_REPLY_READ_ERROR)
		expect("length", w1_get64(reply + W1_LENGTH), length);
	return true;
}

static void expect_read(uint64_t address, uint64_t length, const void *data)
{
	ask(W1_READ, address, length);
	hear_of(W1_REPLY_READ, address, length, data, length);
}

static void expect_no_read(uint64_t address, uint64_t length)
{
	ask(W1_READ, address, length);
	if (hear_of(W1_REPLY_READ_ERROR, address, length, NULL, 0) && !good())
		printf("# this was a READ of 0x%" PRIx64 " bytes at 0x%" PRIx64 "\n", length, address);
}

static void send_write(uint64_t address, const void *data, uint64_t length)
{
	send_frame(w1_request(frame, app_id, W1_WRITE, address, length, data, length));
}

/* One that fails. REPLY_READ_ERROR is the only opcode that there is to say so. */
static void write_in_vain(uint64_t address, const void *data, uint64_t length)
{
	send_write(address, data, length);
	if (answered)
		hear_of(W1_REPLY_READ_ERROR, address, length, NULL, 0);
}

static void write_to(uint64_t address, const void *data, uint64_t length)
{
	send_write(address, data, length);
	if (answered)
		hear_of(W1_REPLY_WRITE, address, length, NULL, 0);
}

/* Return the address, 0 if there is none. */
static uint64_t allocate(void)
{
	ask(W1_ALLOC, 0, bytes);
	return hear(W1_REPLY_ALLOC, NULL, 0) ? w1_get64(reply + W1_ADDRESS) : 0;
}

/* ---- Tests ---- */

static uint8_t pattern[1024];

static void test_alloc(uint64_t at[3])
{
	begin();
	at[0] = allocate();
	end("ALLOC is answered, byte for byte");

	begin();
	at[1] = allocate();
	at[2] = allocate();
	for (int i = 0; i < 3; i++) {
		uint64_t after = at[(i + 1) % 3], distance = at[i] > after ? at[i] - after : after - at[i];

		if (distance < bytes)
			wrong("allocations at 0x%" PRIx64 " and 0x%" PRIx64 " overlap", at[i], after);
	}
	end("allocations do not overlap, and replies are counted");
}

static void test_alloc_errors(void)
{
	static const uint64_t lengths[] = { 0, UINT64_C(1) << 40, UINT64_C(1) << 63, UINT64_MAX - 4095, UINT64_MAX };

	begin();
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		ask(W1_ALLOC, 0, lengths[i]);
		if (hear(W1_REPLY_ALLOC_ERROR, NULL, 0) && !good())
			printf("# this was an ALLOC of 0x%" PRIx64 " bytes\n", lengths[i]);
	}
	end("ALLOC of nothing and of too much is refused");
}

static void test_write_and_read(uint64_t at)
{
	begin();
	write_to(at, pattern, 128);
	expect_read(at, 128, pattern);
	end(answered ? "WRITE is answered, READ gives its bytes back" :
		       "WRITE is not answered, READ gives its bytes back");

	begin();
	expect_read(at, 64, pattern);
	expect_read(at + 64, 64, pattern + 64);
	expect_read(at + 1, 64, pattern + 1);
	expect_read(at + 3, 1, pattern + 3);
	expect_read(at, 1, pattern);
	expect_read(at, 63, pattern);
	expect_read(at, 65, pattern);
	expect_read(at + 63, 65, pattern + 63);
	end("READ of any length, at any address, in whole units");
}

/* Of a whole unit on the wire only the bytes that the length names are written. */
static void test_odd_writes(uint64_t at)
{
	static const uint64_t lengths[] = { 1, 63, 64, 65, 127 };
	uint8_t want[256], data[128];

	begin();
	memset(data, 0xee, sizeof(data));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		memcpy(want, pattern + i, sizeof(want));
		write_to(at, want, sizeof(want));
		size_t length = w1_request(frame, app_id, W1_WRITE, at + 5, lengths[i], data, w1_in_units(lengths[i]));

		send_frame(length);
		if (answered)
			hear_of(W1_REPLY_WRITE, at + 5, lengths[i], NULL, 0);
		memset(want + 5, 0xee, lengths[i]);
		expect_read(at, sizeof(want), want);
	}
	end("WRITE changes the bytes that its length names and no others");
}

static void test_edges(const uint64_t at[3])
{
	begin();
	for (int i = 0; i < 3; i++) {
		uint64_t last = at[i] + bytes;

		write_to(last - 64, pattern, 64);
		expect_read(last - 64, 64, pattern);
		expect_read(last - 1, 1, pattern + 63);
		expect_no_read(last - 1, 2);
		expect_no_read(last - 64, 65);
		expect_no_read(at[i] - 1, 2);
		expect_no_read(at[i] - 64, 128);
		expect_no_read(at[i], UINT64_MAX);
		expect_no_read(last - 1, UINT64_MAX - last + 2);	/* wraps to 0 */
		expect_no_read(last - 1, UINT64_MAX - last + 3);
	}
	end("no READ leaves its allocation at either end");

	begin();
	for (int i = 0; i < 3; i++) {
		write_to(at[i], pattern, 64);
		write_to(at[i] + bytes - 64, pattern, 64);
	}
	for (int i = 0; i < 3; i++) {
		write_in_vain(at[i] + bytes - 1, pattern + 200, 2);
		write_in_vain(at[i] + bytes - 1, pattern + 200, 64);
		write_in_vain(at[i] - 1, pattern + 200, 2);
		write_in_vain(at[i] - 63, pattern + 200, 64);
	}
	for (int i = 0; i < 3; i++) {
		expect_read(at[i], 64, pattern);
		expect_read(at[i] + bytes - 64, 64, pattern);
	}
	end("a WRITE that leaves its allocation changes no byte");
}

static void test_not_mapped(void)
{
	static const uint64_t addresses[] = { UINT64_C(1) << 62, UINT64_C(1) << 63, UINT64_MAX - 63, UINT64_MAX };

	begin();
	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		expect_no_read(addresses[i], 64);
		expect_no_read(addresses[i], 1);
	}
	end("READ of what nobody allocated is refused, without data");
}

/* Replies have to fit into a frame of the link. */
static void test_mtu(uint64_t at)
{
	uint64_t most = (raw.mtu + RAW_IP - W1_DATA) / W1_UNIT * W1_UNIT;

	begin();
	if (most > RAW_MAX - W1_DATA)
		most = RAW_MAX - W1_DATA;
	else
		expect_no_read(at, most + 1);
	ask(W1_READ, at, most);
	hear_of(W1_REPLY_READ, at, most, NULL, most);
	end("READ of what fits into a packet, and not more");
}

static void test_padding(uint64_t at)
{
	size_t length = w1_request(frame, app_id, W1_READ, at, 64, NULL, 0);

	begin();
	write_to(at, pattern, 64);
	w1_request(frame, app_id, W1_READ, at, 64, NULL, 0);
	memset(frame + W1_APP_ID + 1, 0xff, W1_UNIT - W1_APP_ID - 1);
	memset(frame + W1_COUNTER, 0xff, W1_DATA - W1_COUNTER);
	send_frame(length);
	hear_of(W1_REPLY_READ, at, 64, pattern, 64);
	end("padding of a request may be anything");
}

static void test_checksums(uint64_t at)
{
	bool before = raw.checksum;

	begin();
	write_to(at, pattern, 64);
	raw.checksum = false;
	expect_read(at, 64, pattern);
	raw.checksum = true;
	expect_read(at, 64, pattern);
	raw.checksum = before;
	end("a UDP checksum of 0 and a right one");

	/* That nothing came for it is seen by the counter of the next reply. */
	begin();
	raw_headers(&raw, frame, w1_request(frame, app_id, W1_READ, at, 64, NULL, 0));
	frame[RAW_UDP + 6] = 0x12;
	frame[RAW_UDP + 7] ^= 0x34;
	if (raw_udp_sum_right(frame))
		frame[RAW_UDP + 7] ^= 1;
	if (!raw_send(&raw, frame, W1_DATA))
		wrong("the frame could not be sent");
	expect_read(at, 64, pattern);
	end("a wrong UDP checksum is not answered");
}

static void test_other_port(uint64_t at)
{
	struct raw first = raw;

	begin();
	write_to(at, pattern, 64);
	raw.port++;
	raw_open(&raw);
	expect_read(at, 64, pattern);
	raw_close(&raw);
	raw = first;
	expect_read(at, 64, pattern);
	end("each port gets its own answers");
}

/* Answered in any case: who asks for it wants to know. */
static void test_persistent(uint64_t at)
{
	const uint8_t *want = is_volatile ? pattern : pattern + 100;

	begin();
	write_to(at, pattern, 64);
	send_frame(w1_request(frame, app_id, W1_WRITE_PERSISTENT, at, 64, pattern + 100, 64));
	hear_of(is_volatile ? W1_REPLY_READ_ERROR : W1_REPLY_WRITE, at, 64, NULL, 0);
	expect_read(at, 64, want);
	end(is_volatile ? "WRITE_PERSISTENT is refused by memory that is not" : "WRITE_PERSISTENT is answered");
}

static void usage(void)
{
	printf("usage: host -i INTERFACE -s ADDRESS -p PORT [OPTION...]\n%s"
	       "  -a NUMBER      app id (0)\n"
	       "  -b BYTES       of an allocation, a power of two, at least a page of the space (16384)\n"
	       "  -w             the server answers WRITE\n"
	       "  -f             it has answered nobody before\n"
	       "  -v             its memory is volatile\n", raw_usage);
	exit(2);
}

static void parse(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, RAW_OPTIONS "a:b:wfv")) != -1) {
		if (option == 'a')
			app_id = strtoul(optarg, NULL, 0);
		else if (option == 'b')
			bytes = strtoull(optarg, NULL, 0);
		else if (option == 'w')
			answered = true;
		else if (option == 'f')
			fresh = true;
		else if (option == 'v')
			is_volatile = true;
		else if (!raw_option(&raw, option, optarg))
			usage();
	}
	if (optind < argc)
		usage();
}

int main(int argc, char **argv)
{
	uint64_t at[3];

	setvbuf(stdout, NULL, _IOLBF, 0);
	parse(argc, argv);
	raw_open(&raw);
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = i * 7 + (i >> 8) + 1;

	test_alloc(at);
	test_alloc_errors();
	test_write_and_read(at[0]);
	test_odd_writes(at[1]);
	test_edges(at);
	test_not_mapped();
	test_mtu(at[0]);
	test_padding(at[0]);
	test_checksums(at[0]);
	test_other_port(at[0]);
	test_persistent(at[0]);
	raw_close(&raw);
	return tap_done();
}
