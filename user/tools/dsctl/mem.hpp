// SPDX-License-Identifier: Apache-2.0
// The verbs of 'dsctl mem', and what their tables share.
#pragma once

#include "call.hpp"

namespace dsctl {

// mem_word.cpp
Exit mem_read(Call &call);
Exit mem_write(Call &call);
Exit mem_cas(Call &call);
Exit mem_add(Call &call);

// mem_copy.cpp
Exit mem_put(Call &call);
Exit mem_get(Call &call);
Exit mem_fill(Call &call);
Exit mem_verify(Call &call);

// mem_bench.cpp
Exit mem_bench(Call &call);

}  // namespace dsctl
