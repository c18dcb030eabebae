// SPDX-License-Identifier: Apache-2.0
// Trees when memory runs out, at each allocation in turn: of the one only, and of all from
// there on.
#include <cstdlib>
#include <new>
#include <span>

#include "user_btree.hpp"

using namespace unit;

namespace {

long left = -1;  // allocations that succeed; then
bool for_good;   // one fails, or all do

bool runs_out() {
    if (left < 0 || (left > 0 && left--))
        return false;
    if (!for_good)
        left = -1;
    return true;
}

}  // namespace

void *operator new(size_t bytes) {
    void *at = runs_out() ? nullptr : std::malloc(bytes);
    if (!at)
        throw std::bad_alloc();
    return at;
}
void operator delete(void *at) noexcept {
    std::free(at);
}
void operator delete(void *at, size_t) noexcept {
    std::free(at);
}

namespace {

constexpr size_t count = 100;

// Runs @p call with more and more memory until it has enough. Each time it finds a tree that
// @p prepare has made, and leaves one that is sound; the next call has its locks given back.
void with_little_memory(const std::function<void()> &prepare,
                        const std::function<int(ds_tree *)> &call, int wanted,
                        const std::function<void(int)> &see, long step = 1) {
    for (bool all : {false, true})
        for (long n = 0;; n += step) {
            setup(nullptr);
            prepare();
            ds_tree *poor = open_tree(1, DS_TREE_CACHE_DEFAULT, 2000);
            for_good = all;
            left = n;
            int rc = call(poor);
            const bool enough = left > 0;
            left = -1;
            if (rc != -ENOMEM)
                assert_int_equal(rc, wanted);
            see(rc);
            uint64_t value;
            for (uint64_t key = 0; key < 10 * count; key += 10)
                assert_true(ds_tree_get(poor, key, &value) != -ENOMEM);
            assert_int_equal(ds_tree_upsert(poor, 3, 4), 0);
            check();
            ds_tree_close(poor);
            assert_false(faults->is_under_way());
            assert_int_equal(check().locked, 0);
            teardown(nullptr);
            if (enough) {
                assert_int_equal(rc, wanted);
                break;
            }
        }
}

void nothing() {}
void ignore(int) {}

void a_load(void **) {
    static std::vector<ds_tree_entry> entries(count);
    for (size_t i = 0; i < entries.size(); i++)
        entries[i] = {i, i};
    with_little_memory(
        nothing, [](ds_tree *t) { return ds_tree_load(t, entries.data(), entries.size()); }, 0,
        ignore);
}

// Keys so far apart, all at once.
int puts(ds_tree *t, std::span<ds_tree_op> ops, uint64_t apart) {
    for (size_t i = 0; i < ops.size(); i++) {
        ops[i] = {};
        ops[i].opcode = DS_TREE_PUT;
        ops[i].key = apart * i + 5;
        ops[i].value = 7;
    }
    return ds_tree_execute(t, ops.data(), ops.size(), 0);
}

// Each key is there, or not, as its put said.
void see_puts(std::span<const ds_tree_op> ops) {
    uint64_t value;
    for (const ds_tree_op &op : ops) {
        int rc = ds_tree_get(tree, op.key, &value);
        if (op.status == 0)
            assert_int_equal(rc, 0);
        else if (op.outcome == DS_NOT_EXECUTED)
            assert_int_equal(rc, -ENOENT);
    }
}

void puts_that_split(void **) {
    static ds_tree_op ops[3];
    with_little_memory([] { put(0, 10 * count); }, [](ds_tree *t) { return puts(t, ops, 420); }, 0,
                       [](int) { see_puts(ops); });
}

// The only leaf is split, so there is a new root; right then memory runs out for another one, whose
// leaf cannot be locked for a while. The root is not given to who wants a node later.
void a_new_root(void **) {
    static ds_tree_op ops[2];
    static std::vector<ds_tree_entry> entries(count);
    for (size_t i = 0; i < entries.size(); i++)
        entries[i] = {i, i};
    with_little_memory(
        [] {
            put(0, 420);
            faults->hurry = true;
        },
        [](ds_tree *t) {
            static uint64_t back, leaf;
            back = faults->slept() + 200'000'000;
            leaf = 0;
            faults->on_op = [](const ds_op &op) -> std::optional<End> {
                if (op.opcode != DS_OP_CAS)
                    return std::nullopt;
                if (op.addr == 0x10000400)
                    faults->sleep_until(faults->now_ns() + 20'000'000);
                if ((op.addr & 0xffffff) < 0x10000 || faults->slept() >= back)
                    return std::nullopt;
                leaf = leaf ? leaf : op.addr;
                if (op.addr == leaf)
                    return std::nullopt;
                return End{-ENOTCONN, DS_NOT_EXECUTED, false};
            };
            return puts(t, ops, 410);
        },
        0,
        [](int) {
            if (ds_tree_create(space, 2) == -EEXIST)
                return;
            ds_tree *another = open_tree(2);
            assert_int_equal(ds_tree_load(another, entries.data(), count), 0);
            ds_tree_close(another);
        });
}

// More nodes at a time than a buffer has room for, and many who wait for one of them.
void a_large_batch(void **) {
    static ds_tree_op ops[140];
    with_little_memory([] { put(0, 10 * count); },
                       [](ds_tree *t) {
                           for (size_t i = 0; i < std::size(ops); i++) {
                               ops[i] = {};
                               ops[i].opcode = i % 2 ? DS_TREE_UPDATE : DS_TREE_GET;
                               ops[i].key = i % 2 ? 10 : 10 * (i / 2);
                           }
                           return ds_tree_execute(t, ops, std::size(ops), 0);
                       },
                       0, ignore, 7);
}

// A closed tree left a lock, which the next one gives back.
void giving_back(void **) {
    static ds_tree_op ops[6];
    with_little_memory(
        [] {
            put(0, 10 * count);
            ds_tree *before = open_tree(1, 0, 300);
            leave_a_lock(before, 500);
            ds_tree_close(before);
            faults->on_op = nullptr;
        },
        [](ds_tree *t) {
            for (size_t i = 0; i < std::size(ops); i++) {
                ops[i] = {};
                ops[i].opcode = DS_TREE_GET;
                ops[i].key = 10 * (count / std::size(ops)) * i;
            }
            return ds_tree_execute(t, ops, std::size(ops), 1);
        },
        0, ignore);
}

// For a while one of the servers cannot be reached.
void a_batch_while_a_server_is_away(void **) {
    static ds_tree_op ops[6];
    with_little_memory(
        [] {
            put(0, 10 * count);
            faults->hurry = true;
        },
        [](ds_tree *t) {
            static uint64_t back;
            back = faults->slept() + 20'000'000;
            faults->on_op = [](const ds_op &op) -> std::optional<End> {
                if ((op.addr - 0x10000000) >> 24 == 0 || faults->slept() >= back)
                    return std::nullopt;
                return End{-ENOTCONN, DS_NOT_EXECUTED, false};
            };
            return puts(t, ops, 10 * (count / std::size(ops)));
        },
        0, [](int) { see_puts(ops); });
}

// For a while a leaf does not answer. What is under way outlives its operations.
void a_batch_while_a_leaf_is_silent(void **) {
    static ds_tree_op ops[6];
    static uint64_t leaf;
    with_little_memory(
        [] {
            put(0, 10 * count);
            leaf = leaf_of(5 * count);
            faults->hurry = true;
        },
        [](ds_tree *t) {
            faults->hangs = [](const ds_op &op) { return op.addr / 1024 == leaf / 1024; };
            faults->goes_on = faults->slept() + 20'000'000;
            return puts(t, ops, 10 * (count / std::size(ops)));
        },
        0, [](int) { see_puts(ops); });
}

void a_scan_and_a_check(void **) {
    static std::vector<ds_tree_entry> found(2 * count);
    with_little_memory([] { put(0, 10 * count); },
                       [](ds_tree *t) {
                           ds_tree_stats stats{};
                           stats.size = sizeof(stats);
                           int rc = ds_tree_scan(t, 0, UINT64_MAX, found.data(), found.size());
                           if (rc < 0)
                               return rc;
                           assert_int_equal(rc, count);
                           return ds_tree_check(t, nullptr, nullptr, &stats);
                       },
                       0, ignore);
}

void opening_and_making(void **) {
    with_little_memory(
        nothing,
        [](ds_tree *) {
            ds_tree *made;
            int rc = ds_tree_create(space, 2);
            if (rc == 0)
                rc = ds_tree_open(space, 2, nullptr, &made);
            if (rc < 0)
                return rc;
            rc = ds_tree_put(made, 1, 2);
            ds_tree_close(made);
            return rc;
        },
        0, ignore);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_load),
        cmocka_unit_test(puts_that_split),
        cmocka_unit_test(a_new_root),
        cmocka_unit_test(a_large_batch),
        cmocka_unit_test(giving_back),
        cmocka_unit_test(a_batch_while_a_server_is_away),
        cmocka_unit_test(a_batch_while_a_leaf_is_silent),
        cmocka_unit_test(a_scan_and_a_check),
        cmocka_unit_test(opening_and_making),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
