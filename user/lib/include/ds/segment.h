/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdsuser: segments, memory of this process that other hosts may attach. Part
 * of ds/ds.h.
 */
#ifndef DS_SEGMENT_H
#define DS_SEGMENT_H

#include <stdint.h>

#include <ds/fabric.h>
#include <ds/ioctl.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct ds_segment;

/**
 * struct ds_segment_options - memory to export
 * @size: sizeof(struct ds_segment_options)
 * @domain: trust domain that may attach it
 * @access: DS_ACCESS_* granted
 * @numa_node: NUMA node of the pages, -1 for the caller's; -1 with @start
 * @start: memory of this process, on a page boundary; NULL for kernel pages
 * @length: bytes, a multiple of 4096
 */
struct ds_segment_options {
    uint32_t size;
    uint32_t domain;
    uint32_t access;
    int32_t numa_node;
    void *start;
    uint64_t length;
};

/**
 * ds_segment_create() - export memory while this process keeps the segment
 * @fabric: the fabric
 * @options: what to export
 * @segment: result, for ds_segment_close()
 *
 * Return: 0, or -EINVAL: not on page boundaries; -ENOENT: no such domain; -EFAULT;
 * -ENOMEM; -EDQUOT; -E2BIG: @options has fields that this library does not know.
 */
int ds_segment_create(struct ds_fabric *fabric, const struct ds_segment_options *options,
                      struct ds_segment **segment);

/**
 * ds_segment_number() - the number by which peers attach the segment
 * @segment: the segment
 *
 * Return: the number, never used twice by a host.
 */
uint64_t ds_segment_number(const struct ds_segment *segment);

/**
 * ds_segment_close() - export it no more
 * @segment: from ds_segment_create(), or NULL
 *
 * Returns when no peer can reach the memory any more.
 */
void ds_segment_close(struct ds_segment *segment);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DS_SEGMENT_H */
