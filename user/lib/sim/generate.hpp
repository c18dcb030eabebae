// SPDX-License-Identifier: Apache-2.0
// Traces that are made: the same recipe gives the same trace, on any machine.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace.hpp"

namespace ds::sim {

struct Recipe {
    /// One of recipe_kinds(): zipf (some objects often, most rarely), scan (no object twice), loop
    /// (all in turn), phases (zipf, of other objects from time to time), mixture (zipf, with scans
    /// in between), fanout (requests of QPs: each touches the tokens of its QP, CQ, PD and one of
    /// its MRs).
    std::string kind = "zipf";
    uint64_t requests = 1'000'000;  ///< 1 to most_requests
    uint32_t objects = 100'000;     ///< what they are of depends on the kind; at least 1
    double alpha = 0.99;            ///< of zipf: the n-th object is asked for 1 / n^alpha as often
    uint32_t phases = 10;           ///< of phases: working sets, one after the other
    double scans = 0.2;             ///< of mixture: share of the requests that are in scans
    bool random = false;            ///< of fanout: QPs at random, not in turn
    double writes = 0;              ///< share of the requests
    uint64_t seed = 1;
    uint64_t memory = UINT64_MAX;  ///< bytes: what needs more is refused with ENOMEM
};

/// What Recipe::kind may be.
std::vector<std::string_view> recipe_kinds();

/// Throws Failure: EINVAL for what is out of range, ENOMEM for what memory has no room for.
/// @p progress counts the requests made.
Trace generate(const Recipe &recipe, std::atomic<uint64_t> *progress = nullptr);

}  // namespace ds::sim
