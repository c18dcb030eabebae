// SPDX-License-Identifier: Apache-2.0
// sim sweep: one trace through many configurations.
#include "sim/sweep.hpp"

#include <algorithm>

#include "sim.hpp"
#include "sim_cells.hpp"
#include "sim_events.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

using ds::sim::RunOptions;
using ds::sim::RunResult;

std::vector<RunResult> sweep(Call &call, const ds::sim::Trace &trace,
                             const std::vector<RunOptions> &cells, ds::sim::EventLog *events) {
    unsigned threads = threads_of(call);

    return with_progress(call, "sweep", cells.size(), Progress::Unit::runs,
                         [&](std::atomic<uint64_t> *done) {
                             return ds::sim::sweep(trace, cells, threads, events, done);
                         });
}

// An option that the table shows only where runs differ in it.
struct Dimension {
    const char *header;
    std::string (*text)(const RunOptions &cell);
};

std::string text_of(std::optional<uint32_t> number) {
    return number ? std::to_string(*number) : "-";
}

const Dimension dimensions[] = {
    {"WRITES", [](const RunOptions &cell) { return text_of(cell.writes); }},
    {"HANDLERS", [](const RunOptions &cell) { return text_of(cell.handlers); }},
    {"RATE", [](const RunOptions &cell) { return shortest(cell.rate); }},
    {"OUTSTANDING", [](const RunOptions &cell) { return text_of(cell.outstanding); }},
};

void print_table(Call &call, const std::vector<RunOptions> &cells,
                 const std::vector<RunResult> &results) {
    std::vector<Column> columns{{"POLICY"},         {"MODE"},          {"L1", true},
                                {"L2", true},       {"L1 HITS", true}, {"L2 HITS", true},
                                {"MEAN NS", true},  {"P50 NS", true},  {"P99 NS", true},
                                {"P99.9 NS", true}, {"TO L1", true},   {"ABORTS", true},
                                {"DMA", true}};
    bool parameters =
        std::ranges::any_of(cells, [](const RunOptions &cell) { return !cell.parameters.empty(); });
    std::vector<const Dimension *> shown;
    std::vector<Row> rows;

    for (const Dimension &dimension : dimensions)
        if (std::ranges::any_of(cells, [&](const RunOptions &cell) {
                return dimension.text(cell) != dimension.text(cells[0]);
            }))
            shown.push_back(&dimension);
    for (const Dimension *dimension : shown)
        columns.push_back({dimension->header, true});
    for (size_t i = 0; i < cells.size(); i++) {
        const RunResult &r = results[i];
        auto accesses = static_cast<double>(r.accesses);
        rows.push_back({cells[i].policy,
                        cells[i].mode == ds::sim::Mode::blocking ? "blocking" : "optimistic",
                        std::to_string(cells[i].l1), std::to_string(cells[i].l2),
                        format("%.4f", static_cast<double>(r.found[1]) / accesses),
                        format("%.4f", static_cast<double>(r.found[2]) / accesses),
                        format("%.1f", r.times.mean()), std::to_string(r.times.p50()),
                        std::to_string(r.times.p99()), std::to_string(r.times.p999()),
                        std::to_string(r.moved[1]), std::to_string(r.aborts),
                        std::to_string(r.cxl.operations + r.pcie.operations)});
        for (const Dimension *dimension : shown)
            rows.back().emplace_back(dimension->text(cells[i]));
        if (parameters)
            rows.back().emplace_back(Value(cells[i].parameters).text);
    }
    if (parameters)
        columns.push_back({"PARAMETERS"});
    call.out.table(columns, rows);
}

}  // namespace

Exit sim_sweep(Call &call) {
    const std::string file = call.text("TRACE");
    bool csv = wants_csv(call);
    std::vector<RunOptions> cells = cells_of(call);

    check_events(call, file);
    if (call.has("--events") && call.maybe("--threads").value_or(1) > 1)
        throw usage("with --events there is one run at a time", "leave --threads out");
    ds::sim::Trace trace = accesses_of(call, file, RunOptions::object_limit());
    check_trace(file, trace, cells);
    EventFile events(call);
    std::vector<RunResult> results = sweep(call, trace, cells, events.log());
    events.keep();
    std::vector<Line> lines;
    Json rows = Json::array();

    for (size_t i = 0; i < cells.size(); i++) {
        lines.push_back(line_of(call, cells[i], results[i]));
        rows.push_back(json_of(lines[i]));
    }
    call.out.respond({{"file", file},
                      {"format", ds::sim::name_of(trace.format)},
                      {"uniques", trace.uniques},
                      {"runs", rows}});
    if (!csv) {
        print_table(call, cells, results);
        return Exit::ok;
    }
    call.out.line("trace" + csv_names(lines[0]));
    for (const Line &line : lines)
        call.out.line(quoted(file) + csv_values(line));
    return Exit::ok;
}

}  // namespace dsctl
