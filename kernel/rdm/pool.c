// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: a segment as the pool of a space of the packet service.
 *
 * Its pages are reached by the kernel's own mapping. Atomics are the processor's: they
 * know nothing of those that peers do by RDMA, so a segment has either the ones or
 * the others (rdm_space.c sees to it).
 *
 * Each chunk has a token, as each has that is registered for peers: a request looks up
 * those of what it wants, and is held to what they say.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <uapi/ds/wire.h>
#include "backing.h"
#include "packet_space.h"
#include "pool.h"
#include "segment.h"
#include "tokens.h"

static void *ds_pool_at(struct ds_pool *pool, u64 offset)
{
	struct ds_segment *seg = pool->seg;

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
	struct ds_segment *seg = ((struct ds_pool *)pool)->seg;

	return ds_backing_write(seg->attr.backing, runs, count, data);
}

/* What is in one chunk, by the chunk's token, which stays as long as the pool. */
static int ds_pool_check_chunk(struct ds_pool *pool, u64 offset, u32 length, u32 access)
{
	u32 token = pool->tokens[offset >> DS_CHUNK_SHIFT];
	struct ds_token_desc desc;
	int ret;

	ret = ds_token_use(ds_token_packets, token, &desc);
	if (ret)
		return ret;
	if (!ds_token_allows(&desc, DS_TOKEN_NONE, offset, length, access))
		ret = -EACCES;
	ds_token_drop(token);
	return ret;
}

static int ds_pool_check(void *pool, const struct ds_vspace_run *runs, u32 count, u32 access)
{
	u32 ib = ds_token_access(access), i, left, n;
	u64 offset;
	int ret;

	for (i = 0; i < count; i++) {
		offset = runs[i].offset;
		for (left = runs[i].length; left; left -= n, offset += n) {
			n = min_t(u64, left, DS_CHUNK_SIZE - (offset & (DS_CHUNK_SIZE - 1)));
			ret = ds_pool_check_chunk(pool, offset, n, ib);
			if (ret)
				return ret;
		}
	}
	return 0;
}

static const struct ds_packet_memory_ops ds_pool_volatile = {
	.read		= ds_pool_read,
	.write		= ds_pool_write,
	.cas		= ds_pool_cas,
	.fetch_add	= ds_pool_fetch_add,
	.check		= ds_pool_check,
};

static const struct ds_packet_memory_ops ds_pool_persistent = {
	.read		= ds_pool_read,
	.write		= ds_pool_write,
	.cas		= ds_pool_cas,
	.fetch_add	= ds_pool_fetch_add,
	.persist	= ds_pool_persist,
	.check		= ds_pool_check,
};

const struct ds_packet_memory_ops *ds_pool_ops(const struct ds_pool *pool)
{
	return pool->seg->attr.backing ? &ds_pool_persistent : &ds_pool_volatile;
}

struct ds_pool *ds_pool_create(struct ds_segment *seg, u32 access)
{
	u64 chunks = DIV_ROUND_UP_ULL(seg->attr.length, DS_CHUNK_SIZE);
	struct ds_token_desc desc = { .type = DS_TOKEN_MR, .mr.pd = DS_TOKEN_NONE,
				      .mr.access = ds_token_access(access),
				      .mr.page_shift = PAGE_SHIFT };
	struct ds_pool *pool;
	int ret;

	pool = kvzalloc(struct_size(pool, tokens, chunks), GFP_KERNEL_ACCOUNT);
	if (!pool)
		return ERR_PTR(-ENOMEM);
	pool->seg = seg;
	for (; pool->chunks < chunks; pool->chunks++) {
		desc.mr.iova = pool->chunks << DS_CHUNK_SHIFT;
		desc.mr.length = min_t(u64, DS_CHUNK_SIZE, seg->attr.length - desc.mr.iova);
		ret = ds_token_add(ds_token_packets, &desc,
				   &pool->tokens[pool->chunks]);
		if (ret) {
			ds_pool_destroy(pool);
			return ERR_PTR(ret);
		}
		cond_resched();
	}
	return pool;
}

void ds_pool_destroy(struct ds_pool *pool)
{
	while (pool->chunks) {
		ds_token_end(pool->tokens[--pool->chunks]);
		cond_resched();
	}
	kvfree(pool);
}
