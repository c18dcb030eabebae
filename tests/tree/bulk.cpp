// SPDX-License-Identifier: Apache-2.0
// Many keys from several processes at once: all found, in order, the tree
// sound, and the round trips of each operation as promised.
//
//   bulk [KEYS [PROCESSES [SERVERS [LOG2]]]]    servers of 2^LOG2 x 16 MiB
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <vector>

#include "pool_file.hpp"

using namespace tree_test;

namespace {

int results = 0;

void result(bool ok, const char *name) {
    std::printf("%s %d - %s\n", ok ? "ok" : "not ok", ++results, name);
    std::fflush(stdout);
}

// A permutation of all 64-bit numbers: different keys from different numbers.
uint64_t key_of(uint64_t n) {
    n = (n ^ n >> 31) * 0x7fb5d329728ea185u;
    n = (n ^ n >> 27) * 0x81dadef4bc2dd44du;
    return n ^ n >> 33;
}
uint64_t value_of(uint64_t key) {
    return ~key * 3;
}

// Puts every `step`-th key from `first` on, some at a time.
void insert(const std::string &path, uint64_t first, uint64_t step, uint64_t keys) {
    Opened opened(path);
    ds_tree *tree = opened.tree(1);
    std::vector<ds_tree_op> ops;
    for (uint64_t n = first; n < keys; n += step) {
        ds_tree_op op{};
        op.opcode = DS_TREE_PUT;
        op.key = key_of(n);
        op.value = value_of(op.key);
        ops.push_back(op);
    }
    NEED(ds_tree_execute(tree, ops.data(), ops.size(), 16));
}

bool insert_from_processes(const std::string &path, uint64_t keys, int processes) {
    for (int i = 0; i < processes; i++)
        if (fork() == 0) {
            insert(path, static_cast<uint64_t>(i), static_cast<uint64_t>(processes), keys);
            _exit(0);
        }
    bool all = true;
    for (int status; wait(&status) > 0;)
        all &= status == 0;
    return all;
}

bool all_found(ds_tree *tree, uint64_t keys) {
    constexpr uint64_t at_once = 4096;
    for (uint64_t from = 0; from < keys; from += at_once) {
        std::vector<ds_tree_op> ops(std::min(at_once, keys - from));
        for (size_t i = 0; i < ops.size(); i++) {
            ops[i].opcode = DS_TREE_GET;
            ops[i].key = key_of(from + i);
        }
        if (ds_tree_execute(tree, ops.data(), ops.size(), 64) < 0)
            return false;
        for (const ds_tree_op &op : ops)
            if (op.value != value_of(op.key))
                return false;
    }
    return true;
}

bool all_in_order(ds_tree *tree, uint64_t keys) {
    std::vector<ds_tree_entry> part(1000);
    uint64_t seen = 0, next = 0;
    for (;;) {
        int n = NEED(ds_tree_scan(tree, next, UINT64_MAX, part.data(), part.size()));
        for (int i = 0; i < n; i++) {
            if (part[i].key < next || part[i].value != value_of(part[i].key))
                return false;
            next = part[i].key + 1;
            seen++;
        }
        if (static_cast<size_t>(n) < part.size() || next == 0)
            return seen == keys;
    }
}

// Round trips of 100 operations that all end with `status`.
uint64_t round_trips(ds_tree *tree, uint32_t opcode, uint64_t first, int status) {
    uint64_t before = counters(tree).round_trips;
    for (uint64_t n = first; n < first + 100; n++) {
        ds_tree_op op{};
        op.opcode = opcode;
        op.key = key_of(n);
        op.value = value_of(op.key);
        if (ds_tree_execute(tree, &op, 1, 1) != status)
            return 0;
    }
    return counters(tree).round_trips - before;
}

void count(ds_tree *tree, uint64_t keys) {
    ds_tree_counts before = counters(tree);
    result(round_trips(tree, DS_TREE_GET, 0, 0) == 100, "a get is one round trip");
    ds_tree_counts after = counters(tree);
    result(after.work_requests - before.work_requests == 100 &&
               after.bytes_in - before.bytes_in == 100 * 1024,
           "of one READ of a node");
    result(round_trips(tree, DS_TREE_GET, keys, -ENOENT) == 100, "a missing key is one");
    before = counters(tree);
    result(round_trips(tree, DS_TREE_UPDATE, 0, 0) == 200, "an update is two");
    after = counters(tree);
    result(after.bytes_out - before.bytes_out == 100 * (16 + 64 + 64 + 16),
           "and writes the line, its image, and the lock word twice");
    result(round_trips(tree, DS_TREE_UPSERT, 0, 0) == 200, "an upsert of a key that is there too");

    std::vector<ds_tree_op> gets(64);
    for (size_t i = 0; i < gets.size(); i++)
        gets[i] = {.opcode = DS_TREE_GET,
                   .status = 0,
                   .outcome = 0,
                   .reserved = 0,
                   .key = key_of(i),
                   .value = 0};
    uint64_t trips = counters(tree).round_trips;
    int rc = ds_tree_execute(tree, gets.data(), gets.size(), 0);
    result(rc == 0 && counters(tree).round_trips - trips == 1,
           "64 gets on all servers are one round trip");
    ds_tree_entry entries[100];
    trips = counters(tree).round_trips;
    int n = ds_tree_scan(tree, key_of(0), UINT64_MAX, entries, 20);
    result(n == 20 && counters(tree).round_trips - trips <= 2, "a scan of 20 keys is one or two");
}

}  // namespace

int main(int argc, char **argv) {
    auto number = [&](int i, uint64_t fallback) {
        return argc > i ? std::strtoull(argv[i], nullptr, 0) : fallback;
    };
    const uint64_t keys = number(1, 40000);
    const int processes = static_cast<int>(number(2, 4));
    PoolFile file(static_cast<uint32_t>(number(3, 4)), static_cast<uint32_t>(number(4, 0)));
    std::printf("1..15\n# %" PRIu64 " keys from %d processes\n", keys, processes);
    std::fflush(stdout);
    {
        Opened opened(file.path());
        NEED(ds_tree_create(opened.space(), 1));
    }
    result(insert_from_processes(file.path(), keys, processes), "all processes put all their keys");

    Opened opened(file.path());
    ds_tree *tree = opened.tree(1);
    result(all_found(tree, keys), "each is found, with its value");
    result(all_in_order(tree, keys), "a scan gives each of them once, in order");
    ds_tree_stats stats;
    result(sound(tree, stats) && stats.keys == keys, "the tree is sound and has so many keys");
    result(stats.unfinished == 0 && stats.locked == 0, "no split is unfinished, no lock is held");
    std::printf("# height %u, %" PRIu64 " leaves, %" PRIu64 " nodes above, %.1f keys a leaf\n",
                stats.height, stats.leaves, stats.inner,
                static_cast<double>(stats.keys) / static_cast<double>(stats.leaves));
    count(tree, keys);
    ds_tree *uncached = opened.tree(1, 0, 0);
    uint64_t gets = round_trips(uncached, DS_TREE_GET, 0, 0);
    result(gets == 100 * stats.height && counters(uncached).cached_bytes == 0,
           "without a cache a get is one for each level");
    result(round_trips(uncached, DS_TREE_UPDATE, 0, 0) == 100 * (stats.height + 1u),
           "and an update one more");
    return 0;
}
