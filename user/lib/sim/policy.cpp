// SPDX-License-Identifier: Apache-2.0
#include "sim/policy.hpp"

#include <cerrno>
#include <charconv>

namespace ds::sim {
namespace {

constexpr PolicyKind kinds[] = {
    {"lru", make_lru, 0},
    {"fifo", make_fifo, 0},
    {"clock", make_clock, 0},
    {"sieve", make_sieve, 0},
    {"s3-fifo", make_s3fifo, 0},
    {"2q", make_2q, 0},
    {"arc", make_arc, 0},
    {"lirs", make_lirs, 0},
    {"w-tinylfu", make_wtinylfu, 20},
    {"lfu", make_lfu, 0},
    {"ds", make_ds, 0},
    {"literal-001", make_literal_001, 0},
    {"adaptive-001", make_adaptive_001, 0},
    {"opt", make_opt, 0},
};

Failure wrong(std::string sentence, std::string remedy) {
    return Failure({EINVAL, std::move(sentence), std::move(remedy), false});
}

uint32_t percent_of(std::string_view text, const PolicyKind &kind) {
    uint32_t percent = 0;
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), percent);

    if (kind.percent == 0 || error != std::errc() || stop != text.data() + text.size() ||
        percent < 1 || percent > 99)
        throw wrong(
            "'" + std::string(text) + "' is no share of policy " + std::string(kind.name) + ".",
            "Only w-tinylfu has one: 1 to 99 percent, as w-tinylfu:20.");
    return percent;
}

}  // namespace

std::span<const PolicyKind> policies() {
    return kinds;
}

std::unique_ptr<Policy> make_policy(std::string_view name, uint32_t capacity, const Trace &trace) {
    size_t colon = name.find(':');
    std::string names;

    if (capacity == 0)
        throw wrong("A cache of 0 entries has no policy.", "Use a capacity of 1 or more.");
    for (const PolicyKind &kind : kinds) {
        names += " " + std::string(kind.name);
        if (kind.name != name.substr(0, colon))
            continue;
        uint32_t percent =
            colon == name.npos ? kind.percent : percent_of(name.substr(colon + 1), kind);
        return kind.make(capacity, percent, trace);
    }
    throw wrong("There is no policy '" + std::string(name) + "'.", "Choose from:" + names + ".");
}

uint64_t hits(Policy &policy, const Trace &trace) {
    uint64_t count = 0;

    for (Request r : trace.requests)
        count += r.access() && policy.access(r.id);
    return count;
}

}  // namespace ds::sim
