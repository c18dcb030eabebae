// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep.hpp"

#include "sim/parallel.hpp"

namespace ds::sim {

std::vector<RunResult> sweep(const Trace &trace, std::span<const RunOptions> cells,
                             unsigned threads, EventLog *events, std::atomic<uint64_t> *progress) {
    std::vector<RunResult> results(cells.size());

    for (const RunOptions &cell : cells)
        cell.check();
    in_parallel(cells.size(), events ? 1 : threads, [&](size_t i) {
        if (events)
            events->begin_run(i);
        results[i] = run(trace, cells[i], events);
        if (progress)
            ++*progress;
    });
    return results;
}

}  // namespace ds::sim
