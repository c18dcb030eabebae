/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: the rule that L1 begins with.
 *
 * While L1 fills all rules do the same, and the contest (shadow.h) hardly tells them apart, but
 * it takes long until a wrong one is replaced. How often each token was used tells more.
 */
#ifndef DS_TOKENCACHE_POLICY_FIRST_H
#define DS_TOKENCACHE_POLICY_FIRST_H

#include "policy.h"

/**
 * ds_policy_first_rule - all slots were used for the first time
 * @p: the policy; @early is still there, if it ever was; its lock is held. Some 10 us
 *
 * Return: the rule to use
 */
enum ds_rule ds_policy_first_rule(const struct ds_policy *p);

#endif /* DS_TOKENCACHE_POLICY_FIRST_H */
