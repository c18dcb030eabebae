// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: what the token cache does as time passes.
 */
#include "change.h"

/* Who is in a slot of L1 goes to L2. How many went: 0 or 1; or why he could not. */
static int leave_l1(struct ds_cache *c, u32 slot)
{
	struct ds_cache_change ch = { .count = 0 };
	int ret = ds_change_vacate(c, &ch, slot);

	ret = ds_change_end(c, &ch, ret);
	if (ret)
		return ret;
	ds_change_forget(c, slot);
	return ch.count > 0;
}

/* One who was idle in L1. */
static bool demote_from_l1(struct ds_cache *c)
{
	u32 slot = ds_policy_idle(&c->policy);

	return slot != DS_POLICY_NONE && leave_l1(c, slot) > 0;
}

/*
 * One of each domain that has, or keeps, too many since its share was made smaller; and one of a
 * domain that has no share any more is not its any more.
 */
static u32 shrink_shares(struct ds_cache *c)
{
	u32 i, slot = ds_share_left_over(&c->shares), moved = 0;
	int ret;

	if (slot != DS_SHARE_NONE)
		ds_change_repin(c, slot);
	for (i = 0; i < c->shares.count; i++) {
		struct ds_share *share = &c->shares.of[i];

		slot = ds_share_release(&c->shares, share);
		if (slot != DS_SHARE_NONE)
			ds_change_repin(c, slot);
		slot = ds_share_surplus(&c->shares, share);
		if (slot == DS_SHARE_NONE)
			continue;
		ret = leave_l1(c, slot);
		if (ret < 0)	/* another one next time */
			ds_share_renew(&c->shares, slot);
		moved += ret > 0;
	}
	return moved;
}

u32 ds_change_idle_in_l2(struct ds_cache *c, u64 now)
{
	u64 idle = c->policy.base ? c->policy.base->params.demote_from_l2_idle_ns :
				    DS_POLICY_DEMOTE_FROM_L2_IDLE_NS;

	return c->table.l2.used ? ds_l2_idle(&c->table.l2, now, idle) : DS_L2_NONE;
}

/* One who was idle in L2 goes home, if there is no room. */
static bool demote_from_l2(struct ds_cache *c, u64 now)
{
	struct ds_cache_change ch = { .count = 0 };
	u32 slot = ds_change_idle_in_l2(c, now);
	int ret;

	if (slot == DS_L2_NONE)
		return false;
	ret = ds_change_add(c, &ch, READ_ONCE(ds_l2_slot_of(&c->table.l2, slot)->token), 3, 0);
	return !ds_change_end(c, &ch, ret);
}

u32 ds_cache_tick(struct ds_cache *c, u64 now, u64 uses, const struct ds_policy_load *load,
		  u32 budget)
{
	u32 i, moved = 0;

	for (i = 0; i < budget; i++) {
		ds_spin_lock(&c->lock);
		/* Of the same time: some more counts age. */
		ds_policy_tick(&c->policy, now, uses, load);
		moved += shrink_shares(c);
		moved += demote_from_l1(c);
		moved += demote_from_l2(c, now);
		ds_spin_unlock(&c->lock);
	}
	return moved;
}
