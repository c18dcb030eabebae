/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DS: tests that print TAP: begin(), then any number of expectations, then end(name).
 * The plan comes last.
 */
#ifndef DS_TEST_TAP_H
#define DS_TEST_TAP_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void begin(void);
void end(const char *name);
bool good(void);	/* so far, in this test */

void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
void expect(const char *what, uint64_t have, uint64_t want);
void expect_bytes(const char *what, const uint8_t *have, const void *want, size_t length);

/* Return the exit status. */
int tap_done(void);

#endif
