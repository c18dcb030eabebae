// SPDX-License-Identifier: Apache-2.0
// For tests of runs of the token cache in virtual time.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "sim/generate.hpp"
#include "sim/run.hpp"
#include "user_sim.hpp"

namespace simtest {

constexpr uint64_t seed = 1;

/// Requests of objects by number; w makes it a write, c a creation, f an end.
inline Trace script(std::initializer_list<std::pair<uint32_t, char>> requests) {
    Trace trace;
    for (auto [id, what] : requests) {
        Operation op = what == 'w'   ? Operation::write
                       : what == 'c' ? Operation::create
                       : what == 'f' ? Operation::free
                                     : Operation::read;
        trace.requests.emplace_back(id, op);
        trace.uniques = std::max(trace.uniques, id + 1);
    }
    return trace;
}

/// Times that can be added by hand: 16 bytes take a ns on either link.
inline RunOptions simple() {
    RunOptions options;
    options.l1 = 16;
    options.l2 = 0;
    options.rate = 1;
    options.seed = seed;
    options.times.latencies = {.l1 = Latency::constant(5),
                               .l2 = Latency::constant(100),
                               .l3_read = Latency::constant(500),
                               .l3_write = Latency::constant(300),
                               .expand = Latency::constant(1000)};
    options.times.cxl_bytes_per_ns = options.times.pcie_bytes_per_ns = 16;
    return options;
}

inline Trace zipf(uint32_t objects, uint64_t requests, double writes = 0) {
    return generate({.requests = requests, .objects = objects, .writes = writes, .seed = seed});
}

/// All of a result, so that two are the same if and only if these are.
inline std::vector<uint64_t> numbers(const RunResult &r) {
    std::vector<uint64_t> all{r.accesses,
                              r.waits,
                              r.copies,
                              r.copied_again,
                              r.aborts,
                              r.cancels,
                              r.prefetched,
                              r.prefetched_used,
                              r.cxl.operations,
                              r.cxl.bytes,
                              r.pcie.operations,
                              r.pcie.bytes,
                              r.threshold_changes,
                              r.virtual_ns,
                              r.expands,
                              r.expands_refused,
                              r.expands_expired,
                              r.prestaged,
                              r.dma_busy,
                              r.times.count(),
                              r.times.min(),
                              r.times.max(),
                              r.move_times.count(),
                              r.move_times.min(),
                              r.move_times.max()};
    all.insert(all.end(), r.found.begin(), r.found.end());
    all.insert(all.end(), r.moved.begin(), r.moved.end());
    for (uint32_t q = 0; q <= 100'000; q += 500)
        all.push_back(r.times.at(q));
    return all;
}

/// Events of a run: how many of each kind, of moves also by the tier to which, and when the last
/// one was.
inline std::map<std::string, uint64_t> events_of(const Trace &trace, const RunOptions &options) {
    std::map<std::string, uint64_t> counts;
    std::string text;
    EventLog log(to(text));
    run(trace, options, &log);
    log.finish();
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        char event[20], to = 0;
        assert_int_equal(
            sscanf(line.c_str(), "{\"t_ns\":%lu,\"event\":\"%19[a-z]\"", &counts["last"], event),
            2);
        counts[event]++;
        if (size_t at = line.find("\"to\":"); at != line.npos)
            to = line[at + 5];
        if (to && !has("expand abort expire cancel free threshold", event)) {
            counts[std::string("to ") + to]++;
            counts[std::string(event) + " to " + to]++;
        }
    }
    return counts;
}

/// What is true of each run.
inline void assert_conserved(const Trace &trace, const RunResult &r) {
    assert_int_equal(r.accesses, trace.accesses());
    assert_int_equal(r.found[1] + r.found[2] + r.found[3], r.accesses);
    assert_int_equal(r.times.count(), r.accesses);
    std::array<uint64_t, 4> found{};
    for (const Kind &kind : r.kinds)
        std::ranges::transform(found, kind.found, found.begin(), std::plus());
    assert_true(r.kinds.empty() || found == r.found);
}

}  // namespace simtest
