// SPDX-License-Identifier: Apache-2.0
#include "sim/compare.hpp"

#include <algorithm>

#include "sim/parallel.hpp"

namespace ds::sim {
namespace {

constexpr std::string_view ceiling = "opt";

void rank(Cell &cell, std::span<const std::string> policies) {
    cell.ranks.resize(policies.size());
    cell.best = policies.size();
    for (size_t p = 0; p < policies.size(); p++) {
        double better = 0, equal = 0;
        if (policies[p] == ceiling)
            continue;
        for (size_t other = 0; other < policies.size(); other++) {
            if (policies[other] == ceiling)
                continue;
            better += cell.hits[other] > cell.hits[p];
            equal += cell.hits[other] == cell.hits[p];
        }
        cell.ranks[p] = 1 + better + (equal - 1) / 2;
        if (better == 0 && cell.best == policies.size())
            cell.best = p;
    }
    // OPT alone is the best of those that were asked for.
    cell.best = std::min(cell.best, policies.size() - 1);
}

std::optional<double> mean_rank(const std::vector<Cell> &cells, size_t policy) {
    double sum = 0, count = 0;

    for (const Cell &cell : cells) {
        if (!cell.ranked || !cell.ranks[policy])
            continue;
        sum += *cell.ranks[policy];
        count++;
    }
    return count > 0 ? std::optional(sum / count) : std::nullopt;
}

}  // namespace

Comparison compare(std::span<const Trace> traces, std::span<const uint32_t> capacities,
                   std::span<const std::string> policies, unsigned threads,
                   std::atomic<uint64_t> *progress) {
    Comparison result{{policies.begin(), policies.end()}, {}, {}, {}};

    // Not after other passes, and without room for the objects.
    for (const std::string &policy : policies) {
        for (uint32_t capacity : capacities)
            make_policy(policy, capacity, Trace());
        for (const Trace &trace : traces)
            check_objects(policy, trace);
    }
    for (size_t t = 0; t < traces.size(); t++) {
        result.accesses.push_back(traces[t].accesses());
        for (uint32_t capacity : capacities)
            result.cells.push_back({t,
                                    capacity,
                                    2 * uint64_t(capacity) <= traces[t].uniques &&
                                        20 * uint64_t(capacity) <= result.accesses[t],
                                    std::vector<uint64_t>(policies.size()),
                                    {},
                                    0});
    }
    in_parallel(result.cells.size() * policies.size(), threads, [&](size_t i) {
        Cell &cell = result.cells[i / policies.size()];
        size_t policy = i % policies.size();
        cell.hits[policy] = hits(policies[policy], cell.capacity, traces[cell.trace]);
        if (progress)
            ++*progress;
    });
    for (Cell &cell : result.cells)
        rank(cell, policies);
    for (size_t p = 0; p < policies.size(); p++)
        result.mean_ranks.push_back(mean_rank(result.cells, p));
    return result;
}

}  // namespace ds::sim
