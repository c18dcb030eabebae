// SPDX-License-Identifier: Apache-2.0
// Batches of tree operations on the local fabric, in one process: what becomes of the others
// when one of them cannot go on.
#include <algorithm>
#include <map>

#include "btree/word.hpp"
#include "user_btree.hpp"

using namespace unit;

namespace {

using ds::btree::LockWord;

constexpr uint32_t silent = 0;

uint32_t server_of(uint64_t addr) {
    return static_cast<uint32_t>((addr - 0x10000000) >> 24);
}

// For how long a client waits with the lock of a node in its hand that is on a server that answers.
class Locks {
public:
    void see(const ds_op &op) {
        if (op.opcode != DS_OP_CAS || server_of(op.addr) == silent)
            return;
        if (op.compare_add == 0 && LockWord{op.swap}.held())
            since_[op.addr] = faults->slept();
        else if (op.swap == 0 && since_.contains(op.addr))
            longest = std::max(longest, faults->slept() - since_[op.addr]), given_back++;
    }
    uint64_t longest = 0;  // ns
    size_t given_back = 0;

private:
    std::map<uint64_t, uint64_t> since_;
};

// Of keys on many leaves, those next to each other too.
std::vector<ds_tree_op> updates(uint64_t count, uint64_t value) {
    std::vector<ds_tree_op> ops(count);
    for (uint64_t i = 0; i < count; i++) {
        ops[i].opcode = DS_TREE_UPDATE;
        ops[i].key = 10 * (i * 37 % count);
        ops[i].value = value;
    }
    return ops;
}

std::optional<End> away(const ds_op &op) {
    if (server_of(op.addr) != silent)
        return std::nullopt;
    return End{-ENOTCONN, DS_NOT_EXECUTED, false};
}

// A server goes away in the middle of a batch. Those whose server answers do not wait for it
// with their locks, which others may want.
void no_lock_is_held_while_another_server_is_away(void **) {
    constexpr size_t count = 200;
    put(0, 10 * count);
    ds_tree *t = open_tree(1, DS_TREE_CACHE_DEFAULT, 1000);
    std::vector<ds_tree_op> ops = updates(count, 1);
    assert_int_equal(ds_tree_execute(t, ops.data(), count, 16), 0);  // the cache is warm

    for (uint32_t depth : {16, 2, 0}) {
        Locks locks;
        faults->hurry = true;
        faults->on_op = [&](const ds_op &op) {
            locks.see(op);
            return away(op);
        };
        ops = updates(count, depth);
        assert_int_equal(ds_tree_execute(t, ops.data(), count, depth), -ENOTCONN);
        faults->on_op = nullptr;
        faults->hurry = false;
        assert_true(locks.given_back > count / 4);
        assert_int_equal(locks.longest, 0);
        for (const ds_tree_op &op : ops) {
            uint64_t value;
            assert_int_equal(ds_tree_get(t, op.key, &value), 0);
            assert_int_equal(op.status == 0, value == depth);
        }
        ops = updates(count, 1);
        assert_int_equal(ds_tree_execute(t, ops.data(), count, 16), 0);
        assert_int_equal(check().locked, 0);
    }
    ds_tree_close(t);
}

}  // namespace

int main() {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const CMUnitTest tests[] = {
        TEST(no_lock_is_held_while_another_server_is_away),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
