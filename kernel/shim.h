/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: all that the portable core may use (docs/design.md rule 1).
 *
 * A core file includes this file, its own headers and those of
 * include/uapi/ds, and nothing else; so it compiles into ds.ko and into user
 * space, where it is tested. Names are the kernel's where the kernel has the
 * same thing, and begin with ds_ where the two worlds differ.
 *
 *  types		u8 to u64, s8 to s64, bool, size_t, NULL, __le16 to __le64
 *  byte order		cpu_to_le16() to le64_to_cpu()
 *  shared words	READ_ONCE, WRITE_ONCE, smp_load_acquire, smp_store_release,
 *			ds_cmpxchg64 (returns the old value; orders fully if that was @old),
 *			ds_cmpxchg_ptr (the same with a pointer)
 *  spinlock		ds_spin_t, ds_spin_init, ds_spin_lock, ds_spin_unlock
 *  memory		ds_alloc (zeroed, may sleep, NULL if there is none), ds_alloc_node
 *			(in the kernel of that NUMA node, or NULL; -1: the processor's), ds_free,
 *			ds_alloc_pages, ds_free_pages (in the kernel whole pages, which
 *			programs may map), memcpy, memmove, memset, memcmp, prefetch (of an
 *			address, which need not be there)
 *  time		ds_mono_ns, ds_may_resched (in long loops; may sleep), cpu_relax
 *			(in short ones)
 *  checks		crc32c (seed in, no inversion), hash_64, ilog2, ds_siphash
 *  the rest		static_assert, ARRAY_SIZE, container_of, min, max,
 *			ds_array_index_nospec, ds_noinline, errno numbers
 *
 * In user space DS_ALONE says that one thread has all that the core keeps: then shared words are
 * plain ones, and locks are none.
 */
#ifndef DS_SHIM_H
#define DS_SHIM_H

#if !defined(__LP64__) || !(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#error "DS needs a 64-bit little-endian machine"
#endif

#ifdef __KERNEL__

#include <linux/atomic.h>
#include <linux/build_bug.h>
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/types.h>

#define ds_cmpxchg64(p, old, new)	cmpxchg64(p, old, new)
#define ds_cmpxchg_ptr(p, old, new)	cmpxchg(p, old, new)

#define ds_spin_t			spinlock_t
#define ds_spin_init(lock)		spin_lock_init(lock)
#define ds_spin_lock(lock)		spin_lock(lock)
#define ds_spin_unlock(lock)		spin_unlock(lock)

#define ds_alloc(size)			kvzalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN)
#define DS_ALLOC_NODE_GFP		(GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_THISNODE)
#define ds_alloc_node(size, node)	kvzalloc_node(size, DS_ALLOC_NODE_GFP, node)
#define ds_free(p)			kvfree(p)
#define DS_ALLOC_PAGES_GFP		(GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_ZERO)
#define ds_alloc_pages(size)		alloc_pages_exact(size, DS_ALLOC_PAGES_GFP)

static inline void ds_free_pages(void *p, size_t size)
{
	if (p)
		free_pages_exact(p, size);
}

#define ds_mono_ns()			ktime_get_ns()
#define ds_may_resched()		cond_resched()
#define ds_array_index_nospec(i, n)	array_index_nospec(i, n)
#define ds_noinline			noinline

/* SipHash-2-4 under a key of 16 bytes. */
static inline u64 ds_siphash(const void *data, size_t length, const u8 *key)
{
	siphash_key_t k;

	memcpy(k.key, key, sizeof(k.key));	/* little-endian, as the machine */
	return siphash(data, length, &k);
}

#else /* user space */

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

#define cpu_to_le16(x)			((__le16)(u16)(x))
#define cpu_to_le32(x)			((__le32)(u32)(x))
#define cpu_to_le64(x)			((__le64)(u64)(x))
#define le16_to_cpu(x)			((u16)(x))
#define le32_to_cpu(x)			((u32)(x))
#define le64_to_cpu(x)			((u64)(x))

#ifdef DS_ALONE

#define READ_ONCE(x)			(x)
#define WRITE_ONCE(x, value)		((void)((x) = (value)))
/* Nobody else has written it. */
#define smp_load_acquire(p)		(*(p))
/* Nobody else reads it. */
#define smp_store_release(p, value)	((void)(*(p) = (value)))

static inline u64 ds_cmpxchg64(u64 *p, u64 old, u64 new_value)
{
	u64 seen = *p;

	if (seen == old)
		*p = new_value;
	return seen;
}

#define ds_cmpxchg_ptr(p, old, new_value) ({	\
	__typeof__(p) p_ = (p);			\
	__typeof__(*p_) seen_ = *p_;		\
	if (seen_ == (old))			\
		*p_ = (new_value);		\
	seen_; })

#define ds_spin_t			pthread_mutex_t
#define ds_spin_init(lock)		((void)(lock))
#define ds_spin_lock(lock)		((void)(lock))
#define ds_spin_unlock(lock)		((void)(lock))

#else

/* The compiler's atomics, because the thread sanitizer understands them. */
#define READ_ONCE(x)			__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)		__atomic_store_n(&(x), value, __ATOMIC_RELAXED)
/* What was written before the release is seen after the acquire. */
#define smp_load_acquire(p)		__atomic_load_n(p, __ATOMIC_ACQUIRE)
/* See above. */
#define smp_store_release(p, value)	__atomic_store_n(p, value, __ATOMIC_RELEASE)

static inline u64 ds_cmpxchg64(u64 *p, u64 old, u64 new_value)
{
	/* One that fails orders nothing, as in the kernel. */
	__atomic_compare_exchange_n(p, &old, new_value, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	return old;
}

/* See above. */
#define ds_cmpxchg_ptr(p, old, new_value) ({				\
	__typeof__(p) p_ = (p);						\
	__typeof__(*p_) seen_ = (old);					\
	__atomic_compare_exchange_n(p_, &seen_, new_value, false,	\
				    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);	\
	seen_; })

#define ds_spin_t			pthread_mutex_t
#define ds_spin_init(lock)		pthread_mutex_init(lock, NULL)
#define ds_spin_lock(lock)		pthread_mutex_lock(lock)
#define ds_spin_unlock(lock)		pthread_mutex_unlock(lock)

#endif /* DS_ALONE */

#define ds_alloc(size)			calloc(1, size)
#define ds_alloc_node(size, node)	((void)(node), ds_alloc(size))
#define ds_free(p)			free(p)
#define ds_alloc_pages(size)		ds_alloc(size)
#define ds_free_pages(p, size)		((void)(size), ds_free(p))

static inline u64 ds_mono_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
}

#define ds_may_resched()		((void)0)

static inline void cpu_relax(void)
{
	__asm__ volatile("" ::: "memory");
}

#define prefetch(p)			__builtin_prefetch(p)
#define ds_array_index_nospec(i, n)	(i)
#define ds_noinline			__attribute((__noinline__))

/* Four bits a step: the reversed polynomial is 0x82f63b78. */
static inline u32 crc32c(u32 crc, const void *data, unsigned int length)
{
	static const u32 step[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
		0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
		0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	const u8 *p = (const u8 *)data;

	while (length--) {
		crc ^= *p++;
		crc = crc >> 4 ^ step[crc & 15];
		crc = crc >> 4 ^ step[crc & 15];
	}
	return crc;
}

static inline u64 ds_siphash_rotate(u64 x, unsigned int bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void ds_siphash_rounds(u64 v[4], int rounds)
{
	while (rounds--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = ds_siphash_rotate(v[1], 13) ^ v[0];
		v[3] = ds_siphash_rotate(v[3], 16) ^ v[2];
		v[0] = ds_siphash_rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = ds_siphash_rotate(v[1], 17) ^ v[2];
		v[3] = ds_siphash_rotate(v[3], 21) ^ v[0];
		v[2] = ds_siphash_rotate(v[2], 32);
	}
}

/* SipHash-2-4 (Aumasson, Bernstein, 2012) under a key of 16 bytes. */
static inline u64 ds_siphash(const void *data, size_t length, const u8 *key)
{
	const u8 *p = (const u8 *)data;
	u64 k[2], v[4], word;
	size_t left;

	memcpy(k, key, sizeof(k));
	v[0] = k[0] ^ 0x736f6d6570736575ull;
	v[1] = k[1] ^ 0x646f72616e646f6dull;
	v[2] = k[0] ^ 0x6c7967656e657261ull;
	v[3] = k[1] ^ 0x7465646279746573ull;
	for (left = length; left >= sizeof(word); left -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		p += sizeof(word);
		v[3] ^= word;
		ds_siphash_rounds(v, 2);
		v[0] ^= word;
	}
	word = 0;
	memcpy(&word, p, left);
	word |= (u64)length << 56;
	v[3] ^= word;
	ds_siphash_rounds(v, 2);
	v[0] ^= word;
	v[2] ^= 0xff;
	ds_siphash_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static inline u32 hash_64(u64 value, unsigned int bits)
{
	return (u32)(value * 0x61c8864680b583ebull >> (64 - bits));
}

#define ilog2(n)			(63 - __builtin_clzll(n))
#define ARRAY_SIZE(a)			(sizeof(a) / sizeof((a)[0]))
#define container_of(p, type, member)	\
	((type *)((char *)(p) - offsetof(type, member)))

/* C++ has its own. As in the kernel, both sides must have the same type. */
#ifndef __cplusplus
#define DS_SHIM_PICK(a, b, op) ({		\
	__typeof__(a) a_ = (a);			\
	__typeof__(b) b_ = (b);			\
	(void)(&a_ == &b_);			\
	a_ op b_ ? a_ : b_; })
#define min(a, b)			DS_SHIM_PICK(a, b, <)
#define max(a, b)			DS_SHIM_PICK(a, b, >)
#endif

#endif /* __KERNEL__ */

#endif /* DS_SHIM_H */
