// SPDX-License-Identifier: Apache-2.0
// Runs of the token cache in virtual time.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sim/compare.hpp"
#include "sim/generate.hpp"
#include "sim/policy.hpp"
#include "sim/sweep.hpp"
#include "user_sim_run.hpp"

namespace {

using namespace simtest;

// ---- What cannot be run

void bad_options(void **) {
    const Trace trace = trace_of({0, 1});
    const std::pair<const char *, std::function<void(RunOptions &)>> bad[] = {
        {"policy", [](RunOptions &o) { o.policy = "lru"; }},
        {"policy", [](RunOptions &o) { o.policy = ""; }},
        {"L1", [](RunOptions &o) { o.l1 = 0; }},
        {"L1", [](RunOptions &o) { o.l1 = 15; }},
        {"L1", [](RunOptions &o) { o.l1 = 0x1fffff; }},
        {"L1", [](RunOptions &o) { o.l1 = UINT32_MAX; }},
        {"writes", [](RunOptions &o) { o.writes = 101; }},
        {"rate", [](RunOptions &o) { o.rate = 0; }},
        {"rate", [](RunOptions &o) { o.rate = -1; }},
        {"rate", [](RunOptions &o) { o.rate = 1e9; }},
        {"rate", [](RunOptions &o) { o.rate = std::numeric_limits<double>::quiet_NaN(); }},
        {"under way", [](RunOptions &o) { o.outstanding = 0; }},
        {"under way", [](RunOptions &o) { o.outstanding = 65537; }},
        {"CXL", [](RunOptions &o) { o.times.cxl_bytes_per_ns = 0; }},
        {"PCIe", [](RunOptions &o) { o.times.pcie_bytes_per_ns = -16; }},
        {"AGING_INTERVAL", [](RunOptions &o) { o.set("AGING_INTERVAL", 100); }},
        {"MAX_BATCH", [](RunOptions &o) { o.set("MAX_BATCH", 100); }},
        {"A batch of 8 cannot be fetched together: MAX_BATCH is 7.",
         [](RunOptions &o) { o.set("MAX_BATCH", 7), o.set("PREFETCH_BATCH_THRESHOLD", 8); }},
    };

    for (const auto &[said, make] : bad) {
        RunOptions options;
        make(options);
        auto error = error_of([&] { run(trace, options); });
        assert_int_equal(error.code, EINVAL);
        if (!has(error.sentence, said))
            fail_msg("'%s' does not say %s", error.sentence.c_str(), said);
        assert_false(error.remedy.empty());
        // Nothing is run if one of them is wrong.
        std::atomic<uint64_t> done = 0;
        const RunOptions cells[] = {RunOptions(), options};
        error_of([&] { sweep(trace, cells, 2, nullptr, &done); });
        assert_int_equal(done, 0);
    }
}

void bad_parameters(void **) {
    RunOptions options;

    for (const char *name : {"", "aging_interval", "AGING", "L1_CAPACITY ", "FROB"})
        assert_true(has(error_of([&] { options.set(name, 100); }).remedy, "AGING_INTERVAL"));
    for (auto [name, value] : {std::pair<const char *, uint64_t>{"L1_CAPACITY", 15},
                               {"L1_CAPACITY", UINT64_MAX},
                               {"PROMOTE_TO_L1_THRESHOLD", 0},
                               {"PROMOTE_TO_L1_THRESHOLD", 256},
                               {"DEMOTE_FROM_L1_IDLE_NS", 1023},
                               {"AGING_INTERVAL", 0},
                               {"PREFETCH_BATCH_THRESHOLD", 0},
                               {"MAX_BATCH", 0},
                               {"L2_PAGE_PREFETCH_SIZE", uint64_t(1) << 40}})
        assert_int_equal(error_of([&] { options.set(name, value); }).code, EINVAL);
    assert_true(options.parameters.empty());
    assert_int_equal(options.l1, RunOptions().l1);
}

void too_many_objects(void **) {
    Trace trace;
    trace.uniques = (1u << 22) + 1;
    assert_true(has(error_of([&] { run(trace, {}); }).sentence, "no indices"));

    // The trace is wrong for a policy, which is said before anything runs.
    const std::vector<Trace> traces = {Trace(), trace};
    const std::vector<uint32_t> capacities = {64};
    std::atomic<uint64_t> progress = 0;
    for (const char *policy : {"ds", "default", "literal-001", "literal-001:2", "adaptive-001"}) {
        const std::vector<std::string> policies = {"lru", policy};
        assert_int_equal(error_of([&] { make_policy(policy, 64, trace); }).code, EBADMSG);
        assert_int_equal(
            error_of([&] { compare(traces, capacities, policies, 1, &progress); }).code, EBADMSG);
        assert_int_equal(progress, 0);
    }
    make_policy("lru", 64, trace);
    trace.uniques--;
    make_policy("ds", 64, trace);
}

// ---- One request after the other, by hand

void no_request_at_all(void **) {
    RunResult r = run({}, {});
    assert_int_equal(r.accesses, 0);
    assert_int_equal(r.times.max(), 0);
    assert_conserved({}, r);
}

void a_miss_and_a_move(void **) {
    // A request each 1000 ns. The first is read from L3, and the host asked for
    // it until 1000; then it is copied, until 1501. The second goes to L3, too,
    // behind the copy.
    RunResult r = run(trace_of({0, 0, 0, 0}), simple());
    assert_int_equal(r.found[3], 2);
    assert_int_equal(r.found[1], 2);
    assert_int_equal(r.times.min(), 5);
    assert_int_equal(r.times.max(), 502);
    assert_int_equal(r.times.count(), 4);
    assert_true(r.times.mean() == (501 + 502 + 5 + 5) / 4.0);
    assert_int_equal(r.moved[1], 1);
    assert_int_equal(r.copies, 1);
    assert_int_equal(r.pcie.operations, 3);
    assert_int_equal(r.pcie.bytes, 48);
    assert_int_equal(r.virtual_ns, 3005);
}

/// Also where that is no whole number of picoseconds from one to the next.
void requests_come_at_the_rate(void **) {
    const uint32_t requests = 1'000'000;
    RunOptions options = simple();

    for (double rate : {0.003, 3.0, 0.7, 10.0, 700.0, 999.5, 1000.0}) {
        options.rate = rate;
        double last = (requests - 1) * 1000 / rate;
        auto ended = double(run(trace_of(std::vector<uint32_t>(requests)), options).virtual_ns);
        assert_true(ended >= std::floor(last) && ended <= last + 2000);
    }
}

/// Sums of picoseconds have 64 bits: it ends before one is too large.
void virtual_time_ends(void **) {
    RunOptions options = simple();

    options.outstanding = 1;
    options.times.latencies.l1 = options.times.latencies.l3_read =
        Latency::constant(30ULL * 86'400 * 1'000'000'000);
    RunResult r = run(trace_of({0, 0, 0, 0, 0, 0, 0}), options);
    assert_int_equal(r.virtual_ns / 1'000'000'000 / 86'400, 7 * 30);
    auto error = error_of([&] { run(trace_of({0, 0, 0, 0, 0, 0, 0, 0}), options); });
    assert_int_equal(error.code, EOVERFLOW);
    assert_true(has(error.sentence, "200 days"));
}

/// The host answers for longer than requests take to come, and the link has nothing to do: what
/// adaptive-001 is told of that says the same of nanoseconds and of days, of which a thousand times
/// the sum is more than 64 bits hold.
void loads_of_days(void **) {
    constexpr uint64_t day = 86'400ULL * 1'000'000'000, long_ns = (1ULL << 63) / 32'000 + 1;
    uint64_t changes[2], *change = changes;

    for (auto [gap, read] : {std::pair<uint64_t, uint64_t>(1000, 3333), {day, long_ns}}) {
        Trace trace = generate({.kind = "scan", .requests = 150, .seed = seed});
        RunOptions options = simple();
        for (uint64_t request = 0; request < trace.requests.size(); request++)
            trace.time_ns.push_back(request * gap);
        options.policy = "adaptive-001";
        options.trace_times = true;
        options.times.latencies.l3_read = Latency::constant(read);
        options.times.pcie_bytes_per_ns = 10'000;
        options.set("AGING_INTERVAL", 64);
        options.set("PROMOTE_TO_L1_THRESHOLD", 64);
        *change++ = run(trace, options).threshold_changes;
    }
    assert_true(changes[0] > 0 && changes[1] == changes[0]);
}

/// As traces say that know seconds only: what comes within no time is as much as what comes within
/// the shortest, and not nothing.
void loads_within_no_time(void **) {
    uint64_t changes[2], *change = changes;

    for (uint64_t at_once : {64, 1000}) {
        Trace trace = generate({.kind = "scan", .requests = 150, .seed = seed});
        RunOptions options = simple();
        for (uint64_t request = 0; request < trace.requests.size(); request++)
            trace.time_ns.push_back(request / at_once);
        options.policy = "adaptive-001";
        options.trace_times = true;
        options.set("AGING_INTERVAL", 64);
        options.set("PROMOTE_TO_L1_THRESHOLD", 64);
        *change++ = run(trace, options).threshold_changes;
    }
    assert_true(changes[0] > 0 && changes[1] == changes[0]);
}

void blocking_waits(void **) {
    RunOptions options = simple();
    options.mode = Mode::blocking;
    RunResult r = run(trace_of({0, 0, 0, 0}), options);
    // Both wait until 1501, and are served in L1 then.
    assert_int_equal(r.waits, 2);
    assert_int_equal(r.found[3], 2);
    assert_true(r.times.mean() == (1506 + 506 + 5 + 5) / 4.0);
    assert_int_equal(r.pcie.operations, 1);
}

// Where no two requests meet, both modes do the same: who waits for its own
// move uses it once.
void blocking_counts_a_use_once(void **) {
    const Trace trace = zipf(500, 20'000, 0.5);
    RunOptions options = simple();
    options.l1 = 64;
    options.rate = 0.001;
    RunResult optimistic = run(trace, options);
    options.mode = Mode::blocking;
    RunResult blocking = run(trace, options);
    assert_true(optimistic.found[1] > 0);
    assert_int_equal(blocking.found[1], optimistic.found[1]);
    assert_int_equal(blocking.moved[1], optimistic.moved[1]);
}

void a_write_spoils_a_copy(void **) {
    RunOptions options = simple();
    options.rate = 1000 / 1200.0;
    // At 1200 it is copied since 1000: it is copied again, from 1501 to 2002, and
    // in L1 at 2400.
    RunResult r = run(script({{0, 'r'}, {0, 'w'}, {0, 'r'}}), options);
    assert_int_equal(r.copied_again, 1);
    assert_int_equal(r.copies, 2);
    assert_int_equal(r.aborts, 0);
    assert_int_equal(r.moved[1], 1);
    assert_int_equal(r.found[1], 1);
    assert_int_equal(r.times.max(), 501);

    // Nobody writes to it meanwhile if writers wait.
    options.mode = Mode::blocking;
    r = run(script({{0, 'r'}, {0, 'w'}, {0, 'r'}}), options);
    assert_int_equal(r.copied_again, 0);
    assert_int_equal(r.waits, 2);
    assert_int_equal(r.moved[1], 1);
}

void writes_without_end_abort_a_move(void **) {
    RunOptions options = simple();
    options.writes = 100;
    options.rate = 10;
    RunResult r = run(trace_of(std::vector<uint32_t>(1000)), options);
    // Only the last move, after the last write.
    assert_int_equal(r.moved[1], 1);
    assert_true(r.aborts >= 10);
    assert_in_range(r.copied_again, 7 * r.aborts, 7 * r.aborts + 7);
    assert_int_equal(r.found[3], 1000);
    assert_conserved(trace_of(std::vector<uint32_t>(1000)), r);
}

void what_is_dirty_is_written_home(void **) {
    RunOptions options = simple();
    options.rate = 0.1;
    options.outstanding = 1;
    std::vector<uint32_t> loop;
    for (uint32_t i = 0; i < 4000; i++)
        loop.push_back(i / 4 % 40);
    // Three of four accesses find it in L1 if they wait long enough for that.
    options.mode = Mode::blocking;
    RunResult clean = run(trace_of(loop), options);
    assert_true(clean.moved[3] > 500);
    assert_int_equal(clean.copies, clean.moved[1]);
    options.writes = 100;
    RunResult dirty = run(trace_of(loop), options);
    assert_int_equal(dirty.moved[3], clean.moved[3]);
    assert_int_equal(dirty.copies, dirty.moved[1] + dirty.moved[3]);
    for (const RunResult *r : {&clean, &dirty})
        assert_int_equal(r->pcie.operations, r->copies);
}

void three_tiers(void **) {
    // 40 objects in turn, 16 in L1: who leaves L1 is found in L2.
    RunOptions options = simple();
    options.l2 = 1;
    options.outstanding = 1;
    options.mode = Mode::blocking;
    std::vector<uint32_t> loop;
    for (uint32_t i = 0; i < 4000; i++)
        loop.push_back(i % 40);
    RunResult r = run(trace_of(loop), options);
    assert_conserved(trace_of(loop), r);
    assert_int_equal(r.found[3], 40);
    assert_true(r.found[2] > 1000);
    assert_int_equal(r.moved[3], 0);
    assert_true(r.moved[2] + 16 >= r.moved[1] && r.moved[2] <= r.moved[1]);
    // From L3: expand and copy, 1501 ns, behind the one that leaves. From L2: 101
    // ns.
    assert_in_range(r.times.max(), 1506, 1506);
    assert_int_equal(r.times.p50(), 101 + 101 + 5);
    assert_int_equal(r.pcie.operations, 40);
    assert_int_equal(r.cxl.operations, r.found[2] + r.moved[2]);
    options.l2 = 0;
    RunResult two = run(trace_of(loop), options);
    assert_int_equal(two.found[1], r.found[1]);
    assert_int_equal(two.found[3], r.found[2] + r.found[3]);
    assert_int_equal(two.cxl.operations, 0);
}

void one_at_a_time(void **) {
    RunOptions options = simple();
    options.policy = "literal-001";
    options.set("PROMOTE_TO_L1_THRESHOLD", 1);
    options.outstanding = 1;
    Trace trace = zipf(300, 5000);
    RunResult r = run(trace, options);
    assert_conserved(trace, r);
    // Each begins when the one before is over.
    uint64_t sum = static_cast<uint64_t>(r.times.mean() * static_cast<double>(r.accesses) + 0.5);
    assert_true(r.virtual_ns >= sum && r.virtual_ns <= sum + 3000);
    options.outstanding = 16;
    RunResult more = run(trace, options);
    assert_conserved(trace, more);
    assert_true(more.virtual_ns * 4 < r.virtual_ns);
    assert_true(more.times.mean() > r.times.mean());
}

// Where moves take as long as hundreds of uses, not all of L1 is on its way.
void slow_moves_leave_room_for_hits(void **) {
    Trace trace = zipf(3000, 200'000);
    RunOptions options;
    options.l1 = 256;
    options.l2 = 0;
    options.outstanding = 1;
    RunResult quick = run(trace, options);
    options.outstanding = 64;
    RunResult slow = run(trace, options);
    assert_conserved(trace, slow);
    print_message("# L1 hits %lu one at a time, %lu with 64\n", quick.found[1], slow.found[1]);
    assert_true(slow.found[1] * 10 > quick.found[1] * 9);
}

// Up to some thirty requests are made while a token is on its way, and yet hardly fewer are found
// in L1 than by compare(), in which tokens come at once. With moves that main made room for it was
// a twelfth fewer, from one request in a microsecond on.
void moves_under_way_cost_few_hits(void **) {
    const Trace trace = zipf(10'000, 300'000);
    RunOptions options;
    options.l1 = 1000;
    options.l2 = 0;
    const uint64_t at_once = hits("ds", options.l1, trace);

    for (double rate : {0.1, 1.0, 10.0}) {
        options.rate = rate;
        uint64_t found = run(trace, options).found[1];
        print_message("# %g in a microsecond: %lu found in L1, %lu at once\n", rate, found,
                      at_once);
        assert_true(found * 100 >= at_once * 98);
    }
}

void lives_and_ends(void **) {
    // 0 ends while it moves, and while it is copied; 1 while it is in L1, and
    // comes back.
    RunOptions options = simple();
    for (Mode mode : {Mode::optimistic, Mode::blocking}) {
        options.mode = mode;
        options.rate = 2;
        Trace trace = script({{0, 'c'}, {0, 'r'}, {0, 'f'}, {0, 'f'}, {0, 'c'}, {0, 'r'}, {0, 'r'},
                              {0, 'r'}, {0, 'f'}, {1, 'r'}, {1, 'r'}, {1, 'r'}, {1, 'r'}, {1, 'w'},
                              {1, 'f'}, {1, 'r'}, {0, 'c'}, {0, 'c'}, {1, 'f'}, {1, 'c'}});
        RunResult r = run(trace, options);
        assert_conserved(trace, r);
        assert_true(r.found[1] >= 1);
        // Thousands of lives.
        std::vector<uint32_t> ids;
        Trace many;
        many.uniques = 50;
        for (uint32_t i = 0; i < 60'000; i++)
            many.requests.emplace_back(i * 7 % 50, i % 13 == 0  ? Operation::free
                                                   : i % 3 == 0 ? Operation::write
                                                                : Operation::read);
        options.rate = 10;
        r = run(many, options);
        assert_conserved(many, r);
    }
}

// The last request may be no access: it ends when it comes.
void an_end_is_the_last_request(void **) {
    assert_int_equal(run(script({{0, 'r'}, {0, 'r'}}), simple()).virtual_ns, 1502);
    for (char what : {'c', 'f'}) {
        Trace trace = script({{0, 'r'}, {0, 'r'}, {1, 'r'}, {1, 'r'}, {1, 'r'}, {2, what}});
        assert_int_equal(run(trace, simple()).virtual_ns, 5000);
    }
}

// ---- Counts

void counts_agree(void **) {
    Trace trace = zipf(5000, 100'000, 0.3);
    for (const char *policy : {"default", "literal-001", "adaptive-001"})
        for (auto [l1, l2] : {std::pair(16u, 0u),
                              {100u, 0u},
                              {2000u, 0u},
                              {16u, 1u},
                              {100u, 3u},
                              {2000u, 16u},
                              {100u, 2048u}}) {
            RunOptions options;
            options.policy = policy;
            options.l1 = l1;
            options.l2 = l2;
            RunResult r = run(trace, options);
            assert_conserved(trace, r);
            // Each access to L2 or L3 and each copy is one operation of 16 bytes.
            assert_int_equal(r.pcie.operations + r.cxl.operations,
                             r.found[2] + r.found[3] + r.copies);
            assert_int_equal(r.pcie.bytes, 16 * r.pcie.operations);
            assert_int_equal(r.cxl.bytes, 16 * r.cxl.operations);
            assert_int_equal(r.waits, 0);
            if (!(r.found[3] >= trace.uniques && (r.found[2] > 0) == (l2 > 0)))
                fail_msg("%s, L1 %u, L2 %u: %lu, %lu", policy, l1, l2, r.found[2], r.found[3]);
            assert_true(r.moved[2] + r.moved[3] <= 2 * r.moved[1] + 2 * r.found[3]);
            if (l2 == 0) {
                assert_true(r.moved[3] <= r.moved[1] && r.moved[1] <= r.moved[3] + l1);
                assert_int_equal(r.cxl.operations + r.moved[2], 0);
            }
            if (r.moved[1] < 10)
                continue;
            options.mode = Mode::blocking;
            RunResult waiting = run(trace, options);
            assert_conserved(trace, waiting);
            assert_true(waiting.waits >= waiting.moved[1]);
            assert_int_equal(waiting.copied_again + waiting.aborts, 0);
        }
}

// Each object is used eight times, one after the other: before it is there all have waited for it.
void bursts_are_not_waited_for(void **) {
    Trace trace;
    trace.uniques = 40'000;
    for (uint32_t use = 0; use < 8 * trace.uniques; use++)
        trace.requests.emplace_back(use / 8, Operation::read);
    RunOptions options;
    options.l1 = 256;
    options.l2 = 0;
    options.mode = Mode::blocking;
    options.policy = "adaptive-001";
    uint64_t waits = run(trace, options).waits;
    options.policy = "literal-001";
    options.set("PROMOTE_TO_L1_THRESHOLD", 1);
    uint64_t all = run(trace, options).waits;
    print_message("# %lu waited, with a threshold of 1 %lu\n", waits, all);
    assert_true(all > trace.requests.size() * 9 / 10);
    assert_true(waits < all / 10);
}

// QPs post in turn, each so often in a row, and use a CQ of eight, a PD of 64, and one of four MRs.
Trace posts_in_a_row(uint32_t qps, uint32_t in_a_row, uint64_t requests) {
    Trace trace;
    std::mt19937 random;
    for (uint32_t post = 0; trace.requests.size() < requests; post++) {
        uint32_t qp = post / in_a_row % qps, mr = random() >> 30;
        for (uint32_t id : {qp, qps + qp / 8, 2 * qps + qp / 64, 3 * qps + 4 * qp + mr})
            trace.requests.emplace_back(id, Operation::read);
    }
    trace.uniques = 7 * qps;
    return trace;
}

// Before a token has come it was used some times; and with L2's threshold L1's has to rise.
void fan_outs_are_learned(void **) {
    // The first two take five and nine intervals for a pass, so they learn slowly.
    const struct {
        uint32_t qps, in_a_row, percent;
    } fan_outs[] = {{1500, 4, 95}, {1500, 8, 90}, {500, 8, 95}, {6000, 1, 95}};
    for (auto [qps, in_a_row, percent] : fan_outs) {
        Trace trace = posts_in_a_row(qps, in_a_row, 600'000);
        RunOptions options;
        options.l1 = 512;
        options.l2 = 2;
        options.policy = "adaptive-001";
        double adaptive = run(trace, options).times.mean(), best = 1e9;
        options.policy = "literal-001";
        for (uint32_t threshold : {1, 2, 4, 6, 8, 12}) {
            options.set("PROMOTE_TO_L1_THRESHOLD", threshold);
            options.set("PROMOTE_TO_L2_THRESHOLD", threshold);
            best = std::min(best, run(trace, options).times.mean());
        }
        print_message("# %u QPs, %u in a row: %.1f %% of the best\n", qps, in_a_row,
                      100 * best / adaptive);
        assert_true(adaptive * percent < best * 100);
    }
}

void parameters_are_heeded(void **) {
    Trace trace = zipf(1000, 100'000);
    RunOptions options;
    options.policy = "literal-001";
    options.l1 = 100;
    options.l2 = 0;
    uint64_t before = run(trace, options).moved[1];
    options.set("PROMOTE_TO_L1_THRESHOLD", 2);
    options.set("DEMOTE_FROM_L1_IDLE_NS", 1'000'000'000);
    uint64_t low = run(trace, options).moved[1];
    assert_true(low > 10 * before);
    options.set("L1_CAPACITY", 1000);
    assert_int_equal(options.l1, 1000);
    assert_int_equal(run(trace, options).moved[3], 0);
    options.set("DEMOTE_FROM_L1_IDLE_NS", 2000);
    assert_true(run(trace, options).moved[3] > 100);
    options.set("AGING_INTERVAL", 50);
    options.set("ALPHA", 0);
    RunResult aged = run(trace, options);
    assert_conserved(trace, aged);
    assert_true(numbers(aged) != numbers(run(trace, RunOptions())));
}

// ---- What the simulation must show

/// A hundredth of the accesses make a token move: it is a new one, and asked
/// for four times more while it comes. All others are in L1.
Trace one_in_a_hundred_moves() {
    constexpr uint32_t hot = 500;
    std::vector<uint32_t> ids;
    Random random(seed);

    for (uint32_t i = 0; i < 5000; i++)
        ids.push_back(i % hot);
    for (uint32_t i = 0; i < 400'000; i++)
        ids.push_back(i % 100 < 25 && i % 5 == 0 ? hot + i / 100 % 4000
                                                 : uint32_t(random.below(hot, 1, i)));
    return trace_of(ids);
}

void optimistic_moves_are_not_waited_for(void **) {
    Trace trace = one_in_a_hundred_moves();
    RunOptions options;
    options.l1 = 4096;
    options.writes = 50;
    RunResult optimistic = run(trace, options);
    options.mode = Mode::blocking;
    RunResult blocking = run(trace, options);

    for (const RunResult *r : {&optimistic, &blocking}) {
        double moving =
            static_cast<double>(r->moved[1] + r->aborts) / static_cast<double>(r->accesses);
        assert_conserved(trace, *r);
        print_message("# moving %.4f, P99 %lu, P99.9 %lu ns, %lu copied again, %lu aborts\n",
                      moving, r->times.p99(), r->times.p999(), r->copied_again, r->aborts);
        assert_true(moving > 0.009 && moving < 0.012);
    }
    assert_true(2 * optimistic.times.p99() <= blocking.times.p99());
    assert_true(10 * optimistic.times.p999() <= 3 * blocking.times.p999());
    assert_true(20 * optimistic.aborts <= optimistic.moved[1]);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(bad_options),
        cmocka_unit_test(bad_parameters),
        cmocka_unit_test(too_many_objects),
        cmocka_unit_test(no_request_at_all),
        cmocka_unit_test(a_miss_and_a_move),
        cmocka_unit_test(requests_come_at_the_rate),
        cmocka_unit_test(virtual_time_ends),
        cmocka_unit_test(loads_of_days),
        cmocka_unit_test(loads_within_no_time),
        cmocka_unit_test(blocking_waits),
        cmocka_unit_test(blocking_counts_a_use_once),
        cmocka_unit_test(a_write_spoils_a_copy),
        cmocka_unit_test(writes_without_end_abort_a_move),
        cmocka_unit_test(what_is_dirty_is_written_home),
        cmocka_unit_test(three_tiers),
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(slow_moves_leave_room_for_hits),
        cmocka_unit_test(moves_under_way_cost_few_hits),
        cmocka_unit_test(lives_and_ends),
        cmocka_unit_test(an_end_is_the_last_request),
        cmocka_unit_test(counts_agree),
        cmocka_unit_test(bursts_are_not_waited_for),
        cmocka_unit_test(fan_outs_are_learned),
        cmocka_unit_test(parameters_are_heeded),
        cmocka_unit_test(optimistic_moves_are_not_waited_for),
    };

    print_message("# seed %lu\n", seed);
    return cmocka_run_group_tests_name("user_sim_run", tests, nullptr, nullptr);
}
