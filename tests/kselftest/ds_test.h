/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: what the kselftest programs share: tests that print TAP, and /dev/ds.
 *
 *	TEST(name_of_the_test)
 *	{
 *		int fd = ds_open();
 *		...
 *		EXPECT_ERR(EINVAL, ds_ioctl(fd, DS_IOC_INFO, &info));
 *	}
 *
 * A program includes this header once and has no main(), or defines
 * DS_TEST_NO_MAIN before. Each test runs in a
 * process of its own for at most DS_TEST_SECONDS, so that one that crashes or
 * hangs fails alone, and what it opened is closed. EXPECT goes on after a
 * failure, ASSERT ends the test. SKIP(reason) ends it as skipped; a program that
 * finds no /dev/ds skips all with status 4.
 *
 * DS_TEST_STORM=1 in the environment sends a signal to each test every
 * millisecond: results must not change. DS_TEST_SLOW=N says that the machine is N
 * times slower than Debian's kernel makes it.
 */
#ifndef DS_TEST_H
#define DS_TEST_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ds/ioctl.h>

#define DS_TEST_DEVICE	"/dev/ds"
#define DS_TEST_SECONDS	(60 * ds_test_slow())
#define DS_TEST_MAX	64
#define DS_TEST_SKIP	4	/* status of a skipped test, as kselftest has it */

#define PAGE		4096ul
#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))

/* ---- Tests ---- */

struct ds_test {
	const char *name;
	void (*run)(void);
};

/* Unused in a program without tests of its own. */
static struct ds_test ds_tests[DS_TEST_MAX] __attribute__((unused));
static int ds_test_count __attribute__((unused));
static volatile int ds_test_failed;	/* threads write it too */
static char *ds_test_reason;		/* shared with the test's process */

#define TEST(id)							\
	static void id(void);						\
	__attribute__((constructor)) static void id##_add(void)		\
	{								\
		if (ds_test_count == DS_TEST_MAX)			\
			abort();					\
		ds_tests[ds_test_count++] = (struct ds_test){ #id, id };	\
	}								\
	static void id(void)

__attribute__((format(printf, 3, 4)))
static inline void ds_test_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	ds_test_failed = 1;
	va_start(args, format);
	printf("# %s:%d: ", file, line);
	vprintf(format, args);
	printf("\n");
	va_end(args);
}

static inline const char *ds_errno_name(int error)
{
	const char *name = error ? strerrorname_np(error) : "success";

	return name ? name : "unknown errno";
}

static inline bool ds_test_errno(const char *file, int line, const char *call, int want, int have)
{
	if (want != have)
		ds_test_fail(file, line, "%s: %s, expected %s", call, ds_errno_name(have),
			     ds_errno_name(want));
	return want == have;
}

#define SKIP(reason) do {						\
	snprintf(ds_test_reason, PAGE, "%s", reason);			\
	exit(DS_TEST_SKIP);						\
} while (0)

#define EXPECT(condition) ({						\
	bool ok_ = (condition);						\
	if (!ok_)							\
		ds_test_fail(__FILE__, __LINE__, "not so: %s (errno %d)",	\
			     #condition, errno);			\
	ok_; })

#define EXPECT_EQ(want, have) ({					\
	long long want_ = (long long)(want), have_ = (long long)(have);	\
	if (want_ != have_)						\
		ds_test_fail(__FILE__, __LINE__, "%s is %lld, not %lld (errno %d)",	\
			     #have, have_, want_, errno);		\
	want_ == have_; })

/* @call fails with @error, or returns 0 if @error is 0. */
#define EXPECT_ERR(error, call)	({ errno = 0;				\
	ds_test_errno(__FILE__, __LINE__, #call, error, (call) == -1 ? errno : 0); })
#define EXPECT_OK(call)	({ errno = 0;					\
	ds_test_errno(__FILE__, __LINE__, #call, 0, (call) == -1 ? errno : 0); })

#define ASSERT(condition) do {						\
	if (!EXPECT(condition))						\
		exit(1);						\
} while (0)

#define ASSERT_OK(call) do {						\
	errno = 0;							\
	if (!ds_test_errno(__FILE__, __LINE__, #call, 0, (call) == -1 ? errno : 0))	\
		exit(1);						\
} while (0)

static inline unsigned int ds_test_slow(void)
{
	const char *slow = getenv("DS_TEST_SLOW");

	return slow && atoi(slow) > 1 ? atoi(slow) : 1;
}

static inline void ds_test_ignore(int signal)
{
	(void)signal;
}

/* A signal every millisecond that does nothing but interrupt. */
static inline void ds_test_storm(void)
{
	struct sigaction action = { .sa_handler = ds_test_ignore, .sa_flags = SA_RESTART };
	long ns = 1000000l * ds_test_slow();
	struct itimerspec every = { { 0, ns }, { 0, ns } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2 };
	timer_t timer;

	if (sigaction(SIGUSR2, &action, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &every, NULL)) {
		perror("# storm of signals");
		exit(1);
	}
}

/* Run one test in a process of its own. Return its wait status. */
static inline int ds_test_run(const struct ds_test *test)
{
	int status;
	pid_t pid = fork();

	if (pid < 0) {
		perror("# fork");
		return 1 << 8;
	}
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(DS_TEST_SECONDS);
		if (getenv("DS_TEST_STORM") && *getenv("DS_TEST_STORM") == '1')
			ds_test_storm();
		test->run();
		exit(ds_test_failed);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1 << 8;
	return status;
}

#ifndef DS_TEST_NO_MAIN
int main(void)
{
	int i, status, failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n");
	if (access(DS_TEST_DEVICE, R_OK | W_OK)) {
		printf("1..0 # SKIP no access to %s (%s): load ds.ko, be root\n", DS_TEST_DEVICE,
		       ds_errno_name(errno));
		return DS_TEST_SKIP;
	}
	ds_test_reason = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ds_test_reason == MAP_FAILED) {
		perror("# mmap");
		return 1;
	}

	printf("1..%d\n", ds_test_count);
	for (i = 0; i < ds_test_count; i++) {
		status = ds_test_run(&ds_tests[i]);
		if (WIFSIGNALED(status))
			printf("# ended by signal %d%s\n", WTERMSIG(status),
			       WTERMSIG(status) == SIGALRM ? ": it took too long" : "");
		if (WIFEXITED(status) && !WEXITSTATUS(status)) {
			printf("ok %d - %s\n", i + 1, ds_tests[i].name);
		} else if (WIFEXITED(status) && WEXITSTATUS(status) == DS_TEST_SKIP) {
			printf("ok %d - %s # SKIP %s\n", i + 1, ds_tests[i].name, ds_test_reason);
		} else {
			printf("not ok %d - %s\n", i + 1, ds_tests[i].name);
			failed = 1;
		}
	}
	return failed;
}
#endif

/* ---- /dev/ds ---- */

/* An argument of an ioctl: DS_ARG(ds_ioc_close, .handle = 1). */
#define DS_ARG(type, ...)	((struct type){ .size = sizeof(struct type), ##__VA_ARGS__ })

#define ds_ioctl(fd, cmd, arg)	ioctl(fd, cmd, arg)

static inline int ds_open(void)
{
	int fd = open(DS_TEST_DEVICE, O_RDWR | O_CLOEXEC);

	ASSERT(fd >= 0);
	return fd;
}

static inline int ds_close_handle(int fd, uint32_t type, uint32_t handle)
{
	struct ds_ioc_close arg = DS_ARG(ds_ioc_close, .type = type, .handle = handle);

	return ds_ioctl(fd, DS_IOC_CLOSE, &arg);
}

/* A buffer of kernel pages. Return its handle. */
static inline uint32_t ds_make_buf(int fd, uint64_t length, uint64_t *offset)
{
	struct ds_ioc_buf_create arg = DS_ARG(ds_ioc_buf_create, .length = length, .numa_node = -1);

	ASSERT_OK(ds_ioctl(fd, DS_IOC_BUF_CREATE, &arg));
	ASSERT(arg.out_handle);
	if (offset)
		*offset = arg.out_mmap_offset;
	return arg.out_handle;
}

static inline void *ds_map(int fd, uint64_t length, uint64_t offset)
{
	void *p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	ASSERT(p != MAP_FAILED);
	return p;
}

/* Anonymous private memory of the test. */
static inline void *ds_memory(uint64_t length, int prot)
{
	void *p = mmap(NULL, length, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT(p != MAP_FAILED);
	return p;
}

/* A pointer to @size bytes that end where a page without access begins. */
static inline void *ds_memory_edge(size_t size)
{
	char *p = ds_memory(2 * PAGE, PROT_READ | PROT_WRITE);

	ASSERT_OK(mprotect(p + PAGE, PAGE, PROT_NONE));
	return p + PAGE - size;
}

/* The number in environment variable @name, or skip the test. */
static inline uint32_t ds_test_number(const char *name, const char *what)
{
	char reason[128];

	if (!getenv(name)) {
		snprintf(reason, sizeof(reason), "%s is not set: it names %s", name, what);
		SKIP(reason);
	}
	return strtoul(getenv(name), NULL, 0);
}

static inline uint32_t ds_own_node(int fd)
{
	struct ds_ioc_info info = DS_ARG(ds_ioc_info);

	ASSERT_OK(ds_ioctl(fd, DS_IOC_INFO, &info));
	return info.out_node;
}

static inline struct ds_ioc_space_open ds_open_space(int fd, uint32_t access)
{
	struct ds_ioc_space_open arg = DS_ARG(ds_ioc_space_open, .access = access,
		.space = ds_test_number("DS_TEST_SPACE", "an attached space"));

	ASSERT_OK(ds_ioctl(fd, DS_IOC_SPACE_OPEN, &arg));
	return arg;
}

static inline uint64_t ds_clock_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000ull + now.tv_nsec / 1000;
}

static inline uint64_t ds_clock_ms(clockid_t clock)
{
	return ds_clock_us(clock) / 1000;
}

static inline uint64_t ds_now_us(void)
{
	return ds_clock_us(CLOCK_MONOTONIC);
}

static inline uint64_t ds_now_ms(void)
{
	return ds_clock_ms(CLOCK_MONOTONIC);
}

/*
 * The time by the kernel's ticks, which its timeouts are counted in. A virtual machine that its host
 * kept from running gets the ticks it missed later, all at once: a timeout is then shorter by
 * CLOCK_MONOTONIC than was asked for, but not by this clock, which moves with them.
 */
static inline uint64_t ds_ticks_ms(void)
{
	return ds_clock_ms(CLOCK_MONOTONIC_COARSE);
}

/* Are @took ms the @ms that were asked for? 20 ms are for two ticks of the slowest kernel. */
static inline bool ds_waited(uint64_t took, uint64_t ms)
{
	return took + 20 >= ms && took < ms + 5000;
}

/* As poll(2) of one file, but signals do not end it. Return its events, 0, or -1. */
static inline int ds_poll(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };
	uint64_t end = ds_now_ms() + timeout_ms;
	int rc;

	do {
		uint64_t now = ds_now_ms();

		rc = poll(&p, 1, now < end ? end - now : 0);
	} while (rc < 0 && errno == EINTR);
	return rc > 0 ? p.revents : rc;
}

static inline void ds_sleep_ms(unsigned int ms)
{
	struct timespec left = { ms / 1000, ms % 1000 * 1000000l };

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

#endif
