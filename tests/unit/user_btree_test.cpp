// SPDX-License-Identifier: Apache-2.0
// Trees on the local fabric, in one process: wrong calls, limits, damage, and
// operations of which the fabric does not know whether they happened.
#include <unistd.h>
#include <ds/tree.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "btree/node.hpp"
#include "fabric/engine.hpp"
#include "fabric/handles.hpp"
#include "fabric/local_fabric.hpp"
#include "user_cmocka.hpp"
#include "user_fabric_above.hpp"

using namespace ds::fabric;

namespace {

// How a test wants an operation to end, and whether it happens all the same.
struct End {
    int status;
    enum ds_outcome outcome;
    bool happen;
};

// The local fabric with faults. One operation at a time, so that a chain can end
// anywhere.
class Faulty final : public FabricAbove {
public:
    using FabricAbove::FabricAbove;
    std::function<std::optional<End>(const ds_op &)> on_op;
    int rest = -ECANCELED;  // of a chain that has broken

    // If it is to be so, time passes without anybody waiting. For one thread.
    bool hurry = false;
    uint64_t now_ns() const override { return below->now_ns() + slept_; }
    void sleep_until(uint64_t ns) override {
        if (!hurry)
            below->sleep_until(ns);
        else if (uint64_t now = now_ns(); ns > now)
            slept_ += ns - now;
    }

    void execute(std::span<const ds_op> ops, std::span<ds_cqe> ends, uint32_t ms) override {
        bool broken = false;
        for (size_t i = 0; i < ops.size(); i++) {
            bool last = !(ops[i].flags & DS_OP_CHAIN);
            run_one(ops[i], ends[i], ms, broken);
            broken = !last && (broken || ends[i].status < 0);
        }
    }

private:
    uint64_t slept_ = 0;

    void run_one(ds_op op, ds_cqe &end, uint32_t ms, bool broken) {
        std::optional<End> want;
        op.flags &= ~DS_OP_CHAIN;
        if (broken)
            want = {rest, DS_NOT_EXECUTED, false};
        else if (on_op)
            want = on_op(op);
        if (!want || want->happen)
            below->execute({&op, 1}, {&end, 1}, ms);
        if (want)
            end = ended(want->status, want->outcome);
    }
};

std::string path;
Faulty *faults;
ds_fabric *fabric;
ds_space *space;
ds_tree *tree;

ds_tree *open_tree(uint32_t id, uint64_t cache = DS_TREE_CACHE_DEFAULT, uint32_t timeout_ms = 0) {
    ds_tree_options options{};
    options.size = sizeof(options);
    options.cache_bytes = cache;
    options.timeout_ms = timeout_ms;
    options.lease_ms = 20;
    ds_tree *made;
    assert_int_equal(ds_tree_open(space, id, &options, &made), 0);
    return made;
}

int setup_with(uint32_t servers) {
    path = "/tmp/ds-unit-tree-" + std::to_string(getpid());
    unlink(path.c_str());
    ds_local_options options{};
    options.size = sizeof(options);
    options.servers = servers;
    assert_int_equal(ds_local_create(path.c_str(), &options), 0);
    auto made = std::make_unique<Faulty>(nullptr);
    assert_int_equal(LocalFabric::open(path.c_str(), made->below), 0);
    faults = made.get();
    fabric = new ds_fabric{std::make_shared<Engine>(std::move(made), 65536)};
    assert_int_equal(ds_space_open(fabric, 1, DS_ACCESS_ALL, &space), 0);
    assert_int_equal(ds_tree_create(space, 1), 0);
    tree = open_tree(1);
    return 0;
}

int setup(void **) {
    return setup_with(2);
}
int setup_one(void **) {
    return setup_with(1);
}

int teardown(void **) {
    faults->on_op = nullptr;
    ds_tree_close(tree);
    ds_space_close(space);
    ds_fabric_close(fabric);
    unlink(path.c_str());
    return 0;
}

ds_tree_counts counters() {
    ds_tree_counts counts{};
    counts.size = sizeof(counts);
    assert_int_equal(ds_tree_counters(tree, &counts), 0);
    return counts;
}

ds_tree_stats check(int wanted = 0, std::vector<uint64_t> *named = nullptr) {
    ds_tree_stats stats{};
    stats.size = sizeof(stats);
    auto report = [](void *arg, uint64_t addr, const char *) {
        if (arg)
            static_cast<std::vector<uint64_t> *>(arg)->push_back(addr);
    };
    assert_int_equal(ds_tree_check(tree, report, named, &stats), wanted);
    return stats;
}

void put(uint64_t from, uint64_t to, uint64_t step = 10) {
    for (uint64_t key = from; key < to; key += step)
        assert_int_equal(ds_tree_put(tree, key, key + 1), 0);
}

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
    const std::set<std::pair<uint64_t, uint64_t>> possible = {{4, 11}, {4, 13}, {5, 11}, {5, 13}};
    for (auto &cost : costs)
        assert_true(possible.count(cost));
    assert_true(cost_of_put(12) == std::pair(uint64_t{2}, uint64_t{5}));
    ds_tree_counts before = counters();
    assert_int_equal(ds_tree_put(tree, 12, 0), -EEXIST);
    assert_int_equal(ds_tree_update(tree, 13, 0), -ENOENT);
    assert_int_equal(counters().round_trips - before.round_trips, 4);
}

// ---- Damage ----

// Changes bytes of the memory behind the library's back.
void flip(uint64_t addr) {
    ds_buffer *buffer;
    assert_int_equal(ds_buffer_alloc(fabric, 1, -1, &buffer), 0);
    auto *byte = static_cast<uint8_t *>(ds_buffer_data(buffer));
    assert_int_equal(ds_read(space, addr, buffer, 0, 1, 0, nullptr), 0);
    *byte ^= 0x10;
    assert_int_equal(ds_write(space, addr, buffer, 0, 1, 0, nullptr), 0);
    ds_buffer_free(buffer);
}

// Where the leaf of a key is: the READ of a get says it.
uint64_t leaf_of(uint64_t key) {
    uint64_t leaf = 0, value;
    faults->on_op = [&](const ds_op &op) {
        leaf = op.addr;
        return std::nullopt;
    };
    assert_int_equal(ds_tree_get(tree, key, &value), 0);
    faults->on_op = nullptr;
    return leaf;
}

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

// A program that went wrong wrote it: all CRCs are right.
void change_head(uint64_t addr, const std::function<void(ds::btree::HeadBody &)> &change) {
    ds_buffer *buffer;
    assert_int_equal(ds_buffer_alloc(fabric, sizeof(ds::btree::Node), -1, &buffer), 0);
    auto *node = static_cast<ds::btree::Node *>(ds_buffer_data(buffer));
    assert_int_equal(ds_read(space, addr, buffer, 0, sizeof(*node), 0, nullptr), 0);
    change(node->head.body);
    ds::btree::seal_head(*node, addr);
    assert_int_equal(ds_write(space, addr, buffer, 0, sizeof(*node), 0, nullptr), 0);
    ds_buffer_free(buffer);
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

// ---- Faults of the fabric ----

bool is_atomic(const ds_op &op) {
    return op.opcode == DS_OP_CAS || op.opcode == DS_OP_FETCH_ADD;
}

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
    ds_tree_op op{};
    op.opcode = DS_TREE_UPDATE;
    op.key = 50;
    op.value = 3;
    assert_true(ds_tree_execute(quick, &op, 1, 1) < 0);
    assert_int_equal(op.outcome, DS_NOT_EXECUTED);
    faults->on_op = nullptr;
    assert_int_equal(check().locked, 1);
    assert_int_equal(ds_tree_update(tree, 50, 4), 0);  // by another tree of this client
    assert_int_equal(check().locked, 0);
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
    ds_tree_op op{};
    op.opcode = DS_TREE_UPDATE;
    op.key = 50;
    op.value = 3;
    assert_true(ds_tree_execute(quick, &op, 1, 1) < 0);
    assert_int_equal(op.outcome, DS_UNKNOWN);
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
        TEST(wrong_calls_are_refused),
        TEST(a_space_without_a_pool_has_no_trees),
        TEST(keys_and_values_at_their_limits),
        TEST(trees_of_a_pool_are_apart),
        TEST(a_stale_cache_finds_its_way),
        TEST(the_cache_keeps_its_budget),
        TEST(the_same_from_cpp),
        TEST(threads_work_side_by_side),
        TEST(a_split_costs_what_it_must),
        cmocka_unit_test_setup_teardown(a_full_pool_says_so_and_its_space_comes_back, setup_one,
                                        teardown),
        TEST(a_damaged_node_is_named_and_never_returned),
        TEST(a_way_to_the_right_has_an_end),
        TEST(a_root_that_leads_nowhere_is_an_error),
        TEST(doubtful_atomics_are_found_out),
        TEST(a_lock_that_could_not_be_given_back_is_taken_up_again),
        TEST(a_change_of_which_nobody_knows_is_reported_so),
        TEST(a_split_that_cannot_be_finished_is_finished_later),
        TEST(a_silent_server_is_waited_for_once),
        TEST(a_doubtful_atomic_is_not_silence),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
