// SPDX-License-Identifier: Apache-2.0
// What puts and gets have under way, and the memory that it comes from or goes to.
//
// A call sends off chains, as flights, and waits for those whose bytes it needs
// next, while the others go on. Threads that wait share the fabric: one of them polls
// it and so runs the ends of all, the others sleep until it has done so.
//
// A flight keeps its room until its end is known. A call that has no more time
// leaves both behind; nobody gets a room that a device may still use.
#pragma once

#include <ds/ds.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace ds::store {

/// Memory for a shard with its seal, which the fabric reads and writes.
struct Room {
    std::unique_ptr<ds_buffer, void (*)(ds_buffer *)> buffer{nullptr, ds_buffer_free};
    std::atomic<bool> spoiled{false};  ///< an operation ended that nobody knows the outcome of

    std::byte *bytes() const { return static_cast<std::byte *>(ds_buffer_data(buffer.get())); }
};

/// Rooms that are not in use; makes more when there are none.
class Rooms : public std::enable_shared_from_this<Rooms> {
public:
    explicit Rooms(ds_fabric *fabric) : fabric_(fabric) {}

    /// One of at least @p length bytes, until nobody has it any more.
    int borrow(size_t length, std::shared_ptr<Room> &room);

private:
    void give_back(std::unique_ptr<Room> room);

    static constexpr size_t most_spare = 16;
    ds_fabric *fabric_;
    std::mutex lock_;
    std::vector<std::unique_ptr<Room>> spare_;
};

/// Chains that were sent off together.
struct Flight {
    std::shared_ptr<Room> room;
    std::vector<ds_result> results;
    std::atomic<bool> landed{false};  ///< the end of all of them is known, and in results
    int status = 0;                   ///< of the first that did not happen; once landed

    /// Whether something of it may still be on its way.
    bool is_unknown() const;
};

class Traffic {
public:
    explicit Traffic(ds_fabric *fabric) : fabric_(fabric) {}

    /// Sends off chains that use @p room. They may have landed on return, in vain as well.
    std::shared_ptr<Flight> start(std::span<const ds_operation> ops, std::shared_ptr<Room> room,
                                  uint32_t timeout_ms);

    /// Until it has landed. False: it had not at that time (ns).
    bool wait(const Flight &flight, uint64_t deadline);

    /// Until all have landed that were ever started, or that time.
    void settle(uint64_t deadline);

private:
    struct Ticket;

    static void land(void *arg, int status);
    void poll_once(std::unique_lock<std::mutex> &guard, uint64_t now, uint64_t deadline);

    ds_fabric *fabric_;
    std::shared_ptr<std::atomic<size_t>> under_way_ = std::make_shared<std::atomic<size_t>>(0);
    std::mutex lock_;
    std::condition_variable polled_;
    bool polling_ = false;  // somebody is in ds_fabric_poll()
};

}  // namespace ds::store
