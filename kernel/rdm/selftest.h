/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: the packet service tests itself, with packets that it makes (the original's tester
 * on the chip). Spaces and memory are its own; nobody else's are touched.
 */
#ifndef DS_RDM_SELFTEST_H
#define DS_RDM_SELFTEST_H

#include "../shim.h"

/**
 * struct ds_packet_selftest - what came of it
 * @passed: requests that were answered as a model of the memory says
 * @failed: the others
 */
struct ds_packet_selftest {
	u64 passed;
	u64 failed;
};

/**
 * ds_packet_selftest - send requests of both wire versions to spaces of all kinds
 * @requests: about how many
 * @seed: of the random numbers, at least 1
 * @result: added to
 *
 * May sleep; takes as long as others' requests, as many.
 * Return: 0, -ENOMEM
 */
int ds_packet_selftest(u64 requests, u64 seed, struct ds_packet_selftest *result);

#endif /* DS_RDM_SELFTEST_H */
