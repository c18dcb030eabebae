// SPDX-License-Identifier: Apache-2.0
// sim run: one trace through the tiers.
#include <algorithm>
#include <cerrno>
#include <ctime>

#include "sim.hpp"
#include "sim/policy.hpp"
#include "sim_cells.hpp"
#include "sim_events.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

using ds::sim::EventLog;
using ds::sim::Kind;
using ds::sim::RunOptions;
using ds::sim::RunResult;
using ds::sim::Trace;

// How long a run and a pass of bare LRU over the same trace take, in turn: time of a processor, as
// what else runs on the machine is not theirs.
struct Timing {
    std::vector<double> run_s, lru_s;
    double ratio;  // median of those of the pairs
};

// Of this thread.
double processor_seconds() {
    timespec time;

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0)
        throw from_errno("SIM", errno, "cannot tell the processor's time", "leave --timing out");
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

// The action must do all its work in this thread.
template <class Action>
double seconds_of(Action &&action) {
    double start = processor_seconds();

    action();
    return processor_seconds() - start;
}

RunResult run(Call &call, const Trace &trace, const RunOptions &options, EventLog *events) {
    return with_progress(
        call, "run", trace.requests.size(), Progress::Unit::requests,
        [&](std::atomic<uint64_t> *done) { return ds::sim::run(trace, options, events, done); });
}

// Both in one thread, which is not the one that shows the progress.
Timing timing_of(Call &call, const Trace &trace, const RunOptions &options) {
    constexpr int pairs = 5;
    std::vector<double> ratios;
    Timing timing = with_progress(
        call, "timing", pairs, Progress::Unit::runs, [&](std::atomic<uint64_t> *done) {
            Timing taken{};
            for (; *done < pairs; ++*done) {
                taken.lru_s.push_back(seconds_of([&] { ds::sim::hits("lru", options.l1, trace); }));
                taken.run_s.push_back(seconds_of([&] { ds::sim::run(trace, options); }));
            }
            return taken;
        });

    for (int i = 0; i < pairs; i++)
        ratios.push_back(timing.run_s[i] / timing.lru_s[i]);
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

// Those that the trace has.
std::vector<Kind> kinds_of(const RunResult &result) {
    std::vector<Kind> kinds = result.kinds;

    std::erase_if(kinds, [](const Kind &kind) { return kind.objects == 0; });
    return kinds;
}

Json json_of(const std::vector<Kind> &kinds) {
    Json array = Json::array();

    for (const Kind &kind : kinds)
        array.push_back({{"kind", kind.name},
                         {"objects", kind.objects},
                         {"accesses", kind.accesses()},
                         {"l1_hits", kind.found[1]},
                         {"l2_hits", kind.found[2]},
                         {"misses", kind.found[3]}});
    return array;
}

void respond(Call &call, const std::string &file, const Trace &trace, const Line &line,
             const RunResult &result, const std::optional<Timing> &timing) {
    Json row{{"file", file},
             {"format", ds::sim::name_of(trace.format)},
             {"uniques", trace.uniques},
             {"run", json_of(line)},
             {"kinds", json_of(kinds_of(result))},
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

using Fields = std::vector<std::pair<std::string, Cell>>;

std::string arrivals_text(const RunOptions &options) {
    if (options.outstanding)
        return format("%u requests under way", *options.outstanding);
    return options.trace_times ? "when the trace says"
                               : shortest(options.rate) + " in a microsecond";
}

// What was run.
Fields fields_of(const RunOptions &options) {
    bool blocking = options.mode == ds::sim::Mode::blocking;

    return {{"policy", options.policy + (blocking ? ", blocking" : ", optimistic")},
            {"tiers", format("L1 of %u entries, L2 of %u pages", options.l1, options.l2)},
            {"requests", arrivals_text(options)}};
}

std::string found_text(const std::array<uint64_t, 4> &found, uint64_t accesses) {
    auto share = [&](unsigned tier) {
        return 100 * static_cast<double>(found.at(tier)) /
               static_cast<double>(std::max<uint64_t>(1, accesses));
    };

    return format("L1 %.2f %%, L2 %.2f %%, L3 %.2f %%", share(1), share(2), share(3));
}

void add_found(Fields &fields, const RunResult &result) {
    fields.emplace_back("accesses", std::to_string(result.accesses));
    fields.emplace_back("found in", found_text(result.found, result.accesses));
    for (const Kind &kind : kinds_of(result))
        fields.emplace_back(std::string("  ") + std::string(kind.name),
                            found_text(kind.found, kind.accesses()) +
                                format("; %llu accesses to %llu objects", 0ULL + kind.accesses(),
                                       0ULL + kind.objects));
}

// What only some runs have.
void add_optional(Fields &fields, const RunOptions &options, const RunResult &result) {
    if (batch_of(options))
        fields.emplace_back(
            "prefetched",
            format("%llu neighbours, %llu used; link busy %llu times", 0ULL + result.prefetched,
                   0ULL + result.prefetched_used, 0ULL + result.dma_busy));
    if (options.handlers)
        fields.emplace_back("pre-staged", std::to_string(result.prestaged));
    if (result.cancels)
        fields.emplace_back("cancelled",
                            format("%llu moves, as objects ended", 0ULL + result.cancels));
    if (options.policy == "adaptive-001")
        fields.emplace_back("thresholds", format("%llu changes", 0ULL + result.threshold_changes));
}

void print_fields(Call &call, const RunOptions &options, const RunResult &result,
                  const std::optional<Timing> &timing) {
    Fields fields = fields_of(options);

    add_found(fields, result);
    fields.insert(
        fields.end(),
        {
            {"access time", format("%.1f ns on average, P50 %llu, P99 %llu, P99.9 %llu ns",
                                   result.times.mean(), 0ULL + result.times.p50(),
                                   0ULL + result.times.p99(), 0ULL + result.times.p999())},
            {"waited", std::to_string(result.waits)},
            {"moved", format("%llu to L1, %llu to L2, %llu home", 0ULL + result.moved[1],
                             0ULL + result.moved[2], 0ULL + result.moved[3])},
            {"time of a move", format("%.1f ns on average, P99 %llu ns", result.move_times.mean(),
                                      0ULL + result.move_times.p99())},
            {"copied again",
             format("%llu, %llu moves aborted", 0ULL + result.copied_again, 0ULL + result.aborts)},
            {"asked the host",
             format("%llu times, %llu refused, %llu timed out", 0ULL + result.expands,
                    0ULL + result.expands_refused, 0ULL + result.expands_expired)},
            {"DMA, CXL", traffic_text(result.cxl)},
            {"DMA, PCIe", traffic_text(result.pcie)},
        });
    add_optional(fields, options, result);
    fields.emplace_back("virtual time", ns_text(static_cast<double>(result.virtual_ns)));
    if (timing)
        fields.emplace_back("processor time", format("%.1f times that of bare LRU", timing->ratio));
    call.out.fields(fields);
}

}  // namespace

Exit sim_run(Call &call) {
    const std::string file = call.text("TRACE");
    bool csv = wants_csv(call);
    RunOptions options = cell_of(call);
    std::optional<Timing> timing;

    if (csv && call.has("--timing"))
        throw usage("--csv has no column for --timing", "use --json with it");
    check_events(call, file);
    Trace trace = accesses_of(call, file, RunOptions::object_limit());
    check_trace(file, trace, {options});
    EventFile events(call);
    RunResult result = run(call, trace, options, events.log());
    events.keep();
    if (call.has("--timing"))
        timing = timing_of(call, trace, options);

    Line line = line_of(call, options, result);
    respond(call, file, trace, line, result, timing);
    if (csv) {
        call.out.line("trace" + csv_names(line));
        call.out.line(quoted(file) + csv_values(line));
    } else {
        print_fields(call, options, result, timing);
    }
    return Exit::ok;
}

}  // namespace dsctl
