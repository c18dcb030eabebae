// SPDX-License-Identifier: Apache-2.0
// The verbs of dsctl sim, and what they have in common.
#pragma once

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "call.hpp"
#include "file.hpp"
#include "progress.hpp"
#include "sim/trace.hpp"

namespace dsctl {

// The parts of a text, with a separator between each two; one if there is none.
std::vector<std::string> split(std::string_view text, char separator);

// The parts of "a,b,c"; throws if there is none, or one is empty.
std::vector<std::string> list_of(const Call &call, std::string_view option);

// A number with a point, as 0.99; throws if it is none.
double decimal_of(const Call &call, std::string_view option);

// The number of --threads, or of processors.
unsigned threads_of(const Call &call);

// The list of --capacity; throws if one of them is no number of entries.
std::vector<uint32_t> capacities_of(const Call &call);

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
        // The library's general remedies are of spaces and segments; here all are of files.
        bool general = error.remedy == ds_remedy(error.code);
        throw from_errno("SIM", error.code, clause(error.sentence),
                         general ? file_remedy(error.code) : clause(error.remedy));
    }
}

// The same in another thread, as this one shows how far it has come: the action counts what is done
// of @p total. Where there can be no other thread, this one does it and shows nothing.
template <class Action>
auto with_progress(Call &call, const char *what, uint64_t total, Progress::Unit unit,
                   Action &&action) {
    Progress progress(call.settings, what, total, unit);
    std::atomic<uint64_t> done = 0;
    auto result = std::async([&] { return action(&done); });

    while (result.wait_for(std::chrono::milliseconds(100)) == std::future_status::timeout)
        progress.update(done);
    return or_error([&] { return result.get(); });
}

// The files of 'TRACE...'; throws if standard input is named twice.
std::vector<std::string> traces_of(const Call &call);

// A file of 'TRACE...', read as --format, --block and --most say; throws before it takes more
// memory than there is.
ds::sim::Trace trace_of(Call &call, const std::string &path,
                        const ds::sim::ObjectLimit &objects = {});

// The same; throws if it has no access, of which ratios are.
ds::sim::Trace accesses_of(Call &call, const std::string &path,
                           const ds::sim::ObjectLimit &objects = {});

// If --csv was given; throws if JSON is to be printed, too.
bool wants_csv(const Call &call);

// What stands behind the last slash.
std::string last_part(const std::string &path);

// That of one of some files, or the whole path if others of them have the same.
std::string label_of(const std::string &path, const std::vector<std::string> &files);

// A value among others with commas, as RFC 4180 has it.
std::string quoted(const std::string &text);

// sim_trace.cpp
Exit sim_trace_show(Call &call);
Exit sim_trace_make(Call &call);

// sim_run.cpp
Exit sim_run(Call &call);

// sim_sweep.cpp
Exit sim_sweep(Call &call);

// sim_compare.cpp
Exit sim_compare(Call &call);

// sim_mrc.cpp
Exit sim_mrc(Call &call);

// sim_calibrate.cpp
Exit sim_calibrate(Call &call);

}  // namespace dsctl
