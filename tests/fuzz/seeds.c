// SPDX-License-Identifier: Apache-2.0
/*
 * DS: what the fuzzer of the parsers begins with: one good packet of each kind.
 *
 *	seeds FOLDER
 */
#include <stdio.h>

#include "rdm/packet1.h"
#include "rdm/packet2.h"

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

int main(int argc, char **argv)
{
	struct ds_packet p = { .space = 1, .address = 0x1000, .length = 100, .part = 100, .data = data };
	u8 op;

	if (argc != 2) {
		fprintf(stderr, "usage: seeds FOLDER\n");
		return 2;
	}
	for (op = DS_PACKET_READ; op <= DS_PACKET_ALLOC; op++) {
		p.op = op;
		save(argv[1], "v1-request", op, 0, ds_packet1_request(input + 1, &p));
		p.status = 0;
		save(argv[1], "v1-reply", op, 2, ds_packet1_reply(input + 1, &p, op));
		p.status = DS_PACKET_ADDRESS;
		save(argv[1], "v1-error", op, 2, ds_packet1_reply(input + 1, &p, op));
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
		save(argv[1], "v2-request", op, 5, ds_packet2_build(input + 1, &q, false, NULL));
		save(argv[1], "v2-reply", op, 15, ds_packet2_build(input + 1, &q, true, NULL));
	}
	return 0;
}
