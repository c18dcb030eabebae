// SPDX-License-Identifier: Apache-2.0
#include "tree.hpp"

#include <algorithm>
#include <cerrno>

#include "interrupt.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

constexpr size_t rounds = 4;  // of operations under way, between two looks at the progress

bool is_answer(const ds_tree_op &op) {
    return op.status == 0 || op.status == -ENOENT || op.status == -EEXIST;
}

// In the words of a tree, if it is the tree and not its memory that says it.
std::string reason_of(int rc) {
    switch (rc) {
    case -ENOENT:
        return "it is not there";
    case -EEXIST:
        return "it is there already";
    case -EBADMSG:
        return "a node is damaged";
    case -EINVAL:
        return other_pool;
    case -ENOSPC:
        return "the pool is full";
    case -ENOTEMPTY:
        return "there are keys in it";
    case -ETIMEDOUT:
        return "another client holds a lock and does not go on";
    default:
        return "";
    }
}

std::string remedy_of(int rc, uint32_t id) {
    switch (rc) {
    case -ENOENT:
        return format("look at 'dsctl tree scan --tree %u' and 'dsctl tree show'", id);
    case -EEXIST:
        return "change it with 'dsctl tree update', or use 'put --upsert'";
    case -EBADMSG:
        return format(
            "name the damage with 'dsctl tree check --tree %u'; load the keys into "
            "another tree",
            id);
    case -EINVAL:
        return other_pool_remedy;
    case -ENOSPC:
        return "make a space of larger or more servers, and load the keys there";
    case -ENOTEMPTY:
        return "use 'load --insert', which adds to what is there";
    case -ETIMEDOUT:
        return "look whether that client lives; allow more time with --timeout";
    default:
        return "";
    }
}

ds_tree *open_tree(const Remote &remote, uint32_t id, uint64_t cache_bytes) {
    ds_tree_options options{};
    ds_tree *tree = nullptr;

    options.size = sizeof(options);
    options.timeout_ms = remote.timeout_ms();
    options.cache_bytes = cache_bytes;
    int rc = ds_tree_open(remote.space(), id, &options, &tree);
    if (rc == -ENOENT)
        throw from_errno(
            "TRE", ENOENT, format("there is no tree %u in this space", id),
            format("look at 'dsctl tree show'; make it with 'dsctl tree create %u'", id));
    if (rc < 0)
        throw tree_error(remote, rc, id, "cannot open it");
    return tree;
}

}  // namespace

Error tree_error(const Remote &remote, int rc, uint32_t id, const std::string &what) {
    std::string sentence = format("tree %u: ", id) + what + ": ", reason = reason_of(rc);

    // A time limit passes for both reasons.
    if (reason.empty() || rc == -ETIMEDOUT) {
        Error error = from_errno("TRE", -rc, sentence + clause(ds_strerror(rc))).with("tree", id);
        if (remote.name_absent(error) || reason.empty())
            return error;
    }
    return from_errno("TRE", -rc, sentence + reason, remedy_of(rc, id)).with("tree", id);
}

TreeHandle::TreeHandle(const Call &call)
    : remote_(call, DS_ACCESS_READ | DS_ACCESS_WRITE | DS_ACCESS_ATOMIC),
      id_(static_cast<uint32_t>(call.number("--tree"))),
      tree_(open_tree(remote_, id_, call.number("--cache")), ds_tree_close) {}

ds_tree_counts TreeHandle::counts() const {
    ds_tree_counts counts{};

    counts.size = sizeof(counts);
    ds_tree_counters(get(), &counts);
    return counts;
}

int TreeHandle::need(int rc, const std::string &what) const {
    if (rc >= 0)
        return rc;
    Error error = tree_error(remote_, rc, id_, what);
    if (rc == -EBADMSG)
        error.context["address"] = counts().damaged;
    throw error;
}

void TreeHandle::run(std::span<ds_tree_op> ops, uint32_t depth,
                     const std::function<void(size_t)> &progress) const {
    for (size_t done = 0; done < ops.size() && !interrupted();) {
        auto part = ops.subspan(done, std::min(rounds * depth, ops.size() - done));
        ds_tree_execute(get(), part.data(), part.size(), depth);
        done += part.size();
        progress(done);
        if (!std::ranges::all_of(part, is_answer))
            return;
    }
}

}  // namespace dsctl
