// SPDX-License-Identifier: Apache-2.0
// sim run: one trace through the tiers.
#include <sys/stat.h>
#include <algorithm>
#include <chrono>
#include <future>

#include "progress.hpp"
#include "sim.hpp"
#include "sim/policy.hpp"
#include "sim_cells.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

using ds::sim::EventLog;
using ds::sim::RunOptions;
using ds::sim::RunResult;
using ds::sim::Trace;
using Clock = std::chrono::steady_clock;

// How long a run and a pass of bare LRU over the same trace take, in turn.
struct Timing {
    std::vector<double> run_s, lru_s;
    double ratio;  // median of those of the pairs
};

template <class Action>
double seconds_of(Action &&action) {
    auto start = Clock::now();
    action();
    return std::chrono::duration<double>(Clock::now() - start).count();
}

RunResult run(Call &call, const Trace &trace, const RunOptions &options, EventLog *events) {
    Progress progress(call.settings, "run", trace.requests.size(), Progress::Unit::operations);
    std::atomic<uint64_t> done = 0;
    auto result =
        std::async(std::launch::async, [&] { return ds::sim::run(trace, options, events, &done); });

    while (result.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready)
        progress.update(done);
    return or_error([&] { return result.get(); });
}

Timing timing_of(const Trace &trace, const RunOptions &options) {
    constexpr int pairs = 5;
    std::vector<double> ratios;
    Timing timing{};

    for (int i = 0; i < pairs; i++) {
        timing.lru_s.push_back(seconds_of([&] { ds::sim::hits("lru", options.l1, trace); }));
        timing.run_s.push_back(seconds_of([&] { ds::sim::run(trace, options); }));
        ratios.push_back(timing.run_s.back() / timing.lru_s.back());
    }
    std::ranges::nth_element(ratios, ratios.begin() + pairs / 2);
    timing.ratio = ratios[pairs / 2];
    return timing;
}

Json json_of(const std::vector<double> &numbers) {
    Json array = Json::array();

    for (double number : numbers)
        array.push_back(number);
    return array;
}

void respond(Call &call, const std::string &file, const Trace &trace, const Line &line,
             const std::optional<Timing> &timing) {
    Json row{{"file", file},
             {"format", ds::sim::name_of(trace.format)},
             {"uniques", trace.uniques},
             {"run", json_of(line)},
             {"timing", nullptr}};

    if (timing)
        row["timing"] = {{"run_s", json_of(timing->run_s)},
                         {"lru_s", json_of(timing->lru_s)},
                         {"ratio", timing->ratio}};
    call.out.respond(row);
}

std::string traffic_text(const RunResult::Traffic &traffic) {
    return format("%llu operations, %s", 0ULL + traffic.operations,
                  bytes_text(traffic.bytes).c_str());
}

void print_fields(Call &call, const RunResult &result, const std::optional<Timing> &timing) {
    auto share = [&](unsigned tier) {
        return 100 * static_cast<double>(result.found.at(tier)) /
               static_cast<double>(std::max<uint64_t>(1, result.accesses));
    };
    std::vector<std::pair<std::string, Cell>> fields{
        {"accesses", std::to_string(result.accesses)},
        {"found in", format("L1 %.2f %%, L2 %.2f %%, L3 %.2f %%", share(1), share(2), share(3))},
        {"access time",
         format("%.1f ns on average, P50 %llu, P99 %llu, P99.9 %llu ns", result.times.mean(),
                0ULL + result.times.p50(), 0ULL + result.times.p99(), 0ULL + result.times.p999())},
        {"waited", std::to_string(result.waits)},
        {"moved", format("%llu to L1, %llu to L2, %llu home", 0ULL + result.moved[1],
                         0ULL + result.moved[2], 0ULL + result.moved[3])},
        {"copied again",
         format("%llu, %llu moves aborted", 0ULL + result.copied_again, 0ULL + result.aborts)},
        {"asked the host", format("%llu times, %llu refused, %llu in vain", 0ULL + result.expands,
                                  0ULL + result.expands_refused, 0ULL + result.expands_expired)},
        {"DMA, CXL", traffic_text(result.cxl)},
        {"DMA, PCIe", traffic_text(result.pcie)},
        {"thresholds", format("%llu changes", 0ULL + result.threshold_changes)},
        {"virtual time", ns_text(static_cast<double>(result.virtual_ns))},
    };
    if (timing)
        fields.emplace_back("real time", format("%.1f times that of bare LRU", timing->ratio));
    call.out.fields(fields);
}

// As the log is written from its beginning, the trace would be gone.
void check_events(const Call &call, const std::string &trace) {
    struct stat one, other;

    if (!call.has("--events") || stat(trace.c_str(), &one) != 0 ||
        stat(call.text("--events").c_str(), &other) != 0)
        return;
    if (one.st_dev == other.st_dev && one.st_ino == other.st_ino)
        throw usage("the file of --events is the trace itself: '" + trace + "'",
                    "choose another file");
}

}  // namespace

Exit sim_run(Call &call) {
    const std::string file = call.text("TRACE");
    bool csv = wants_csv(call);
    std::vector<RunOptions> cells = cells_of(call);
    std::optional<EventLog> events;
    std::optional<Timing> timing;

    if (cells.size() > 1)
        throw usage("a run has one value of each option", "use dsctl sim sweep for lists");
    if (csv && call.has("--timing"))
        throw usage("--csv has no column for --timing", "use --json with it");
    check_events(call, file);
    Trace trace = trace_of(call, file);
    or_error([&] { cells[0].check(trace); });
    if (call.has("--events"))
        events.emplace(
            or_error([&] { return EventLog::create(call.text("--events")).or_throw(); }));
    RunResult result = run(call, trace, cells[0], events ? &*events : nullptr);
    if (events)
        or_error([&] { events->finish().or_throw(); });
    if (call.has("--timing"))
        timing = timing_of(trace, cells[0]);

    Line line = line_of(cells[0], result);
    respond(call, file, trace, line, timing);
    if (csv) {
        call.out.line("trace" + csv_names(line));
        call.out.line(quoted(file) + csv_values(line));
    } else {
        print_fields(call, result, timing);
    }
    return Exit::ok;
}

}  // namespace dsctl
