// SPDX-License-Identifier: Apache-2.0
// Trees on the local fabric, in one process: wrong calls, limits, and damage.
#include <ds/tree.hpp>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "user_btree.hpp"

using namespace unit;

namespace {

// ---- Calls ----

void wrong_calls_are_refused(void **) {
    assert_int_equal(ds_tree_create(space, 0), -EINVAL);
    assert_int_equal(ds_tree_create(space, DS_TREE_MAX_ID + 1), -EINVAL);
    assert_int_equal(ds_tree_create(space, 1), -EEXIST);
    ds_tree *other;
    assert_int_equal(ds_tree_open(space, 2, nullptr, &other), -ENOENT);
    assert_int_equal(ds_tree_open(space, 32, nullptr, &other), -EINVAL);
    ds_tree_options options{};
    assert_int_equal(ds_tree_open(space, 1, &options, &other), -EINVAL);
    options.size = sizeof(options);
    options.reserved = 1;
    assert_int_equal(ds_tree_open(space, 1, &options, &other), -EINVAL);

    ds_tree_entry entries[3] = {{1, 0}, {3, 0}, {3, 0}};
    assert_int_equal(ds_tree_scan(tree, 2, 1, entries, 3), -EINVAL);
    assert_int_equal(ds_tree_scan(tree, 1, 1, entries, 0), -EINVAL);
    assert_int_equal(ds_tree_load(tree, entries, 3), -EINVAL);
    std::swap(entries[0], entries[1]);
    assert_int_equal(ds_tree_load(tree, entries, 2), -EINVAL);
    for (uint32_t opcode : {0u, DS_TREE_UPSERT + 1u}) {
        ds_tree_op ops[2]{};
        ops[0].opcode = DS_TREE_PUT;
        ops[1].opcode = opcode;
        assert_int_equal(ds_tree_execute(tree, ops, 2, 0), -EINVAL);
    }
    assert_int_equal(check().keys, 0);  // nothing of it was done
    ds_tree_stats stats{};
    assert_int_equal(ds_tree_check(tree, nullptr, nullptr, &stats), -EINVAL);
    ds_tree_counts counts{};
    assert_int_equal(ds_tree_counters(tree, &counts), -EINVAL);
    assert_int_equal(ds_tree_execute(tree, nullptr, 0, 0), 0);
    assert_int_equal(ds_tree_load(tree, nullptr, 0), 0);
}

void a_space_without_a_pool_has_no_trees(void **) {
    std::string other = path + "-other";
    unlink(other.c_str());
    assert_int_equal(ds_local_create(other.c_str(), nullptr), 0);
    std::string device = DS_LOCAL_PREFIX + other;
    ds_fabric_options options{};
    options.size = sizeof(options);
    options.device = device.c_str();
    ds_fabric *f;
    ds_space *s;
    ds_tree *t;
    ds_tree_info infos[DS_TREE_MAX_ID];
    assert_int_equal(ds_fabric_open(&options, &f), 0);
    assert_int_equal(ds_space_open(f, 1, DS_ACCESS_ALL, &s), 0);
    assert_int_equal(ds_tree_open(s, 1, nullptr, &t), -ENOENT);
    assert_int_equal(ds_tree_list(s, infos), -ENOENT);
    ds_space_close(s);
    ds_fabric_close(f);
    unlink(other.c_str());
}

// The client of the pool has a handle of its own, with all rights; the caller's counts.
void a_handle_that_lacks_a_right_opens_nothing(void **) {
    ds_tree *t;
    ds_tree_info infos[DS_TREE_MAX_ID];
    for (uint32_t lacks : {DS_ACCESS_READ, DS_ACCESS_WRITE, DS_ACCESS_ATOMIC}) {
        ds_space *s;
        assert_int_equal(ds_space_open(fabric, 1, DS_ACCESS_ALL & ~lacks, &s), 0);
        assert_int_equal(ds_tree_open(s, 1, nullptr, &t), -EACCES);
        assert_int_equal(ds_tree_create(s, 2), -EACCES);
        assert_int_equal(ds_tree_list(s, infos), -EACCES);
        ds_space_close(s);
    }
    assert_int_equal(ds_tree_list(space, infos), 1);
}

void keys_and_values_at_their_limits(void **) {
    const uint64_t odd[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, 1ull << 63};
    for (uint64_t key : odd) {
        uint64_t value = 7;
        assert_int_equal(ds_tree_get(tree, key, &value), -ENOENT);
        assert_int_equal(value, 7);
        assert_int_equal(ds_tree_update(tree, key, 1), -ENOENT);
        assert_int_equal(ds_tree_put(tree, key, ~key), 0);
        assert_int_equal(ds_tree_put(tree, key, 1), -EEXIST);
        assert_int_equal(ds_tree_get(tree, key, &value), 0);
        assert_int_equal(value, ~key);
        assert_int_equal(ds_tree_update(tree, key, key), 0);
        assert_int_equal(ds_tree_get(tree, key, &value), 0);
        assert_int_equal(value, key);
    }
    ds_tree_entry found[8];
    assert_int_equal(ds_tree_scan(tree, 0, UINT64_MAX, found, 8), 5);
    assert_int_equal(found[0].key, 0);
    assert_int_equal(found[4].key, UINT64_MAX);
    assert_int_equal(ds_tree_scan(tree, UINT64_MAX, UINT64_MAX, found, 8), 1);
    assert_int_equal(ds_tree_scan(tree, 0, 0, found, 8), 1);
    assert_int_equal(ds_tree_scan(tree, 2, 1ull << 40, found, 8), 0);
    assert_int_equal(ds_tree_scan(tree, 0, UINT64_MAX, found, 2), 2);
    check();
}

void trees_of_a_pool_are_apart(void **) {
    assert_int_equal(ds_tree_create(space, 31), 0);
    ds_tree_info infos[DS_TREE_MAX_ID];
    assert_int_equal(ds_tree_list(space, infos), 2);
    assert_int_equal(infos[0].id, 1);
    assert_int_equal(infos[1].id, 31);
    assert_int_equal(infos[1].height, 1);
    ds_tree *other = open_tree(31);
    put(0, 1000);
    uint64_t value;
    assert_int_equal(ds_tree_get(other, 0, &value), -ENOENT);
    assert_int_equal(ds_tree_put(other, 0, 4), 0);
    assert_int_equal(ds_tree_get(tree, 0, &value), 0);
    assert_int_equal(value, 1);
    ds_tree_close(other);
    assert_int_equal(check().keys, 100);
    assert_int_equal(ds_tree_list(space, infos), 2);
    assert_int_equal(infos[0].height, 2);
}

void a_stale_cache_finds_its_way(void **) {
    ds_tree *other = open_tree(1);
    uint64_t value;
    put(0, 1000);
    for (uint64_t key = 0; key < 1000; key += 10)
        assert_int_equal(ds_tree_get(other, key, &value), 0);
    put(5, 20000);  // splits all that `other` knows
    for (uint64_t key = 5; key < 20000; key += 10)
        assert_int_equal(ds_tree_get(other, key, &value), 0);
    put(20000, 40000);
    std::vector<ds_tree_entry> found(4200);
    assert_int_equal(ds_tree_scan(other, 0, UINT64_MAX, found.data(), found.size()), 4100);
    assert_int_equal(found[4099].key, 39990);
    ds_tree_counts counts{};
    counts.size = sizeof(counts);
    assert_int_equal(ds_tree_counters(other, &counts), 0);
    assert_true(counts.stale_retries > 0);
    assert_int_equal(counts.helped, 0);  // nothing was unfinished
    ds_tree_close(other);
}

// Others have put many keys where this tree knew a few leaves, or one. It does not walk along all
// of theirs.
void an_old_root_is_not_walked_from_for_ever(void **) {
    enum { get, update, scan };
    for (uint64_t cache : {DS_TREE_CACHE_DEFAULT, 0ull})
        for (int call : {get, update, scan}) {
            const uint32_t id = 2 + static_cast<uint32_t>(call) + (cache ? 0 : 3);
            uint64_t value;
            ds_tree_entry found;
            assert_int_equal(ds_tree_create(space, id), 0);
            ds_tree *old = open_tree(id, cache), *busy = open_tree(id);
            for (uint64_t key = 0; key < 20000; key++) {
                assert_int_equal(ds_tree_put(busy, key, key), 0);
                if (key == 100)
                    assert_int_equal(ds_tree_get(old, key, &value), 0);
            }
            ds_tree_counts before{}, after{};
            before.size = after.size = sizeof(before);
            ds_tree_counters(old, &before);
            if (call == get)
                assert_int_equal(ds_tree_get(old, 19999, &value), 0);
            else if (call == update)
                assert_int_equal(ds_tree_update(old, 19999, 1), 0);
            else
                assert_int_equal(ds_tree_scan(old, 19999, 19999, &found, 1), 1);
            ds_tree_counters(old, &after);
            assert_in_range(after.round_trips - before.round_trips, 1, 60);
            ds_tree_close(old);
            ds_tree_close(busy);
        }
}

void the_cache_keeps_its_budget(void **) {
    put(0, 30000);
    ds_tree *small = open_tree(1, 1500);
    uint64_t value;
    for (uint64_t key = 0; key < 30000; key += 10)
        assert_int_equal(ds_tree_get(small, key, &value), 0);
    ds_tree_counts counts{};
    counts.size = sizeof(counts);
    assert_int_equal(ds_tree_counters(small, &counts), 0);
    assert_in_range(counts.cached_bytes, 1, 1500);
    ds_tree_close(small);
}

void a_full_pool_says_so_and_its_space_comes_back(void **) {
    std::vector<ds_tree_entry> entries(600000);  // more than 14336 leaves take
    for (size_t i = 0; i < entries.size(); i++)
        entries[i] = {i, i};
    assert_int_equal(ds_tree_load(tree, entries.data(), entries.size()), -ENOSPC);
    assert_int_equal(check().keys, 0);
    assert_int_equal(ds_tree_load(tree, entries.data(), 100000), 0);
    assert_int_equal(ds_tree_load(tree, entries.data(), 1), -ENOTEMPTY);
    ds_tree_stats stats = check();
    assert_int_equal(stats.keys, 100000);
    assert_int_equal(stats.unfinished, 0);
    uint64_t value;
    assert_int_equal(ds_tree_get(tree, 99999, &value), 0);
    assert_int_equal(value, 99999);
}

void the_same_from_cpp(void **) {
    std::string device = DS_LOCAL_PREFIX + path;
    ds_fabric_options options{};
    options.size = sizeof(options);
    options.device = device.c_str();
    auto other = ds::Fabric::open(&options).or_throw();
    auto pool = other.open_space(1).or_throw();
    assert_int_equal(ds::Tree::create(pool, 1).error().code, EEXIST);
    ds::Tree::create(pool, 2).or_throw();
    assert_int_equal(ds::Tree::list(pool)->size(), 2);
    assert_int_equal(ds::Tree::open(pool, 3).error().code, ENOENT);
    auto mine = ds::Tree::open(pool, 2).or_throw();
    mine.put(1, 10).or_throw();
    mine.upsert(2, 20).or_throw();
    mine.update(2, 21).or_throw();
    assert_int_equal(mine.put(1, 0).error().code, EEXIST);
    assert_int_equal(mine.update(3, 0).error().code, ENOENT);
    assert_int_equal(**mine.get(2), 21);
    assert_false(mine.get(3)->has_value());
    assert_int_equal(mine.scan(0, 9, 9)->size(), 2);
    assert_int_equal(mine.scan(1, 0, 9).error().code, EINVAL);
    assert_true(mine.counters().round_trips > 0);
}

// Threads with a tree each are one client of the pool: they never fence each other.
void threads_work_side_by_side(void **) {
    std::vector<std::thread> threads;
    std::atomic<int> failed{0};
    for (uint64_t t = 0; t < 4; t++)
        threads.emplace_back([&, t] {
            ds_tree *mine = open_tree(1);
            for (uint64_t key = t; key < 4000; key += 4)
                failed += ds_tree_put(mine, key, key) != 0;
            uint64_t value;
            for (uint64_t key = t; key < 4000; key += 4)
                failed += ds_tree_get(tree, key, &value) != 0 || value != key;
            ds_tree_close(mine);
        });
    for (std::thread &thread : threads)
        thread.join();
    assert_int_equal(failed, 0);
    ds_tree_stats stats = check();
    assert_int_equal(stats.keys, 4000);
    assert_int_equal(stats.unfinished, 0);
    assert_int_equal(counters().recovered, 0);
}

// The last tree is closed while another one is opened.
void who_opens_waits_for_who_closes(void **) {
    ds_tree_close(tree);
    for (unsigned i = 0; i < 500; i++) {
        tree = open_tree(1);
        std::atomic<bool> closing{false};
        std::thread closer([&] {
            closing = true;
            ds_tree_close(tree);
        });
        while (!closing)
            std::this_thread::yield();
        for (unsigned spin = 0; spin < i % 100 * 40; spin++)
            __asm__ volatile("");
        ds_tree *mine = nullptr;
        int rc = ds_tree_open(space, 1, nullptr, &mine);
        closer.join();
        ds_tree_close(mine);
        assert_int_equal(rc, 0);
    }
    tree = open_tree(1);
}

// What one put costs, in round trips and operations.
std::pair<uint64_t, uint64_t> cost_of_put(uint64_t key) {
    ds_tree_counts before = counters();
    assert_int_equal(ds_tree_put(tree, key, 0), 0);
    ds_tree_counts after = counters();
    return {after.round_trips - before.round_trips, after.work_requests - before.work_requests};
}

void a_split_costs_what_it_must(void **) {
    put(0, 42 * 10 * 10);  // ten full leaves
    std::set<std::pair<uint64_t, uint64_t>> costs;
    for (uint64_t leaf = 0; leaf < 8; leaf++) {
        uint64_t splits = counters().splits;
        // The left node gets the key in some, the right one in others.
        costs.insert(cost_of_put(leaf * 420 + (leaf / 2 % 2 ? 11 : 401)));
        assert_int_equal(counters().splits, splits + 1);
    }
    const std::set<std::pair<uint64_t, uint64_t>> possible = {{5, 11}, {5, 13}};
    for (auto &cost : costs)
        assert_true(possible.count(cost));
    assert_true(cost_of_put(12) == std::pair(uint64_t{2}, uint64_t{5}));
    ds_tree_counts before = counters();
    assert_int_equal(ds_tree_put(tree, 12, 0), -EEXIST);
    assert_int_equal(ds_tree_update(tree, 13, 0), -ENOENT);
    assert_int_equal(counters().round_trips - before.round_trips, 4);
}

void a_load_writes_many_nodes_a_round_trip(void **) {
    std::vector<ds_tree_entry> entries(42 * 10 * 10);  // a hundred leaves, and those above
    for (uint64_t key = 0; key < entries.size(); key++)
        entries[key] = {key, key};
    ds_tree_counts before = counters();
    assert_int_equal(ds_tree_load(tree, entries.data(), entries.size()), 0);
    assert_true(counters().round_trips - before.round_trips <= 20);
    assert_int_equal(check().unfinished, 0);
}

// Of no entries and of one, too; the tree has a single leaf.
void a_load_is_for_an_empty_tree(void **) {
    const ds_tree_entry entries[2] = {{5, 6}, {7, 8}};
    uint64_t value;
    assert_int_equal(ds_tree_load(tree, nullptr, 0), 0);
    assert_int_equal(ds_tree_load(tree, entries, 1), 0);
    assert_int_equal(ds_tree_get(tree, 5, &value), 0);
    assert_int_equal(value, 6);
    for (size_t n : {0, 1, 2}) {
        assert_int_equal(ds_tree_load(tree, entries, n), -ENOTEMPTY);
        assert_int_equal(ds_tree_load(tree, entries + 1, n / 2), -ENOTEMPTY);
    }
    assert_int_equal(check().keys, 1);
    assert_int_equal(check().locked, 0);
}

// ---- Damage ----

void a_damaged_node_is_named_and_never_returned(void **) {
    put(0, 2000);
    uint64_t value, leaf = leaf_of(0);

    for (uint64_t at : {8ull, 16ull, 40ull, 64ull + 20, 14ull * 64}) {
        flip(leaf + at);
        assert_int_equal(ds_tree_get(tree, 0, &value), -EBADMSG);
        assert_int_equal(counters().damaged, leaf);
        assert_int_equal(ds_tree_update(tree, 0, 1), -EBADMSG);
        ds_tree_entry found[8];
        assert_int_equal(ds_tree_scan(tree, 0, 100, found, 8), -EBADMSG);
        std::vector<uint64_t> named;
        ds_tree_stats stats = check(-EBADMSG, &named);
        assert_int_equal(stats.defects, named.size());
        assert_int_equal(stats.locked, 0);
        assert_true(std::find(named.begin(), named.end(), leaf) != named.end());
        assert_int_equal(ds_tree_get(tree, 1990, &value), 0);  // others are well
        flip(leaf + at);
        assert_int_equal(ds_tree_get(tree, 0, &value), 0);
        assert_int_equal(value, 1);
    }
    assert_int_equal(check().locked, 0);
}

void a_way_to_the_right_has_an_end(void **) {
    using ds::btree::HeadBody;
    put(0, 2000);
    HeadBody first;
    change_head(leaf_of(0), [&](HeadBody &body) { first = body; });
    auto assert_damaged = [&](uint64_t leaf, uint64_t key, auto change) {
        std::vector<ds_tree_entry> found(2000);
        HeadBody whole;
        uint64_t value;
        change_head(leaf, [&](HeadBody &body) { whole = body, change(body); });
        assert_int_equal(ds_tree_scan(tree, 0, UINT64_MAX, found.data(), 2000), -EBADMSG);
        int rc = ds_tree_get(tree, key, &value);
        assert_true(rc == -EBADMSG || rc == -ESTALE);
        rc = ds_tree_update(tree, key, 1);
        assert_true(rc == -EBADMSG || rc == -ESTALE);
        change_head(leaf, [&](HeadBody &body) { body = whole; });
        check();  // the level above was told of nothing
    };
    // The next one is itself; or begins behind its end.
    assert_damaged(leaf_of(first.high), first.high, [&](HeadBody &body) {
        body.high = body.low;
        body.sibling = first.sibling;
    });
    assert_damaged(leaf_of(0), first.high - 1, [](HeadBody &body) { body.high -= 2; });
}

// Sideways there are only nodes of the same level; so a check has an end, too.
void a_check_follows_no_sibling_to_another_level(void **) {
    put(0, 2000);
    ds_result root;
    assert_int_equal(ds_fetch_add(space, 0x10000400, 0, 0, &root), 0);
    const uint64_t leaf = leaf_of(1990);
    const uint64_t wilds[] = {root.value, root.value | 0x3ffull << 50, 1};
    for (uint64_t sibling : wilds) {
        change_head(leaf, [&](ds::btree::HeadBody &body) {
            body.last = 0;
            body.high = UINT64_MAX;
            body.sibling = sibling;
        });
        std::vector<uint64_t> named;
        check(-EBADMSG, &named);
        assert_int_equal(named.size(), 1);
        assert_int_equal(named[0], leaf);
    }
}

void a_root_that_leads_nowhere_is_an_error(void **) {
    uint64_t anchor = 0x10000000 + 0x400;
    uint64_t root;
    ds_result result;
    assert_int_equal(ds_fetch_add(space, anchor, 0, 0, &result), 0);
    root = result.value;
    ds_tree *other;
    const uint64_t wilds[] = {root | 1ull << 54, root + 1, root ^ 1ull << 34, root ^ 1ull << 60};
    for (uint64_t wild : wilds) {
        assert_int_equal(ds_cas(space, anchor, root, wild, 0, nullptr), 0);
        uint64_t value;
        int rc = ds_tree_open(space, 1, nullptr, &other);
        if (rc == 0) {
            rc = ds_tree_get(other, 0, &value);
            ds_tree_close(other);
        }
        assert_true(rc == -EBADMSG || rc == -ESTALE);
        assert_int_equal(ds_cas(space, anchor, wild, root, 0, nullptr), 0);
    }
}

}  // namespace

int main() {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const CMUnitTest tests[] = {
        TEST(wrong_calls_are_refused),
        TEST(a_space_without_a_pool_has_no_trees),
        TEST(a_handle_that_lacks_a_right_opens_nothing),
        TEST(keys_and_values_at_their_limits),
        TEST(trees_of_a_pool_are_apart),
        TEST(a_stale_cache_finds_its_way),
        TEST(an_old_root_is_not_walked_from_for_ever),
        TEST(the_cache_keeps_its_budget),
        TEST(the_same_from_cpp),
        TEST(threads_work_side_by_side),
        TEST(who_opens_waits_for_who_closes),
        TEST(a_split_costs_what_it_must),
        TEST(a_load_writes_many_nodes_a_round_trip),
        TEST(a_load_is_for_an_empty_tree),
        cmocka_unit_test_setup_teardown(a_full_pool_says_so_and_its_space_comes_back, setup_one,
                                        teardown),
        TEST(a_damaged_node_is_named_and_never_returned),
        TEST(a_way_to_the_right_has_an_end),
        TEST(a_check_follows_no_sibling_to_another_level),
        TEST(a_root_that_leads_nowhere_is_an_error),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
