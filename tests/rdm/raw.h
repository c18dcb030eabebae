/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DS: whole Ethernet frames with IPv4 and UDP, sent to one server and received from it
 * beside the kernel's own network stack.
 */
#ifndef DS_TEST_RAW_H
#define DS_TEST_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAW_IP		14	/* offsets in a frame */
#define RAW_UDP		34
#define RAW_PAYLOAD	42
#define RAW_MAX		9216	/* a frame, at most */
/* Ours, if none is named: no port that Linux chooses, for a flood's packets come from others' addresses, too. */
#define RAW_PORT	30000

struct raw {
	const char *interface;
	const char *server;	/* its address, in words */
	uint16_t server_port, port;
	bool checksum;		/* frames get a UDP checksum, not 0 */
	uint8_t server_mac[6];	/* zeros: raw_open() finds it */

	/* raw_open() fills in: */
	uint8_t mac[6];
	uint8_t ip[4], server_ip[4];
	unsigned int mtu;
	int fd;		/* AF_PACKET */
	int keeper;	/* UDP on @port, or the kernel would tell the server that nobody is there */
	bool unsummed;	/* the last received frame has no checksum yet: it never was on a wire */
};

/* The common options of the programs: see raw_usage. Return whether it was one of them. */
bool raw_option(struct raw *raw, int option, const char *value);
#define RAW_OPTIONS "i:s:p:l:m:k"
extern const char raw_usage[];

/* Opens what @raw describes; ends the program with a sentence if that cannot be. */
void raw_open(struct raw *raw);
void raw_close(struct raw *raw);

_Noreturn void raw_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ethernet, IPv4 and UDP headers in front of the payload of a frame of @length bytes. */
void raw_headers(const struct raw *raw, uint8_t *frame, size_t length);
/* Both checksums anew, after a header was changed. */
void raw_sum(const struct raw *raw, uint8_t *frame, size_t length);
/* Whether the UDP checksum is 0 or right. */
bool raw_udp_sum_right(const uint8_t *frame);
uint16_t raw_ip_sum(const uint8_t *header, size_t length);

/* Return false if the kernel does not take the frame (errno). Waits for room. */
bool raw_send(const struct raw *raw, const uint8_t *frame, size_t length);
/*
 * The next UDP frame from the server's address to our port, whatever else is in it. Return its
 * length, 0 if none comes in @timeout_ms.
 */
size_t raw_receive(struct raw *raw, uint8_t *frame, int timeout_ms);

#endif
