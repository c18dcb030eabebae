// SPDX-License-Identifier: Apache-2.0
#include "btree/client.hpp"

#include <cerrno>
#include <map>
#include <new>

#include "fabric/engine.hpp"
#include "fabric/handles.hpp"

namespace ds::btree {
namespace {

// The clients that there are, by fabric and space. Those of closed fabrics are
// dropped when the next one comes.
using Key = std::pair<std::weak_ptr<fabric::Engine>, uint32_t>;
struct Before {
    bool operator()(const Key &a, const Key &b) const {
        if (a.first.owner_before(b.first) || b.first.owner_before(a.first))
            return a.first.owner_before(b.first);
        return a.second < b.second;
    }
};

std::mutex clients_lock;
std::map<Key, std::weak_ptr<Client>, Before> clients;

}  // namespace

int Client::of(ds_space *space, bool format, uint32_t timeout_ms, std::shared_ptr<Client> &client) {
    std::lock_guard guard(clients_lock);
    std::erase_if(clients, [](auto &entry) { return entry.second.expired(); });
    std::weak_ptr<Client> &known = clients[{space->engine, space->info.number}];
    if (client = known.lock(); client)
        return 0;

    auto made = std::make_shared<Client>();
    made->space_.reset(new ds_space{space->engine, {}, timeout_ms});
    fabric::Fabric &fabric = space->engine->fabric();
    int rc = fabric.open_space(space->info.number, DS_ACCESS_ALL, made->space_->info);
    if (rc < 0)
        return rc;
    rc = pool::Pool::join(made->space(), made->pool_);
    if (rc == -ENOENT && format) {
        rc = pool::Pool::format(made->space());
        if (rc == 0 || rc == -EEXIST)
            rc = pool::Pool::join(made->space(), made->pool_);
    }
    if (rc < 0)
        return rc;
    known = client = made;
    return 0;
}

Map Client::map() const {
    return {.base = space_->info.base,
            .servers = space_->info.servers,
            .shift = space_->info.server_shift};
}

LockWord Client::new_word(LockWord::Mode mode) {
    pool::Owner self = pool_->self();
    return LockWord::make(mode, self.client, self.incarnation, ++sequence_);
}

bool Client::made(LockWord word) const {
    pool::Owner self = pool_->self();
    return word.client() == self.client && word.incarnation() == self.incarnation;
}

void Client::abandon(LockWord word) noexcept {
    std::lock_guard guard(lock_);
    try {
        abandoned_.insert(word.word);
    } catch (const std::bad_alloc &) {
    }
}

bool Client::is_abandoned(LockWord word) const {
    std::lock_guard guard(lock_);
    return abandoned_.count(word.word);
}

void Client::reclaimed(LockWord word) {
    std::lock_guard guard(lock_);
    abandoned_.erase(word.word);
}

}  // namespace ds::btree
