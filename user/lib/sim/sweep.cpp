// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep.hpp"

#include "sim/parallel.hpp"

namespace ds::sim {

std::vector<RunResult> sweep(const Trace &trace, std::span<const RunOptions> cells,
                             unsigned threads, std::atomic<uint64_t> *progress) {
    std::vector<RunResult> results(cells.size());

    for (const RunOptions &cell : cells)
        cell.check();
    in_parallel(cells.size(), threads, [&](size_t i) {
        results[i] = run(trace, cells[i]);
        if (progress)
            ++*progress;
    });
    return results;
}

}  // namespace ds::sim
