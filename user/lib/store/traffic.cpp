// SPDX-License-Identifier: Apache-2.0
#include "store/traffic.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace ds::store {
namespace {

constexpr uint64_t ms = 1'000'000;  // ns

// The longest sleep at a time: the end waited for may be run by a thread that polls
// the fabric for itself, and tells nobody here.
constexpr uint64_t step_ms = 20;

}  // namespace

// ---- Rooms ----

int Rooms::borrow(size_t length, std::shared_ptr<Room> &room) {
    std::unique_ptr<Room> found;
    {
        std::lock_guard guard(lock_);
        while (!spare_.empty() && !found) {
            found = std::move(spare_.back());
            spare_.pop_back();
            if (ds_buffer_length(found->buffer.get()) < length)
                found.reset();
        }
    }
    if (!found) {
        found = std::make_unique<Room>();
        ds_buffer *made;
        if (int rc = ds_buffer_alloc(fabric_, length, -1, &made); rc < 0)
            return rc;
        found->buffer.reset(made);
    }
    room = std::shared_ptr<Room>(found.release(), [rooms = shared_from_this()](Room *done) {
        rooms->give_back(std::unique_ptr<Room>(done));
    });
    return 0;
}

void Rooms::give_back(std::unique_ptr<Room> room) {
    std::lock_guard guard(lock_);
    if (!room->spoiled && spare_.size() < most_spare)
        spare_.push_back(std::move(room));
}

// ---- Flights ----

bool Flight::is_unknown() const {
    return !landed || std::ranges::any_of(results, [](const ds_result &result) {
        return result.outcome == DS_UNKNOWN;
    });
}

// What the fabric holds of a flight; the call that started it may be gone when it lands.
struct Traffic::Ticket {
    std::shared_ptr<Flight> flight;
    std::shared_ptr<std::atomic<size_t>> under_way;
};

std::shared_ptr<Flight> Traffic::start(std::span<const ds_operation> ops,
                                       std::shared_ptr<Room> room, uint32_t timeout_ms) {
    auto flight = std::make_shared<Flight>();
    flight->room = std::move(room);
    flight->results.resize(ops.size());
    auto ticket = std::make_unique<Ticket>(Ticket{flight, under_way_});
    uint64_t deadline = ds_fabric_now(fabric_) + timeout_ms * ms;
    (*under_way_)++;
    for (;;) {
        int rc = ds_submit(fabric_, ops.data(), ops.size(), timeout_ms, flight->results.data(),
                           land, ticket.get());
        if (rc == 0) {
            ticket.release();  // NOLINT: land() deletes it, perhaps before this
            return flight;
        }
        uint64_t now = ds_fabric_now(fabric_);
        if (rc != -EAGAIN || now >= deadline) {
            ds_result refused{};
            refused.status = rc;
            refused.outcome = DS_NOT_EXECUTED;
            std::ranges::fill(flight->results, refused);
            land(ticket.release(), rc);
            return flight;
        }
        // As much is under way as may be.
        std::unique_lock guard(lock_);
        poll_once(guard, now, deadline);
    }
}

void Traffic::land(void *arg, int status) {
    std::unique_ptr<Ticket> ticket(static_cast<Ticket *>(arg));
    Flight &flight = *ticket->flight;
    flight.status = status;
    if (std::ranges::any_of(flight.results,
                            [](const ds_result &r) { return r.outcome == DS_UNKNOWN; }))
        flight.room->spoiled = true;
    flight.landed = true;
    (*ticket->under_way)--;
}

// Lets ends be told, by this thread or by another that is at it.
void Traffic::poll_once(std::unique_lock<std::mutex> &guard, uint64_t now, uint64_t deadline) {
    uint64_t left = deadline > now ? (deadline - now + ms - 1) / ms : 0;
    auto time = static_cast<uint32_t>(std::min(left, step_ms));
    if (polling_) {
        polled_.wait_for(guard, std::chrono::milliseconds(time));
        return;
    }
    polling_ = true;
    guard.unlock();
    ds_fabric_poll(fabric_, time);
    guard.lock();
    polling_ = false;
    polled_.notify_all();
}

bool Traffic::wait(const Flight &flight, uint64_t deadline) {
    std::unique_lock guard(lock_);
    uint64_t now = 0;
    // One that has ended by now is told of, however late it is.
    while (!flight.landed && now < deadline) {
        now = ds_fabric_now(fabric_);
        poll_once(guard, now, deadline);
    }
    return flight.landed;
}

void Traffic::settle(uint64_t deadline) {
    std::unique_lock guard(lock_);
    while (*under_way_ > 0) {
        uint64_t now = ds_fabric_now(fabric_);
        if (now >= deadline)
            return;
        poll_once(guard, now, deadline);
    }
}

}  // namespace ds::store
