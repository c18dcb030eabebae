// SPDX-License-Identifier: Apache-2.0
// Batches of tree operations on the local fabric, in one process: what becomes of the others
// when one of them cannot go on.
#include <algorithm>
#include <map>

#include "btree/word.hpp"
#include "pool/pool.hpp"
#include "user_btree.hpp"

using namespace unit;

namespace {

using ds::btree::LockWord;

constexpr uint32_t silent = 0;

uint32_t server_of(uint64_t addr) {
    return static_cast<uint32_t>((addr - 0x10000000) >> 24);
}

constexpr uint64_t lease = 20'000'000;  // ns, of open_tree()

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

constexpr uint64_t second = 1'000'000'000;

bool is_of_silent(const ds_op &op) {
    return server_of(op.addr) == silent;
}

// From now on, for @p time. Of the other server's locks it is seen how long they are held.
void hang(uint64_t time, Locks &locks) {
    faults->hurry = true;
    faults->left_under_way = 0;
    faults->hangs = is_of_silent;
    faults->goes_on = faults->slept() + time;
    faults->on_op = [&](const ds_op &op) {
        if (!is_of_silent(op))
            locks.see(op);
        return std::nullopt;
    };
}

void go_on() {
    faults->on_op = nullptr;
    faults->hurry = false;
    faults->goes_on = 0;
}

// It answers after all; until then its operations are under way, and their memory is in use.
void no_lock_is_held_while_another_server_is_silent(void **) {
    constexpr size_t count = 200;
    put(0, 10 * count);
    ds_tree *t = open_tree(1);
    std::vector<ds_tree_op> ops = updates(count, 1);
    assert_int_equal(ds_tree_execute(t, ops.data(), count, 16), 0);  // the cache is warm

    for (uint32_t depth : {16, 4, 0}) {
        Locks locks;
        hang(5 * second, locks);
        ops = updates(count, depth);
        assert_int_equal(ds_tree_execute(t, ops.data(), count, depth), 0);
        go_on();
        assert_true(locks.given_back > count / 4);
        assert_true(locks.longest <= lease / 4);
        assert_true(faults->left_under_way > 0);
        for (const ds_tree_op &op : ops) {
            uint64_t value;
            assert_int_equal(ds_tree_get(t, op.key, &value), 0);
            assert_int_equal(value, depth);
        }
        assert_int_equal(check().locked, 0);
    }
    ds_tree_close(t);
}

// The batch ends when its time is over; what is under way does not. Whoever needs that server
// waits no longer than he has time, who does not need it goes on, and who closes the tree waits.
void a_server_may_be_silent_for_longer_than_a_batch(void **) {
    constexpr size_t count = 200;
    put(0, 10 * count);
    ds_tree *t = open_tree(1, DS_TREE_CACHE_DEFAULT, 1000);
    std::vector<ds_tree_op> ops = updates(count, 1);
    assert_int_equal(ds_tree_execute(t, ops.data(), count, 16), 0);
    std::vector<bool> here(count);
    for (size_t i = 0; i < count; i++)
        here[i] = (leaf_of(ops[i].key) - 0x10000000) >> 24 != silent;

    Locks locks;
    hang(20 * second, locks);
    const uint64_t began = faults->slept();
    ops = updates(count, 2);
    assert_int_equal(ds_tree_execute(t, ops.data(), count, 16), -ETIMEDOUT);
    assert_in_range(faults->slept() - began, 1 * second, 12 * second);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ops[i].status, here[i] ? 0 : -ETIMEDOUT);
    assert_true(locks.longest <= lease / 4);
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        if (here[i])
            assert_int_equal(ds_tree_get(t, ops[i].key, &value), 0);
    }
    assert_true(faults->slept() < faults->goes_on);
    ds_tree_close(t);
    assert_true(faults->slept() >= faults->goes_on);
    go_on();
    std::vector<ds_tree_op> again = updates(count, 3);
    assert_int_equal(ds_tree_execute(tree, again.data(), count, 16), 0);
    assert_int_equal(check().locked, 0);
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

// One that does not answer may write the new node much later: only then is the split tried again.
void no_lock_is_held_while_a_new_node_is_being_written(void **) {
    std::vector<ds_tree_op> ops = splits(20);
    Locks locks;
    hang(5 * second, locks);
    // The pool asks as well, and is not meant.
    faults->hangs = [](const ds_op &op) { return is_of_silent(op) && op.opcode == DS_OP_WRITE; };
    for (ds_tree_op &op : ops)  // one at a time: each has a lock of its own
        assert_int_equal(ds_tree_execute(tree, &op, 1, 1), 0);
    go_on();
    assert_true(locks.longest <= lease / 4);
    assert_true(faults->left_under_way > 0);
    assert_int_equal(check().keys, 43 * ops.size());
    assert_int_equal(check().unfinished, 0);
    assert_int_equal(check().locked, 0);
}

// The others are done, and each operation says what became of it.
void a_damaged_leaf_fails_its_own_operations(void **) {
    constexpr size_t count = 200;
    put(0, 10 * count);
    const uint64_t damaged = leaf_of(500) + 64 + 20;
    std::vector<bool> there(count);
    std::vector<ds_tree_op> ops = updates(count, 7);
    for (size_t i = 0; i < count; i++)
        there[i] = leaf_of(ops[i].key) == damaged - 64 - 20;
    flip(damaged);
    assert_int_equal(ds_tree_execute(tree, ops.data(), count, 16), -EBADMSG);
    assert_int_equal(check(-EBADMSG).locked, 0);
    flip(damaged);
    for (size_t i = 0; i < count; i++) {
        uint64_t value;
        assert_int_equal(ops[i].status, there[i] ? -EBADMSG : 0);
        assert_int_equal(ops[i].outcome, there[i] ? DS_NOT_EXECUTED : DS_EXECUTED);
        assert_int_equal(ds_tree_get(tree, ops[i].key, &value), 0);
        assert_int_equal(value, there[i] ? ops[i].key + 1 : 7);
    }
}

void a_full_pool_fails_what_needs_a_node(void **) {
    std::vector<ds_tree_op> ops = splits(40), changes = updates(40, 7);
    ops.insert(ops.end(), changes.begin(), changes.end());
    std::string device = DS_LOCAL_PREFIX + path;
    ds_fabric_options options{};
    options.size = sizeof(options);
    options.device = device.c_str();
    ds_fabric *other;
    ds_space *theirs;
    assert_int_equal(ds_fabric_open(&options, &other), 0);
    assert_int_equal(ds_space_open(other, 1, DS_ACCESS_ALL, &theirs), 0);
    std::unique_ptr<ds::pool::Pool> pool;
    assert_int_equal(ds::pool::Pool::join(theirs, pool), 0);
    ds::pool::NodeAddress node;
    int rc;
    while ((rc = pool->alloc_node(0, node, 0)) == 0)
        ;
    assert_int_equal(rc, -ENOSPC);

    assert_int_equal(ds_tree_execute(tree, ops.data(), ops.size(), 0), -ENOSPC);
    assert_int_equal(check().locked, 0);
    size_t refused = 0;
    for (const ds_tree_op &op : ops) {
        uint64_t value;
        const bool full = op.opcode == DS_TREE_PUT && op.status < 0;
        refused += full;
        assert_int_equal(op.status, full ? -ENOSPC : 0);
        assert_int_equal(op.outcome, full ? DS_NOT_EXECUTED : DS_EXECUTED);
        assert_int_equal(ds_tree_get(tree, op.key, &value), full ? -ENOENT : 0);
    }
    assert_in_range(refused, 40 - 16, 40);  // it has an extent of 16
    assert_int_equal(check().keys, 43 * 40 - refused);
    pool.reset();
    ds_space_close(theirs);
    ds_fabric_close(other);
}

}  // namespace

int main() {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const CMUnitTest tests[] = {
        TEST(no_lock_is_held_while_another_server_is_away),
        TEST(no_lock_is_held_while_another_server_is_silent),
        TEST(a_server_may_be_silent_for_longer_than_a_batch),
        TEST(no_lock_is_held_while_another_waits_for_the_pool),
        TEST(no_lock_is_held_while_a_new_node_cannot_be_written),
        TEST(no_lock_is_held_while_a_new_node_may_have_been_written),
        TEST(no_lock_is_held_while_a_new_node_is_being_written),
        TEST(a_damaged_leaf_fails_its_own_operations),
        cmocka_unit_test_setup_teardown(a_full_pool_fails_what_needs_a_node, setup_one, teardown),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
