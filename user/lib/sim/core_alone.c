// SPDX-License-Identifier: Apache-2.0
/*
 * The token cache for the simulator: the files of which ds.ko is made, as one, and for a caller who
 * is alone (DS_ALONE).
 */
#include <tokencache/batch.c>
#include <tokencache/cache.c>
#include <tokencache/change.c>
#include <tokencache/expand.c>
#include <tokencache/fetch.c>
#include <tokencache/ghost.c>
#include <tokencache/inline.c>
#include <tokencache/l1.c>
#include <tokencache/l2.c>
#include <tokencache/move.c>
#include <tokencache/pack.c>
#include <tokencache/policy.c>
#include <tokencache/policy_001.c>
#include <tokencache/policy_adapt.c>
#include <tokencache/policy_first.c>
#include <tokencache/policy_queue.c>
#include <tokencache/read.c>
#include <tokencache/recency.c>
#include <tokencache/shadow.c>
#include <tokencache/share.c>
#include <tokencache/sketch.c>
#include <tokencache/slotmap.c>
#include <tokencache/tick.c>
#include <tokencache/token.c>
#include <tokencache/trial.c>
#include <tokencache/tune.c>
#include <tokencache/wide.c>
