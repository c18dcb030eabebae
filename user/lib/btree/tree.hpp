// SPDX-License-Identifier: Apache-2.0
// ds::btree::Tree: a B-link tree in the memory of a pool; docs/btree.md has the
// protocol. Format version 0: 64-bit keys and values, all of them legal.
//
//   node_access.cpp   reading, locking and changing one node; recovery
//   descend.cpp       from the root to a node; the root; unfinished splits
//   change.cpp        get, put, update, upsert; splits
//   scan.cpp load.cpp check.cpp   what their names say
//
// Functions that return Task<int> give 0 or a negative errno:
//   -EBADMSG  a node is damaged; damaged() is its address
//   -ENOSPC   there is no memory for a node
//   -ETIMEDOUT  a lock was held, or bytes were torn, longer than the time limit
// and what the pool and the fabric say.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ds/tree.h>
#include <ds/task.hpp>

#include "btree/anchor.hpp"
#include "btree/cache.hpp"
#include "btree/client.hpp"
#include "btree/driver.hpp"
#include "btree/node.hpp"
#include "btree/word.hpp"

namespace ds::btree {

struct Options {
    uint64_t cache_bytes = 16 << 20;
    uint64_t lease_ns = 1'000'000'000;
    uint32_t timeout_ms = DS_TIMEOUT_DEFAULT;
};

// Nodes that a search passes on its way to the right until it takes what led it there for
// old, and begins at the root again, without the cache. There may be many more.
inline constexpr unsigned max_passed = 4;

/// A scan on its way.
struct Scan {
    enum class Step { taken, finished, passed, hole, overlap };

    uint64_t next;  ///< the smallest key that is not read
    uint64_t last;
    std::span<ds_tree_entry> out;
    size_t count = 0;
    bool joined = false;    ///< next is where a leaf ended
    unsigned followed = 0;  ///< leaves in a row that only their left neighbours knew
    // Of the last leaf that was seen, all of it below next:
    Pointer seen = {};
    Pointer sibling = {};
    uint64_t sibling_low = 0;

    Step take(Pointer at, const Node &node);
};

class Tree {
public:
    Tree(std::shared_ptr<Client> client, uint16_t id, const Options &options);
    Tree(const Tree &) = delete;
    Tree &operator=(const Tree &) = delete;
    ~Tree() {
        driver_.settle();
        client_->leave(std::move(left_));
    }

    Driver &driver() { return driver_; }
    const Counters &counters() const { return driver_.counters; }
    const Cache &cache() const { return cache_; }
    uint64_t damaged() const { return damaged_; }
    Pointer root() const { return root_; }

    /// Makes the root: -EEXIST if there is one.
    Task<int> create();
    /// Reads the root: -ENOENT if there is none.
    Task<int> open();

    /// Runs one operation; fills its status, outcome, and the value of a get.
    Task<void> run(ds_tree_op &op);
    /// Finishes splits of others that it has met, and what was left of its own operations.
    Task<void> help();

    Task<int> scan(uint64_t first, uint64_t last, std::span<ds_tree_entry> out, size_t &count);
    Task<int> load(std::span<const ds_tree_entry> entries);
    Task<int> check(ds_tree_defect_fn report, void *arg, ds_tree_stats &stats);

private:
    /// A node whose lock this client holds, as it is. A lock that was not given back, for
    /// want of an answer or of memory, is abandoned with it.
    struct Locked {
        explicit Locked(Tree &of) : tree(of) {}
        Locked(const Locked &) = delete;
        Locked &operator=(const Locked &) = delete;
        ~Locked() { let_go(); }

        void let_go() {
            if (std::exchange(held, false))
                tree.abandon(*this);
            tree.client_->done_with(std::exchange(word, {}));
            turn = Driver::Turn();
        }
        Node &node() const { return room.node(); }

        Tree &tree;
        Pointer at;
        uint64_t addr = 0;
        LockWord word;
        bool held = false;     // the word is in the node, or may be
        std::list<Left> left;  // one, for abandon(): that takes no memory
        Driver::Turn turn;
        Room room;
        bool doubtful = false;  // a change of it may have happened, or not
    };
    /// A node that is new in the tree. It goes back to the pool if it is not used.
    class Spare {
    public:
        Spare(pool::Pool &pool, unsigned level) : pool_(pool), level_(level) {}
        Spare(const Spare &) = delete;
        Spare &operator=(const Spare &) = delete;
        ~Spare() {
            if (has() && !doubtful)
                pool_.free_node(level_, place);
        }

        bool has() const { return place.addr; }
        bool at_hand() { return has() || pool_.node_at_hand(level_, place); }
        int take(uint32_t timeout_ms) { return pool_.alloc_node(level_, place, timeout_ms); }
        void used() { place = {}; }

        pool::NodeAddress place{};
        bool doubtful = false;  // a WRITE of it was given up, and may still come

    private:
        pool::Pool &pool_;
        unsigned level_;
    };
    /// A node that its left neighbour knows and the level above perhaps does not.
    struct Behind {
        unsigned level;  // where the separator belongs
        uint64_t separator;
        uint64_t pointer;
        bool operator<(const Behind &other) const {
            return std::tie(level, separator, pointer) <
                   std::tie(other.level, other.separator, other.pointer);
        }
    };
    /// How long something has been seen as it is.
    struct Sight {
        uint64_t what = 0;
        uint64_t since = 0;
        void see(uint64_t now_what, uint64_t now) {
            if (what != now_what || !since)
                what = now_what, since = now;
        }
    };
    /// Lock words that were seen held, by address. One call goes on with what another saw, so
    /// that a lease may be longer than a call.
    class Sights {
    public:
        /// Since when has @p word been there?
        uint64_t see(uint64_t addr, LockWord word, uint64_t now) {
            if (!word.held()) {
                seen_.erase(addr);
                return now;
            }
            if (seen_.size() >= most && !seen_.contains(addr))
                seen_.clear();
            Sight &sight = seen_[addr];
            sight.see(word.word, now);
            return sight.since;
        }

    private:
        static constexpr size_t most = 4 * DS_TREE_MAX_DEPTH;
        std::unordered_map<uint64_t, Sight> seen_;
    };

    /// A node, as the level above knows it.
    struct Child {
        uint64_t low;
        Pointer at;
    };

    uint64_t deadline() const { return driver_.now() + options_.timeout_ms * 1'000'000ull; }
    Io io() const { return Io(client_->space()); }
    Expected expected(Pointer at) const;
    int damaged(uint64_t addr);

    // node_access.cpp
    Task<int> read_node(Pointer at, Room &room);
    Task<int> lock(Pointer at, Locked &locked);
    Task<int> own(Locked &locked, bool was_read, bool taken_over);
    Task<int> repair(Locked &locked);
    int may_take_over(LockWord word, uint64_t since, uint64_t end);
    Task<int> commit(Locked &locked, Io &io);
    Task<int> unlock(Locked &locked);
    void abandon(Locked &locked) noexcept;
    Task<void> give_back();
    Task<int> holds(const Locked &locked);
    Task<int> move_right(Locked &locked);

    // descend.cpp
    Task<int> read_root();
    Task<int> find(uint64_t key, unsigned level, bool fresh, Pointer &at);
    int step(const Inner &inner, uint64_t key, Pointer &at);
    int pass_right(const Node &node, Pointer &at);
    int arrive(Pointer at, uint64_t low, std::optional<uint64_t> passed);
    void note_behind(const Behind &behind);
    Task<int> finish_split(const Behind &behind);
    Task<int> add_separator(const Behind &behind);
    Task<int> grow(const Behind &behind);
    Task<int> swing_root(Pointer from, Pointer to);

    // change.cpp
    Task<int> get(ds_tree_op &op);
    Task<int> change(ds_tree_op &op);
    Task<int> read_leaf(uint64_t key, Room &room);
    Task<int> lock_leaf(uint64_t key, Locked &leaf);
    Task<int> store(Locked &locked, Place place, Entry entry);
    Task<int> change_leaf(ds_tree_op &op, Spare &spare);
    Task<int> insert(Locked &locked, Entry entry, Spare &spare);
    Task<int> split(Locked &locked, Entry entry, Spare &spare);
    Task<int> write_new(Pointer at, Room &room, Spare &spare, bool once = false);
    Task<int> provide(Spare &spare);

    // scan.cpp
    Task<int> leaves_from(uint64_t key, uint64_t last, size_t most, bool fresh,
                          std::vector<Child> &leaves);
    int follow(Scan &scan, std::vector<Child> &leaves);
    Task<void> read_nodes(std::span<const Child> nodes, std::span<Room> rooms,
                          std::span<int> status);
    Task<int> scan_batch(Scan &scan, bool fresh);

    // load.cpp
    struct Loading;
    Task<int> load_level(Loading &loading, unsigned level, std::span<const ds_tree_entry> entries,
                         std::vector<Child> &made);
    Task<int> lock_empty(Locked &leaf);
    Task<int> load_one(const ds_tree_entry *entry);
    Task<int> link(Loading &loading, const ds_tree_entry &first, const Child &second);
    Task<int> link_above(Pointer old, Pointer root, std::span<const Child> leaves);

    // check.cpp
    struct Checking;
    Task<int> check_level(Checking &checking, std::vector<Child> &nodes);
    Task<int> check_node(Checking &checking, Child child, const Room &room, int status);

    const std::shared_ptr<Client> client_;
    pool::Pool &pool_;
    const Map map_;
    const uint16_t id_;
    const Options options_;
    Driver driver_;
    Rooms rooms_;
    Cache cache_;
    Pointer root_;
    uint64_t damaged_ = 0;
    std::set<Behind> behind_;
    Sights sights_;
    std::list<Left> left_;
};

}  // namespace ds::btree
