// SPDX-License-Identifier: Apache-2.0
// From the words of a command line to a verb and its values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "command.hpp"
#include "output.hpp"

namespace dsctl {

struct Parsed {
    const Object *object = nullptr;
    const Verb *verb = nullptr;
    Settings settings = {};
    bool help = false;
    bool version = false;
    std::map<std::string, std::string, std::less<>> values = {};
};

// Throws Error with Exit::usage; what was understood until then is in *parsed,
// so that the error can be printed in the form that the user asked for.
void parse(const std::vector<std::string> &words, Parsed *parsed);

// Where the help for a command is, as far as it was understood.
std::string help_hint(const Parsed &parsed);

// The number that a text of this kind stands for; throws if it is none or out of range.
uint64_t number_of(const Param &param, std::string_view text);

}  // namespace dsctl
