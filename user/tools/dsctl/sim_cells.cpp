// SPDX-License-Identifier: Apache-2.0
#include "sim_cells.hpp"

#include <charconv>
#include <cmath>
#include <functional>

#include "sim.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

using ds::sim::Latency;
using ds::sim::RunOptions;
using ds::sim::RunResult;

// The library says which numbers it takes when it refuses one, as no number or so large a one.
template <class Take>
std::string range_of(Take &&take) {
    try {
        take();
    } catch (const ds::Failure &failure) {
        return clause(failure.error().remedy);
    }
    return "";
}

// @p what: an option, or what it names. @p remedy: says which numbers it can have.
template <class Remedy>
uint64_t number_of(const std::string &what, std::string_view text, Remedy &&remedy) {
    auto number = parse_number(text);

    if (!number)
        throw usage(what + " is a whole number, not '" + std::string(text) + "'", remedy());
    return *number;
}

uint32_t count_of(const std::string &option, RunOptions::Count which, std::string_view text) {
    uint64_t number = number_of(
        option, text, [&] { return range_of([&] { RunOptions::check(which, UINT64_MAX); }); });

    or_error([&] { RunOptions::check(which, number); });
    return static_cast<uint32_t>(number);
}

// Of a batch and of handlers: 0 is none, which the library's errors do not say.
uint64_t number_or_none(const std::string &option, std::string_view text, uint64_t most) {
    auto range = [most] { return "use 0 (none) to " + std::to_string(most); };
    uint64_t number = number_of(option, text, range);

    if (number > most)
        throw usage(option + " cannot be " + std::to_string(number), range());
    return number;
}

// @p field: where it will stand.
double decimal_in(const std::string &what, std::string_view text,
                  const std::function<double &(RunOptions &)> &field) {
    double value = 0;
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);

    if (error != std::errc() || stop != text.data() + text.size()) {
        RunOptions options;
        field(options) = NAN;
        throw usage(what + " is a number, as 0.5, not '" + std::string(text) + "'",
                    range_of([&] { options.check(); }));
    }
    return value;
}

constexpr const char *batch_size = "PREFETCH_BATCH_THRESHOLD";

using Assignment = std::pair<std::string, std::string>;

// The list "name=value,...", each name once.
std::vector<Assignment> assignments_of(const Call &call, std::string_view option) {
    std::vector<Assignment> list;

    for (const std::string &part : list_of(call, option)) {
        size_t equals = part.find('=');
        if (equals == part.npos)
            throw usage("option '" + std::string(option) + "' is a list of NAME=VALUE, not '" +
                        part + "'");
        std::string name = part.substr(0, equals);
        if (std::ranges::find(list, name, &Assignment::first) != list.end())
            throw usage("option '" + std::string(option) + "' names '" + name + "' twice",
                        option == "--set"
                            ? "name it once; in a sweep with several values, as " + name + "=1:8"
                            : "name it once");
        list.emplace_back(name, part.substr(equals + 1));
    }
    return list;
}

// "5", or "170:410".
Latency latency_of(const std::string &name, const std::string &text) {
    const std::string what = "latency '" + name + "'";
    auto range = [] { return "use 1 to " + std::to_string(Latency::most_ns) + " ns"; };
    size_t colon = text.find(':');
    uint64_t median = number_of(what, text.substr(0, colon), range);
    uint64_t p99 = colon == text.npos ? median : number_of(what, text.substr(colon + 1), range);
    auto latency = Latency::lognormal(median, p99);

    if (!latency)
        throw usage(what + ": " + clause(latency.error().sentence), clause(latency.error().remedy));
    return colon == text.npos ? Latency::constant(median) : *latency;
}

void set_latencies(const Call &call, RunOptions &options) {
    ds::sim::Latencies &times = options.times.latencies;
    const std::pair<std::string_view, Latency *> known[] = {{"l1", &times.l1},
                                                            {"l2", &times.l2},
                                                            {"l3_read", &times.l3_read},
                                                            {"l3_write", &times.l3_write},
                                                            {"expand", &times.expand}};
    for (const auto &[name, value] : assignments_of(call, "--latency")) {
        auto found = std::ranges::find(known, name, &std::pair<std::string_view, Latency *>::first);
        if (found == std::end(known))
            throw usage("there is no latency '" + name + "'",
                        "choose from: l1 l2 l3_read l3_write expand");
        *found->second = latency_of(name, value);
    }
}

void set_bandwidths(const Call &call, RunOptions &options) {
    for (const auto &link : assignments_of(call, "--bandwidth")) {
        const std::string &name = link.first, &value = link.second;
        if (name != "cxl" && name != "pcie")
            throw usage("there is no link '" + name + "'", "choose from: cxl pcie");
        auto field = [&](RunOptions &o) -> double & {
            return name == "cxl" ? o.times.cxl_bytes_per_ns : o.times.pcie_bytes_per_ns;
        };
        field(options) = decimal_in("bandwidth '" + name + "'", value, field);
    }
}

// What is the same in all cells.
RunOptions common_of(const Call &call) {
    RunOptions options;

    options.seed = call.number("--seed");
    options.trace_times = call.has("--trace-times");
    if (call.has("--latency"))
        set_latencies(call, options);
    if (call.has("--bandwidth"))
        set_bandwidths(call, options);
    if (call.has("--classes"))
        options.classes =
            or_error([&] { return ds::sim::ClassShares::parse(call.text("--classes")); });
    return options;
}

// Each cell with each value of an option or a parameter; of those for which it has a use. A value
// twice, however it is written, would be a run twice.
using Setter = std::function<void(RunOptions &options, const std::string &text)>;
using Use = std::function<bool(const RunOptions &options)>;

void multiply(std::vector<RunOptions> &cells, const std::string &name,
              const std::vector<std::string> &values, const Setter &set, const Use &has_use) {
    constexpr size_t most_cells = 10'000;
    std::vector<RunOptions> next;

    auto used = static_cast<size_t>(std::ranges::count_if(cells, has_use));
    size_t count = cells.size() - used + used * values.size();
    if (count > most_cells)
        throw usage("these lists make " + std::to_string(count) + " runs, which are more than " +
                        std::to_string(most_cells),
                    "shorten a list");
    for (const RunOptions &cell : cells) {
        if (!has_use(cell)) {
            next.push_back(cell);
            continue;
        }
        auto first = static_cast<ptrdiff_t>(next.size());
        for (const std::string &value : values) {
            RunOptions made = cell;
            set(made, value);
            if (std::find(next.begin() + first, next.end(), made) != next.end())
                throw usage(name + " names " + value + " twice", "name it once");
            next.push_back(std::move(made));
        }
    }
    cells = std::move(next);
}

// Two parameters have options of their own.
void check_twice(const Call &call, const std::string &name) {
    constexpr std::pair<const char *, const char *> both[] = {{"--l1", "L1_CAPACITY"},
                                                              {"--batch", batch_size}};

    for (auto [option, parameter] : both)
        if (name == parameter && call.has(option))
            throw usage(std::string(option) + " and --set " + parameter + " are the same",
                        "give one of them");
}

// A sweep may have policies, or batches, that have no use for a parameter. If none of them has one
// it is set nevertheless, so that check() says why that is wrong.
void set_parameters(const Call &call, std::vector<RunOptions> &cells) {
    if (!call.has("--set"))
        return;
    for (const auto &parameter : assignments_of(call, "--set")) {
        const std::string &name = parameter.first, &values = parameter.second;
        auto has_use = [&](const RunOptions &o) { return !o.no_use_for(name); };
        bool wanted = std::ranges::any_of(cells, has_use);
        check_twice(call, name);
        multiply(
            cells, name, split(values, ':'),  // "1:8:64"
            [&](RunOptions &o, const std::string &text) {
                auto range = [&] { return range_of([&] { RunOptions().set(name, UINT64_MAX); }); };
                or_error([&] { o.set(name, number_of(name, text, range)); });
            },
            [&](const RunOptions &o) { return !wanted || has_use(o); });
    }
}

// 'sim compare' has numbers behind a policy's name.
std::string policy_of(const std::string &text) {
    size_t colon = text.find(':');

    if (text.starts_with("literal-001:"))
        throw usage(
            "a policy of a run has no number behind its name: '" + text + "'",
            "use --policy literal-001 --set PROMOTE_TO_L1_THRESHOLD=" + text.substr(colon + 1));
    return text == "ds" ? "default" : text;
}

// An option with a list of values.
struct Axis {
    const char *option;
    Setter set;
};

const std::vector<Axis> &axes() {
    static const std::vector<Axis> all = {
        {"--policy", [](RunOptions &o, const std::string &text) { o.policy = policy_of(text); }},
        {"--mode",
         [](RunOptions &o, const std::string &text) {
             if (text != "optimistic" && text != "blocking")
                 throw usage("a mode is optimistic or blocking, not '" + text + "'");
             o.mode = text == "blocking" ? ds::sim::Mode::blocking : ds::sim::Mode::optimistic;
         }},
        {"--l1",
         [](RunOptions &o, const std::string &text) {
             o.l1 = count_of("--l1", RunOptions::Count::l1, text);
         }},
        {"--l2",
         [](RunOptions &o, const std::string &text) {
             o.l2 = count_of("--l2", RunOptions::Count::l2, text);
         }},
        {"--writes",
         [](RunOptions &o, const std::string &text) {
             o.writes = count_of("--writes", RunOptions::Count::writes, text);
         }},
        {"--batch",
         [](RunOptions &o, const std::string &text) {
             if (uint64_t batch = number_or_none("--batch", text, RunOptions::most(batch_size)))
                 or_error([&] { o.set(batch_size, batch); });
         }},
        {"--handlers",
         [](RunOptions &o, const std::string &text) {
             if (number_or_none("--handlers", text, RunOptions::most_handlers) > 0)
                 o.handlers = count_of("--handlers", RunOptions::Count::handlers, text);
         }},
        {"--rate",
         [](RunOptions &o, const std::string &text) {
             o.rate =
                 decimal_in("--rate", text, [](RunOptions &of) -> double & { return of.rate; });
         }},
        {"--outstanding",
         [](RunOptions &o, const std::string &text) {
             o.outstanding = count_of("--outstanding", RunOptions::Count::outstanding, text);
         }},
    };
    return all;
}

std::string arrivals_of(const RunOptions &options) {
    return options.outstanding ? "outstanding" : options.trace_times ? "trace" : "rate";
}

double ratio(uint64_t part, const RunResult &result) {
    return static_cast<double>(part) / static_cast<double>(result.accesses);
}

}  // namespace

Value::Value(double value) : json(value), text(format("%.6f", value)) {}

Value Value::as_given(double value) {
    Value given(value);

    given.text = shortest(value);
    return given;
}

Value::Value(const Parameters &parameters) : json(Json::array()) {
    for (const auto &[name, value] : parameters) {
        json.push_back({{"name", name}, {"value", value}});
        text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
    }
}

uint64_t batch_of(const RunOptions &options) {
    auto found = options.parameters.find(batch_size);
    return found == options.parameters.end() ? 0 : found->second;
}

RunOptions cell_of(const Call &call) {
    auto one = [](const std::string &what, bool several) {
        if (several)
            throw usage(what + " has several values, and a run has one",
                        "use dsctl sim sweep for lists");
    };

    for (const Axis &axis : axes())
        one(axis.option, call.text(axis.option).find(',') != std::string::npos);
    if (call.has("--set"))
        for (const auto &[name, values] : assignments_of(call, "--set"))
            one(name, values.find(':') != std::string::npos);
    return cells_of(call)[0];
}

std::vector<RunOptions> cells_of(const Call &call) {
    std::vector<RunOptions> cells{common_of(call)};

    if (call.has("--rate") + call.has("--outstanding") + call.has("--trace-times") > 1)
        throw usage("--rate, --outstanding and --trace-times exclude each other");
    for (const Axis &axis : axes())
        if (!call.text(axis.option).empty() || call.has(axis.option))
            multiply(cells, axis.option, split(call.text(axis.option), ','), axis.set,
                     [](const RunOptions &) { return true; });
    set_parameters(call, cells);
    for (const RunOptions &cell : cells)
        or_error([&] { cell.check(); });
    return cells;
}

void check_trace(const std::string &file, const ds::sim::Trace &trace,
                 const std::vector<RunOptions> &cells) {
    try {
        for (const RunOptions &cell : cells)
            or_error([&] { cell.check(trace); });
    } catch (Error &error) {
        error.sentence = "'" + file + "': " + error.sentence;
        throw std::move(error).with("file", file);
    }
}

// As it was given; null if it was not.
Value given(const Call &call, std::string_view option) {
    return call.has(option) ? Value(call.text(option)) : Value(std::optional<double>());
}

Line line_of(const Call &call, const RunOptions &options, const RunResult &result) {
    return {
        {"policy", options.policy},
        {"mode", options.mode == ds::sim::Mode::blocking ? "blocking" : "optimistic"},
        {"l1_entries", options.l1},
        {"l2_pages", options.l2},
        {"writes_percent", options.writes},
        {"batch", batch_of(options)},
        {"handlers", options.handlers},
        {"arrivals", arrivals_of(options)},
        {"rate", arrivals_of(options) == "rate" ? Value::as_given(options.rate)
                                                : Value(std::optional<double>())},
        {"outstanding", options.outstanding},
        {"parameters", Value(options.parameters)},
        {"latency", given(call, "--latency")},
        {"bandwidth", given(call, "--bandwidth")},
        {"classes", given(call, "--classes")},
        {"seed", options.seed},
        {"accesses", result.accesses},
        {"l1_hits", result.found[1]},
        {"l2_hits", result.found[2]},
        {"misses", result.found[3]},
        {"l1_hit_ratio", ratio(result.found[1], result)},
        {"l2_hit_ratio", ratio(result.found[2], result)},
        {"mean_ns", result.times.mean()},
        {"p50_ns", result.times.p50()},
        {"p99_ns", result.times.p99()},
        {"p999_ns", result.times.p999()},
        {"max_ns", result.times.max()},
        {"waits", result.waits},
        {"moved_to_l1", result.moved[1]},
        {"moved_to_l2", result.moved[2]},
        {"moved_to_l3", result.moved[3]},
        {"move_mean_ns", result.move_times.mean()},
        {"move_p99_ns", result.move_times.p99()},
        {"copied_again", result.copied_again},
        {"aborts", result.aborts},
        {"cancels", result.cancels},
        {"expands", result.expands},
        {"expands_refused", result.expands_refused},
        {"expands_expired", result.expands_expired},
        {"prestaged", result.prestaged},
        {"prefetched", result.prefetched},
        {"prefetched_used", result.prefetched_used},
        {"dma_busy", result.dma_busy},
        {"cxl_operations", result.cxl.operations},
        {"cxl_bytes", result.cxl.bytes},
        {"pcie_operations", result.pcie.operations},
        {"pcie_bytes", result.pcie.bytes},
        {"threshold_changes", result.threshold_changes},
        {"virtual_ns", result.virtual_ns},
    };
}

Json json_of(const Line &line) {
    Json object = Json::object();

    for (const auto &[name, value] : line)
        object[name] = value.json;
    return object;
}

std::string csv_names(const Line &line) {
    std::string text;

    for (const auto &[name, value] : line)
        text += "," + name;
    return text;
}

std::string csv_values(const Line &line) {
    std::string text;

    for (const auto &[name, value] : line)
        text += "," + quoted(value.text);
    return text;
}

}  // namespace dsctl
