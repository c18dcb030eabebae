// SPDX-License-Identifier: Apache-2.0
// The token cache, which ds.ko is built from too.
#pragma once

extern "C" {
#include <tokencache/policy.h>
}
