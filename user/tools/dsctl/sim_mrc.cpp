// SPDX-License-Identifier: Apache-2.0
// sim mrc: LRU's miss ratio at many capacities.
#include "sim/mrc.hpp"

#include "sim.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

using ds::sim::MissRatioCurve;
using ds::sim::Sampling;
using ds::sim::Trace;

std::optional<Sampling> sampling_of(const Call &call) {
    if (!call.has("--sampled")) {
        for (const char *option : {"--rate", "--least"})
            if (call.has(option))
                throw usage(std::string("option '") + option + "' is for --sampled only");
        return std::nullopt;
    }
    double percent = decimal_of(call, "--rate");
    // Also what is no number at all.
    if (!(percent > 0 && percent <= 100))
        throw usage("a rate is above 0 and at most 100 percent, not '" + call.text("--rate") + "'");
    return Sampling{.rate = percent / 100, .least = call.number("--least")};
}

MissRatioCurve curve_of(const Trace &trace, const std::optional<Sampling> &sampling) {
    std::vector<uint32_t> ids;

    ids.reserve(trace.requests.size());
    for (ds::sim::Request request : trace.requests)
        if (request.access())
            ids.push_back(request.id);
    return sampling ? ds::sim::sampled_mrc(ids, *sampling) : ds::sim::exact_mrc(ids);
}

// Powers of two, and the capacity from which on the curve is flat.
std::vector<uint32_t> usual_capacities(const Trace &trace) {
    std::vector<uint32_t> capacities;

    for (uint32_t entries = 1; entries < trace.uniques; entries *= 2)
        capacities.push_back(entries);
    capacities.push_back(trace.uniques);
    return capacities;
}

}  // namespace

Exit sim_mrc(Call &call) {
    bool csv = wants_csv(call);
    std::optional<Sampling> sampling = sampling_of(call);
    std::vector<uint32_t> chosen;
    std::vector<Row> rows;

    if (call.has("--capacity"))
        chosen = capacities_of(call);
    if (csv)
        call.out.line("trace,capacity,accesses,miss_ratio");
    for (const std::string &file : call.list("TRACE...")) {
        Trace trace = trace_of(call, file);
        MissRatioCurve curve = curve_of(trace, sampling);
        Json points = Json::array();

        for (uint32_t capacity : chosen.empty() ? usual_capacities(trace) : chosen) {
            double misses = curve.at(capacity);
            points.push_back({{"capacity", capacity}, {"miss_ratio", misses}});
            rows.push_back({last_part(file), std::to_string(capacity), format("%.4f", misses)});
            if (csv)
                call.out.line(quoted(file) +
                              format(",%u,%llu,%.6f", capacity, 0ULL + trace.accesses(), misses));
        }
        call.out.respond({{"file", file},
                          {"format", ds::sim::name_of(trace.format)},
                          {"uniques", trace.uniques},
                          {"accesses", trace.accesses()},
                          {"sampled", sampling.has_value()},
                          {"curve", points}});
    }
    if (!csv)
        call.out.table({{"TRACE", false, true}, {"ENTRIES", true}, {"MISS RATIO", true}}, rows);
    return Exit::ok;
}

}  // namespace dsctl
