// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the receiving side of ports.c, on another node.
 *
 *	port_server answer|echo|queue|close|die|late|slow|ask
 *
 * Binds its services, prints "ready", does what the scenario says and ends with
 * status 1 if something was not as it should be.
 */
#define DS_TEST_NO_MAIN
#include "ds_test.h"
#include "ds_ports.h"

#define WAIT_MS	10000

static int fd;
static uint32_t service, control;
static uint8_t data[4096];

static struct ds_ioc_msg_recv receive(uint32_t handle)
{
	struct ds_ioc_msg_recv in = recv_arg(handle, WAIT_MS, data, sizeof(data));

	ASSERT_OK(ds_ioctl(fd, DS_IOC_MSG_RECV, &in));
	return in;
}

/* Until ports.c says so. Return its node. */
static uint32_t wait_to_go_on(void)
{
	struct ds_ioc_msg_recv in = receive(control);

	EXPECT_OK(msg_reply(fd, control, in.out_cookie, 0, NULL, 0));
	return in.out_node;
}

/* Wrong calls first: the message stays queued, the request stays pending. */
static void answer(void)
{
	char *edge = ds_memory_edge(4);
	struct ds_ioc_msg_recv in = recv_arg(service, WAIT_MS, data, 7);

	EXPECT_ERR(EMSGSIZE, ds_ioctl(fd, DS_IOC_MSG_RECV, &in));
	EXPECT_EQ(8, in.out_length);
	in = recv_arg(service, WAIT_MS, edge, 64);
	EXPECT_ERR(EFAULT, ds_ioctl(fd, DS_IOC_MSG_RECV, &in));
	in = receive(service);
	EXPECT_EQ(8, in.out_length);
	EXPECT(in.out_node > 0);
	EXPECT_EQ(1, in.out_want_reply);
	EXPECT(!memcmp(data, "request", 8));
	EXPECT_ERR(EAGAIN, msg_recv(fd, service, 0));

	for (int bit = 0; bit < 64; bit++)
		EXPECT_ERR(ENOENT, msg_reply(fd, service, in.out_cookie ^ 1ull << bit, 0, NULL, 0));
	EXPECT_ERR(ENOENT, msg_reply(fd, control, in.out_cookie, 0, NULL, 0));
	EXPECT_ERR(EFAULT, msg_reply(fd, service, in.out_cookie, 0, edge, 8));
	EXPECT_ERR(EINVAL, msg_reply(fd, service, in.out_cookie, -EBUSY, NULL, 0));
	EXPECT_OK(msg_reply(fd, service, in.out_cookie, -42, "answer", 7));
	EXPECT_ERR(ENOENT, msg_reply(fd, service, in.out_cookie, 0, NULL, 0));
}

static void echo(void)
{
	struct ds_ioc_msg_recv in = receive(service);

	EXPECT_OK(msg_reply(fd, service, in.out_cookie, 0, data, in.out_length));
}

static void queue(void)
{
	bool seen[4] = {};
	uint32_t number;

	wait_to_go_on();
	for (int i = 0; i < 4; i++) {
		struct ds_ioc_msg_recv in = receive(service);

		EXPECT_EQ(0, in.out_want_reply);
		EXPECT_EQ(0, in.out_cookie);
		ASSERT(in.out_length == sizeof(number));
		memcpy(&number, data, sizeof(number));
		ASSERT(number < 4 && !seen[number]);
		seen[number] = true;
	}
	EXPECT_ERR(EAGAIN, msg_recv(fd, service, 0));
}

static void close_service(void)
{
	wait_to_go_on();
	receive(service);
	EXPECT_OK(ds_close_handle(fd, DS_HANDLE_SERVICE, service));
}

static void die(void)
{
	receive(service);
	raise(SIGKILL);
}

static void late(void)
{
	struct ds_ioc_msg_recv in;

	wait_to_go_on();
	in = receive(service);
	EXPECT_OK(msg_reply(fd, service, in.out_cookie, 0, "late", 5));
}

/* Answers nobody for SLOW_MS, but who tells it to go on. */
static void slow(void)
{
	uint64_t cookies[SLOW_REQUESTS], end = ds_now_ms() + SLOW_MS;
	size_t received = 0, answered = 0;

	while (answered < SLOW_REQUESTS) {
		struct ds_ioc_msg_recv in = recv_arg(control, 0, data, sizeof(data));

		if (!ds_ioctl(fd, DS_IOC_MSG_RECV, &in))
			EXPECT_OK(msg_reply(fd, control, in.out_cookie, 0, NULL, 0));
		in = recv_arg(service, 100, data, sizeof(data));
		if (received < SLOW_REQUESTS && !ds_ioctl(fd, DS_IOC_MSG_RECV, &in))
			cookies[received++] = in.out_cookie;
		if (received == SLOW_REQUESTS)
			ds_sleep_ms(100);
		while (ds_now_ms() >= end && answered < received)
			EXPECT_OK(msg_reply(fd, service, cookies[answered++], 0, NULL, 0));
	}
}

static void ask(void)
{
	struct ds_ioc_msg_send arg = send_arg(wait_to_go_on(), SERVICE, NULL, 0);

	EXPECT_OK(ds_ioctl(fd, DS_IOC_MSG_SEND, &arg));
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{ "answer", answer }, { "echo", echo }, { "queue", queue },
	{ "close", close_service }, { "die", die }, { "late", late }, { "slow", slow }, { "ask", ask },
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(DS_TEST_SECONDS);
	for (size_t i = 0; argc == 2 && i < ARRAY_LEN(scenarios); i++) {
		if (strcmp(argv[1], scenarios[i].name))
			continue;
		fd = ds_open();
		ASSERT_OK(bind_service(fd, SERVICE, 4, &service));
		ASSERT_OK(bind_service(fd, CONTROL, 1, &control));
		printf("ready\n");
		scenarios[i].run();
		return ds_test_failed;
	}
	fprintf(stderr, "usage: port_server answer|echo|queue|close|die|late|slow|ask\n");
	return 2;
}
