// SPDX-License-Identifier: Apache-2.0
// sim trace: what is in traces, and traces that are made.
#include <algorithm>
#include <optional>

#include "file.hpp"
#include "memory.hpp"
#include "sim.hpp"
#include "sim/generate.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

using ds::sim::Operation;

uint64_t count(const ds::sim::Trace &trace, Operation op) {
    return static_cast<uint64_t>(std::count_if(trace.requests.begin(), trace.requests.end(),
                                               [&](auto request) { return request.op == op; }));
}

// An option that does nothing for the kind was meant for another one.
void check_kind(const Call &call) {
    struct Use {
        const char *option;
        std::vector<std::string_view> kinds;
    };
    static const Use uses[] = {{"--objects", {"zipf", "loop", "phases", "mixture", "fanout"}},
                               {"--alpha", {"zipf", "phases", "mixture"}},
                               {"--phases", {"phases"}},
                               {"--scans", {"mixture"}},
                               {"--random", {"fanout"}}};
    const std::string kind = call.text("--kind");

    for (const Use &use : uses) {
        if (!call.has(use.option) || std::ranges::find(use.kinds, kind) != use.kinds.end())
            continue;
        std::string names;
        for (std::string_view name : use.kinds)
            names += (names.empty() ? "" : ", ") + std::string(name);
        throw usage(std::string(use.option) + " means nothing for the kind '" + kind + "'",
                    "it is for: " + names);
    }
    if (call.has("--seed") && (kind == "loop" || kind == "scan") && !call.number("--writes"))
        throw usage("--seed means nothing for the kind '" + kind + "' without --writes",
                    "nothing of it is random");
}

Row show(Call &call, const std::string &path) {
    ds::sim::Trace trace = trace_of(call, path);
    uint64_t reads = count(trace, Operation::read), writes = trace.writes();

    call.out.respond({{"file", path},
                      {"format", ds::sim::name_of(trace.format)},
                      {"requests", uint64_t(trace.requests.size())},
                      {"uniques", trace.uniques},
                      {"reads", reads},
                      {"writes", writes},
                      {"creates", count(trace, Operation::create)},
                      {"frees", count(trace, Operation::free)},
                      {"timed", !trace.time_ns.empty()}});
    return {path,
            std::string(ds::sim::name_of(trace.format)),
            std::to_string(trace.requests.size()),
            std::to_string(trace.uniques),
            std::to_string(reads),
            std::to_string(writes)};
}

}  // namespace

Exit sim_trace_show(Call &call) {
    std::vector<Row> rows;
    std::optional<Error> failed;

    for (const std::string &path : traces_of(call)) {
        try {
            rows.push_back(show(call, path));
        } catch (const Error &error) {
            if (failed)
                call.out.warn(error.sentence);
            else
                failed = error;
        }
    }
    if (failed && rows.empty())
        throw *failed;
    call.out.table({{"FILE", false, true},
                    {"FORMAT"},
                    {"REQUESTS", true},
                    {"UNIQUES", true},
                    {"READS", true},
                    {"WRITES", true}},
                   rows);
    if (failed) {
        failed->exit = Exit::partial;
        throw *failed;
    }
    return Exit::ok;
}

Exit sim_trace_make(Call &call) {
    check_kind(call);
    call.check_output("FILE", "the trace");
    ds::sim::Recipe recipe{.kind = call.text("--kind"),
                           .requests = call.number("--requests"),
                           .objects = static_cast<uint32_t>(call.number("--objects")),
                           .alpha = decimal_of(call, "--alpha"),
                           .phases = static_cast<uint32_t>(call.number("--phases")),
                           .scans = static_cast<double>(call.number("--scans")) / 100,
                           .random = call.has("--random"),
                           .writes = static_cast<double>(call.number("--writes")) / 100,
                           .seed = call.number("--seed"),
                           .memory = memory_at_hand()};
    std::string path = call.text("FILE");
    NewFile file(path);
    ds::sim::Trace trace =
        with_progress(call, "make", recipe.requests, Progress::Unit::requests,
                      [&](std::atomic<uint64_t> *done) { return ds::sim::generate(recipe, done); });

    or_error([&] {
        ds::sim::write_trace(trace, [&](std::span<const std::byte> bytes) { file.write(bytes); });
    });
    file.keep();
    call.out.respond({{"file", path},
                      {"kind", recipe.kind},
                      {"requests", recipe.requests},
                      {"uniques", trace.uniques},
                      {"writes", trace.writes()}});
    if (!is_stdout(path))
        call.out.done(
            format("%llu requests of %u objects are in ", 0ULL + recipe.requests, trace.uniques) +
            path);
    return Exit::ok;
}

}  // namespace dsctl
