// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the completion ring of an open file.
 */
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include "buffer.h"
#include "ring.h"

static_assert(sizeof(struct ds_cqe) == 32);
static_assert(offsetof(struct ds_ring, head) == 64);
static_assert(sizeof(struct ds_ring) == 128);

/**
 * struct ds_file_ring - a completion ring
 * @buf: its pages; mappings hold references of their own
 * @shared: the pages, mapped here
 * @entries: length of the ring; @shared->entries is the caller's to spoil
 * @lock: protects all below and the writing of completions; within it only
 *	the lock of @wait is taken
 * @tail: completions written so far
 * @reserved: slots that completions will still use
 * @holders: who hold it
 * @wait: of the file, NULL once it is closed
 */
struct ds_file_ring {
	struct ds_buffer	*buf;
	struct ds_ring		*shared;
	u32			entries;
	spinlock_t		lock;		/* see above */
	u32			tail;
	u32			reserved;
	u32			holders;
	wait_queue_head_t	*wait;
};

struct ds_file_ring *ds_ring_create(u32 entries, wait_queue_head_t *wait)
{
	struct ds_file_ring *ring;
	u64 length;
	int err;

	if (!is_power_of_2(entries) || entries > DS_RING_MAX_ENTRIES)
		return ERR_PTR(-EINVAL);
	length = PAGE_ALIGN(struct_size(ring->shared, cqes, entries));

	ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	ring->buf = ds_buffer_create(length, NUMA_NO_NODE, NULL);
	if (IS_ERR(ring->buf)) {
		err = PTR_ERR(ring->buf);
		goto free_ring;
	}
	ring->shared = vmap(ring->buf->pages, length >> PAGE_SHIFT, VM_MAP, PAGE_KERNEL);
	if (!ring->shared) {
		err = -ENOMEM;
		goto put_buffer;
	}
	spin_lock_init(&ring->lock);
	ring->entries = entries;
	ring->wait = wait;
	WRITE_ONCE(ring->shared->entries, entries);
	return ring;

put_buffer:
	ds_buffer_put(ring->buf);
free_ring:
	kfree(ring);
	return ERR_PTR(err);
}

static void ds_ring_free(struct ds_file_ring *ring)
{
	vunmap(ring->shared);
	ds_buffer_put(ring->buf);
	kfree(ring);
}

/* Whether nobody can come to the ring any more. */
static bool ds_ring_unused(struct ds_file_ring *ring)
{
	lockdep_assert_held(&ring->lock);
	return !ring->wait && !ring->reserved && !ring->holders;
}

void ds_ring_close(struct ds_file_ring *ring)
{
	bool unused;

	spin_lock(&ring->lock);
	ring->wait = NULL;
	unused = ds_ring_unused(ring);
	spin_unlock(&ring->lock);
	if (unused)
		ds_ring_free(ring);
}

void ds_ring_get(struct ds_file_ring *ring)
{
	spin_lock(&ring->lock);
	ring->holders++;
	spin_unlock(&ring->lock);
}

void ds_ring_put(struct ds_file_ring *ring)
{
	bool unused;

	spin_lock(&ring->lock);
	ring->holders--;
	unused = ds_ring_unused(ring);
	spin_unlock(&ring->lock);
	if (unused)
		ds_ring_free(ring);
}

struct ds_buffer *ds_ring_buffer(struct ds_file_ring *ring)
{
	return ring->buf;
}

u32 ds_ring_entries(const struct ds_file_ring *ring)
{
	return ring->entries;
}

/* Completions that the caller has not consumed. */
static u32 ds_ring_used(struct ds_file_ring *ring)
{
	u32 head;

	lockdep_assert_held(&ring->lock);
	/* Pairs with the caller's release: it has read the slots before the head. */
	head = smp_load_acquire(&ring->shared->head);
	return min(ring->tail - head, ring->entries);
}

u32 ds_ring_reserve(struct ds_file_ring *ring, u32 want)
{
	u32 taken, count = 0;

	spin_lock(&ring->lock);
	taken = ds_ring_used(ring) + ring->reserved;
	if (taken < ring->entries)
		count = min(want, ring->entries - taken);
	ring->reserved += count;
	spin_unlock(&ring->lock);
	return count;
}

void ds_ring_unreserve(struct ds_file_ring *ring, u32 count)
{
	bool unused;

	spin_lock(&ring->lock);
	ring->reserved -= count;
	unused = ds_ring_unused(ring);
	spin_unlock(&ring->lock);
	if (unused)
		ds_ring_free(ring);
}

void ds_ring_complete(void *ctx, u32 index, const struct ds_cqe *cqe)
{
	struct ds_file_ring *ring = ctx;
	bool unused;

	spin_lock(&ring->lock);
	ring->reserved--;
	if (ring->wait) {
		ring->shared->cqes[ring->tail & (ring->entries - 1)] = *cqe;
		ring->tail++;
		/* Pairs with the caller's acquire: the slot is there before the tail. */
		smp_store_release(&ring->shared->tail, ring->tail);
		/* Pairs with poll_wait(): the tail is seen, or the sleeper is. */
		if (wq_has_sleeper(ring->wait))
			wake_up_interruptible_poll(ring->wait, EPOLLIN | EPOLLRDNORM);
	}
	unused = ds_ring_unused(ring);
	spin_unlock(&ring->lock);
	if (unused)
		ds_ring_free(ring);
}

bool ds_ring_readable(struct ds_file_ring *ring)
{
	u32 used;

	spin_lock(&ring->lock);
	used = ds_ring_used(ring);
	spin_unlock(&ring->lock);
	return used > 0;
}
