// SPDX-License-Identifier: Apache-2.0
// ds_submit() and ds_fabric_poll(), on the fake device: the ring, waiting for
// room, retries, deadlines, closing.
#include <ds/ds.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "user_cmocka.hpp"
#include "user_device.hpp"

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr uint64_t MiB = 1 << 20;
constexpr uint64_t base = fake::Device::base;

ds_fabric *fabric;
ds_space *space;
ds_buffer *buffer;

void open_fabric(uint32_t ring_entries, uint32_t max_outstanding = 0) {
    ds_fabric_options options{};
    options.size = sizeof(options);
    options.ring_entries = ring_entries;
    options.max_outstanding = max_outstanding;
    assert_int_equal(ds_fabric_open(&options, &fabric), 0);
    assert_int_equal(ds_space_open(fabric, 1, DS_ACCESS_ALL, &space), 0);
    assert_int_equal(ds_buffer_alloc(fabric, 8 * MiB, -1, &buffer), 0);
}

int setup(void **) {
    fake::device.reset();
    fabric = nullptr;
    space = nullptr;
    buffer = nullptr;
    return 0;
}

int teardown(void **) {
    fake::device.hold = false;
    fake::device.complete();
    ds_fabric_close(fabric);  // before what was made from it: that is allowed
    ds_buffer_free(buffer);
    ds_space_close(space);
    return 0;
}

// What a callback leaves behind.
struct Ended {
    int status = 1;
    int calls = 0;
    ds_result result{};
};

void note(void *arg, int status) {
    auto *ended = static_cast<Ended *>(arg);
    ended->status = status;
    ended->calls++;
}

ds_operation add(uint64_t addr, uint32_t flags = 0) {
    ds_operation op{};
    op.opcode = DS_OP_FETCH_ADD;
    op.flags = flags;
    op.space = space;
    op.addr = addr;
    op.length = 8;
    op.compare_add = 1;
    return op;
}

ds_operation write(uint64_t addr, uint64_t length) {
    ds_operation op{};
    op.opcode = DS_OP_WRITE;
    op.space = space;
    op.buffer = buffer;
    op.addr = addr;
    op.length = length;
    return op;
}

int submit(const ds_operation &op, Ended &ended, uint32_t timeout_ms = 0) {
    return ds_submit(fabric, &op, 1, timeout_ms, &ended.result, note, &ended);
}

void poll_until(const std::function<bool()> &done, int limit_ms = 20000) {
    auto end = steady_clock::now() + milliseconds(limit_ms);
    while (!done() && steady_clock::now() < end)
        assert_true(ds_fabric_poll(fabric, 100) >= 0);
    assert_true(done());
}

uint64_t word(uint64_t addr) {
    return *reinterpret_cast<uint64_t *>(fake::device.memory(addr));
}

ds_counters counters() {
    ds_counters c{};
    c.size = sizeof(c);
    assert_int_equal(ds_fabric_counters(fabric, &c), 0);
    return c;
}

void callbacks_run_only_while_polling(void **) {
    open_fabric(64);
    Ended ended;
    assert_int_equal(submit(add(base), ended), 0);
    assert_int_equal(word(base), 1);
    assert_int_equal(ended.calls, 0);
    assert_int_equal(ds_fabric_outstanding(fabric), 1);
    assert_int_equal(ds_fabric_poll(fabric, 0), 1);
    assert_int_equal(ended.calls, 1);
    assert_int_equal(ended.status, 0);
    assert_int_equal(ended.result.value, 0);
    assert_int_equal(ended.result.attempts, 1);
    assert_int_equal(ds_fabric_outstanding(fabric), 0);
    assert_int_equal(ds_fabric_poll(fabric, 0), 0);
}

void polling_ends_in_time(void **) {
    open_fabric(64);
    auto start = steady_clock::now();
    assert_int_equal(ds_fabric_poll(fabric, 30), 0);
    assert_true(steady_clock::now() - start >= milliseconds(30));
}

void the_ring_wraps(void **) {
    // Positions run through 2^32 and the ring's end many times.
    fake::device.ring_start = 0xfffffff5;
    open_fabric(8);
    std::vector<Ended> ended(1000);
    for (size_t i = 0; i < ended.size(); i++) {
        assert_int_equal(submit(add(base), ended[i]), 0);
        if (i % 5 == 4)
            assert_int_equal(ds_fabric_poll(fabric, 0), 1);
    }
    for (size_t i = 0; i < ended.size(); i++) {
        assert_int_equal(ended[i].calls, 1);
        assert_int_equal(ended[i].result.value, i);
    }
}

void many_chains_are_one_call(void **) {
    open_fabric(64);
    std::vector<ds_operation> ops(32, add(base));
    Ended ended;
    assert_int_equal(ds_submit(fabric, ops.data(), ops.size(), 0, nullptr, note, &ended), 0);
    assert_int_equal(fake::device.submits.size(), 1);
    assert_int_equal(fake::device.submits[0].ops.size(), 32);
    poll_until([&] { return ended.calls == 1; });
}

void waits_in_order_when_the_kernel_is_full(void **) {
    open_fabric(8);
    fake::device.hold = true;
    constexpr size_t n = 100;
    std::vector<Ended> ended(n);
    for (size_t i = 0; i < n; i++) {  // alternately one operation and a chain of three
        std::vector<ds_operation> ops(i % 2 ? 3 : 1, add(base, DS_OP_CHAIN));
        ops.back().flags = 0;
        assert_int_equal(ds_submit(fabric, ops.data(), ops.size(), 0, nullptr, note, &ended[i]), 0);
    }
    assert_true(fake::device.in_flight() <= 8);
    assert_true(counters().refused >= 1);
    size_t taken = 0;
    std::vector<uint64_t> order;
    fake::device.on_op = [&](const ds_op &op) -> std::optional<fake::End> {
        order.push_back(op.user_data >> 16);
        return std::nullopt;
    };
    poll_until([&] {
        taken += fake::device.complete(3);
        return ended.back().calls == 1;
    });
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ended[i].calls, 1);
    assert_int_equal(taken, 200);
    assert_int_equal(word(base), 200);
    // In the order of the calls: every submit begins where the one before it
    // stopped.
    std::vector<size_t> lengths;
    size_t run = 0;
    for (size_t i = 0; i < order.size(); i++) {
        run++;
        if (i + 1 == order.size() || order[i + 1] != order[i])
            lengths.push_back(run), run = 0;
    }
    assert_int_equal(lengths.size(), n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(lengths[i], i % 2 ? 3 : 1);
}

void asks_again_when_others_fill_the_queue(void **) {
    // Nothing of ours is in flight, so no completion will wake us.
    open_fabric(64);
    fake::device.queue_room = 0;
    Ended ended;
    assert_int_equal(submit(add(base), ended), 0);
    assert_int_equal(ds_fabric_poll(fabric, 200), 0);
    size_t asked = fake::device.submits.size();
    assert_in_range(asked, 2, 110);  // every 2 ms, not in a loop
    fake::device.queue_room = 10;
    poll_until([&] { return ended.calls == 1; });
    assert_int_equal(ended.status, 0);
}

void a_full_kernel_does_not_hold_up_the_deadline(void **) {
    open_fabric(64);
    fake::device.queue_room = 0;
    Ended late, later;
    assert_int_equal(submit(add(base), late, 20), 0);
    assert_int_equal(submit(add(base), later, 10000), 0);
    poll_until([&] { return late.calls == 1; });
    assert_int_equal(late.status, -ETIMEDOUT);
    assert_int_equal(late.result.outcome, DS_NOT_EXECUTED);
    assert_int_equal(late.result.attempts, 0);
    assert_int_equal(later.calls, 0);
    fake::device.queue_room = 10;
    poll_until([&] { return later.calls == 1; });
    assert_int_equal(later.status, 0);
    assert_int_equal(word(base), 1);
}

void says_so_when_it_is_full_itself(void **) {
    open_fabric(8, 10);
    fake::device.hold = true;
    std::vector<Ended> ended(11);
    for (int i = 0; i < 10; i++)
        assert_int_equal(submit(add(base), ended[i]), 0);
    assert_int_equal(submit(add(base), ended[10]), -EAGAIN);
    assert_int_equal(submit(write(base, 11 * MiB), ended[10]),
                     -EINVAL);  // longer than the buffer
    fake::device.complete(1);
    poll_until([&] { return ended[0].calls == 1; });
    assert_int_equal(submit(add(base), ended[10]), 0);
    fake::device.hold = false;
    fake::device.complete();
    poll_until([&] { return ended[10].calls == 1; });
}

void refuses_what_can_never_fit(void **) {
    open_fabric(8, 4);
    Ended ended;
    assert_int_equal(submit(write(base, 5 * MiB), ended), -E2BIG);
    assert_int_equal(ended.calls, 0);
    assert_int_equal(submit(write(base, 4 * MiB), ended), 0);
    poll_until([&] { return ended.calls == 1; });
    // A ring shorter than the longest chain.
    ds_fabric_options options{};
    options.size = sizeof(options);
    options.ring_entries = 4;
    ds_fabric *other;
    assert_int_equal(ds_fabric_open(&options, &other), -EINVAL);
}

void tries_again_after_a_pause(void **) {
    open_fabric(64);
    int failures = 3;
    fake::device.on_op = [&](const ds_op &) -> std::optional<fake::End> {
        return failures-- > 0 ? std::optional(fake::End{-ENOTCONN, DS_NOT_EXECUTED}) : std::nullopt;
    };
    Ended ended;
    auto start = steady_clock::now();
    assert_int_equal(submit(add(base), ended), 0);
    poll_until([&] { return ended.calls == 1; });
    assert_true(steady_clock::now() - start >= milliseconds(1 + 2 + 4));
    assert_int_equal(ended.status, 0);
    assert_int_equal(ended.result.attempts, 4);
    assert_int_equal(word(base), 1);
    assert_int_equal(counters().retries, 3);
}

void gives_up_at_the_deadline(void **) {
    open_fabric(64);
    fake::device.on_op = [](const ds_op &) {
        return std::optional(fake::End{-ENOTCONN, DS_NOT_EXECUTED});
    };
    Ended ended;
    assert_int_equal(submit(add(base), ended, 500), 0);
    poll_until([&] { return ended.calls == 1; });
    assert_int_equal(ended.status, -ENOTCONN);
    assert_in_range(ended.result.attempts, 2, 14);  // pauses grow: 1, 2, 4, ... 128 ms
}

void the_deadline_does_not_hide_what_was_met(void **) {
    open_fabric(64);
    fake::device.on_op = [](const ds_op &) {
        fake::device.queue_room = 0;  // no second attempt
        return std::optional(fake::End{-ENOTCONN, DS_NOT_EXECUTED});
    };
    Ended ended;
    assert_int_equal(submit(add(base + (3 << fake::Device::shift)), ended, 50), 0);
    poll_until([&] { return ended.calls == 1; });
    assert_int_equal(ended.status, -ENOTCONN);
    assert_int_equal(ended.result.outcome, DS_NOT_EXECUTED);
    assert_int_equal(ended.result.node, 4);
    assert_int_equal(ended.result.attempts, 1);
}

void never_repeats_a_doubtful_atomic(void **) {
    open_fabric(64);
    fake::device.on_op = [](const ds_op &) {
        return std::optional(fake::End{-ENOTCONN, DS_UNKNOWN, true});
    };
    Ended ended;
    assert_int_equal(submit(add(base), ended), 0);
    poll_until([&] { return ended.calls == 1; });
    assert_int_equal(ended.status, -ENOTCONN);
    assert_int_equal(ended.result.outcome, DS_UNKNOWN);
    assert_int_equal(fake::device.submits.size(), 1);
}

void large_writes_arrive_whole(void **) {
    open_fabric(8);
    auto *bytes = static_cast<uint8_t *>(ds_buffer_data(buffer));
    for (uint64_t i = 0; i < 7 * MiB; i++)
        bytes[i] = static_cast<uint8_t>(i * 13 + (i >> 10));
    int seen = 0;
    fake::device.on_op = [&](const ds_op &) -> std::optional<fake::End> {
        return ++seen % 3 == 0 ? std::optional(fake::End{-ENODEV, DS_NOT_EXECUTED}) : std::nullopt;
    };
    Ended ended;
    assert_int_equal(submit(write(base + 13 * MiB + 77, 7 * MiB), ended), 0);
    poll_until([&] { return ended.calls == 1; });
    assert_int_equal(ended.status, 0);
    assert_int_equal(ended.result.length, 7 * MiB);
    assert_memory_equal(fake::device.memory(base + 13 * MiB + 77), bytes, 7 * MiB);
    assert_int_equal(counters().bytes_written, 7 * MiB);
}

void one_bad_chain_does_not_hurt_the_others(void **) {
    open_fabric(64);
    std::vector<Ended> ended(3);
    fake::device.queue_room = 0;
    for (auto &e : ended)
        assert_int_equal(submit(add(base), e), 0);
    fake::device.queue_room = 10;
    // The call with all three fails, then that with the first alone.
    fake::device.submit_errors = {-EINVAL, -EINVAL};
    poll_until([&] { return ended[2].calls == 1; });
    assert_int_equal(ended[0].status, -EINVAL);
    assert_int_equal(ended[0].result.outcome, DS_NOT_EXECUTED);
    assert_int_equal(ended[1].status, 0);
    assert_int_equal(ended[2].status, 0);
    assert_int_equal(word(base), 2);
}

void a_ring_that_cannot_be_made_is_an_error(void **) {
    open_fabric(64);
    fake::device.mmap_errno = ENOMEM;
    Ended ended;
    assert_int_equal(submit(add(base), ended), 0);
    pollfd readable{ds_fabric_fd(fabric), POLLIN, 0};
    assert_int_equal(poll(&readable, 1, 1000), 1);  // one who sleeps there is woken
    poll_until([&] { return ended.calls == 1; });
    assert_int_equal(ended.status, -ENOMEM);
    fake::device.mmap_errno = 0;
}

void the_descriptor_becomes_readable(void **) {
    open_fabric(64);
    pollfd readable{ds_fabric_fd(fabric), POLLIN, 0};
    assert_int_equal(poll(&readable, 1, 0), 0);
    Ended ended;
    fake::device.hold = true;
    assert_int_equal(submit(add(base), ended), 0);
    assert_int_equal(poll(&readable, 1, 0), 0);
    fake::device.complete();
    assert_int_equal(poll(&readable, 1, 1000), 1);
    assert_int_equal(ds_fabric_poll(fabric, 0), 1);
    assert_int_equal(poll(&readable, 1, 0), 0);
    // Also for a retry that is due, though the kernel has nothing to say.
    fake::device.hold = false;
    int failures = 1;
    fake::device.on_op = [&](const ds_op &) -> std::optional<fake::End> {
        return failures-- > 0 ? std::optional(fake::End{-ENOTCONN, DS_NOT_EXECUTED}) : std::nullopt;
    };
    Ended again;
    assert_int_equal(submit(add(base), again), 0);
    for (int i = 0; i < 100 && !again.calls; i++) {
        assert_int_equal(poll(&readable, 1, 1000), 1);
        assert_true(ds_fabric_poll(fabric, 0) >= 0);
    }
    assert_int_equal(again.status, 0);
}

void a_callback_may_submit(void **) {
    open_fabric(8, 4);
    struct Loop {
        int left = 1000;
        static void next(void *arg, int status) {
            auto *loop = static_cast<Loop *>(arg);
            if (status == 0 && --loop->left > 0) {
                ds_operation op = add(base);
                if (ds_submit(fabric, &op, 1, 0, nullptr, next, loop))
                    abort();
            }
        }
    } loop;
    ds_operation op = add(base);
    assert_int_equal(ds_submit(fabric, &op, 1, 0, nullptr, Loop::next, &loop), 0);
    poll_until([&] { return loop.left == 0; });
    assert_int_equal(word(base), 1000);
}

void closing_ends_what_has_not_started(void **) {
    open_fabric(8);
    fake::device.hold = true;
    std::vector<Ended> ended(20);
    for (auto &e : ended)
        assert_int_equal(submit(add(base), e), 0);
    assert_int_equal(fake::device.in_flight(), 8);
    std::thread kernel([] {
        std::this_thread::sleep_for(milliseconds(30));
        fake::device.complete();
    });
    ds_fabric_close(fabric);
    fabric = nullptr;
    kernel.join();
    for (int i = 0; i < 20; i++) {
        assert_int_equal(ended[i].calls, 1);
        assert_int_equal(ended[i].status, i < 8 ? 0 : -ECANCELED);
    }
    assert_int_equal(ended[19].result.outcome, DS_NOT_EXECUTED);
}

void closing_refuses_new_requests(void **) {
    open_fabric(8);
    struct Stubborn {
        int rc = 1;
        static void again(void *arg, int) {
            ds_operation op = add(base);
            static_cast<Stubborn *>(arg)->rc = ds_submit(fabric, &op, 1, 0, nullptr, again, arg);
        }
    } stubborn;
    ds_operation op = add(base);
    assert_int_equal(ds_submit(fabric, &op, 1, 0, nullptr, Stubborn::again, &stubborn), 0);
    ds_fabric_close(fabric);
    fabric = nullptr;
    assert_int_equal(stubborn.rc, -ESHUTDOWN);
}

void many_threads_submit_and_poll(void **) {
    open_fabric(16);
    constexpr int threads = 4, each = 400;
    std::atomic<int> ended{0}, failed{0};
    std::atomic<int> *counts[] = {&ended, &failed};
    int seen = 0;
    fake::device.on_op = [&](const ds_op &) -> std::optional<fake::End> {
        return ++seen % 7 == 0 ? std::optional(fake::End{-ENOTCONN, DS_NOT_EXECUTED})
                               : std::nullopt;
    };
    auto done = [](void *arg, int status) {
        auto **c = static_cast<std::atomic<int> **>(arg);
        if (status)
            ++*c[1];
        ++*c[0];
    };
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; t++)
        workers.emplace_back([&] {
            for (int i = 0; i < each; i++) {
                ds_operation ops[] = {add(base, DS_OP_CHAIN), add(base + 8), add(base + 16)};
                if (ds_submit(fabric, ops, 3, 0, nullptr, done, counts))
                    abort();
                if (i % 3 == 0)
                    ds_fabric_poll(fabric, 0);
            }
            while (ended < threads * each)
                ds_fabric_poll(fabric, 5);
        });
    for (auto &worker : workers)
        worker.join();
    assert_int_equal(failed, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(word(base + 8 * i), threads * each);
    assert_int_equal(ds_fabric_outstanding(fabric), 0);
}

}  // namespace

int main() {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const CMUnitTest tests[] = {
        TEST(callbacks_run_only_while_polling),
        TEST(polling_ends_in_time),
        TEST(the_ring_wraps),
        TEST(many_chains_are_one_call),
        TEST(waits_in_order_when_the_kernel_is_full),
        TEST(asks_again_when_others_fill_the_queue),
        TEST(a_full_kernel_does_not_hold_up_the_deadline),
        TEST(says_so_when_it_is_full_itself),
        TEST(refuses_what_can_never_fit),
        TEST(tries_again_after_a_pause),
        TEST(gives_up_at_the_deadline),
        TEST(the_deadline_does_not_hide_what_was_met),
        TEST(never_repeats_a_doubtful_atomic),
        TEST(large_writes_arrive_whole),
        TEST(one_bad_chain_does_not_hurt_the_others),
        TEST(a_ring_that_cannot_be_made_is_an_error),
        TEST(the_descriptor_becomes_readable),
        TEST(a_callback_may_submit),
        TEST(closing_ends_what_has_not_started),
        TEST(closing_refuses_new_requests),
        TEST(many_threads_submit_and_poll),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
