// SPDX-License-Identifier: Apache-2.0
/*
 * DS: what the fuzzers begin with: that of the parsers with one good packet of each kind,
 * that of the server with many requests, that of traces with some of each format and packing.
 *
 *	seeds parse_fuzz|serve_fuzz|trace_fuzz FOLDER
 */
#include <stdio.h>
#include <stdlib.h>

#include "rdm/packet1.h"
#include "rdm/packet2.h"

#define SEQUENCES	64
#define SEQUENCE_BYTES	1500

static u8 input[1 + DS_PACKET_MAX_LENGTH];
static const u8 data[256];

static void save(const char *folder, const char *kind, int number, u8 how, u32 size)
{
	char path[4096];
	FILE *file;

	input[0] = how;
	snprintf(path, sizeof(path), "%s/%s-%d", folder, kind, number);
	file = fopen(path, "wbe");
	if (!file || fwrite(input, size + 1, 1, file) != 1 || fclose(file)) {
		perror(path);
		exit(1);
	}
}

static void save_packets(const char *folder)
{
	struct ds_packet p = { .space = 1, .address = 0x1000, .length = 100, .part = 100, .data = data };
	u8 op;

	for (op = DS_PACKET_READ; op <= DS_PACKET_ALLOC; op++) {
		p.op = op;
		save(folder, "v1-request", op, 0, ds_packet1_request(input + 1, &p));
		p.status = 0;
		save(folder, "v1-reply", op, 2, ds_packet1_reply(input + 1, &p, op));
		p.status = DS_PACKET_ADDRESS;
		save(folder, "v1-error", op, 2, ds_packet1_reply(input + 1, &p, op));
	}
	for (op = DS_PACKET_READ; op <= DS_PACKET_PING; op++) {
		struct ds_packet q = { .op = op, .tag = op, .session = 9, .seq = op > DS_PACKET_READ };

		if (op <= DS_PACKET_WRITE_PERSISTENT) {
			q.address = 0x1000;
			q.length = q.part = 100;
			q.data = data;
		} else if (op == DS_PACKET_CAS || op == DS_PACKET_FETCH_ADD) {
			q.length = 8;
			q.part = 16;
			q.data = data;
		} else if (op == DS_PACKET_PING) {
			q.seq = 0;
		}
		save(folder, "v2-request", op, 5, ds_packet2_build(input + 1, &q, false, NULL));
		save(folder, "v2-reply", op, 15, ds_packet2_build(input + 1, &q, true, NULL));
	}
}

/* Any bytes are requests. The same ones each time. */
static void save_requests(const char *folder)
{
	srandom(1);
	for (int number = 0; number < SEQUENCES; number++) {
		for (u32 i = 1; i <= SEQUENCE_BYTES; i++)
			input[i] = random() >> 8;
		save(folder, "requests", number, number, SEQUENCE_BYTES);
	}
}

#define NUL7	"\0\0\0\0\0\0\0"

static const struct {
	const char	*bytes;
	u32		size;
} traces[] = {
#define TRACE(bytes)	{ bytes, sizeof(bytes) - 1 }
	/* our own: version 1, records of 16 bytes: time, handle, operation, tier */
	TRACE("DSTRACE1\1\0\0\0\020\0\0\0" NUL7 "\1\7\0\100\0\2\3\0\0" NUL7 "\1\7\0\100\0\1\1\0\0"),
	TRACE("1\n2\n3\n1\n2\n3\n"),
	TRACE("time,object,operation\n10,7,read\n20,8,write\n30,9,create\n40,9,free\n"),
	TRACE("object\n\"7\"\n0x8\n"),
	TRACE("10 4 0 0\n20 1 0 1\n"),
	TRACE("l 0x1000 4\ns 0x2040 8\n"),
	TRACE("\0\0\0\1\0\0\0\2\0\0\0\1"),
	TRACE("\1" NUL7 "\2" NUL7 "\1" NUL7),
	/* seconds, object, size, the next request of it: twice */
	TRACE("\1\0\0\0\7\0\0\0\0\0\0\0\100\0\0\0\1\0\0\0\0\0\0\0"
	      "\2\0\0\0\7\0\0\0\0\0\0\0\100\0\0\0\377\377\377\377\377\377\377\377"),
	/* 1, 2, 1, packed by gzip, xz and zstd */
	TRACE("\x1f\x8b\x08\0\0\0\0\0\x02\x03\x33\xe4\x32\xe2\x32\xe4\x02\0\x5a\x36\x94"
	      "\x45\x06\0\0\0"),
	TRACE("\xfd\x37\x7a\x58\x5a\0\0\x04\xe6\xd6\xb4\x46\x02\0\x21\x01\x16\0\0\0\x74"
	      "\x2f\xe5\xa3\x01\0\x05\x31\x0a\x32\x0a\x31\x0a\0\0\0\xf9\x23\x10\xc7"
	      "\x7f\x4b\x85\xe7\0\x01\x1e\x06\xc1\x2f\xa4\x1d\x1f\xb6\xf3\x7d\x01\0\0\0"
	      "\0\x04\x59\x5a"),
	TRACE("\x28\xb5\x2f\xfd\x04\x58\x31\0\0\x31\x0a\x32\x0a\x31\x0a\xc8\xe2\x1e\x07"),
#undef TRACE
};

/*
 * Each as what it is taken for, and as what trace_fuzz calls 1 to 8, one of the formats; and all
 * of these packed: so is what has the highest bit, and 135 is 15 times 9.
 */
static void save_traces(const char *folder)
{
	for (u32 number = 0; number < sizeof(traces) / sizeof(traces[0]); number++) {
		memcpy(input + 1, traces[number].bytes, traces[number].size);
		for (u8 how = 0; how < 9; how++) {
			save(folder, "trace", number * 18 + how, how, traces[number].size);
			save(folder, "trace", number * 18 + 9 + how, 135 + how, traces[number].size);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "parse_fuzz")) {
		save_packets(argv[2]);
	} else if (argc == 3 && !strcmp(argv[1], "serve_fuzz")) {
		save_requests(argv[2]);
	} else if (argc == 3 && !strcmp(argv[1], "trace_fuzz")) {
		save_traces(argv[2]);
	} else {
		fprintf(stderr, "usage: seeds parse_fuzz|serve_fuzz|trace_fuzz FOLDER\n");
		return 2;
	}
	return 0;
}
