// SPDX-License-Identifier: Apache-2.0
#include "sim/nic_fit.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "sim/nelder_mead.hpp"
#include "sim/source.hpp"

namespace ds::sim {
namespace {

constexpr size_t parameters = nic_parameters;
constexpr double least_mpps = 1e-6;  // a READ a second
constexpr double most_mpps = 1e6;    // a READ a picosecond
constexpr double as_large = 0.9;     // a cache as the other: both drops are one

// ---- Points

template <class T>
std::optional<T> number(std::string_view text) {
    T value{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);

    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    size_t first = text.find_first_not_of(blanks);

    if (first == text.npos)
        return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::optional<NicPoint> point_of(std::string_view line) {
    size_t comma = line.find(',');

    if (comma == line.npos)
        return std::nullopt;
    auto qps = number<uint32_t>(trimmed(line.substr(0, comma)));
    auto mpps = number<double>(trimmed(line.substr(comma + 1)));
    if (!qps || !mpps || *qps == 0 || *qps > most_qps ||
        !(*mpps >= least_mpps && *mpps <= most_mpps))
        return std::nullopt;
    return NicPoint{*qps, *mpps};
}

// Not one that begins as a number does, nor "nan" or "inf", in quotes or not.
bool is_name(std::string_view field) {
    constexpr std::string_view begins_number = "0123456789+-.", quotes = "\"'";

    field.remove_prefix(std::min(field.find_first_not_of(quotes), field.size()));
    field.remove_suffix(field.size() - (field.find_last_not_of(quotes) + 1));

    return std::ranges::none_of(field, [](unsigned char c) { return std::iscntrl(c); }) &&
           !number<double>(field) &&
           (field.empty() || begins_number.find(field.front()) == begins_number.npos);
}

// Two names.
bool is_header(std::string_view line) {
    size_t comma = line.find(',');

    return std::ranges::count(line, ',') == 1 && is_name(trimmed(line.substr(0, comma))) &&
           is_name(trimmed(line.substr(comma + 1)));
}

/// Do two names say that rates come first?
bool is_reversed(std::string header) {
    std::ranges::transform(header, header.begin(), [](unsigned char c) { return std::tolower(c); });
    size_t comma = header.find(',');
    return header.find("mpps") < comma || header.find("qp", comma) != header.npos;
}

Error bad(size_t line, const std::string &what) {
    return {EINVAL, "line " + std::to_string(line) + " of the curve " + what,
            "a line is a number of QPs (1 to " + std::to_string(most_qps) +
                ", each once), a comma, and a rate in Mpps, 0.000001 to 1000000"};
}

// ---- Fit

struct Range {
    double least, most;
};

/// What parameters can be. Where one of them changes nothing the optimiser would take it anywhere.
class Bounds {
public:
    explicit Bounds(const std::vector<NicPoint> &points) {
        double top = std::ranges::max(points, {}, &NicPoint::mpps).mpps;
        double low = std::ranges::min(points, {}, &NicPoint::mpps).mpps;

        ranges_ = {{{top / around, top * around},
                    {std::max(least_ns, 1000 * points.front().qps / top / around),
                     1000 * points.back().qps / low * around},
                    {least_ns, most_ns},
                    {least_parallel, most_parallel},
                    {1, most_qps},
                    {1, most_qps},
                    {least_ns, most_ns}}};
    }

    /// Parameters as the optimiser sees them: logarithms, so that none can be negative.
    NicModel model_of(const Point &x, Access access) const {
        auto value = [&](size_t i) { return within(x, i); };
        // The smaller cache is that of contexts.
        return {.line_mpps = value(0),
                .qp_ns = value(1),
                .work_ns = value(2),
                .parallel = value(3),
                .context = {.entries = std::min(value(4), value(5)), .miss_ns = context_miss_ns},
                .translation = {.entries = value(5), .miss_ns = value(6)},
                .access = access};
    }

    /// Parts with a parameter that is at an end of its range.
    std::vector<NicPart> stopped(const Point &x) const {
        constexpr NicPart part[parameters] = {
            NicPart::link,     NicPart::one_qp,       NicPart::work,        NicPart::work,
            NicPart::contexts, NicPart::translations, NicPart::translations};
        std::vector<NicPart> list;

        for (size_t i = 0; i < parameters; i++) {
            // Of two caches of one size, the one for contexts may have been tried as any larger
            // one.
            double value = i == 4 ? std::min(within(x, 4), within(x, 5)) : within(x, i);
            bool at_end = value <= ranges_[i].least || value >= ranges_[i].most;
            if (at_end && (list.empty() || list.back() != part[i]))
                list.push_back(part[i]);
        }
        return list;
    }

private:
    double within(const Point &x, size_t i) const {
        return std::fmin(std::fmax(std::exp(x[i]), ranges_[i].least), ranges_[i].most);
    }

    static constexpr double around = 10;  // times the largest rate or time that was measured
    static constexpr double least_ns = 1e-3, most_ns = 1e9;
    // Below 1 where a missing context costs more than it is said to.
    static constexpr double least_parallel = 1e-3, most_parallel = 1e6;

    std::array<Range, parameters> ranges_;
};

double mean_error(const NicModel &model, const std::vector<NicPoint> &points) {
    double sum = 0;

    for (const NicPoint &point : points)
        sum += std::abs(model.rate(point.qps) / point.mpps - 1);
    return sum / static_cast<double>(points.size());
}

/// Where to start: the caches' entries at pairs of places among the measured numbers of QPs, the
/// smaller one for contexts, and the first drop a fifth of the last. All of it goes with the rates,
/// so that the fit is the same whatever they are counted in.
std::vector<Point> starts(const std::vector<NicPoint> &points) {
    constexpr int places = 7;
    double top = std::ranges::max(points, {}, &NicPoint::mpps).mpps;
    double read_ns = 1000 / top;
    double drop_ns = std::max(1000 / points.back().mpps - read_ns, 1e-3 * read_ns);
    double parallel = 5 * context_miss_ns / drop_ns;
    auto place = [&](int i) {
        double least = std::log(std::max(points.front().qps, 8u));
        double span = std::log(std::max(points.back().qps, 16u)) - least;
        return least + span * i / places;
    };
    std::vector<Point> list;

    for (int first = 0; first < places; first++)
        for (int second = first + 1; second < places; second++)
            list.push_back({std::log(top),
                            std::log(1000.0 * points.front().qps / points.front().mpps),
                            std::log(0.95 * read_ns * parallel), std::log(parallel), place(first),
                            place(second), std::log(5 * context_miss_ns)});
    return list;
}

/// Another simplex has come to its end.
void count_step(std::atomic<uint64_t> &progress) {
    if (progress < fit_steps)
        progress++;
}

Minimum best_of(const std::vector<NicPoint> &points, const Bounds &bounds, Access access,
                std::atomic<uint64_t> &progress) {
    auto error = [&](const Point &x) { return mean_error(bounds.model_of(x, access), points); };
    Minimum best{{}, INFINITY};

    for (const Point &start : starts(points)) {
        Minimum found = nelder_mead(error, start, 0.2, 1e-5, 400);
        if (found.value < best.value)
            best = found;
        count_step(progress);
    }
    // A simplex that has collapsed early goes on from a new one.
    for (double before = INFINITY; best.value < before - 1e-6;) {
        before = best.value;
        for (double step : {0.3, 0.1, 0.03}) {
            best = nelder_mead(error, best.at, step, 1e-9, 1000);
            count_step(progress);
        }
    }
    return best;
}

/// Do misses make a difference, somewhere more than elsewhere? Else the cache may be of any size.
bool is_seen(const NicCache &cache, const NicModel &model, const std::vector<uint32_t> &busy) {
    constexpr double least = 1e-3;  // of the work
    double fewest = INFINITY, most = 0;

    for (uint32_t qps : busy) {
        double misses_ns = cache.miss_ratio(qps, model.access) * cache.miss_ns;
        fewest = std::min(fewest, misses_ns);
        most = std::max(most, misses_ns);
    }
    return most - fewest >= least * model.work_ns;
}

std::vector<NicPart> unseen_of(const NicModel &model, const std::vector<NicPoint> &points) {
    std::vector<uint32_t> busy;  // numbers of QPs whose rate the work limits
    std::vector<NicPart> unseen;
    bool link = false, one_qp = false;

    for (const NicPoint &point : points) {
        double rate = model.rate(point.qps);
        if (rate >= model.line_mpps)
            link = true;
        else if (rate >= model.asked_for(point.qps))
            one_qp = true;
        else
            busy.push_back(point.qps);
    }
    auto add = [&](bool seen, NicPart part) {
        if (!seen)
            unseen.push_back(part);
    };
    add(link, NicPart::link);
    add(one_qp, NicPart::one_qp);
    add(!busy.empty(), NicPart::work);
    add(is_seen(model.context, model, busy), NicPart::contexts);
    add(is_seen(model.translation, model, busy), NicPart::translations);
    return unseen;
}

}  // namespace

Result<NicCurve> parse_nic_curve(std::string_view csv) {
    std::map<uint32_t, std::pair<double, size_t>> seen;
    size_t number = 0;
    bool first = true;
    NicCurve curve;

    curve.may_be_cut = !csv.empty() && !csv.ends_with('\n');
    if (csv.starts_with(Source::byte_order_mark))
        csv.remove_prefix(Source::byte_order_mark.size());
    while (!csv.empty()) {
        std::string_view line = csv.substr(0, csv.find('\n'));
        csv.remove_prefix(std::min(line.size() + 1, csv.size()));
        line = trimmed(line);
        number++;
        if (line.empty())
            continue;
        if (std::exchange(first, false) && is_header(line)) {
            if (is_reversed(std::string(line)))
                curve.doubt = "its first line is '" + std::string(line.substr(0, 40)) + "'";
            continue;
        }
        auto point = point_of(line);
        if (!point)
            return bad(number, "is no point: '" + std::string(line.substr(0, 40)) + "'");
        auto [it, is_new] = seen.try_emplace(point->qps, point->mpps, number);
        if (!is_new)
            return bad(number, "has the QPs of line " + std::to_string(it->second.second));
    }
    if (seen.size() <= parameters)
        return Error{EINVAL,
                     "the curve has " + std::to_string(seen.size()) + " points, and the model " +
                         std::to_string(parameters) + " parameters",
                     "measure the rate at more numbers of QPs"};

    for (const auto &[qps, value] : seen)
        curve.points.push_back({qps, value.first});
    return curve;
}

NicFit fit_nic(const std::vector<NicPoint> &points, std::atomic<uint64_t> *progress) {
    Bounds bounds(points);
    std::atomic<uint64_t> nobody_looks = 0;
    std::atomic<uint64_t> &steps = progress ? *progress : nobody_looks;
    Minimum random = best_of(points, bounds, Access::random, steps);
    Minimum in_turn = best_of(points, bounds, Access::round_robin, steps);
    steps = fit_steps;
    bool is_random = random.value <= in_turn.value;
    NicFit fit{.model = is_random ? bounds.model_of(random.at, Access::random)
                                  : bounds.model_of(in_turn.at, Access::round_robin),
               .errors = {},
               .unseen = {},
               .stopped = bounds.stopped(is_random ? random.at : in_turn.at),
               .one_drop = false,
               .mean_error = 0,
               .max_error = 0};

    for (const NicPoint &point : points) {
        double model = fit.model.rate(point.qps);
        double relative = model / point.mpps - 1;
        fit.errors.push_back({point.qps, point.mpps, model, relative});
        fit.max_error = std::max(fit.max_error, std::abs(relative));
    }
    fit.mean_error = mean_error(fit.model, points);
    fit.unseen = unseen_of(fit.model, points);
    fit.one_drop = fit.model.context.entries > as_large * fit.model.translation.entries;
    return fit;
}

uint32_t measured_knee(const std::vector<NicPoint> &points, double share) {
    double least = share * std::ranges::max(points, {}, &NicPoint::mpps).mpps;
    uint32_t qps = 0;

    for (const NicPoint &point : points)
        if (point.mpps >= least)
            qps = std::max(qps, point.qps);
    return qps;
}

}  // namespace ds::sim
