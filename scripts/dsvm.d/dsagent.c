// SPDX-License-Identifier: Apache-2.0
/*
 * dsagent: process 1 of a test machine. It runs the commands that the runner
 * sends over a virtio-serial port, streams their output back, and passes the
 * requests of the local commands `on` and `vm` to the runner.
 *
 * usage: dsagent PORT      (started by the guest's init)
 *
 * One thread and one poll loop. Writes to the port block: the runner always
 * reads. Nothing else blocks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame.h"

#define JOBS_MAX	128
#define CLIENTS_MAX	128
#define ARGS_MAX	1024

/* Bytes on their way to a descriptor that must not block us. */
struct queue {
	size_t	len;
	char	data[FRAME_WINDOW + 2 * 65536 + 64 * sizeof(struct frame_header)];
};

struct job {
	uint32_t	id;
	pid_t		pid;		/* 0: ended, its output is dropped */
	int		in, out, err;	/* -1: closed */
	bool		used, in_end;
	size_t		unacked;	/* output sent and not acknowledged */
	struct queue	*input;
};

struct client {
	uint32_t	id;		/* 0: has not called yet */
	int		fd;
	bool		used;
	size_t		have;		/* bytes of a frame read so far */
	struct queue	*output;
	char		buf[sizeof(struct frame_header) + FRAME_MAX];
};

static struct job jobs[JOBS_MAX];
static struct client clients[CLIENTS_MAX];
static int port = -1;
static uint32_t next_call;
static sigset_t saved_mask;

/* Into the kernel's log, which is what is left of a machine whose first program ended. */
static void die(const char *fmt, ...)
{
	FILE *log = fopen("/dev/kmsg", "w");
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	fprintf(log ? log : stderr, "dsagent: %s\n", why);
	fflush(NULL);
	exit(1);
}

static void write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			struct pollfd pfd = { .fd = fd, .events = POLLOUT };

			poll(&pfd, 1, -1);
			continue;
		}
		if (n <= 0)
			die("the runner's port: %s", strerror(errno));
		p += n;
		len -= n;
	}
}

static void send_frame(enum frame_type type, uint32_t id, const void *data, size_t len)
{
	static char buf[sizeof(struct frame_header) + FRAME_MAX];
	struct frame_header h = { .type = type, .id = id, .len = len };

	memcpy(buf, &h, sizeof(h));
	if (len)
		memcpy(buf + sizeof(h), data, len);
	write_all(port, buf, sizeof(h) + len);
}

static void send_u32(enum frame_type type, uint32_t id, uint32_t value)
{
	send_frame(type, id, &value, sizeof(value));
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Append; false when the sender broke the window. */
static bool queue_put(struct queue *q, const void *data, size_t len)
{
	if (q->len + len > sizeof(q->data))
		return false;
	memcpy(q->data + q->len, data, len);
	q->len += len;
	return true;
}

/* Write what @fd takes now. Returns the bytes written, or -1 when @fd is gone. */
static ssize_t queue_flush(struct queue *q, int fd)
{
	ssize_t n = write(fd, q->data, q->len);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	q->len -= n;
	memmove(q->data, q->data + n, q->len);
	return n;
}

/* ---- commands that the runner started ---- */

static struct job *job_find(uint32_t id)
{
	for (struct job *j = jobs; j < jobs + JOBS_MAX; j++)
		if (j->used && j->pid && j->id == id)
			return j;
	return NULL;
}

static void job_free_if_done(struct job *j)
{
	if (j->pid || j->out >= 0 || j->err >= 0)
		return;
	close_fd(&j->in);
	free(j->input);
	memset(j, 0, sizeof(*j));
}

/* In the child: become @argv, or say why not. */
static void job_exec(const char *cwd, char **argv)
{
	const char *node = getenv("DS_NODE");
	int err;

	sigprocmask(SIG_SETMASK, &saved_mask, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (chdir(cwd) && chdir("/"))
		_exit(126);
	execvp(argv[0], argv);
	err = errno;
	fprintf(stderr, "dsvm: node %s cannot run '%s': %s.%s\n", node ? node : "?", argv[0],
		strerror(err),
		strchr(argv[0], ' ') ? " A command is a list of words; for a line of shell use sh -c '...'." : "");
	_exit(err == ENOENT ? 127 : 126);
}

static pid_t job_spawn_tty(struct job *j, const char *cwd, char **argv)
{
	struct winsize ws = { .ws_row = 24, .ws_col = 80 };
	pid_t pid = forkpty(&j->out, NULL, NULL, &ws);

	if (!pid)
		job_exec(cwd, argv);
	if (pid > 0)
		j->in = dup(j->out);
	return pid;
}

static pid_t job_spawn(struct job *j, bool has_stdin, const char *cwd, char **argv)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
	pid_t pid = -1;

	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		goto out;
	if (has_stdin ? pipe2(in, O_CLOEXEC) : (in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
		goto out;
	pid = fork();
	if (!pid) {
		setsid();
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		job_exec(cwd, argv);
	}
out:
	close_fd(&in[0]);
	close_fd(&out[1]);
	close_fd(&err[1]);
	if (pid < 0) {
		close_fd(&in[1]);
		close_fd(&out[0]);
		close_fd(&err[0]);
	}
	j->in = in[1];
	j->out = out[0];
	j->err = err[0];
	return pid;
}

static void job_refuse(uint32_t id, const char *why)
{
	send_frame(FRAME_ERR, id, why, strlen(why));
	send_u32(FRAME_EXIT, id, 126);
}

static void job_start(uint32_t id, char *data, size_t len)
{
	struct job *j = jobs;
	char *argv[ARGS_MAX + 1];
	char *cwd, *p = data + 1, *end = data + len;
	int argc = 0;

	while (j < jobs + JOBS_MAX && j->used)
		j++;
	if (j == jobs + JOBS_MAX) {
		job_refuse(id, "dsvm: too many commands run on this node; end some first\n");
		return;
	}
	cwd = p;
	for (p += strnlen(p, end - p) + 1; p < end && argc < ARGS_MAX; p += strnlen(p, end - p) + 1)
		argv[argc++] = p;
	argv[argc] = NULL;
	if (!argc || end[-1] || p < end) {
		job_refuse(id, "dsvm: no command, or more than 1024 words\n");
		return;
	}

	memset(j, 0, sizeof(*j));
	j->in = j->out = j->err = -1;
	j->input = malloc(sizeof(*j->input));
	if (j->input) {
		j->input->len = 0;
		j->pid = data[0] & FRAME_FLAG_TTY ? job_spawn_tty(j, cwd, argv) :
			 job_spawn(j, data[0] & FRAME_FLAG_STDIN, cwd, argv);
	}
	if (!j->input || j->pid < 0) {
		free(j->input);
		j->pid = 0;
		job_refuse(id, "dsvm: the node has no memory left to start a command\n");
		return;
	}
	j->used = true;
	j->id = id;
	for (int *fd = &j->in; fd <= &j->err; fd++)
		if (*fd >= 0)
			fcntl(*fd, F_SETFL, O_NONBLOCK);
}

/* Pass on one piece of output. Returns false when there is none now. */
static bool job_output(struct job *j, int *fd, enum frame_type type)
{
	char buf[FRAME_MAX];
	ssize_t n = read(*fd, buf, sizeof(buf));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		close_fd(fd);
		return false;
	}
	if (j->pid) {
		send_frame(type, j->id, buf, n);
		j->unacked += n;
	}
	return true;
}

/*
 * The command ended. What is in its pipes now is its output; what processes
 * left behind write later is dropped. A pipe holds 64 KiB, hence the bounds.
 */
static void job_exited(struct job *j, int status)
{
	for (int i = 0; i < 16 && j->out >= 0 && job_output(j, &j->out, FRAME_OUT); i++)
		;
	for (int i = 0; i < 16 && j->err >= 0 && job_output(j, &j->err, FRAME_ERR); i++)
		;
	send_u32(FRAME_EXIT, j->id, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	j->pid = 0;
	close_fd(&j->in);
	job_free_if_done(j);
}

static void job_input(struct job *j)
{
	ssize_t n = j->input->len ? queue_flush(j->input, j->in) : 0;

	if (n > 0) {
		uint32_t ack[2] = { 0, n };

		send_frame(FRAME_ACK, j->id, ack, sizeof(ack));
	}
	if (n < 0 || (j->in_end && !j->input->len))
		close_fd(&j->in);
}

static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (struct job *j = jobs; j < jobs + JOBS_MAX; j++)
			if (j->used && j->pid == pid)
				job_exited(j, status);
}

/* ---- local clients: `on` and `vm` ---- */

static void client_close(struct client *c)
{
	if (c->id)
		send_u32(FRAME_SIGNAL, c->id, SIGKILL);
	close(c->fd);
	free(c->output);
	memset(c, 0, sizeof(*c));
}

static void client_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct client *c = clients;

	if (fd < 0)
		return;
	while (c < clients + CLIENTS_MAX && c->used)
		c++;
	if (c == clients + CLIENTS_MAX || !(c->output = malloc(sizeof(*c->output)))) {
		close(fd);
		return;
	}
	c->output->len = 0;
	c->used = true;
	c->fd = fd;
}

/* Read one frame and pass it on. */
static void client_read(struct client *c)
{
	struct frame_header h;
	size_t want = sizeof(h);
	ssize_t n;

	if (c->have >= sizeof(h)) {
		memcpy(&h, c->buf, sizeof(h));
		want += h.len;
	}
	n = read(c->fd, c->buf + c->have, want - c->have);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		client_close(c);
		return;
	}
	c->have += n;
	if (c->have < sizeof(h))
		return;
	memcpy(&h, c->buf, sizeof(h));
	if (h.len > FRAME_MAX) {
		client_close(c);
		return;
	}
	if (c->have < sizeof(h) + h.len)
		return;
	c->have = 0;
	if (h.type == FRAME_CALL)
		c->id = FRAME_CALL_BIT | (++next_call & ~FRAME_CALL_BIT);
	if (c->id)
		send_frame(h.type, c->id, c->buf + sizeof(h), h.len);
}

static void client_deliver(struct frame_header *h, const char *data)
{
	for (struct client *c = clients; c < clients + CLIENTS_MAX; c++) {
		if (!c->used || c->id != h->id)
			continue;
		if (!queue_put(c->output, h, sizeof(*h)) || !queue_put(c->output, data, h->len))
			client_close(c);
		else if (h->type == FRAME_EXIT)
			c->id = 0;	/* ended: closing it kills nothing */
	}
}

/* ---- the port ---- */

/* All that the kernel said before comes before this in the serial log. */
static void log_word(const char *word, size_t len)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	char line[64];
	int n = snprintf(line, sizeof(line), "dsvm: %.*s\n", (int)len, word);

	/* Unwritten, the runner misses it and says so. */
	if (fd < 0 || write(fd, line, n) != n)
		fprintf(stderr, "dsagent: /dev/kmsg: %s\n", strerror(errno));
	close_fd(&fd);
}

static void port_frame(struct frame_header *h, char *data)
{
	struct job *j;
	uint32_t u[2];

	if (h->type == FRAME_PING) {
		log_word(data, h->len);
		return;
	}
	if (h->type == FRAME_RUN) {
		job_start(h->id, data, h->len);
		return;
	}
	if (h->id & FRAME_CALL_BIT) {
		client_deliver(h, data);
		return;
	}
	j = job_find(h->id);
	if (!j)
		return;		/* it has ended meanwhile */
	memcpy(u, data, h->len < sizeof(u) ? h->len : sizeof(u));
	switch (h->type) {
	case FRAME_IN:
		if (!h->len)
			j->in_end = true;
		else if (j->in >= 0 && !queue_put(j->input, data, h->len))
			die("the runner sent more input than the window");
		break;
	case FRAME_ACK:
		j->unacked -= u[1] < j->unacked ? u[1] : j->unacked;
		break;
	case FRAME_SIGNAL:
		kill(-j->pid, u[0]);
		break;
	case FRAME_RESIZE: {
		struct winsize ws = { .ws_row = u[0] & 0xffff, .ws_col = u[0] >> 16 };

		ioctl(j->out, TIOCSWINSZ, &ws);
		break;
	}
	}
}

static void port_read(void)
{
	static char buf[sizeof(struct frame_header) + FRAME_MAX];
	static bool heard;
	static size_t have;
	struct frame_header h;
	size_t want = sizeof(h);
	ssize_t n;

	if (have >= sizeof(h)) {
		memcpy(&h, buf, sizeof(h));
		want += h.len;
	}
	n = read(port, buf + have, want - have);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* The kernel hears a moment after boot that the runner is there; until then this is its end. */
	if (!n && !heard) {
		usleep(10000);
		return;
	}
	if (n <= 0)
		die("the runner is gone: %s", n ? strerror(errno) : "end of file");
	heard = true;
	have += n;
	if (have < sizeof(h))
		return;
	memcpy(&h, buf, sizeof(h));
	if (h.len > FRAME_MAX)
		die("a frame of %u bytes: the runner and the agent differ", h.len);
	if (have == sizeof(h) + h.len) {
		have = 0;
		port_frame(&h, buf + sizeof(h));
	}
}

/* ---- the loop ---- */

static int listen_socket(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = DSVM_SOCKET };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, CLIENTS_MAX))
		die("%s: %s", DSVM_SOCKET, strerror(errno));
	return fd;
}

static void watch(struct pollfd *p, int fd, short events)
{
	*p = (struct pollfd) { .fd = events ? fd : -1, .events = events };
}

enum { SLOT_PORT, SLOT_SIGNAL, SLOT_LISTEN, SLOT_JOBS, SLOT_CLIENTS = SLOT_JOBS + 3 * JOBS_MAX,
       SLOTS = SLOT_CLIENTS + CLIENTS_MAX };

static void poll_once(int signals, int listener)
{
	static struct pollfd p[SLOTS];
	struct signalfd_siginfo si;

	watch(&p[SLOT_PORT], port, POLLIN);
	watch(&p[SLOT_SIGNAL], signals, POLLIN);
	watch(&p[SLOT_LISTEN], listener, POLLIN);
	for (int i = 0; i < JOBS_MAX; i++) {
		struct job *j = &jobs[i];
		struct pollfd *s = &p[SLOT_JOBS + 3 * i];
		bool room = j->used && (!j->pid || j->unacked < FRAME_WINDOW);

		watch(&s[0], j->out, room ? POLLIN : 0);
		watch(&s[1], j->err, room ? POLLIN : 0);
		watch(&s[2], j->in, j->used && j->in >= 0 && (j->input->len || j->in_end) ? POLLOUT : 0);
	}
	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &clients[i];

		watch(&p[SLOT_CLIENTS + i], c->fd,
		      c->used ? POLLIN | (c->output->len ? POLLOUT : 0) : 0);
	}
	if (poll(p, SLOTS, -1) < 0 && errno != EINTR)
		die("poll: %s", strerror(errno));

	for (int i = 0; i < JOBS_MAX; i++) {
		struct job *j = &jobs[i];
		struct pollfd *s = &p[SLOT_JOBS + 3 * i];

		if (!j->used)
			continue;
		if (s[0].revents && j->out >= 0)
			job_output(j, &j->out, FRAME_OUT);
		if (s[1].revents && j->err >= 0)
			job_output(j, &j->err, FRAME_ERR);
		if (s[2].revents && j->in >= 0)
			job_input(j);
		job_free_if_done(j);
	}
	for (int i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &clients[i];
		short got = p[SLOT_CLIENTS + i].revents;

		if (c->used && (got & POLLOUT) && queue_flush(c->output, c->fd) < 0)
			client_close(c);
		else if (c->used && (got & (POLLIN | POLLHUP | POLLERR)))
			client_read(c);
	}
	if (p[SLOT_LISTEN].revents)
		client_accept(listener);
	if (p[SLOT_SIGNAL].revents && read(signals, &si, sizeof(si)) > 0)
		reap();
	if (p[SLOT_PORT].revents)
		port_read();
}

int main(int argc, char **argv)
{
	sigset_t mask;
	int signals, listener;

	if (argc != 2)
		die("usage: dsagent PORT");
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, &saved_mask);
	signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	port = open(argv[1], O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (signals < 0 || port < 0)
		die("%s: %s", argv[1], strerror(errno));
	listener = listen_socket();
	send_frame(FRAME_HELLO, 0, NULL, 0);
	for (;;)
		poll_once(signals, listener);
}
