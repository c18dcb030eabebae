// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: service ports of user programs: what is refused, how long waits last, and
 * what becomes of messages. DS_TEST_PEER is the number of a connected node,
 * DS_TEST_REMOTE begins a command that runs a program of this folder there;
 * without them nothing is sent.
 */
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include "ds_test.h"
#include "ds_proc.h"
#include "ds_ports.h"

TEST(bind_refuses)
{
	static const uint32_t services[] = { 0, 1, 2, 3, 5, DS_SERVICE_USER_FIRST - 1,
					     DS_SERVICE_USER_LAST + 1, 0x10000 + SERVICE, ~0u };
	static const uint32_t queues[] = { 0, 1025, ~0u };
	int fd = ds_open();

	for (size_t i = 0; i < ARRAY_LEN(services); i++)
		EXPECT_ERR(EINVAL, bind_service(fd, services[i], 1, NULL));
	for (size_t i = 0; i < ARRAY_LEN(queues); i++)
		EXPECT_ERR(EINVAL, bind_service(fd, SERVICE, queues[i], NULL));
	EXPECT_OK(bind_service(fd, DS_SERVICE_USER_FIRST, 1, NULL));
	EXPECT_OK(bind_service(fd, DS_SERVICE_USER_LAST, 1024, NULL));
}

/* What may wait at a port is charged when it is bound, and not to who happens to send. */
TEST(a_cgroup_pays_for_queues)
{
	int fd = ds_open();

	cgroup_of_16_mib();
	for (uint32_t i = 0; i < 2; i++)
		EXPECT_OK(bind_service(fd, SERVICE + i, 1024, NULL));
	EXPECT_ERR(ENOMEM, bind_service(fd, SERVICE + 2, 1024, NULL) |
			   bind_service(fd, SERVICE + 3, 1024, NULL));
	EXPECT_OK(bind_service(fd, SERVICE + 4, 1, NULL));
}

TEST(a_service_is_bound_once)
{
	int fd = ds_open(), other = ds_open();
	uint32_t handle;

	ASSERT_OK(bind_service(fd, SERVICE, 1, &handle));
	EXPECT_ERR(EADDRINUSE, bind_service(fd, SERVICE, 1, NULL));
	EXPECT_ERR(EADDRINUSE, bind_service(other, SERVICE, 1, NULL));
	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_SERVICE, handle));
	EXPECT_OK(bind_service(other, SERVICE, 1, NULL));
	EXPECT_ERR(EADDRINUSE, bind_service(fd, SERVICE, 1, NULL));
	close(other);
	EXPECT_OK(bind_service(fd, SERVICE, 1, NULL));
}

TEST(recv_refuses_handles)
{
	int fd = ds_open(), other = ds_open();
	uint32_t handle, buf = ds_make_buf(fd, PAGE, NULL);

	ASSERT_OK(bind_service(fd, SERVICE, 1, &handle));
	EXPECT_ERR(EBADF, msg_recv(fd, 0, 0));
	EXPECT_ERR(EBADF, msg_recv(fd, ~0u, 0));
	EXPECT_ERR(EBADF, msg_recv(fd, buf, 0));
	EXPECT_ERR(EBADF, msg_recv(other, handle, 0));
	EXPECT_ERR(EAGAIN, msg_recv(fd, handle, 0));
	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_SERVICE, handle));
	EXPECT_ERR(ESTALE, msg_recv(fd, handle, 0));
}

TEST(recv_waits_as_long_as_it_is_told)
{
	int fd = ds_open();
	uint32_t handle;
	uint64_t start;

	ASSERT_OK(bind_service(fd, SERVICE, 1, &handle));
	start = ds_now_ms();
	EXPECT_ERR(EAGAIN, msg_recv(fd, handle, 0));
	EXPECT(ds_now_ms() - start < 1000);
	start = ds_ticks_ms();
	EXPECT_ERR(ETIMEDOUT, msg_recv(fd, handle, 600));
	EXPECT(ds_waited(ds_ticks_ms() - start, 600));
}

static int race_fd;
static uint32_t race_handle;

static void *close_later(void *unused)
{
	(void)unused;
	ds_sleep_ms(100);
	EXPECT_OK(ds_close_handle(race_fd, DS_HANDLE_SERVICE, race_handle));
	return NULL;
}

TEST(recv_ends_when_the_service_is_closed)
{
	uint64_t start = ds_now_ms();
	pthread_t thread;

	race_fd = ds_open();
	ASSERT_OK(bind_service(race_fd, SERVICE, 1, &race_handle));
	ASSERT(!pthread_create(&thread, NULL, close_later, NULL));
	EXPECT_ERR(ESTALE, msg_recv(race_fd, race_handle, 20000));
	EXPECT(ds_now_ms() - start < 5000);
	pthread_join(thread, NULL);
	EXPECT_OK(bind_service(race_fd, SERVICE, 1, NULL));
}

TEST(recv_ends_when_its_process_is_killed)
{
	uint64_t start = ds_now_ms();
	int fd = ds_open(), status;
	uint32_t handle;
	pid_t pid;

	ASSERT_OK(bind_service(fd, SERVICE, 1, &handle));
	pid = fork();
	ASSERT(pid >= 0);
	if (!pid) {
		msg_recv(fd, handle, 30000);
		_exit(0);
	}
	ds_sleep_ms(200);
	ASSERT_OK(kill(pid, SIGKILL));
	ASSERT(waitpid(pid, &status, 0) == pid);
	EXPECT(WIFSIGNALED(status));
	EXPECT(ds_now_ms() - start < 5000);
	EXPECT_ERR(EAGAIN, msg_recv(fd, handle, 0));
}

TEST(reply_refuses)
{
	static const int refusals[] = { -ECONNREFUSED, -EBUSY, -ECONNRESET };
	int fd = ds_open(), other = ds_open();
	char *data = ds_memory_edge(16);
	uint32_t handle;

	ASSERT_OK(bind_service(fd, SERVICE, 1, &handle));
	EXPECT_ERR(EBADF, msg_reply(fd, 0, 1, 0, NULL, 0));
	EXPECT_ERR(EBADF, msg_reply(other, handle, 1, 0, NULL, 0));
	EXPECT_ERR(E2BIG, msg_reply(fd, handle, 1, 0, data, 4097));
	EXPECT_ERR(E2BIG, msg_reply(fd, handle, 1, 0, data, ~0u));
	EXPECT_ERR(EFAULT, msg_reply(fd, handle, 1, 0, data, 17));
	EXPECT_ERR(EFAULT, msg_reply(fd, handle, 1, 0, NULL, 1));
	/* These are the kernels' own: nobody would know who says so. */
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++)
		EXPECT_ERR(EINVAL, msg_reply(fd, handle, 1, refusals[i], NULL, 0));
	EXPECT_ERR(ENOENT, msg_reply(fd, handle, 0, 0, NULL, 0));
	EXPECT_ERR(ENOENT, msg_reply(fd, handle, 1, 0, data, 16));
	EXPECT_ERR(ENOENT, msg_reply(fd, handle, ~0ull, 0, NULL, 0));
	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_SERVICE, handle));
	EXPECT_ERR(ESTALE, msg_reply(fd, handle, 1, 0, NULL, 0));
}

TEST(send_refuses)
{
	static const uint32_t services[] = { 0, 1, 2, 3, 5, DS_SERVICE_USER_FIRST - 1,
					     DS_SERVICE_USER_LAST + 1, 0x10001, ~0u };
	struct ds_ioc_msg_send arg;
	char *data = ds_memory_edge(16);
	int fd = ds_open();

	/* The services of the kernels are not for programs. */
	for (size_t i = 0; i < ARRAY_LEN(services); i++) {
		arg = send_arg(1, services[i], data, 16);
		EXPECT_ERR(EINVAL, ds_ioctl(fd, DS_IOC_MSG_SEND, &arg));
		EXPECT_EQ(DS_NOT_EXECUTED, arg.out_outcome);
	}
	arg = send_arg(65535, SERVICE, data, 4097);
	EXPECT_ERR(E2BIG, ds_ioctl(fd, DS_IOC_MSG_SEND, &arg));
	arg = send_arg(65535, SERVICE, data, 17);
	EXPECT_ERR(EFAULT, ds_ioctl(fd, DS_IOC_MSG_SEND, &arg));
	arg = send_arg(65535, SERVICE, NULL, 16);
	EXPECT_ERR(EFAULT, ds_ioctl(fd, DS_IOC_MSG_SEND, &arg));
	arg = send_arg(65535, SERVICE, data, 16);
	arg.flags = DS_SEND_ONE_WAY;
	arg.reply = (uintptr_t)data;
	EXPECT_ERR(EINVAL, ds_ioctl(fd, DS_IOC_MSG_SEND, &arg));
	arg.reply = 0;
	arg.reply_size = 1;
	EXPECT_ERR(EINVAL, ds_ioctl(fd, DS_IOC_MSG_SEND, &arg));
	arg.reply_size = 0;
	EXPECT_ERR(ENOTCONN, ds_ioctl(fd, DS_IOC_MSG_SEND, &arg));
	for (uint32_t node = 0; node < 2; node++) {
		arg = send_arg(node ? ~0u : 0, SERVICE, data, 16);
		arg.out_outcome = 77;
		EXPECT_ERR(ENOTCONN, ds_ioctl(fd, DS_IOC_MSG_SEND, &arg));
		EXPECT_EQ(DS_NOT_EXECUTED, arg.out_outcome);
	}
}

/* ---- With another node: what its side does is in port_server.c ---- */

static FILE *server;

static uint32_t peer(void)
{
	return ds_test_number("DS_TEST_PEER", "a node that is connected");
}

/* Start the other side and wait until it has bound its services. */
static void server_start(const char *scenario)
{
	char command[512], line[256] = "";

	if (!getenv("DS_TEST_REMOTE"))
		SKIP("DS_TEST_REMOTE is not set: it begins a command that runs on node DS_TEST_PEER");
	snprintf(command, sizeof(command), "%s/port_server %s", getenv("DS_TEST_REMOTE"), scenario);
	server = popen(command, "r");
	ASSERT(server);
	while (fgets(line, sizeof(line), server) && strcmp(line, "ready\n"))
		printf("# other side: %s", line);
	ASSERT(!strcmp(line, "ready\n"));
}

static void server_end(void)
{
	char line[256];

	while (fgets(line, sizeof(line), server))
		printf("# other side: %s", line);
	EXPECT_EQ(0, pclose(server));
}

/* Tell the other side to go on. */
static void server_go(int fd)
{
	struct ds_ioc_msg_send arg = send_arg(peer(), CONTROL, NULL, 0);

	EXPECT_OK(ds_ioctl(fd, DS_IOC_MSG_SEND, &arg));
}

struct request {
	int fd;
	struct ds_ioc_msg_send arg;
	int error;
	char reply[4096];
	pthread_t thread;
};

static void *send_it(void *p)
{
	struct request *r = p;

	r->error = ds_ioctl(r->fd, DS_IOC_MSG_SEND, &r->arg) ? errno : 0;
	return NULL;
}

static void request(struct request *r, int fd, const void *data, uint32_t length)
{
	r->fd = fd;
	r->arg = send_arg(peer(), SERVICE, data, length);
	r->arg.reply = (uintptr_t)r->reply;
	r->arg.reply_size = sizeof(r->reply);
}

TEST(nobody_listens)
{
	struct ds_ioc_msg_send arg = send_arg(peer(), SERVICE, "x", 1);

	EXPECT_ERR(ECONNREFUSED, ds_ioctl(ds_open(), DS_IOC_MSG_SEND, &arg));
	EXPECT_EQ(DS_NOT_EXECUTED, arg.out_outcome);
}

TEST(a_request_is_received_and_answered)
{
	uint32_t node = peer();
	struct request r;

	server_start("answer");
	request(&r, ds_open(), "request", 8);
	send_it(&r);
	EXPECT_EQ(0, r.error);
	EXPECT_EQ(node, r.arg.node);
	EXPECT_EQ(-42, r.arg.out_status);
	EXPECT_EQ(7, r.arg.out_reply_length);
	EXPECT_EQ(DS_EXECUTED, r.arg.out_outcome);
	EXPECT(!memcmp(r.reply, "answer", 7));
	server_end();
}

TEST(the_longest_messages)
{
	static uint8_t data[4096];
	struct request r;

	server_start("echo");
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = i * 7 + i / 256;
	request(&r, ds_open(), data, sizeof(data));
	send_it(&r);
	EXPECT_EQ(0, r.error);
	EXPECT_EQ(0, r.arg.out_status);
	EXPECT_EQ(4096, r.arg.out_reply_length);
	EXPECT(!memcmp(r.reply, data, sizeof(data)));
	server_end();
}

TEST(an_answer_that_does_not_fit)
{
	struct request r;

	server_start("echo");
	request(&r, ds_open(), "12345", 5);
	r.arg.reply_size = 4;
	send_it(&r);
	EXPECT_EQ(EMSGSIZE, r.error);
	EXPECT_EQ(5, r.arg.out_reply_length);
	EXPECT_EQ(DS_EXECUTED, r.arg.out_outcome);
	server_end();
}

/* The other side receives only when it is told to go on. */
TEST(a_full_queue_refuses)
{
	struct ds_ioc_msg_send arg;
	int fd = ds_open();

	server_start("queue");
	for (uint32_t i = 0; i < 4; i++) {
		arg = send_arg(peer(), SERVICE, &i, sizeof(i));
		arg.flags = DS_SEND_ONE_WAY;
		ASSERT_OK(ds_ioctl(fd, DS_IOC_MSG_SEND, &arg));
		EXPECT_EQ(DS_UNKNOWN, arg.out_outcome);
	}
	/* One-way messages may still be on their way when they are sent. */
	ds_sleep_ms(300);
	arg = send_arg(peer(), SERVICE, NULL, 0);
	EXPECT_ERR(EBUSY, ds_ioctl(fd, DS_IOC_MSG_SEND, &arg));
	EXPECT_EQ(DS_NOT_EXECUTED, arg.out_outcome);
	arg = send_arg(peer(), SERVICE, "lost", 4);
	arg.flags = DS_SEND_ONE_WAY;
	EXPECT_OK(ds_ioctl(fd, DS_IOC_MSG_SEND, &arg));
	server_go(fd);
	server_end();
}

TEST(a_service_that_closes_answers_all)
{
	struct request r[3];
	int fd = ds_open(), reset = 0, refused = 0;

	server_start("close");
	for (int i = 0; i < 3; i++) {
		request(&r[i], fd, "x", 1);
		ASSERT(!pthread_create(&r[i].thread, NULL, send_it, &r[i]));
	}
	ds_sleep_ms(500);
	server_go(fd);
	for (int i = 0; i < 3; i++) {
		pthread_join(r[i].thread, NULL);
		if (r[i].error == ECONNRESET) {
			EXPECT_EQ(DS_UNKNOWN, r[i].arg.out_outcome);
			reset++;
		} else if (EXPECT_EQ(ECONNREFUSED, r[i].error)) {
			EXPECT_EQ(DS_NOT_EXECUTED, r[i].arg.out_outcome);
			refused++;
		}
	}
	/* One was received and not answered, two were never received. */
	EXPECT_EQ(1, reset);
	EXPECT_EQ(2, refused);
	server_end();
}

/* A program that is killed is no different. */
TEST(a_server_that_dies_answers_all)
{
	struct request r;

	server_start("die");
	request(&r, ds_open(), "x", 1);
	send_it(&r);
	EXPECT_EQ(ECONNRESET, r.error);
	EXPECT_EQ(DS_UNKNOWN, r.arg.out_outcome);
	while (fgets(r.reply, sizeof(r.reply), server))
		;
	EXPECT(pclose(server) != 0);
}

TEST(a_request_times_out)
{
	int fd = ds_open();
	struct request r;
	uint64_t start;

	server_start("late");
	request(&r, fd, "x", 1);
	r.arg.timeout_ms = 800;
	start = ds_ticks_ms();
	send_it(&r);
	EXPECT(ds_waited(ds_ticks_ms() - start, 800));
	EXPECT_EQ(ETIMEDOUT, r.error);
	EXPECT_EQ(DS_UNKNOWN, r.arg.out_outcome);
	/* The answer that comes too late is nobody's, also not the next one's. */
	server_go(fd);
	server_end();
	request(&r, fd, "x", 1);
	send_it(&r);
	EXPECT_EQ(ECONNREFUSED, r.error);
}

static void *send_until_received(void *p)
{
	struct request *r = p;

	do
		send_it(r);
	while (r->error == EBUSY);	/* the queue was full */
	return NULL;
}

/* A fence of nobody, for which the other host is asked. */
static int ask_the_kernel(int fd)
{
	struct ds_ioc_space_open space = ds_open_space(fd, DS_ACCESS_ALL);
	struct ds_ioc_fence arg = DS_ARG(ds_ioc_fence, .space = space.out_handle, .node = peer(),
					 .token = 1, .timeout_ms = 5000);

	return ds_ioctl(fd, DS_IOC_FENCE, &arg);
}

/* Requests to a program that is slow, until all are answered. @user: of him who sends them. */
static void slow_requests(int fd, void *(*user)(void *p), void (*meanwhile)(int fd))
{
	static struct request r[SLOW_REQUESTS];

	for (size_t i = 0; i < ARRAY_LEN(r); i++) {
		request(&r[i], fd, "x", 1);
		r[i].arg.timeout_ms = 30000;
		ASSERT(!pthread_create(&r[i].thread, NULL, user, &r[i]));
	}
	if (meanwhile) {
		ds_sleep_ms(1000);
		meanwhile(fd);
	}
	for (size_t i = 0; i < ARRAY_LEN(r); i++) {
		pthread_join(r[i].thread, NULL);
		EXPECT_EQ(0, r[i].error);
	}
}

static void the_kernel_answers(int fd)
{
	EXPECT_OK(ask_the_kernel(fd));
}

/* Neither the connection, which all share, nor what the kernels say to each other. */
TEST(a_slow_program_holds_up_its_own_senders_only)
{
	server_start("slow");
	slow_requests(ds_open(), send_until_received, the_kernel_answers);
	server_end();
}

#define USER	12345
#define USERS	20	/* of a namespace of his */

static void *send_as_one_of_many(void *p)
{
	static atomic_int next;
	int uid = next++ % USERS;

	ASSERT_OK(syscall(SYS_setresuid, uid, uid, uid));	/* of this thread */
	return send_until_received(p);
}

/* What a user does who has slow requests from as many users as he can make. */
static void crowd(int fd, int ready, int go)
{
	char c = 0;

	ASSERT_OK(setresuid(USER, USER, USER));
	ASSERT_OK(unshare(CLONE_NEWUSER));
	ASSERT(write(ready, &c, 1) == 1 && read(go, &c, 1) == 1);
	slow_requests(fd, send_as_one_of_many, NULL);
}

static void map_users(pid_t pid)
{
	char path[64], map[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	snprintf(map, sizeof(map), "0 100000 %d", USERS);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ASSERT(fd >= 0 && write(fd, map, strlen(map)) == (ssize_t)strlen(map));
	close(fd);
}

TEST(a_user_leaves_others_a_place)
{
	int fd = ds_open(), ready[2], go[2], status;
	struct request r;
	char c = 0;
	pid_t pid;

	server_start("slow");
	ASSERT(!pipe(ready) && !pipe(go));
	pid = fork();
	ASSERT(pid >= 0);
	if (!pid) {
		crowd(fd, ready[1], go[0]);
		_exit(ds_test_failed);
	}
	ASSERT(read(ready[0], &c, 1) == 1);
	map_users(pid);
	ASSERT(write(go[1], &c, 1) == 1);
	ds_sleep_ms(1000);
	request(&r, fd, "x", 1);
	r.arg.service = CONTROL;
	send_it(&r);
	EXPECT_EQ(0, r.error);
	ASSERT(waitpid(pid, &status, 0) == pid);
	EXPECT_EQ(0, status);
	server_end();
}

#define PLACES	8

static void send_number(int fd, uint32_t node, uint32_t number)
{
	struct ds_ioc_msg_send arg = send_arg(node, SERVICE, &number, sizeof(number));

	arg.flags = DS_SEND_ONE_WAY;
	ASSERT_OK(ds_ioctl(fd, DS_IOC_MSG_SEND, &arg));
	ds_sleep_ms(100);	/* it may still be on its way when it is sent */
}

static struct ds_ioc_msg_recv expect_from(int fd, uint32_t handle, uint32_t node, uint32_t number)
{
	uint32_t data = 0;
	struct ds_ioc_msg_recv in = recv_arg(handle, 5000, &data, sizeof(data));

	ASSERT_OK(ds_ioctl(fd, DS_IOC_MSG_RECV, &in));
	EXPECT_EQ(node, in.out_node);
	EXPECT_EQ(number, data);
	return in;
}

/* This host has filled its own service, when the other one has a request for it. */
TEST(hosts_take_turns_at_a_service)
{
	int fd = ds_open();
	uint32_t handle, self = ds_own_node(fd), other = peer();
	struct ds_ioc_msg_recv in;
	struct request last;

	server_start("ask");
	ASSERT_OK(bind_service(fd, SERVICE, PLACES, &handle));
	for (uint32_t i = 1; i < PLACES; i++)
		send_number(fd, self, i);
	request(&last, fd, "x", 1);
	last.arg.node = self;
	last.arg.timeout_ms = 30000;
	ASSERT(!pthread_create(&last.thread, NULL, send_it, &last));
	ds_sleep_ms(500);
	server_go(fd);
	pthread_join(last.thread, NULL);
	EXPECT_EQ(EBUSY, last.error);
	EXPECT_EQ(DS_NOT_EXECUTED, last.arg.out_outcome);

	in = recv_arg(handle, 0, NULL, sizeof(uint32_t));
	EXPECT_ERR(EFAULT, ds_ioctl(fd, DS_IOC_MSG_RECV, &in));
	expect_from(fd, handle, self, 1);
	in = expect_from(fd, handle, other, 0);
	EXPECT_OK(msg_reply(fd, handle, in.out_cookie, 0, NULL, 0));
	for (uint32_t i = 2; i < PLACES; i++)
		expect_from(fd, handle, self, i);
	EXPECT_ERR(EAGAIN, msg_recv(fd, handle, 0));
	server_end();
}
