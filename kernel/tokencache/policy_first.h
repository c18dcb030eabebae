/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: the rule that L1 begins with.
 *
 * While L1 fills nobody has to leave, so all rules do the same, and the contest (shadow.h) hardly
 * tells them apart. But it takes long until a wrong one is replaced. How long after it came each
 * token was used again tells more.
 */
#ifndef DS_TOKENCACHE_POLICY_FIRST_H
#define DS_TOKENCACHE_POLICY_FIRST_H

#include "policy.h"

/*
 * All slots were used for the first time, under S3FIFO. Some thousand of them are looked at.
 * Returns the rule to go on with.
 */
enum ds_rule ds_policy_first_rule(const struct ds_policy *p);

#endif /* DS_TOKENCACHE_POLICY_FIRST_H */
