// SPDX-License-Identifier: Apache-2.0
// One command, from its words to its exit status.
#pragma once

#include <string>
#include <vector>

#include "output.hpp"

namespace dsctl {

// Does what the words say and prints the result or the error. Options among the
// words come on top of `settings`. Returns the exit status.
int run(const std::vector<std::string> &words, const Settings &settings = {});

}  // namespace dsctl
