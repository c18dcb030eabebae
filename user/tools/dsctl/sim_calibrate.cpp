// SPDX-License-Identifier: Apache-2.0
// sim calibrate: what a NIC's rate of READs says of its caches.
#include <fcntl.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "file.hpp"
#include "sim.hpp"
#include "sim/nic_fit.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

using ds::sim::NicCache;
using ds::sim::NicFit;
using ds::sim::NicModel;
using ds::sim::NicPart;
using ds::sim::NicPoint;

// The largest numbers of QPs without a loss; none if the model loses nothing.
struct Knees {
    uint32_t measured;
    std::optional<uint32_t> model, tokens;

    std::optional<double> factor() const {
        return model && tokens ? std::optional(double(*tokens) / *model) : std::nullopt;
    }
};

// The whole file; one that is longer than any curve is none, and may have no end.
std::string curve_of(const std::string &path) {
    constexpr size_t most_bytes = 16 << 20;
    File file(path, O_RDONLY);
    std::string text(most_bytes + 1, '\0');

    text.resize(file.read(text.data(), text.size()));
    if (text.size() > most_bytes)
        throw from_errno("SIM", EFBIG, "'" + path + "' has more than 16 MiB, and so is no curve",
                         "name a file of lines 'qps,mpps'")
            .with("file", path);
    return text;
}

std::vector<NicPoint> points_of(Call &call, const std::string &path) {
    auto curve = ds::sim::parse_nic_curve(curve_of(path));

    // Not the command line is wrong but the file.
    if (!curve)
        throw from_errno("SIM", EBADMSG,
                         "cannot fit '" + path + "': " + clause(curve.error().sentence),
                         clause(curve.error().remedy))
            .with("file", path);
    if (!curve->doubt.empty())
        call.out.warn("the columns of '" + path + "' may be the other way round: " + curve->doubt);
    if (curve->may_be_cut)
        call.out.warn("'" + path + "' may have been cut: its last line has no end");
    return std::move(curve->points);
}

std::string_view name_of(ds::sim::Access access) {
    return access == ds::sim::Access::random ? "random" : "round-robin";
}

Json json_of(const NicCache &cache) {
    return {{"entries", cache.entries}, {"miss_ns", cache.miss_ns}, {"ways", cache.ways}};
}

void respond(Call &call, const std::string &file, const NicFit &fit, const Knees &knees) {
    const NicModel &nic = fit.model;
    Json curve = Json::array();

    for (const NicFit::Error &point : fit.errors)
        curve.push_back({{"qps", point.qps},
                         {"measured_mpps", point.measured},
                         {"model_mpps", point.model},
                         {"error", point.relative}});
    call.out.respond({{"file", file},
                      {"model",
                       {{"access", name_of(nic.access)},
                        {"line_mpps", nic.line_mpps},
                        {"qp_ns", nic.qp_ns},
                        {"work_ns", nic.work_ns},
                        {"parallel", nic.parallel},
                        {"context", json_of(nic.context)},
                        {"translation", json_of(nic.translation)}}},
                      {"mean_error", fit.mean_error},
                      {"max_error", fit.max_error},
                      {"knee",
                       {{"measured", knees.measured},
                        {"model", or_null(knees.model)},
                        {"tokens", or_null(knees.tokens)},
                        {"factor", or_null(knees.factor())}}},
                      {"curve", curve}});
}

void print_csv(Call &call, const NicFit &fit) {
    call.out.line("qps,measured_mpps,model_mpps,error");
    for (const NicFit::Error &point : fit.errors)
        call.out.line(
            format("%u,%.9g,%.9g,%.6f", point.qps, point.measured, point.model, point.relative));
}

NicFit fit_of(Call &call, const std::vector<NicPoint> &points) {
    return with_progress(
        call, "fit", ds::sim::fit_steps, Progress::Unit::runs,
        [&](std::atomic<uint64_t> *done) { return ds::sim::fit_nic(points, done); });
}

// With so many decimals; or with more, as nothing here is 0.
std::string decimal(double value, int decimals) {
    return value < std::pow(10, -decimals) / 2 ? format("%.1g", value)
                                               : format("%.*f", decimals, value);
}

std::string text_of(const NicCache &cache) {
    return format("%.0f entries of %u ways, a miss costs %s ns", cache.entries, cache.ways,
                  decimal(cache.miss_ns, 0).c_str());
}

std::string text_of(std::optional<uint32_t> knee) {
    return knee ? format("%u QPs", *knee) : format("none up to %u QPs", ds::sim::most_qps);
}

void print_fields(Call &call, const NicFit &fit, const Knees &knees, bool falls) {
    const NicModel &nic = fit.model;
    auto factor = knees.factor();

    call.out.fields({{"QPs used", std::string(name_of(nic.access))},
                     {"link", decimal(nic.line_mpps, 3) + " READs/us"},
                     {"one QP", "a READ each " + decimal(nic.qp_ns, 0) + " ns"},
                     {"work", format("%s ns a READ, %s at a time", decimal(nic.work_ns, 0).c_str(),
                                     decimal(nic.parallel, 2).c_str())},
                     {"contexts", text_of(nic.context)},
                     {"translations", text_of(nic.translation)},
                     {"assumed",
                      "the cache of contexts is not the larger one; the rates do not tell, and if "
                      "it is, tokens leave the knee where it is"},
                     {"error", format("%.2f %% on average, %.2f %% at most", 100 * fit.mean_error,
                                      100 * fit.max_error)},
                     {"knee, measured", falls ? format("%u QPs", knees.measured)
                                              : format("none up to %u QPs", knees.measured)},
                     {"knee, model", text_of(knees.model)},
                     {"knee, with tokens",
                      text_of(knees.tokens) +
                          (factor ? format(", %s times", decimal(*factor, 1).c_str()) : "")}});
}

std::string names_of(const std::vector<NicPart> &parts) {
    static constexpr const char *names[] = {"link", "one QP", "work", "contexts", "translations"};
    std::string list;

    for (NicPart part : parts)
        list += (list.empty() ? "" : ", ") + std::string(names[static_cast<size_t>(part)]);
    return list;
}

// What the model has and the curve does not tell.
void warn_of_guesses(Call &call, const NicFit &fit, bool falls) {
    constexpr double most_error = 0.1;  // on average; that of a NIC that was measured is 0.013
    std::vector<NicPart> guessed;

    if (fit.mean_error > most_error)
        call.out.warn(
            format("the model is off by %.0f %% on average: these are no rates of such a "
                   "NIC, and what is said of its parts means nothing",
                   100 * fit.mean_error));
    if (!falls)
        call.out.warn(
            "the rates have not fallen with the most QPs: there is no knee, and the entries of "
            "the caches, of contexts above all, cannot be known");
    if (falls && fit.one_drop)
        call.out.warn(
            "the rates have one drop, and do not tell whether contexts or translations make it: if "
            "it is contexts, the knee with tokens may be several times further out");
    for (NicPart part : fit.unseen)
        if (falls || part < NicPart::contexts)
            guessed.push_back(part);
    if (!guessed.empty())
        call.out.warn("no rate depends on some of the model, which is a guess: " +
                      names_of(guessed));
}

void warn_of_few(Call &call, size_t points) {
    constexpr size_t enough = 3 * ds::sim::nic_parameters;

    if (points < enough)
        call.out.warn(
            format("%zu points are few for a model of %zu parameters, and others may fit "
                   "as well: measure at %zu numbers of QPs or more",
                   points, ds::sim::nic_parameters, enough));
}

// Of the parts that rates depend on. As the miss of a context is what it is, rates in another unit
// make an impossible NIC of all else. With those that are right it may be off by two. Where rates
// do not depend on contexts there is no telling, but that no link sends so much.
void warn_of_unit(Call &call, const NicFit &fit) {
    constexpr double least_parallel = 0.5, most_parallel = 500, most_mpps = 1000;
    constexpr const char *unit = ": are the rates READs in a microsecond (Mpps)?";
    std::vector<NicPart> stopped;
    auto is_seen = [&](NicPart part) { return std::ranges::count(fit.unseen, part) == 0; };
    double parallel = fit.model.parallel;

    std::ranges::copy_if(fit.stopped, std::back_inserter(stopped), is_seen);
    if (!stopped.empty())
        call.out.warn(
            "some of the model is as far as it can go, and not right: " + names_of(stopped) + unit);
    if (is_seen(NicPart::contexts) && (parallel < least_parallel || parallel > most_parallel))
        call.out.warn("no NIC works on " + decimal(parallel, 2) + " READs at a time" + unit);
    else if (fit.model.line_mpps > most_mpps)
        call.out.warn("no NIC sends " + decimal(fit.model.line_mpps, 0) +
                      " READs in a microsecond" + unit);
}

}  // namespace

Exit sim_calibrate(Call &call) {
    std::string file = call.text("FILE");
    bool csv = wants_csv(call);
    std::vector<NicPoint> points = points_of(call, file);
    NicFit fit = fit_of(call, points);
    Knees knees{.measured = ds::sim::measured_knee(points),
                .model = ds::sim::knee(fit.model),
                .tokens = ds::sim::knee(ds::sim::with_tokens(fit.model))};

    bool falls = knees.measured != points.back().qps;
    warn_of_guesses(call, fit, falls);
    warn_of_few(call, points.size());
    warn_of_unit(call, fit);
    respond(call, file, fit, knees);
    if (csv)
        print_csv(call, fit);
    else
        print_fields(call, fit, knees, falls);
    return Exit::ok;
}

}  // namespace dsctl
