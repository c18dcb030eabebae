// SPDX-License-Identifier: Apache-2.0
#include "btree/client.hpp"

#include <cerrno>
#include <condition_variable>
#include <map>
#include <utility>

#include "fabric/engine.hpp"
#include "fabric/handles.hpp"

namespace ds::btree {
namespace {

// The clients that there are, by fabric and space. One that is on its way out keeps its
// place until it has left the pool: a fabric cannot join it twice.
using Key = std::pair<std::weak_ptr<fabric::Engine>, uint32_t>;
struct Before {
    bool operator()(const Key &a, const Key &b) const {
        if (a.first.owner_before(b.first) || b.first.owner_before(a.first))
            return a.first.owner_before(b.first);
        return a.second < b.second;
    }
};

std::mutex clients_lock;
std::condition_variable client_left;
std::map<Key, std::weak_ptr<Client>, Before> clients;

}  // namespace

int Client::of(ds_space *space, bool format, uint32_t timeout_ms, std::shared_ptr<Client> &client) {
    // The client has a handle of its own; that must not give the caller rights it did not ask for.
    if ((space->access & DS_ACCESS_ALL) != DS_ACCESS_ALL)
        return -EACCES;
    const Key key{space->engine, space->info.number};
    std::unique_ptr<Client, Leave> made;  // if that fails it leaves when the lock is free
    std::unique_lock guard(clients_lock);
    for (auto known = clients.find(key); known != clients.end(); known = clients.find(key)) {
        if (client = known->second.lock(); client)
            return 0;
        client_left.wait(guard);
    }
    made.reset(new Client);
    if (int rc = made->join(space, format, timeout_ms); rc < 0)
        return rc;
    std::weak_ptr<Client> &place = clients[key];
    made->known_ = true;
    client = std::move(made);
    place = client;
    return 0;
}

int Client::join(ds_space *space, bool format, uint32_t timeout_ms) {
    space_.reset(new ds_space{space->engine, {}, timeout_ms, DS_ACCESS_ALL});
    fabric::Fabric &fabric = space->engine->fabric();
    if (int rc = fabric.open_space(space->info.number, DS_ACCESS_ALL, space_->info); rc < 0)
        return rc;
    int rc = pool::Pool::join(this->space(), pool_);
    if (rc == -ENOENT && format) {
        rc = pool::Pool::format(this->space());
        if (rc == 0 || rc == -EEXIST)
            rc = pool::Pool::join(this->space(), pool_);
    }
    return rc;
}

void Client::Leave::operator()(Client *client) const {
    if (!client->known_) {
        delete client;
        return;
    }
    const Key key{client->space_->engine, client->space_->info.number};
    delete client;
    std::lock_guard guard(clients_lock);
    clients.erase(key);
    client_left.notify_all();
}

Map Client::map() const {
    return {.base = space_->info.base,
            .servers = space_->info.servers,
            .shift = space_->info.server_shift};
}

LockWord Client::new_word(LockWord::Mode mode) {
    pool::Owner self = pool_->self();
    LockWord word = LockWord::make(mode, self.client, self.incarnation, ++sequence_);
    std::lock_guard guard(lock_);
    in_use_.insert(word.word);
    return word;
}

void Client::done_with(LockWord word) noexcept {
    std::lock_guard guard(lock_);
    in_use_.erase(word.word);
}

bool Client::made(LockWord word) const {
    pool::Owner self = pool_->self();
    return word.client() == self.client && word.incarnation() == self.incarnation;
}

bool Client::in_use(LockWord word) const {
    std::lock_guard guard(lock_);
    return in_use_.contains(word.word);
}

void Client::leave(std::list<Left> &&lefts) noexcept {
    std::lock_guard guard(lock_);
    lefts_.splice(lefts_.end(), lefts);
    has_lefts_ = !lefts_.empty();
}

std::list<Left> Client::take_lefts() noexcept {
    std::lock_guard guard(lock_);
    has_lefts_ = false;
    return std::exchange(lefts_, {});
}

}  // namespace ds::btree
