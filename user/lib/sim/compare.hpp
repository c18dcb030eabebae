// SPDX-License-Identifier: Apache-2.0
// Policies side by side: each trace at each capacity, in several threads.
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/policy.hpp"

namespace ds::sim {

/// One trace at one capacity.
struct Cell {
    size_t trace;
    uint32_t capacity;
    /// The cache is small enough to matter, the trace long enough to fill it often: twice the
    /// capacity is at most the objects, twenty times the accesses. Others rank nobody.
    bool ranked;
    std::vector<uint64_t> hits;                ///< by policy
    std::vector<std::optional<double>> ranks;  ///< 1 is the best; equal ones share; OPT has none
    size_t best;                               ///< policy, the first of equal ones
};

struct Comparison {
    std::vector<std::string> policies;
    std::vector<uint64_t> accesses;  ///< by trace
    std::vector<Cell> cells;         ///< by trace, then by capacity, in the order given
    std::vector<std::optional<double>> mean_ranks;  ///< by policy, over the ranked cells
};

/// The result is the same for any number of threads. @p progress counts the passes over a trace
/// that are done, of traces x capacities x policies. Throws Failure as make_policy() does,
/// before any work.
Comparison compare(std::span<const Trace> traces, std::span<const uint32_t> capacities,
                   std::span<const std::string> policies, unsigned threads,
                   std::atomic<uint64_t> *progress = nullptr);

}  // namespace ds::sim
