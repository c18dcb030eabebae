// SPDX-License-Identifier: Apache-2.0
// The verbs of 'dsctl tree', and what they share: a tree of a space, opened.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ds/tree.h>

#include "remote.hpp"

namespace dsctl {

// What -EINVAL says, as numbers and options are looked at before the library is asked.
inline constexpr const char *other_pool = "the space holds no pool of its servers";
inline constexpr const char *other_pool_remedy =
    "attach all servers of the pool, in their order and size, or use a space that is all zeros";

// The errors of ds/tree.h in words, with the servers that do not answer; what is what
// was tried, as "get of key 5".
Error tree_error(const Remote &remote, int rc, uint32_t id, const std::string &what);

// The tree --tree of the space --space.
class TreeHandle {
public:
    explicit TreeHandle(const Call &call);

    uint32_t id() const { return id_; }
    ds_tree *get() const { return tree_.get(); }
    ds_tree_counts counts() const;

    // Throws unless rc is at least 0.
    int need(int rc, const std::string &what) const;

    // Runs operations, depth at a time, with a look at progress now and then. Ends
    // early at an interrupt, or when one fails that is not answered by "it is
    // (not) there"; what has not run keeps its status.
    void run(std::span<ds_tree_op> ops, uint32_t depth,
             const std::function<void(size_t done)> &progress) const;

private:
    Remote remote_;
    uint32_t id_;
    std::unique_ptr<ds_tree, decltype(&ds_tree_close)> tree_;
};

// The lines of a file, each of them two numbers, decimal or 0x.
using NumberPair = std::pair<uint64_t, uint64_t>;
std::vector<NumberPair> number_pairs_of(const std::string &path);

// tree_word.cpp
Exit tree_create(Call &call);
Exit tree_show(Call &call);
Exit tree_get(Call &call);
Exit tree_put(Call &call);
Exit tree_update(Call &call);
Exit tree_scan(Call &call);
Exit tree_check(Call &call);

// tree_file.cpp
Exit tree_load(Call &call);
Exit tree_verify(Call &call);

// tree_bench.cpp
Exit tree_bench(Call &call);

}  // namespace dsctl
