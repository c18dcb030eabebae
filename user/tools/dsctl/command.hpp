// SPDX-License-Identifier: Apache-2.0
// The grammar of dsctl as tables: an object has verbs, a verb has parameters.
// The parser, --help, the man pages and shell completion all read these tables.
//
// A new object is one new file obj_NAME.cpp that defines an Object and a
// Register for it; nothing else changes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "error.hpp"

namespace dsctl {

class Call;

// What a value must look like; checked before the verb runs.
enum class Kind {
    text,
    number,    // decimal or 0x
    word,      // a 64-bit word: a number, or a negative number
    size,      // bytes, with a suffix
    duration,  // a time: milliseconds, or with a suffix
    seconds,   // a time: seconds, or with a suffix; its number is milliseconds too
    file,      // a path
    choice,    // one of Param::choices
};

// A positional argument ("ADDR", or "FILE..." for the last one, of which there may be many) or
// an option ("--space").
struct Param {
    std::string_view name;
    std::string_view value = "";  // option: name of its value, empty for a flag
    Kind kind = Kind::text;
    std::string_view help = "";
    std::string_view fallback = "";  // value if it is not given
    bool optional = false;           // of a positional argument
    bool required = false;           // of an option
    std::string_view choices = "";   // "a|b|c"
    char letter = 0;                 // of an option: "-j", 0 if it has none
    std::string_view names = "";     // for the shell: KIND of 'completion names', or %fabric
    uint64_t min = 0;
    uint64_t max = UINT64_MAX;

    bool is_option() const { return name.front() == '-'; }
    bool is_list() const { return name.ends_with("..."); }
    bool is_flag() const { return is_option() && value.empty(); }
    bool is_needed() const { return is_option() ? required : !optional; }
};

// The same for a verb that makes one: the names that are there already are no choice.
constexpr Param for_new(Param param) {
    param.names = "";
    return param;
}

// --space of the verbs that work in one.
inline constexpr Param space_option{.name = "--space",
                                    .value = "S",
                                    .kind = Kind::number,
                                    .help = "number of the space",
                                    .fallback = "1",
                                    .names = "spaces",
                                    .min = 1,
                                    .max = UINT32_MAX};

using Function = Exit (*)(Call &);

struct Example {
    std::string_view command;  // without the leading "dsctl "
    std::string_view text;     // what it does
};

struct Verb {
    std::string_view name;  // one word, or two as "domain add"
    std::string_view summary;
    std::vector<Param> params;
    std::vector<Example> examples;
    Function run;
    std::string_view details = "";  // more than the summary can say
};

struct Object {
    std::string_view name;
    std::string_view summary;
    std::vector<Verb> verbs;
    bool hidden = false;  // not in --help: tools of the build

    // The verb that runs when none is named: "show", or the only one.
    const Verb *default_verb() const;
};

// All objects, in the order of their names.
const std::vector<const Object *> &objects();

// Puts an object into objects(). Defined once in each obj_*.cpp.
struct Register {
    explicit Register(const Object &object);
};

// The options that every verb takes.
const std::vector<Param> &global_options();

}  // namespace dsctl
