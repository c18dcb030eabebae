// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: the rule that L1 begins with.
 */
#include "policy_first.h"

#define DS_FIRST_LOOK	4096u	/* slots, at most */

/**
 * struct ds_first - what was seen of tokens
 * @seen: so many
 * @once: of these were never used again
 * @soon: were, the last time one or two epochs after they came, and then no more
 * @later: were, the last time in a later epoch than they came in, however much later
 */
struct ds_first {
	u32 seen;
	u32 once;
	u32 soon;
	u32 later;
};

/* The slots were taken one after the other, one for each miss. */
static u32 ds_first_came(const struct ds_policy *p, u32 slot)
{
	return (slot + 1) / (p->capacity / DS_POLICY_EPOCHS_PER_CAPACITY);
}

static void ds_first_see(const struct ds_policy *p, u32 slot, struct ds_first *f)
{
	u32 heat = READ_ONCE(p->slots[slot].heat), after;

	f->seen++;
	if (!(heat & DS_POLICY_USES)) {
		f->once++;
		return;
	}
	after = ds_epochs_since(ds_first_came(p, slot), heat >> 3);
	f->soon += after == 1 || after == 2;
	f->later += after >= 1;
}

/* Tokens are used for a while only: there is no use in who was used often. */
static bool ds_first_pass_by(const struct ds_first *f)
{
	return f->soon * 5 >= f->seen;
}

/* A loop, or a set of which L1 holds a small part, which should stay the same part. */
static bool ds_first_is_large(const struct ds_first *f)
{
	return f->once * 10 >= f->seen * 9;
}

/*
 * Uses do not come in bursts: whoever is used often is at any time, and whoever is not need not
 * wait long for a second use. Of two uses at random the second is in a later sixth in five of six
 * cases, by misses, which come less and less often, in some more.
 */
static bool ds_first_is_steady(const struct ds_first *f)
{
	return f->later * 15 >= (f->seen - f->once) * 13;
}

/* Who has had his burst does not come back: it is enough to wait for its end. */
static bool ds_first_is_in_bursts(const struct ds_first *f)
{
	return f->later * 100 <= f->seen && f->once * 2 >= f->seen;
}

enum ds_rule ds_policy_first_rule(const struct ds_policy *p)
{
	struct ds_first first = { 0 };
	u32 place = 0;

	while (first.seen < min(p->capacity, DS_FIRST_LOOK)) {
		/* By the golden ratio: equal steps may be those of a load. */
		place += 0x9e3779b9;
		ds_first_see(p, (u32)((u64)place * p->capacity >> 32), &first);
	}
	if (ds_first_pass_by(&first))
		return DS_RULE_LRU;
	if (ds_first_is_large(&first))
		return DS_RULE_LIRS;
	if (ds_first_is_steady(&first) || ds_first_is_in_bursts(&first))
		return DS_RULE_S3FIFO_SHORT;
	return DS_RULE_S3FIFO;
}
