/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: a segment as the pool of a space of the packet service.
 */
#ifndef _DS_POOL_H
#define _DS_POOL_H

#include <linux/types.h>

struct ds_packet_memory_ops;
struct ds_segment;

/**
 * struct ds_pool - a segment that packets reach
 * @seg: it; the space's reference
 * @chunks: of @tokens
 * @tokens: of the memory regions that its chunks are, with the rights of packets
 */
struct ds_pool {
	struct ds_segment	*seg;
	u64			chunks;
	u32			tokens[];
};

/**
 * ds_pool_create - let packets reach a segment
 * @seg: must outlive the pool
 * @access: DS_ACCESS_* of packets
 *
 * Context: process, may sleep.
 * Return: it, or an ERR_PTR
 */
struct ds_pool *ds_pool_create(struct ds_segment *seg, u32 access);

/* Nobody uses it any more. Context: process, may sleep. */
void ds_pool_destroy(struct ds_pool *pool);

/* Its operations. Context: process. */
const struct ds_packet_memory_ops *ds_pool_ops(const struct ds_pool *pool);

#endif
