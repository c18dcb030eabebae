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

// What the pool itself asks: who has which extent.
bool is_of_pool(const ds_op &op) {
    return (op.addr & 0xffffff) < 0x10000;
}

// For how long a client waits with the lock of a node in its hand.
class Locks {
public:
    void see(const ds_op &op) {
        if (op.opcode != DS_OP_CAS || is_of_pool(op))
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
            if (server_of(op.addr) != silent)
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

// One new key for each of many full leaves.
std::vector<ds_tree_op> splits(uint64_t leaves) {
    put(0, 420 * leaves);
    uint64_t value;
    for (uint64_t key = 0; key < 420 * leaves; key += 10)
        assert_int_equal(ds_tree_get(tree, key, &value), 0);  // the cache is warm
    std::vector<ds_tree_op> ops(leaves);
    for (uint64_t i = 0; i < leaves; i++) {
        ops[i].opcode = DS_TREE_PUT;
        ops[i].key = 420 * i + 5;
    }
    return ops;
}

// To get an extent may take long, and what is waited for is not seen by the others.
void no_lock_is_held_while_another_waits_for_the_pool(void **) {
    std::vector<ds_tree_op> ops = splits(200);
    ds_tree *t = open_tree(1, DS_TREE_CACHE_DEFAULT, 1000);
    Locks locks;
    size_t asked = 0;
    faults->hurry = true;
    faults->on_op = [&](const ds_op &op) -> std::optional<End> {
        locks.see(op);
        if (!is_of_pool(op) || server_of(op.addr) != silent)
            return std::nullopt;
        asked++;
        return End{-ENOTCONN, DS_NOT_EXECUTED, false};
    };
    assert_int_equal(ds_tree_execute(t, ops.data(), ops.size(), 16), 0);
    faults->on_op = nullptr;
    faults->hurry = false;
    assert_true(asked > 0);
    assert_true(locks.given_back >= ops.size());
    assert_int_equal(locks.longest, 0);
    assert_int_equal(check().keys, 43 * ops.size());
    ds_tree_close(t);
}

// The new node of a split may be on another server than the leaf that is locked. That one is
// away for a while; a WRITE there ends as @p outcome.
void assert_splits_wait_without_a_lock(enum ds_outcome outcome) {
    constexpr uint64_t ms = 1'000'000;
    std::vector<ds_tree_op> ops = splits(20);
    Locks locks;
    size_t refused = 0;
    faults->hurry = true;
    faults->on_op = [&, back = faults->slept() + 500 * ms](const ds_op &op) -> std::optional<End> {
        if (server_of(op.addr) != silent)
            locks.see(op);
        if (server_of(op.addr) != silent || faults->slept() >= back)
            return std::nullopt;
        const bool write = op.opcode == DS_OP_WRITE;
        refused += write;
        return End{-ENOTCONN, write ? outcome : DS_NOT_EXECUTED, false};
    };
    assert_int_equal(ds_tree_execute(tree, ops.data(), ops.size(), 16), 0);
    faults->on_op = nullptr;
    faults->hurry = false;
    assert_true(refused > 0);
    assert_int_equal(locks.longest, 0);
    assert_int_equal(check().keys, 43 * ops.size());
    assert_int_equal(check().unfinished, 0);
}

void no_lock_is_held_while_a_new_node_cannot_be_written(void **) {
    assert_splits_wait_without_a_lock(DS_NOT_EXECUTED);
}
void no_lock_is_held_while_a_new_node_may_have_been_written(void **) {
    assert_splits_wait_without_a_lock(DS_UNKNOWN);
}

}  // namespace

int main() {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const CMUnitTest tests[] = {
        TEST(no_lock_is_held_while_another_server_is_away),
        TEST(no_lock_is_held_while_another_waits_for_the_pool),
        TEST(no_lock_is_held_while_a_new_node_cannot_be_written),
        TEST(no_lock_is_held_while_a_new_node_may_have_been_written),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
