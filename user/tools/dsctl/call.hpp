// SPDX-License-Identifier: Apache-2.0
// One run of a verb: its checked parameters, the global options, the output.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "output.hpp"

namespace dsctl {

// Stands between the words of a Param::is_list(), where no word can have it.
constexpr char list_separator = '\0';

class Call {
public:
    Call(const Object &object, const Verb &verb, const Settings &settings, Output &out,
         std::map<std::string, std::string, std::less<>> values)
        : object(object), verb(verb), settings(settings), out(out), values_(std::move(values)) {}

    // True if the user gave it.
    bool has(std::string_view name) const { return values_.find(name) != values_.end(); }

    // The value, or its fallback, or "".
    std::string text(std::string_view name) const;

    // What was given for "NAME...".
    std::vector<std::string> list(std::string_view name) const;

    // The value as a number of its kind (bytes, milliseconds); 0 if there is none.
    uint64_t number(std::string_view name) const;

    // As number(), nothing if there is neither a value nor a fallback.
    std::optional<uint64_t> maybe(std::string_view name) const;

    // Throws if this file would be standard output, and a JSON document would be there, too.
    void check_output(std::string_view file, std::string_view what) const;

    // --timeout, or the given default.
    uint32_t timeout_ms(uint32_t fallback) const;

    const Object &object;
    const Verb &verb;
    const Settings &settings;
    Output &out;

private:
    const Param &param(std::string_view name) const;

    std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace dsctl
