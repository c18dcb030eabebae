// SPDX-License-Identifier: Apache-2.0
/*
 * dsswitch: the Ethernet switches between test machines.
 *
 * usage: dsswitch DIR NICS NODES
 *
 * There is one switch for each NIC index K and one port for each node N: the
 * socket DIR/nic.K.N, to which `qemu -netdev stream` connects. On the wire a
 * frame is its length, 32 bits big endian, and its bytes. Node N owns the
 * addresses 52:54:00:KK:00:NN; a frame for any other address goes to all ports
 * of its switch.
 *
 * A port that does not read, say that of a paused machine, has a queue of
 * QUEUE_MAX bytes; what does not fit is dropped and counted. The counts go to
 * standard output at the end (SIGTERM).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define READ_MAX	(256 * 1024)
#define QUEUE_MAX	(4 * 1024 * 1024)
#define SOCKET_BUFFER	(1024 * 1024)
#define MAC_PREFIX	"\x52\x54\x00"

struct port {
	int		nic, node;
	int		listener, fd;		/* fd is -1 without a machine */
	size_t		have;			/* bytes of @in in use */
	size_t		start, end;		/* bytes of @out in use */
	bool		touched;		/* has new output since the last flush */
	uint64_t	frames_in, frames_out, dropped;
	char		in[READ_MAX];
	char		out[QUEUE_MAX];
};

static struct port *ports;
static int nics, nodes, poller;

static void die(const char *what)
{
	fprintf(stderr, "dsswitch: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct port *port_at(int nic, int node)
{
	return &ports[nic * nodes + node - 1];
}

static void watch(struct port *p, int op, bool writable)
{
	struct epoll_event e = { .events = EPOLLIN | (writable ? EPOLLOUT : 0), .data.ptr = p };

	if (epoll_ctl(poller, op, p->fd, &e))
		die("epoll_ctl");
}

static void port_close(struct port *p)
{
	close(p->fd);
	p->fd = -1;
	p->have = p->start = p->end = 0;
}

static void port_accept(struct port *p)
{
	int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int size = SOCKET_BUFFER;

	if (fd < 0)
		return;
	if (p->fd >= 0)
		port_close(p);		/* the machine was started anew */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	p->fd = fd;
	watch(p, EPOLL_CTL_ADD, false);
}

/* Send what the socket takes. What is left waits for EPOLLOUT. */
static void port_flush(struct port *p)
{
	p->touched = false;
	while (p->fd >= 0 && p->start < p->end) {
		ssize_t n = send(p->fd, p->out + p->start, p->end - p->start, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			watch(p, EPOLL_CTL_MOD, true);
			return;
		}
		if (n < 0) {
			port_close(p);
			return;
		}
		p->start += n;
	}
	p->start = p->end = 0;
}

/* Queue a frame with its length in front. */
static void port_put(struct port *p, const char *frame, size_t len)
{
	if (p->fd < 0)
		return;
	if (p->end + len > QUEUE_MAX) {
		memmove(p->out, p->out + p->start, p->end - p->start);
		p->end -= p->start;
		p->start = 0;
	}
	if (p->end + len > QUEUE_MAX) {
		p->dropped++;
		return;
	}
	memcpy(p->out + p->end, frame, len);
	p->end += len;
	p->frames_out++;
	p->touched = true;
}

static void forward(struct port *from, const char *frame, size_t len)
{
	const unsigned char *mac = (const unsigned char *)frame + sizeof(uint32_t);
	bool known = !memcmp(mac, MAC_PREFIX, 3) && mac[3] == from->nic && !mac[4] &&
		     mac[5] >= 1 && mac[5] <= nodes;

	from->frames_in++;
	for (int node = 1; node <= nodes; node++)
		if (node != from->node && (!known || node == mac[5]))
			port_put(port_at(from->nic, node), frame, len);
}

static void port_read(struct port *p)
{
	ssize_t n = read(p->fd, p->in + p->have, READ_MAX - p->have);
	size_t at = 0;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		port_close(p);
		return;
	}
	p->have += n;
	while (p->have - at >= sizeof(uint32_t)) {
		uint32_t len;

		memcpy(&len, p->in + at, sizeof(len));
		len = ntohl(len) + sizeof(len);
		if (len > READ_MAX) {	/* it could not go on, and would be silent from now on */
			fprintf(stderr, "dsswitch: nic %d node %d: a frame of %u bytes\n", p->nic,
				p->node, len);
			exit(1);
		}
		if (p->have - at < len)
			break;
		if (len >= sizeof(uint32_t) + 14)
			forward(p, p->in + at, len);
		at += len;
	}
	memmove(p->in, p->in + at, p->have - at);
	p->have -= at;
	for (int node = 1; node <= nodes; node++)
		if (port_at(p->nic, node)->touched)
			port_flush(port_at(p->nic, node));
}

static void port_listen(struct port *p, const char *dir)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = &p->listener };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/nic.%d.%d", dir, p->nic, p->node);
	p->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p->listener < 0 || bind(p->listener, (struct sockaddr *)&addr, sizeof(addr)) ||
	    listen(p->listener, 4) || epoll_ctl(poller, EPOLL_CTL_ADD, p->listener, &e))
		die(addr.sun_path);
}

static void report(void)
{
	for (struct port *p = ports; p < ports + nics * nodes; p++)
		printf("nic %d node %d: %llu frames in, %llu out, %llu dropped\n", p->nic, p->node,
		       (unsigned long long)p->frames_in, (unsigned long long)p->frames_out,
		       (unsigned long long)p->dropped);
}

int main(int argc, char **argv)
{
	struct epoll_event events[64];
	sigset_t mask;
	int signals;

	if (argc != 4 || (nics = atoi(argv[2])) < 1 || (nodes = atoi(argv[3])) < 1) {
		fprintf(stderr, "usage: dsswitch DIR NICS NODES\n");
		return 2;
	}
	ports = calloc(nics * nodes, sizeof(*ports));
	poller = epoll_create1(EPOLL_CLOEXEC);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signals = signalfd(-1, &mask, SFD_CLOEXEC);
	if (!ports || poller < 0 || signals < 0 ||
	    epoll_ctl(poller, EPOLL_CTL_ADD, signals, &(struct epoll_event){ .events = EPOLLIN }))
		die("start");
	for (int i = 0; i < nics * nodes; i++) {
		ports[i].nic = i / nodes;
		ports[i].node = i % nodes + 1;
		ports[i].fd = -1;
		port_listen(&ports[i], argv[1]);
	}
	puts("ready");
	fflush(stdout);

	for (;;) {
		int n = epoll_wait(poller, events, 64, -1);

		for (int i = 0; i < n; i++) {
			struct port *p = events[i].data.ptr;

			if (!p) {
				report();
				return 0;
			}
			if ((char *)p >= (char *)ports && ((char *)p - (char *)ports) % sizeof(*p)) {
				port_accept((struct port *)((char *)p - offsetof(struct port, listener)));
				continue;
			}
			if (p->fd >= 0 && (events[i].events & EPOLLOUT)) {
				watch(p, EPOLL_CTL_MOD, false);
				port_flush(p);
			}
			if (p->fd >= 0 && (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
				port_read(p);
		}
	}
}
