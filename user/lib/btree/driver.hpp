// SPDX-License-Identifier: Apache-2.0
// Runs the operations of a tree, which are coroutines, and what they need to
// run: round trips, pauses, room for nodes, and turns at a node.
//
// The driver lets every task go on until all of them wait; then what they wait
// for goes out together, as one request: one round trip for all of them, whatever
// the number of servers. Tasks whose chains ended go on, and so forth. Those whose server
// cannot be reached are tried again meanwhile: they hold nobody up who has a lock elsewhere. Nor
// do those whose server does not answer: for that a round trip is waited for no longer than the
// patience, if others could go on. What is under way then ends when it does, and till then
// nothing else goes to that server: whoever wants to ask it waits here.
// A server that has not answered in all the time that an operation has is, until run()
// returns, not waited for again.
//
// A driver and what it runs belong to one thread at a time.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include <ds/ds.h>
#include <ds/task.hpp>

#include "btree/node.hpp"
#include "fabric/transfer.hpp"

namespace ds::btree {

struct Counters {
    uint64_t round_trips = 0;
    uint64_t work_requests = 0;
    uint64_t bytes_in = 0;   ///< of READs, and the old values of atomics
    uint64_t bytes_out = 0;  ///< of WRITEs, and the operands of atomics
    uint64_t lock_retries = 0;
    uint64_t torn_retries = 0;
    uint64_t stale_retries = 0;
    uint64_t splits = 0;
    uint64_t helped = 0;
    uint64_t recovered = 0;
    uint64_t unfinished = 0;
};

/// Room for a node in memory that the fabric reads and writes.
class Room {
public:
    Room() = default;
    Room(class Rooms *owner, ds_buffer *buffer, uint64_t offset)
        : owner_(owner), buffer_(buffer), offset_(offset) {}
    Room(Room &&other) noexcept { swap(other); }
    Room &operator=(Room &&other) noexcept {
        swap(other);
        return *this;
    }
    ~Room();

    Node &node() const {
        auto *bytes = static_cast<std::byte *>(ds_buffer_data(buffer_));
        return *reinterpret_cast<Node *>(bytes + offset_);
    }
    explicit operator bool() const { return buffer_ != nullptr; }
    ds_buffer *buffer() const { return buffer_; }
    uint64_t offset() const { return offset_; }

    /// The device may write into it later: it is not used again.
    void spoil() { spoiled_ = true; }

private:
    void swap(Room &other) {
        std::swap(owner_, other.owner_);
        std::swap(buffer_, other.buffer_);
        std::swap(offset_, other.offset_);
        std::swap(spoiled_, other.spoiled_);
    }

    Rooms *owner_ = nullptr;
    ds_buffer *buffer_ = nullptr;
    uint64_t offset_ = 0;
    bool spoiled_ = false;
};

/// Rooms that are not in use; makes more when there are none.
class Rooms {
public:
    explicit Rooms(ds_space *space) : space_(space) {}

    Room take();  ///< throws std::bad_alloc

private:
    friend class Room;
    struct Free {
        void operator()(ds_buffer *buffer) const { ds_buffer_free(buffer); }
    };
    void add_buffer();

    ds_space *space_;
    std::vector<std::unique_ptr<ds_buffer, Free>> buffers_;
    std::vector<std::pair<ds_buffer *, uint64_t>> free_;
};

/// The chains of one task for one round trip.
class Io {
public:
    explicit Io(ds_space *space) : space_(space) {}

    /// @p length bytes of a node, from @p from on, to or from the same place in @p room.
    Io &read(uint64_t addr, Room &room, uint64_t from = 0, uint64_t length = node_size);
    Io &write(uint64_t addr, Room &room, uint64_t from, uint64_t length);
    /// Line @p number of the node at @p addr, from the same place in @p room; of the
    /// head what is behind the lock word.
    Io &write_line(uint64_t addr, Room &room, unsigned number);
    Io &cas(uint64_t addr, uint64_t compare, uint64_t swap);
    Io &fetch_add(uint64_t addr, uint64_t add);

    /// The operation added last is followed by the next one, in its chain.
    Io &then();

    /// If the server cannot be reached, or does not answer, it ends at once.
    Io &once() {
        once_ = true;
        return *this;
    }

    size_t size() const { return ops_.size(); }
    const ds_result &result(size_t i) const { return results_[i]; }
    /// Of the first operation that did not happen.
    int status() const;
    /// Is there one of which nobody knows? It may still happen.
    bool doubtful() const;

private:
    friend class Driver;
    Io &add(uint16_t opcode, uint64_t addr, Room *room, uint64_t from, uint64_t length);

    ds_space *space_;
    std::vector<ds_operation> ops_;
    std::vector<Room *> rooms_;
    std::vector<ds_result> results_;
    bool once_ = false;
    size_t first_ = 0;  // of its operations in the request
    std::coroutine_handle<> waiting_;
};

class Driver {
public:
    Driver(ds_space *space, uint32_t timeout_ms, uint64_t patience_ns);
    Driver(const Driver &) = delete;
    Driver &operator=(const Driver &) = delete;

    uint64_t now() const;

    /// Runs tasks that @p next makes, up to @p depth at a time, until it makes
    /// none and all have ended.
    void run(size_t depth, const std::function<std::optional<Task<void>>()> &next);

    /// Waits for what run() left under way; before the driver goes, as it is used till then. That
    /// is not for long: a host that does not answer loses its connection.
    void settle() noexcept;

    /// co_await: until the chains have ended.
    auto trip(Io &io) {
        return Suspend([this, &io](std::coroutine_handle<> task) {
            io.waiting_ = task;
            sending_.push_back(&io);
        });
    }

    /// co_await: until no other task can go on. For what stops all of them.
    auto idle() {
        return Suspend([this](std::coroutine_handle<> task) { idle_.push_back(task); });
    }

    /// co_await: for @p ns.
    auto pause(uint64_t ns) {
        return Suspend(
            [this, ns](std::coroutine_handle<> task) { pausing_.emplace(now() + ns, task); });
    }

    /// A task's turn at a node: tasks of one process wait for each other here,
    /// and not by CAS at the server.
    class Turn {
    public:
        Turn() = default;
        Turn(Driver *driver, uint64_t addr) : driver_(driver), addr_(addr) {}
        Turn(Turn &&other) noexcept { swap(other); }
        Turn &operator=(Turn &&other) noexcept {
            swap(other);
            return *this;
        }
        ~Turn() {
            if (driver_)
                driver_->pass_turn(addr_);
        }

    private:
        void swap(Turn &other) {
            std::swap(driver_, other.driver_);
            std::swap(addr_, other.addr_);
        }
        Driver *driver_ = nullptr;
        uint64_t addr_ = 0;
    };
    Task<Turn> turn(uint64_t addr);

    /// Operations of the server of @p addr that have succeeded.
    uint64_t answers(uint64_t addr) const { return answers_[server_of(addr)]; }

    Counters counters;

private:
    // What co_await waits on: the task is put where it will be woken from.
    template <class Put>
    struct Suspend {
        explicit Suspend(Put put) : put(put) {}
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> task) { put(task); }
        void await_resume() const noexcept {}
        Put put;
    };

    // A request, and the chains of it that are waited for. There may be none: then what is
    // under way has lost its tasks.
    struct Round {
        fabric::Transfer transfer;
        std::vector<Io *> ios;
        uint64_t end;       // ns
        uint64_t next = 0;  // ns: when to attempt it
        bool held_back = false;
    };

    void pass_turn(uint64_t addr);
    void run_ready();
    void send();
    void begin(std::span<Io *const> ios, bool held_back);
    bool attempt(Round &round);
    void forget() noexcept;
    void end(const Io &io, uint64_t patience);
    void count(const ds_operation &op);
    void note_silence(const ds_operation &op, int status, bool waited);
    bool is_silent(const Io &io) const;
    bool is_busy(const Io &io) const;
    bool is_alone(const Round &round) const;
    uint32_t server_of(uint64_t addr) const;
    void sleep();
    void wake();

    ds_space *space_;
    uint32_t timeout_ms_;
    uint64_t patience_;                           // ns
    std::vector<std::coroutine_handle<>> ready_;  // has room for all tasks: ~Turn() fills it
    std::vector<Io *> sending_;
    std::deque<std::coroutine_handle<>> idle_;
    std::multimap<uint64_t, std::coroutine_handle<>> pausing_;  // by time, ns
    std::list<Round> rounds_;                                   // that have not ended
    std::unordered_map<uint64_t, std::deque<std::coroutine_handle<>>> turns_;

    std::set<uint32_t> silent_;      // servers
    std::vector<uint64_t> answers_;  // by server

    // Kept, so that a round trip allocates less.
    std::vector<ds_operation> ops_;
    std::vector<ds_result> results_;
    std::vector<Io *> sent_;
};

}  // namespace ds::btree
