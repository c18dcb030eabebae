// SPDX-License-Identifier: Apache-2.0
// ds::fabric::LocalClients: the clients of a pool in a file, and fencing them.
//
// Each client number has a word in the file:
//
//     incarnation 16 | 0 15 | fenced 1 | operations under way 32
//
// and each (client, incarnation) has a byte far behind the end of the file, on
// which the client holds an open-file-description lock while it lives. The
// kernel drops that lock when the last process with the open file is gone, and
// by then has unmapped the memory.
//
//     operation:  enter: incarnation is mine and not fenced: count + 1, in one step
//                 run
//                 leave: count - 1
//     fence:      set fenced, in one step; wait for count 0, or for the lock to be free
//
// Why nothing of a client happens after fence() has returned 0:
//
// 1. All changes of a word are single atomic read-modify-writes, so they have
//    one order. An enter() is either before the step that sets fenced, or it
//    finds fenced set, or a later incarnation, and the operation does not run.
//    fenced is never cleared for the same incarnation: enroll() only begins
//    incarnations that are later than the word's.
// 2. An enter() before that step is counted. It is no longer counted after its
//    leave(), which comes behind all that the operation does: the count is
//    released there and acquired by fence(). So count 0 says that those
//    operations are over, and 1 that there will be no others.
// 3. A client that died, or is stopped, between enter() and leave() stays
//    counted. If it is dead its lock is free, and it does nothing any more. If it
//    is stopped, fence() does not return 0 while it is; when it goes on it ends
//    that one operation and begins no other.
// 4. A count belongs to one incarnation. enter() and leave() change the word only
//    while it is theirs: a later incarnation takes it over after fence(), when
//    nothing is counted but what the dead have left, or after withdraw(), when
//    nothing is counted.
//
// Not covered: a child of fork(2) that uses the library is the same client as
// its parent, and a count that it takes to its grave holds fence() up until the
// parent is gone too.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include <ds/fabric.hpp>

#include "fabric/local_file.hpp"

namespace ds::fabric {

class LocalClients {
public:
    explicit LocalClients(const LocalFile &file) : file_(file) {}

    /// As Fabric's functions of these names.
    int enroll(Owner owner);
    int withdraw();
    bool alive(Owner owner) const;
    int fence(Owner owner, uint64_t deadline);

    /// Who this fabric is; client 0 if it is not enrolled.
    Owner self() const { return self_; }

    /// The time in which an operation runs. Not running if the client is fenced.
    class Passage {
    public:
        explicit Passage(LocalClients &clients);
        Passage(const Passage &) = delete;
        Passage &operator=(const Passage &) = delete;
        ~Passage();

        bool open() const { return open_; }

    private:
        LocalClients &clients_;
        Owner owner_;
        bool open_;
    };

private:
    std::atomic_ref<uint64_t> word(Owner owner) const;
    bool wait_for_none(Owner owner, uint64_t deadline, bool or_dead) const;
    int lock(short type, Owner owner) const;

    const LocalFile &file_;
    std::mutex coming_and_going_;  // one enroll() or withdraw() at a time
    std::atomic<Owner> self_{};
};

}  // namespace ds::fabric
