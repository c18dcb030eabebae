// SPDX-License-Identifier: Apache-2.0
// sim compare: hit ratios of policies, side by side.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "sim.hpp"
#include "sim/compare.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

using ds::sim::Comparison;

double ratio(const Comparison &result, const ds::sim::Cell &cell, size_t policy) {
    return static_cast<double>(cell.hits[policy]) /
           static_cast<double>(result.accesses[cell.trace]);
}

void respond(Call &call, const std::vector<std::string> &files,
             const std::vector<ds::sim::Trace> &traces, const Comparison &result) {
    Json about = Json::array(), cells = Json::array(), policies = Json::array();

    for (size_t t = 0; t < traces.size(); t++)
        about.push_back({{"file", files[t]},
                         {"format", ds::sim::name_of(traces[t].format)},
                         {"uniques", traces[t].uniques},
                         {"accesses", result.accesses[t]}});
    for (const ds::sim::Cell &cell : result.cells) {
        Json row = Json::array();
        for (size_t p = 0; p < result.policies.size(); p++)
            row.push_back({{"policy", result.policies[p]},
                           {"hits", cell.hits[p]},
                           {"hit_ratio", ratio(result, cell, p)},
                           {"rank", or_null(cell.ranks[p])}});
        cells.push_back({{"file", files[cell.trace]},
                         {"capacity", cell.capacity},
                         {"ranked", cell.ranked},
                         {"best", result.policies[cell.best]},
                         {"policies", row}});
    }
    for (size_t p = 0; p < result.policies.size(); p++)
        policies.push_back(
            {{"policy", result.policies[p]}, {"mean_rank", or_null(result.mean_ranks[p])}});
    call.out.respond({{"traces", about}, {"cells", cells}, {"policies", policies}});
}

void print_table(Call &call, const std::vector<std::string> &files, const Comparison &result) {
    std::vector<Column> columns{{"TRACE", false, true}, {"ENTRIES", true}};
    std::vector<Row> rows;
    Row ranks{"mean rank", ""};

    for (size_t p = 0; p < result.policies.size(); p++) {
        columns.push_back({result.policies[p], true});
        ranks.emplace_back(result.mean_ranks[p] ? format("%.2f", *result.mean_ranks[p]) : "-");
    }
    columns.push_back({"BEST"});
    ranks.emplace_back("");
    for (const ds::sim::Cell &cell : result.cells) {
        Row row{label_of(files[cell.trace], files), std::to_string(cell.capacity)};
        for (size_t p = 0; p < result.policies.size(); p++)
            row.emplace_back(format("%.4f", ratio(result, cell, p)), !cell.ranked ? Style::dim
                                                                     : p == cell.best
                                                                         ? Style::good
                                                                         : Style::plain);
        row.emplace_back(result.policies[cell.best]);
        rows.push_back(row);
    }
    rows.push_back(ranks);
    call.out.table(columns, rows);
}

void print_csv(Call &call, const std::vector<std::string> &files, const Comparison &result) {
    call.out.line("trace,capacity,policy,accesses,hits,hit_ratio,ranked,rank");
    for (const ds::sim::Cell &cell : result.cells)
        for (size_t p = 0; p < result.policies.size(); p++)
            call.out.line(quoted(files[cell.trace]) +
                          format(",%u,%s,%llu,%llu,%.6f,%d,", cell.capacity,
                                 result.policies[p].c_str(), 0ULL + result.accesses[cell.trace],
                                 0ULL + cell.hits[p], ratio(result, cell, p), cell.ranked) +
                          (cell.ranks[p] ? format("%g", *cell.ranks[p]) : ""));
}

Comparison run(Call &call, const std::vector<ds::sim::Trace> &traces,
               const std::vector<uint32_t> &capacities, const std::vector<std::string> &policies) {
    unsigned threads = threads_of(call);
    uint64_t runs = traces.size() * capacities.size() * policies.size();

    return with_progress(call, "compare", runs, Progress::Unit::runs,
                         [&](std::atomic<uint64_t> *done) {
                             return ds::sim::compare(traces, capacities, policies, threads, done);
                         });
}

// Of the policy that has indices for the fewest objects.
ds::sim::ObjectLimit object_limit(const std::vector<std::string> &policies) {
    ds::sim::ObjectLimit least;

    for (const std::string &policy : policies)
        least =
            std::ranges::min(least, ds::sim::object_limit(policy), {}, &ds::sim::ObjectLimit::most);
    return least;
}

// One that is named twice would count twice in the mean ranks.
void check_files(const std::vector<std::string> &files) {
    for (auto file = files.begin(); file != files.end(); file++)
        for (auto before = files.begin(); before != file; before++) {
            std::error_code ignored;  // reading says why there is none
            if (*file == *before)
                throw usage("'" + *file + "' is named twice", "name it once");
            if (*file != "-" && *before != "-" &&
                std::filesystem::equivalent(*file, *before, ignored))
                throw usage("'" + *file + "' is the same file as '" + *before + "'",
                            "name it once");
        }
}

}  // namespace

Exit sim_compare(Call &call) {
    std::vector<std::string> files = traces_of(call), policies = list_of(call, "--policy");
    std::vector<uint32_t> capacities = capacities_of(call);
    std::vector<ds::sim::Trace> traces;
    bool csv = wants_csv(call);

    check_files(files);
    // Not after minutes of reading.
    or_error([&] { ds::sim::check_each_once(policies); });
    for (const std::string &policy : policies)
        for (uint32_t capacity : capacities)
            or_error([&] { ds::sim::make_policy(policy, capacity, {}); });
    for (const std::string &file : files)
        traces.push_back(accesses_of(call, file, object_limit(policies)));
    Comparison result = run(call, traces, capacities, policies);
    respond(call, files, traces, result);
    if (csv)
        print_csv(call, files, result);
    else
        print_table(call, files, result);
    return Exit::ok;
}

}  // namespace dsctl
