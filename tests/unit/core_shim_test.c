// SPDX-License-Identifier: Apache-2.0
/* The user-space side of the shim means what the kernel's means. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim.h"

static void types(void **state)
{
	(void)state;
	static_assert(sizeof(u8) == 1 && sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8);
	static_assert((s8)-1 < 0 && (s16)-1 < 0 && (s32)-1 < 0 && (s64)-1 < 0);
	static_assert(ARRAY_SIZE(((int[7]){ 0 })) == 7);
	assert_int_equal(cpu_to_le16(0x11234), 0x1234);
	assert_int_equal(le64_to_cpu(cpu_to_le64(0x0123456789abcdefULL)), 0x0123456789abcdefULL);
	assert_int_equal(*(const u8 *)&(__le32){ cpu_to_le32(0x01020304) }, 4);
}

/* The check value of CRC-32C, and RFC 3720's 32 bytes of zeros, ones and steps. */
static void crc(void **state)
{
	u8 bytes[32];
	int i;

	(void)state;
	assert_int_equal(~crc32c(~0u, "123456789", 9), 0xe3069283);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(~crc32c(~0u, bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(~crc32c(~0u, bytes, 32), 0x62a8ab43);
	for (i = 0; i < 32; i++)
		bytes[i] = (u8)i;
	assert_int_equal(~crc32c(~0u, bytes, 32), 0x46dd794e);
	assert_int_equal(crc32c(crc32c(5, bytes, 11), bytes + 11, 21), crc32c(5, bytes, 32));
	assert_int_equal(crc32c(5, bytes, 0), 5);
}

/* The example of the paper's appendix, and its authors' vectors for lengths around a word. */
static void siphash(void **state)
{
	u8 key[16], bytes[64];
	int i;

	(void)state;
	for (i = 0; i < 16; i++)
		key[i] = (u8)i;
	for (i = 0; i < 64; i++)
		bytes[i] = (u8)i;
	assert_int_equal(ds_siphash(bytes, 15, key), 0xa129ca6149be45e5ULL);
	assert_int_equal(ds_siphash(bytes, 0, key), 0x726fdb47dd0e0e31ULL);
	assert_int_equal(ds_siphash(bytes, 1, key), 0x74f839c593dc67fdULL);
	assert_int_equal(ds_siphash(bytes, 7, key), 0xab0200f58b01d137ULL);
	assert_int_equal(ds_siphash(bytes, 8, key), 0x93f5f5799a932462ULL);
	assert_int_equal(ds_siphash(bytes, 63, key), 0x958a324ceb064572ULL);
}

static void numbers(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 64; i++) {
		assert_int_equal(ilog2(1ULL << i), i);
		assert_int_equal(ilog2(~0ULL >> i), 63 - i);
	}
	assert_int_equal(hash_64(1, 32), 0x61c88646);	/* the golden ratio's upper half */
	assert_int_equal(hash_64(1, 8), 0x61);
	assert_int_equal(min(2, -3), -3);
	assert_int_equal(max(2, -3), 2);
	assert_int_equal(ds_array_index_nospec(3, 4), 3);
}

static void memory_and_time(void **state)
{
	struct { int before; u64 member; } s, *p;
	u8 *bytes = ds_alloc(4096);
	u64 t = ds_mono_ns();
	int i;

	(void)state;
	assert_non_null(bytes);
	for (i = 0; i < 4096; i++)
		assert_int_equal(bytes[i], 0);
	ds_free(bytes);
	ds_free(NULL);
	p = container_of(&s.member, __typeof__(s), member);
	assert_ptr_equal(p, &s);
	for (i = 0; i < 1000; i++) {
		u64 now = ds_mono_ns();

		assert_true(now >= t);
		t = now;
	}
	assert_true(t > 1000);
}

static void exchange_returns_the_old_value(void **state)
{
	u64 word = 5;

	(void)state;
	assert_int_equal(ds_cmpxchg64(&word, 4, 9), 5);
	assert_int_equal(word, 5);
	assert_int_equal(ds_cmpxchg64(&word, 5, 9), 5);
	assert_int_equal(word, 9);
}

enum { THREADS = 4, ADDS = 20000 };

static u64 by_exchange, by_lock;
static ds_spin_t lock;

static void *adder(void *arg)
{
	u64 word;
	int i;

	(void)arg;
	for (i = 0; i < ADDS; i++) {
		do
			word = READ_ONCE(by_exchange);
		while (ds_cmpxchg64(&by_exchange, word, word + 1) != word);
		ds_spin_lock(&lock);
		by_lock++;
		ds_spin_unlock(&lock);
	}
	return NULL;
}

static void threads(void **state)
{
	pthread_t t[THREADS];
	int i;

	(void)state;
	ds_spin_init(&lock);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, adder, NULL), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(by_exchange, THREADS * ADDS);
	assert_int_equal(by_lock, THREADS * ADDS);
}

static u64 published;
static int payload;

static void *publisher(void *arg)
{
	(void)arg;
	payload = 42;
	smp_store_release(&published, 1);
	return NULL;
}

static void release_and_acquire(void **state)
{
	pthread_t t;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, publisher, NULL), 0);
	while (!smp_load_acquire(&published))
		;
	assert_int_equal(payload, 42);
	pthread_join(t, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types),
		cmocka_unit_test(crc),
		cmocka_unit_test(siphash),
		cmocka_unit_test(numbers),
		cmocka_unit_test(memory_and_time),
		cmocka_unit_test(exchange_returns_the_old_value),
		cmocka_unit_test(threads),
		cmocka_unit_test(release_and_acquire),
	};

	return cmocka_run_group_tests_name("core_shim", tests, NULL, NULL);
}
