// SPDX-License-Identifier: Apache-2.0
// Operations for which a request did not wait, on the fake device: Engine::attempt() with a
// patience, and KernelFabric below it.
#include <ds/ds.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "fabric/engine.hpp"
#include "fabric/handles.hpp"
#include "fabric/transfer.hpp"
#include "user_cmocka.hpp"
#include "user_device.hpp"

namespace {

using ds::fabric::Transfer;

constexpr uint64_t base = fake::Device::base;
constexpr uint64_t ms = 1'000'000;
constexpr uint64_t patience = 20 * ms;

ds_fabric *fabric;
ds_space *space;

int setup(void **) {
    fake::device.reset();
    if (ds_fabric_open(nullptr, &fabric))
        return -1;
    return ds_space_open(fabric, 1, DS_ACCESS_ALL, &space);
}

int teardown(void **) {
    ds_space_close(space);
    ds_fabric_close(fabric);
    return 0;
}

uint64_t now() {
    return fabric->engine->fabric().now_ns();
}

uint32_t server_of(const ds_op &op) {
    return static_cast<uint32_t>((op.addr - base) >> fake::Device::shift);
}

// A request that adds 1 to a word of each of the first servers.
class Additions {
public:
    explicit Additions(uint32_t servers, uint64_t timeout = 10'000 * ms)
        : end_(now() + timeout), results_(servers) {
        for (uint32_t i = 0; i < servers; i++) {
            ds_operation op{};
            op.opcode = DS_OP_FETCH_ADD;
            op.space = space;
            op.addr = base + (uint64_t{i} << fake::Device::shift);
            op.length = 8;
            op.compare_add = 1;
            ops_.push_back(op);
        }
        assert_int_equal(fabric->engine->plan(transfer_, ops_, nullptr), 0);
    }
    uint64_t attempt() { return fabric->engine->attempt(transfer_, end_, patience); }
    bool is_open(uint32_t server) const { return transfer_.is_open(server, 1); }
    bool is_late() const { return transfer_.is_late(); }
    ds_result result(uint32_t server) {
        fabric->engine->report(transfer_, server, 1, &results_[server]);
        return results_[server];
    }
    static uint64_t word(uint32_t server) {
        return *reinterpret_cast<uint64_t *>(
            fake::device.memory(base + (uint64_t{server} << fake::Device::shift)));
    }

private:
    uint64_t end_;
    std::vector<ds_operation> ops_;
    std::vector<ds_result> results_;
    Transfer transfer_;
};

void who_has_ended_is_known_while_others_are_under_way(void **) {
    fake::device.is_slow = [](const ds_op &op) { return server_of(op) == 1; };
    Additions all(3);
    assert_true(all.attempt() > now());
    assert_true(fake::device.submits.back().patience_ms <= patience / ms);
    assert_true(all.is_late());
    for (uint32_t server : {0, 2}) {
        assert_false(all.is_open(server));
        assert_int_equal(all.result(server).status, 0);
    }
    assert_true(all.is_open(1));
    assert_true(all.attempt() > now());

    assert_int_equal(fake::device.complete(), 1);
    assert_int_equal(all.attempt(), 0);
    assert_false(all.is_late());
    assert_int_equal(all.result(1).status, 0);
    assert_int_equal(fake::device.submits.size(), 1);
    for (uint32_t server = 0; server < 3; server++)
        assert_int_equal(Additions::word(server), 1);
}

void what_ends_in_time_takes_nothing_from_the_ring(void **) {
    fake::device.is_slow = [](const ds_op &) { return false; };
    for (int i = 0; i < 3; i++) {
        Additions all(4);
        assert_int_equal(all.attempt(), 0);
        assert_false(all.is_late());
    }
    assert_int_equal(fake::device.submits.size(), 3);
    assert_int_equal(Additions::word(3), 3);
}

// One of two that were late did not happen, and runs again; it is late once more. What comes
// for the first time must not be taken for the second.
void an_end_is_that_of_its_own_attempt(void **) {
    fake::device.is_slow = [](const ds_op &) { return true; };
    Additions all(2);
    all.attempt();
    fake::device.on_op = [](const ds_op &) { return fake::End{-ENOTCONN, DS_NOT_EXECUTED}; };
    assert_int_equal(fake::device.complete(1), 1);
    fake::device.on_op = nullptr;
    while (fake::device.in_flight() < 2)
        assert_true(all.attempt() > 0);
    assert_true(all.attempt() > 0);
    assert_true(all.is_open(0) && all.is_open(1));

    assert_int_equal(fake::device.complete(1), 1);  // the other one of the first attempt
    all.attempt();
    assert_true(all.is_open(0));
    assert_false(all.is_open(1));
    assert_int_equal(fake::device.complete(1), 1);
    assert_int_equal(all.attempt(), 0);
    for (uint32_t server : {0, 1}) {
        assert_int_equal(all.result(server).status, 0);
        assert_int_equal(all.result(server).value, 0);
        assert_int_equal(Additions::word(server), 1);
    }
    assert_int_equal(all.result(0).attempts, 2);
}

// It counts as lost then, but is under way all the same.
void the_time_may_be_over_before(void **) {
    fake::device.is_slow = [](const ds_op &op) { return server_of(op) == 1; };
    Additions all(2, 50 * ms);
    for (uint64_t next = all.attempt(); all.is_open(1); next = all.attempt())
        fabric->engine->fabric().sleep_until(next);
    assert_int_equal(all.result(1).status, -ETIMEDOUT);
    assert_int_equal(all.result(1).outcome, DS_UNKNOWN);
    assert_int_equal(all.result(0).status, 0);
    assert_true(all.is_late());
    assert_true(all.attempt() > 0);
    fake::device.complete();
    assert_int_equal(all.attempt(), 0);
    assert_false(all.is_late());
}

// The ring is also that of asynchronous requests, which others may wait for.
void asynchronous_requests_have_their_own_ends(void **) {
    fake::device.hold = true;
    fake::device.is_slow = [](const ds_op &) { return true; };
    int done = 0;
    ds_operation op{};
    op.opcode = DS_OP_FETCH_ADD;
    op.space = space;
    op.addr = base + 64;
    op.length = 8;
    op.compare_add = 5;
    auto count = [](void *arg, int status) { *static_cast<int *>(arg) += status == 0; };
    ds_result result;
    Additions one(1), two(2);
    one.attempt();
    assert_int_equal(ds_submit(fabric, &op, 1, 0, &result, count, &done), 0);
    two.attempt();
    assert_int_equal(fake::device.in_flight(), 4);
    fake::device.complete();

    assert_int_equal(two.attempt(), 0);
    assert_int_equal(done, 0);  // that is for who polls
    assert_int_equal(ds_fabric_poll(fabric, 1000), 1);
    assert_int_equal(done, 1);
    assert_int_equal(one.attempt(), 0);
    assert_int_equal(one.result(0).value, 0);
    assert_int_equal(two.result(0).value, 1);
}

// Whoever looks at the ring first finds the ends of all.
void each_thread_gets_its_own(void **) {
    fake::device.is_slow = [](const ds_op &op) { return server_of(op) % 2; };
    std::atomic<int> busy = 4;
    std::vector<std::thread> threads;
    for (int i = busy; i > 0; i--)
        threads.emplace_back([&busy] {
            for (int n = 0; n < 100; n++) {
                Additions all(4);
                while (uint64_t next = all.attempt())
                    fabric->engine->fabric().sleep_until(next);
                for (uint32_t server = 0; server < 4; server++)
                    assert_int_equal(all.result(server).status, 0);
            }
            busy--;
        });
    while (busy > 0)
        fake::device.complete(1);
    for (std::thread &thread : threads)
        thread.join();
    for (uint32_t server = 0; server < 4; server++)
        assert_int_equal(Additions::word(server), 400);
}

void without_a_ring_all_are_waited_for(void **) {
    fake::device.is_slow = [](const ds_op &) { return true; };
    fake::device.mmap_errno = ENOMEM;
    Additions all(2);
    assert_int_equal(all.attempt(), 0);
    fake::device.mmap_errno = 0;
    assert_int_equal(all.result(1).status, 0);
    assert_int_equal(fake::device.submits.back().patience_ms, 0);
}

}  // namespace

int main() {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const CMUnitTest tests[] = {
        TEST(who_has_ended_is_known_while_others_are_under_way),
        TEST(what_ends_in_time_takes_nothing_from_the_ring),
        TEST(an_end_is_that_of_its_own_attempt),
        TEST(the_time_may_be_over_before),
        TEST(asynchronous_requests_have_their_own_ends),
        TEST(each_thread_gets_its_own),
        TEST(without_a_ring_all_are_waited_for),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
