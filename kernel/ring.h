/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: the completion ring of an open file.
 *
 * The ring is pages that the caller maps (struct ds_ring in ds/ioctl.h). What
 * the kernel relies on, the tail and the length, it keeps for itself; of the
 * shared page it reads the head only, and a head that makes no sense means a
 * full ring.
 *
 * A slot is reserved before its operation starts, so that a completion always
 * has a place. The ring outlives its file until the last reserved slot is used
 * or given back; completions after the file is closed go nowhere.
 *
 * The file's lock keeps the ring of a file. It may be closed behind that lock, as what
 * the caller cannot be told of is taken back; so who goes on using it holds it.
 */
#ifndef _DS_RING_H
#define _DS_RING_H

#include <linux/poll.h>
#include <linux/types.h>
#include <uapi/ds/ioctl.h>

#define DS_RING_MAX_ENTRIES	65536

struct ds_buffer;
struct ds_file_ring;

/**
 * ds_ring_create - make a ring
 * @entries: a power of two, 1 to DS_RING_MAX_ENTRIES
 * @wait: woken when a completion comes; not touched after ds_ring_close()
 *
 * Return: the ring, or ERR_PTR: -EINVAL, -ENOMEM, -EINTR
 */
struct ds_file_ring *ds_ring_create(u32 entries, wait_queue_head_t *wait);

/* The caller is done with the ring. Context: process. */
void ds_ring_close(struct ds_file_ring *ring);

/* Hold it, beyond its close, and let it go. Context of both: process. */
void ds_ring_get(struct ds_file_ring *ring);
void ds_ring_put(struct ds_file_ring *ring);

/* What is mapped; lives as long as the ring is not closed. */
struct ds_buffer *ds_ring_buffer(struct ds_file_ring *ring);

/**
 * ds_ring_reserve - reserve slots for operations
 * @want: number of slots
 *
 * Return: slots reserved, at most @want; each is used by one ds_ring_complete()
 *	or given back by ds_ring_unreserve()
 */
u32 ds_ring_reserve(struct ds_file_ring *ring, u32 want);
void ds_ring_unreserve(struct ds_file_ring *ring, u32 count);

u32 ds_ring_entries(const struct ds_file_ring *ring);

/* A ds_op_done with the ring as @ctx. Context: process; several at once. */
void ds_ring_complete(void *ctx, u32 index, const struct ds_cqe *cqe);

/* Does the ring hold a completion that is not consumed? */
bool ds_ring_readable(struct ds_file_ring *ring);

#endif
