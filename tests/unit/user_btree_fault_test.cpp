// SPDX-License-Identifier: Apache-2.0
// Trees on the local fabric, in one process: servers that do not answer, and operations
// of which the fabric does not know whether they happened.
#include <set>

#include "btree/word.hpp"
#include "user_btree.hpp"

using namespace unit;

namespace {

// The n-th atomic ends as unknown, having happened or not; everything works.
void doubtful_atomics_are_found_out(void **) {
    put(0, 42 * 42 * 10);  // all nodes are full
    uint64_t key = 1;
    for (bool happen : {false, true})
        for (int n = 1;; n++) {
            int seen = 0;
            faults->on_op = [&](const ds_op &op) -> std::optional<End> {
                if (!is_atomic(op) || ++seen != n)
                    return std::nullopt;
                return End{-ENOTCONN, DS_UNKNOWN, happen};
            };
            ds_tree_op op{};
            op.opcode = n % 2 ? DS_TREE_PUT : DS_TREE_UPSERT;
            op.key = key;
            op.value = 9;
            key += 1 + (key % 10 == 9);
            int rc = ds_tree_execute(tree, &op, 1, 1);
            faults->on_op = nullptr;
            if (rc < 0) {  // the fault met the pool, which gave up
                assert_int_equal(rc, -ENOTCONN);
                assert_int_equal(op.outcome, DS_NOT_EXECUTED);
                assert_int_equal(ds_tree_put(tree, op.key, 9), 0);
            }
            uint64_t value;
            assert_int_equal(ds_tree_get(tree, op.key, &value), 0);
            ds_tree_stats stats = check();
            assert_int_equal(stats.locked, 0);
            if (seen < n)
                break;
        }
    assert_int_equal(check().unfinished, 0);
}

// A chain goes to the queue pair of its first operation's node. What tells how it
// ended, and who has the lock next, asks there.
void a_chain_stays_with_one_node(void **) {
    uint64_t node = 0;
    bool chained = false;
    size_t chains = 0;
    faults->on_op = [&](const ds_op &op) -> std::optional<End> {
        if (chained)
            assert_int_equal(op.addr / 1024, node);
        node = op.addr / 1024;
        chained = op.flags & DS_OP_CHAIN;
        chains += chained;
        return std::nullopt;
    };
    put(0, 42 * 42 * 10);
    put(5, 2000);
    faults->on_op = nullptr;
    assert_true(chains > 1000);
}

// The connection breaks before the last operation of a split. When it works again another
// client has changed the new node, which was in the tree by then.
void a_chain_that_is_repeated_undoes_nothing(void **) {
    Other other;
    ds_tree *theirs = other.open(5000);
    put(0, 840);  // the pool has a node at hand
    const uint64_t leaf = leaf_of(0);
    int cas = 0;
    bool broken = false;
    faults->on_op = [&](const ds_op &op) -> std::optional<End> {
        if (op.opcode == DS_OP_CAS && op.addr == leaf && ++cas == 2)
            return broken = true, End{-ENOTCONN, DS_UNKNOWN, false};
        if (broken && op.opcode == DS_OP_FETCH_ADD) {
            broken = false;
            uint64_t value;
            assert_int_equal(ds_tree_get(theirs, 410, &value), 0);  // tells the level above
            assert_int_equal(ds_tree_update(theirs, 410, 777), 0);
        }
        return std::nullopt;
    };
    assert_int_equal(ds_tree_put(tree, 5, 6), 0);
    faults->on_op = nullptr;
    assert_int_equal(cas, 3);
    assert_int_equal(counters().splits, 2);
    uint64_t value = 0;
    assert_int_equal(ds_tree_get(tree, 410, &value), 0);
    assert_int_equal(value, 777);
    assert_int_equal(ds_tree_get(tree, 5, &value), 0);
    check();
}

int outcome_of_a_failed_update(ds_tree *t) {
    ds_tree_op op{};
    op.opcode = DS_TREE_UPDATE;
    op.key = 50;
    op.value = 3;
    assert_true(ds_tree_execute(t, &op, 1, 1) < 0);
    return op.outcome;
}

// The server goes away between the lock and the change, and comes back.
void a_lock_that_could_not_be_given_back_is_taken_up_again(void **) {
    put(0, 100);
    ds_tree *quick = open_tree(1, 0, 30);
    bool locked = false;
    faults->on_op = [&](const ds_op &op) -> std::optional<End> {
        if (op.opcode == DS_OP_CAS && !locked)
            return locked = true, std::nullopt;
        if (!locked || op.opcode == DS_OP_READ)
            return std::nullopt;
        return End{-ENOTCONN, op.opcode == DS_OP_WRITE ? DS_NOT_EXECUTED : DS_UNKNOWN, false};
    };
    assert_int_equal(outcome_of_a_failed_update(quick), DS_NOT_EXECUTED);
    faults->on_op = nullptr;
    assert_int_equal(check().locked, 1);
    assert_int_equal(ds_tree_update(tree, 50, 4), 0);  // by another tree of this client
    assert_int_equal(check().locked, 0);
    ds_tree_close(quick);
}

// The WRITE of a new node was given up and comes late. Nobody has the node for something else
// then.
void a_node_that_may_be_written_late_is_not_used(void **) {
    constexpr uint64_t new_node = ds::btree::node_size - ds::btree::lock_size;
    std::vector<ds_tree_entry> entries(200);
    for (uint64_t i = 0; i < entries.size(); i++)
        entries[i] = {i, i};
    std::set<uint64_t> late;
    size_t after = 0, wrong = 0;
    bool away = true;
    put(0, 420);  // a full leaf
    assert_int_equal(ds_tree_create(space, 2), 0);
    ds_tree *quick = open_tree(1, 0, 300), *empty = open_tree(2, 0, 300);
    faults->hurry = true;
    faults->on_op = [&](const ds_op &op) -> std::optional<End> {
        if (op.opcode != DS_OP_WRITE || op.length != new_node)
            return std::nullopt;
        if (away) {
            late.insert(op.addr);
            return End{-ETIMEDOUT, DS_UNKNOWN, false};
        }
        after++;
        wrong += late.contains(op.addr);
        return std::nullopt;
    };
    assert_int_equal(ds_tree_put(quick, 5, 5), -ETIMEDOUT);
    assert_int_equal(late.size(), 1);
    assert_int_equal(ds_tree_load(empty, entries.data(), entries.size()), -ETIMEDOUT);
    assert_in_range(late.size(), 4, 7);
    away = false;
    put(421, 4200);
    ds_tree_close(quick);
    ds_tree_close(empty);
    ds_tree_close(tree);  // others get what is left of the extents
    tree = open_tree(1);
    put(4201, 8000);
    faults->on_op = nullptr;
    faults->hurry = false;
    assert_true(after > 15);
    assert_int_equal(wrong, 0);
}

// To get an extent may take long; others would take who holds a lock meanwhile for dead.
void no_lock_is_held_while_the_pool_takes_an_extent(void **) {
    ds_tree *quick = open_tree(1);
    int taken = 0;
    bool looking = false;
    faults->on_op = [&](const ds_op &op) -> std::optional<End> {
        const bool record = (op.addr & 0xffffff) >= 0xc000 && (op.addr & 0xffffff) < 0x10000;
        if (record && op.opcode == DS_OP_CAS && !looking) {
            looking = true;
            assert_int_equal(check().locked, 0);
            looking = false;
            taken++;
        }
        return std::nullopt;
    };
    for (uint64_t key = 0; key < 100000; key += 10)
        assert_int_equal(ds_tree_put(quick, key, key), 0);
    faults->on_op = nullptr;
    assert_true(taken > 10);
    assert_int_equal(check().keys, 10000);
    assert_int_equal(check().unfinished, 0);
    ds_tree_close(quick);
}

// The server was away for a while. Who so left a lock there lives, and gives it back when the
// server answers, whatever it does there.
void a_lock_that_was_left_is_given_back(void **) {
    put(0, 2000);
    ds_tree *quick = open_tree(1, 0, 300);
    uint64_t value;
    leave_a_lock(quick, 50);
    faults->on_op = nullptr;
    assert_int_equal(check().locked, 1);
    for (uint64_t key = 0; key < 2000; key += 100)
        assert_int_equal(ds_tree_get(quick, key, &value), 0);
    faults->hurry = false;
    assert_int_equal(check().locked, 0);
    ds_tree_close(quick);
}

// The tree that left it is closed, and another one of the same program works on elsewhere.
void a_lock_that_a_closed_tree_left_is_given_back(void **) {
    put(0, 2000);
    ds_tree *quick = open_tree(1, 0, 300);
    const uint64_t leaf = leaf_of(50);
    leave_a_lock(quick, 50);
    ds_tree_close(quick);
    faults->on_op = nullptr;
    faults->hurry = false;
    ds_result word;
    for (uint64_t key = 1000; key < 1500; key += 10)
        assert_int_equal(ds_tree_update(tree, key, key), 0);
    assert_int_equal(ds_fetch_add(space, leaf, 0, 0, &word), 0);
    assert_int_equal(word.value, 0);
}

// 40 splits hold 40 of the 64 rooms of a buffer, and each wants two more.
void without_a_buffer_no_lock_stays_for_ever(void **) {
    constexpr uint64_t leaves = 40, keys = 420 * leaves;
    put(0, keys);
    ds_tree *quick = open_tree(1, DS_TREE_CACHE_DEFAULT, 300);
    uint64_t value;
    for (uint64_t key = 0; key < keys; key += 10)
        assert_int_equal(ds_tree_get(quick, key, &value), 0);
    std::vector<ds_tree_op> puts(leaves);
    for (uint64_t i = 0; i < leaves; i++) {
        puts[i].opcode = DS_TREE_PUT;
        puts[i].key = i * 420 + 5;
    }
    faults->no_buffers = true;
    assert_int_equal(ds_tree_execute(quick, puts.data(), leaves, 0), -ENOMEM);
    faults->no_buffers = false;
    for (uint64_t i = 0; i < leaves; i++) {
        int rc = ds_tree_get(quick, puts[i].key, &value);
        assert_true(rc == -ENOENT || puts[i].outcome != DS_NOT_EXECUTED);
        assert_int_equal(ds_tree_update(quick, i * 420, 3), 0);
    }
    assert_int_equal(check().locked, 0);
    ds_tree_close(quick);
}

// Of an update half of the line was written; then the server was away. As the next holder repairs
// it the server is away again, for the first @p opcode after the lock was taken over.
void assert_repair_goes_on(uint16_t opcode) {
    put(0, 100);
    ds_tree *quick = open_tree(1, 0, 300);
    const uint64_t leaf = leaf_of(50);
    faults->hurry = true;
    uint64_t line = 0;
    faults->on_op = [&](const ds_op &op) -> std::optional<End> {
        if (line)
            return End{-ENOTCONN, DS_NOT_EXECUTED, false};
        if (op.opcode != DS_OP_WRITE || op.addr == leaf + 64 * ds::btree::journal_line)
            return std::nullopt;
        line = op.addr;
        return End{-ENOTCONN, DS_UNKNOWN, true};
    };
    assert_int_equal(ds_tree_update(quick, 50, 3), -ENOTCONN);
    faults->on_op = nullptr;
    flip(line + 63);

    bool taken_over = false;
    faults->on_op = [&](const ds_op &op) -> std::optional<End> {
        taken_over |= op.opcode == DS_OP_CAS && op.addr == leaf && op.compare_add;
        if (!taken_over || op.opcode != opcode)
            return std::nullopt;
        return End{-ENOTCONN, DS_NOT_EXECUTED, false};
    };
    assert_int_equal(ds_tree_update(quick, 50, 4), -ENOTCONN);
    faults->on_op = nullptr;
    faults->hurry = false;

    uint64_t value;
    assert_int_equal(ds_tree_update(tree, 50, 5), 0);
    assert_int_equal(ds_tree_get(tree, 50, &value), 0);
    assert_int_equal(value, 5);
    check();
    ds_tree_close(quick);
}

void a_repair_that_cannot_read_is_done_by_the_next(void **) {
    assert_repair_goes_on(DS_OP_READ);
}
void a_repair_that_cannot_write_is_done_by_the_next(void **) {
    assert_repair_goes_on(DS_OP_WRITE);
}

// It is not the node that was looked for, and its lock cannot be given back.
void a_lock_of_a_wrong_node_that_stays_is_an_error(void **) {
    put(0, 100);
    const uint64_t anchor = 0x10000400, leaf = leaf_of(50);
    ds_result root;
    assert_int_equal(ds_fetch_add(space, anchor, 0, 0, &root), 0);
    const uint64_t wrong = root.value ^ 1ull << 34;  // of another generation
    assert_int_equal(ds_cas(space, anchor, root.value, wrong, 0, nullptr), 0);
    ds_tree *quick = open_tree(1, 0, 50);
    faults->hurry = true;
    int cas = 0;
    faults->on_op = [&](const ds_op &op) -> std::optional<End> {
        cas += op.opcode == DS_OP_CAS;
        if (cas < 2 || op.addr != leaf)
            return std::nullopt;
        return End{-ENOTCONN, DS_NOT_EXECUTED, false};
    };
    assert_int_equal(ds_tree_update(quick, 50, 1), -ENOTCONN);
    faults->on_op = nullptr;
    faults->hurry = false;
    assert_int_equal(ds_cas(space, anchor, wrong, root.value, 0, nullptr), 0);
    assert_int_equal(ds_tree_update(tree, 50, 1), 0);
    ds_tree_close(quick);
}

// The holder is gone. Each call ends before a lease does, but knows what those before it saw.
void a_lease_may_be_longer_than_a_call(void **) {
    put(0, 100);
    const auto dead = ds::btree::LockWord::make(ds::btree::LockWord::change, 5, 1, 9);
    assert_int_equal(ds_cas(space, leaf_of(50), 0, dead.word, 0, nullptr), 0);
    ds_tree_options options{};
    options.size = sizeof(options);
    options.lease_ms = 1000;
    options.timeout_ms = 300;
    ds_tree *quick;
    assert_int_equal(ds_tree_open(space, 1, &options, &quick), 0);
    faults->hurry = true;
    int failed = 0;
    while (failed < 10 && ds_tree_update(quick, 50, 1) == -ETIMEDOUT)
        failed++;
    faults->hurry = false;
    assert_in_range(failed, 2, 4);
    assert_int_equal(check().locked, 0);
    ds_tree_close(quick);
}

// A client is stopped in the middle of an operation, with a lock in its hand. To fence it may
// take longer than a call may last, and others wait for what the caller holds.
void who_fences_waits_less_than_a_lease(void **) {
    constexpr uint64_t ms = 1'000'000;
    Other other;
    other.open(5000);
    put(0, 100);
    const auto theirs = ds::btree::LockWord::make(ds::btree::LockWord::change, 2, 1, 9);
    assert_int_equal(ds_cas(space, leaf_of(50), 0, theirs.word, 0, nullptr), 0);
    ds_tree *quick = open_tree(1, 0, 300);
    int fences = 0;
    faults->hurry = true;
    faults->on_fence = [&](uint64_t deadline) {
        fences++;
        assert_true(deadline < faults->now_ns() + 20 * ms);
        faults->sleep_until(deadline);
        return -ETIMEDOUT;
    };
    const uint64_t start = faults->now_ns();
    assert_int_equal(ds_tree_update(quick, 50, 1), -ETIMEDOUT);
    assert_in_range(faults->now_ns() - start, 300 * ms, 500 * ms);
    assert_true(fences > 1);
    faults->on_fence = nullptr;
    faults->hurry = false;
    assert_int_equal(ds_tree_update(quick, 50, 1), 0);
    ds_tree_close(quick);
}

void a_change_of_which_nobody_knows_is_reported_so(void **) {
    put(0, 100);
    ds_tree *quick = open_tree(1, 0, 30);
    int cas = 0;
    faults->on_op = [&](const ds_op &op) -> std::optional<End> {
        cas += op.opcode == DS_OP_CAS;
        if (is_atomic(op) && cas > 1)
            return End{-ENOTCONN, DS_UNKNOWN, op.opcode == DS_OP_CAS};
        return std::nullopt;
    };
    assert_int_equal(outcome_of_a_failed_update(quick), DS_UNKNOWN);
    faults->on_op = nullptr;
    uint64_t value;
    assert_int_equal(ds_tree_get(tree, 50, &value), 0);
    assert_int_equal(value, 3);
    ds_tree_close(quick);
}

// Without a node for the level above a put succeeds, and others find the key.
void a_split_that_cannot_be_finished_is_finished_later(void **) {
    put(0, 420);
    // The root word cannot be changed for now.
    faults->on_op = [&](const ds_op &op) -> std::optional<End> {
        if (op.opcode == DS_OP_CAS && op.addr == 0x10000400)
            return End{-EREMOTEIO, DS_NOT_EXECUTED, false};
        return std::nullopt;
    };
    put(5, 215);
    faults->on_op = nullptr;
    assert_true(counters().unfinished > 0);
    assert_true(check().unfinished > 0);
    ds_tree *other = open_tree(1);
    uint64_t value;
    for (uint64_t key = 0; key < 420; key += 10)
        assert_int_equal(ds_tree_get(other, key, &value), 0);
    ds_tree_counts counts{};
    counts.size = sizeof(counts);
    assert_int_equal(ds_tree_counters(other, &counts), 0);
    assert_true(counts.helped > 0);
    ds_tree_stats stats = check();
    assert_int_equal(stats.unfinished, 0);
    assert_int_equal(stats.height, 2);
    ds_tree_close(other);
}

// Leaves of which the level above knows nothing, as a client leaves them that dies in a load.
void a_scan_reads_each_leaf_once(void **) {
    constexpr size_t keys = 4000, leaves = 110;
    std::vector<ds_tree_entry> entries(keys), found(keys);
    for (size_t i = 0; i < keys; i++)
        entries[i] = {i, i};
    faults->on_op = [](const ds_op &op) -> std::optional<End> {
        if (op.opcode != DS_OP_CAS || op.addr != 0x10000400)
            return std::nullopt;
        return End{-EREMOTEIO, DS_NOT_EXECUTED, false};
    };
    assert_int_equal(ds_tree_load(tree, entries.data(), keys), 0);
    ds_tree_counts before = counters();
    assert_int_equal(before.unfinished, 1);
    assert_int_equal(ds_tree_scan(tree, 0, UINT64_MAX, found.data(), keys), keys);
    assert_in_range(counters().round_trips - before.round_trips, leaves / 2, 2 * leaves);
    faults->on_op = nullptr;
    for (size_t i = 0; i < keys; i++)
        assert_int_equal(found[i].key, i);
}

// The leaf behind the one that has all that is wanted is on a server that does not answer.
void a_scan_needs_no_leaf_behind_its_end(void **) {
    auto server = [](uint64_t addr) { return (addr - 0x10000000) >> 24; };
    put(0, 2000);
    uint64_t key = 0, value;
    for (uint64_t k = 0; k < 2000; k += 10)
        assert_int_equal(ds_tree_get(tree, k, &value), 0);
    while (server(leaf_of(key)) != 0 || server(leaf_of(key + 10)) != 1)
        key += 10;
    faults->hurry = true;
    faults->on_op = [&](const ds_op &op) -> std::optional<End> {
        if (server(op.addr) == 0)
            return std::nullopt;
        return End{-ENOTCONN, DS_NOT_EXECUTED, false};
    };
    ds_tree_entry found[2];
    assert_int_equal(ds_tree_scan(tree, key, UINT64_MAX, found, 1), 1);
    assert_int_equal(found[0].key, key);
    assert_int_equal(ds_tree_scan(tree, key, UINT64_MAX, found, 2), -ENOTCONN);
    faults->on_op = nullptr;
    faults->hurry = false;
}

// What is asked of a server that does not answer fails in about the time of one
// operation, however many there are; what is asked of others does not.
void a_silent_server_is_waited_for_once(void **) {
    constexpr uint64_t ms = 1'000'000;
    constexpr size_t count = 200;
    put(0, 10 * count);
    ds_tree *t = open_tree(1, DS_TREE_CACHE_DEFAULT, 1000);
    std::vector<ds_tree_op> ops(2 * count);
    for (size_t i = 0; i < count; i++) {
        ops[i].opcode = DS_TREE_GET;
        ops[count + i].opcode = DS_TREE_UPDATE;
        ops[i].key = ops[count + i].key = 10 * i;
    }
    assert_int_equal(ds_tree_execute(t, ops.data(), count, 16), 0);  // the cache is warm

    faults->hurry = true;
    faults->on_op = [](const ds_op &op) -> std::optional<End> {
        if ((op.addr - 0x10000000) >> 24 == 0)
            return std::nullopt;
        return End{-ENOTCONN, DS_NOT_EXECUTED, false};
    };
    uint64_t start = faults->now_ns();
    assert_int_equal(ds_tree_execute(t, ops.data(), ops.size(), 16), -ENOTCONN);
    uint64_t took = faults->now_ns() - start;
    assert_true(took > 800 * ms);
    assert_true(took < 10'000 * ms);
    size_t answered = 0;
    for (const ds_tree_op &op : ops) {
        assert_true(op.status == 0 || (op.status == -ENOTCONN && op.outcome == DS_NOT_EXECUTED));
        answered += op.status == 0;
    }
    assert_true(answered > ops.size() / 4 && answered < 3 * ops.size() / 4);

    // It is back.
    faults->on_op = nullptr;
    assert_int_equal(ds_tree_execute(t, ops.data(), ops.size(), 16), 0);
    faults->hurry = false;
    ds_tree_close(t);
}

// Nobody knows whether the CAS happened, and so it ends at once; what then finds out
// has all its time, as its server may only have been cut off for a while.
void a_doubtful_atomic_is_not_silence(void **) {
    constexpr uint64_t ms = 1'000'000;
    put(0, 100);
    ds_tree *t = open_tree(1, DS_TREE_CACHE_DEFAULT, 5000);
    faults->hurry = true;
    faults->rest = -ECONNRESET;
    uint64_t back = 0;
    faults->on_op = [&](const ds_op &op) -> std::optional<End> {
        if (back == 0 && op.opcode == DS_OP_CAS) {
            back = faults->now_ns() + 3000 * ms;
            return End{-ECONNRESET, DS_UNKNOWN, false};
        }
        if (back == 0 || faults->now_ns() >= back)
            return std::nullopt;
        return End{-ECONNRESET, DS_NOT_EXECUTED, false};
    };
    assert_int_equal(ds_tree_update(t, 50, 5), 0);
    assert_int_not_equal(back, 0);
    faults->on_op = nullptr;
    faults->hurry = false;
    ds_tree_close(t);
}

}  // namespace

int main() {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const CMUnitTest tests[] = {
        TEST(doubtful_atomics_are_found_out),
        TEST(a_chain_stays_with_one_node),
        cmocka_unit_test_setup_teardown(a_chain_that_is_repeated_undoes_nothing, setup_one,
                                        teardown),
        TEST(a_lock_that_could_not_be_given_back_is_taken_up_again),
        TEST(a_node_that_may_be_written_late_is_not_used),
        TEST(no_lock_is_held_while_the_pool_takes_an_extent),
        TEST(a_lock_that_was_left_is_given_back),
        TEST(a_lock_that_a_closed_tree_left_is_given_back),
        TEST(without_a_buffer_no_lock_stays_for_ever),
        TEST(a_repair_that_cannot_read_is_done_by_the_next),
        TEST(a_repair_that_cannot_write_is_done_by_the_next),
        TEST(a_lock_of_a_wrong_node_that_stays_is_an_error),
        TEST(a_lease_may_be_longer_than_a_call),
        TEST(who_fences_waits_less_than_a_lease),
        TEST(a_change_of_which_nobody_knows_is_reported_so),
        TEST(a_split_that_cannot_be_finished_is_finished_later),
        TEST(a_scan_reads_each_leaf_once),
        TEST(a_scan_needs_no_leaf_behind_its_end),
        TEST(a_silent_server_is_waited_for_once),
        TEST(a_doubtful_atomic_is_not_silence),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
