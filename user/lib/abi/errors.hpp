// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ds/error.h>

namespace ds {

/// May the same operation succeed when it is tried again later?
bool is_transient(int code);

}  // namespace ds
