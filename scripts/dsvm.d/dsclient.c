// SPDX-License-Identifier: Apache-2.0
/*
 * The commands `on` and `vm` inside a test machine. Both send their words to
 * the agent, which passes them to the runner; output, status and signals
 * travel back and forth.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "frame.h"

#define STATUS_LOST	255	/* no answer: the node or the runner is gone */

static int sock;

static void lost(const char *what)
{
	fprintf(stderr, "dsvm: %s: %s\n", what, errno ? strerror(errno) : "connection closed");
	exit(STATUS_LOST);
}

static void write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && fd != sock && errno == EPIPE) {
			signal(SIGPIPE, SIG_DFL);
			raise(SIGPIPE);
		}
		if (n <= 0)
			lost(fd == sock ? "the agent" : "output");
		p += n;
		len -= n;
	}
}

static void read_all(void *data, size_t len)
{
	char *p = data;

	while (len) {
		ssize_t n = read(sock, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (!n)
			errno = 0;
		if (n <= 0)
			lost("the agent");
		p += n;
		len -= n;
	}
}

static void send_frame(enum frame_type type, const void *data, size_t len)
{
	struct frame_header h = { .type = type, .len = len };

	write_all(sock, &h, sizeof(h));
	write_all(sock, data, len);
}

static void send_call(bool with_stdin, int argc, char **argv)
{
	char buf[FRAME_MAX];
	size_t len = 0;

	buf[len++] = with_stdin ? FRAME_FLAG_STDIN : 0;
	if (!getcwd(buf + len, 4096))
		strcpy(buf + len, "/");
	len += strlen(buf + len) + 1;
	for (int i = 0; i < argc; i++) {
		size_t n = strlen(argv[i]) + 1;

		if (len + n > sizeof(buf)) {
			fprintf(stderr, "dsvm: the command is longer than 32 KiB; put it into a script in /share\n");
			exit(126);
		}
		memcpy(buf + len, argv[i], n);
		len += n;
	}
	send_frame(FRAME_CALL, buf, len);
}

/* One frame from the agent. Returns the bytes of input that it acknowledges. */
static size_t receive(void)
{
	struct frame_header h;
	char buf[FRAME_MAX];
	uint32_t u[2];

	read_all(&h, sizeof(h));
	if (h.len > sizeof(buf))
		lost("a frame is too long");
	read_all(buf, h.len);
	memcpy(u, buf, sizeof(u));
	switch (h.type) {
	case FRAME_OUT:
	case FRAME_ERR: {
		uint32_t ack[2] = { 1, h.len };

		write_all(h.type == FRAME_OUT ? 1 : 2, buf, h.len);
		send_frame(FRAME_ACK, ack, sizeof(ack));
		break;
	}
	case FRAME_ACK:
		return u[1];
	case FRAME_EXIT:
		exit(u[0]);
	}
	return 0;
}

static void forward_signal(int signals)
{
	struct signalfd_siginfo si;
	uint32_t number;

	if (read(signals, &si, sizeof(si)) != sizeof(si))
		return;
	number = si.ssi_signo;
	send_frame(FRAME_SIGNAL, &number, sizeof(number));
}

/* Send a piece of standard input. Returns its length, 0 at the end. */
static size_t forward_input(void)
{
	char buf[FRAME_MAX];
	ssize_t n = read(0, buf, sizeof(buf));

	if (n < 0)
		n = 0;
	send_frame(FRAME_IN, buf, n);
	return n;
}

static int usage(const char *name)
{
	if (strcmp(name, "on") == 0)
		fprintf(stderr, "usage: on [-i] NODE COMMAND [WORD...]\n"
			"Runs COMMAND on NODE; its output and status become those of `on` (255: the node is down).\n"
			"  -i  send standard input, too\n");
	else
		fprintf(stderr, "usage: vm kill|pause|resume|boot NODE\n"
			"       vm link NODE NIC up|down\n"
			"       vm cpu NODE      seconds of host processor time that the node has used\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = DSVM_SOCKET };
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	bool input = argc > 1 && strcmp(argv[1], "-i") == 0;
	size_t underway = 0;
	sigset_t mask;
	int signals;

	argv[input] = (char *)name;
	argv += input;
	argc -= input;
	if (argc < 3)
		return usage(name);

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signals = signalfd(-1, &mask, SFD_CLOEXEC);
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (signals < 0 || connect(sock, (struct sockaddr *)&addr, sizeof(addr)))
		lost("the agent");
	send_call(input, argc, argv);

	for (;;) {
		struct pollfd p[] = {
			{ .fd = sock, .events = POLLIN },
			{ .fd = signals, .events = POLLIN },
			{ .fd = input && underway + FRAME_MAX <= FRAME_WINDOW ? 0 : -1, .events = POLLIN },
		};

		if (poll(p, 3, -1) < 0)
			continue;
		if (p[1].revents)
			forward_signal(signals);
		if (p[2].revents) {
			size_t n = forward_input();

			underway += n;
			input = n > 0;
		}
		if (p[0].revents) {
			size_t n = receive();

			underway -= n < underway ? n : underway;
		}
	}
}
