// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: a segment as the pool of a space of the packet service.
 *
 * Its pages are reached by the kernel's own mapping. Atomics are the processor's: they
 * know nothing of those that peers do by RDMA, so a segment has either the ones or
 * the others (rdm_space.c sees to it).
 */
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/string.h>
#include "backing.h"
#include "packet_space.h"
#include "pool.h"
#include "segment.h"

static void *ds_pool_at(struct ds_segment *seg, u64 offset)
{
	return page_address(seg->pages[offset >> PAGE_SHIFT]) + offset_in_page(offset);
}

/* Bytes from @offset on in its page, at most @length. */
static u32 ds_pool_piece(u64 offset, u32 length)
{
	return min_t(u32, length, PAGE_SIZE - offset_in_page(offset));
}

static void ds_pool_read(void *pool, u64 offset, void *to, u32 length)
{
	u32 n;

	for (; length; length -= n, offset += n, to += n) {
		n = ds_pool_piece(offset, length);
		memcpy(to, ds_pool_at(pool, offset), n);
	}
}

static void ds_pool_write(void *pool, u64 offset, const void *from, u32 length)
{
	u32 n;

	for (; length; length -= n, offset += n, from += n) {
		n = ds_pool_piece(offset, length);
		memcpy(ds_pool_at(pool, offset), from, n);
	}
}

static u64 ds_pool_cas(void *pool, u64 offset, u64 compare, u64 swap)
{
	return cmpxchg64((u64 *)ds_pool_at(pool, offset), compare, swap);
}

static u64 ds_pool_fetch_add(void *pool, u64 offset, u64 operand)
{
	return atomic64_fetch_add(operand, (atomic64_t *)ds_pool_at(pool, offset));
}

static int ds_pool_persist(void *pool, const struct ds_vspace_run *runs, u32 count,
			   const u8 *data)
{
	struct ds_segment *seg = pool;
	u64 from = U64_MAX, to = 0;
	u32 i;
	int err;

	for (i = 0; i < count; i++) {
		err = ds_backing_write(seg->attr.file, runs[i].offset, data, runs[i].length);
		if (err)
			return err;
		data += runs[i].length;
		from = min(from, runs[i].offset);
		to = max(to, runs[i].offset + runs[i].length);
	}
	return ds_backing_sync(seg->attr.file, from, to);
}

static const struct ds_packet_memory_ops ds_pool_volatile = {
	.read		= ds_pool_read,
	.write		= ds_pool_write,
	.cas		= ds_pool_cas,
	.fetch_add	= ds_pool_fetch_add,
};

static const struct ds_packet_memory_ops ds_pool_persistent = {
	.read		= ds_pool_read,
	.write		= ds_pool_write,
	.cas		= ds_pool_cas,
	.fetch_add	= ds_pool_fetch_add,
	.persist	= ds_pool_persist,
};

const struct ds_packet_memory_ops *ds_pool_ops(const struct ds_segment *seg)
{
	return seg->attr.file ? &ds_pool_persistent : &ds_pool_volatile;
}
