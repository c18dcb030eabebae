/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: parameters of the token cache by their names; those of document 001 keep theirs.
 * Whoever has parameters has a table of these and an array of values, by the same index.
 */
#ifndef DS_TOKENCACHE_PARAM_H
#define DS_TOKENCACHE_PARAM_H

#include "../shim.h"

/**
 * struct ds_param - a parameter
 * @name: of document 001, or of the same kind
 * @least: smallest value
 * @most: largest value
 * @normal: value if nobody says another one
 * @fixed: memory was allocated for it: it cannot be changed afterwards
 */
struct ds_param {
	const char *name;
	u64 least;
	u64 most;
	u64 normal;
	bool fixed;
};

static inline bool ds_param_fits(const struct ds_param *p, u64 value)
{
	return value >= p->least && value <= p->most;
}

/* Set @count parameters of a table; all of them or, with -EINVAL, none. */
static inline int ds_param_init(u64 *values, const u64 *from, const struct ds_param *table,
				u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (from && !ds_param_fits(&table[i], from[i]))
			return -EINVAL;
	for (i = 0; i < count; i++)
		values[i] = from ? from[i] : table[i].normal;
	return 0;
}

#endif /* DS_TOKENCACHE_PARAM_H */
