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
    {"ds", make_ds},
    {"literal-001", make_literal_001, DS_POLICY_PROMOTE_TO_L1_THRESHOLD, DS_SKETCH_MOST},
    {"adaptive-001", make_adaptive_001},
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

}  // namespace

std::span<const PolicyKind> policies() {
    return kinds;
}

std::unique_ptr<Policy> make_policy(std::string_view name, uint32_t capacity, const Trace &trace) {
    size_t colon = name.find(':');
    std::string_view wanted = name.substr(0, colon);
    std::string names;

    if (wanted == "default")  // as the module and run() call it
        wanted = "ds";
    if (capacity == 0)
        throw wrong("A cache of 0 entries has no policy.", "Use a capacity of 1 or more.");
    for (const PolicyKind &kind : kinds) {
        names += " " + std::string(kind.name);
        if (kind.name != wanted)
            continue;
        uint32_t number =
            colon == name.npos ? kind.number : number_of(name.substr(colon + 1), kind);
        return kind.make(capacity, number, trace);
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
