/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DS: wire version 1 of the packet service as its tests know it, from document 002 and
 * not from the code that they test: nothing here may include <ds/packet.h>.
 *
 * A packet is made of units of 64 bytes, counted from the first byte of the Ethernet
 * header. Offsets are of the frame.
 */
#ifndef DS_TEST_WIRE1_H
#define DS_TEST_WIRE1_H

#include <stdint.h>
#include <string.h>

#define W1_UNIT		64
#define W1_APP_ID	42	/* u8, behind Ethernet 14, IPv4 20 and UDP 8 */
#define W1_OPCODE	64	/* u8 */
#define W1_ADDRESS	65	/* u64, little-endian as all that follows */
#define W1_LENGTH	73	/* u64 */
#define W1_COUNTER	81	/* u64, of replies only */
#define W1_DATA		128

enum w1_opcode {
	W1_READ,
	W1_WRITE,
	W1_WRITE_PERSISTENT,
	W1_ALLOC,
	W1_REPLY_WRITE,
	W1_REPLY_ALLOC,
	W1_REPLY_ALLOC_ERROR,
	W1_REPLY_READ,
	W1_REPLY_READ_ERROR,
};

static inline void w1_put64(uint8_t *at, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		at[i] = value >> 8 * i;
}

static inline uint64_t w1_get64(const uint8_t *at)
{
	uint64_t value = 0;

	for (int i = 8; i-- > 0; )
		value = value << 8 | at[i];
	return value;
}

static inline size_t w1_in_units(size_t bytes)
{
	return (bytes + W1_UNIT - 1) / W1_UNIT * W1_UNIT;
}

/*
 * Write a request behind the headers of @frame, with zeros for padding.
 * Return the length of the frame.
 */
static inline size_t w1_request(uint8_t *frame, uint8_t app_id, uint8_t opcode, uint64_t address,
				uint64_t length, const void *data, size_t bytes)
{
	size_t end = W1_DATA + w1_in_units(bytes);

	memset(frame + W1_APP_ID, 0, end - W1_APP_ID);
	frame[W1_APP_ID] = app_id;
	frame[W1_OPCODE] = opcode;
	w1_put64(frame + W1_ADDRESS, address);
	w1_put64(frame + W1_LENGTH, length);
	if (bytes)
		memcpy(frame + W1_DATA, data, bytes);
	return end;
}

#endif
