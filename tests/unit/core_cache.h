/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the token cache: a use without what keeps whole descriptions (whole.h). */
#ifndef CORE_CACHE_H
#define CORE_CACHE_H

#include "tokencache/cache.h"

/* As ds_token_get(); who chooses hears of it. */
static inline int cache_get(struct ds_cache *c, u32 token, struct ds_token_desc *out)
{
	int ret = ds_token_get(&c->table, token, out);

	if (!ret)
		ds_cache_hit(c, out->tier, out->slot);
	return ret;
}

#endif /* CORE_CACHE_H */
