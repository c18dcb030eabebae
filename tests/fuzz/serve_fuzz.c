// SPDX-License-Identifier: Apache-2.0
/*
 * DS: a space of the packet service in memory, and any sequence of requests to it.
 *
 * The input chooses the space and then request after request. Each is built, parsed and
 * served as on the wire; a model, which has an array for each allocation, says what the
 * answer must be. In the end every byte is compared, and all that was allocated is freed:
 * then the pool must be one free block again.
 */
#include <stdio.h>

#include <ds/ioctl.h>

#include "rdm/packet1.h"
#include "rdm/packet2.h"
#include "rdm/serve.h"

#define POOL		(16u << DS_PACKET_PAGE_SHIFT_MIN)
#define ALLOCATIONS	24
#define HEAD		((u32)sizeof(struct ds_packet2_header))
#define PEER		5
#define ANY_STATUS	0xffff

#define HOLDS(condition) do {							\
	if (!(condition)) {							\
		fprintf(stderr, "not so: %s (line %d)\n", #condition, __LINE__);	\
		abort();							\
	}									\
} while (0)

/* ---- Input ---- */

static const u8 *input;
static size_t left;

static u8 next(void)
{
	if (!left)
		return 0;
	left--;
	return *input++;
}

static u16 next16(void)
{
	u16 high = next();

	return high << 8 | next();
}

/* ---- The space ---- */

static u8 pool[POOL], disk[POOL];
static struct ds_packet_space space;

static void pool_read(void *p, u64 offset, void *to, u32 length)
{
	HOLDS(p == pool && offset <= POOL && length <= POOL - offset);
	memcpy(to, pool + offset, length);
}

static void pool_write(void *p, u64 offset, const void *from, u32 length)
{
	HOLDS(p == pool && offset <= POOL && length <= POOL - offset);
	memcpy(pool + offset, from, length);
}

static u64 *pool_word(void *p, u64 offset)
{
	HOLDS(p == pool && offset % 8 == 0 && offset <= POOL - 8);
	return (u64 *)(pool + offset);
}

static u64 pool_cas(void *p, u64 offset, u64 compare, u64 swap)
{
	u64 *word = pool_word(p, offset), was = *word;

	if (was == compare)
		*word = swap;
	return was;
}

static u64 pool_fetch_add(void *p, u64 offset, u64 operand)
{
	u64 *word = pool_word(p, offset), was = *word;

	*word = was + operand;
	return was;
}

static int pool_persist(void *p, const struct ds_vspace_run *runs, u32 count, const u8 *data)
{
	HOLDS(p == pool && count && count <= DS_VSPACE_RUNS);
	for (; count; count--, runs++) {
		HOLDS(runs->offset <= POOL && runs->length <= POOL - runs->offset);
		memcpy(disk + runs->offset, data, runs->length);
		data += runs->length;
	}
	return 0;
}

static const struct ds_packet_memory_ops volatile_ops = {
	pool_read, pool_write, pool_cas, pool_fetch_add, NULL, NULL,
};

static const struct ds_packet_memory_ops persistent_ops = {
	pool_read, pool_write, pool_cas, pool_fetch_add, pool_persist, NULL,
};

/* ---- The model ---- */

struct allocation {
	u64 address, length;	/* 0: none */
	u32 access;
	u8 *bytes;
};

static struct allocation allocations[ALLOCATIONS];
static u8 direct[POOL];		/* of DIRECT */
static bool is_direct;

/* Where the model has a range, or NULL and why not. */
static u8 *model_at(u64 address, u64 length, u32 access, u16 *status)
{
	*status = DS_PACKET_ADDRESS;
	if (is_direct) {
		if (address > POOL || length > POOL - address)
			return NULL;
		*status = access & ~space.attr.map.access ? DS_PACKET_PERMISSION : DS_PACKET_OK;
		return *status ? NULL : direct + address;
	}
	for (u32 i = 0; i < ALLOCATIONS; i++) {
		struct allocation *a = &allocations[i];

		if (!a->length || address < a->address || address - a->address > a->length ||
		    length > a->length - (address - a->address))
			continue;
		*status = access & ~a->access ? DS_PACKET_PERMISSION : DS_PACKET_OK;
		return *status ? NULL : a->bytes + (address - a->address);
	}
	return NULL;
}

/* ---- Answers ---- */

static struct {
	u32 count;
	struct ds_packet first;		/* and of a READ all data */
	u32 read;
	u8 data[DS_PACKET_MAX_LENGTH];
} answer;

static u32 room;
static u64 counter;
static bool version1;
static u8 *out_packet;		/* of just @room bytes */

static void take(struct ds_packet_out *out, u32 length)
{
	struct ds_packet p;
	u64 number;

	HOLDS(out->packet == out_packet && length <= room);
	if (version1) {
		HOLDS(!ds_packet1_parse_reply(out->packet, length, &p, &number));
		HOLDS(number == counter);
	} else {
		HOLDS(ds_packet2_parse(out->packet, length, true, &p) == (int)length);
		HOLDS(ds_packet2_authentic(out->packet, length, ds_packet_space_key(&space)));
	}
	if (!answer.count)
		answer.first = p;
	answer.count++;
	if (p.op == DS_PACKET_READ && p.data) {
		HOLDS(p.offset == answer.first.offset + answer.read);
		HOLDS(answer.read + p.part <= sizeof(answer.data));
		memcpy(answer.data + answer.read, p.data, p.part);
		answer.read += p.part;
	}
}

static void begin_answer(struct ds_packet_out *out)
{
	answer.count = answer.read = 0;
	memset(out_packet, 0xee, room);
	*out = (struct ds_packet_out){ .packet = out_packet, .room = room, .emit = take };
}

static u8 wire[HEAD + DS_PACKET_MAX_LENGTH + 256];

static void serve1(const struct ds_packet *request, bool answer_writes)
{
	struct ds_packet_out out;
	struct ds_packet p;
	u32 size = ds_packet1_request(wire, request);

	version1 = true;
	begin_answer(&out);
	if (!ds_packet1_parse(wire, size, &p))
		ds_packet_serve1(&space, &p, answer_writes, &counter, &out);
	HOLDS(answer.count <= 1);
}

static u32 wire_size;	/* of what is in @wire */

/* What is in @wire, which may have come before. */
static void serve2_wire(void)
{
	struct ds_packet_out out;
	struct ds_packet p;

	version1 = false;
	begin_answer(&out);
	HOLDS(ds_packet2_parse(wire, wire_size, false, &p) == (int)wire_size);
	HOLDS(ds_packet2_authentic(wire, wire_size, ds_packet_space_key(&space)));
	ds_packet_serve2(&space, PEER, &p, &out);
}

static void serve2(const struct ds_packet *request)
{
	wire_size = ds_packet2_build(wire, request, false, ds_packet_space_key(&space));
	serve2_wire();
}

/* ---- Requests ---- */

static u64 session, seq;
static u8 content[DS_PACKET_MAX_LENGTH];

/* Mostly within an allocation or at its edges. */
static u64 any_address(void)
{
	u8 which = next();
	struct allocation *a = &allocations[which % ALLOCATIONS];
	u64 base = is_direct ? 0 : a->address;

	switch (which >> 5) {
	case 0:
		return base - 1 - next() % 70;
	case 1:
		return base + a->length + 3 - next() % 70;
	case 2:
		return (u64)next() << 56 | next16();
	case 3:
		return 0 - (u64)next();
	default:
		return base + next16() % (a->length + 1);
	}
}

static u64 any_length(void)
{
	u8 which = next();

	return which < 128 ? which : which < 240 ? next16() % 20480 : (u64)which << 56 >> which % 57;
}

/* A READ's: data that the model does not have, or an answer of another kind. */
static void check_read(u64 address, u64 offset, u32 part, u64 length, u16 expected)
{
	u16 status;
	u8 *want = model_at(address, length, DS_ACCESS_READ, &status);

	if (expected == DS_PACKET_OK)
		expected = status;
	HOLDS(answer.count && answer.first.status == expected);
	if (expected)
		return;
	HOLDS(answer.read == part);
	HOLDS(!memcmp(answer.data, want + offset, part));
}

static u16 length_status(u64 length)
{
	return length && length <= DS_PACKET_MAX_LENGTH ? DS_PACKET_OK : DS_PACKET_LENGTH;
}

static void read1(void)
{
	struct ds_packet p = { .op = DS_PACKET_READ, .address = any_address(), .length = any_length() };
	u16 status = length_status(p.length);

	serve1(&p, false);
	if (ds_packet_space_key(&space))
		status = DS_PACKET_NO_SPACE;
	else if (!status && ds_packet1_size(p.length) > room)
		status = DS_PACKET_MTU;
	check_read(p.address, 0, p.length, p.length, status);
}

static void new_content(u32 length)
{
	u8 first = next();

	for (u32 i = 0; i < length; i++)
		content[i] = first + i * 7;
}

/* What becomes of a WRITE, and if it is good the model has it, too. */
static u16 model_write(const struct ds_packet *p)
{
	u16 status;
	u8 *at = model_at(p->address, p->length, DS_ACCESS_WRITE, &status);

	if (!status && p->op == DS_PACKET_WRITE_PERSISTENT && !space.ops->persist)
		status = DS_PACKET_NOT_PERSISTENT;
	if (!status)
		memcpy(at, content, p->length);
	return status;
}

static void write1(void)
{
	struct ds_packet p = { .op = next() % 4 ? DS_PACKET_WRITE : DS_PACKET_WRITE_PERSISTENT,
			       .address = any_address(), .length = 1 + next16() % 2048, .data = content };
	bool answered = next() % 2;
	u16 status = DS_PACKET_NO_SPACE;

	p.part = p.length;
	new_content(p.part);
	serve1(&p, answered);
	if (!ds_packet_space_key(&space))
		status = model_write(&p);
	if (answered || p.op == DS_PACKET_WRITE_PERSISTENT)
		HOLDS(answer.count == 1 && answer.first.status == status);
	else
		HOLDS(!answer.count);
}

static struct ds_packet change(u8 op)
{
	return (struct ds_packet){ .op = op, .tag = next(), .session = session, .seq = ++seq };
}

static struct ds_packet *expect_one(u16 status)
{
	HOLDS(answer.count == 1);
	HOLDS(status == ANY_STATUS || answer.first.status == status);
	return &answer.first;
}

static void overlaps_none(u64 address, u64 length)
{
	HOLDS(length && address + length > address);
	for (u32 i = 0; i < ALLOCATIONS; i++) {
		struct allocation *a = &allocations[i];

		HOLDS(!a->length || address + length <= a->address || a->address + a->length <= address);
	}
}

/* The model learns what is in the memory, whatever the allocation's access. */
static void note_allocation(struct allocation *a, u64 address, u64 length, u32 access)
{
	struct ds_vspace_run runs[DS_VSPACE_RUNS];

	overlaps_none(address, length);
	a->address = address;
	a->length = length;
	a->access = access;
	a->bytes = malloc(length);
	HOLDS(ds_vspace_translate(space.map, address, length, access & -access, runs) > 0);
	ds_packet_copy(&space, runs, 0, a->bytes, length);
}

static void allocate(bool first_version)
{
	u8 which = next();
	struct allocation *a = &allocations[which % ALLOCATIONS];
	struct ds_packet p = change(DS_PACKET_ALLOC), *r;
	u32 access = first_version || which < 128 ? 0 : which % (DS_ACCESS_ALL + 1);

	p.length = (u64)(next() % 6) << DS_PACKET_PAGE_SHIFT_MIN | next();
	if (a->length)
		return;
	p.address = access;
	if (first_version) {
		serve1(&p, false);
		HOLDS(answer.count == 1);
		if (ds_packet_space_key(&space)) {
			HOLDS(answer.first.status == DS_PACKET_NO_SPACE);
			return;
		}
		r = &answer.first;
	} else {
		serve2(&p);
		r = expect_one(ANY_STATUS);
	}
	if (r->status) {
		HOLDS(r->status == DS_PACKET_FULL || r->status == DS_PACKET_LENGTH || r->status == DS_PACKET_PERMISSION);
		return;
	}
	HOLDS(p.length);
	note_allocation(a, r->address, p.length, access ? access : space.attr.map.access);
}

static void forget(struct allocation *a)
{
	free(a->bytes);
	memset(a, 0, sizeof(*a));
}

static void free_one(void)
{
	u8 which = next();
	struct allocation *a = &allocations[which % ALLOCATIONS];
	struct ds_packet p = change(DS_PACKET_FREE);
	u16 status = DS_PACKET_ADDRESS;

	p.address = which < 200 ? a->address : any_address();
	p.length = which % 3 ? 0 : which % 2 ? a->length : any_length();
	serve2(&p);
	for (u32 i = 0; i < ALLOCATIONS; i++) {
		a = &allocations[i];
		if (!a->length || a->address != p.address)
			continue;
		status = p.length && p.length != a->length ? DS_PACKET_LENGTH : DS_PACKET_OK;
		if (!status)
			forget(a);
		break;
	}
	expect_one(status);
}

static void read2(void)
{
	struct ds_packet p = { .op = DS_PACKET_READ, .address = any_address(), .length = any_length() };
	const struct allocation *all = &allocations[next() % ALLOCATIONS];
	u16 status;

	if (all->length && next() % 2) {
		p.address = all->address;
		p.length = all->length;
	}
	status = length_status(p.length);
	p.offset = p.length && next() % 2 ? next16() % p.length : 0;
	p.part = p.length - p.offset < DS_PACKET_MAX_LENGTH ? p.length - p.offset : 64;
	if (next() % 2 && p.part > 1)
		p.part -= next() % p.part;
	serve2(&p);
	check_read(p.address, p.offset, p.part, p.length, status);
}

static u32 unfinished;		/* WRITEs that never get their last part */

/* In any number of parts; without the last one nothing happens. */
static void write2(void)
{
	u8 how = next();
	struct ds_packet p = change(how % 8 ? DS_PACKET_WRITE : DS_PACKET_WRITE_PERSISTENT), part;
	u32 blocks, first;

	p.address = any_address();
	p.length = 1 + next16() % 8192;
	new_content(p.length);
	blocks = (p.length + DS_PACKET_BLOCK - 1) / DS_PACKET_BLOCK;
	if (how < 64 || blocks == 1) {
		p.part = p.length;
		p.data = content;
		serve2(&p);
		expect_one(model_write(&p));
		return;
	}
	first = next() % blocks;
	for (u32 i = 0; i < blocks - (how < 80); i++) {
		part = p;
		part.offset = (u64)((first + i) % blocks) * DS_PACKET_BLOCK;
		part.part = min(p.length - part.offset, (u64)DS_PACKET_BLOCK);
		part.data = content + part.offset;
		serve2(&part);
		if (answer.count && answer.first.status == DS_PACKET_BUSY) {
			HOLDS(unfinished >= DS_SESSION_PARTED);
			return;
		}
		if (i < blocks - 1)
			HOLDS(!answer.count);
	}
	if (how < 80)
		unfinished++;
	else
		expect_one(model_write(&p));
}

static void atomic2(void)
{
	u8 how = next();
	struct ds_packet p = change(how % 2 ? DS_PACKET_CAS : DS_PACKET_FETCH_ADD), *r;
	struct ds_packet2_operands operands = { cpu_to_le64(next()), cpu_to_le64(how & 4 ? 0 : next()) };
	u64 was = 0, now;
	u16 status;
	u8 *at;

	p.address = how & 8 ? any_address() : any_address() & ~7ull;
	p.length = 8;
	p.part = sizeof(operands);
	p.data = (u8 *)&operands;
	at = model_at(p.address, 8, DS_ACCESS_ATOMIC, &status);
	if (p.address % 8)
		status = DS_PACKET_ALIGNMENT;
	if (p.op == DS_PACKET_FETCH_ADD && operands.compare)
		status = DS_PACKET_MALFORMED;
	serve2(&p);
	if (!status) {
		memcpy(&was, at, 8);
		now = p.op == DS_PACKET_FETCH_ADD ? was + operands.operand : was == operands.compare ? operands.operand : was;
		memcpy(at, &now, 8);
	}
	r = expect_one(status);
	HOLDS(status || r->length == was);
}

/* The last packet of version 2, whatever it was: the answer of then, and nothing done. */
static void again(void)
{
	struct ds_packet p;
	u16 status;

	if (!wire_size || version1)
		return;
	ds_packet2_parse(wire, wire_size, false, &p);
	if (p.op == DS_PACKET_READ || p.op > DS_PACKET_FETCH_ADD || !answer.count || answer.first.op != p.op)
		return;
	status = answer.first.status;
	serve2_wire();
	expect_one(status == DS_PACKET_BUSY ? ANY_STATUS : status);
}

static void others(void)
{
	struct ds_packet p = { .op = DS_PACKET_OPEN + next() % 4, .session = next16(), .seq = next(), .tag = 7, .data = content };
	struct ds_packet_out out;

	if (p.op == DS_PACKET_PING) {
		p.part = next16();
		p.seq = 0;
	}
	serve2(&p);
	if (p.op == DS_PACKET_PING)
		expect_one(p.part > room - HEAD ? DS_PACKET_MTU : DS_PACKET_OK);
	else
		expect_one(p.op == DS_PACKET_OPEN ? ANY_STATUS : p.op == DS_PACKET_CLOSE ? DS_PACKET_SESSION : DS_PACKET_OPCODE);

	/* And to a space that there is not. */
	if (ds_packet_space_key(&space))
		return;
	begin_answer(&out);
	ds_packet_serve2(NULL, PEER, &p, &out);
	expect_one(DS_PACKET_NO_SPACE);
}

/* ---- One input ---- */

/* Each has room for an answer without data. */
static const u32 rooms[] = { DS_PACKET1_DATA_AT, 150, 1472, 8972, 65507 };

static void begin(void)
{
	u8 kind = next(), how = next();
	struct ds_packet_space_attr attr = {
		.map = { .kind = min(kind % 4, (int)DS_PACKET_HASH),
			 .page_shift = DS_PACKET_PAGE_SHIFT_MIN + (kind & 12 ? 0 : 1 + kind / 16 % 2),
			 .access = kind < 128 ? DS_ACCESS_ALL : 1 + how % DS_ACCESS_ALL, .size = POOL, .seed = how },
		.keyed = how & 1,
		.key = "key", .secret = "secret",
	};
	struct ds_packet open_it = { .op = DS_PACKET_OPEN, .seq = 99 };

	/* No two places look the same, written or not. */
	for (u32 i = 0; i < POOL; i += sizeof(u32))
		memcpy(pool + i, &(u32){ hash_64(i + 1, 32) }, sizeof(u32));
	memcpy(direct, pool, POOL);
	is_direct = attr.map.kind == DS_PACKET_DIRECT;
	HOLDS(!ds_packet_space_init(&space, &attr, how & 2 ? &persistent_ops : &volatile_ops, pool));
	counter = 0;
	seq = 0;
	unfinished = 0;
	wire_size = 0;
	room = HEAD;
	out_packet = malloc(room);
	serve2(&open_it);
	HOLDS(answer.count == 1 && !answer.first.status);
	session = answer.first.session;
	free(out_packet);
	room = rooms[how / 4 % ARRAY_SIZE(rooms)];
	out_packet = malloc(room);
}

/* Every byte is where the model has it; then all goes back. */
static void end(void)
{
	struct ds_vspace_run runs[DS_VSPACE_RUNS];
	struct ds_vspace_usage usage;
	u32 count;

	if (is_direct)
		HOLDS(!memcmp(pool, direct, POOL));
	for (u32 i = 0; i < ALLOCATIONS; i++) {
		struct allocation *a = &allocations[i];

		if (!a->length)
			continue;
		if (!is_direct && a->access & DS_ACCESS_READ) {
			HOLDS(!ds_packet_find(&space, a->address, a->length, runs, &count));
			ds_packet_copy(&space, runs, 0, answer.data, a->length);
			HOLDS(!memcmp(answer.data, a->bytes, a->length));
		}
		HOLDS(!ds_vspace_free(space.map, a->address, a->length));
		forget(a);
	}
	ds_vspace_usage(space.map, &usage);
	HOLDS(!usage.allocations && usage.free_bytes == POOL && usage.largest_free == POOL);
	ds_packet_space_exit(&space);
	free(out_packet);
}

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t length);

int LLVMFuzzerTestOneInput(const u8 *bytes, size_t length)
{
	input = bytes;
	left = length;
	begin();
	while (left) {
		switch (next() % 10) {
		case 0:
		case 1:
			allocate(next() % 4 == 0);
			break;
		case 2:
		case 3:
			free_one();	/* as often, so that the pool is in pieces */
			break;
		case 4:
			read1();
			break;
		case 5:
			write1();
			break;
		case 6:
			read2();
			break;
		case 7:
			write2();
			break;
		case 8:
			if (next() % 2)
				atomic2();
			else
				again();
			break;
		default:
			others();
		}
	}
	end();
	return 0;
}
