// SPDX-License-Identifier: Apache-2.0
// What sim run and sim sweep share: a run's options, and its result as a line.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "call.hpp"
#include "sim/run.hpp"

namespace dsctl {

// All combinations of the values of options that are lists, the last one changing first.
std::vector<ds::sim::RunOptions> cells_of(const Call &call);

// The only one; throws if an option has several values.
ds::sim::RunOptions cell_of(const Call &call);

// Throws, with the file's name, for a trace that does not say what one of them needs.
void check_trace(const std::string &file, const ds::sim::Trace &trace,
                 const std::vector<ds::sim::RunOptions> &cells);

// Misses that are fetched together; 0: each for itself.
uint64_t batch_of(const ds::sim::RunOptions &options);

// A number, a text, parameters or null, as it stands in JSON and in CSV.
struct Value {
    using Parameters = decltype(ds::sim::RunOptions::parameters);

    Value(std::string value) : json(value), text(std::move(value)) {}
    Value(const char *value) : json(value), text(value) {}
    Value(uint64_t value) : json(value), text(std::to_string(value)) {}
    Value(uint32_t value) : Value(uint64_t(value)) {}
    Value(double value);                  // a result
    static Value as_given(double value);  // an option
    Value(const Parameters &parameters);
    template <class T>
    Value(const std::optional<T> &value) : json(nullptr) {
        if (value)
            *this = Value(*value);
    }

    Json json;
    std::string text;
};

// Options and result by name.
using Line = std::vector<std::pair<std::string, Value>>;

Line line_of(const Call &call, const ds::sim::RunOptions &options,
             const ds::sim::RunResult &result);

Json json_of(const Line &line);

// Names with commas, and values.
std::string csv_names(const Line &line);
std::string csv_values(const Line &line);

}  // namespace dsctl
