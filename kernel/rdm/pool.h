/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: a segment as the pool of a space of the packet service.
 */
#ifndef _DS_POOL_H
#define _DS_POOL_H

struct ds_packet_memory_ops;
struct ds_segment;

/* Its operations; their pool is a struct ds_segment. Context: process. */
const struct ds_packet_memory_ops *ds_pool_ops(const struct ds_segment *seg);

#endif
