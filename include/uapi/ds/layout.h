/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * DS: the address map of pooled memory (document 000, "Complete Memory Layout").
 *
 * A pool with this map is a row of memory servers of equal size. Server i
 * owns [DS_LAYOUT_BASE + (i << s), DS_LAYOUT_BASE + ((i + 1) << s)), where
 * s = DS_LAYOUT_SERVER_SHIFT + k and k is chosen once for a pool. Within a
 * server five regions follow each other; their offsets are those of document
 * 000, shifted left by k. With k = 0 the map is document 000 exactly.
 */
#ifndef _UAPI_DS_LAYOUT_H
#define _UAPI_DS_LAYOUT_H

#include <linux/types.h>

#define DS_LAYOUT_BASE		0x10000000ULL	/* address of server 0 */
#define DS_LAYOUT_SERVER_SHIFT	24		/* 16 MiB a server at k = 0 */
#define DS_LAYOUT_MAX_K		16		/* 1 TiB a server */
#define DS_LAYOUT_MAX_SERVERS	1024		/* 10 bits in a node pointer */

/* Offsets of the regions within a server at k = 0. */
#define DS_LAYOUT_ROOT_OFFSET	0x000000ULL	/* 64 KiB: superblock, anchors */
#define DS_LAYOUT_LEVEL1_OFFSET	0x010000ULL	/* 64 KiB */
#define DS_LAYOUT_LEVEL2_OFFSET	0x020000ULL	/* 128 KiB */
#define DS_LAYOUT_LEVEL3_OFFSET	0x040000ULL	/* 1.75 MiB */
#define DS_LAYOUT_LEAF_OFFSET	0x200000ULL	/* 14 MiB */
#define DS_LAYOUT_END_OFFSET	0x1000000ULL

/*
 * The root region of a pool, at k = 0; shifted left by k like the regions. All
 * but the extent table, which each server has, are on server 0 only.
 */
#define DS_LAYOUT_SUPERBLOCK_OFFSET	0x0000ULL	/* 1 KiB */
#define DS_LAYOUT_ANCHOR_OFFSET		0x0400ULL	/* of tree 1; 1 KiB a tree */
#define DS_LAYOUT_CLIENT_OFFSET		0x8000ULL	/* 16 KiB: 16 bytes a client */
#define DS_LAYOUT_EXTENT_OFFSET		0xc000ULL	/* 16 KiB: 8 bytes an extent */

#define DS_LAYOUT_NODE_SIZE		1024		/* bytes, at any k */
#define DS_LAYOUT_MAX_CLIENT		8191		/* 13 bits; number 0 is nobody */

/**
 * enum ds_region - a region of a memory server
 * @DS_REGION_ROOT: superblock and the trees' anchors (server 0)
 * @DS_REGION_LEVEL1: nodes three and more levels above the leaves
 * @DS_REGION_LEVEL2: nodes two levels above the leaves
 * @DS_REGION_LEVEL3: nodes one level above the leaves ("level 3+" of 000)
 * @DS_REGION_LEAF: leaves
 *
 * Values are part of the ABI and are never renumbered.
 */
enum ds_region {
	DS_REGION_ROOT = 0,
	DS_REGION_LEVEL1 = 1,
	DS_REGION_LEVEL2 = 2,
	DS_REGION_LEVEL3 = 3,
	DS_REGION_LEAF = 4,
};

#define DS_REGION_COUNT		5

/*
 * Document 000's names for the fixed map (k = 0). GET_MEMORY_SERVER does not
 * check its argument; ds_layout_resolve() does.
 */
#define MEMORY_BASE_ADDRESS	DS_LAYOUT_BASE
#define MEMORY_SERVER_SIZE	(1ULL << DS_LAYOUT_SERVER_SHIFT)
#define BTREE_LEVEL0_OFFSET	DS_LAYOUT_ROOT_OFFSET
#define BTREE_LEVEL1_OFFSET	DS_LAYOUT_LEVEL1_OFFSET
#define BTREE_LEVEL2_OFFSET	DS_LAYOUT_LEVEL2_OFFSET
#define BTREE_LEVEL3_OFFSET	DS_LAYOUT_LEVEL3_OFFSET
#define BTREE_LEAF_OFFSET	DS_LAYOUT_LEAF_OFFSET
#define GET_MEMORY_SERVER(address) \
	(((address) - MEMORY_BASE_ADDRESS) / MEMORY_SERVER_SIZE)

/*
 * Document 000's local buffer roles. There they are absolute addresses; here
 * they are offsets from the start of an operation's private buffer block, so
 * that any number of operations can run at once. One role is 64 KiB, the
 * traversal roles have sixteen levels.
 */
#define LOCAL_BUFFER_SPACING	0x10000ULL
#define LOCAL_BUFFER_LEVELS	16
#define LOCAL_BUFFER_BASE	0x000000ULL
#define LOCAL_LEAF_BUFFER	0x100000ULL
#define LOCAL_PARENT_BUFFER	0x110000ULL
#define LOCAL_FINDPARENT_BUFFER	0x120000ULL
#define LOCAL_VERIFY_BUFFER	0x220000ULL
#define LOCAL_BUFFER_BLOCK_SIZE	0x230000ULL
#define GET_LOCAL_BUFFER(level) \
	(LOCAL_BUFFER_BASE + (level) * LOCAL_BUFFER_SPACING)

#endif /* _UAPI_DS_LAYOUT_H */
