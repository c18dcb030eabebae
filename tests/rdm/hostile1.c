// SPDX-License-Identifier: Apache-2.0
/*
 * DS: wrong packets of wire version 1, and of what carries it. The counter in the replies
 * must go up by one, so none of them can be missed or come unseen.
 */
#include <stdlib.h>

#include "hostile.h"
#include "tap.h"
#include "wire1.h"

#define PROBE_BYTES	61	/* no attack reads just as many */
#define EDGE		(W1_DATA - RAW_PAYLOAD)	/* the payload of two units */

static struct hostile *h;
static struct raw *raw;
static uint8_t frame[RAW_MAX], reply[RAW_MAX], pattern[AREA];
static uint64_t area;		/* its first and last KiB hold the pattern, an attack may be between */
static uint64_t counter;	/* of the last reply, 0: not known */
static unsigned int tally[256];	/* replies since the last probe, by opcode */
static unsigned int flying;

/* ---- One packet ---- */

static void note_reply(size_t length)
{
	uint64_t number = w1_get64(reply + W1_COUNTER);
	uint8_t opcode = reply[W1_OPCODE];

	if (counter && number != counter + 1)
		wrong("reply %" PRIu64 " comes after %" PRIu64, number, counter);
	counter = number;
	if (opcode < W1_REPLY_WRITE || opcode > W1_REPLY_READ_ERROR)
		wrong("a reply has the opcode %u", opcode);
	if (opcode != W1_REPLY_READ && length != W1_DATA)
		wrong("a reply with the opcode %u is %zu bytes long", opcode, length);
}

static bool is_probe(uint64_t address, size_t length)
{
	return reply[W1_OPCODE] == W1_REPLY_READ && length == W1_DATA + W1_UNIT &&
	       w1_get64(reply + W1_ADDRESS) == address && w1_get64(reply + W1_LENGTH) == PROBE_BYTES;
}

static void send_frame(size_t length)
{
	if (!raw_send(raw, frame, length))
		wrong("a frame of %zu bytes could not be sent", length);
}

/* The server answers, and its memory is as it was. Count the replies to what was sent before. */
static void probe_at(uint64_t offset)
{
	uint8_t kept[RAW_MAX];
	size_t length;

	memcpy(kept, frame, sizeof(kept));
	raw_headers(raw, frame, w1_request(frame, h->space, W1_READ, area + offset, PROBE_BYTES, NULL, 0));
	send_frame(W1_DATA);
	memcpy(frame, kept, sizeof(kept));
	flying = 0;
	for (;;) {
		length = raw_receive(raw, reply, PATIENCE_MS);
		if (!length)
			raw_die("version 1 does not answer any more");
		if (length < W1_DATA) {
			wrong("a reply of %zu bytes", length);
			continue;
		}
		note_reply(length);
		if (is_probe(area + offset, length))
			break;
		tally[reply[W1_OPCODE]]++;
	}
	expect_bytes("what was written before", reply + W1_DATA, pattern + offset, PROBE_BYTES);
}

static void probe(void)
{
	static unsigned int step;

	step++;
	probe_at((step % 2 ? 0 : AREA - 1024) + step * 13 % 960);
}

/* The frame as it is. */
static void shoot(size_t length)
{
	send_frame(length);
	if (++flying == VOLLEY)
		probe();
}

/* A whole request. */
static void fire(uint8_t opcode, uint64_t address, uint64_t length, size_t data)
{
	size_t size = w1_request(frame, h->space, opcode, address, length, pattern + 64, data);

	raw_headers(raw, frame, size);
	shoot(size);
}

static void expect_replies(unsigned int reads, unsigned int read_errors, unsigned int allocs,
			   unsigned int alloc_errors)
{
	probe_at(0);
	probe_at(AREA - PROBE_BYTES);
	expect("number of REPLY_READ", tally[W1_REPLY_READ], reads);
	expect("number of REPLY_READ_ERROR", tally[W1_REPLY_READ_ERROR], read_errors);
	expect("number of REPLY_ALLOC", tally[W1_REPLY_ALLOC], allocs);
	expect("number of REPLY_ALLOC_ERROR", tally[W1_REPLY_ALLOC_ERROR], alloc_errors);
	expect("number of REPLY_WRITE", tally[W1_REPLY_WRITE], 0);
	memset(tally, 0, sizeof(tally));
}

static void expect_silence(void)
{
	expect_replies(0, 0, 0, 0);
}

/* ---- The packet itself ---- */

static void truncated(void)
{
	size_t payload;

	begin();
	for (payload = 0; payload < EDGE; payload++) {
		w1_request(frame, h->space, W1_READ, area, 64, NULL, 0);
		raw_headers(raw, frame, RAW_PAYLOAD + payload);
		shoot(RAW_PAYLOAD + payload);
	}
	expect_silence();
	end("requests that end in their first two units, at each byte");

	begin();
	for (payload = EDGE; payload < EDGE + 128; payload++) {
		w1_request(frame, h->space, W1_WRITE, area, 128, pattern + 64, 128);
		raw_headers(raw, frame, RAW_PAYLOAD + payload);
		shoot(RAW_PAYLOAD + payload);
	}
	expect_silence();
	end("a WRITE that ends in its data, at each byte, writes nothing");
}

static void too_long(void)
{
	size_t more;

	begin();
	memset(frame, 0xa5, sizeof(frame));
	for (more = 1; more <= 130; more++) {
		w1_request(frame, h->space, W1_READ, area, 64, NULL, 0);
		raw_headers(raw, frame, W1_DATA + more);
		shoot(W1_DATA + more);
		w1_request(frame, h->space, W1_ALLOC, 0, 64, NULL, 0);
		raw_headers(raw, frame, W1_DATA + more);
		shoot(W1_DATA + more);
	}
	expect_replies(0, 130, 0, 130);
	end("READ and ALLOC with more than two units");

	begin();
	for (uint64_t units = 0; units <= 8; units++)
		for (uint64_t length = 0; length <= 512; length += 64 - (length == 64))
			if (w1_in_units(length) != units * 64 || !length)
				fire(W1_WRITE, area, length, units * 64);
	expect_silence();
	end("a WRITE with another number of units than its length needs writes nothing");
}

static void opcodes(void)
{
	begin();
	for (int opcode = 0; opcode < 256; opcode++) {
		fire(opcode, area, 64, 0);
		fire(opcode, UINT64_MAX - 10, 64, 64);
	}
	/* READ; READ with data, WRITE_PERSISTENT without or nowhere; ALLOC with an address. */
	expect_replies(1, 3, 0, 2);
	end("each opcode from 0 to 255");
}

static void lengths(void)
{
	static const uint64_t wrong_lengths[] = {
		0, 65537, 1 << 24, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 64, UINT64_C(1) << 63,
		UINT64_MAX - 63, UINT64_MAX - 62, UINT64_MAX,
	};

	begin();
	for (size_t i = 0; i < ARRAY_LEN(wrong_lengths); i++) {
		fire(W1_READ, area, wrong_lengths[i], 0);
		fire(W1_READ, area, -area + i, 0);	/* to the end of all addresses, and over it */
		fire(W1_WRITE, area, wrong_lengths[i], 64);
		fire(W1_WRITE, area, wrong_lengths[i], 0);
	}
	expect_replies(0, 2 * ARRAY_LEN(wrong_lengths), 0, 0);
	end("lengths of 0, too many bytes, and over the end of all addresses");

	begin();
	for (size_t i = 1; i < ARRAY_LEN(wrong_lengths); i++)
		fire(W1_ALLOC, 0, i > 3 ? wrong_lengths[i] : UINT64_C(1) << (40 + i), 0);
	fire(W1_ALLOC, 0, 0, 0);
	expect_replies(0, 0, 0, ARRAY_LEN(wrong_lengths));
	end("ALLOC of nothing and of far too much");
}

static void edges(void)
{
	const uint64_t last = area + AREA;

	begin();
	fire(W1_READ, area - 1, 1, 0);
	fire(W1_READ, area - 1, 64, 0);
	fire(W1_READ, area - 64, 128, 0);
	fire(W1_READ, last - 1, 2, 0);
	fire(W1_READ, last - 63, 64, 0);
	fire(W1_READ, last, 1, 0);
	expect_replies(0, 6, 0, 0);
	fire(W1_READ, area, 1, 0);
	fire(W1_READ, last - 1, 1, 0);
	expect_replies(2, 0, 0, 0);
	fire(W1_WRITE, area - 1, 2, 64);
	fire(W1_WRITE, area - 32, 64, 64);
	fire(W1_WRITE, last - 1, 2, 64);
	fire(W1_WRITE, last - 32, 64, 64);
	expect_silence();
	end("before, at and behind both ends of an allocation");
}

static void app_ids(void)
{
	begin();
	for (int id = 0; id < 256; id++)
		if (id != (int)h->space && id != h->keyed_space) {
			raw_headers(raw, frame, w1_request(frame, id, W1_READ, area, 64, NULL, 0));
			shoot(W1_DATA);
		}
	expect_replies(0, h->keyed_space >= 0 ? 254 : 255, 0, 0);
	end("app ids that are nobody's");
	if (h->keyed_space < 0)
		return;

	begin();
	for (int opcode = 0; opcode < 256; opcode++) {
		raw_headers(raw, frame, w1_request(frame, h->keyed_space, opcode, opcode == W1_ALLOC ? 0 : area, 64,
						   NULL, 0));
		shoot(W1_DATA);
	}
	expect_replies(0, 2, 0, 1);
	end("a space with a key is not for those who cannot have one");
}

/* ---- What carries it ---- */

/* A good READ, of which @at is set to @value; the checksums are right all the same. */
static void spoil(size_t at, uint8_t value)
{
	raw_headers(raw, frame, w1_request(frame, h->space, W1_READ, area, 64, NULL, 0));
	frame[at] = value;
	raw_sum(raw, frame, W1_DATA);
	shoot(W1_DATA);
}

static void ip_headers(void)
{
	begin();
	for (int version = 0; version < 16; version++)
		if (version != 4)
			spoil(RAW_IP, version << 4 | 5);
	for (int words = 0; words < 5; words++)
		spoil(RAW_IP, 4 << 4 | words);
	for (int protocol = 0; protocol < 256; protocol++)
		if (protocol != 17 && protocol != 1)
			spoil(RAW_IP + 9, protocol);
	spoil(RAW_IP + 3, 19);		/* lengths: shorter than its header, longer than the frame */
	spoil(RAW_IP + 3, 115);
	spoil(RAW_IP + 2, 0xff);
	spoil(RAW_UDP + 4, 0xff);
	spoil(RAW_UDP + 5, 0);
	spoil(RAW_UDP + 5, 7);
	spoil(RAW_UDP + 5, 8);
	spoil(RAW_UDP + 5, EDGE + 7);
	raw_headers(raw, frame, W1_DATA);
	frame[RAW_IP + 10] ^= 1;
	shoot(W1_DATA);
	expect_silence();
	end("IP and UDP headers whose versions, lengths or checksums are wrong");
}

static void ip_options(void)
{
	size_t length = w1_request(frame, h->space, W1_READ, area, 64, NULL, 0);

	begin();
	for (int words = 1; words <= 10; words++) {
		raw_headers(raw, frame, length);
		memmove(frame + RAW_UDP + words * 4, frame + RAW_UDP, length - RAW_UDP);
		memset(frame + RAW_UDP, 1, words * 4);	/* no operation */
		frame[RAW_IP] = 0x45 + words;
		frame[RAW_IP + 3] = length - RAW_IP + words * 4;
		raw_sum(raw, frame, length + words * 4);
		shoot(length + words * 4);
		w1_request(frame, h->space, W1_READ, area, 64, NULL, 0);
	}
	expect_silence();
	end("IP options");
}

static void udp_checksums(void)
{
	begin();
	for (int bit = 0; bit < 16; bit++) {
		bool before = raw->checksum;

		raw->checksum = true;
		raw_headers(raw, frame, w1_request(frame, h->space, W1_READ, area, 64, NULL, 0));
		raw->checksum = before;
		frame[RAW_UDP + 6 + bit / 8] ^= 1 << bit % 8;
		if (!raw_udp_sum_right(frame))
			shoot(W1_DATA);
	}
	expect_silence();
	end("UDP checksums that are wrong in one bit");
}

static void sources(void)
{
	static const uint8_t addresses[][4] = {
		{ 0, 0, 0, 0 }, { 127, 0, 0, 1 }, { 224, 0, 0, 1 }, { 255, 255, 255, 255 }, { 192, 0, 2, 1 },
		{ 10, 77, 0, 99 },
	};

	begin();
	for (size_t i = 0; i <= ARRAY_LEN(addresses); i++) {
		raw_headers(raw, frame, w1_request(frame, h->space, W1_WRITE, area, 64, pattern + 100, 64));
		memcpy(frame + RAW_IP + 12, i < ARRAY_LEN(addresses) ? addresses[i] : raw->server_ip, 4);
		raw_sum(raw, frame, W1_DATA + 64);
		shoot(W1_DATA + 64);
	}
	expect_silence();
	end("source addresses that are not on the list, or nobody's");

	begin();
	raw_headers(raw, frame, w1_request(frame, h->space, W1_WRITE, area + AREA / 2, 64, pattern, 64));
	frame[RAW_UDP] = frame[RAW_UDP + 1] = 0;
	raw_sum(raw, frame, W1_DATA + 64);
	shoot(W1_DATA + 64);
	expect_silence();
	end("a source port of 0");
}

/* A piece of a datagram, from byte @from of its UDP header on. */
static void shoot_piece(const uint8_t *whole, size_t from, size_t to, bool more, uint16_t id)
{
	memcpy(frame, whole, RAW_UDP);
	memcpy(frame + RAW_UDP, whole + RAW_UDP + from, to - from);
	frame[RAW_IP + 2] = (20 + to - from) >> 8;
	frame[RAW_IP + 3] = 20 + to - from;
	frame[RAW_IP + 4] = id >> 8;
	frame[RAW_IP + 5] = id;
	frame[RAW_IP + 6] = (more ? 0x20 : 0) | from / 8 >> 8;
	frame[RAW_IP + 7] = from / 8;
	frame[RAW_IP + 10] = frame[RAW_IP + 11] = 0;
	uint16_t sum = raw_ip_sum(frame + RAW_IP, 20);

	frame[RAW_IP + 10] = sum >> 8;
	frame[RAW_IP + 11] = sum;
	shoot(RAW_UDP + to - from);
}

static void fragments(void)
{
	uint8_t whole[W1_DATA + 64];
	const size_t length = sizeof(whole) - RAW_UDP;

	begin();
	memset(frame, 0, sizeof(frame));
	raw_headers(raw, frame, w1_request(frame, h->space, W1_WRITE, area, 64, pattern + 64, 64));
	memcpy(whole, frame, sizeof(whole));
	for (size_t at = 8; at < length; at += 8) {
		shoot_piece(whole, 0, at, true, 1000 + at);	/* the rest never comes */
		shoot_piece(whole, at, length, false, 2000 + at);
	}
	for (size_t at = 16; at < length; at += 8) {		/* two pieces that overlap */
		shoot_piece(whole, 0, at, true, 3000 + at);
		shoot_piece(whole, at - 8, length, false, 3000 + at);
	}
	shoot_piece(whole, 65528, 65528, false, 1);
	expect_silence();
	end("fragments without the others, and fragments that overlap");
}

/* Made of fragments: the longest that there can be. */
static void oversized(void)
{
	static uint8_t whole[65536 + RAW_IP];
	const size_t end_at = 65535 - 20, piece = 1024;

	begin();
	memset(frame, 0, sizeof(frame));
	raw_headers(raw, frame, w1_request(frame, h->space, W1_WRITE, area, 64, pattern + 64, 64));
	memcpy(whole, frame, W1_DATA + 64);
	whole[RAW_UDP + 4] = end_at >> 8;
	whole[RAW_UDP + 5] = end_at & 255;
	whole[RAW_UDP + 6] = whole[RAW_UDP + 7] = 0;
	for (size_t from = 0; from < end_at; from += piece) {
		bool more = from + piece < end_at;

		shoot_piece(whole, from, more ? from + piece : end_at, more, 7);
	}
	expect_silence();
	end("a WRITE of 64 KiB in fragments");
}

static void ethernet(void)
{
	static const uint8_t macs[][6] = {
		{ 2, 0, 0, 0, 0, 0x77 }, { 0, 0, 0, 0, 0, 0 },
	};

	begin();
	for (size_t i = 0; i < ARRAY_LEN(macs); i++) {
		raw_headers(raw, frame, w1_request(frame, h->space, W1_WRITE, area, 64, pattern + 64, 64));
		memcpy(frame, macs[i], 6);
		shoot(W1_DATA + 64);
	}
	for (int type = 0; type < 65536; type += 257) {
		raw_headers(raw, frame, w1_request(frame, h->space, W1_WRITE, area, 64, pattern + 64, 64));
		frame[12] = type >> 8;
		frame[13] = type;
		shoot(W1_DATA + 64);
	}
	expect_silence();
	end("frames for other hosts, and of other types");
}

/* ---- */

/* A frame may be lost, and after a flood answers to it may still be under way. */
static bool allocate_area(void)
{
	size_t length;

	for (int tries = 0; tries < 50; tries++) {
		raw_headers(raw, frame, w1_request(frame, h->space, W1_ALLOC, 0, AREA, NULL, 0));
		send_frame(W1_DATA);
		while ((length = raw_receive(raw, reply, PATIENCE_MS / 50)))
			if (length >= W1_DATA && reply[W1_OPCODE] == W1_REPLY_ALLOC)
				return true;
	}
	return false;
}

static void make_area(void)
{
	begin();
	if (!allocate_area())
		raw_die("version 1 cannot allocate %d bytes", AREA);
	counter = w1_get64(reply + W1_COUNTER);
	area = w1_get64(reply + W1_ADDRESS);
	for (size_t i = 0; i < AREA; i++)
		pattern[i] = i * 11 + (i >> 8) + 3;
	for (size_t at = 0; at < AREA; at += 512) {
		size_t length = w1_request(frame, h->space, W1_WRITE, area + at, 512, pattern + at, 512);

		raw_headers(raw, frame, length);
		shoot(length);
	}
	expect_silence();
	end("version 1 serves this host");
}

uint64_t version1_area(void)
{
	return area;
}

/* After a flood the queue may still be full: what is lost is asked again. */
void version1_probe(void)
{
	size_t length;

	counter = 0;
	for (int tries = 0; tries < 50; tries++) {
		raw_headers(raw, frame, w1_request(frame, h->space, W1_READ, area, PROBE_BYTES, NULL, 0));
		send_frame(W1_DATA);
		while ((length = raw_receive(raw, reply, PATIENCE_MS / 50)))
			if (length >= W1_DATA && is_probe(area, length)) {
				expect_bytes("what was written before", reply + W1_DATA, pattern, PROBE_BYTES);
				return;
			}
	}
	wrong("version 1 does not answer any more");
}

void begin_version1(struct hostile *hostile)
{
	h = hostile;
	raw = &h->v1;
	make_area();
}

void attack_version1(void)
{
	truncated();
	too_long();
	opcodes();
	lengths();
	edges();
	app_ids();
	ip_headers();
	ip_options();
	udp_checksums();
	sources();
	fragments();
	oversized();
	ethernet();
}
