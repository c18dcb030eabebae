// SPDX-License-Identifier: Apache-2.0
// The verbs of dsctl token.
#pragma once

#include "call.hpp"

namespace dsctl {

// token_record.cpp
Verb token_record_verb();

}  // namespace dsctl
