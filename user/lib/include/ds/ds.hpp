// SPDX-License-Identifier: Apache-2.0
// libdsuser for C++20: objects that give themselves back, ds::Result instead of
// error numbers, and co_await for operations. Header only, above ds/ds.h, which
// has the full text on each call.
//
//     auto fabric = ds::Fabric::open();
//     auto space = fabric->open_space(1);
//     auto buffer = fabric->alloc(4096);
//     if (auto r = space->read(0x10000000, *buffer); !r)
//         std::cerr << r.error().sentence << '\n' << r.error().remedy << '\n';
//
// Spaces and buffers may live longer than their fabric, but not be used then.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <ds/ds.h>
#include <ds/result.hpp>
#include <ds/task.hpp>

namespace ds {

/// The longest wait. What is not above 0 is 1 ms, such as what is left until a deadline
/// that has passed, or less than 1 ms of it: no wait grows because its time is over.
/// Of Fabric::poll() and Service::receive() it means not to wait.
using Timeout = std::chrono::milliseconds;

/// DS_TIMEOUT_DEFAULT, as 0 in C; of some calls what set_timeout() said of their space.
inline constexpr Timeout default_timeout = Timeout::min();

namespace detail {

template <auto give_back>
struct Deleter {
    template <class T>
    void operator()(T *object) const {
        give_back(object);
    }
};

template <class T, auto give_back>
using Handle = std::unique_ptr<T, Deleter<give_back>>;

/// Where 0 is not to wait.
inline uint32_t milliseconds_or_none(Timeout timeout) {
    auto n = timeout.count();
    return n < 0 ? 0 : n > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(n);
}

/// Where 0 is the default.
inline uint32_t milliseconds(Timeout timeout) {
    if (timeout == default_timeout)
        return 0;
    return timeout.count() < 1 ? 1 : milliseconds_or_none(timeout);
}

inline Result<void> outcome(int rc) {
    return rc < 0 ? Result<void>(Error::from(rc)) : Result<void>();
}

}  // namespace detail

/// The error of an operation: names the node, and says whether it may have happened.
inline Error explain(const ds_result &result) {
    std::string sentence;
    if (result.node)
        sentence = "Operation on node " + std::to_string(result.node) + ": ";
    sentence += ds_strerror(result.status);
    if (result.outcome == DS_UNKNOWN)
        sentence += " It is not known whether the operation happened.";
    Error error = Error::from(result.status, std::move(sentence));
    error.unknown = result.outcome == DS_UNKNOWN;
    return error;
}

/// A part of a buffer.
struct Slice {
    ds_buffer *buffer;
    uint64_t offset;
    uint64_t length;
};

/// Local memory that the RDMA device reads and writes.
class Buffer {
public:
    std::span<std::byte> bytes() const {
        return {static_cast<std::byte *>(ds_buffer_data(handle_.get())), size()};
    }
    size_t size() const { return ds_buffer_length(handle_.get()); }

    /// The object at @p offset, which must fit and be aligned.
    template <class T>
    T &at(size_t offset = 0) const {
        static_assert(std::is_trivially_copyable_v<T>);
        return *reinterpret_cast<T *>(bytes().data() + offset);
    }

    Slice slice(uint64_t offset, uint64_t length) const { return {handle_.get(), offset, length}; }
    operator Slice() const { return slice(0, size()); }

private:
    friend class Fabric;
    explicit Buffer(ds_buffer *handle) : handle_(handle) {}
    detail::Handle<ds_buffer, ds_buffer_free> handle_;
};

/// Several operations that run together; see struct ds_operation on chains.
///
///     batch.cas(space, word, 0, 1).chained().read(space, addr, slice);
class Batch {
public:
    Batch &read(const class Space &space, uint64_t addr, Slice to);
    Batch &write(const class Space &space, uint64_t addr, Slice from);
    Batch &cas(const class Space &space, uint64_t addr, uint64_t compare, uint64_t swap);
    Batch &fetch_add(const class Space &space, uint64_t addr, uint64_t add);

    /// The operation added last is followed by the next one, in its chain.
    Batch &chained() { return flag(DS_OP_CHAIN); }
    /// It starts after earlier READs and atomics of its chain.
    Batch &fenced() { return flag(DS_OP_FENCE); }
    /// It is a WRITE that may be done twice.
    Batch &idempotent() { return flag(DS_OPERATION_IDEMPOTENT); }

    size_t size() const { return ops_.size(); }
    void clear() { ops_.clear(); }

    /// How each operation ended; filled by the run.
    const std::vector<ds_result> &results() const { return results_; }

private:
    friend class Fabric;
    friend class AsyncBatch;

    Batch &add(const class Space &space, uint16_t opcode, uint64_t addr, Slice slice,
               uint64_t compare_add = 0, uint64_t swap = 0);
    Batch &flag(uint32_t flag) {
        ops_.back().flags |= flag;
        return *this;
    }

    // The first operation that did not happen is the one to speak of.
    Result<void> outcome(int rc) const {
        for (const ds_result &result : results_)
            if (rc < 0 && result.status == rc)
                return explain(result);
        return detail::outcome(rc);
    }

    std::vector<ds_operation> ops_;
    std::vector<ds_result> results_;
};

/// What co_await of a Batch waits on.
class [[nodiscard]] AsyncBatch {
public:
    AsyncBatch(ds_fabric *fabric, Batch &batch, Timeout timeout)
        : fabric_(fabric), batch_(batch), timeout_(timeout) {}

    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> awaiting) {
        awaiting_ = awaiting;
        batch_.results_.assign(batch_.ops_.size(), {});
        int rc = ds_submit(fabric_, batch_.ops_.data(), batch_.ops_.size(),
                           detail::milliseconds(timeout_), batch_.results_.data(), ended, this);
        // If it was taken, another thread may have ended it by now: *this is not ours any more.
        if (rc < 0)
            status_ = rc;
        return rc == 0;
    }
    Result<void> await_resume() const { return batch_.outcome(status_); }

private:
    static void ended(void *self, int status) {
        auto *batch = static_cast<AsyncBatch *>(self);
        batch->status_ = status;
        batch->awaiting_.resume();
    }

    ds_fabric *fabric_;
    Batch &batch_;
    Timeout timeout_;
    std::coroutine_handle<> awaiting_;
    int status_ = 0;
};

/// What co_await of one operation waits on. T is void, or uint64_t for the old
/// value of an atomic.
template <class T>
class [[nodiscard]] Async {
public:
    Async(ds_fabric *fabric, const ds_operation &op, Timeout timeout)
        : fabric_(fabric), op_(op), timeout_(timeout) {}

    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> awaiting) {
        awaiting_ = awaiting;
        int rc = ds_submit(fabric_, &op_, 1, detail::milliseconds(timeout_), &result_, ended, this);
        if (rc < 0)  // else *this is not ours any more, as above
            result_.status = rc;
        return rc == 0;
    }
    Result<T> await_resume() const {
        if (result_.status < 0)
            return explain(result_);
        if constexpr (std::is_void_v<T>)
            return {};
        else
            return result_.value;
    }

private:
    static void ended(void *self, int) { static_cast<Async *>(self)->awaiting_.resume(); }

    ds_fabric *fabric_;
    ds_operation op_;
    Timeout timeout_;
    ds_result result_{};
    std::coroutine_handle<> awaiting_;
};

/// Remote memory, named by addresses.
class Space {
public:
    struct ds_space_info info() const {
        struct ds_space_info info {};
        info.size = sizeof(info);
        ds_space_get_info(handle_.get(), &info);
        return info;
    }

    /// What default_timeout means from then on to read(), write(), cas() and fetch_add(); the
    /// asynchronous ones keep DS_TIMEOUT_DEFAULT. No other thread may use the space.
    void set_timeout(Timeout timeout) {
        ds_space_set_timeout(handle_.get(), detail::milliseconds(timeout));
    }

    Result<void> read(uint64_t addr, Slice to, Timeout timeout = default_timeout) const {
        ds_result r;
        return done(ds_read(handle_.get(), addr, to.buffer, to.offset, to.length,
                            detail::milliseconds(timeout), &r),
                    r);
    }
    Result<void> write(uint64_t addr, Slice from, Timeout timeout = default_timeout) const {
        ds_result r;
        return done(ds_write(handle_.get(), addr, from.buffer, from.offset, from.length,
                             detail::milliseconds(timeout), &r),
                    r);
    }
    /// The old value; the swap happened if it equals @p compare.
    Result<uint64_t> cas(uint64_t addr, uint64_t compare, uint64_t swap,
                         Timeout timeout = default_timeout) const {
        ds_result r;
        return old(ds_cas(handle_.get(), addr, compare, swap, detail::milliseconds(timeout), &r),
                   r);
    }
    /// The old value.
    Result<uint64_t> fetch_add(uint64_t addr, uint64_t add,
                               Timeout timeout = default_timeout) const {
        ds_result r;
        return old(ds_fetch_add(handle_.get(), addr, add, detail::milliseconds(timeout), &r), r);
    }

    /// The same for co_await.
    Async<void> async_read(uint64_t addr, Slice to, Timeout timeout = default_timeout) const {
        return {fabric_, operation(DS_OP_READ, addr, to, 0, 0), timeout};
    }
    Async<void> async_write(uint64_t addr, Slice from, Timeout timeout = default_timeout) const {
        return {fabric_, operation(DS_OP_WRITE, addr, from, 0, 0), timeout};
    }
    Async<uint64_t> async_cas(uint64_t addr, uint64_t compare, uint64_t swap,
                              Timeout timeout = default_timeout) const {
        return {fabric_, operation(DS_OP_CAS, addr, {nullptr, 0, 8}, compare, swap), timeout};
    }
    Async<uint64_t> async_fetch_add(uint64_t addr, uint64_t add,
                                    Timeout timeout = default_timeout) const {
        return {fabric_, operation(DS_OP_FETCH_ADD, addr, {nullptr, 0, 8}, add, 0), timeout};
    }

    ds_space *get() const { return handle_.get(); }  ///< for the C functions

private:
    friend class Fabric;
    friend class Batch;
    Space(ds_fabric *fabric, ds_space *handle) : fabric_(fabric), handle_(handle) {}

    ds_operation operation(uint16_t opcode, uint64_t addr, Slice slice, uint64_t compare_add,
                           uint64_t swap) const {
        ds_operation op{};
        op.opcode = opcode;
        op.space = handle_.get();
        op.buffer = slice.buffer;
        op.addr = addr;
        op.length = slice.length;
        op.buffer_offset = slice.offset;
        op.compare_add = compare_add;
        op.swap = swap;
        return op;
    }
    static Result<void> done(int rc, const ds_result &r) {
        return rc < 0 ? Result<void>(explain(r)) : Result<void>();
    }
    static Result<uint64_t> old(int rc, const ds_result &r) {
        return rc < 0 ? Result<uint64_t>(explain(r)) : Result<uint64_t>(r.value);
    }

    ds_fabric *fabric_;
    detail::Handle<ds_space, ds_space_close> handle_;
};

inline Batch &Batch::add(const Space &space, uint16_t opcode, uint64_t addr, Slice slice,
                         uint64_t compare_add, uint64_t swap) {
    ops_.push_back(space.operation(opcode, addr, slice, compare_add, swap));
    return *this;
}
inline Batch &Batch::read(const Space &space, uint64_t addr, Slice to) {
    return add(space, DS_OP_READ, addr, to);
}
inline Batch &Batch::write(const Space &space, uint64_t addr, Slice from) {
    return add(space, DS_OP_WRITE, addr, from);
}
inline Batch &Batch::cas(const Space &space, uint64_t addr, uint64_t compare, uint64_t swap) {
    return add(space, DS_OP_CAS, addr, {nullptr, 0, 8}, compare, swap);
}
inline Batch &Batch::fetch_add(const Space &space, uint64_t addr, uint64_t add_value) {
    return add(space, DS_OP_FETCH_ADD, addr, {nullptr, 0, 8}, add_value);
}

/// A port that receives messages.
class Service {
public:
    struct Message {
        ds_message head;
        std::span<std::byte> payload;  ///< within the room given to receive()
    };

    /// Nothing if no message came in time.
    Result<std::optional<Message>> receive(std::span<std::byte> room, Timeout timeout) {
        ds_message head;
        int rc = ds_service_receive(handle_.get(), detail::milliseconds_or_none(timeout),
                                    room.data(), static_cast<uint32_t>(room.size()), &head);
        if (rc == -EAGAIN || rc == -ETIMEDOUT)
            return std::optional<Message>();
        if (rc < 0)
            return Error::from(rc);
        return std::optional(Message{head, room.first(head.length)});
    }

    Result<void> reply(const Message &to, int32_t status, std::span<const std::byte> payload = {}) {
        return detail::outcome(ds_service_reply(handle_.get(), to.head.cookie, status,
                                                payload.data(),
                                                static_cast<uint32_t>(payload.size())));
    }

private:
    friend class Fabric;
    explicit Service(ds_service *handle) : handle_(handle) {}
    detail::Handle<ds_service, ds_service_close> handle_;
};

/// Memory exported to other hosts while the object lives.
class Segment {
public:
    uint64_t number() const { return ds_segment_number(handle_.get()); }

private:
    friend class Fabric;
    explicit Segment(ds_segment *handle) : handle_(handle) {}
    detail::Handle<ds_segment, ds_segment_close> handle_;
};

/// An open /dev/ds, or a local file.
class Fabric {
public:
    static Result<Fabric> open(const ds_fabric_options *options = nullptr) {
        ds_fabric *handle;
        int rc = ds_fabric_open(options, &handle);
        return rc < 0 ? Result<Fabric>(Error::from(rc)) : Result<Fabric>(Fabric(handle));
    }

    Result<Space> open_space(uint32_t number, uint32_t access = DS_ACCESS_ALL) const {
        ds_space *handle;
        int rc = ds_space_open(get(), number, access, &handle);
        return rc < 0 ? Result<Space>(Error::from(rc)) : Result<Space>(Space(get(), handle));
    }
    Result<Buffer> alloc(size_t length, int numa_node = -1) const {
        ds_buffer *handle;
        int rc = ds_buffer_alloc(get(), length, numa_node, &handle);
        return rc < 0 ? Result<Buffer>(Error::from(rc)) : Result<Buffer>(Buffer(handle));
    }
    Result<Buffer> pin(std::span<std::byte> memory) const {
        ds_buffer *handle;
        int rc = ds_buffer_pin(get(), memory.data(), memory.size(), &handle);
        return rc < 0 ? Result<Buffer>(Error::from(rc)) : Result<Buffer>(Buffer(handle));
    }
    Result<Service> bind(uint32_t port, uint32_t queue) const {
        ds_service *handle;
        int rc = ds_service_bind(get(), port, queue, &handle);
        return rc < 0 ? Result<Service>(Error::from(rc)) : Result<Service>(Service(handle));
    }
    Result<Segment> export_memory(const ds_segment_options &options) const {
        ds_segment *handle;
        int rc = ds_segment_create(get(), &options, &handle);
        return rc < 0 ? Result<Segment>(Error::from(rc)) : Result<Segment>(Segment(handle));
    }

    /// Runs a batch and waits.
    Result<void> execute(Batch &batch, Timeout timeout = default_timeout) const {
        batch.results_.assign(batch.ops_.size(), {});
        return batch.outcome(ds_execute(get(), batch.ops_.data(), batch.ops_.size(),
                                        detail::milliseconds(timeout), batch.results_.data()));
    }
    /// For co_await; the batch must outlive it.
    AsyncBatch async(Batch &batch, Timeout timeout = default_timeout) const {
        return {get(), batch, timeout};
    }

    /// Runs callbacks and coroutines; true if something happened.
    Result<bool> poll(Timeout timeout) const {
        int rc = ds_fabric_poll(get(), detail::milliseconds_or_none(timeout));
        return rc < 0 ? Result<bool>(Error::from(rc)) : Result<bool>(rc > 0);
    }
    int fd() const { return ds_fabric_fd(get()); }

    /// Starts a task and polls until it has ended.
    template <class T>
    T run(Task<T> task) const {
        task.start();
        finish(task);
        return task.take();
    }
    /// The same with several that run at the same time.
    void run_all(std::vector<Task<void>> tasks) const {
        for (auto &task : tasks)
            task.start();
        for (auto &task : tasks)
            finish(task);
        for (auto &task : tasks)
            task.take();
    }

    /// Sends a message and waits for the reply, which goes to @p room. Gives the
    /// payload; a status of the service that is not 0 is an error.
    Result<std::span<std::byte>> call(uint32_t node, uint32_t service,
                                      std::span<const std::byte> payload, std::span<std::byte> room,
                                      Timeout timeout = default_timeout) const {
        ds_reply reply{room.data(), static_cast<uint32_t>(room.size()), 0, 0, 0};
        int rc = ds_message_call(get(), node, service, payload.data(),
                                 static_cast<uint32_t>(payload.size()),
                                 detail::milliseconds(timeout), &reply);
        if (rc == 0)
            rc = reply.status;
        if (rc == 0)
            return room.first(reply.length);
        Error error = Error::from(rc);
        error.unknown = reply.outcome == DS_UNKNOWN;
        return error;
    }
    Result<void> send(uint32_t node, uint32_t service, std::span<const std::byte> payload,
                      Timeout timeout = default_timeout) const {
        return detail::outcome(ds_message_send(get(), node, service, payload.data(),
                                               static_cast<uint32_t>(payload.size()),
                                               detail::milliseconds(timeout)));
    }

    Result<bool> alive(uint32_t node) const {
        int rc = ds_node_alive(get(), node);
        return rc < 0 ? Result<bool>(Error::from(rc)) : Result<bool>(rc > 0);
    }
    ds_limits limits() const {
        ds_limits limits{};
        limits.size = sizeof(limits);
        ds_fabric_limits(get(), &limits);
        return limits;
    }
    ds_counters counters() const {
        ds_counters counters{};
        counters.size = sizeof(counters);
        ds_fabric_counters(get(), &counters);
        return counters;
    }

    ds_fabric *get() const { return handle_.get(); }  ///< for the C functions

private:
    explicit Fabric(ds_fabric *handle) : handle_(handle) {}

    // The operations end within their time, and with them the tasks.
    template <class T>
    void finish(Task<T> &task) const {
        while (!task.done())
            ds_fabric_poll(get(), 1000);
    }

    detail::Handle<ds_fabric, ds_fabric_close> handle_;
};

}  // namespace ds
