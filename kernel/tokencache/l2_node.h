/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: the NUMA node that the memory of L2 is taken from.
 *
 * L2 is meant for CXL memory (document 001). Linux shows that as a node which has memory and
 * no processors.
 */
#ifndef DS_TOKENCACHE_L2_NODE_H
#define DS_TOKENCACHE_L2_NODE_H

#include "../shim.h"

#define DS_L2_NODE_BEST	(-1)

/**
 * struct ds_l2_node - a choice
 * @node: number
 * @kind: of its memory: static words
 * @why: it is not CXL memory: static words, with a space before them; "" if it is, or was
 *	asked for
 */
struct ds_l2_node {
	u32 node;
	const char *kind;
	const char *why;
};

/**
 * ds_l2_node_choose - the node that was asked for, or the best one
 * @memory: bitmap of the nodes whose memory may be had
 * @processors: bitmap of the nodes with processors
 * @count: nodes, at least 1
 * @wanted: a node, or DS_L2_NODE_BEST: the one without processors if there is exactly one,
 *	else @local
 * @local: node of who asks, below @count
 * @out: result
 *
 * Return: 0; -ENODEV if @wanted has no memory or does not exist.
 */
int ds_l2_node_choose(const unsigned long *memory, const unsigned long *processors, u32 count,
		      int wanted, u32 local, struct ds_l2_node *out);

#endif /* DS_TOKENCACHE_L2_NODE_H */
