// SPDX-License-Identifier: Apache-2.0
// The rules of document 001 in compare(), where nothing moves, beside run(), where it takes no time
// that matters.
#include <string>
#include <utility>
#include <vector>

#include "sim/generate.hpp"
#include "sim/policy.hpp"
#include "user_sim_run.hpp"

namespace {

using namespace simtest;

/// Nobody is idle for so long, and all comes before the next use.
RunOptions at_once(const std::string &policy, uint32_t l1) {
    RunOptions options = simple();

    options.policy = policy;
    options.l1 = l1;
    options.times.latencies = {.l1 = Latency::constant(1),
                               .l2 = Latency::constant(1),
                               .l3_read = Latency::constant(1),
                               .l3_write = Latency::constant(1),
                               .expand = Latency::constant(1)};
    options.set("DEMOTE_FROM_L1_IDLE_NS", 1'000'000'000'000);
    return options;
}

/// Shorter than 100 ms in run(), where time makes a tick, too.
std::vector<std::pair<const char *, Trace>> loads() {
    std::vector<std::pair<const char *, Trace>> all;

    for (const char *kind : {"zipf", "mixture", "phases", "loop"})
        all.emplace_back(kind,
                         generate({.kind = kind, .requests = 90000, .objects = 2000, .seed = 1}));
    return all;
}

void literal_001_has_the_hits_of_a_run(void **) {
    for (const auto &[kind, trace] : loads())
        for (uint32_t threshold : {1, 2, 8, 128})
            for (uint32_t alpha : {0, 1, 4}) {
                RunOptions options = at_once("literal-001", 512);
                options.set("PROMOTE_TO_L1_THRESHOLD", threshold);
                options.set("ALPHA", alpha);
                uint64_t of_run = run(trace, options).found[1];
                uint64_t ours = hits(*make_literal_001(512, threshold, trace, alpha), trace);
                if (ours != of_run)
                    fail_msg("%s, %u, ALPHA %u: %lu hits, in a run %lu", kind, threshold, alpha,
                             ours, of_run);
            }
}

void assert_as_in_a_run(const Trace &trace, const RunOptions &options) {
    uint64_t of_run = run(trace, options).found[1];
    uint64_t ours = hits(options.policy, options.l1, trace);

    print_message("# %lu accesses, %u entries: %lu hits\n", trace.accesses(), options.l1, ours);
    assert_int_equal(ours, of_run);
}

void adaptive_001_has_the_hits_of_a_run(void **) {
    for (const auto &[kind, trace] : loads())
        for (uint32_t l1 : {256, 512, 1024})
            assert_as_in_a_run(trace, at_once("adaptive-001", l1));
}

/// Its trials forget nobody, though most of what they have seen is idle for longer than 1 ms.
void nobody_is_idle_in_trials(void **) {
    RunOptions options = at_once("adaptive-001", 8192);

    options.rate = 10;
    assert_as_in_a_run(
        generate({.kind = "mixture", .requests = 900000, .objects = 5000, .scans = 0.5, .seed = 1}),
        options);
}

/// Each object is used twice, with 300 others between: who stays until then must not be chance.
void recency_decides(void **) {
    std::vector<uint32_t> ids;

    for (uint32_t i = 150; i < 40000; i++) {
        ids.push_back(i);
        ids.push_back(i - 150);
    }
    Trace trace = trace_of(ids);
    uint64_t most = hits("lru", 512, trace),
             without = hits(*make_literal_001(512, 1, trace, 0), trace);
    uint64_t ours = hits("literal-001:1", 512, trace), adapted = hits("adaptive-001", 512, trace);
    print_message("# hits %lu, adaptive-001 %lu, with ALPHA 0 %lu, LRU %lu\n", ours, adapted,
                  without, most);
    assert_true(100 * ours >= 98 * most);
    assert_true(100 * adapted >= 98 * most);
    assert_true(100 * without <= 90 * most);
}

}  // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(literal_001_has_the_hits_of_a_run),
        cmocka_unit_test(adaptive_001_has_the_hits_of_a_run),
        cmocka_unit_test(nobody_is_idle_in_trials),
        cmocka_unit_test(recency_decides),
    };

    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
