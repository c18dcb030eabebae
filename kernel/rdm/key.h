/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: keys, the registration of a segment's pages in a protection domain.
 */
#ifndef _DS_KEY_H
#define _DS_KEY_H

#include <linux/list.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

struct ds_pd;

/**
 * struct ds_key - one chunk
 * @mr: its memory region; its addresses are offsets in the segment
 * @sgt: DMA mapping of its pages; empty on devices that need none
 * @token: handle of its token
 */
struct ds_key {
	struct ib_mr	*mr;
	struct sg_table	sgt;
	u32		token;
};

/**
 * struct ds_reg - a segment in a protection domain
 * @link: in ds_segment.regs
 * @pd: the protection domain; a reference is held
 * @users: attachers that hold its keys, under ds_segment.lock
 * @access: DS_ACCESS_* that the keys grant
 * @chunk_shift: log2 of a chunk's bytes
 * @chunks: length of @keys
 * @valid: how many of them were made valid, which is what is counted; the first ones
 * @keys: one for each chunk
 */
struct ds_reg {
	struct list_head	link;
	struct ds_pd		*pd;
	u32			users;
	u32			access;
	u32			chunk_shift;
	u32			chunks;
	u32			valid;
	struct ds_key		keys[];
};

/**
 * ds_reg_create - make pages reachable under new keys
 * @pd: a reference is taken
 * @pages: @length bytes of them
 * @access: DS_ACCESS_*
 *
 * Context: process, may sleep.
 * Return: it, or an ERR_PTR
 */
struct ds_reg *ds_reg_create(struct ds_pd *pd, struct page **pages, u64 length,
			     u32 access);

/* When it returns, nobody can reach the pages by these keys (rule 8). */
void ds_reg_destroy(struct ds_reg *reg);

#endif
