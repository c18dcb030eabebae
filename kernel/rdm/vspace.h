/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: address spaces of the packet service (document 002): which virtual address
 * is which byte of a pool of pages, and who may touch it.
 *
 *	ds_vspace	what is allocated, and with which access
 *	  ds_buddy	pages of the pool
 *	  ds_vranges	virtual addresses, first fit; used again in a later generation only
 *	  ds_segtable	allocations, ordered by address: also the translation of SEGMENTS
 *	  ds_pagemap	pages, hashed: the translation of HASH
 *
 * Nothing here touches the pool's memory. Not thread safe: the caller holds a
 * lock around each call. May sleep (memory).
 */
#ifndef DS_RDM_VSPACE_H
#define DS_RDM_VSPACE_H

#include "../shim.h"
#include <ds/packet.h>

/**
 * struct ds_vspace_attr - what a space is
 * @kind: enum ds_packet_kind
 * @page_shift: log2 of the bytes of a page, DS_PACKET_PAGE_SHIFT_MIN to _MAX
 * @access: DS_ACCESS_* that allocations may have, at least one
 * @size: bytes of the pool, a multiple of the page, at most 2^32 - 1 pages
 * @seed: of the hash; random, so that nobody can aim at a bucket
 */
struct ds_vspace_attr {
	u32 kind;
	u32 page_shift;
	u32 access;
	u64 size;
	u64 seed;
};

/**
 * struct ds_vspace_stats - what happened in a space, ever
 * @front_hits: pages that the front table of HASH knew
 * @table_hits: pages that only the large table knew; now the front table does
 * @misses: pages that are not mapped
 * @chain_steps: chained buckets that were looked at
 */
struct ds_vspace_stats {
	u64 front_hits;
	u64 table_hits;
	u64 misses;
	u64 chain_steps;
};

/**
 * struct ds_vspace_usage - what is taken
 * @allocations: their number
 * @free_bytes: of the pool
 * @largest_free: bytes of the longest free block of the pool
 * @generation: of addresses; from 1
 * @table_bytes: of the translation: entries and buckets, front table apart
 */
struct ds_vspace_usage {
	u64 allocations;
	u64 free_bytes;
	u64 largest_free;
	u32 generation;
	u64 table_bytes;
};

struct ds_vspace;

/* What one request may cost is bounded, because others wait for it. */
#define DS_VSPACE_ALLOCATIONS	262144u	/* of a space; each moves a table of them */
#define DS_VSPACE_HASH_PAGES	65536u	/* of an allocation in HASH; each is mapped by itself */

/**
 * ds_vspace_create - make a space with nothing allocated
 * @attr: what it shall be
 * @out: the space, for ds_vspace_destroy(); written on success only
 *
 * Return: 0, -EINVAL, -ENOMEM
 */
int ds_vspace_create(const struct ds_vspace_attr *attr, struct ds_vspace **out);

/* @s may be NULL. */
void ds_vspace_destroy(struct ds_vspace *s);

/**
 * struct ds_vspace_grant - an allocation
 * @address: its first virtual address
 * @offset: in the pool of its first byte; with HASH the rest may lie elsewhere
 * @generation: of the address
 */
struct ds_vspace_grant {
	u64 address;
	u64 offset;
	u32 generation;
};

/**
 * ds_vspace_alloc - allocate
 * @length: bytes, at least 1; takes whole pages of the pool, but no byte beyond
 *	@length can be reached
 * @access: DS_ACCESS_*, a part of the space's; 0 for all of it. In DIRECT all of it,
 *	because there nothing stands between two allocations
 * @grant: written on success only
 *
 * Between two allocations at least one page of addresses is never mapped, except
 * in DIRECT, where the address is the offset.
 *
 * Except in HASH, an allocation is contiguous in the pool, and so not longer than
 * the longest free block.
 *
 * Return: 0; -EINVAL: @length is 0 or longer than the pool; -EACCES: @access is
 *	more than the space's, or in DIRECT less; -ENOSPC: pool or addresses are
 *	used up; -ENOMEM. Nothing is taken after an error; addresses of this
 *	generation may have been passed over.
 */
int ds_vspace_alloc(struct ds_vspace *s, u64 length, u32 access, struct ds_vspace_grant *grant);

/**
 * ds_vspace_free - give an allocation back
 * @address: its first
 * @length: of the allocation, as it was asked for, or 0
 *
 * The address is not given again before the generation changes, which it does
 * when no address of this generation is left. In DIRECT it is at once.
 *
 * Return: 0; -EFAULT: no allocation begins here; -EINVAL: another length
 */
int ds_vspace_free(struct ds_vspace *s, u64 address, u64 length);

/**
 * struct ds_vspace_run - a piece of a range that is contiguous in the pool
 * @offset: in the pool
 * @length: bytes
 */
struct ds_vspace_run {
	u64 offset;
	u32 length;
};

/* A range of DS_PACKET_MAX_LENGTH that begins within the smallest page. */
#define DS_VSPACE_RUNS	(DS_PACKET_MAX_LENGTH / (1u << DS_PACKET_PAGE_SHIFT_MIN) + 1)

/**
 * ds_vspace_translate - where is a range, and may it be touched so?
 * @address: first byte
 * @length: 1 to DS_PACKET_MAX_LENGTH
 * @access: one of DS_ACCESS_*, or several, all of which must be allowed
 * @runs: filled in the order of the range; neighbours in the pool are one run
 *
 * A range is within one allocation, whole. In DIRECT it is within the pool,
 * whether allocated or not.
 *
 * Return: the number of runs; -EINVAL: length, or no access; -EFAULT: not within
 *	one allocation, or wraps; -EACCES
 */
int ds_vspace_translate(struct ds_vspace *s, u64 address, u64 length, u32 access,
			struct ds_vspace_run runs[DS_VSPACE_RUNS]);

void ds_vspace_usage(const struct ds_vspace *s, struct ds_vspace_usage *usage);
const struct ds_vspace_stats *ds_vspace_stats(const struct ds_vspace *s);

#endif /* DS_RDM_VSPACE_H */
