/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: virtual addresses of a space, in pages.
 *
 * Ranges are given first fit from the free list of a generation. What is freed
 * waits: it is in no list. Only when nothing in the list is long enough, all that
 * is free makes up the list of the next generation. So an address that somebody
 * still knows after its end means nothing else within its generation.
 *
 * Page 0 is never given, nor is the page behind a range: two ranges never touch.
 *
 * A bit a page says what is in use. Ranges of a list only grow shorter, from
 * their start; a tree of maxima over their lengths finds the first fit in as many
 * steps as the tree is deep. Not thread safe.
 */
#ifndef DS_RDM_VRANGE_H
#define DS_RDM_VRANGE_H

#include "../shim.h"

/**
 * struct ds_vranges - addresses of a space
 * @pages: 1 more than the last page
 * @generation: of the free list; from 1
 * @used: a bit a page: part of a range, or the page behind one
 * @leaves: room in the list, a power of two
 * @longest: of the list: [leaves + i] is the length of range i, [n] the greater of
 *	[2n] and [2n + 1]
 * @start: [i] is the first page of range i
 */
struct ds_vranges {
	u32 pages;
	u32 generation;
	u64 *used;
	u32 leaves;
	u32 *longest;
	u32 *start;
};

/**
 * ds_vranges_init - nothing is in use
 * @v: filled, for ds_vranges_destroy()
 * @pages: page 0 included; at least 3, which is room for one page
 *
 * Return: 0, -EINVAL, -ENOMEM
 */
int ds_vranges_init(struct ds_vranges *v, u32 pages);
void ds_vranges_destroy(struct ds_vranges *v);

/**
 * ds_vranges_alloc - take a range
 * @v: the addresses
 * @pages: its length
 * @start: its first page, written on success only
 *
 * @v->generation is the range's generation afterwards.
 *
 * Return: 0; -EINVAL: no pages; -ENOSPC: not even the next generation has room;
 *	-ENOMEM: there is no memory for its list. Nothing has changed after an error.
 */
int ds_vranges_alloc(struct ds_vranges *v, u32 pages, u32 *start);

/* Give a range back, whole: as it was taken. */
void ds_vranges_free(struct ds_vranges *v, u32 start, u32 pages);

#endif /* DS_RDM_VRANGE_H */
