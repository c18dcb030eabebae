// SPDX-License-Identifier: Apache-2.0
// Many runs at a time give what each gives alone.
#include <atomic>
#include <cerrno>
#include <new>
#include <vector>

#include "sim/compare.hpp"
#include "sim/parallel.hpp"
#include "sim/sweep.hpp"
#include "user_sim_run.hpp"

namespace {

using namespace simtest;

void sweeps(void **) {
    Trace trace = zipf(3000, 30'000, 0.5);
    std::vector<RunOptions> cells;
    for (const char *policy : {"default", "literal-001", "adaptive-001"})
        for (Mode mode : {Mode::optimistic, Mode::blocking})
            for (uint32_t l1 : {100u, 1000u})
                for (uint64_t batch : {0, 32}) {
                    RunOptions options;
                    options.policy = policy;
                    options.mode = mode;
                    options.l1 = l1;
                    if (batch)
                        options.set("PREFETCH_BATCH_THRESHOLD", batch);
                    cells.push_back(options);
                }
    std::atomic<uint64_t> done = 0;
    std::vector<RunResult> one = sweep(trace, cells, 1, nullptr, &done);
    assert_int_equal(done, cells.size());
    for (unsigned threads : {2u, 7u, 256u}) {
        std::vector<RunResult> others = sweep(trace, cells, threads);
        for (size_t i = 0; i < cells.size(); i++)
            assert_true(numbers(one[i]) == numbers(others[i]));
    }
    // Another seed is another run, and nothing else of a result is left out above.
    assert_true(numbers(one[0]) == numbers(run(trace, cells[0])));
    cells[0].seed = seed + 1;
    assert_true(numbers(one[0]) != numbers(run(trace, cells[0])));
}

void comparisons(void **) {
    const Trace traces[] = {zipf(200, 1900), zipf(100, 1900)};
    const uint32_t capacities[] = {16, 51, 100};
    const std::string names[] = {"fifo", "lru", "ds", "opt", "s3-fifo"};
    Comparison one = compare(traces, capacities, names, 1);
    for (unsigned threads : {2u, 3u, 64u}) {
        Comparison other = compare(traces, capacities, names, threads);
        assert_int_equal(other.cells.size(), 2 * 3);
        for (size_t i = 0; i < one.cells.size(); i++) {
            assert_true(one.cells[i].hits == other.cells[i].hits);
            assert_true(one.cells[i].ranks == other.cells[i].ranks);
        }
        assert_true(one.mean_ranks == other.mean_ranks);
    }
}

/// Each alone there may be memory for; of one that is alone it is as bad as it was.
void memory_is_short(void **) {
    auto work = [](size_t i) {
        if (i == 2)
            throw std::bad_alloc();
    };
    auto error = error_of([&] { in_parallel(4, 2, work); });
    assert_int_equal(error.code, ENOMEM);
    assert_true(error.remedy.find("--threads") != std::string::npos);
    for (unsigned count : {3u, 4u}) {
        bool thrown = false;
        try {
            in_parallel(count, 1, work);
        } catch (const std::bad_alloc &) {
            thrown = true;
        }
        assert_true(thrown);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(sweeps),
        cmocka_unit_test(comparisons),
        cmocka_unit_test(memory_is_short),
    };

    print_message("# seed %lu\n", seed);
    return cmocka_run_group_tests_name("user_sim_threads", tests, nullptr, nullptr);
}
