// SPDX-License-Identifier: Apache-2.0
/*
 * DS: what the fuzzers begin with: that of the parsers with one good packet of each kind,
 * that of the server with many requests.
 *
 *	seeds parse_fuzz|serve_fuzz FOLDER
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

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "parse_fuzz")) {
		save_packets(argv[2]);
	} else if (argc == 3 && !strcmp(argv[1], "serve_fuzz")) {
		save_requests(argv[2]);
	} else {
		fprintf(stderr, "usage: seeds parse_fuzz|serve_fuzz FOLDER\n");
		return 2;
	}
	return 0;
}
