// SPDX-License-Identifier: Apache-2.0
// Runs in which the host is asked through its mailbox or a link has too much to
// do, and requests that come when a trace says.
#include <cerrno>
#include <functional>
#include <string>

#include "user_sim_run.hpp"

namespace {

using namespace simtest;

RunOptions with_handlers(uint32_t handlers, uint32_t pages = 0) {
    RunOptions options = simple();
    options.handlers = handlers;
    options.rate = 1000;
    options.l2 = pages;
    if (pages)
        options.set("EXPAND_PRESTAGE", 0);
    return options;
}

// ---- The mailbox

void bad_options(void **) {
    const std::pair<const char *, std::function<void(RunOptions &)>> bad[] = {
        {"handlers", [](RunOptions &o) { o.handlers = 0; }},
        {"handlers", [](RunOptions &o) { o.handlers = 1025; }},
        {"without a mailbox", [](RunOptions &o) { o.handlers = {}; }},
        {"EXPAND_PRESTAGE means nothing without L2",
         [](RunOptions &o) { o.set("EXPAND_PRESTAGE", 2); }},
        {"EXPAND_HOT_PAGE means nothing without L2",
         [](RunOptions &o) { o.set("EXPAND_HOT_PAGE", 2); }},
        {"EXPAND_BACKGROUND_MAX means nothing without L2",
         [](RunOptions &o) { o.set("EXPAND_BACKGROUND_MAX", 2); }},
        {"EXPAND_URGENT_RUN means nothing without L2",
         [](RunOptions &o) { o.set("EXPAND_URGENT_RUN", 2); }},
        {"DEMOTE_FROM_L2_IDLE_NS means nothing without L2",
         [](RunOptions &o) { o.policy = "adaptive-001", o.set("DEMOTE_FROM_L2_IDLE_NS", 5000); }},
        {"PROMOTE_TO_L2_THRESHOLD means nothing without L2",
         [](RunOptions &o) { o.policy = "literal-001", o.set("PROMOTE_TO_L2_THRESHOLD", 2); }},
        {"batch", [](RunOptions &o) { o.set("PREFETCH_BATCH_THRESHOLD", 4); }},
        {"times", [](RunOptions &o) { o.trace_times = true, o.outstanding = 1; }},
        {"does not say when", [](RunOptions &o) { o.trace_times = true; }},
    };

    for (const auto &[said, make] : bad) {
        RunOptions options = with_handlers(1);
        options.set("EXPAND_TIMEOUT_NS", 1000);
        make(options);
        auto error = error_of([&] { run(trace_of({0, 1}), options); });
        assert_true(error.code == (has(said, "when") ? EBADMSG : EINVAL));
        if (!has(error.sentence, said))
            fail_msg("'%s' does not say %s", error.sentence.c_str(), said);
        assert_false(error.remedy.empty());
    }
    RunOptions options;
    assert_int_equal(error_of([&] { options.set("EXPAND_MAILBOX", 0); }).code, EINVAL);
    assert_int_equal(error_of([&] { options.set("EXPAND_TIMEOUT_NS", 999); }).code, EINVAL);
}

// 1 ns for the bytes and 500 for the copy, behind 1000 for each answer before
// it and its own.
void a_handler_does_one_after_the_other(void **) {
    const Trace trace = trace_of({0, 1, 2});
    const std::pair<uint32_t, uint64_t> ends[] = {{1, 3501}, {2, 2501}, {3, 1503}, {1024, 1503}};

    for (auto [handlers, end] : ends) {
        RunResult r = run(trace, with_handlers(handlers));
        assert_conserved(trace, r);
        assert_int_equal(r.virtual_ns, end);
        assert_int_equal(r.moved[1], 3);
        assert_int_equal(r.expands, 3);
        assert_int_equal(r.expands_refused + r.expands_expired, 0);
    }
}

void a_full_mailbox_refuses(void **) {
    const Trace trace = trace_of({0, 1, 2, 0, 1});
    RunOptions options = with_handlers(1);
    options.set("EXPAND_MAILBOX", 1);
    RunResult r = run(trace, options);
    assert_conserved(trace, r);
    // 0 is on its way, the others are refused, once more in the end.
    assert_int_equal(r.found[3], 5);
    assert_int_equal(r.expands, 4);
    assert_int_equal(r.expands_refused, 3);
    assert_int_equal(r.moved[1], 1);
    auto events = events_of(trace, options);
    assert_int_equal(events["expand"], 1);
    assert_int_equal(events["promote"], 1);
    options.rate = 0.5;  // each is done before the next one
    r = run(trace, options);
    assert_int_equal(r.expands_refused, 0);
    assert_int_equal(r.found[1], 2);
}

void who_waits_too_long_gives_up(void **) {
    const Trace trace = trace_of({0, 1, 2});
    RunOptions options = with_handlers(1);
    options.set("EXPAND_TIMEOUT_NS", 1500);
    RunResult r = run(trace, options);
    assert_conserved(trace, r);
    // The second one is at work when it is given up; its answer comes late.
    assert_int_equal(r.expands_expired, 2);
    assert_int_equal(r.moved[1], 1);
    auto events = events_of(trace, options);
    assert_int_equal(events["expand"], 3);
    assert_int_equal(events["expire"], 2);
    assert_int_equal(events["abort"], 0);
    assert_int_equal(events["promote"], 1);
    // Those who wait for the move are served then.
    options.mode = Mode::blocking;
    r = run(trace, options);
    assert_conserved(trace, r);
    assert_int_equal(r.waits, 3);
    assert_int_equal(r.moved[1], 1);
}

void an_object_ends_while_it_is_asked_for(void **) {
    RunResult r =
        run(script({{0, 'r'}, {1, 'r'}, {1, 'f'}, {0, 'f'}, {0, 'c'}, {0, 'r'}, {1, 'r'}}),
            with_handlers(1));
    assert_int_equal(r.accesses, 4);
    assert_int_equal(r.found[3], 4);
    assert_int_equal(r.moved[1], 2);
    assert_int_equal(r.expands, 4);
    assert_int_equal(r.cancels, 2);
}

// The host does nothing for a neighbour that ended before its turn came.
void a_neighbour_ends_before_it_is_staged(void **) {
    const Trace trace =
        script({{0, 'c'}, {1, 'c'}, {2, 'c'}, {3, 'c'}, {0, 'r'}, {2, 'f'}, {3, 'r'}});
    RunOptions options = with_handlers(1, 1);
    options.rate = 0.9;  // the host takes less for one than is between two
    options.set("EXPAND_HOT_PAGE", 1);
    options.set("EXPAND_PRESTAGE", 1);
    RunResult alone = run(trace, options);
    options.set("EXPAND_PRESTAGE", 2);
    RunResult both = run(trace, options);
    assert_int_equal(alone.prestaged, 1);
    assert_int_equal(both.prestaged, 1);
    assert_int_equal(both.virtual_ns, alone.virtual_ns);
}

// What is for L2 is of the background, and leaves room to what is urgent.
void background_leaves_room(void **) {
    const Trace trace = trace_of({0, 1, 2, 3, 3});
    RunOptions options = with_handlers(1, 1);
    options.policy = "literal-001";
    options.set("PROMOTE_TO_L1_THRESHOLD", 2);
    options.set("PROMOTE_TO_L2_THRESHOLD", 1);
    options.set("EXPAND_BACKGROUND_MAX", 2);
    RunResult r = run(trace, options);
    assert_conserved(trace, r);
    // Two of four for L2, and the second use of the last one, which is for L1.
    assert_int_equal(r.expands, 5);
    assert_int_equal(r.expands_refused, 2);
    assert_int_equal(r.moved[2], 2);
    assert_int_equal(r.moved[1], 1);
    // It is taken before the second of the background: its copy is over 500 ns
    // before that one's.
    assert_int_equal(r.virtual_ns, 3101);
}

void neighbours_of_a_hot_page_come_to_l2(void **) {
    RunOptions options = with_handlers(1, 1);
    options.rate = 0.1;  // all is done before the next one
    options.set("EXPAND_HOT_PAGE", 1);
    options.set("EXPAND_PRESTAGE", 2);
    const Trace trace = trace_of({5, 6, 4, 3, 9});
    RunResult r = run(trace, options);
    assert_conserved(trace, r);
    // 6 and 4 with 5; 2 and 1 with 3; 8 and 7 with 9, the last one.
    assert_int_equal(r.found[2], 2);
    assert_int_equal(r.found[3], 3);
    assert_int_equal(r.expands, 3);
    assert_int_equal(r.prestaged, 6);
    assert_int_equal(events_of(trace, options)["stage"], 6);
    // Nothing is staged that may not be there: then no handler works for it.
    options.rate = 1000;
    options.classes = ClassShares::parse("doorbell:100");
    options.set("EXPAND_PRESTAGE", 2);
    r = run(trace, options);
    options.set("EXPAND_PRESTAGE", 0);
    assert_true(r.found[3] == 5 && r.prestaged == 0);
    assert_true(numbers(r) == numbers(run(trace, options)));
}

// Who never waits for a handler is answered as if there were no mailbox.
void enough_handlers_are_as_none(void **) {
    Trace trace = zipf(3000, 60'000, 0.3);
    for (const char *policy : {"default", "literal-001", "adaptive-001"})
        for (Mode mode : {Mode::optimistic, Mode::blocking}) {
            RunOptions options = with_handlers(1024, 1);
            options.policy = policy;
            options.mode = mode;
            options.l1 = 200;
            options.rate = 10;
            options.times.latencies.expand = Latency::constant(10);  // who leaves takes longer
            options.set("EXPAND_MAILBOX", 4096);
            options.set("EXPAND_BACKGROUND_MAX", 4096);
            options.set("EXPAND_REQUESTER_MAX", 4096);
            RunResult with = run(trace, options);
            options.handlers = {};
            std::erase_if(options.parameters,
                          [](const auto &p) { return p.first.starts_with("EXPAND_"); });
            assert_true(numbers(with) == numbers(run(trace, options)));
            assert_int_equal(with.expands_refused + with.expands_expired, 0);
        }
}

void always_the_same_and_all_told(void **) {
    Trace trace;
    trace.uniques = 4000;
    for (uint32_t i = 0; i < 100'000; i++)
        trace.requests.emplace_back((i * 7919 % 1000) * (i * 104'729 % 2000) / 500,
                                    i % 97 == 0  ? Operation::free
                                    : i % 3 == 0 ? Operation::write
                                                 : Operation::read);
    for (Mode mode : {Mode::optimistic, Mode::blocking})
        for (uint32_t handlers : {1u, 4u, 16u}) {
            RunOptions options;
            options.handlers = handlers;
            options.mode = mode;
            options.l1 = 300;
            options.l2 = 1;
            options.rate = 3;
            options.set("EXPAND_MAILBOX", 64);
            options.set("EXPAND_TIMEOUT_NS", 50'000);
            RunResult r = run(trace, options);
            assert_conserved(trace, r);
            assert_true(numbers(r) == numbers(run(trace, options)));
            auto events = events_of(trace, options);
            assert_int_equal(events["expand"], r.expands - r.expands_refused);
            assert_int_equal(events["abort"], r.aborts);
            assert_int_equal(events["expire"], r.expands_expired);
            assert_int_equal(events["cancel"], r.cancels);
            assert_int_equal(events["stage"], r.prestaged);
            for (unsigned tier : {1, 2, 3})
                assert_int_equal(events["to " + std::to_string(tier)], r.moved.at(tier));
            assert_true(events["last"] <= r.virtual_ns);
            assert_true(handlers > 1 || r.expands_refused + r.expands_expired > 0);
            assert_true(r.prestaged > 0);
        }
}

// ---- DMA that has enough to do

// 1.6 us for 16 bytes, and a miss each us: all but a few batches wait, and then
// the queue is full.
void a_batch_waits_for_its_link(void **) {
    Trace trace = generate({.kind = "scan", .requests = 2000, .seed = seed});
    RunOptions options = simple();
    options.times.pcie_bytes_per_ns = 0.01;
    options.set("PREFETCH_BATCH_THRESHOLD", 4);
    options.set("PREFETCH_QUEUE", 16);
    options.set("L2_PAGE_PREFETCH_SIZE", 0);
    RunResult r = run(trace, options);
    assert_conserved(trace, r);
    assert_true(r.dma_busy > 100);
    assert_int_equal(r.pcie.bytes / 16, r.found[3] + r.copies);
    // Who finds no room sees for itself, at once, and makes the link wait even
    // more.
    assert_true(r.pcie.operations > 1500 && r.waits < 1000);
    options.times.pcie_bytes_per_ns = 16;
    r = run(trace, options);
    assert_int_equal(r.dma_busy, 0);
    assert_int_equal(r.pcie.operations, 2000 / 4);
    assert_int_equal(r.waits, 2000);
}

// ---- Times

RunResult at(const std::vector<uint64_t> &times) {
    Trace trace = trace_of(std::vector<uint32_t>(times.size()));
    RunOptions options = simple();
    trace.time_ns = times;
    options.trace_times = true;
    RunResult r = run(trace, options);
    assert_conserved(trace, r);
    return r;
}

void requests_come_when_the_trace_says(void **) {
    // One object: in L1 1501 ns after it was asked for first.
    assert_int_equal(at({7000}).virtual_ns, 1501);
    assert_int_equal(at({7000, 8501, 8502}).found[1], 2);
    assert_int_equal(at({7000, 8500, 8501}).found[1], 1);
    assert_int_equal(at({7000, 1007000}).virtual_ns, 1'000'005);
    // What is said to be earlier comes with the one before it.
    Trace back = trace_of({0, 0, 1});
    RunOptions options = simple();
    back.time_ns = {7000, 1007000, 8000};
    options.trace_times = true;
    assert_int_equal(run(back, options).virtual_ns, 1'001'501);
    assert_int_equal(at({7000, 1007000, 8000, 0}).found[1], 3);
    assert_int_equal(error_of([] { at({0, UINT64_MAX}); }).code, EBADMSG);
    assert_int_equal(at({UINT64_MAX, 0, UINT64_MAX}).virtual_ns, 1501);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(bad_options),
        cmocka_unit_test(a_handler_does_one_after_the_other),
        cmocka_unit_test(a_full_mailbox_refuses),
        cmocka_unit_test(who_waits_too_long_gives_up),
        cmocka_unit_test(an_object_ends_while_it_is_asked_for),
        cmocka_unit_test(a_neighbour_ends_before_it_is_staged),
        cmocka_unit_test(background_leaves_room),
        cmocka_unit_test(neighbours_of_a_hot_page_come_to_l2),
        cmocka_unit_test(enough_handlers_are_as_none),
        cmocka_unit_test(always_the_same_and_all_told),
        cmocka_unit_test(a_batch_waits_for_its_link),
        cmocka_unit_test(requests_come_when_the_trace_says),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
