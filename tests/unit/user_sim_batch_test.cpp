// SPDX-License-Identifier: Apache-2.0
// Runs in which misses are fetched together.
#include <vector>

#include "sim/engine.hpp"
#include "user_sim_run.hpp"

namespace {

using namespace simtest;

void a_batch_needs_few_operations(void **) {
    // Neighbours are asked for one after the other.
    std::vector<uint32_t> ids;
    Random random(seed);
    for (uint32_t burst = 0; burst < 5000; burst++)
        for (uint32_t i = 0, first = uint32_t(random.below(100'000, 1, burst)); i < 16; i++)
            ids.push_back(first + i);
    Trace trace = trace_of(ids);
    for (Mode mode : {Mode::optimistic, Mode::blocking})
        for (uint32_t pages : {0, 64, 256}) {
            RunOptions options;
            options.mode = mode;
            options.l1 = 512;
            options.l2 = pages;
            options.set("L2_PAGE_PREFETCH_SIZE", 0);
            options.set("PREFETCH_BATCH_THRESHOLD", 1);
            RunResult one = run(trace, options);
            options.set("PREFETCH_BATCH_THRESHOLD", 64);
            options.set("PREFETCH_TIMER_NS", 100'000);
            RunResult batched = run(trace, options);
            for (const RunResult *r : {&one, &batched})
                assert_conserved(trace, *r);
            uint64_t alone = one.pcie.operations + one.cxl.operations;
            uint64_t together = batched.pcie.operations + batched.cxl.operations;
            print_message(
                "# DMA operations, %u pages of L2: %lu one by one, %lu in "
                "batches of 64\n",
                pages, alone, together);
            assert_true(alone >= 8 * together);
            assert_true(batched.times.p50() <= 10'000);
            // What neighbours drive out goes together, too.
            options.parameters.erase("L2_PAGE_PREFETCH_SIZE");
            options.parameters.erase("PREFETCH_TIMER_NS");
            batched = run(trace, options);
            assert_conserved(trace, batched);
            assert_true(batched.prefetched_used > 1000);
            together = batched.pcie.operations + batched.cxl.operations;
            print_message("# with neighbours %lu\n", together);
            assert_true(alone >= 8 * together);
        }
}

// 8 is at hand when it is asked for, as a neighbour of 7. A write to it goes home nevertheless,
// from where it is copied again for L1.
void what_is_at_hand_is_written_through(void **) {
    RunOptions options = simple();
    options.set("PREFETCH_BATCH_THRESHOLD", 1);
    RunResult read = run(script({{7, 'r'}, {6, 'f'}, {8, 'r'}}), options);
    RunResult written = run(script({{7, 'r'}, {6, 'f'}, {8, 'w'}}), options);
    assert_int_equal(read.prefetched_used, 1);
    assert_int_equal(read.pcie.operations, 1);
    assert_int_equal(written.prefetched_used, 1);
    assert_int_equal(written.copied_again, 1);
    assert_int_equal(written.pcie.operations, 3);
}

void a_batch_does_not_wait_for_ever(void **) {
    RunOptions options = simple();
    options.set("PREFETCH_BATCH_THRESHOLD", 64);
    // Alone: fetched when the timer ends, 5000 ns, and there 501 ns later.
    RunResult r = run(trace_of({0}), options);
    assert_int_equal(r.times.max(), 5000 + 501 + 5);
    assert_int_equal(r.waits, 1);
    assert_int_equal(r.moved[1], 1);
    // Two that are asked for in time come together; neighbours are there for who
    // asks later.
    options.set("PREFETCH_TIMER_NS", 1500);
    Trace trace = trace_of({7, 8, 7, 0, 1, 2, 3, 9, 9});
    r = run(trace, options);
    assert_conserved(trace, r);
    assert_true(r.prefetched_used >= 1);
    options.set("L2_PAGE_PREFETCH_SIZE", 0);
    assert_int_equal(run(trace, options).prefetched, 0);
}

// Who waits when its object ends came before that: it is served then, where the object is, and
// makes no new one. Whoever comes afterwards waits for itself.
void who_waits_for_what_ends_is_served(void **) {
    RunOptions options = simple();
    options.set("PREFETCH_BATCH_THRESHOLD", 64);
    options.set("L2_PAGE_PREFETCH_SIZE", 0);
    for (Mode mode : {Mode::optimistic, Mode::blocking}) {
        options.mode = mode;
        // Both at 2000, one after the other on the link: 501 and 302 ns.
        RunResult r = run(script({{0, 'r'}, {0, 'w'}, {0, 'f'}}), options);
        assert_int_equal(r.times.max(), 2000 + 501);
        assert_int_equal(r.times.min(), 1000 + 302);
        assert_int_equal(r.waits, 2);
        assert_int_equal(r.found[3], 2);
        assert_int_equal(r.pcie.operations, 2);
        assert_int_equal(r.moved[1], 0);
        assert_int_equal(r.virtual_ns, 2501);
        // The timer of the one that ended is that of the other, too, which was asked for at 1000.
        options.rate = 2;
        for (auto other : {std::pair(1u, 'r'), {0u, 'r'}}) {
            r = run(script({{0, 'r'}, {0, 'f'}, other}), options);
            assert_int_equal(r.times.min(), 500 + 501);
            assert_int_equal(r.times.max(), 4000 + 501 + 5);
            assert_int_equal(r.waits, 2);
            assert_int_equal(r.moved[1], 1);
        }
        options.rate = 1;
    }
}

// Wherever those who wait for one object are served in the end: who came first is the first on the
// link. The batch begins at 5000, and has it for 1 ns; each of the others as long.
void who_came_first_is_served_first(void **) {
    RunOptions options = simple();
    options.policy = "literal-001";
    options.set("PREFETCH_BATCH_THRESHOLD", 64);
    options.set("L2_PAGE_PREFETCH_SIZE", 0);
    options.set("PROMOTE_TO_L1_THRESHOLD", 255);
    // It stays at home, where they write.
    RunResult r = run(script({{0, 'w'}, {0, 'w'}, {0, 'w'}}), options);
    assert_int_equal(r.moved[1] + r.moved[2], 0);
    assert_int_equal(r.times.max(), 5000 + 302);
    assert_int_equal(r.times.min(), 5000 + 304 - 2000);
    // It comes to L2, and they are served there.
    options.l2 = 1;
    options.set("PROMOTE_TO_L2_THRESHOLD", 1);
    r = run(script({{0, 'r'}, {0, 'r'}, {0, 'r'}}), options);
    assert_int_equal(r.moved[2], 1);
    assert_int_equal(r.times.max(), 5501 + 101);
    assert_int_equal(r.times.min(), 5501 + 103 - 2000);
}

// A use of each object waits when it ends, again and again, with the same indices.
void lives_that_end_in_a_batch(void **) {
    Trace trace;
    trace.uniques = 5;
    for (uint32_t i = 0; i < 7 * 9000; i++)
        trace.requests.emplace_back(i / 7 % 5, i % 7 == 6   ? Operation::free
                                               : i % 3 == 0 ? Operation::write
                                                            : Operation::read);
    RunOptions options = simple();
    options.rate = 10;
    options.set("PREFETCH_BATCH_THRESHOLD", 64);
    for (Mode mode : {Mode::optimistic, Mode::blocking})
        for (uint32_t pages : {0, 2}) {
            options.mode = mode;
            options.l2 = pages;
            RunResult r = run(trace, options);
            assert_conserved(trace, r);
            // It lives for 600 ns, and a batch begins each 5000.
            assert_true(r.times.max() < 600 + 501 + 20);
            assert_true(r.waits > r.accesses * 3 / 4);
        }
}

// ---- What the policy is told

// Of one miss at a time it hears the same as if each were fetched by itself: so the same tokens
// are in each tier, if none leaves because time has passed.
void a_batch_of_one_is_as_any_miss(void **) {
    for (auto [policy, pages] : {std::pair("default", 0), {"literal-001", 0}, {"literal-001", 1}})
        for (Mode mode : {Mode::optimistic, Mode::blocking})
            for (double writes : {0.0, 0.5}) {
                Trace trace = zipf(1500, 30'000, writes);
                RunOptions options = simple();
                options.policy = policy;
                options.mode = mode;
                options.l1 = 64;
                options.l2 = pages;
                options.rate = 0.1;
                if (options.policy == "literal-001") {
                    options.set("PROMOTE_TO_L1_THRESHOLD", 3);
                    options.set("DEMOTE_FROM_L1_IDLE_NS", 1'000'000'000'000);
                }
                if (options.policy == "literal-001" && pages) {
                    options.set("PROMOTE_TO_L2_THRESHOLD", 2);
                    options.set("DEMOTE_FROM_L2_IDLE_NS", 1'000'000'000'000);
                }
                RunResult alone = run(trace, options);
                options.set("PREFETCH_BATCH_THRESHOLD", 64);
                for (uint64_t neighbours : {0, 256}) {
                    options.set("L2_PAGE_PREFETCH_SIZE", neighbours);
                    RunResult batched = run(trace, options);
                    assert_conserved(trace, batched);
                    assert_true(batched.found == alone.found);
                    assert_true(batched.moved == alone.moved);
                }
            }
}

// None of a loop that is longer than L1 is used again while it is there, be it asked for twice at a
// time: only a threshold above that of each new token keeps a part of it.
void who_waits_is_no_hit(void **) {
    for (Mode mode : {Mode::optimistic, Mode::blocking})
        for (uint32_t times : {1, 2})
            for (uint32_t writes : {0, 100})
                for (uint64_t neighbours : {0, 256}) {
                    std::vector<uint32_t> ids;
                    for (uint32_t i = 0; i < 120'000; i++)
                        ids.push_back(i / times % 600);
                    RunOptions options;
                    options.policy = "adaptive-001";
                    options.mode = mode;
                    options.writes = writes;
                    options.l1 = 256;
                    options.l2 = 0;
                    options.set("PREFETCH_BATCH_THRESHOLD", 64);
                    options.set("L2_PAGE_PREFETCH_SIZE", neighbours);
                    Trace trace = trace_of(ids);
                    RunResult r = run(trace, options);
                    assert_conserved(trace, r);
                    assert_true(r.threshold_changes > 0);
                    assert_true(r.found[1] > r.accesses / 4);
                }
}

// Whoever joins it is a miss, too, and one only.
void who_joins_a_miss_counts_once(void **) {
    for (uint32_t writes : {0, 100})
        for (uint32_t threshold : {1, 2, 3, 4})
            for (uint32_t uses : {1, 2, 3, 4}) {
                RunOptions options = simple();
                options.policy = "literal-001";
                options.writes = writes;
                options.set("PREFETCH_BATCH_THRESHOLD", 64);
                options.set("PROMOTE_TO_L1_THRESHOLD", threshold);
                Trace trace = trace_of(std::vector<uint32_t>(uses));
                RunResult r = run(trace, options);
                assert_conserved(trace, r);
                assert_int_equal(r.found[3], uses);
                assert_int_equal(r.waits, uses);
                assert_int_equal(r.moved[1], uses >= threshold);
            }
}

// What leaves L1 differs from its home if it was written to there, else not.
void what_waits_is_written(void **) {
    std::vector<uint32_t> ids;
    for (uint32_t i = 0; i < 20'000; i++)
        ids.push_back(i % 1000);
    for (Mode mode : {Mode::optimistic, Mode::blocking})
        for (uint32_t writes : {0, 100}) {
            RunOptions options = simple();
            options.mode = mode;
            options.writes = writes;
            options.l1 = 256;
            options.rate = 10;
            options.set("PREFETCH_BATCH_THRESHOLD", 64);
            options.set("L2_PAGE_PREFETCH_SIZE", 0);
            RunResult r = run(trace_of(ids), options);
            assert_true(r.moved[3] > 15'000);
            assert_int_equal(r.copies - r.copied_again, writes ? r.moved[3] : 0);
        }
}

// Objects end while their tokens are at hand, and wait for others to be moved.
void lives_that_end_at_hand(void **) {
    Trace trace;
    Random random(seed);
    trace.uniques = 400;
    for (uint32_t burst = 0; burst < 4000; burst++)
        for (uint32_t i = 0, first = uint32_t(random.below(380, 1, burst)); i < 20; i++) {
            trace.requests.emplace_back(first + i, i % 3 ? Operation::read : Operation::write);
            if (random.below(4, 2, burst * 20 + i) == 0)
                trace.requests.emplace_back(first + i / 2, Operation::free);
        }
    for (Mode mode : {Mode::optimistic, Mode::blocking})
        for (uint64_t batch : {1, 8, 64})
            for (uint64_t timer : {0, 5000, 100'000}) {
                RunOptions options = simple();
                options.mode = mode;
                options.l1 = 32;
                options.l2 = 1;
                options.rate = 10;
                options.set("PREFETCH_BATCH_THRESHOLD", batch);
                options.set("PREFETCH_TIMER_NS", timer);
                RunResult r = run(trace, options);
                assert_conserved(trace, r);
                assert_true(r.prefetched_used > 1000);
            }
}

// ---- A queue that is full

RunOptions with_queue(uint64_t queue, uint64_t drop) {
    RunOptions options = simple();
    options.set("PREFETCH_BATCH_THRESHOLD", 64);
    options.set("L2_PAGE_PREFETCH_SIZE", 0);
    options.set("PREFETCH_QUEUE", queue);
    options.set("PREFETCH_DROP", drop);
    return options;
}

// 40 objects at once, over a link on which 16 bytes take 16 us. A batch begins
// when the queue is full; while it is under way the queue is filled again, and
// whoever comes then is read by itself.
void a_full_queue_is_passed_by(void **) {
    struct Case {
        uint64_t queue, waits, alone, batches;
    };
    std::vector<uint32_t> ids;
    for (uint32_t i = 0; i < 40; i++)
        ids.push_back(i);
    for (auto [queue, waits, alone, batches] :
         {Case{8, 16, 24, 2}, {16, 32, 8, 2}, {20, 40, 0, 2}, {40, 40, 0, 1}, {41, 40, 0, 1}})
        for (uint64_t drop : {0, 1}) {
            RunOptions options = with_queue(queue, drop);
            options.l1 = 160;  // all may be on their way
            options.rate = 1000;
            options.times.pcie_bytes_per_ns = 0.001;
            RunResult r = run(trace_of(ids), options);
            assert_conserved(trace_of(ids), r);
            assert_int_equal(r.waits, waits);
            assert_int_equal(r.pcie.operations, alone + batches);
            assert_int_equal(r.pcie.bytes, 40 * 16);
            assert_int_equal(r.moved[1], waits);
            assert_int_equal(r.dma_busy > 0, batches > 1);
        }
}

// With few that wait it is full, and so due.
void a_small_queue_is_due_sooner(void **) {
    Trace trace = zipf(5000, 50'000, 0.5);
    for (Mode mode : {Mode::optimistic, Mode::blocking}) {
        std::vector<RunResult> results;
        for (uint64_t queue : {8, 1024}) {
            RunOptions options;
            options.mode = mode;
            options.l1 = 100;
            options.rate = 100;
            options.set("PREFETCH_BATCH_THRESHOLD", 64);
            options.set("PREFETCH_QUEUE", queue);
            results.push_back(run(trace, options));
            assert_conserved(trace, results.back());
        }
        // With each batch come as many neighbours.
        assert_true(results[0].prefetched > 4 * results[1].prefetched);
        assert_true(results[0].waits < results[1].waits);
    }
}

// No request of a run waits for room, so it is all the same to them whether it
// is promised.
void who_has_no_room_is_told_or_dropped(void **) {
    Trace trace = trace_of(std::vector<uint32_t>(1));
    for (uint64_t queue : {1, 8, 64})
        for (uint64_t drop : {0, 1}) {
            RunOptions options = with_queue(queue, drop);
            Engine engine(trace, options, nullptr);
            Batch batch(engine, options);
            for (uint32_t token = 1; token <= 100; token++)
                assert_int_equal(batch.add({.start = 0, .object = 0, .write = false}, token, 0),
                                 token <= queue);
            assert_int_equal(batch.stats().queued, queue);
            assert_int_equal(batch.stats().refused, drop ? 0 : 100 - queue);
            assert_int_equal(batch.stats().dropped, drop ? 100 - queue : 0);
        }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_needs_few_operations),
        cmocka_unit_test(what_is_at_hand_is_written_through),
        cmocka_unit_test(a_batch_does_not_wait_for_ever),
        cmocka_unit_test(who_waits_for_what_ends_is_served),
        cmocka_unit_test(who_came_first_is_served_first),
        cmocka_unit_test(lives_that_end_in_a_batch),
        cmocka_unit_test(a_batch_of_one_is_as_any_miss),
        cmocka_unit_test(who_waits_is_no_hit),
        cmocka_unit_test(who_joins_a_miss_counts_once),
        cmocka_unit_test(what_waits_is_written),
        cmocka_unit_test(lives_that_end_at_hand),
        cmocka_unit_test(a_full_queue_is_passed_by),
        cmocka_unit_test(a_small_queue_is_due_sooner),
        cmocka_unit_test(who_has_no_room_is_told_or_dropped),
    };

    print_message("# seed %lu\n", seed);
    return cmocka_run_group_tests_name("user_sim_batch", tests, nullptr, nullptr);
}
