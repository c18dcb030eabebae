// SPDX-License-Identifier: Apache-2.0
// --help, made from the tables of command.hpp. No line is over 99 characters.
#pragma once

#include <string>

#include "command.hpp"

namespace dsctl {

std::string help();
std::string help(const Object &object);
std::string help(const Object &object, const Verb &verb);

// "dsctl seg add SIZE [--domain N] ...", in one line.
std::string synopsis(const Object &object, const Verb &verb);

}  // namespace dsctl
