// SPDX-License-Identifier: Apache-2.0
// The client of a pool that all open trees of a fabric are together.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <set>

#include <ds/ds.h>

#include "btree/word.hpp"
#include "pool/pool.hpp"

namespace ds::btree {

/// A lock that was not given back, and what answers() of its server was then.
struct Left {
    Pointer at;
    uint64_t answers;
};

class Client {
public:
    /// The client of the fabric that @p space is of; joins the pool if there is none.
    /// No access of a client that is made so to the pool's own words, now or later, waits
    /// longer than @p timeout_ms. Errors as of Pool::join(), and -EACCES: @p space was not
    /// opened with all rights. With @p format a space of zeros becomes a pool.
    static int of(ds_space *space, bool format, uint32_t timeout_ms,
                  std::shared_ptr<Client> &client);

    pool::Pool &pool() const { return *pool_; }
    ds_space *space() const { return space_.get(); }
    Map map() const;

    /// A lock word that was never used before. It is in use until done_with(): that takes no
    /// memory, so that there is always a way to give one up.
    LockWord new_word(LockWord::Mode mode);
    void done_with(LockWord word) noexcept;
    bool made(LockWord word) const;

    /// One that we made and that is not in use stayed in a node because the server could not
    /// be reached, or for want of memory. Whoever of us meets it may take the lock from it.
    bool in_use(LockWord word) const;

    /// Where such words are, from a tree that is closed; the others give them back.
    void leave(std::list<Left> &&lefts) noexcept;
    std::list<Left> take_lefts() noexcept;
    bool has_lefts() const { return has_lefts_; }

private:
    struct Close {
        void operator()(ds_space *space) const { ds_space_close(space); }
    };

    struct Leave {
        void operator()(Client *client) const;
    };

    int join(ds_space *space, bool format, uint32_t timeout_ms);

    bool known_ = false;                      // of() gives it to others, too
    std::unique_ptr<ds_space, Close> space_;  // our own: callers may close theirs
    std::unique_ptr<pool::Pool> pool_;
    std::atomic<uint32_t> sequence_{0};
    mutable std::mutex lock_;
    std::set<uint64_t> in_use_;
    std::list<Left> lefts_;
    std::atomic<bool> has_lefts_{false};
};

}  // namespace ds::btree
