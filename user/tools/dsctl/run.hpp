// SPDX-License-Identifier: Apache-2.0
// One command, from its words to its exit status.
#pragma once

#include <string>
#include <vector>

#include "command.hpp"
#include "output.hpp"

namespace dsctl {

// Does what the words say and prints the result or the error. Options among the
// words come on top of `settings`. Returns the exit status.
int run(const std::vector<std::string> &words, const Settings &settings = {});

// The document that the verb prints with --json: its schema is "dsctl/NAME/v1".
std::string document_name(const Object &object, const Verb &verb);

}  // namespace dsctl
