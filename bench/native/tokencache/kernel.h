/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel's lib/xarray.c and linux/xarray.h take from the kernel, for user
 * space. Included before them by the compiler (bench/bench.mk).
 *
 * Readers need nothing: rcu_read_lock() costs nothing, as in a kernel without
 * preemption, and no node is freed while the program runs. One thread writes.
 */
#ifndef BENCH_TOKENCACHE_KERNEL_H
#define BENCH_TOKENCACHE_KERNEL_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* As Debian has it. */
#define CONFIG_XARRAY_MULTI	1
#define CONFIG_BASE_SMALL	0
#define IS_ENABLED(option)	option

/* ---- the compiler ---- */
#define __rcu
#define __force
#define __bitwise
#define __must_hold(lock)
#define __must_check
#undef __always_inline	/* the C library's */
#define __always_inline		inline __attribute__((__always_inline__))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define barrier()		__asm__ volatile("" ::: "memory")
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)

/* ---- small things ---- */
typedef uint32_t u32;

#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define container_of(p, type, member)	((type *)((char *)(p) - offsetof(type, member)))
#define EXPORT_SYMBOL(x)
#define EXPORT_SYMBOL_GPL(x)
#define WARN_ON(x)		((x) ? abort(), true : false)
#define WARN_ON_ONCE(x)		WARN_ON(x)
#define BUG_ON(x)		((void)WARN_ON(x))

#define MAX_ERRNO		4095

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *list)
{
	list->next = list;
	list->prev = list;
}

/* ---- locks, of which one writer needs none ---- */
typedef struct {
	int unused;
} spinlock_t;

#define __SPIN_LOCK_UNLOCKED(name)	{ 0 }
#define spin_lock_init(lock)		((void)(lock))
#define spin_lock(lock)			((void)(lock))
#define spin_unlock(lock)		((void)(lock))
#define spin_lock_bh(lock)		((void)(lock))
#define spin_unlock_bh(lock)		((void)(lock))
#define spin_lock_irq(lock)		((void)(lock))
#define spin_unlock_irq(lock)		((void)(lock))
#define spin_lock_irqsave(lock, flags)	((void)(lock), (void)((flags) = 0))
#define spin_unlock_irqrestore(lock, flags)	((void)(lock), (void)(flags))
#define lockdep_is_held(lock)		1

/* ---- RCU ---- */
struct rcu_head {
	void *next;
	void (*func)(struct rcu_head *head);
};

#define rcu_read_lock()			barrier()
#define rcu_read_unlock()		barrier()
#define rcu_dereference_raw(p)		READ_ONCE(p)
#define rcu_dereference_check(p, held)	READ_ONCE(p)
#define rcu_dereference_protected(p, held)	(p)
#define rcu_assign_pointer(p, value)	__atomic_store_n(&(p), value, __ATOMIC_RELEASE)
#define RCU_INIT_POINTER(p, value)	((p) = (value))
#define call_rcu(head, function)	function(head)

/* ---- memory ---- */
typedef unsigned int gfp_t;
struct list_lru;
struct kmem_cache;

#define __GFP_BITS_SHIFT	27
#define __GFP_NOWARN		0u
#define __GFP_ACCOUNT		0u
#define GFP_NOWAIT		0u
#define GFP_KERNEL		1u
#define gfpflags_allow_blocking(gfp)	((gfp) == GFP_KERNEL)
#define might_alloc(gfp)	((void)(gfp))

void *kmem_cache_alloc_lru(struct kmem_cache *cache, struct list_lru *lru, gfp_t gfp);

/* ---- bitmaps ---- */
#define BITS_PER_LONG		64
#define BITS_TO_LONGS(n)	DIV_ROUND_UP(n, BITS_PER_LONG)

static inline bool test_bit(unsigned long bit, const unsigned long *map)
{
	return map[bit / BITS_PER_LONG] >> bit % BITS_PER_LONG & 1;
}

static inline void __set_bit(unsigned long bit, unsigned long *map)
{
	map[bit / BITS_PER_LONG] |= 1ul << bit % BITS_PER_LONG;
}

static inline void __clear_bit(unsigned long bit, unsigned long *map)
{
	map[bit / BITS_PER_LONG] &= ~(1ul << bit % BITS_PER_LONG);
}

static inline bool __test_and_set_bit(unsigned long bit, unsigned long *map)
{
	bool was = test_bit(bit, map);

	__set_bit(bit, map);
	return was;
}

static inline bool __test_and_clear_bit(unsigned long bit, unsigned long *map)
{
	bool was = test_bit(bit, map);

	__clear_bit(bit, map);
	return was;
}

static inline unsigned long find_next_bit(const unsigned long *map, unsigned long bits,
					  unsigned long bit)
{
	while (bit < bits && !test_bit(bit, map))
		bit++;
	return bit;
}

static inline bool bitmap_empty(const unsigned long *map, unsigned long bits)
{
	return find_next_bit(map, bits, 0) == bits;
}

static inline void bitmap_fill(unsigned long *map, unsigned long bits)
{
	memset(map, 0xff, BITS_TO_LONGS(bits) * sizeof(*map));
}

static inline void bitmap_clear(unsigned long *map, unsigned long bit, unsigned long count)
{
	while (count--)
		__clear_bit(bit++, map);
}

#define __ffs(word)		((unsigned long)__builtin_ctzl(word))

#endif /* BENCH_TOKENCACHE_KERNEL_H */
