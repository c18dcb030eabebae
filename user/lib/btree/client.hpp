// SPDX-License-Identifier: Apache-2.0
// The client of a pool that all open trees of a fabric are together.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include <ds/ds.h>

#include "btree/word.hpp"
#include "pool/pool.hpp"

namespace ds::btree {

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

    /// A lock word that was never used before.
    LockWord new_word(LockWord::Mode mode);
    bool made(LockWord word) const;

    /// Words of ours that stayed in a node because the server could not be reached, or
    /// for want of memory. Whoever of us meets one may take the lock from it.
    void abandon(LockWord word) noexcept;
    bool is_abandoned(LockWord word) const;
    void reclaimed(LockWord word);

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
    std::set<uint64_t> abandoned_;
};

}  // namespace ds::btree
