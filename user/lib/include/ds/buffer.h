/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdsuser: buffers, local memory that the RDMA device reads and writes. Part of
 * ds/ds.h.
 */
#ifndef DS_BUFFER_H
#define DS_BUFFER_H

#include <stddef.h>

#include <ds/fabric.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct ds_buffer;

/**
 * ds_buffer_alloc() - make a buffer of kernel pages, mapped into this process
 * @fabric: the fabric
 * @length: bytes, at least 1; rounded up to whole pages
 * @numa_node: NUMA node of the pages, -1 for the caller's
 * @buffer: result, zeroed, for ds_buffer_free()
 *
 * Return: 0, or -EINVAL: @length is 0, or no such @numa_node; -E2BIG: longer than
 * ds_limits.max_buf_bytes; -EDQUOT: so many bytes, or so many buffers, are more than one
 * open file may have; -ENOMEM.
 */
int ds_buffer_alloc(struct ds_fabric *fabric, size_t length, int numa_node,
                    struct ds_buffer **buffer);

/**
 * ds_buffer_pin() - use memory of this process as buffer
 * @fabric: the fabric
 * @start: first byte, on a page boundary; stays the caller's
 * @length: bytes, a multiple of 4096
 * @buffer: result, for ds_buffer_free()
 *
 * Counts in RLIMIT_MEMLOCK. The memory may be unmapped before the buffer is
 * freed; the pages stay until then.
 *
 * Return: 0, or -EINVAL: not on page boundaries, or @length is 0; -EFAULT: not mapped or
 * not writable; -E2BIG: longer than ds_limits.max_buf_bytes, of a local file; -EDQUOT: as
 * ds_buffer_alloc(), on /dev/ds also if it alone is too long; -ENOMEM: RLIMIT_MEMLOCK
 * reached.
 */
int ds_buffer_pin(struct ds_fabric *fabric, void *start, size_t length, struct ds_buffer **buffer);

/**
 * ds_buffer_free() - give a buffer back
 * @buffer: from ds_buffer_alloc() or ds_buffer_pin(), or NULL; no request may
 *	use it any more
 *
 * The memory of ds_buffer_alloc() is unmapped. The kernel keeps the pages while
 * an operation that timed out may still use them.
 */
void ds_buffer_free(struct ds_buffer *buffer);

/**
 * ds_buffer_data() - where the buffer is in this process
 * @buffer: the buffer
 *
 * Return: its first byte; valid until ds_buffer_free().
 */
void *ds_buffer_data(const struct ds_buffer *buffer);

/**
 * ds_buffer_length() - how long the buffer is
 * @buffer: the buffer
 *
 * Return: bytes.
 */
size_t ds_buffer_length(const struct ds_buffer *buffer);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DS_BUFFER_H */
