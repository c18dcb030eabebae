// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: the rule that L1 begins with.
 */
#include "policy_first.h"

#define DS_FIRST_LOOK	4096u	/* slots, at most */
#define DS_FIRST_FITS	8	/* noted hits lately, in sizes of a miniature */

/**
 * struct ds_first_uses - how often tokens were used while L1 filled
 * @seen: slots that were looked at
 * @never: of these were not used again
 * @once: were used again once
 */
struct ds_first_uses {
	u32 seen;
	u32 never;
	u32 once;
};

static void ds_first_count(const struct ds_policy *p, struct ds_first_uses *u)
{
	u32 uses, place = 0;

	memset(u, 0, sizeof(*u));
	for (; u->seen < min(p->capacity, DS_FIRST_LOOK); u->seen++) {
		/* By the golden ratio: equal steps may be those of a load. */
		place += 0x9e3779b9;
		uses = READ_ONCE(p->slots[(u64)place * p->capacity >> 32].heat) & DS_POLICY_USES;
		u->never += uses == 0;
		u->once += uses == 1;
	}
}

/*
 * Where each token is as likely to be used as it ever was, few were used exactly twice: with
 * Zipf's law for whatever exponent an eighth of all at most, if there is no end of tokens (Karlin,
 * "Central limit theorems for certain infinite urn schemes", 1967), and hardly a fifth if there is.
 * More have a short life.
 */
static bool ds_first_pass_by(const struct ds_first_uses *u)
{
	return u->once * 9 >= u->seen * 2;
}

/* Who misses now, though nearly all was there, is of another working set. */
static bool ds_first_fitted(const struct ds_policy *p)
{
	return p->lately >= DS_FIRST_FITS * (u32)p->shadow.size;
}

/* Of what is used in a loop, or seldom, it is best to keep a part. */
static bool ds_first_is_large(const struct ds_first_uses *u)
{
	return u->never * 10 >= u->seen * 9;
}

enum ds_rule ds_policy_first_rule(const struct ds_policy *p)
{
	struct ds_first_uses uses;

	ds_first_count(p, &uses);
	if (ds_first_pass_by(&uses) || ds_first_fitted(p))
		return DS_RULE_LRU;
	if (ds_first_is_large(&uses))
		return DS_RULE_LIRS;
	if (p->rule == DS_RULE_S3FIFO && p->early && ds_shadow_is_skewed(p->early))
		return DS_RULE_S3FIFO_SHORT;
	return (enum ds_rule)p->rule;
}
