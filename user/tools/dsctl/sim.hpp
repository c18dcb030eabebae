// SPDX-License-Identifier: Apache-2.0
// The verbs of dsctl sim, and what they have in common.
#pragma once

#include <string>
#include <vector>

#include "call.hpp"
#include "sim/trace.hpp"

namespace dsctl {

// The parts of "a,b,c"; throws if there is none, or one is empty.
std::vector<std::string> list_of(const Call &call, std::string_view option);

// A number with a point, as 0.99; throws if it is none.
double decimal_of(const Call &call, std::string_view option);

// Runs what may throw ds::Failure, which becomes an Error.
template <class Action>
auto or_error(Action &&action) {
    try {
        return action();
    } catch (const ds::Failure &failure) {
        const ds::Error &error = failure.error();
        // What was named wrongly is a mistake in the command line.
        if (error.code == EINVAL)
            throw usage(clause(error.sentence), clause(error.remedy));
        throw from_errno("SIM", error.code, clause(error.sentence), clause(error.remedy));
    }
}

// A file of 'TRACE...', read as --format, --block and --most say.
ds::sim::Trace trace_of(const Call &call, const std::string &path);

// sim_trace.cpp
Exit sim_trace_show(Call &call);
Exit sim_trace_make(Call &call);

// sim_compare.cpp
Exit sim_compare(Call &call);

}  // namespace dsctl
