// SPDX-License-Identifier: Apache-2.0
// What a run may be given.
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <vector>

#include "sim/bandwidth_server.hpp"
#include "sim/core.hpp"
#include "sim/run.hpp"

namespace ds::sim {
namespace {

struct Parameter {
    std::string_view name;
    uint64_t least, most;
};

constexpr std::string_view batch_size = "PREFETCH_BATCH_THRESHOLD", most_in_batch = "MAX_BATCH",
                           l1_capacity = "L1_CAPACITY";

std::vector<Parameter> all_parameters() {
    std::vector<Parameter> all;

    for (const ds_param &param : ds_tune_params)
        all.push_back({param.name, param.least, param.most});
    all.push_back({l1_capacity, DS_POLICY_CAPACITY_MIN, DS_L1_MAX});
    for (const ds_param &param : ds_batch_params)
        all.push_back({param.name, param.least, param.most});
    for (const ds_param &param : ds_expand_params)
        all.push_back({param.name, param.least, param.most});
    return all;
}

bool is_of_policy(std::string_view name) {
    return std::ranges::any_of(ds_tune_params,
                               [name](const ds_param &param) { return param.name == name; });
}

/// What is asked for L2, as pre-staging does, is in the background, and nothing else.
bool is_of_l2(std::string_view name, const std::string &policy) {
    static constexpr std::string_view names[] = {"DEMOTE_FROM_L2_IDLE_NS", "EXPAND_URGENT_RUN",
                                                 "EXPAND_BACKGROUND_MAX", "EXPAND_HOT_PAGE",
                                                 "EXPAND_PRESTAGE"};

    // 'adaptive-001' begins with a threshold for L2, whether there is one or not.
    return std::ranges::find(names, name) != std::end(names) ||
           (name == "PROMOTE_TO_L2_THRESHOLD" && policy == "literal-001");
}

Failure wrong(std::string sentence, std::string remedy) {
    return Failure({EINVAL, std::move(sentence), std::move(remedy), false});
}

// Not the options are wrong but the trace, for these.
Failure unfit(std::string sentence, std::string remedy) {
    return Failure({EBADMSG, std::move(sentence), std::move(remedy), false});
}

void in_range(std::string_view what, uint64_t value, uint64_t least, uint64_t most) {
    if (value < least || value > most)
        throw wrong(std::string(what) + " cannot be " + std::to_string(value) + ".",
                    "Use " + std::to_string(least) + " to " + std::to_string(most) + ".");
}

// Also what is no number at all.
void in_range(std::string_view what, double value, double least, double most) {
    auto text = [](double number) {
        std::array<char, 32> digits;  // as many as tell it from all others
        return std::string(digits.begin(), std::to_chars(digits.begin(), digits.end(), number).ptr);
    };

    if (!(value >= least && value <= most))
        throw wrong(std::string(what) + " cannot be " + text(value) + ".",
                    "Use " + text(least) + " to " + text(most) + ".");
}

}  // namespace

void RunOptions::set(std::string_view name, uint64_t value) {
    for (const Parameter &parameter : all_parameters()) {
        if (parameter.name != name)
            continue;
        in_range(name, value, parameter.least, parameter.most);
        if (name == l1_capacity)
            l1 = static_cast<uint32_t>(value);
        else
            parameters[std::string(name)] = value;
        return;
    }
    throw wrong("There is no parameter '" + std::string(name) + "'.",
                "Choose from: " + parameter_names() + ".");
}

uint64_t RunOptions::most(std::string_view name) {
    const std::vector<Parameter> all = all_parameters();

    return std::ranges::find(all, name, &Parameter::name)->most;
}

std::string RunOptions::parameter_names() {
    std::string names;

    for (const Parameter &parameter : all_parameters())
        names += (names.empty() ? "" : " ") + std::string(parameter.name);
    return names;
}

void RunOptions::check(Count which, uint64_t number) {
    switch (which) {
    case Count::l1:
        return in_range("The number of entries of L1", number, DS_POLICY_CAPACITY_MIN, DS_L1_MAX);
    case Count::l2:
        return in_range("The number of pages of L2", number, 0, DS_L2_PAGES_MAX);
    case Count::writes:
        return in_range("The share of writes", number, 0, 100);
    case Count::outstanding:
        return in_range("The number of requests under way", number, 1, 65536);
    case Count::handlers:
        return in_range("The number of handlers", number, 1, most_handlers);
    }
}

ObjectLimit RunOptions::object_limit() {
    return {uint64_t(1) << DS_TOKEN_INDEX_BITS, "the token cache", "Use a trace of fewer objects."};
}

std::optional<Error> RunOptions::no_use_for(std::string_view name) const {
    std::string text(name);

    if (name == l1_capacity || name == batch_size)
        return std::nullopt;
    if (l2 == 0 && is_of_l2(name, policy))
        return wrong(text + " means nothing without L2.", "Use --l2 with it.").error();
    if (is_of_policy(name)) {
        if (policy == "literal-001" || policy == "adaptive-001")
            return std::nullopt;
        return wrong("The default policy has no " + text + ".",
                     "Use --policy literal-001 or adaptive-001 with it.")
            .error();
    }
    if (name.starts_with("EXPAND_")) {
        if (handlers)
            return std::nullopt;
        return wrong(text + " means nothing without a mailbox.", "Use --handlers with it.").error();
    }
    if (parameters.contains(batch_size))
        return std::nullopt;
    return wrong(text + " means nothing without a batch.", "Use --batch with it.").error();
}

void RunOptions::check() const {
    if (policy != "default" && policy != "literal-001" && policy != "adaptive-001")
        throw wrong("The token cache has no policy '" + policy + "'.",
                    "Choose from: default literal-001 adaptive-001.");
    for (const auto &[name, value] : parameters)
        if (auto error = no_use_for(name))
            throw Failure(*error);
    check(Count::l1, l1);
    check(Count::l2, l2);
    check(Count::writes, writes.value_or(0));
    in_range("The rate", rate, 0.001, 1000);
    check(Count::outstanding, outstanding.value_or(1));
    in_range("The bandwidth of the CXL port", times.cxl_bytes_per_ns, 0.001, 10'000);
    in_range("The bandwidth of PCIe", times.pcie_bytes_per_ns, 0.001, 10'000);
    check(Count::handlers, handlers.value_or(1));
    if (handlers && parameters.contains(batch_size))
        throw wrong("The host is not asked for what a batch fetches.",
                    "Give the batch up, or the handlers.");
    auto batch = parameters.find(batch_size), most = parameters.find(most_in_batch);
    if (batch != parameters.end() && most != parameters.end() && most->second < batch->second)
        throw wrong("A batch of " + std::to_string(batch->second) +
                        " cannot be fetched together: " + std::string(most_in_batch) + " is " +
                        std::to_string(most->second) + ".",
                    "Use a smaller batch, or " + std::to_string(batch->second) + " or more for " +
                        std::string(most_in_batch) + ".");
    if (outstanding && trace_times)
        throw wrong("Requests cannot come at the trace's times and follow each other.",
                    "Give the times up, or the number under way.");
}

void RunOptions::check(const Trace &trace) const {
    if (!trace_times)
        return;
    if (trace.time_ns.empty())
        throw unfit("The trace does not say when its requests came.",
                    "Use a rate, or a number of requests under way.");
    uint64_t first = trace.time_ns[0], last = std::ranges::max(trace.time_ns);
    if (last - first > BandwidthServer::most_ns)
        throw unfit("The trace's requests came over more than 200 days.",
                    "Check its times, or use a rate.");
}

}  // namespace ds::sim
