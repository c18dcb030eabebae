// SPDX-License-Identifier: Apache-2.0
// ds_execute() and its short forms, on the fake device.
#include <ds/ds.h>
#include <ds/rdma.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "user_cmocka.hpp"
#include "user_device.hpp"

namespace {

constexpr uint64_t MiB = 1 << 20;
constexpr uint64_t base = fake::Device::base;

ds_fabric *fabric;
ds_space *space;
ds_buffer *buffer;

int setup(void **) {
    fake::device.reset();
    if (ds_fabric_open(nullptr, &fabric) || ds_space_open(fabric, 1, DS_ACCESS_ALL, &space))
        return -1;
    return ds_buffer_alloc(fabric, 8 * MiB, -1, &buffer);
}

int teardown(void **) {
    ds_buffer_free(buffer);
    ds_space_close(space);
    ds_fabric_close(fabric);
    return 0;
}

ds_operation copy(uint16_t opcode, uint64_t addr, uint64_t length, uint32_t flags = 0) {
    ds_operation op{};
    op.opcode = opcode;
    op.flags = flags;
    op.space = space;
    op.buffer = buffer;
    op.addr = addr;
    op.length = length;
    return op;
}

uint8_t *local() {
    return static_cast<uint8_t *>(ds_buffer_data(buffer));
}

ds_counters counters() {
    ds_counters c{};
    c.size = sizeof(c);
    assert_int_equal(ds_fabric_counters(fabric, &c), 0);
    return c;
}

// The first `times` operations end as told, the others well.
void fail_first(int times, int status, int outcome, bool happen = false) {
    fake::device.on_op = [=](const ds_op &) mutable -> std::optional<fake::End> {
        if (times-- > 0)
            return fake::End{status, outcome, happen};
        return std::nullopt;
    };
}

void moves_bytes(void **) {
    for (int i = 0; i < 64; i++)
        local()[i] = static_cast<uint8_t>(i + 1);
    ds_result r;
    assert_int_equal(ds_write(space, base + 100, buffer, 0, 64, 0, &r), 0);
    assert_int_equal(r.outcome, DS_EXECUTED);
    assert_int_equal(r.length, 64);
    assert_int_equal(r.node, 1);
    assert_int_equal(r.attempts, 1);
    assert_memory_equal(fake::device.memory(base + 100), local(), 64);
    assert_int_equal(ds_read(space, base + 100, buffer, 4096, 64, 0, nullptr), 0);
    assert_memory_equal(local() + 4096, local(), 64);
    assert_int_equal(fake::device.submits[0].timeout_ms, 30000);
    assert_false(fake::device.submits[0].async);
}

void names_of_document_000(void **) {
    ds_buffer *block;
    assert_int_equal(ds_buffer_alloc(fabric, LOCAL_BUFFER_BLOCK_SIZE, -1, &block), 0);
    auto *bytes = static_cast<char *>(ds_buffer_data(block));
    strcpy(bytes + LOCAL_LEAF_BUFFER, "leaf");
    assert_int_equal(rdma_write(space, 0x12200000, 512, block, LOCAL_LEAF_BUFFER), 0);
    assert_int_equal(rdma_read(space, 0x12200000, 512, block, GET_LOCAL_BUFFER(3)), 0);
    assert_string_equal(bytes + 0x30000, "leaf");
    assert_string_equal(reinterpret_cast<char *>(fake::device.memory(0x12200000)), "leaf");
    assert_int_equal(GET_MEMORY_SERVER(0x12200000), 2);
    ds_buffer_free(block);
}

void atomics_give_the_old_value(void **) {
    ds_result r;
    assert_int_equal(ds_fetch_add(space, base, 5, 0, &r), 0);
    assert_int_equal(r.value, 0);
    assert_int_equal(ds_fetch_add(space, base, 5, 0, &r), 0);
    assert_int_equal(r.value, 5);
    assert_int_equal(ds_cas(space, base, 7, 1, 0, &r), 0);
    assert_int_equal(r.value, 10);
    assert_int_equal(ds_cas(space, base, 10, 1, 0, &r), 0);
    assert_int_equal(*reinterpret_cast<uint64_t *>(fake::device.memory(base)), 1);
    assert_int_equal(counters().atomics, 4);
}

void crosses_servers_and_the_limit(void **) {
    uint64_t addr = base + 14 * MiB + 5, length = 6 * MiB + 3;
    for (uint64_t i = 0; i < length; i++)
        local()[i] = static_cast<uint8_t>(i * 7 + (i >> 12));
    ds_result r;
    assert_int_equal(ds_write(space, addr, buffer, 0, length, 0, &r), 0);
    assert_int_equal(r.length, length);
    assert_memory_equal(fake::device.memory(addr), local(), length);
    assert_int_equal(fake::device.submits.size(), 1);
    assert_int_equal(fake::device.submits[0].ops.size(), 7);
    ds_counters c = counters();
    assert_int_equal(c.writes, 1);
    assert_int_equal(c.bytes_written, length);
    assert_int_equal(c.pieces, 7);
    assert_int_equal(c.submits, 1);
}

void hands_over_no_more_than_the_kernel_takes(void **) {
    std::vector<ds_operation> ops(150, copy(DS_OP_READ, base, 8));
    for (size_t i = 0; i < ops.size(); i++)  // chains of five
        ops[i].flags = i % 5 == 4 ? 0 : DS_OP_CHAIN;
    std::vector<ds_result> results(ops.size());
    assert_int_equal(ds_execute(fabric, ops.data(), ops.size(), 0, results.data()), 0);
    size_t total = 0;
    for (auto &submit : fake::device.submits) {
        assert_true(submit.ops.size() <= 64);
        assert_int_equal(submit.ops.size() % 5, 0);
        total += submit.ops.size();
    }
    assert_int_equal(total, 150);
    assert_int_equal(fake::device.submits.size(), 3);
    assert_int_equal(results[149].length, 8);
}

void tries_again_what_did_not_happen(void **) {
    fail_first(3, -ENOTCONN, DS_NOT_EXECUTED);
    ds_result r;
    assert_int_equal(ds_fetch_add(space, base, 1, 0, &r), 0);
    assert_int_equal(r.attempts, 4);
    assert_int_equal(*fake::device.memory(base), 1);
    assert_int_equal(counters().retries, 3);
}

void never_repeats_a_doubtful_atomic(void **) {
    fail_first(1, -ENOTCONN, DS_UNKNOWN, true);
    ds_result r;
    assert_int_equal(ds_fetch_add(space, base, 1, 0, &r), -ENOTCONN);
    assert_int_equal(r.outcome, DS_UNKNOWN);
    assert_int_equal(r.node, 1);
    assert_int_equal(r.attempts, 1);
    assert_int_equal(*fake::device.memory(base), 1);
    assert_int_equal(fake::device.submits.size(), 1);
    assert_int_equal(counters().unknown, 1);

    fail_first(1, -ENOTCONN, DS_UNKNOWN);
    assert_int_equal(ds_cas(space, base, 1, 2, 0, &r), -ENOTCONN);
    assert_int_equal(fake::device.submits.size(), 2);
}

void repeats_a_doubtful_read(void **) {
    fail_first(2, -ENOTCONN, DS_UNKNOWN);
    assert_int_equal(ds_read(space, base, buffer, 0, 8, 0, nullptr), 0);
    assert_int_equal(fake::device.submits.size(), 3);
}

void repeats_a_doubtful_write_only_if_told(void **) {
    fail_first(1, -ENOTCONN, DS_UNKNOWN);
    assert_int_equal(ds_write(space, base, buffer, 0, 8, 0, nullptr), -ENOTCONN);
    assert_int_equal(fake::device.submits.size(), 1);

    fail_first(1, -ENOTCONN, DS_UNKNOWN);
    ds_operation op = copy(DS_OP_WRITE, base, 8, DS_OPERATION_IDEMPOTENT);
    assert_int_equal(ds_execute(fabric, &op, 1, 0, nullptr), 0);
    assert_int_equal(fake::device.submits.size(), 3);
    // The flag is the library's; the kernel does not see it.
    assert_int_equal(fake::device.submits[2].ops[0].flags, 0);
}

void repeats_only_the_pieces_that_failed(void **) {
    int seen = 0;
    fake::device.on_op = [&](const ds_op &) -> std::optional<fake::End> {
        if (++seen == 2 || seen == 4)
            return fake::End{-ENOTCONN, DS_NOT_EXECUTED};
        return std::nullopt;
    };
    memset(local(), 0x5a, 5 * MiB);
    ds_result r;
    assert_int_equal(ds_write(space, base, buffer, 0, 5 * MiB, 0, &r), 0);
    assert_int_equal(r.attempts, 2);
    assert_int_equal(r.length, 5 * MiB);
    assert_int_equal(seen, 7);
    assert_int_equal(fake::device.submits.size(),
                     3);  // the two are not neighbours
    assert_int_equal(fake::device.submits[1].ops[0].addr, base + MiB);
    assert_int_equal(fake::device.submits[2].ops[0].addr, base + 3 * MiB);
    assert_memory_equal(fake::device.memory(base), local(), 5 * MiB);
}

void goes_on_in_a_chain_where_it_stopped(void **) {
    int seen = 0;
    fake::device.on_op = [&](const ds_op &) -> std::optional<fake::End> {
        return ++seen == 2 ? std::optional(fake::End{-ENOTCONN, DS_UNKNOWN}) : std::nullopt;
    };
    ds_operation ops[] = {copy(DS_OP_WRITE, base, 8, DS_OP_CHAIN),
                          copy(DS_OP_READ, base, 8, DS_OP_CHAIN), copy(DS_OP_READ, base, 8)};
    ds_result results[3];
    assert_int_equal(ds_execute(fabric, ops, 3, 0, results), 0);
    assert_int_equal(fake::device.submits[1].ops.size(), 2);
    assert_int_equal(fake::device.submits[1].ops[0].opcode, DS_OP_READ);
    assert_int_equal(results[2].attempts, 2);
}

void gives_up_at_the_deadline(void **) {
    fail_first(1000000, -ENOTCONN, DS_NOT_EXECUTED);
    auto start = std::chrono::steady_clock::now();
    ds_result r;
    assert_int_equal(ds_read(space, base + 16 * MiB, buffer, 0, 8, 500, &r), -ENOTCONN);
    auto took = std::chrono::steady_clock::now() - start;
    assert_true(took < std::chrono::seconds(5));
    assert_int_equal(r.outcome, DS_NOT_EXECUTED);
    assert_int_equal(r.node, 2);
    assert_in_range(r.attempts, 2, 14);  // pauses grow: 1, 2, 4, ... ms
    for (auto &submit : fake::device.submits)
        assert_in_range(submit.timeout_ms, 1, 500);
    assert_int_equal(counters().failed, 1);
}

void says_at_once_what_stays_wrong(void **) {
    fail_first(1000000, -EACCES, DS_NOT_EXECUTED);
    ds_result r;
    assert_int_equal(ds_write(space, base, buffer, 0, 8, 0, &r), -EACCES);
    assert_int_equal(r.attempts, 1);
}

void refuses_before_anything_runs(void **) {
    ds_operation ops[] = {copy(DS_OP_READ, base, 8), copy(DS_OP_READ, base - 1, 8),
                          copy(DS_OP_READ, base, 8)};
    ds_result results[3];
    assert_int_equal(ds_execute(fabric, ops, 3, 0, results), -ERANGE);
    assert_int_equal(results[0].status, -ECANCELED);
    assert_int_equal(results[1].status, -ERANGE);
    assert_int_equal(results[2].status, -ECANCELED);
    assert_int_equal(results[2].outcome, DS_NOT_EXECUTED);
    assert_int_equal(fake::device.submits.size(), 0);
    assert_int_equal(ds_execute(fabric, ops, 0, 0, nullptr), -EINVAL);
    assert_int_equal(ds_read(nullptr, base, buffer, 0, 8, 0, results), -EINVAL);
    assert_int_equal(results[0].status, -EINVAL);
}

void refuses_another_fabrics_objects(void **) {
    ds_buffer *stranger_buffer;
    ds_fabric *stranger;
    assert_int_equal(ds_fabric_open(nullptr, &stranger), 0);
    assert_int_equal(ds_buffer_alloc(stranger, 4096, -1, &stranger_buffer), 0);
    ds_operation op = copy(DS_OP_READ, base, 8);
    op.buffer = stranger_buffer;
    assert_int_equal(ds_execute(fabric, &op, 1, 0, nullptr), -EBADF);
    op = copy(DS_OP_READ, base, 8);
    assert_int_equal(ds_execute(stranger, &op, 1, 0, nullptr), -EBADF);
    ds_buffer_free(stranger_buffer);
    ds_fabric_close(stranger);
}

void failed_calls_say_what_is_known(void **) {
    ds_result r;
    fake::device.submit_errors = {-EINTR};
    assert_int_equal(ds_fetch_add(space, base, 1, 0, &r), -EINTR);
    assert_int_equal(r.outcome, DS_UNKNOWN);
    fake::device.submit_errors = {-EFAULT};
    assert_int_equal(ds_fetch_add(space, base, 1, 0, &r), -EFAULT);
    assert_int_equal(r.outcome, DS_UNKNOWN);
    fake::device.submit_errors = {-ENOMEM};
    assert_int_equal(ds_fetch_add(space, base, 1, 0, &r), -ENOMEM);
    assert_int_equal(r.outcome, DS_NOT_EXECUTED);
}

void many_threads_at_once(void **) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; t++)
        threads.emplace_back([] {
            for (int i = 0; i < 500; i++)
                if (ds_fetch_add(space, base, 1, 0, nullptr))
                    abort();
        });
    for (auto &thread : threads)
        thread.join();
    assert_int_equal(*reinterpret_cast<uint64_t *>(fake::device.memory(base)), 4000);
    assert_int_equal(counters().atomics, 4000);
    assert_int_equal(counters().submits, 4000);
}

}  // namespace

int main() {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const CMUnitTest tests[] = {
        TEST(moves_bytes),
        TEST(names_of_document_000),
        TEST(atomics_give_the_old_value),
        TEST(crosses_servers_and_the_limit),
        TEST(hands_over_no_more_than_the_kernel_takes),
        TEST(tries_again_what_did_not_happen),
        TEST(never_repeats_a_doubtful_atomic),
        TEST(repeats_a_doubtful_read),
        TEST(repeats_a_doubtful_write_only_if_told),
        TEST(repeats_only_the_pieces_that_failed),
        TEST(goes_on_in_a_chain_where_it_stopped),
        TEST(gives_up_at_the_deadline),
        TEST(says_at_once_what_stays_wrong),
        TEST(refuses_before_anything_runs),
        TEST(refuses_another_fabrics_objects),
        TEST(failed_calls_say_what_is_known),
        TEST(many_threads_at_once),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
