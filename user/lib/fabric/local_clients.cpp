// SPDX-License-Identifier: Apache-2.0
#include "fabric/local_clients.hpp"

#include <fcntl.h>
#include <time.h>

#include <cerrno>

#include "fabric/clock.hpp"

namespace ds::fabric {
namespace {

constexpr uint64_t ms = 1'000'000;  // ns
constexpr uint64_t withdraw_patience = 1000 * ms;
constexpr uint64_t look_again = ms / 10;

constexpr uint64_t fenced = uint64_t{1} << 32;
constexpr off_t locks_offset = off_t{1} << 60;

uint64_t word_for(Owner owner) {
    return uint64_t{owner.incarnation} << 48;
}

uint16_t incarnation_of(uint64_t word) {
    return static_cast<uint16_t>(word >> 48);
}

uint32_t under_way(uint64_t word) {
    return static_cast<uint32_t>(word);
}

// Incarnations wrap, so it is the shorter way that counts. 0 is before all.
bool is_before(uint16_t incarnation, uint16_t other) {
    return incarnation == 0 || static_cast<int16_t>(other - incarnation) > 0;
}

void pause() {
    timespec time{.tv_sec = 0, .tv_nsec = look_again};
    nanosleep(&time, nullptr);
}

struct flock lock_of(short type, Owner owner) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = locks_offset + (off_t{owner.client} << 16 | owner.incarnation);
    lock.l_len = 1;
    return lock;
}

}  // namespace

std::atomic_ref<uint64_t> LocalClients::word(Owner owner) const {
    return std::atomic_ref<uint64_t>(*file_.client_word(owner.client));
}

int LocalClients::lock(short type, Owner owner) const {
    struct flock lock = lock_of(type, owner);
    if (fcntl(file_.fd(), F_OFD_SETLK, &lock) == 0)
        return 0;
    return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
}

bool LocalClients::alive(Owner owner) const {
    if (owner == self())
        return true;  // our own lock does not stand in our way
    struct flock lock = lock_of(F_WRLCK, owner);
    return fcntl(file_.fd(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int LocalClients::enroll(Owner owner) {
    if (owner.client == 0 || owner.client >= LocalFile::clients || owner.incarnation == 0)
        return -EINVAL;
    if (!file_.writable())
        return -EACCES;
    std::lock_guard guard(coming_and_going_);
    if (self().client != 0)
        return -EBUSY;
    if (int rc = lock(F_WRLCK, owner); rc < 0)
        return rc;
    auto word = this->word(owner);
    uint64_t before = word;
    do {
        if (!is_before(incarnation_of(before), owner.incarnation)) {
            lock(F_UNLCK, owner);
            return -ESHUTDOWN;
        }
    } while (!word.compare_exchange_weak(before, word_for(owner)));
    self_ = owner;
    return 0;
}

int LocalClients::withdraw() {
    std::lock_guard guard(coming_and_going_);
    Owner owner = self();
    if (owner.client == 0)
        return 0;
    auto word = this->word(owner);
    uint64_t before = word;
    while (incarnation_of(before) == owner.incarnation &&
           !word.compare_exchange_weak(before, before | fenced)) {
    }
    if (!wait_for_none(owner, monotonic_ns() + withdraw_patience, false))
        return -ETIMEDOUT;
    self_ = Owner{};
    return lock(F_UNLCK, owner);
}

int LocalClients::fence(Owner owner, uint64_t deadline) {
    if (owner.client == 0 || owner.client >= LocalFile::clients || owner.incarnation == 0)
        return -EINVAL;
    if (!file_.writable())
        return -EACCES;
    auto word = this->word(owner);
    uint64_t before = word, after;
    do {
        // One that has not enrolled yet will not be able to.
        bool enrolled = incarnation_of(before) == owner.incarnation;
        if (!enrolled && !is_before(incarnation_of(before), owner.incarnation))
            return 0;  // a later one has begun
        after = enrolled ? before | fenced : word_for(owner) | fenced;
    } while (!word.compare_exchange_weak(before, after));
    return wait_for_none(owner, deadline, true) ? 0 : -ETIMEDOUT;
}

// Until no operation of the fenced incarnation is counted.
bool LocalClients::wait_for_none(Owner owner, uint64_t deadline, bool or_dead) const {
    for (;;) {
        uint64_t now = word(owner);
        if (incarnation_of(now) != owner.incarnation || under_way(now) == 0)
            return true;
        if (or_dead && !alive(owner))
            return true;
        if (monotonic_ns() >= deadline)
            return false;
        pause();
    }
}

LocalClients::Passage::Passage(LocalClients &clients)
    : clients_(clients), owner_(clients.self()), open_(true) {
    if (owner_.client == 0)
        return;  // not a client: nobody fences it
    auto word = clients.word(owner_);
    uint64_t before = word;
    do {
        open_ = incarnation_of(before) == owner_.incarnation && !(before & fenced);
    } while (open_ && !word.compare_exchange_weak(before, before + 1));
}

// A claimant who was taken for dead before he noted his place may still be inside when the
// number is another's, whose count this is not.
LocalClients::Passage::~Passage() {
    if (owner_.client == 0 || !open_)
        return;
    auto word = clients_.word(owner_);
    uint64_t before = word;
    while (incarnation_of(before) == owner_.incarnation &&
           !word.compare_exchange_weak(before, before - 1)) {
    }
}

}  // namespace ds::fabric
