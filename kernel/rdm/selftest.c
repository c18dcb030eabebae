// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: the packet service tests itself.
 *
 * Each request is written as a packet, read and served as if it had come from the
 * network; the answer is read as its client would, and compared with a model: what
 * each allocation holds.
 */
#include "packet1.h"
#include "packet2.h"
#include "selftest.h"
#include "serve.h"
#include <ds/ioctl.h>

#define DS_TEST_POOL	(512u << 10)
#define DS_TEST_SLOTS	24u
#define DS_TEST_LENGTH	8192u		/* of the longest allocation */
#define DS_TEST_ROOM	9000u		/* of a packet */
#define DS_TEST_PEER	1u

/* An allocation as the model knows it; @length 0: none. */
struct ds_test_slot {
	u64 address;
	u32 length;
	u8 bytes[DS_TEST_LENGTH];
};

/**
 * struct ds_test - a space under test
 * @out: catches the answer in @packet
 * @space: the space
 * @result: counted here
 * @random: state of the generator
 * @session: of version 2
 * @seq: last number used
 * @answers: packets that came
 * @length: bytes of the last
 * @counter: of replies of version 1
 * @pool: memory of the space
 * @request: packet under way
 * @packet: answer
 * @data: to be written
 * @slots: the model
 */
struct ds_test {
	struct ds_packet_out out;
	struct ds_packet_space space;
	struct ds_packet_selftest *result;
	u64 random;
	u64 session;
	u64 seq;
	u32 answers;
	u32 length;
	u64 counter;
	u64 pool[DS_TEST_POOL / sizeof(u64)];
	u8 request[DS_TEST_ROOM];
	u8 packet[DS_TEST_ROOM];
	u8 data[DS_TEST_LENGTH];
	struct ds_test_slot slots[DS_TEST_SLOTS];
};

/* ---- memory ---- */

static void ds_test_read(void *pool, u64 offset, void *to, u32 length)
{
	memcpy(to, (u8 *)pool + offset, length);
}

static void ds_test_write(void *pool, u64 offset, const void *from, u32 length)
{
	memcpy((u8 *)pool + offset, from, length);
}

static u64 ds_test_cas(void *pool, u64 offset, u64 compare, u64 swap)
{
	return ds_cmpxchg64((u64 *)((u8 *)pool + offset), compare, swap);
}

static u64 ds_test_fetch_add(void *pool, u64 offset, u64 operand)
{
	u64 *word = (u64 *)((u8 *)pool + offset), old = *word;

	*word += operand;	/* nobody else is there */
	return old;
}

static const struct ds_packet_memory_ops ds_test_ops = {
	.read		= ds_test_read,
	.write		= ds_test_write,
	.cas		= ds_test_cas,
	.fetch_add	= ds_test_fetch_add,
};

/* ---- requests ---- */

static u64 ds_test_random(struct ds_test *t, u64 below)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return (t->random >> 11) % below;
}

static void ds_test_emit(struct ds_packet_out *out, u32 length)
{
	struct ds_test *t = container_of(out, struct ds_test, out);

	t->answers++;
	t->length = length;
}

/* Serve the packet in @request. */
static void ds_test_serve(struct ds_test *t, int wire, u32 size)
{
	struct ds_packet p;

	t->answers = 0;
	t->out.packet = t->packet;
	t->out.room = DS_TEST_ROOM;
	if (wire == 1 && !ds_packet1_parse(t->request, size, &p))
		ds_packet_serve1(&t->space, &p, true, &t->counter, &t->out);
	if (wire == 2 && ds_packet2_parse(t->request, size, false, &p) == (int)size)
		ds_packet_serve2(&t->space, DS_TEST_PEER, &p, &t->out);
}

/* One request, one answer: @r; false: not so. */
static bool ds_test_ask(struct ds_test *t, int wire, struct ds_packet *p, struct ds_packet *r)
{
	u64 counter;

	if (wire == 2) {
		p->session = t->session;
		ds_test_serve(t, wire, ds_packet2_build(t->request, p, false, NULL));
		return t->answers == 1 &&
		       ds_packet2_parse(t->packet, t->length, true, r) == (int)t->length &&
		       r->op == p->op && r->seq == p->seq;
	}
	ds_test_serve(t, wire, ds_packet1_request(t->request, p));
	return t->answers == 1 &&
	       !ds_packet1_parse_reply(t->packet, t->length, r, &counter) && counter == t->counter;
}

static void ds_test_judge(struct ds_test *t, bool passed)
{
	if (passed)
		t->result->passed++;
	else
		t->result->failed++;
}

/* ---- what is tried ---- */

static void ds_test_alloc(struct ds_test *t, struct ds_test_slot *slot, int wire)
{
	struct ds_packet p = { .op = DS_PACKET_ALLOC }, r;
	bool ok;

	p.length = 1 + ds_test_random(t, DS_TEST_LENGTH);
	p.seq = wire == 2 ? ++t->seq : 0;
	ok = ds_test_ask(t, wire, &p, &r) && !r.status;
	ds_test_judge(t, ok);
	if (!ok)
		return;
	slot->address = r.address;
	slot->length = p.length;

	/* What was there before is not the model's: begin with known bytes. */
	memset(slot->bytes, 0, sizeof(slot->bytes));
	p.op = DS_PACKET_WRITE;
	p.address = slot->address;
	p.part = p.length;
	p.data = slot->bytes;
	p.seq = wire == 2 ? ++t->seq : 0;
	ds_test_judge(t, ds_test_ask(t, wire, &p, &r) && !r.status);
}

static void ds_test_free(struct ds_test *t, struct ds_test_slot *slot)
{
	struct ds_packet p = { .op = DS_PACKET_FREE, .address = slot->address }, r;

	p.seq = ++t->seq;
	ds_test_judge(t, ds_test_ask(t, 2, &p, &r) && !r.status);
	slot->length = 0;
}

/* A range in a slot. */
static void ds_test_range(struct ds_test *t, const struct ds_test_slot *slot,
			  struct ds_packet *p, u32 *from)
{
	*from = ds_test_random(t, slot->length);
	p->address = slot->address + *from;
	p->length = 1 + ds_test_random(t, slot->length - *from);
	p->part = p->length;
}

static void ds_test_write_range(struct ds_test *t, struct ds_test_slot *slot, int wire)
{
	struct ds_packet p = { .op = DS_PACKET_WRITE, .data = t->data }, r;
	u32 from, i;

	ds_test_range(t, slot, &p, &from);
	for (i = 0; i < p.part; i++)
		t->data[i] = ds_test_random(t, 256);
	p.seq = wire == 2 ? ++t->seq : 0;
	ds_test_judge(t, ds_test_ask(t, wire, &p, &r) && !r.status);
	memcpy(slot->bytes + from, t->data, p.part);
}

static void ds_test_read_range(struct ds_test *t, struct ds_test_slot *slot, int wire)
{
	struct ds_packet p = { .op = DS_PACKET_READ }, r;
	u32 from;
	bool ok;

	ds_test_range(t, slot, &p, &from);
	ok = ds_test_ask(t, wire, &p, &r) && !r.status && r.part == p.length;
	ds_test_judge(t, ok && !memcmp(r.data, slot->bytes + from, r.part));
}

/* One byte more than there is; before the first, where there are no neighbours. */
static void ds_test_read_beyond(struct ds_test *t, struct ds_test_slot *slot, int wire)
{
	struct ds_packet p = { .op = DS_PACKET_READ, .address = slot->address }, r;

	if (ds_test_random(t, 2))
		p.address--;
	p.length = slot->length + 1;
	p.part = p.length;
	ds_test_judge(t, ds_test_ask(t, wire, &p, &r) && r.status == DS_PACKET_ADDRESS);
}

/* Twice the same packet: it is added once. */
static void ds_test_add(struct ds_test *t, struct ds_test_slot *slot)
{
	struct ds_packet2_operands operands = { .operand = cpu_to_le64(ds_test_random(t, ~0ull)) };
	struct ds_packet p = {
		.op	= DS_PACKET_FETCH_ADD,
		.length	= sizeof(u64),
		.part	= sizeof(operands),
		.data	= (const u8 *)&operands,
	};
	struct ds_packet r, again;
	u64 word;
	u32 at;

	if (slot->length < sizeof(word))
		return;
	at = ds_test_random(t, slot->length / sizeof(word)) * sizeof(word);
	p.address = slot->address + at;
	p.seq = ++t->seq;
	memcpy(&word, slot->bytes + at, sizeof(word));
	ds_test_judge(t, ds_test_ask(t, 2, &p, &r) && !r.status && r.length == word);
	ds_test_judge(t, ds_test_ask(t, 2, &p, &again) && again.length == word);
	word += le64_to_cpu(operands.operand);
	memcpy(slot->bytes + at, &word, sizeof(word));
}

static void ds_test_step(struct ds_test *t)
{
	struct ds_test_slot *slot = &t->slots[ds_test_random(t, DS_TEST_SLOTS)];
	bool direct = t->space.attr.map.kind == DS_PACKET_DIRECT;
	int wire = 1 + ds_test_random(t, 2);

	if (!slot->length) {
		ds_test_alloc(t, slot, wire);
		return;
	}
	switch (ds_test_random(t, 10)) {
	case 0:
		ds_test_free(t, slot);
		break;
	case 1:
	case 2:
	case 3:
		ds_test_write_range(t, slot, wire);
		break;
	case 4:
		if (!direct)	/* where all of the pool can be read */
			ds_test_read_beyond(t, slot, wire);
		break;
	case 5:
		ds_test_add(t, slot);
		break;
	default:
		ds_test_read_range(t, slot, wire);
		break;
	}
}

/* After all is freed nothing is taken. */
static void ds_test_empty(struct ds_test *t)
{
	struct ds_vspace_usage usage;
	u32 i;

	for (i = 0; i < DS_TEST_SLOTS; i++)
		if (t->slots[i].length)
			ds_test_free(t, &t->slots[i]);
	ds_vspace_usage(t->space.map, &usage);
	ds_test_judge(t, !usage.allocations && usage.largest_free == DS_TEST_POOL);
}

static void ds_test_open(struct ds_test *t)
{
	struct ds_packet p = { .op = DS_PACKET_OPEN, .seq = 1 }, r = { 0 };
	bool ok = ds_test_ask(t, 2, &p, &r) && !r.status;

	ds_test_judge(t, ok);
	t->session = r.session;
}

static int ds_test_kind(struct ds_test *t, u32 kind, u64 requests, u64 seed)
{
	struct ds_packet_space_attr attr = {
		.map = {
			.kind		= kind,
			.page_shift	= DS_PACKET_PAGE_SHIFT_MIN,
			.access		= DS_ACCESS_ALL,
			.size		= DS_TEST_POOL,
			.seed		= 1 + kind,
		},
	};
	u64 end = t->result->passed + t->result->failed + requests;
	int err;

	err = ds_packet_space_init(&t->space, &attr, &ds_test_ops, t->pool);
	if (err)
		return err;
	t->random = seed + kind;
	t->seq = 0;
	t->counter = 0;
	t->out.emit = ds_test_emit;
	memset(t->slots, 0, sizeof(t->slots));
	ds_test_open(t);
	while (t->result->passed + t->result->failed < end) {
		ds_test_step(t);
		ds_may_resched();
	}
	ds_test_empty(t);
	ds_packet_space_exit(&t->space);
	return 0;
}

int ds_packet_selftest(u64 requests, u64 seed, struct ds_packet_selftest *result)
{
	struct ds_test *t = ds_alloc(sizeof(*t));
	u32 kind;
	int err = 0;

	if (!t)
		return -ENOMEM;
	t->result = result;
	for (kind = DS_PACKET_DIRECT; kind <= DS_PACKET_HASH && !err; kind++)
		err = ds_test_kind(t, kind, requests / 3, seed);
	ds_free(t);
	return err;
}
