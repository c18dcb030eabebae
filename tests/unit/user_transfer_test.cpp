// SPDX-License-Identifier: Apache-2.0
// How operations are divided, and which are run again: Transfer alone.
#include <cerrno>
#include <vector>

#include "fabric/handles.hpp"
#include "fabric/transfer.hpp"
#include "user_cmocka.hpp"

using namespace ds::fabric;

namespace {

constexpr uint64_t MiB = 1 << 20;
constexpr uint64_t base = 0x10000000;
constexpr Limits limits{.node = 0,
                        .max_ops = 64,
                        .max_chain = 4,
                        .max_op_bytes = MiB,
                        .max_msg_bytes = 0,
                        .max_buf_bytes = 0,
                        .features = 0};

ds_space space{nullptr,
               {.handle = 5,
                .number = 1,
                .servers = 4,
                .server_shift = 24,
                .base = base,
                .last = base + 64 * MiB - 1}};
ds_space other_space{nullptr,
                     {.handle = 6,
                      .number = 2,
                      .servers = 4,
                      .server_shift = 24,
                      .base = base,
                      .last = base + 64 * MiB - 1}};
ds_buffer buffer{nullptr, {.handle = 9, .mapped = false, .data = nullptr, .length = 64 * MiB}};

ds_operation copy(uint16_t opcode, uint64_t addr, uint64_t length, uint32_t flags = 0) {
    ds_operation op{};
    op.opcode = opcode;
    op.flags = flags;
    op.space = &space;
    op.buffer = &buffer;
    op.addr = addr;
    op.length = length;
    return op;
}

ds_operation atomic(uint16_t opcode, uint64_t addr, uint32_t flags = 0) {
    ds_operation op = copy(opcode, addr, 8, flags);
    op.buffer = nullptr;
    return op;
}

int plan(Transfer &t, std::vector<ds_operation> ops, size_t *wrong = nullptr) {
    size_t ignored;
    return t.plan(nullptr, limits, ops, wrong ? *wrong : ignored);
}

void refuses(int errno_value, std::vector<ds_operation> ops, size_t expected_wrong) {
    Transfer t;
    size_t wrong = 99;
    assert_int_equal(plan(t, ops, &wrong), -errno_value);
    assert_int_equal(wrong, expected_wrong);
}

ds_cqe end(int status, int outcome, uint64_t value = 0, uint32_t length = 0) {
    ds_cqe e{};
    e.status = status;
    e.outcome = static_cast<uint8_t>(outcome);
    e.value = value;
    e.length = length;
    e.node = 3;
    return e;
}

constexpr ds_opcode Read = DS_OP_READ, Write = DS_OP_WRITE;

// ---- What is refused ----

void refuses_bad_operations(void **) {
    refuses(EINVAL, {}, 0);
    refuses(EOPNOTSUPP, {copy(4, base, 1)}, 0);
    refuses(EOPNOTSUPP, {copy(Read, base, 1, 1u << 5)}, 0);
    refuses(EOPNOTSUPP, {copy(Read, base, 1, 1u << 31)}, 0);

    ds_operation op = copy(Read, base, 1);
    op.space = nullptr;
    refuses(EINVAL, {op}, 0);
    op = copy(Read, base, 1);
    op.buffer = nullptr;
    refuses(EINVAL, {op}, 0);
    refuses(EINVAL, {copy(Read, base, 0)}, 0);

    op = atomic(DS_OP_CAS, base);
    op.buffer = &buffer;
    refuses(EINVAL, {op}, 0);
    op = atomic(DS_OP_CAS, base);
    op.length = 4;
    refuses(EINVAL, {op}, 0);
    refuses(EINVAL, {atomic(DS_OP_FETCH_ADD, base + 4)}, 0);
    refuses(EINVAL, {atomic(DS_OP_CAS, base, DS_OPERATION_IDEMPOTENT)}, 0);
}

void refuses_ranges_outside_of_the_space(void **) {
    refuses(ERANGE, {copy(Read, base - 1, 1)}, 0);
    refuses(ERANGE, {copy(Read, 0, 1)}, 0);
    refuses(ERANGE, {copy(Read, base + 64 * MiB, 1)}, 0);
    refuses(ERANGE, {copy(Read, base + 64 * MiB - 1, 2)}, 0);
    refuses(ERANGE, {copy(Read, UINT64_MAX, 1)}, 0);
    ds_operation op = copy(Read, base, 1);
    refuses(ERANGE, {op, copy(Read, base - 1, 1)}, 1);

    Transfer t;
    assert_int_equal(plan(t, {copy(Read, base + 64 * MiB - 1, 1)}), 0);
}

void refuses_ranges_outside_of_the_buffer(void **) {
    ds_operation op = copy(Read, base, 2);
    op.buffer_offset = 64 * MiB - 1;
    refuses(EINVAL, {op}, 0);
    op.buffer_offset = UINT64_MAX;
    refuses(EINVAL, {op}, 0);
    refuses(EINVAL, {copy(Read, base, UINT64_MAX)}, 0);
    op.buffer_offset = 64 * MiB - 2;
    Transfer t;
    assert_int_equal(plan(t, {op}), 0);
}

void refuses_bad_chains(void **) {
    // Without an end; over two servers; in two spaces; too long.
    refuses(EINVAL, {copy(Read, base, 1), copy(Read, base, 1, DS_OP_CHAIN)}, 1);
    refuses(EINVAL, {copy(Read, base, 1, DS_OP_CHAIN), copy(Read, base + 16 * MiB, 1)}, 0);
    refuses(EINVAL, {copy(Read, base, 1, DS_OP_CHAIN), copy(Read, base + 16 * MiB - 1, 2)}, 0);
    ds_operation elsewhere = copy(Read, base, 1);
    elsewhere.space = &other_space;
    refuses(EINVAL, {copy(Read, base, 1, DS_OP_CHAIN), elsewhere}, 0);
    refuses(E2BIG, {copy(Read, base, 4 * MiB, DS_OP_CHAIN), copy(Read, base, 1)}, 0);

    Transfer t;
    assert_int_equal(plan(t, {copy(Read, base, 3 * MiB, DS_OP_CHAIN), copy(Read, base, 1)}), 0);
}

// ---- Division ----

void leaves_small_operations_alone(void **) {
    Transfer t;
    ds_operation op = copy(Write, base + 64, 4096, DS_OP_FENCE);
    op.lane = 3;
    op.buffer_offset = 128;
    assert_int_equal(plan(t, {op}), 0);
    assert_int_equal(t.pieces(), 1);
    const ds_op &piece = t.ops(0, 1)[0];
    assert_int_equal(piece.opcode, DS_OP_WRITE);
    assert_int_equal(piece.flags, DS_OP_FENCE);
    assert_int_equal(piece.lane, 3);
    assert_int_equal(piece.space, 5);
    assert_int_equal(piece.buf, 9);
    assert_int_equal(piece.addr, base + 64);
    assert_int_equal(piece.length, 4096);
    assert_int_equal(piece.buf_offset, 128);
    assert_int_equal(piece.reserved, 0);
}

void carries_the_operands_of_atomics(void **) {
    Transfer t;
    ds_operation op = atomic(DS_OP_CAS, base + 8);
    op.compare_add = 0x1122334455667788;
    op.swap = 0x99aabbccddeeff00;
    assert_int_equal(plan(t, {op}), 0);
    const ds_op &piece = t.ops(0, 1)[0];
    assert_int_equal(piece.buf, 0);
    assert_int_equal(piece.length, 8);
    assert_int_equal(piece.compare_add, 0x1122334455667788);
    assert_int_equal(piece.swap, 0x99aabbccddeeff00);
}

void divides_where_a_server_ends(void **) {
    Transfer t;
    ds_operation op = copy(Read, base + 16 * MiB - 100, 300);
    op.buffer_offset = 1000;
    assert_int_equal(plan(t, {op}), 0);
    assert_int_equal(t.pieces(), 2);
    assert_int_equal(t.parts().size(), 2);
    auto pieces = t.ops(0, 2);
    assert_int_equal(pieces[0].addr, base + 16 * MiB - 100);
    assert_int_equal(pieces[0].length, 100);
    assert_int_equal(pieces[0].buf_offset, 1000);
    assert_int_equal(pieces[0].flags, 0);
    assert_int_equal(pieces[1].addr, base + 16 * MiB);
    assert_int_equal(pieces[1].length, 200);
    assert_int_equal(pieces[1].buf_offset, 1100);
}

void divides_what_is_longer_than_the_limit(void **) {
    Transfer t;
    // Two servers, and a last piece that is shorter.
    assert_int_equal(plan(t, {copy(Write, base + 14 * MiB + 512, 4 * MiB)}), 0);
    uint64_t at = base + 14 * MiB + 512, offset = 0;
    std::vector<uint32_t> lengths;
    for (const ds_op &piece : t.ops(0, static_cast<uint32_t>(t.pieces()))) {
        assert_int_equal(piece.addr, at);
        assert_int_equal(piece.buf_offset, offset);
        at += piece.length;
        offset += piece.length;
        lengths.push_back(piece.length);
    }
    assert_int_equal(offset, 4 * MiB);
    std::vector<uint32_t> expected{MiB, MiB - 512, MiB, MiB, 512};
    assert_true(lengths == expected);
    assert_int_equal(t.parts().size(), 5);
}

void keeps_the_pieces_of_a_chain_in_the_chain(void **) {
    Transfer t;
    assert_int_equal(
        plan(t, {copy(Read, base, 10), copy(Write, base, 2 * MiB + 1, DS_OP_CHAIN | DS_OP_FENCE),
                 atomic(DS_OP_CAS, base + 8, DS_OP_FENCE), copy(Read, base, 20)}),
        0);
    assert_int_equal(t.parts().size(), 3);
    assert_int_equal(t.parts()[1].first, 1);
    assert_int_equal(t.parts()[1].count, 4);
    auto chain = t.ops(1, 4);
    assert_int_equal(chain[0].flags, DS_OP_CHAIN | DS_OP_FENCE);
    assert_int_equal(chain[1].flags, DS_OP_CHAIN);
    assert_int_equal(chain[2].flags, DS_OP_CHAIN);
    assert_int_equal(chain[2].length, 1);
    assert_int_equal(chain[3].flags, DS_OP_FENCE);
    assert_int_equal(chain[3].opcode, DS_OP_CAS);
}

// ---- Running again ----

bool again(Transfer &t, std::vector<ds_cqe> ends) {
    std::copy(ends.begin(), ends.end(), t.ends(0, static_cast<uint32_t>(ends.size())).begin());
    return t.may_rerun(t.parts()[0]);
}

bool single(ds_operation op, ds_cqe e) {
    Transfer t;
    assert_int_equal(plan(t, {op}), 0);
    return again(t, {e});
}

void runs_again_by_outcome_and_opcode(void **) {
    const ds_operation read = copy(Read, base, 8);
    const ds_operation write = copy(Write, base, 8);
    const ds_operation safe_write = copy(Write, base, 8, DS_OPERATION_IDEMPOTENT);
    const ds_operation cas = atomic(DS_OP_CAS, base);
    const ds_operation add = atomic(DS_OP_FETCH_ADD, base);

    for (const ds_operation &op : {read, write, safe_write, cas, add}) {
        assert_false(single(op, end(0, DS_EXECUTED)));
        assert_true(single(op, end(-ENOTCONN, DS_NOT_EXECUTED)));
        assert_true(single(op, end(-ENODEV, DS_NOT_EXECUTED)));
        // What stays wrong is not tried again.
        assert_false(single(op, end(-EACCES, DS_NOT_EXECUTED)));
        assert_false(single(op, end(-ERANGE, DS_NOT_EXECUTED)));
        assert_false(single(op, end(-EREMOTEIO, DS_NOT_EXECUTED)));
    }
    assert_true(single(read, end(-ENOTCONN, DS_UNKNOWN)));
    assert_false(single(write, end(-ENOTCONN, DS_UNKNOWN)));
    assert_true(single(safe_write, end(-ENOTCONN, DS_UNKNOWN)));
    assert_false(single(cas, end(-ENOTCONN, DS_UNKNOWN)));
    assert_false(single(add, end(-ENOTCONN, DS_UNKNOWN)));
    assert_false(single(safe_write, end(-EREMOTEIO, DS_UNKNOWN)));
    // An outcome that this library does not know is treated as DS_UNKNOWN.
    assert_false(single(cas, end(-ENOTCONN, 77)));
    assert_true(single(read, end(-ENOTCONN, 77)));
}

void takes_a_chain_up_where_it_stopped(void **) {
    Transfer t;
    assert_int_equal(plan(t, {copy(Write, base, 8, DS_OP_CHAIN), copy(Read, base, 8, DS_OP_CHAIN),
                              atomic(DS_OP_CAS, base)}),
                     0);
    assert_true(again(
        t, {end(0, DS_EXECUTED), end(-ENOTCONN, DS_UNKNOWN), end(-ECANCELED, DS_NOT_EXECUTED)}));
    assert_int_equal(t.parts()[0].first, 1);
    assert_int_equal(t.parts()[0].count, 2);
    assert_false(again(t, {end(0, DS_EXECUTED), end(0, DS_EXECUTED), end(0, DS_EXECUTED)}));
    assert_int_equal(t.result(2).status, 0);
}

void leaves_a_chain_alone_that_has_a_doubtful_operation(void **) {
    ds_cqe executed = end(0, DS_EXECUTED), doubtful = end(-ENOTCONN, DS_UNKNOWN),
           not_run = end(-ECANCELED, DS_NOT_EXECUTED);
    // CAS, READ: the READ alone must not run again after a CAS that nobody knows.
    Transfer lock;
    plan(lock, {atomic(DS_OP_CAS, base, DS_OP_CHAIN), copy(Read, base, 8)});
    assert_false(again(lock, {doubtful, doubtful}));
    Transfer lock2;
    plan(lock2, {atomic(DS_OP_CAS, base, DS_OP_CHAIN), copy(Read, base, 8)});
    assert_false(again(lock2, {doubtful, not_run}));
    // READ, CAS: nor the READ before it.
    Transfer read_first;
    plan(read_first, {copy(Read, base, 8, DS_OP_CHAIN), atomic(DS_OP_CAS, base)});
    assert_false(again(read_first, {doubtful, doubtful}));
    // WRITE, unlock: the unlock must not run if the WRITE may be lost.
    Transfer unlock;
    plan(unlock, {copy(Write, base, 8, DS_OP_CHAIN), atomic(DS_OP_CAS, base)});
    assert_false(again(unlock, {doubtful, not_run}));
    Transfer safe;
    plan(safe,
         {copy(Write, base, 8, DS_OP_CHAIN | DS_OPERATION_IDEMPOTENT), atomic(DS_OP_CAS, base)});
    assert_true(again(safe, {doubtful, not_run}));
    // Nonsense from below: an operation ran behind one that did not.
    Transfer odd;
    plan(odd, {copy(Read, base, 8, DS_OP_CHAIN), atomic(DS_OP_CAS, base)});
    assert_false(again(odd, {not_run, executed}));
}

// ---- Results ----

ds_result result_of(std::vector<ds_cqe> ends) {
    Transfer t;
    plan(t, {copy(Read, base, ends.size() * MiB)});
    std::copy(ends.begin(), ends.end(), t.ends(0, static_cast<uint32_t>(ends.size())).begin());
    return t.result(0);
}

void adds_the_pieces_up(void **) {
    ds_cqe ok = end(0, DS_EXECUTED, 0, MiB);
    ds_result r = result_of({ok, ok, ok});
    assert_int_equal(r.status, 0);
    assert_int_equal(r.outcome, DS_EXECUTED);
    assert_int_equal(r.length, 3 * MiB);
    assert_int_equal(r.node, 3);

    r = result_of({end(-ENOTCONN, DS_NOT_EXECUTED), end(-EIO, DS_NOT_EXECUTED)});
    assert_int_equal(r.status, -ENOTCONN);
    assert_int_equal(r.outcome, DS_NOT_EXECUTED);
    assert_int_equal(r.length, 0);

    // In part it happened: as a whole nobody can say yes or no.
    r = result_of({ok, end(-EIO, DS_NOT_EXECUTED)});
    assert_int_equal(r.status, -EIO);
    assert_int_equal(r.outcome, DS_UNKNOWN);
    assert_int_equal(r.length, MiB);

    r = result_of({ok, end(-ENOTCONN, DS_UNKNOWN), ok});
    assert_int_equal(r.outcome, DS_UNKNOWN);
    assert_int_equal(r.length, 2 * MiB);
}

void gives_the_old_value_of_atomics(void **) {
    Transfer t;
    plan(t, {atomic(DS_OP_FETCH_ADD, base)});
    t.ends(0, 1)[0] = end(0, DS_EXECUTED, 41, 8);
    assert_int_equal(t.result(0).value, 41);
    t.ends(0, 1)[0] = end(-ENOTCONN, DS_UNKNOWN, 41, 0);
    assert_int_equal(t.result(0).value, 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(refuses_bad_operations),
        cmocka_unit_test(refuses_ranges_outside_of_the_space),
        cmocka_unit_test(refuses_ranges_outside_of_the_buffer),
        cmocka_unit_test(refuses_bad_chains),
        cmocka_unit_test(leaves_small_operations_alone),
        cmocka_unit_test(carries_the_operands_of_atomics),
        cmocka_unit_test(divides_where_a_server_ends),
        cmocka_unit_test(divides_what_is_longer_than_the_limit),
        cmocka_unit_test(keeps_the_pieces_of_a_chain_in_the_chain),
        cmocka_unit_test(runs_again_by_outcome_and_opcode),
        cmocka_unit_test(takes_a_chain_up_where_it_stopped),
        cmocka_unit_test(leaves_a_chain_alone_that_has_a_doubtful_operation),
        cmocka_unit_test(adds_the_pieces_up),
        cmocka_unit_test(gives_the_old_value_of_atomics),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
