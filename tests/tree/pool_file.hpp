// SPDX-License-Identifier: Apache-2.0
// A pool in a file of its own, and trees of it, for the test programs.
#pragma once

#include <ds/ds.h>
#include <ds/local.h>
#include <ds/tree.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace tree_test {

/// Ends the program if a call failed.
inline int need(int rc, const char *what) {
    if (rc < 0) {
        std::printf("Bail out! %s: %s (%d)\n", what, ds_strerror(rc), rc);
        std::fflush(stdout);
        _exit(99);
    }
    return rc;
}
#define NEED(call) tree_test::need(call, #call)

/// The file is gone when its maker is.
class PoolFile {
public:
    PoolFile(uint32_t servers, uint32_t extra_shift = 0) : maker_(getpid()) {
        const char *folder = std::getenv("TMPDIR");
        static unsigned number = 0;
        path_ = std::string(folder ? folder : "/tmp") + "/ds-tree-" + std::to_string(getpid()) +
                "-" + std::to_string(++number);
        unlink(path_.c_str());
        ds_local_options options{};
        options.size = sizeof(options);
        options.servers = servers;
        options.server_shift = 24 + extra_shift;
        NEED(ds_local_create(path_.c_str(), &options));
    }
    PoolFile(const PoolFile &) = delete;
    PoolFile &operator=(const PoolFile &) = delete;
    ~PoolFile() {
        if (getpid() == maker_)
            unlink(path_.c_str());
    }

    const std::string &path() const { return path_; }

private:
    pid_t maker_;
    std::string path_;
};

/// A process's fabric on the file.
class Opened {
public:
    explicit Opened(const std::string &path) {
        std::string device = DS_LOCAL_PREFIX + path;
        ds_fabric_options options{};
        options.size = sizeof(options);
        options.device = device.c_str();
        NEED(ds_fabric_open(&options, &fabric_));
        NEED(ds_space_open(fabric_, 1, DS_ACCESS_ALL, &space_));
    }
    Opened(const Opened &) = delete;
    Opened &operator=(const Opened &) = delete;
    ~Opened() {
        for (ds_tree *&tree : trees_)
            ds_tree_close(tree);
        ds_space_close(space_);
        ds_fabric_close(fabric_);
    }

    ds_fabric *fabric() const { return fabric_; }
    ds_space *space() const { return space_; }

    /// Open as long as this is.
    ds_tree *tree(uint32_t id, uint32_t lease_ms = 0, uint64_t cache = DS_TREE_CACHE_DEFAULT) {
        ds_tree_options options{};
        options.size = sizeof(options);
        options.lease_ms = lease_ms;
        options.cache_bytes = cache;
        ds_tree_close(trees_[id]);
        trees_[id] = nullptr;
        NEED(ds_tree_open(space_, id, &options, &trees_[id]));
        return trees_[id];
    }

private:
    ds_fabric *fabric_ = nullptr;
    ds_space *space_ = nullptr;
    ds_tree *trees_[DS_TREE_MAX_ID + 1] = {};
};

inline ds_tree_counts counters(ds_tree *tree) {
    ds_tree_counts counts{};
    counts.size = sizeof(counts);
    NEED(ds_tree_counters(tree, &counts));
    return counts;
}

/// Says what is wrong, as TAP wants it; false if something is.
inline bool sound(ds_tree *tree, ds_tree_stats &stats) {
    stats.size = sizeof(stats);
    auto report = [](void *, uint64_t addr, const char *what) {
        std::printf("# node 0x%llx: %s\n", static_cast<unsigned long long>(addr), what);
    };
    int rc = ds_tree_check(tree, report, nullptr, &stats);
    if (rc < 0)
        std::printf("# check: %s\n", ds_strerror(rc));
    return rc == 0;
}

}  // namespace tree_test
