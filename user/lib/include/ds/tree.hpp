// SPDX-License-Identifier: Apache-2.0
// libdsuser for C++20: B+trees in pooled memory. Header only, above ds/tree.h,
// which has the full text on each call.
//
//     auto tree = ds::Tree::open(*space, 1);
//     tree->put(42, 4711).or_throw();
//     for (const ds_tree_entry &entry : tree->scan(0, 100, 10).or_throw())
//         std::cout << entry.key << ' ' << entry.value << '\n';
//
// A tree must not outlive its fabric.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ds/tree.h>
#include <ds/ds.hpp>

namespace ds {

class Tree {
public:
    static Result<void> create(const Space &space, uint32_t id) {
        return detail::outcome(ds_tree_create(space.get(), id));
    }
    /// The trees of a pool, by number.
    static Result<std::vector<ds_tree_info>> list(const Space &space) {
        std::vector<ds_tree_info> infos(DS_TREE_MAX_ID);
        int count = ds_tree_list(space.get(), infos.data());
        if (count < 0)
            return Error::from(count);
        infos.resize(static_cast<size_t>(count));
        return infos;
    }
    static Result<Tree> open(const Space &space, uint32_t id,
                             const ds_tree_options *options = nullptr) {
        ds_tree *handle;
        int rc = ds_tree_open(space.get(), id, options, &handle);
        return rc < 0 ? Result<Tree>(Error::from(rc)) : Result<Tree>(Tree(handle));
    }

    /// Nothing if the key is not there.
    Result<std::optional<uint64_t>> get(uint64_t key) const {
        uint64_t value;
        int rc = ds_tree_get(get(), key, &value);
        if (rc == -ENOENT)
            return std::optional<uint64_t>();
        if (rc < 0)
            return Error::from(rc);
        return std::optional(value);
    }
    /// EEXIST if the key is there.
    Result<void> put(uint64_t key, uint64_t value) const {
        return changed(DS_TREE_PUT, key, value);
    }
    /// ENOENT if the key is not there.
    Result<void> update(uint64_t key, uint64_t value) const {
        return changed(DS_TREE_UPDATE, key, value);
    }
    Result<void> upsert(uint64_t key, uint64_t value) const {
        return changed(DS_TREE_UPSERT, key, value);
    }
    /// Each operation says how it ended.
    Result<void> execute(std::span<ds_tree_op> ops, uint32_t depth = 0) const {
        return detail::outcome(ds_tree_execute(get(), ops.data(), ops.size(), depth));
    }

    /// At most @p limit entries with keys from @p first to @p last, both included.
    Result<std::vector<ds_tree_entry>> scan(uint64_t first, uint64_t last, size_t limit) const {
        std::vector<ds_tree_entry> entries(limit);
        int count = ds_tree_scan(get(), first, last, entries.data(), limit);
        if (count < 0)
            return Error::from(count);
        entries.resize(static_cast<size_t>(count));
        return entries;
    }
    Result<void> load(std::span<const ds_tree_entry> entries) const {
        return detail::outcome(ds_tree_load(get(), entries.data(), entries.size()));
    }

    ds_tree_counts counters() const {
        ds_tree_counts counts{};
        counts.size = sizeof(counts);
        ::ds_tree_counters(get(), &counts);
        return counts;
    }

    ds_tree *get() const { return handle_.get(); }  ///< for the C functions

private:
    explicit Tree(ds_tree *handle) : handle_(handle) {}

    Result<void> changed(uint32_t opcode, uint64_t key, uint64_t value) const {
        ds_tree_op op{};
        op.opcode = opcode;
        op.key = key;
        op.value = value;
        int rc = ds_tree_execute(get(), &op, 1, 1);
        if (rc == 0)
            return {};
        Error error = Error::from(rc);
        error.unknown = op.outcome == DS_UNKNOWN;
        return error;
    }

    detail::Handle<ds_tree, ds_tree_close> handle_;
};

}  // namespace ds
