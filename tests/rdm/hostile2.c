// SPDX-License-Identifier: Apache-2.0
/*
 * DS: wrong packets of wire version 2, good ones that come again or in another order, and
 * clients that want too much.
 */
#include <sys/random.h>

#include "rdm/packet2.h"

#include "hostile.h"
#include "tap.h"

#define HEAD		((u32)sizeof(struct ds_packet2_header))
#define PROBE_TAG	0xfeed0000u
#define NOWHERE		0x7fffffff0000ull
#define SESSIONS_MAX	64	/* no server gives as many to one host */

static struct hostile *h;
static struct raw *raw;
static u8 frame[RAW_MAX], reply[RAW_MAX], packet[RAW_MAX], pattern[AREA];
static u64 area, session, seq;
static unsigned int tally[DS_PACKET_STATUS_COUNT];	/* replies since the last probe */
static struct ds_packet last;				/* of them */
static u8 last_data[RAW_MAX];
static unsigned int flying;

/* ---- One packet ---- */

/* The next reply that is one of version 2. */
static void receive(struct ds_packet *p)
{
	size_t length = raw_receive(raw, reply, PATIENCE_MS);
	int size;

	if (!length)
		raw_die("version 2 does not answer any more");
	size = ds_packet2_parse(reply + RAW_PAYLOAD, length - RAW_PAYLOAD, true, p);
	if (size != (int)(length - RAW_PAYLOAD)) {
		wrong("a reply of %zu bytes is none of version 2", length - RAW_PAYLOAD);
		memset(p, 0, sizeof(*p));
	}
}

/* What is in @packet. */
static void transmit(u32 size)
{
	memcpy(frame + RAW_PAYLOAD, packet, size);
	raw_headers(raw, frame, RAW_PAYLOAD + size);
	if (!raw_send(raw, frame, RAW_PAYLOAD + size))
		wrong("a packet of %u bytes could not be sent", size);
}

/* The server answers. Count the replies to what was sent before. */
static void probe(void)
{
	static u32 number;
	struct ds_packet ping = { .op = DS_PACKET_PING, .tag = PROBE_TAG + number++ % 0x10000,
				  .space = h->space, .tenant = h->tenant };
	u8 kept[RAW_MAX];
	struct ds_packet p;

	memcpy(kept, packet, sizeof(kept));
	transmit(ds_packet2_build(packet, &ping, false, NULL));
	memcpy(packet, kept, sizeof(kept));
	flying = 0;
	for (receive(&p); p.tag != ping.tag || p.op != DS_PACKET_PING; receive(&p)) {
		tally[p.status]++;
		last = p;
		if (p.data)
			memcpy(last_data, p.data, p.part);
	}
}

static void shoot(u32 size)
{
	transmit(size);
	if (++flying == VOLLEY)
		probe();
}

static void fire(const struct ds_packet *p)
{
	shoot(ds_packet2_build(packet, p, false, NULL));
}

/* That many replies of one status, and no others. */
static void expect_replies(u16 status, unsigned int count)
{
	probe();
	for (u16 i = 0; i < DS_PACKET_STATUS_COUNT; i++)
		if (tally[i] != (i == status ? count : 0))
			wrong("%u replies have the status %u, not %u", tally[i], i, i == status ? count : 0);
	memset(tally, 0, sizeof(tally));
}

static void expect_silence(void)
{
	expect_replies(0, 0);
}

/* ---- Requests ---- */

static struct ds_packet request(u8 op)
{
	return (struct ds_packet){ .op = op, .tag = 1, .space = h->space, .tenant = h->tenant, .session = session };
}

static struct ds_packet access_to(u8 op, u64 address, u64 length, const u8 *data)
{
	struct ds_packet p = request(op);

	p.address = address;
	p.length = length;
	p.part = length;
	p.data = data;
	if (op != DS_PACKET_READ)
		p.seq = ++seq;
	return p;
}

static struct ds_packet atomic(u8 op, u64 address, const struct ds_packet2_operands *operands)
{
	struct ds_packet p = access_to(op, address, 8, (const u8 *)operands);

	p.part = sizeof(*operands);
	return p;
}

/* The one reply to a request. */
static u16 ask(const struct ds_packet *p)
{
	unsigned int count = 0;
	u16 status = 0;

	fire(p);
	probe();
	for (u16 i = 0; i < DS_PACKET_STATUS_COUNT; i++) {
		count += tally[i];
		if (tally[i])
			status = i;
	}
	memset(tally, 0, sizeof(tally));
	expect("number of replies", count, 1);
	if (count && (last.op != p->op || last.tag != p->tag))
		wrong("a reply to operation %u with the tag %u", last.op, last.tag);
	return status;
}

static void expect_status(const struct ds_packet *p, u16 status)
{
	expect("status", ask(p), status);
}

static u64 allocate(u64 length)
{
	struct ds_packet p = request(DS_PACKET_ALLOC);

	p.length = length;
	p.seq = ++seq;
	return ask(&p) == DS_PACKET_OK ? last.address : 0;
}

static u16 give_back(u64 address, u64 length)
{
	struct ds_packet p = request(DS_PACKET_FREE);

	p.address = address;
	p.length = length;
	p.seq = ++seq;
	return ask(&p);
}

static u64 open_session(u64 nonce)
{
	struct ds_packet p = request(DS_PACKET_OPEN);

	p.session = 0;
	p.seq = nonce;
	return ask(&p) == DS_PACKET_OK ? last.session : 0;
}

static void close_session(u64 id)
{
	struct ds_packet p = request(DS_PACKET_CLOSE);

	p.session = id;
	expect_status(&p, DS_PACKET_OK);
}

static void expect_memory(u64 address, const u8 *want, u32 length)
{
	struct ds_packet p = access_to(DS_PACKET_READ, address, length, NULL);

	expect_status(&p, DS_PACKET_OK);
	expect("bytes read", last.part, length);
	expect_bytes("what was written", last_data, want, length);
}

/* ---- The packet itself ---- */

static void seal(u32 size)
{
	struct ds_packet2_header *header = (void *)packet;

	header->crc = cpu_to_le32(~crc32c(~0u, packet + 12, size - 12));
}

static void lengths_of_packets(void)
{
	struct ds_packet p = access_to(DS_PACKET_WRITE, area, 64, pattern + 64);
	u32 size;

	begin();
	for (size = 0; size < HEAD + 64; size++) {
		ds_packet2_build(packet, &p, false, NULL);
		shoot(size);
	}
	for (size = HEAD + 65; size < HEAD + 200; size++) {
		memset(packet, 0, sizeof(packet));
		ds_packet2_build(packet, &p, false, NULL);
		shoot(size);
	}
	expect_silence();
	expect_memory(area, pattern, 64);
	end("a packet that ends at each byte, or does not end");
}

static void bits(void)
{
	struct ds_packet p = access_to(DS_PACKET_WRITE, area, 16, pattern + 64);
	u32 bit, size = HEAD + 16;

	begin();
	for (bit = 0; bit < size * 8; bit++) {
		ds_packet2_build(packet, &p, false, NULL);
		packet[bit / 8] ^= 1 << bit % 8;
		shoot(size);
	}
	expect_silence();
	end("each bit flipped: the CRC is wrong");

	/* The CRC covers what is behind it. A fixed field that is wrong makes no packet. */
	begin();
	for (bit = 12 * 8; bit < 20 * 8; bit++) {
		if (bit / 8 == 15)
			continue;	/* the operation */
		ds_packet2_build(packet, &p, false, NULL);
		packet[bit / 8] ^= 1 << bit % 8;
		seal(size);
		shoot(size);
	}
	for (bit = 36 * 8; bit < 40 * 8; bit++) {
		ds_packet2_build(packet, &p, false, NULL);
		packet[bit / 8] ^= 1 << bit % 8;
		seal(size);
		shoot(size);
	}
	expect_silence();
	expect_memory(area, pattern, 64);
	end("magic, version, flags, status and reserved bits wrong, the CRC right");
}

static void operations(void)
{
	begin();
	for (int op = 0; op < 256; op++)
		if (op < DS_PACKET_READ || op > DS_PACKET_PING) {
			struct ds_packet p = request(op);

			fire(&p);
		}
	expect_replies(DS_PACKET_OPCODE, 246);
	end("operations that there are not");
}

static void lengths(void)
{
	static const u64 wrong_lengths[] = { 0, 65537, 1ull << 32, (1ull << 32) + 64, 1ull << 63, ~0ull - 62, ~0ull };

	begin();
	for (size_t i = 0; i < ARRAY_LEN(wrong_lengths); i++) {
		struct ds_packet p = access_to(DS_PACKET_READ, area, wrong_lengths[i], NULL);

		p.part = 64;
		expect_status(&p, DS_PACKET_LENGTH);
		p = access_to(DS_PACKET_WRITE, area, wrong_lengths[i], pattern + 64);
		p.part = 64;
		expect_status(&p, DS_PACKET_LENGTH);
	}
	for (u32 length = 1; length <= 65; length += length == 1 ? 62 : 1)
		expect_memory(area + 1, pattern + 1, length);
	end("lengths of 0, of too much, and of any few bytes");
}

static void edges(void)
{
	static const struct { s64 at; u64 length; } outside[] = {
		{ -1, 1 }, { -1, 2 }, { -64, 128 }, { AREA, 1 }, { AREA - 1, 2 }, { AREA - 63, 64 },
	};

	begin();
	for (size_t i = 0; i < ARRAY_LEN(outside); i++) {
		struct ds_packet p = access_to(DS_PACKET_READ, area + outside[i].at, outside[i].length, NULL);

		expect_status(&p, DS_PACKET_ADDRESS);
		p = access_to(DS_PACKET_WRITE, area + outside[i].at, outside[i].length, pattern + 1);
		expect_status(&p, DS_PACKET_ADDRESS);
	}
	for (u64 address = ~0ull - 63; address; address++) {
		struct ds_packet p = access_to(DS_PACKET_READ, address, 64, NULL);

		fire(&p);
	}
	expect_replies(DS_PACKET_ADDRESS, 64);
	expect_memory(area, pattern, 64);
	expect_memory(area + AREA - 64, pattern + AREA - 64, 64);
	end("before and behind an allocation, and over the end of all addresses");
}

static void strangers(void)
{
	begin();
	for (u32 bit = 0; bit < 32; bit++) {
		struct ds_packet p = access_to(DS_PACKET_READ, area, 64, NULL);

		p.space ^= 1u << bit;
		if (p.space != h->keyed_space)
			expect_status(&p, DS_PACKET_NO_SPACE);
		p = access_to(DS_PACKET_WRITE, area, 64, pattern + 64);
		p.tenant ^= 1u << bit;
		expect_status(&p, DS_PACKET_NO_SPACE);
	}
	expect_memory(area, pattern, 64);
	end("spaces that there are not, and another tenant's");
}

/* ---- Sessions ---- */

static void no_session(void)
{
	static const u8 ops[] = { DS_PACKET_WRITE, DS_PACKET_WRITE_PERSISTENT, DS_PACKET_ALLOC, DS_PACKET_FREE };

	begin();
	for (int bit = -1; bit < 64; bit++)
		for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
			struct ds_packet p = access_to(ops[i], area, 64, pattern + 64);

			if (ops[i] >= DS_PACKET_ALLOC)
				p.part = 0, p.data = NULL;
			p.session = bit < 0 ? 0 : session ^ 1ull << bit;
			fire(&p);
		}
	expect_replies(DS_PACKET_SESSION, 65 * ARRAY_LEN(ops));
	expect_memory(area, pattern, 64);
	end("changes in sessions that nobody opened");
}

static void many_sessions(void)
{
	u64 ids[SESSIONS_MAX], nonce = 0x1000;
	u32 count = 0;

	begin();
	while (count < SESSIONS_MAX && (ids[count] = open_session(nonce + count)))
		count++;
	if (!count || count == SESSIONS_MAX)
		wrong("%u sessions could be opened", count);
	expect("session of the same number", open_session(nonce), ids[0]);
	for (u32 i = 0; i < count; i++)
		close_session(ids[i]);
	if (count) {
		struct ds_packet p = access_to(DS_PACKET_WRITE, area, 64, pattern + 64);

		p.session = ids[0];
		expect_status(&p, DS_PACKET_SESSION);
	}
	expect_memory(area, pattern, 64);
	end("sessions until the server has enough, and one after its end");
}

static void replayed(void)
{
	struct ds_packet2_operands add = { .operand = cpu_to_le64(1) }, set = { .operand = cpu_to_le64(77) };
	u64 at = area + 4096, zero = 0, word;
	struct ds_packet first, second, sum, swap;

	begin();
	first = access_to(DS_PACKET_WRITE, at, 64, pattern + 100);
	second = access_to(DS_PACKET_WRITE, at, 64, pattern + 200);
	expect_status(&first, DS_PACKET_OK);
	expect_status(&second, DS_PACKET_OK);
	for (int i = 0; i < 5; i++)
		expect_status(&first, DS_PACKET_OK);	/* the answer of then, and nothing done */
	expect_memory(at, pattern + 200, 64);
	end("a WRITE that comes again is not written again");

	begin();
	first = access_to(DS_PACKET_WRITE, at, 8, (const u8 *)&zero);
	expect_status(&first, DS_PACKET_OK);
	sum = atomic(DS_PACKET_FETCH_ADD, at, &add);
	for (int i = 0; i < 10; i++) {
		expect_status(&sum, DS_PACKET_OK);
		expect("what the word was", last.length, 0);
	}
	word = 1;
	expect_memory(at, (u8 *)&word, 8);
	set.compare = cpu_to_le64(1);
	swap = atomic(DS_PACKET_CAS, at, &set);
	for (int i = 0; i < 10; i++) {
		expect_status(&swap, DS_PACKET_OK);
		expect("what the word was", last.length, 1);
	}
	word = 77;
	expect_memory(at, (u8 *)&word, 8);
	end("FETCH_ADD and CAS that come ten times are done once");

	begin();
	second = sum;
	second.op = DS_PACKET_CAS;
	expect_status(&second, DS_PACKET_SEQUENCE);
	second = sum;
	second.address += 8;
	expect_status(&second, DS_PACKET_SEQUENCE);
	expect_memory(at, (u8 *)&word, 8);
	end("a number that another change has");
}

static void old_and_new(void)
{
	u64 mine = session, before = seq, at = area + 4096;
	struct ds_packet p;

	begin();
	session = open_session(0x2000);
	for (u64 number = 200; number > 136; number--) {
		p = access_to(DS_PACKET_WRITE, at + number % 64, 1, pattern + number % 64);
		p.seq = number;
		expect_status(&p, DS_PACKET_OK);
	}
	expect_memory(at, pattern, 64);
	for (u64 old = 0; old <= 137; old += old < 130 ? 13 : 1) {
		p = access_to(DS_PACKET_WRITE, at, 1, pattern + 99);
		p.seq = old;
		if (old + DS_PACKET_WINDOW <= 200 || !old)
			expect_status(&p, DS_PACKET_SEQUENCE);
	}
	p = access_to(DS_PACKET_WRITE, at, 1, pattern);
	p.seq = ~0ull;
	expect_status(&p, DS_PACKET_OK);
	p.seq = 300;
	expect_status(&p, DS_PACKET_SEQUENCE);
	close_session(session);
	session = mine;
	seq = before;
	end("numbers in descending order, and 0, too old, or the last one");
}

static void parts(void)
{
	u64 at = area + 8192;
	struct ds_packet whole = access_to(DS_PACKET_WRITE, at, 4000, pattern), part, other;
	static const u32 order[] = { 3, 1, 1, 3, 0, 1, 2 };

	begin();
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		part = whole;
		part.offset = order[i] * 1024;
		part.part = order[i] == 3 ? 4000 - 3072 : 1024;
		part.data = pattern + part.offset;
		fire(&part);
	}
	expect_replies(DS_PACKET_OK, 1);	/* when all are there */
	expect_memory(at, pattern, 1024);
	expect_memory(at + 3072, pattern + 3072, 4000 - 3072);
	fire(&part);
	expect_replies(DS_PACKET_OK, 1);
	end("parts of a WRITE twice and in any order");

	begin();
	for (int i = 0; i < 16; i++) {		/* never whole */
		other = access_to(DS_PACKET_WRITE, at, 4000, pattern + 7);
		other.part = 1024;
		fire(&other);
	}
	probe();
	if (!tally[DS_PACKET_BUSY] || tally[DS_PACKET_OK])
		wrong("%u of 16 were too many, %u were done", tally[DS_PACKET_BUSY], tally[DS_PACKET_OK]);
	memset(tally, 0, sizeof(tally));
	expect_memory(at, pattern, 1024);
	other = access_to(DS_PACKET_WRITE, at, 64, pattern + 64);
	expect_status(&other, DS_PACKET_OK);
	end("WRITEs that never become whole");
}

/* ---- Memory ---- */

static void words(void)
{
	struct ds_packet2_operands add = { .operand = cpu_to_le64(1) };

	begin();
	for (int i = 1; i < 8; i++) {
		struct ds_packet p = atomic(DS_PACKET_FETCH_ADD, area + i, &add);

		expect_status(&p, DS_PACKET_ALIGNMENT);
		p = atomic(DS_PACKET_CAS, area + i, &add);
		expect_status(&p, DS_PACKET_ALIGNMENT);
	}
	for (int i = 0; i < 2; i++) {
		struct ds_packet p = atomic(DS_PACKET_FETCH_ADD, i ? area + AREA : area - 8, &add);

		expect_status(&p, DS_PACKET_ADDRESS);
	}
	expect_memory(area, pattern, 64);
	end("atomics on words that are not aligned, or not there");
}

static u32 fill(u64 *at, u32 room, u64 length)
{
	u32 count = 0;

	while (count < room && (at[count] = allocate(length)))
		count++;
	return count;
}

static void until_full(void)
{
	static u64 at[16384];
	u32 first, again;
	struct ds_packet p = request(DS_PACKET_ALLOC);

	begin();
	first = fill(at, ARRAY_LEN(at), 65536);
	p.length = 65536;
	p.seq = ++seq;
	expect_status(&p, DS_PACKET_FULL);
	for (u32 i = 0; i < first; i++)
		expect("status of FREE", give_back(at[i], i % 2 ? 65536 : 0), DS_PACKET_OK);
	again = fill(at, ARRAY_LEN(at), 65536);
	expect("allocations in the second round", again, first);
	for (u32 i = 0; i < again; i++)
		expect("status of FREE", give_back(at[i], 65536), DS_PACKET_OK);
	printf("# %u allocations of 64 KiB until the space was full\n", first);
	expect_memory(area, pattern, 64);
	end("allocations until the space is full, back, and as many again");

	begin();
	if (again) {
		expect("FREE of what is free", give_back(at[0], 0), DS_PACKET_ADDRESS);
		p = access_to(DS_PACKET_READ, at[0], 64, NULL);
		expect_status(&p, DS_PACKET_ADDRESS);
	}
	expect("FREE of the middle", give_back(area + 4096, 0), DS_PACKET_ADDRESS);
	expect("FREE of nothing", give_back(NOWHERE, 0), DS_PACKET_ADDRESS);
	expect("FREE of another length", give_back(area, AREA - 1), DS_PACKET_LENGTH);
	expect_memory(area, pattern, 64);
	end("FREE of what was not allocated, or not so");
}

/* ---- The space with a key ---- */

static void forged(void)
{
	struct ds_packet p = request(DS_PACKET_PING), open_it = request(DS_PACKET_OPEN);
	u8 key[16];

	p.space = open_it.space = h->keyed_space;
	open_it.session = 0;
	open_it.seq = 5;
	begin();
	for (int bit = 0; bit < 64 + 128; bit++) {
		memcpy(key, h->key, sizeof(key));
		if (bit >= 64)
			key[(bit - 64) / 8] ^= 1 << bit % 8;
		ds_packet2_build(packet, bit % 2 ? &p : &open_it, false, key);
		if (bit < 64)
			packet[bit / 8] ^= 1 << bit % 8;
		shoot(HEAD);
	}
	fire(&p);		/* no MAC at all */
	fire(&open_it);
	p.space = h->space;	/* a MAC where there is no key */
	shoot(ds_packet2_build(packet, &p, false, h->key));
	expect_silence();
	p.space = h->keyed_space;
	shoot(ds_packet2_build(packet, &p, false, h->key));
	expect_replies(DS_PACKET_OK, 1);
	end("MACs that are wrong in a bit, made with another key, or missing");
}

/* ---- */

static void make_area(void)
{
	struct ds_packet p;
	u64 nonce;

	begin();
	for (size_t i = 0; i < AREA; i++)
		pattern[i] = i * 13 + (i >> 8) + 5;
	if (getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce))
		raw_die("no random number for a session");
	session = open_session(nonce);
	area = allocate(AREA);
	if (!session || !area)
		raw_die("version 2 cannot open a session or allocate %d bytes", AREA);
	for (size_t at = 0; at < AREA; at += 1024) {
		p = access_to(DS_PACKET_WRITE, area + at, 1024, pattern + at);
		expect_status(&p, DS_PACKET_OK);
	}
	expect_memory(area + 1000, pattern + 1000, 1024);
	end("version 2 serves this host");
}

void begin_version2(struct hostile *hostile)
{
	h = hostile;
	raw = &h->v2;
	make_area();
}

void attack_version2(void)
{
	lengths_of_packets();
	bits();
	operations();
	lengths();
	edges();
	strangers();
	no_session();
	many_sessions();
	replayed();
	old_and_new();
	parts();
	words();
	until_full();
	if (h->keyed_space >= 0)
		forged();
}

uint64_t version2_session(void)
{
	return session;
}

void version2_probe(void)
{
	struct ds_packet ping = { .op = DS_PACKET_PING, .tag = PROBE_TAG - 1, .space = h->space, .tenant = h->tenant }, p;
	size_t length;

	for (int tries = 0; tries < 50; tries++) {
		transmit(ds_packet2_build(packet, &ping, false, NULL));
		while ((length = raw_receive(raw, reply, PATIENCE_MS / 50)))
			if (ds_packet2_parse(reply + RAW_PAYLOAD, length - RAW_PAYLOAD, true, &p) > 0 && p.tag == ping.tag) {
				expect_memory(area, pattern, 1024);
				return;
			}
	}
	wrong("version 2 does not answer any more");
}
