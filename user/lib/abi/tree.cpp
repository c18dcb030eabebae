// SPDX-License-Identifier: Apache-2.0
// ds/tree.h.
#include <ds/tree.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <mutex>

#include "abi/guard.hpp"
#include "btree/tree.hpp"
#include "store/label.hpp"

using namespace ds::btree;
using ds::abi::fill;
using ds::abi::guard;
using ds::abi::take;

struct ds_tree {
    std::mutex lock;  // its calls run one after the other
    std::unique_ptr<Tree> tree;
};

namespace {

Options options_for(const ds_space *space) {
    Options options;
    if (space->timeout_ms)
        options.timeout_ms = space->timeout_ms;
    return options;
}

int make(ds_space *space, uint32_t id, const Options &options, bool format,
         std::unique_ptr<Tree> &tree) {
    if (id == 0 || id > DS_TREE_MAX_ID)
        return -EINVAL;
    std::shared_ptr<Client> client;
    int rc = Client::of(space, format, options.timeout_ms, client);
    if (rc == 0)
        tree = std::make_unique<Tree>(std::move(client), static_cast<uint16_t>(id), options);
    return rc;
}

// Runs one task of the tree to its end.
template <class Start>
int run(Tree &tree, Start &&start) {
    int rc = -ECANCELED;
    bool started = false;
    auto body = [&](Tree &t) -> ds::Task<void> {
        rc = co_await start(t);
        co_await t.help();
    };
    tree.driver().run(1, [&]() -> std::optional<ds::Task<void>> {
        if (std::exchange(started, true))
            return std::nullopt;
        return body(tree);
    });
    return rc;
}

template <class Start>
int run(ds_tree *tree, Start &&start) {
    return guard([&] {
        std::lock_guard lock(tree->lock);
        return run(*tree->tree, std::forward<Start>(start));
    });
}

int one(ds_tree *tree, uint32_t opcode, uint64_t key, uint64_t &value) {
    ds_tree_op op{};
    op.opcode = opcode;
    op.key = key;
    op.value = value;
    int rc = ds_tree_execute(tree, &op, 1, 1);
    if (rc == 0)
        value = op.value;
    return rc;
}

}  // namespace

int ds_tree_create(ds_space *space, uint32_t id) {
    return guard([&] {
        std::unique_ptr<Tree> tree;
        uint64_t store;
        if (int rc = ds::store::read_label(space, store); rc != -ENOENT)
            return rc < 0 ? rc : -EBUSY;
        if (int rc = make(space, id, options_for(space), true, tree); rc < 0)
            return rc;
        return run(*tree, [](Tree &t) { return t.create(); });
    });
}

int ds_tree_list(ds_space *space, ds_tree_info *infos) {
    return guard([&] {
        int count = 0;
        Options options = options_for(space);
        std::shared_ptr<Client> client;  // one for all of them
        if (int rc = Client::of(space, false, options.timeout_ms, client); rc < 0)
            return rc;
        for (uint32_t id = 1; id <= DS_TREE_MAX_ID; id++) {
            Tree tree(client, static_cast<uint16_t>(id), options);
            int rc = run(tree, [](Tree &t) { return t.open(); });
            if (rc == -ENOENT)
                continue;
            if (rc < 0)
                return rc;
            infos[count++] = {.id = id,
                              .height = tree.root().level() + 1,
                              .version = format_version,
                              .reserved = 0,
                              .root = tree.root().addr(client->map())};
        }
        return count;
    });
}

int ds_tree_open(ds_space *space, uint32_t id, const ds_tree_options *options, ds_tree **tree) {
    Options o = options_for(space);
    if (options) {
        ds_tree_options given;
        if (int rc = take(options, given); rc < 0)
            return rc;
        if (given.reserved)
            return -EINVAL;
        o.cache_bytes = given.cache_bytes;
        if (given.lease_ms)
            o.lease_ns = given.lease_ms * 1'000'000ull;
        if (given.timeout_ms)
            o.timeout_ms = given.timeout_ms;
    }
    return guard([&] {
        auto made = std::make_unique<ds_tree>();
        if (int rc = make(space, id, o, false, made->tree); rc < 0)
            return rc;
        int rc = run(*made->tree, [](Tree &t) { return t.open(); });
        if (rc == 0)
            *tree = made.release();
        return rc;
    });
}

void ds_tree_close(ds_tree *tree) {
    delete tree;
}

int ds_tree_get(ds_tree *tree, uint64_t key, uint64_t *value) {
    uint64_t found = 0;
    int rc = one(tree, DS_TREE_GET, key, found);
    if (rc == 0)
        *value = found;
    return rc;
}

int ds_tree_put(ds_tree *tree, uint64_t key, uint64_t value) {
    return one(tree, DS_TREE_PUT, key, value);
}

int ds_tree_update(ds_tree *tree, uint64_t key, uint64_t value) {
    return one(tree, DS_TREE_UPDATE, key, value);
}

int ds_tree_upsert(ds_tree *tree, uint64_t key, uint64_t value) {
    return one(tree, DS_TREE_UPSERT, key, value);
}

int ds_tree_execute(ds_tree *tree, ds_tree_op *ops, size_t count, uint32_t depth) {
    for (size_t i = 0; i < count; i++)
        if (ops[i].opcode < DS_TREE_GET || ops[i].opcode > DS_TREE_UPSERT)
            return -EINVAL;
    if (depth == 0 || depth > DS_TREE_MAX_DEPTH)
        depth = DS_TREE_MAX_DEPTH;
    return guard([&] {
        std::lock_guard lock(tree->lock);
        for (size_t i = 0; i < count; i++) {
            ops[i].status = -ECANCELED;
            ops[i].outcome = DS_NOT_EXECUTED;
        }
        size_t next = 0;
        tree->tree->driver().run(depth, [&]() -> std::optional<ds::Task<void>> {
            if (next == count)
                return std::nullopt;
            return tree->tree->run(ops[next++]);
        });
        for (size_t i = 0; i < count; i++)
            if (ops[i].status < 0)
                return ops[i].status;
        return 0;
    });
}

int ds_tree_scan(ds_tree *tree, uint64_t first, uint64_t last, ds_tree_entry *entries,
                 size_t limit) {
    if (first > last || limit == 0)
        return -EINVAL;
    size_t count = 0;
    std::span<ds_tree_entry> out(entries, std::min<size_t>(limit, INT_MAX));
    int rc = run(tree, [&](Tree &t) { return t.scan(first, last, out, count); });
    return rc < 0 ? rc : static_cast<int>(count);
}

int ds_tree_load(ds_tree *tree, const ds_tree_entry *entries, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (entries[i].key <= entries[i - 1].key)
            return -EINVAL;
    return run(tree, [&](Tree &t) { return t.load({entries, count}); });
}

int ds_tree_check(ds_tree *tree, ds_tree_defect_fn report, void *arg, ds_tree_stats *stats) {
    ds_tree_stats found{};
    if (stats->size < sizeof(stats->size))
        return -EINVAL;
    int rc = run(tree, [&](Tree &t) { return t.check(report, arg, found); });
    fill(stats, found);
    return rc;
}

int ds_tree_counters(ds_tree *tree, ds_tree_counts *counters) {
    std::lock_guard lock(tree->lock);
    const Tree &t = *tree->tree;
    const Counters &c = t.counters();
    return fill(counters, ds_tree_counts{
                              .size = 0,
                              .reserved = 0,
                              .round_trips = c.round_trips,
                              .work_requests = c.work_requests,
                              .bytes_in = c.bytes_in,
                              .bytes_out = c.bytes_out,
                              .lock_retries = c.lock_retries,
                              .torn_retries = c.torn_retries,
                              .stale_retries = c.stale_retries,
                              .splits = c.splits,
                              .helped = c.helped,
                              .recovered = c.recovered,
                              .unfinished = c.unfinished,
                              .cached_nodes = t.cache().size(),
                              .cached_bytes = t.cache().bytes(),
                              .damaged = t.damaged(),
                          });
}
