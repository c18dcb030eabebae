// SPDX-License-Identifier: Apache-2.0
#include "sim/policy.hpp"

#include <cerrno>
#include <charconv>

#include "sim/core.hpp"

namespace ds::sim {
namespace {

constexpr PolicyKind kinds[] = {
    {"lru", make_lru},
    {"fifo", make_fifo},
    {"clock", make_clock},
    {"sieve", make_sieve},
    {"s3-fifo", make_s3fifo},
    {"2q", make_2q},
    {"arc", make_arc},
    {"lirs", make_lirs},
    {"w-tinylfu", make_wtinylfu, 20, 99},
    {"lfu", make_lfu},
    {"ds", make_ds, 0, 0, DS_POLICY_KEYS, DS_POLICY_CAPACITY_MIN, DS_POLICY_CAPACITY_MAX},
    {"literal-001", make_literal_001, DS_POLICY_PROMOTE_TO_L1_THRESHOLD, DS_SKETCH_MOST,
     DS_POLICY_KEYS, DS_POLICY_CAPACITY_MIN, DS_POLICY_CAPACITY_MAX},
    {"adaptive-001", make_adaptive_001, 0, 0, DS_POLICY_KEYS, DS_POLICY_CAPACITY_MIN,
     DS_POLICY_CAPACITY_MAX},
    {"opt", make_opt},
};

Failure wrong(std::string sentence, std::string remedy) {
    return Failure({EINVAL, std::move(sentence), std::move(remedy), false});
}

uint32_t number_of(std::string_view text, const PolicyKind &kind) {
    uint32_t number = 0;
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);

    if (error != std::errc() || stop != text.data() + text.size() || number < 1 ||
        number > kind.most)
        throw kind.most ? wrong("'" + std::string(text) + "' is no number for policy " +
                                    std::string(kind.name) + ".",
                                "Use 1 to " + std::to_string(kind.most) + ", or none.")
                        : wrong("Policy " + std::string(kind.name) + " takes no number.",
                                "Only w-tinylfu and literal-001 take one.");
    return number;
}

void check_objects(const PolicyKind &kind, const Trace &trace) {
    // Not what is asked for is wrong but the trace.
    if (trace.uniques > kind.most_objects)
        throw Failure({EBADMSG,
                       "Policy " + std::string(kind.name) + " has no indices for " +
                           std::to_string(trace.uniques) + " objects.",
                       "Use a trace of at most " + std::to_string(kind.most_objects) +
                           " objects, or other policies.",
                       false});
}

// It may be one that nobody has named: it is among the policies that are usual.
void check_capacity(const PolicyKind &kind, uint32_t capacity) {
    if (capacity < kind.least_entries || capacity > kind.most_entries)
        throw wrong("Policy " + std::string(kind.name) + " cannot have " +
                        std::to_string(capacity) + " entries.",
                    "Use a capacity of " + std::to_string(kind.least_entries) + " to " +
                        std::to_string(kind.most_entries) +
                        ", or name other policies with --policy.");
}

struct Named {
    const PolicyKind &kind;
    uint32_t number;

    bool operator==(const Named &other) const {
        return &kind == &other.kind && number == other.number;
    }
};

Named named(std::string_view name) {
    size_t colon = name.find(':');
    std::string_view wanted = name.substr(0, colon);
    std::string names;

    if (wanted == "default")  // as the module and run() call it
        wanted = "ds";
    for (const PolicyKind &kind : kinds) {
        names += " " + std::string(kind.name);
        if (kind.name == wanted)
            return {kind,
                    colon == name.npos ? kind.number : number_of(name.substr(colon + 1), kind)};
    }
    throw wrong("There is no policy '" + std::string(name) + "'.", "Choose from:" + names + ".");
}

}  // namespace

std::span<const PolicyKind> policies() {
    return kinds;
}

ObjectLimit object_limit(std::string_view name) {
    const PolicyKind &kind = named(name).kind;

    return {kind.most_objects, "policy " + std::string(kind.name),
            "Use a trace of fewer objects, or other policies."};
}

void check_objects(std::string_view name, const Trace &trace) {
    check_objects(named(name).kind, trace);
}

void check_each_once(std::span<const std::string> names) {
    for (size_t i = 0; i < names.size(); i++)
        for (size_t before = 0; before < i; before++)
            if (named(names[before]) == named(names[i]))
                throw wrong(names[before] == names[i] ? "Policy '" + names[i] + "' is named twice."
                                                      : "Policies '" + names[before] + "' and '" +
                                                            names[i] + "' are the same.",
                            "Name it once.");
}

std::unique_ptr<Policy> make_policy(std::string_view name, uint32_t capacity, const Trace &trace) {
    if (capacity == 0)
        throw wrong("A cache of 0 entries has no policy.", "Use a capacity of 1 or more.");
    auto [kind, number] = named(name);
    check_capacity(kind, capacity);
    check_objects(kind, trace);
    return kind.make(capacity, number, trace);
}

uint64_t hits(Policy &policy, const Trace &trace) {
    uint64_t count = 0;

    for (Request r : trace.requests)
        count += r.access() && policy.access(r.id);
    return count;
}

}  // namespace ds::sim
