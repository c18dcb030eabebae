// SPDX-License-Identifier: Apache-2.0
// What leaves a tier because it was not used, which time decides and not the number of uses.
#include "user_sim_run.hpp"

namespace {

using namespace simtest;

constexpr uint64_t ms = 1'000'000, s = 1000 * ms;

RunOptions idle_after(uint64_t l1_ns, uint64_t l2_ns) {
    RunOptions options;
    options.policy = "literal-001";
    options.l1 = 2048;
    options.l2 = 4;
    options.seed = seed;
    options.trace_times = true;
    options.set("PROMOTE_TO_L1_THRESHOLD", 1);
    options.set("PROMOTE_TO_L2_THRESHOLD", 1);
    options.set("DEMOTE_FROM_L1_IDLE_NS", l1_ns);
    options.set("DEMOTE_FROM_L2_IDLE_NS", l2_ns);
    return options;
}

/// 1000 objects, each used five times, and once again behind a gap. Before that, others are used
/// once each and end.
Trace used_and_used_again(uint64_t gap_ns, uint32_t others = 0) {
    Trace trace;
    uint64_t now = 0;

    trace.uniques = 1000 + others;
    for (Operation op : {Operation::read, Operation::free})
        for (uint32_t i = 0; i < others; i++) {
            trace.requests.emplace_back(1000 + i, op);
            trace.time_ns.push_back(now += 10);
        }
    for (uint32_t i = 0; i < 6000; i++) {
        trace.requests.emplace_back(i % 1000, Operation::read);
        now += i == 5000 ? gap_ns : 1000;
        trace.time_ns.push_back(now);
    }
    return trace;
}

/// How many were sent to L2 in a gap.
uint64_t demoted_in(uint64_t gap_ns, const RunOptions &options, uint32_t others = 0) {
    Trace trace = used_and_used_again(gap_ns, others);

    assert_conserved(trace, run(trace, options));
    return events_of(trace, options)["demote to 2"];
}

/// The same, when they leave after some time.
uint64_t demoted_in(uint64_t gap_ns, uint64_t idle_ns) {
    return demoted_in(gap_ns, idle_after(idle_ns, idle_ns));
}

// The module's ticks come ten times a second, and each sends 64 away. A use says when the tick
// before it was.
void who_is_idle_leaves_while_nothing_is_used(void **) {
    assert_int_equal(demoted_in(50 * ms, 100 * ms), 0);
    // In four ticks at most, and then with each 64th use.
    assert_in_range(demoted_in(550 * ms, 100 * ms), 2 * 64, 4 * 64 + 1000 / 64 + 1);
    assert_int_equal(demoted_in(10 * s, 100 * ms), 1000);
    for (uint64_t idle : {s, 10 * s, 600 * s, 900 * s, 1000 * s}) {
        assert_int_equal(demoted_in(idle - 50 * ms, idle), 0);
        assert_int_equal(demoted_in(idle * 7 / 4 + 2 * s, idle), 1000);
        assert_int_equal(demoted_in(10 * idle, idle), 1000);
    }
    // What was found in L1 before is not there any more.
    RunOptions options = idle_after(100 * ms, 100 * ms);
    RunResult near = run(used_and_used_again(50 * ms), options);
    RunResult far = run(used_and_used_again(10 * s), options);
    assert_true(near.found[1] >= far.found[1] + 950);
}

// That one would leave L2 sooner, or later, makes no difference.
void each_tier_has_its_own_time(void **) {
    for (uint64_t l2 : {10 * ms, s, 1000 * s}) {
        assert_int_equal(demoted_in(10 * s - 50 * ms, idle_after(10 * s, l2)), 0);
        assert_int_equal(demoted_in(20 * s, idle_after(10 * s, l2)), 1000);
        assert_int_equal(demoted_in(10 * s, idle_after(ms, l2)), 1000);
    }
}

// The module looks at 4096 slots in a tick. So it comes round in 2.5 s here, and in 9.8 s.
void it_takes_time_to_look_at_many_slots(void **) {
    for (auto [entries, round] : {std::pair(100'000u, 3 * s), std::pair(400'000u, 10 * s)})
        for (uint64_t idle : {s, 100 * s}) {
            RunOptions options = idle_after(idle, idle);
            options.l1 = entries;
            assert_int_equal(demoted_in(round / 3, options, entries - 1000), 0);
            assert_int_equal(demoted_in(idle * 5 / 4 + round + 2 * s, options, entries - 1000),
                             1000);
        }
}

// In 1.6 s they leave, 64 in a tick; nobody looks for more of them in all of L1.
void slots_that_nobody_had_take_no_time(void **) {
    for (uint64_t idle : {ms, s, 100 * s}) {
        RunOptions options = idle_after(idle, idle);
        options.l1 = 400'000;
        options.l2 = 2048;
        assert_int_equal(demoted_in(idle * 5 / 4 + 3 * s, options), 1000);
    }
}

// Gaps of months take no ticks without end.
void a_long_gap_takes_no_time(void **) {
    assert_int_equal(demoted_in(150 * 24 * 3600 * s, s), 1000);
    assert_int_equal(demoted_in(150 * 24 * 3600 * s, 600 * s), 1000);
}

// All of L1 leaves for 1000 ns, in which other objects are used. Its slots are no longer in use
// then: as many objects that come later have room, and drive nobody out.
void who_leaves_has_his_slot_until_then(void **) {
    RunOptions options = simple();
    options.policy = "literal-001";
    options.l2 = 1;
    options.trace_times = true;
    options.times.latencies.l2 = Latency::constant(1000);
    options.set("PROMOTE_TO_L1_THRESHOLD", 1);
    options.set("DEMOTE_FROM_L1_IDLE_NS", ms);
    Trace trace;
    trace.uniques = 48;
    auto use = [&](uint32_t first, uint64_t from_ns, uint64_t gap_ns) {
        for (uint32_t i = 0; i < options.l1; i++) {
            trace.requests.emplace_back(first + i, Operation::read);
            trace.time_ns.push_back(from_ns + i * gap_ns);
        }
    };
    use(0, 0, 1000);
    use(16, 200 * ms + 100, 10);  // since the second tick the others leave
    use(32, 210 * ms, 10'000);
    use(32, 211 * ms, 10'000);

    RunResult r = run(trace, options);
    auto counts = events_of(trace, options);
    assert_conserved(trace, r);
    assert_int_equal(counts["demote to 2"], 16);
    assert_int_equal(counts["promote to 1"], 32);
    assert_int_equal(counts["evict"], 0);
    assert_int_equal(r.found[1], 16);
}

// Ticks come with each 64th access, and each 100 ms: at odd distances, by which no use is
// forgotten.
void who_is_used_in_time_stays(void **) {
    RunOptions options = idle_after(s, s);

    options.trace_times = false;
    options.rate = 0.001;
    for (uint32_t objects : {12, 48, 60}) {
        std::vector<uint32_t> ids;
        for (uint32_t i = 0; i < 10'000; i++)
            ids.push_back(i % objects);
        options.set("DEMOTE_FROM_L1_IDLE_NS", objects * ms + 3 * ms);
        auto counts = events_of(trace_of(ids), options);
        assert_int_equal(counts["promote to 1"], objects);
        assert_int_equal(counts["demote to 2"], 0);
    }
}

// Nor does a time without any use before theirs keep those that are idle then.
void quiet_before_the_uses_changes_nothing(void **) {
    for (uint64_t quiet : {0 * s, 200 * s, 600 * s}) {
        Trace trace = used_and_used_again(3000 * s);
        trace.requests.insert(trace.requests.begin(), {0, Operation::create});
        trace.time_ns.insert(trace.time_ns.begin(), 0);
        for (size_t i = 1; i < trace.time_ns.size(); i++)
            trace.time_ns[i] += quiet;
        assert_int_equal(events_of(trace, idle_after(1000 * s, 1000 * s))["demote to 2"], 1000);
    }
}

// It makes room for one that was idle in L1, and was not too long in L2.
void who_makes_room_is_no_idler(void **) {
    RunOptions options = idle_after(20'000, 1000 * s);
    options.l1 = 64;
    options.l2 = 1;
    options.trace_times = false;
    options.set("PROMOTE_TO_L1_THRESHOLD", 4);
    options.set("PROMOTE_TO_L2_THRESHOLD", 2);
    auto counts = events_of(zipf(3000, 20'000), options);
    assert_true(counts["demote to 2"] > 100);
    assert_true(counts["evict to 3"] > 100);
    assert_int_equal(counts["demote to 3"], 0);
}

// Without L2 there is no tier for what may not be in L1: it is read at home, in batches or not.
void who_cannot_rise_is_not_fetched(void **) {
    RunOptions options = simple();
    Trace trace = zipf(1000, 5000);
    options.rate = 0.5;
    options.l1 = 2000;
    for (const char *classes : {"qp:100", "index:100", "history:100"}) {
        options.classes = ClassShares::parse(classes);
        options.parameters.clear();
        RunResult alone = run(trace, options);
        options.set("PREFETCH_BATCH_THRESHOLD", 4);
        RunResult batched = run(trace, options);
        assert_true(batched.times.min() >= 500);
        assert_int_equal(batched.prefetched, 0);
        assert_int_equal(alone.pcie.operations, batched.pcie.operations);
    }
    // Nor are they fetched as neighbours.
    options.classes = ClassShares::parse("token:50,history:50");
    options.set("L2_PAGE_PREFETCH_SIZE", 64);
    options.set("PREFETCH_BATCH_THRESHOLD", 1);
    RunResult r = run(generate({.kind = "scan", .requests = 20'000, .objects = 20'000}), options);
    assert_true(r.prefetched > 1000);
    assert_true(10 * r.prefetched_used >= 9 * r.prefetched);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(who_is_idle_leaves_while_nothing_is_used),
        cmocka_unit_test(each_tier_has_its_own_time),
        cmocka_unit_test(it_takes_time_to_look_at_many_slots),
        cmocka_unit_test(slots_that_nobody_had_take_no_time),
        cmocka_unit_test(a_long_gap_takes_no_time),
        cmocka_unit_test(who_leaves_has_his_slot_until_then),
        cmocka_unit_test(who_is_used_in_time_stays),
        cmocka_unit_test(quiet_before_the_uses_changes_nothing),
        cmocka_unit_test(who_makes_room_is_no_idler),
        cmocka_unit_test(who_cannot_rise_is_not_fetched),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
