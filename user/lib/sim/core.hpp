// SPDX-License-Identifier: Apache-2.0
// The token cache, which ds.ko is built from too.
#pragma once

extern "C" {
#include <tokencache/batch.h>
#include <tokencache/cache.h>
#include <tokencache/change.h>
#include <tokencache/expand.h>
#include <tokencache/fetch.h>
#include <tokencache/inline.h>
#include <tokencache/policy.h>
#include <tokencache/policy_adapt.h>
#include <tokencache/table.h>
#include <tokencache/tune.h>
}
