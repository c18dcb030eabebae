/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DS: what the hostile sender's parts share. It means harm to the server only: after each
 * attack it reads what it wrote before, so a test fails if that is not there any more, or
 * if nobody answers.
 *
 * The server serves the packets of a host in the order in which they came. So a request
 * whose answer is known (a probe) ends each volley: what the server has to say to the
 * volley is there by then, and is counted.
 */
#ifndef DS_TEST_HOSTILE_H
#define DS_TEST_HOSTILE_H

#include <stdint.h>

#include "raw.h"

#define PATIENCE_MS	20000	/* an answer that takes longer is none */
#define VOLLEY		32	/* packets before a probe: fewer than the server lets wait */
#define AREA		16384	/* bytes of an allocation of ours, at least */
#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))

/**
 * struct hostile - whom to attack
 * @v1: by wire version 1, port 0: not at all
 * @v2: by version 2, from another port of ours
 * @space: an ordinary space of @tenant, which this host may use
 * @keyed_space: another one, with @key; -1: there is none
 */
struct hostile {
	struct raw v1, v2;
	uint32_t space, tenant;
	int64_t keyed_space;
	uint8_t key[16];
};

/* Allocate, and write what is looked for from then on; the attacks and the flood come after it. */
void begin_version1(struct hostile *h);
void begin_version2(struct hostile *h);
void attack_version1(void);
void attack_version2(void);

/* @count packets of all kinds, the same for the same @seed. */
void flood(struct hostile *h, uint64_t count, uint64_t seed);

/* For the flood: where version 1 has memory, whose first and last KiB are probed; and the session. */
uint64_t version1_area(void);
uint64_t version2_session(void);
void version1_probe(void);
void version2_probe(void);

/* The next of a sequence of numbers. */
static inline uint64_t random_number(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

#endif
