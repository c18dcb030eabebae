// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: the NUMA node that the memory of L2 is taken from.
 */
#include "l2_node.h"

#define BITS	64	/* of a long, see shim.h */

static bool has(const unsigned long *bitmap, u32 node)
{
	return bitmap[node / BITS] >> node % BITS & 1;
}

/* How many nodes have memory and no processors; @last is one of them. */
static u32 cxl_nodes(const unsigned long *memory, const unsigned long *processors, u32 count,
		     u32 *last)
{
	u32 node, n = 0;

	for (node = 0; node < count; node++) {
		if (!has(memory, node) || has(processors, node))
			continue;
		*last = node;
		n++;
	}
	return n;
}

int ds_l2_node_choose(const unsigned long *memory, const unsigned long *processors, u32 count,
		      int wanted, u32 local, struct ds_l2_node *out)
{
	*out = (struct ds_l2_node){ .node = local, .why = "" };
	if (wanted == DS_L2_NODE_BEST) {
		switch (cxl_nodes(memory, processors, count, &out->node)) {
		case 0:
			out->why = " (no CXL memory node)";
			break;
		case 1:
			break;
		default:
			out->node = local;
			out->why = " (several CXL memory nodes, none is named)";
		}
	} else {
		if ((u32)wanted >= count || !has(memory, (u32)wanted))
			return -ENODEV;
		out->node = (u32)wanted;
	}
	out->kind = has(processors, out->node) ? "DRAM" : "CXL memory";
	return 0;
}
