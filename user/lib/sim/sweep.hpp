// SPDX-License-Identifier: Apache-2.0
// Runs side by side: one trace with many options, in several threads.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "sim/run.hpp"

namespace ds::sim {

/// The result of each, in their order; the same for any number of threads, as a run depends on
/// nothing but its trace and its options. @p events is told what moves in each of them, from run 0
/// on; then there is one at a time. @p progress counts the runs that are done. Throws Failure as
/// run() does, before any work if it is the options that are wrong.
std::vector<RunResult> sweep(const Trace &trace, std::span<const RunOptions> cells,
                             unsigned threads, EventLog *events = nullptr,
                             std::atomic<uint64_t> *progress = nullptr);

}  // namespace ds::sim
