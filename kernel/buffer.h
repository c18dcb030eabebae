/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: local buffers of operations: kernel pages that the caller maps, or pages
 * of the caller that are pinned once.
 */
#ifndef _DS_BUFFER_H
#define _DS_BUFFER_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/types.h>

struct ds_pin;
struct vm_area_struct;

/**
 * struct ds_quota - bytes of buffers that an open file has
 * @ref: one for the file, one for each buffer
 * @used: bytes, at most ds_max_buf_mb
 *
 * A buffer counts until its pages are given back, which may be after its handle
 * was closed: mappings and operations in flight keep it.
 */
struct ds_quota {
	struct kref	ref;
	atomic64_t	used;
};

struct ds_quota *ds_quota_create(void);		/* NULL: no memory */
void ds_quota_put(struct ds_quota *quota);

/**
 * struct ds_buffer - a local buffer
 * @ref: one for its handle, one for each operation in flight and each mapping
 * @length: bytes
 * @pages: its pages, @length >> PAGE_SHIFT of them
 * @pin: of pages that are a process's; NULL if they are ours
 * @quota: where @length is counted, or NULL
 */
struct ds_buffer {
	struct kref		ref;
	u64			length;
	struct page		**pages;
	struct ds_pin		*pin;
	struct ds_quota		*quota;
};

/**
 * ds_buffer_create - make a buffer of zeroed kernel pages
 * @length: a multiple of PAGE_SIZE, not 0
 * @numa_node: NUMA_NO_NODE for the caller's
 * @quota: counts the buffer; may be NULL
 *
 * Charged to current's memory cgroup. Uses the largest contiguous blocks that
 * there are, as fewer make fewer scatter entries. Context: process.
 * Return: the buffer, or ERR_PTR: -EINVAL, -EDQUOT, or as ds_pages_alloc()
 */
struct ds_buffer *ds_buffer_create(u64 length, int numa_node, struct ds_quota *quota);

/**
 * ds_buffer_pin - pin the caller's memory
 * @addr: a multiple of PAGE_SIZE
 * @length: a multiple of PAGE_SIZE, not 0
 * @quota: counts the buffer; may be NULL
 *
 * Context: process.
 * Return: the buffer, or ERR_PTR: -EINVAL, -EDQUOT, or as ds_pages_pin()
 */
struct ds_buffer *ds_buffer_pin(u64 addr, u64 length, struct ds_quota *quota);

void ds_buffer_get(struct ds_buffer *buf);
void ds_buffer_put(struct ds_buffer *buf);	/* Context: process; its owner cannot hold it up */
void ds_buffer_close(struct ds_buffer *buf);	/* likewise, but he waits for its end */
void ds_buffer_exit(void);			/* proves that none is left */

/**
 * ds_buffer_mmap - map a buffer of kernel pages
 * @vma: covers the whole buffer, shared, not executable; its offset is set to 0
 *
 * Context: process, mmap lock held for writing.
 * Return: 0; -EINVAL; -EACCES: executable
 */
int ds_buffer_mmap(struct ds_buffer *buf, struct vm_area_struct *vma);

/*
 * Pages of a segment are had in the same two ways; segment.c shares the code.
 */

/**
 * ds_pages_alloc - an array of zeroed pages, charged to current
 * @count: number of pages
 * @numa_node: where they are to be, strictly; NUMA_NO_NODE for no matter where
 *
 * Each page stands alone: it may be put and mapped by itself.
 * Context: process; killable.
 * Return: the array, or ERR_PTR: -EINVAL: no such node with memory; -ENOMEM; -EINTR
 */
struct page **ds_pages_alloc(u64 count, int numa_node);
void ds_pages_free(struct page **pages, u64 count);

/**
 * ds_pages_pin - pin memory of the caller for as long as it takes
 * @addr: a multiple of PAGE_SIZE
 * @count: number of pages
 * @pin: set to what ends it
 *
 * Counts in RLIMIT_MEMLOCK, as pinned memory of the verbs does.
 * Context: process; killable.
 * Return: the array, or ERR_PTR: -EINVAL: not aligned; -EFAULT: not mapped or
 *	not writable; -ENOMEM: RLIMIT_MEMLOCK or no memory; -EINTR
 */
struct page **ds_pages_pin(u64 addr, u64 count, struct ds_pin **pin);

/*
 * The array is freed; the pages count as written. Their owner can hold this up, by a page
 * that is locked. So it is done later, unless he is the caller and @wait: then no
 * other may depend on him meanwhile.
 * Context: process.
 */
void ds_pages_unpin(struct ds_pin *pin, bool wait);

#endif
