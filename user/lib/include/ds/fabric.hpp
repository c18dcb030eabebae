// SPDX-License-Identifier: Apache-2.0
// ds::fabric::Fabric: what moves bytes. The library's own interface, beneath
// the C ABI and above the backends; not installed.
//
// A backend runs chains and knows nothing of division, retries or deadlines of
// requests: fabric/transfer.hpp and fabric/engine.hpp do that for all of them.
// The kernel backend is fabric/kernel_fabric.hpp, the local one
// fabric/local_fabric.hpp. The simulator joins here with its first user.
//
// Functions return 0 or a negative errno. Every function may be called by any
// thread at any time.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ds/ioctl.h>

namespace ds::fabric {

struct Limits {
    uint32_t node;
    uint32_t max_ops;
    uint32_t max_chain;
    uint32_t max_op_bytes;
    uint32_t max_msg_bytes;
    uint64_t max_buf_bytes;
    uint64_t features;
};

struct SpaceInfo {
    uint32_t handle;
    uint32_t number;
    uint32_t servers;
    uint32_t server_shift;
    uint64_t base;
    uint64_t last;
};

struct BufferInfo {
    uint32_t handle;
    bool mapped;  ///< by the fabric, which unmaps it
    void *data;
    size_t length;
};

struct SegmentInfo {
    uint32_t handle;
    uint64_t number;
};

/// One or more operations on one server that run in order. The submitter owns
/// it and what it points to, and leaves them alone until done() is called.
struct Chain {
    std::span<const ds_op> ops;       ///< their user_data is ignored
    ds_cqe *ends;                     ///< one for each operation, user_data not set
    uint64_t not_before = 0;          ///< ns; wait until then
    uint64_t deadline;                ///< ns; if not started by then: timed_out()
    void (*done)(Chain &) = nullptr;  ///< called from poll() or drain(), without locks
    void *owner = nullptr;

    uint32_t starts = 0;  ///< counted up by the backend

    // The backend's.
    Chain *next = nullptr;
    uint32_t slot = no_slot;
    uint32_t left = 0;

    static constexpr uint32_t no_slot = UINT32_MAX;
};

/// The ends of operations for which start() did not wait. The caller of start() has one for
/// each call, and leaves it alone and in its place until collect() has them all.
struct Late {
    std::vector<ds_cqe> ends;
    uint32_t slot = 0;
};

/// A client of a pool, in one of its lives.
struct Owner {
    uint16_t client;       ///< 1 to DS_LAYOUT_MAX_CLIENT
    uint16_t incarnation;  ///< from 1 on; after 65535 from 1 again
    bool operator==(const Owner &) const = default;
};

/// Where a client is: its node, and what tells it from others there.
constexpr uint64_t place_of(uint32_t node, uint64_t token) {
    return uint64_t{node} << 48 | token;
}

/// The end of an operation that the library, not the kernel, ends.
inline ds_cqe ended(int status, enum ds_outcome outcome) {
    ds_cqe end{};
    end.status = status;
    end.outcome = static_cast<uint8_t>(outcome);
    return end;
}

/// Has start() left this operation under way?
inline bool is_under_way(const ds_cqe &end) {
    return end.status == -EINPROGRESS;
}

/// The end of a chain that has to wait longer than it may. What an earlier attempt
/// met says more than the time: it names the node.
inline void timed_out(Chain &chain) {
    if (chain.starts == 0)
        std::fill_n(chain.ends, chain.ops.size(), ended(-ETIMEDOUT, DS_NOT_EXECUTED));
}

/// What a backend counts; the rest of ds_counters is counted above it.
struct BackendCounters {
    uint64_t pieces;
    uint64_t submits;
    uint64_t refused;
};

class Fabric {
public:
    virtual ~Fabric() = default;

    virtual const Limits &limits() const = 0;

    virtual int open_space(uint32_t number, uint32_t access, SpaceInfo &space) = 0;
    virtual void close_space(const SpaceInfo &space) = 0;

    virtual int create_buffer(size_t length, int numa_node, BufferInfo &buffer) = 0;
    virtual int pin_buffer(void *start, size_t length, BufferInfo &buffer) = 0;
    virtual void close_buffer(const BufferInfo &buffer) = 0;

    virtual int create_segment(const ds_ioc_seg_create &want, SegmentInfo &segment) = 0;
    virtual void close_segment(const SegmentInfo &segment) = 0;

    /// Runs whole chains, at most limits().max_ops operations, and waits. Every
    /// entry of @p ends is written, also on failure of the call.
    virtual void execute(std::span<const ds_op> ops, std::span<ds_cqe> ends,
                         uint32_t timeout_ms) = 0;

    /// As execute(), but waits for no more than @p patience_ms, if the backend can do that.
    /// What is under way then has the status -EINPROGRESS with DS_UNKNOWN, and collect() is
    /// to be called until it has ended: its memory is in use till then, whatever the time is.
    virtual void start(std::span<ds_op> ops, std::span<ds_cqe> ends, uint32_t timeout_ms,
                       uint32_t /*patience_ms*/, Late & /*late*/) {
        execute(ops, ends, timeout_ms);
    }

    /// Writes to @p ends, those of start(), what has ended meanwhile. Returns whether all has.
    /// Does not wait, and calls no done().
    virtual bool collect(Late & /*late*/, std::span<ds_cqe> /*ends*/) { return true; }

    /// Starts chains, in order. Those that do not fit wait inside. The callers
    /// bound how many there are.
    virtual void submit(std::span<Chain *const> chains) = 0;

    /// Calls done() of chains that have ended. Returns how many, after at most
    /// @p timeout_ms; -EINTR when a signal came.
    virtual int poll(uint32_t timeout_ms) = 0;

    /// Ends every chain: those not started as ECANCELED at once, those that do
    /// not end by @p deadline (ns) as ETIMEDOUT with DS_UNKNOWN.
    virtual void drain(uint64_t deadline) = 0;

    /// Readable when poll() has something to do.
    virtual int fd() = 0;

    virtual uint64_t now_ns() const = 0;
    virtual void sleep_until(uint64_t ns) = 0;

    virtual int bind_service(uint32_t port, uint32_t queue, uint32_t &handle) = 0;
    virtual void close_service(uint32_t handle) = 0;
    /// The structs are those of the UAPI; size and reserved fields are set here.
    virtual int send_message(ds_ioc_msg_send &message) = 0;
    virtual int receive_message(ds_ioc_msg_recv &message) = 0;
    virtual int reply_message(ds_ioc_msg_reply &message) = 0;

    // ---- Clients of a pool: user/lib/pool has claimed their numbers ----

    /// From here on all that this fabric does there is done as @p owner, and ends
    /// with -ESHUTDOWN once somebody has fenced that. @p place is set to a word by which
    /// others find it: node in the upper 16 bits, and in all more than fits into 16 bits.
    /// -EBUSY: it is a client already; -ESHUTDOWN: @p owner is fenced; -EACCES: the pool
    /// can only be read.
    virtual int enroll(const SpaceInfo &space, Owner owner, uint64_t &place) = 0;

    /// Ends that. Operations that other threads have under way are waited for.
    /// -ETIMEDOUT: one does not end; the client is not gone before the fabric is.
    virtual int withdraw(const SpaceInfo &space) = 0;

    /// 1: the process lives and is enrolled, or its host does not tell; 0: it is gone, or
    /// not enrolled. -ENOTCONN, -ETIMEDOUT, ...: nobody knows, or not by @p deadline (ns).
    /// @p place: as enroll() has set it.
    virtual int client_alive(const SpaceInfo &space, Owner owner, uint64_t place,
                             uint64_t deadline) = 0;

    /// When it returns 0, no operation of @p owner is under way or will ever be.
    /// -ETIMEDOUT: an operation did not end by @p deadline (ns), or a server did not
    /// answer: try again. -ENOTCONN: a server is not connected that is needed for it.
    virtual int fence(const SpaceInfo &space, Owner owner, uint64_t place, uint64_t deadline) = 0;

    /// 1: connected, 0: known and not connected, -ENOENT: unknown.
    virtual int node_alive(uint32_t node) = 0;

    virtual BackendCounters counters() const = 0;
};

}  // namespace ds::fabric
