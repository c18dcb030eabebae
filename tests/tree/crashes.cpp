// SPDX-License-Identifier: Apache-2.0
// A client is killed at each word that it writes, one after the other, in each
// kind of change; the next client must find a sound tree, all that was
// acknowledged, and of the change that was cut off all or nothing.
//
//   crashes [STEP]      every STEP-th word (7); 1 for all of them; of an update always all
#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>

#include <cerrno>
#include <cinttypes>
#include <vector>

#include "fabric/crash_point.hpp"
#include "pool_file.hpp"

using namespace tree_test;

namespace {

constexpr uint32_t lease_ms = 1;
constexpr uint64_t gap = 10;
constexpr uint64_t full = 42;

int results = 0;

void result(bool ok, const std::string &name) {
    std::printf("%s %d - %s\n", ok ? "ok" : "not ok", ++results, name.c_str());
    std::fflush(stdout);
}

// What a client does until it is killed, on a copy of a file with tree 1.
struct Change {
    const char *name;
    uint32_t opcode;
    uint64_t key;
};

// Keys in order leave each leaf full: the root has as many as it can have, too.
constexpr uint64_t keys = full * full;
constexpr uint64_t beside_step = 12;

constexpr Change changes[] = {
    {"an update", DS_TREE_UPDATE, 21 * gap},
    {"a split in the middle, up to a new root", DS_TREE_PUT, 21 * gap + 1},
    {"a split of which the left node gets the key", DS_TREE_PUT, 2 * gap + 1},
    {"a split at the right end", DS_TREE_PUT, keys *gap},
};

// Copies what of a sparse file is there.
void copy_file(const std::string &from, const std::string &to) {
    int in = NEED(open(from.c_str(), O_RDONLY | O_CLOEXEC));
    int out = NEED(open(to.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    off_t length = lseek(in, 0, SEEK_END);
    NEED(ftruncate(out, length));
    std::vector<char> bytes(1 << 16);
    for (off_t at = 0; (at = lseek(in, at, SEEK_DATA)) >= 0;) {
        ssize_t n = pread(in, bytes.data(), bytes.size(), at);
        if (n <= 0 || pwrite(out, bytes.data(), static_cast<size_t>(n), at) != n)
            NEED(-EIO);
        at += n;
    }
    close(in);
    close(out);
}

uint64_t value_of(uint64_t key) {
    return key + 1;
}

int apply(ds_tree *tree, const Change &change) {
    ds_tree_op op{};
    op.opcode = change.opcode;
    op.key = change.key;
    op.value = 4711;
    return ds_tree_execute(tree, &op, 1, 1);
}

// Runs `body` in a process. 0: it ended, 1: it was killed, -1: something else.
template <class Body>
int in_process(Body &&body) {
    pid_t pid = fork();
    if (pid == 0)
        _exit(body() == 0 ? 0 : 1);
    int status;
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return 1;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

bool complain(const char *what, uint64_t key, int rc) {
    std::printf("# %s: key %" PRIu64 ": %d\n", what, key, rc);
    return false;
}

// The same operation on every `step`-th key, `beside` it; many at a time.
std::vector<ds_tree_op> run_all(ds_tree *tree, uint32_t opcode, uint64_t step, uint64_t beside) {
    std::vector<ds_tree_op> ops;
    for (uint64_t n = 0; n < keys; n += step) {
        ds_tree_op op{};
        op.opcode = opcode;
        op.key = n * gap + beside;
        op.value = value_of(op.key);
        ops.push_back(op);
    }
    ds_tree_execute(tree, ops.data(), ops.size(), 64);
    return ops;
}

// All keys of before, and the changed one as before or as after.
bool all_there(ds_tree *tree, const Change &change, bool acknowledged) {
    for (const ds_tree_op &op : run_all(tree, DS_TREE_GET, 1, 0)) {
        bool changed = op.key == change.key && op.value == 4711;
        bool as_before = op.value == value_of(op.key) && (op.key != change.key || !acknowledged);
        if (op.status < 0 || !(changed || as_before))
            return complain("lost", op.key, op.status);
    }
    uint64_t value = 0;
    int rc = ds_tree_get(tree, change.key, &value);
    if (rc == -ENOENT ? acknowledged || change.opcode == DS_TREE_UPDATE : rc < 0)
        return complain("wrong", change.key, rc);
    return true;
}

// The same change again, and others beside it: they need what the dead one held.
bool goes_on(ds_tree *tree, const Change &change) {
    int rc = apply(tree, change);
    if (rc < 0 && rc != -EEXIST)
        return complain("again", change.key, rc);
    for (const ds_tree_op &op : run_all(tree, DS_TREE_UPDATE, full / 2, 0))
        if (op.status < 0)
            return complain("update", op.key, op.status);
    for (const ds_tree_op &op : run_all(tree, DS_TREE_PUT, beside_step, 5))
        if (op.status < 0)
            return complain("beside", op.key, op.status);
    return true;
}

bool recovers(const std::string &path, const Change &change, bool acknowledged) {
    Opened opened(path);
    ds_tree *tree = opened.tree(1, lease_ms);
    ds_tree_stats stats;
    // A line may be torn until somebody repairs it, so first use it, then prove it.
    if (!all_there(tree, change, acknowledged) || !sound(tree, stats) || !goes_on(tree, change) ||
        !sound(tree, stats))
        return false;
    bool has_all = stats.keys == keys + keys / beside_step + (change.opcode == DS_TREE_PUT);
    if (stats.unfinished || !has_all)
        std::printf("# %" PRIu64 " unfinished, %" PRIu64 " keys\n", stats.unfinished, stats.keys);
    return stats.unfinished == 0 && has_all;
}

// Kills a client at the n-th word that it writes, for all n, until it gets through.
void kill_everywhere(const PoolFile &base, const Change &change, uint64_t step) {
    std::string path = base.path() + "-copy";
    bool ok = true;
    uint64_t points = 0;
    for (uint64_t n = 1; ok; n += step) {
        copy_file(base.path(), path);
        int killed = in_process([&] {
            Opened opened(path);
            ds_tree *tree = opened.tree(1, lease_ms);
            ds::test_points.crash_at("local.word", n);
            int rc = apply(tree, change);
            ds::test_points.crash_at("", 0);
            return rc;
        });
        ok = killed >= 0 && recovers(path, change, killed == 0);
        if (!ok)
            std::printf("# killed at word %" PRIu64 "\n", n);
        if (killed == 0)
            break;
        points++;
    }
    unlink(path.c_str());
    result(ok && points > 0,
           std::string("killed in ") + change.name + ", at " + std::to_string(points) + " places");
}

// Loading a tree: all the keys, or none and an empty tree that can be loaded.
void kill_while_loading(uint64_t step) {
    std::vector<ds_tree_entry> entries;
    for (uint64_t i = 0; i < 200; i++)
        entries.push_back({i, i});
    bool ok = true, some = false, none = false;
    for (uint64_t n = 1; ok; n += step) {
        PoolFile file(2);
        int killed = in_process([&] {
            Opened opened(file.path());
            NEED(ds_tree_create(opened.space(), 1));
            ds_tree *tree = opened.tree(1, lease_ms);
            ds::test_points.crash_at("local.word", n);
            return ds_tree_load(tree, entries.data(), entries.size());
        });
        if (killed < 0)
            ok = false;
        Opened opened(file.path());
        ds_tree *tree = opened.tree(1, lease_ms);
        std::vector<ds_tree_entry> found(300);
        int count = ds_tree_scan(tree, 0, UINT64_MAX, found.data(), found.size());
        none |= count == 0;
        some |= count == 200 && killed == 1;
        // Key 0 comes last; see btree/load.cpp.
        ok &= count == 0 || count == 199 || count == 200;
        int loaded = ds_tree_load(tree, entries.data(), entries.size());
        // If the journal was whole, the load goes on when the next one takes the lock.
        ok &= loaded == -ENOTEMPTY || (count == 0 && loaded == 0);
        for (uint64_t i = 0; i < 200; i++) {
            int rc = ds_tree_put(tree, i, i);
            ok &= rc == -EEXIST || (i == 0 && rc == 0 && loaded < 0);
        }
        ds_tree_stats stats;
        ok &= sound(tree, stats) && stats.keys == 200 && stats.unfinished == 0;
        if (!ok)
            std::printf("# killed at word %" PRIu64 ", %d keys, then %d: %" PRIu64 " keys, %" PRIu64
                        " unfinished\n",
                        n, count, loaded, stats.keys, stats.unfinished);
        if (killed == 0)
            break;
    }
    result(ok && some && none, "killed while loading: all keys or none, but for the first");
}

// Two of them make a tree; one of them is killed.
void kill_while_creating() {
    bool ok = true;
    for (uint64_t n = 1; ok; n++) {
        PoolFile file(1);
        { Opened(file.path()); }
        int killed = in_process([&] {
            Opened opened(file.path());
            NEED(ds_tree_create(opened.space(), 2));
            ds::test_points.crash_at("local.word", n);
            return ds_tree_create(opened.space(), 1);
        });
        Opened opened(file.path());
        int rc = ds_tree_create(opened.space(), 1);
        ok = killed >= 0 && (rc == 0 || rc == -EEXIST);
        ok &= ds_tree_put(opened.tree(1, lease_ms), 1, 1) == 0;
        if (killed == 0)
            break;
    }
    result(ok, "killed while creating: the next one makes it, or finds it");
}

// Each named point is where the code comes by.
void kill_at_named_points(const PoolFile &base) {
    std::string path = base.path() + "-copy";
    for (const char *name : {"tree.locked", "tree.split.right", "tree.split.left", "tree.grow"}) {
        copy_file(base.path(), path);
        const Change &split = changes[1];
        int killed = in_process([&] {
            Opened opened(path);
            ds_tree *tree = opened.tree(1, lease_ms);
            ds::test_points.crash_at(name, 1);
            return apply(tree, split);
        });
        result(killed == 1 && recovers(path, split, false), std::string("killed at ") + name);
    }
    unlink(path.c_str());
}

// A client that is not let wait by a dead one for longer than the lease.
void proceeds_in_time(const PoolFile &base) {
    constexpr uint32_t lease = 300, slack = 300;
    std::string path = base.path() + "-copy";
    copy_file(base.path(), path);
    int killed = in_process([&] {
        Opened opened(path);
        ds_tree *tree = opened.tree(1);
        ds::test_points.crash_at("tree.locked", 1);
        return ds_tree_update(tree, 0, 1);
    });
    Opened opened(path);
    ds_tree *tree = opened.tree(1, lease);
    timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    int rc = ds_tree_update(tree, 0, 2);
    clock_gettime(CLOCK_MONOTONIC, &to);
    int64_t ms = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
    std::printf("# %" PRId64 " ms\n", ms);
    result(killed == 1 && rc == 0 && ms >= lease && ms < lease + slack,
           "the lock of a dead client is free after the lease");
    ds_tree_counts counts = counters(tree);
    result(counts.recovered == 1, "and the node was taken over once");
    unlink(path.c_str());
}

}  // namespace

int main(int argc, char **argv) {
    uint64_t step = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 7;
    std::printf("1..13\n");
    PoolFile base(2);
    {
        Opened opened(base.path());
        NEED(ds_tree_create(opened.space(), 1));
        ds_tree *tree = opened.tree(1);
        for (uint64_t n = 0; n < keys; n++)
            NEED(ds_tree_put(tree, n * gap, value_of(n * gap)));
        ds_tree_stats stats;
        result(sound(tree, stats) && stats.leaves == full && stats.height == 2,
               "a tree whose nodes are all full");
    }
    for (const Change &change : changes)
        kill_everywhere(base, change, change.opcode == DS_TREE_UPDATE ? 1 : step);
    kill_while_loading(step);
    kill_while_creating();
    kill_at_named_points(base);
    proceeds_in_time(base);
    return 0;
}
