// SPDX-License-Identifier: Apache-2.0
// What tests of trees in one process share: a local fabric with faults, and a tree in it.
#pragma once

#include <ds/tree.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "btree/node.hpp"
#include "fabric/engine.hpp"
#include "fabric/handles.hpp"
#include "fabric/local_fabric.hpp"
#include "user_cmocka.hpp"
#include "user_fabric_above.hpp"

namespace unit {

using namespace ds::fabric;

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
    std::function<int(uint64_t deadline)> on_fence;
    int fence(const SpaceInfo &space, Owner owner, uint64_t place, uint64_t deadline) override {
        return on_fence ? on_fence(deadline) : below->fence(space, owner, place, deadline);
    }
    bool no_buffers = false;
    int create_buffer(size_t length, int numa_node, BufferInfo &buffer) override {
        return no_buffers ? -ENOMEM : below->create_buffer(length, numa_node, buffer);
    }
    int rest = -ECANCELED;  // of a chain that has broken

    // If it is to be so, time passes without anybody waiting. For one thread.
    bool hurry = false;
    uint64_t slept() const { return slept_; }
    uint64_t now_ns() const override { return below->now_ns() + slept_; }
    void sleep_until(uint64_t ns) override {
        if (!hurry)
            below->sleep_until(ns);
        else if (uint64_t now = now_ns(); ns > now)
            slept_ += ns - now;
    }

    // What is under way to a host that hangs: that executes it when it goes on. Its memory
    // must not be used until then.
    std::function<bool(const ds_op &)> hangs;
    uint64_t goes_on = 0;  // by slept()
    size_t left_under_way = 0;
    bool is_under_way() const { return !under_way_.empty(); }

    void start(std::span<ds_op> ops, std::span<ds_cqe> ends, uint32_t timeout_ms,
               uint32_t patience_ms, Late &late) override {
        if (!is_hanging(ops))
            return execute(ops, ends, timeout_ms);
        UnderWay under_way{{ops.begin(), ops.end()}, {}};
        for (size_t i = 0; i < ops.size(); i++)
            if (hangs(ops[i]))
                under_way.indices.push_back(i);
        under_way_.emplace(&late, std::move(under_way));
        for (size_t i = 0; i < ops.size(); i++)
            if (hangs(ops[i]))
                ends[i] = ended(-EINPROGRESS, DS_UNKNOWN), left_under_way++;
            else
                run_one(ops[i], ends[i], timeout_ms, false);
        slept_ += std::min(goes_on - slept_, patience_ms * uint64_t{1'000'000});
    }

    bool collect(Late &late, std::span<ds_cqe> ends) override {
        if (slept_ < goes_on)
            return false;
        auto ended = under_way_.extract(&late);
        for (size_t i : ended.mapped().indices)
            run_one(ended.mapped().ops[i], ends[i], 1000, false);
        return true;
    }

    void execute(std::span<const ds_op> ops, std::span<ds_cqe> ends, uint32_t ms) override {
        if (is_hanging(ops))
            slept_ = goes_on;
        bool broken = false;
        for (size_t i = 0; i < ops.size(); i++) {
            bool last = !(ops[i].flags & DS_OP_CHAIN);
            run_one(ops[i], ends[i], ms, broken);
            broken = !last && (broken || ends[i].status < 0);
        }
    }

private:
    struct UnderWay {
        std::vector<ds_op> ops;
        std::vector<size_t> indices;
    };
    uint64_t slept_ = 0;
    std::map<Late *, UnderWay> under_way_;

    bool is_in_use(const ds_op &op) const {
        return std::ranges::any_of(under_way_, [&](const auto &entry) {
            return std::ranges::any_of(entry.second.indices, [&](size_t i) {
                const ds_op &late = entry.second.ops[i];
                return op.buf && op.buf == late.buf &&
                       op.buf_offset < late.buf_offset + late.length &&
                       late.buf_offset < op.buf_offset + op.length;
            });
        });
    }

    bool is_hanging(std::span<const ds_op> ops) const {
        return slept_ < goes_on && std::ranges::any_of(ops, hangs);
    }

    void run_one(ds_op op, ds_cqe &end, uint32_t ms, bool broken) {
        std::optional<End> want;
        assert_false(is_in_use(op));
        if (broken)
            want = {rest, DS_NOT_EXECUTED, false};
        else if (on_op)
            want = on_op(op);
        op.flags &= ~DS_OP_CHAIN;
        if (!want || want->happen)
            below->execute({&op, 1}, {&end, 1}, ms);
        if (want)
            end = ended(want->status, want->outcome);
    }
};

inline std::string path;
inline Faulty *faults;
inline ds_fabric *fabric;
inline ds_space *space;
inline ds_tree *tree;

inline ds_tree *open_tree(uint32_t id, uint64_t cache = DS_TREE_CACHE_DEFAULT,
                          uint32_t timeout_ms = 0) {
    ds_tree_options options{};
    options.size = sizeof(options);
    options.cache_bytes = cache;
    options.timeout_ms = timeout_ms;
    options.lease_ms = 20;
    ds_tree *made;
    assert_int_equal(ds_tree_open(space, id, &options, &made), 0);
    return made;
}

inline int setup_with(uint32_t servers) {
    const bool memory = access("/dev/shm", W_OK) == 0;  // where a file costs half as much
    path = (memory ? "/dev/shm/ds-unit-tree-" : "/tmp/ds-unit-tree-") + std::to_string(getpid());
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

inline int setup(void **) {
    return setup_with(2);
}
inline int setup_one(void **) {
    return setup_with(1);
}

inline int teardown(void **) {
    faults->on_op = nullptr;
    ds_tree_close(tree);
    ds_space_close(space);
    ds_fabric_close(fabric);
    unlink(path.c_str());
    return 0;
}

// Another client: a fabric of its own on the same file.
class Other {
public:
    Other() {
        std::string device = DS_LOCAL_PREFIX + path;
        ds_fabric_options options{};
        options.size = sizeof(options);
        options.device = device.c_str();
        assert_int_equal(ds_fabric_open(&options, &fabric_), 0);
        assert_int_equal(ds_space_open(fabric_, 1, DS_ACCESS_ALL, &space_), 0);
    }
    Other(const Other &) = delete;
    Other &operator=(const Other &) = delete;
    ~Other() {
        ds_tree_close(tree_);
        ds_space_close(space_);
        ds_fabric_close(fabric_);
    }
    ds_tree *open(uint32_t lease_ms) {
        ds_tree_options options{};
        options.size = sizeof(options);
        options.lease_ms = lease_ms;
        assert_int_equal(ds_tree_open(space_, 1, &options, &tree_), 0);
        return tree_;
    }

private:
    ds_fabric *fabric_;
    ds_space *space_;
    ds_tree *tree_ = nullptr;
};

inline ds_tree_counts counters() {
    ds_tree_counts counts{};
    counts.size = sizeof(counts);
    assert_int_equal(ds_tree_counters(tree, &counts), 0);
    return counts;
}

inline ds_tree_stats check(int wanted = 0, std::vector<uint64_t> *named = nullptr) {
    ds_tree_stats stats{};
    stats.size = sizeof(stats);
    auto report = [](void *arg, uint64_t addr, const char *) {
        if (arg)
            static_cast<std::vector<uint64_t> *>(arg)->push_back(addr);
    };
    assert_int_equal(ds_tree_check(tree, report, named, &stats), wanted);
    return stats;
}

inline void put(uint64_t from, uint64_t to, uint64_t step = 10) {
    for (uint64_t key = from; key < to; key += step)
        assert_int_equal(ds_tree_put(tree, key, key + 1), 0);
}

// Changes bytes of the memory behind the library's back.
inline void flip(uint64_t addr) {
    ds_buffer *buffer;
    assert_int_equal(ds_buffer_alloc(fabric, 1, -1, &buffer), 0);
    auto *byte = static_cast<uint8_t *>(ds_buffer_data(buffer));
    assert_int_equal(ds_read(space, addr, buffer, 0, 1, 0, nullptr), 0);
    *byte ^= 0x10;
    assert_int_equal(ds_write(space, addr, buffer, 0, 1, 0, nullptr), 0);
    ds_buffer_free(buffer);
}

// Where the leaf of a key is: the READ of a get says it.
inline uint64_t leaf_of(uint64_t key) {
    uint64_t leaf = 0, value;
    faults->on_op = [&](const ds_op &op) {
        leaf = op.addr;
        return std::nullopt;
    };
    assert_int_equal(ds_tree_get(tree, key, &value), 0);
    faults->on_op = nullptr;
    return leaf;
}

// A program that went wrong wrote it: all CRCs are right.
inline void change_head(uint64_t addr, const std::function<void(ds::btree::HeadBody &)> &change) {
    ds_buffer *buffer;
    assert_int_equal(ds_buffer_alloc(fabric, sizeof(ds::btree::Node), -1, &buffer), 0);
    auto *node = static_cast<ds::btree::Node *>(ds_buffer_data(buffer));
    assert_int_equal(ds_read(space, addr, buffer, 0, sizeof(*node), 0, nullptr), 0);
    change(node->head.body);
    ds::btree::seal_head(*node, addr);
    assert_int_equal(ds_write(space, addr, buffer, 0, sizeof(*node), 0, nullptr), 0);
    ds_buffer_free(buffer);
}

// From the moment when @p one has locked the leaf of @p key the server is away.
inline void leave_a_lock(ds_tree *one, uint64_t key) {
    faults->hurry = true;
    faults->on_op = [locked = false](const ds_op &op) mutable -> std::optional<End> {
        if (op.opcode == DS_OP_CAS && !locked)
            return locked = true, std::nullopt;
        if (!locked)
            return std::nullopt;
        return End{-ENOTCONN, DS_NOT_EXECUTED, false};
    };
    assert_int_equal(ds_tree_update(one, key, 3), -ENOTCONN);
}

inline bool is_atomic(const ds_op &op) {
    return op.opcode == DS_OP_CAS || op.opcode == DS_OP_FETCH_ADD;
}

}  // namespace unit
