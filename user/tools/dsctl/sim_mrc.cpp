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

MissRatioCurve misses_of(Call &call, const Trace &trace, const std::optional<Sampling> &sampling) {
    std::vector<uint32_t> ids;

    ids.reserve(trace.requests.size());
    for (ds::sim::Request request : trace.requests)
        if (request.access())
            ids.push_back(request.id);
    return with_progress(call, "pass", ids.size(), Progress::Unit::requests,
                         [&](std::atomic<uint64_t> *done) {
                             return sampling ? ds::sim::sampled_mrc(ids, *sampling, done)
                                             : ds::sim::exact_mrc(ids, done);
                         });
}

// Powers of two, and the capacity from which on the curve is flat.
std::vector<uint32_t> usual_capacities(const Trace &trace) {
    std::vector<uint32_t> capacities;

    for (uint32_t entries = 1; entries < trace.uniques; entries *= 2)
        capacities.push_back(entries);
    capacities.push_back(trace.uniques);
    return capacities;
}

struct Curve {
    struct Point {
        uint32_t capacity;
        double misses;  // of the accesses
    };

    std::string file;
    ds::sim::Format format;
    uint32_t uniques;
    uint64_t accesses;
    bool sampled;
    std::vector<Point> points;
};

// At the capacities @p chosen, or the usual ones if it is empty.
Curve curve_of(Call &call, const std::string &file, const std::optional<Sampling> &sampling,
               const std::vector<uint32_t> &chosen) {
    Trace trace = accesses_of(call, file);
    uint64_t accesses = trace.accesses();
    bool sampled = sampling && sampling->share_of(accesses) < 1;
    Curve curve{file, trace.format, trace.uniques, accesses, sampled, {}};
    MissRatioCurve misses = misses_of(call, trace, sampling);

    for (uint32_t capacity : chosen.empty() ? usual_capacities(trace) : chosen)
        curve.points.push_back({capacity, misses.at(capacity)});
    return curve;
}

void respond(Call &call, const std::vector<Curve> &curves) {
    for (const Curve &curve : curves) {
        Json points = Json::array();
        for (auto [capacity, misses] : curve.points)
            points.push_back({{"capacity", capacity}, {"miss_ratio", misses}});
        call.out.respond({{"file", curve.file},
                          {"format", ds::sim::name_of(curve.format)},
                          {"uniques", curve.uniques},
                          {"accesses", curve.accesses},
                          {"sampled", curve.sampled},
                          {"curve", points}});
    }
}

void print_csv(Call &call, const std::vector<Curve> &curves) {
    call.out.line("trace,capacity,accesses,miss_ratio");
    for (const Curve &curve : curves)
        for (auto [capacity, misses] : curve.points)
            call.out.line(quoted(curve.file) +
                          format(",%u,%llu,%.6f", capacity, 0ULL + curve.accesses, misses));
}

void print_table(Call &call, const std::vector<std::string> &files,
                 const std::vector<Curve> &curves) {
    std::vector<Row> rows;

    for (const Curve &curve : curves)
        for (auto [capacity, misses] : curve.points)
            rows.push_back(
                {label_of(curve.file, files), std::to_string(capacity), format("%.4f", misses)});
    call.out.table({{"TRACE", false, true}, {"ENTRIES", true}, {"MISS RATIO", true}}, rows);
}

}  // namespace

Exit sim_mrc(Call &call) {
    bool csv = wants_csv(call);
    std::optional<Sampling> sampling = sampling_of(call);
    std::vector<uint32_t> chosen;
    std::vector<Curve> curves;

    if (call.has("--capacity"))
        chosen = capacities_of(call);
    const std::vector<std::string> files = traces_of(call);
    for (const std::string &file : files)
        curves.push_back(curve_of(call, file, sampling, chosen));
    respond(call, curves);
    if (csv)
        print_csv(call, curves);
    else
        print_table(call, files, curves);
    return Exit::ok;
}

}  // namespace dsctl
