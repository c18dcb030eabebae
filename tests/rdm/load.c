// SPDX-License-Identifier: Apache-2.0
/*
 * DS: READs of 64 bytes by wire version 1, some of them on their way at any time, and how
 * many of them were answered in a second. An echo that fills its answers up to 150 bytes
 * (ds_echo.ko reply=150) gets the same packets and gives the same sizes, so the two can
 * be compared. Prints one line of JSON. A wrong answer ends it, with status 1;
 * what it was is written to stderr.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "wire1.h"

#define REQUEST		(W1_DATA - W1_APP_ID)		/* bytes of UDP payload */
#define REPLY		(REQUEST + W1_UNIT)
#define MAX_DEPTH	256
#define ALLOCATION	4096

static const char *server, *from;
static uint16_t port;
static uint8_t app_id;
static bool echo;
static bool have_address;
static uint64_t address;
static unsigned long wanted = 10000;
static unsigned int depth = 16;
static int patience_ms = 2000;

static int fd;
static uint8_t request[W1_DATA];	/* with the place of the headers, as wire1.h counts */
static uint8_t replies[MAX_DEPTH][REPLY + 1];
static unsigned long sent, answered, lost, wrong;

__attribute__((format(printf, 1, 2)))
static _Noreturn void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "load: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(2);
}

static void open_socket(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in here = { .sin_family = AF_INET };
	const int room = 4 << 20;

	if (inet_pton(AF_INET, server, &to.sin_addr) != 1)
		die("'%s' is no IPv4 address", server);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (from && inet_pton(AF_INET, from, &here.sin_addr) != 1)
		die("'%s' is no IPv4 address", from);
	if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof(here)))
		die("%s: %s", from ? from : "socket", strerror(errno));
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		die("%s: %s", server, strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
}

static bool wait_for_reply(void)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	int n;

	while ((n = poll(&ready, 1, patience_ms)) < 0)
		if (errno != EINTR)
			die("poll: %s", strerror(errno));
	return n > 0;
}

static void allocate(void)
{
	uint8_t *reply = replies[0];
	ssize_t length;

	w1_request(request, app_id, W1_ALLOC, 0, ALLOCATION, NULL, 0);
	if (send(fd, request + W1_APP_ID, REQUEST, 0) != REQUEST || !wait_for_reply())
		die("nobody answers at %s, port %u", server, port);
	length = recv(fd, reply, REPLY, 0);
	if (length != REQUEST || reply[W1_OPCODE - W1_APP_ID] != W1_REPLY_ALLOC)
		die("%d bytes could not be allocated", ALLOCATION);
	address = w1_get64(reply + W1_ADDRESS - W1_APP_ID);
}

static void send_requests(unsigned int count)
{
	struct iovec data = { request + W1_APP_ID, REQUEST };
	struct mmsghdr messages[MAX_DEPTH];
	int n;

	memset(messages, 0, count * sizeof(*messages));
	for (unsigned int i = 0; i < count; i++) {
		messages[i].msg_hdr.msg_iov = &data;
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	for (unsigned int done = 0; done < count; done += n) {
		n = sendmmsg(fd, messages + done, count - done, 0);
		if (n < 0 && errno != EINTR && errno != ENOBUFS)
			die("send: %s", strerror(errno));
		n = n < 0 ? 0 : n;
	}
	sent += count;
}

static bool is_right(const uint8_t *reply, unsigned int length)
{
	uint8_t opcode = echo ? W1_READ : W1_REPLY_READ;

	return length == REPLY && reply[0] == app_id && reply[W1_OPCODE - W1_APP_ID] == opcode &&
	       w1_get64(reply + W1_ADDRESS - W1_APP_ID) == address;
}

/* As if it were a reply: that of an error has its reason for a length. */
static void print_wrong(const uint8_t *reply, unsigned int length)
{
	struct sockaddr_in here = { 0 };
	socklen_t size = sizeof(here);

	getsockname(fd, (struct sockaddr *)&here, &size);
	fprintf(stderr, "load: a wrong reply of %u bytes to port %u", length, ntohs(here.sin_port));
	if (length >= W1_DATA - W1_APP_ID)
		fprintf(stderr, ": app id %u, opcode %u, address 0x%" PRIx64 ", length %" PRIu64 ", counter %" PRIu64,
			reply[0], reply[W1_OPCODE - W1_APP_ID], w1_get64(reply + W1_ADDRESS - W1_APP_ID),
			w1_get64(reply + W1_LENGTH - W1_APP_ID), w1_get64(reply + W1_COUNTER - W1_APP_ID));
	fprintf(stderr, "\n");
}

static void receive_replies(void)
{
	struct iovec data[MAX_DEPTH];
	struct mmsghdr messages[MAX_DEPTH];
	int n;

	memset(messages, 0, depth * sizeof(*messages));
	for (unsigned int i = 0; i < depth; i++) {
		data[i] = (struct iovec){ replies[i], sizeof(replies[i]) };
		messages[i].msg_hdr.msg_iov = &data[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	if (!wait_for_reply()) {
		lost += sent - answered - lost;
		return;
	}
	n = recvmmsg(fd, messages, depth, MSG_DONTWAIT, NULL);
	if (n < 0 && errno != EINTR && errno != EAGAIN)
		die("receive: %s: is %s there, port %u?", strerror(errno), server, port);
	for (int i = 0; i < n; i++) {
		if (is_right(replies[i], messages[i].msg_len))
			continue;
		wrong++;
		print_wrong(replies[i], messages[i].msg_len);
	}
	answered += n > 0 ? n : 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* One for one: there are never more than @depth on their way. */
static double run(void)
{
	double start = now();

	while (answered + lost < wanted && !wrong) {
		unsigned long flying = sent - answered - lost;
		unsigned long more = depth > flying ? depth - flying : 0;

		if (more > wanted - sent)
			more = wanted - sent;
		if (more)
			send_requests(more);
		receive_replies();
	}
	return now() - start;
}

static _Noreturn void usage(void)
{
	printf("usage: load -s ADDRESS -p PORT [OPTION...]\n"
	       "  -d DEPTH     requests on their way, 1 to %d (16)\n"
	       "  -n NUMBER    of requests (10000)\n"
	       "  -a NUMBER    app id (0)\n"
	       "  -v ADDRESS   read there (in %d bytes that are allocated for it)\n"
	       "  -b ADDRESS   send from there\n"
	       "  -t MS        if none comes for so long, those on their way are lost (2000)\n"
	       "  -e           the server is an echo\n", MAX_DEPTH, ALLOCATION);
	exit(2);
}

static void parse(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "s:p:d:n:a:v:b:t:e")) != -1) {
		if (option == 's')
			server = optarg;
		else if (option == 'p')
			port = strtoul(optarg, NULL, 10);
		else if (option == 'd')
			depth = strtoul(optarg, NULL, 10);
		else if (option == 'n')
			wanted = strtoul(optarg, NULL, 10);
		else if (option == 'a')
			app_id = strtoul(optarg, NULL, 0);
		else if (option == 'b')
			from = optarg;
		else if (option == 't')
			patience_ms = atoi(optarg);
		else if (option == 'e')
			echo = true;
		else if (option == 'v')
			have_address = true, address = strtoull(optarg, NULL, 0);
		else
			usage();
	}
	if (!server || !port || !depth || depth > MAX_DEPTH || !wanted || patience_ms < 1 || optind < argc)
		usage();
}

int main(int argc, char **argv)
{
	double seconds;

	parse(argc, argv);
	open_socket();
	if (!echo && !have_address)
		allocate();
	w1_request(request, app_id, W1_READ, address, W1_UNIT, NULL, 0);
	seconds = run();
	printf("{\"server\":\"%s\",\"address\":%" PRIu64 ",\"requests\":%lu,\"depth\":%u,\"bytes\":%d,\"answered\":%lu,\"lost\":%lu,\"wrong\":%lu,"
	       "\"seconds\":%.6f,\"ops_per_second\":%.1f}\n",
	       echo ? "echo" : "v1", address, wanted, depth, W1_UNIT, answered, lost, wrong, seconds, answered / seconds);
	return wrong || !answered;
}
