/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: extents, the runs of nodes that a memory server gives to clients.
 *
 * Each region but the root is divided into extents of equal size, a power of
 * two of nodes. A client takes an extent, hands out its nodes by itself, and
 * gives it back with the number of nodes that it has used. An extent that is not
 * used up goes to the next client, which continues behind them. There is one
 * record for each extent, a word in the server's memory:
 *
 *	state 2 | client 13 | incarnation 16 | generation 16 | used 13 | 0 4
 *
 * from the highest bit on. Memory of zeros is a table of free extents.
 *
 *	    alloc                 free, reclaim
 *	FREE ----> OWNED ----> FREE (used == 0)      generation + 1
 *	PART ---->             PART (used < nodes)
 *	                       FULL (used == nodes)
 *
 * A record that says anything else is damaged, and its extent is taken by nobody: so no
 * flipped bit of the state or the owner gives away nodes that are in use.
 *
 * The generation tells what was written before the extent became free from
 * what was written after; it is stamped into nodes and into pointers to them.
 * It runs from 1 to 65535 and then again from 1.
 *
 * No lock: a record changes by one compare-and-swap, so a caller that stops or
 * dies between two steps leaves every record whole, and holds up nobody. So the
 * clients do it all by remote operations: taking an extent is a READ of some
 * records and a CAS of one, and costs the server's processor nothing.
 */
#ifndef DS_RDM_EXTENT_H
#define DS_RDM_EXTENT_H

#include "layout.h"

/* What bytes 8 to 11 of a node are once it was written: le16 generation, this. */
#define DS_NODE_MARK		0xd5b7u
#define DS_NODE_MARK_OFFSET	8

#define DS_EXTENT_MAX_NODES	4096u

/**
 * struct ds_owner - a client of a pool, in one of its lives
 * @client: 1 to DS_LAYOUT_MAX_CLIENT
 * @incarnation: from 1 on
 */
struct ds_owner {
	u16 client;
	u16 incarnation;
};

/**
 * struct ds_extent_ops - access to the memory of a server
 * @read: reads @count aligned words from @offset on, each of them as it was at one
 *	instant. At most DS_EXTENT_READ_WORDS
 * @cas: stores @after in the word at @offset if it is @before; @found is what
 *	it was
 *
 * Both return 0 or a negative errno, which ends the call that made them.
 */
struct ds_extent_ops {
	int (*read)(void *memory, u64 offset, u64 *words, u32 count);
	int (*cas)(void *memory, u64 offset, u64 before, u64 after, u64 *found);
};

#define DS_EXTENT_READ_WORDS	64u

/**
 * struct ds_extents - the extents of one memory server
 * @layout: the pool's map
 * @ops: how its memory is reached
 * @memory: handed to @ops
 * @next: extent of each region to look at first, so that a full region is not
 *	searched again and again
 *
 * May be used by several threads, and by several hosts through structs of their
 * own for the same memory.
 */
struct ds_extents {
	struct ds_layout layout;
	const struct ds_extent_ops *ops;
	void *memory;
	u32 next[DS_REGION_COUNT];
};

/**
 * struct ds_extent - an extent as its owner sees it
 * @index: number of the extent in its server's table
 * @generation: to be stamped into nodes and pointers
 * @used: nodes at its start that are another client's
 * @nodes: nodes of the extent
 * @offset: of its first node in the server
 */
struct ds_extent {
	u32 index;
	u16 generation;
	u16 used;
	u32 nodes;
	u64 offset;
};

/**
 * ds_extent_nodes - size of the extents of a region
 * @l: the map
 * @region: enum ds_region, not DS_REGION_ROOT
 *
 * A region has about 1,000 extents, if that gives them 4 to 4,096 nodes.
 *
 * Return: nodes.
 */
u32 ds_extent_nodes(const struct ds_layout *l, u32 region);

/**
 * ds_extent_count - number of extents of a region
 * @l: the map
 * @region: enum ds_region, not DS_REGION_ROOT
 *
 * Return: extents, on each server.
 */
u32 ds_extent_count(const struct ds_layout *l, u32 region);

/**
 * ds_extents_init - begin to work on a server's extents
 * @e: filled
 * @l: the map, checked
 * @ops: see struct ds_extents
 * @memory: see struct ds_extents
 */
void ds_extents_init(struct ds_extents *e, const struct ds_layout *l,
		     const struct ds_extent_ops *ops, void *memory);

/**
 * ds_extent_alloc - take an extent for a client
 * @e: the server's extents
 * @region: enum ds_region
 * @owner: the client
 * @out: the extent, written on success only
 *
 * Return: 0, -EINVAL for the root region, a region or an owner that does not exist,
 * -ENOSPC if no extent has room, or what @ops say.
 */
int ds_extent_alloc(struct ds_extents *e, u32 region, struct ds_owner owner,
		    struct ds_extent *out);

/**
 * ds_extent_free - give an extent back
 * @e: the server's extents
 * @index: of the extent
 * @owner: the client
 * @used: nodes at its start that hold something, the former owners' included
 *
 * Return: 0, -EINVAL: no such extent, or fewer nodes than were used before or
 * more than there are; -ESTALE: nobody's; -EACCES: another's; or what @ops say.
 */
int ds_extent_free(struct ds_extents *e, u32 index, struct ds_owner owner, u32 used);

/**
 * ds_extent_reclaim - take all extents back from a client that is gone
 * @e: the server's extents
 * @owner: the client, which must not write any more
 *
 * Looks in each for the last node that was written since the extent was free;
 * what is behind it is room again. A node that the client wrote and never
 * linked counts as used.
 *
 * Return: number of extents, or what @ops say; then call it again.
 */
int ds_extent_reclaim(struct ds_extents *e, struct ds_owner owner);

/**
 * struct ds_extent_tally - the extents of a server, counted by what they are
 * @free: nothing is in them
 * @owned: a client has them
 * @part: used in part, nobody's
 * @full: used up
 */
struct ds_extent_tally {
	u32 free;
	u32 owned;
	u32 part;
	u32 full;
};

/**
 * ds_extent_count_all - how much of a server is taken?
 * @e: the server's extents
 * @tally: the answer, each record as it was at one instant; written on success only
 *
 * Return: 0, or what @ops say.
 */
int ds_extent_count_all(const struct ds_extents *e, struct ds_extent_tally *tally);

#endif /* DS_RDM_EXTENT_H */
