// SPDX-License-Identifier: Apache-2.0
/*
 * What a compiler calls for each access to memory with -fsanitize=thread.
 */
#include "weak.h"

#include <string.h>

typedef unsigned __int128 u128;

static enum weak_order order_of(int order)
{
	switch (order) {
	case __ATOMIC_RELAXED:
		return WEAK_RELAXED;
	case __ATOMIC_CONSUME:
	case __ATOMIC_ACQUIRE:
		return WEAK_ACQUIRE;
	case __ATOMIC_RELEASE:
		return WEAK_RELEASE;
	default:
		return WEAK_BOTH;
	}
}

void __tsan_init(void)
{
}

void __tsan_func_entry(void *from)
{
	(void)from;
}

void __tsan_func_exit(void)
{
}

static void plain(void *p, size_t size, bool write)
{
	if (weak_is_shared(p))
		weak_plain(p, size, write);
}

void __tsan_read_range(void *p, size_t size)
{
	plain(p, size, false);
}

void __tsan_write_range(void *p, size_t size)
{
	plain(p, size, true);
}

#define PLAIN(size)					\
	void __tsan_read##size(void *p)			\
	{						\
		plain(p, size, false);			\
	}						\
	void __tsan_write##size(void *p)		\
	{						\
		plain(p, size, true);			\
	}						\
	void __tsan_unaligned_read##size(void *p)	\
	{						\
		plain(p, size, false);			\
	}						\
	void __tsan_unaligned_write##size(void *p)	\
	{						\
		plain(p, size, true);			\
	}

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

#define ATOMIC(bits)								\
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order) \
	{									\
		if (!weak_is_shared(p))						\
			return *p;						\
		return (uint##bits##_t)weak_load(p, bits / 8, order_of(order));	\
	}									\
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t value, int order) \
	{									\
		if (weak_is_shared(p))						\
			weak_store(p, bits / 8, value, order_of(order));	\
		else								\
			*p = value;						\
	}									\
	bool __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t *p,	\
		uint##bits##_t *old, uint##bits##_t value, int order, int failed)	\
	{									\
		uint##bits##_t was = *old;					\
										\
		if (weak_is_shared(p))						\
			*old = (uint##bits##_t)weak_exchange(p, bits / 8, was, value, order_of(order),	\
							     order_of(failed));	\
		else if (*p == was)						\
			*p = value;						\
		else								\
			*old = *p;						\
		return *old == was;						\
	}

ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)
