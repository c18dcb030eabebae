// SPDX-License-Identifier: GPL-2.0-only
/*
 * The token directory as programs map it: who may, what a mapping may do and how long it
 * lasts, and that it says what the netlink family says.
 */
#include "ds_test.h"
#include "ds_nl.h"
#include "ds_nl_host.h"
#include "ds_packets.h"
#include "ds_proc.h"

#include <ds/directory.h>
#include <ds/token.h>
#include <sys/syscall.h>

#define EXPECT_NO_MAP(error, length, prot, flags, offset)			\
	EXPECT_ERR(error, (intptr_t)mmap(NULL, length, prot, flags, ds_open(), offset) == -1 ? -1 : 0)

static char *map(uint64_t length)
{
	void *p = mmap(NULL, length, PROT_READ, MAP_SHARED, ds_open(), DS_DIRECTORY_OFFSET);

	ASSERT(p != MAP_FAILED);
	return p;
}

static uint32_t end_of(const char *p)
{
	return __atomic_load_n(&((const struct ds_token_directory *)p)->end, __ATOMIC_ACQUIRE);
}

static uint64_t word_of(const char *p, uint32_t index)
{
	return __atomic_load_n((const uint64_t *)(p + DS_DIRECTORY_WORDS) + index, __ATOMIC_RELAXED);
}

/* Bytes that are there: the head, and the words below the end. */
static uint64_t bytes_of(const char *p)
{
	return DS_DIRECTORY_WORDS + 8ull * end_of(p);
}

/* Signal that ends a child which touches @p, 0 if it lives. */
static int touch(volatile char *p, bool write)
{
	int status;
	pid_t pid = fork();

	ASSERT(pid >= 0);
	if (!pid) {
		if (write)
			*p = 1;
		else
			(void)*p;
		_exit(0);
	}
	ASSERT(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static int live_tokens(const char *p)
{
	uint32_t i, end = end_of(p), live = 0;

	for (i = 0; i < end; i++)
		live += (word_of(p, i) >> DS_WORD_STATE_OFF & 3) != 0;
	return live;
}

/* ---- tokens that come and go: of memory that serves packets, one for each 2 MiB ---- */

#define CHUNKS	3

static uint64_t segment;

static void memory_to_serve(void)
{
	struct rdm_space space = { .id = TEST_RDM, .kind = DS_PACKET_HASH };

	prepare_host();
	segment = rdm_segment(CHUNKS * 0x200000, DS_ACCESS_READ, -1);
	space.segment = segment;
	space.access = DS_ACCESS_READ;
	ASSERT(rdm_space_add(&space) == 0);
}

static void no_memory_to_serve(void)
{
	EXPECT_EQ(0, rdm_space_del(TEST_RDM));
	EXPECT_EQ(0, rdm_segment_del(segment));
	tidy_host();
}

/* ---- the first memory region ---- */

/* Of MRs and QPs, which are not on one page with others. */
static bool there_was_one(const char *p)
{
	uint32_t i, end = end_of(p);

	for (i = 0; i < end; i++)
		if (word_of(p, i) >> DS_WORD_TYPE_OFF & DS_TOKEN_MR &&
		    word_of(p, i) >> DS_WORD_GEN_OFF & DS_WORD_GEN_MAX)
			return true;
	return false;
}

/* Before the others: a page that was not there when it was mapped is there when the end says so. */
TEST(it_grows_while_it_is_mapped)
{
	char *p = map(DS_DIRECTORY_BYTES), *beyond = p + bytes_of(p);
	bool first = !there_was_one(p);

	EXPECT_EQ(SIGBUS, touch(beyond, false));
	memory_to_serve();
	printf("# %u indices%s\n", end_of(p), first ? ", 2048 of them new" : "");
	EXPECT(p + bytes_of(p) == beyond + (first ? 2048 * 8 : 0));
	EXPECT_EQ(first ? 0 : SIGBUS, touch(beyond, false));
	EXPECT(!first || *(uint64_t *)beyond);
	EXPECT_EQ(SIGBUS, touch(p + bytes_of(p), false));
	no_memory_to_serve();
}

/* ---- what is refused ---- */

TEST(only_administrators_map_it)
{
	int fd = ds_open();

	be_nobody(RLIM_INFINITY);
	EXPECT_ERR(EPERM, (intptr_t)mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd,
					 DS_DIRECTORY_OFFSET) == -1 ? -1 : 0);
	EXPECT_ERR(EPERM, (intptr_t)mmap(NULL, DS_DIRECTORY_BYTES, PROT_NONE, MAP_SHARED, fd,
					 DS_DIRECTORY_OFFSET) == -1 ? -1 : 0);
}

TEST(nobody_writes_to_it)
{
	static const int others[] = { PROT_WRITE, PROT_READ | PROT_WRITE, PROT_EXEC,
				      PROT_READ | PROT_EXEC };
	char *p = map(DS_DIRECTORY_BYTES);
	char *none = mmap(NULL, PAGE, PROT_NONE, MAP_SHARED, ds_open(), DS_DIRECTORY_OFFSET);
	size_t i;

	ASSERT(none != MAP_FAILED);
	for (i = 0; i < ARRAY_LEN(others); i++) {
		EXPECT_NO_MAP(EACCES, PAGE, others[i], MAP_SHARED, DS_DIRECTORY_OFFSET);
		EXPECT_NO_MAP(EINVAL, PAGE, others[i], MAP_PRIVATE, DS_DIRECTORY_OFFSET);
		EXPECT_ERR(EACCES, mprotect(p, PAGE, others[i]));
		EXPECT_ERR(EACCES, mprotect(p + PAGE, PAGE, others[i]));
		EXPECT_ERR(EACCES, mprotect(none, PAGE, others[i]));
	}
	EXPECT_EQ(SIGSEGV, touch(p, true));
	EXPECT_EQ(SIGSEGV, touch(p + PAGE, true));
	EXPECT_EQ(SIGSEGV, touch(none, false));
	EXPECT_OK(mprotect(none, PAGE, PROT_READ));
	EXPECT_EQ(0, touch(none, false));
}

/* Nor does the kernel for somebody. */
TEST(no_call_writes_to_it)
{
	char *p = map(DS_DIRECTORY_BYTES), byte = 1;
	int zero = open("/dev/zero", O_RDONLY), self = open("/proc/self/mem", O_RDWR);
	struct ds_ioc_buf_pin pin = DS_ARG(ds_ioc_buf_pin, .addr = (uintptr_t)p + PAGE,
					   .length = PAGE);
	uint64_t before;

	(void)*(volatile char *)(p + PAGE);
	before = word_of(p, 0);
	ASSERT(zero >= 0 && self >= 0);
	EXPECT_ERR(EFAULT, read(zero, p + PAGE, 8));
	EXPECT_EQ(-1, pwrite(self, &byte, 1, (uintptr_t)p + PAGE));
	EXPECT_EQ(1, pread(self, &byte, 1, (uintptr_t)p + PAGE));
	EXPECT_ERR(EFAULT, ds_ioctl(ds_open(), DS_IOC_BUF_PIN, &pin));
	EXPECT_EQ(before, word_of(p, 0));
}

TEST(only_shared_and_no_longer)
{
	EXPECT_NO_MAP(EINVAL, PAGE, PROT_READ, MAP_PRIVATE, DS_DIRECTORY_OFFSET);
	EXPECT_NO_MAP(EINVAL, DS_DIRECTORY_BYTES, PROT_READ, MAP_PRIVATE, DS_DIRECTORY_OFFSET);
	EXPECT_NO_MAP(EINVAL, DS_DIRECTORY_BYTES + 1, PROT_READ, MAP_SHARED, DS_DIRECTORY_OFFSET);
	EXPECT_NO_MAP(EINVAL, DS_DIRECTORY_BYTES + PAGE, PROT_READ, MAP_SHARED, DS_DIRECTORY_OFFSET);
	EXPECT_NO_MAP(EINVAL, 1ull << 40, PROT_READ, MAP_SHARED, DS_DIRECTORY_OFFSET);
}

TEST(only_at_its_offset)
{
	static const int64_t beside[] = { -(int64_t)PAGE, PAGE, DS_DIRECTORY_BYTES - PAGE,
					  DS_DIRECTORY_BYTES, 1ll << 44 };
	size_t i;

	for (i = 0; i < ARRAY_LEN(beside); i++)
		EXPECT_NO_MAP(EBADF, PAGE, PROT_READ, MAP_SHARED, DS_DIRECTORY_OFFSET + beside[i]);
	EXPECT_NO_MAP(EINVAL, PAGE, PROT_READ, MAP_SHARED, DS_DIRECTORY_OFFSET + 8);
}

/* ---- what a mapping may do ---- */

TEST(what_is_not_there_is_sigbus)
{
	char *p = map(DS_DIRECTORY_BYTES);
	uint64_t bytes = bytes_of(p), at;
	int file = memfd_create("copy", 0);

	EXPECT_EQ(DS_DIRECTORY_VERSION, ((struct ds_token_directory *)p)->version);
	ASSERT(end_of(p) > 0 && end_of(p) % 2048 == 0 && bytes < DS_DIRECTORY_BYTES);
	for (at = 0; at < bytes; at += PAGE)
		EXPECT_EQ(0, touch(p + at, false));
	EXPECT_EQ(SIGBUS, touch(p + bytes, false));
	EXPECT_EQ(SIGBUS, touch(p + DS_DIRECTORY_BYTES - 1, false));
	/* Nor does the kernel get at it. */
	EXPECT_EQ(PAGE, write(file, p, PAGE));
	EXPECT_ERR(EFAULT, write(file, p + bytes, PAGE));
}

TEST(a_mapping_keeps_its_length)
{
	char *p = map(3 * PAGE), *q;

	EXPECT(mremap(p, 3 * PAGE, 4 * PAGE, 0) == MAP_FAILED);
	EXPECT(mremap(p, 3 * PAGE, 4 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	EXPECT(mremap(p, 0, 4 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	EXPECT_ERR(EINVAL, madvise(p, 3 * PAGE, MADV_DODUMP));
	/* A part of it, moved, is that part. */
	q = mremap(p + PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, ds_memory(PAGE, PROT_READ));
	ASSERT(q != MAP_FAILED);
	EXPECT_EQ(0, touch(q, false));
	EXPECT_ERR(EACCES, mprotect(q, PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(word_of(map(2 * PAGE), 1), word_of(q - PAGE, 1));
	EXPECT_OK(munmap(p, PAGE));
	EXPECT_EQ(0, touch(p + 2 * PAGE, false));
}

TEST(pages_that_were_dropped_come_back)
{
	char *p = map(DS_DIRECTORY_BYTES);
	uint64_t word = word_of(p, 0);

	EXPECT_OK(madvise(p, DS_DIRECTORY_BYTES, MADV_DONTNEED));
	EXPECT_EQ(word, word_of(p, 0));
	EXPECT(madvise(p, bytes_of(p), MADV_REMOVE) < 0);
	(void)madvise(p, bytes_of(p), MADV_PAGEOUT);
	EXPECT_EQ(word, word_of(p, 0));
}

TEST(a_child_inherits_it)
{
	char *p = map(DS_DIRECTORY_BYTES);
	uint64_t word = word_of(p, 0);
	int status;
	pid_t pid = fork();

	ASSERT(pid >= 0);
	if (!pid) {
		be_nobody(RLIM_INFINITY);
		EXPECT_EQ(word, word_of(p, 0));
		EXPECT_ERR(EACCES, mprotect(p, PAGE, PROT_READ | PROT_WRITE));
		EXPECT_EQ(SIGSEGV, touch(p + PAGE, true));
		_exit(ds_test_failed);
	}
	ASSERT(waitpid(pid, &status, 0) == pid);
	EXPECT_EQ(0, status);
}

/* ---- how long it lasts ---- */

TEST(a_mapping_holds_the_module)
{
	int fd = ds_open();
	char *p = mmap(NULL, DS_DIRECTORY_BYTES, PROT_READ, MAP_SHARED, fd, DS_DIRECTORY_OFFSET);
	uint64_t word;

	ASSERT(p != MAP_FAILED);
	ASSERT_OK(close(fd));
	word = word_of(p, 0);
	errno = 0;
	EXPECT_EQ(-1, syscall(SYS_delete_module, "ds", O_NONBLOCK));
	EXPECT_EQ(EWOULDBLOCK, errno);
	EXPECT_EQ(word, word_of(p, 0));
	EXPECT(ds_open() >= 0);
}

/* ---- what it says ---- */

struct comparison {
	const char *p;
	int tokens, differ;
};

static uint32_t tier_of(uint64_t word)
{
	uint32_t state = word >> DS_WORD_STATE_OFF & DS_WORD_STATE_MAX;
	uint32_t slot = word >> DS_WORD_SLOT_OFF & DS_WORD_SLOT_MAX;

	if (state < DS_TOKEN_TO_L1)
		return state;
	return slot == DS_FROM_HOME ? 3 : slot < DS_FROM_L2 ? 1 : 2;
}

static void compare(void *ctx)
{
	struct comparison *all = ctx;
	uint32_t token = nl_get(DS_A_TOKEN), flags = nl_get(DS_A_FLAGS);
	uint32_t index = token & ((1u << DS_TOKEN_INDEX_BITS) - 1);
	uint64_t word;

	if (flags & DS_TOKEN_FOREIGN)
		return;
	all->tokens++;
	ASSERT(index < end_of(all->p));
	word = word_of(all->p, index);
	if (nl_get(DS_A_WORD_VERSION) != word / DS_WORD_VERSION) {
		all->differ++;	/* it has moved meanwhile */
		return;
	}
	EXPECT_EQ(nl_get(DS_A_TYPE), word >> DS_WORD_TYPE_OFF & DS_WORD_TYPE_MAX);
	EXPECT_EQ(nl_get(DS_A_GENERATION), word >> DS_WORD_GEN_OFF & DS_WORD_GEN_MAX);
	EXPECT_EQ(nl_get(DS_A_TIER), tier_of(word));
	EXPECT_EQ(!(flags & DS_TOKEN_PINNED), !(word & DS_WORD_PINNED));
	EXPECT_EQ(!(flags & DS_TOKEN_DIRTY), !(word & DS_WORD_DIRTY));
	EXPECT_EQ(token >> DS_TOKEN_TYPE_OFF, word >> DS_WORD_TYPE_OFF & DS_WORD_TYPE_MAX);
}

TEST(it_says_what_the_dump_says)
{
	struct comparison all = { .p = map(DS_DIRECTORY_BYTES) };
	int before = live_tokens(all.p);

	memory_to_serve();
	EXPECT_EQ(before + CHUNKS, live_tokens(all.p));
	EXPECT_EQ(0, nl_dump(DS_CMD_TOKEN_GET, compare, &all, NULL));
	EXPECT_EQ(all.tokens, live_tokens(all.p));
	EXPECT(all.differ <= all.tokens / 2);
	no_memory_to_serve();
	EXPECT_EQ(before, live_tokens(all.p));
}
