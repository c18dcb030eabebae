// SPDX-License-Identifier: Apache-2.0
// ds::fabric::KernelFabric: the backend on /dev/ds.
//
// Synchronous operations go straight to the kernel; any number of threads may
// be in execute() at once. The same for start(); the ends for which it did not wait come
// to the ring, from where whoever looks there first puts them into their struct Late.
//
// Asynchronous chains take this way:
//
//     submit() --> delayed --> pending --> kernel (slot) --> ring --> ended --> done()
//                 not_before   FIFO        DS_IOC_SUBMIT     poll()
//
// The kernel is asked in FIFO order, many chains at once. When it has no room
// (-EAGAIN, or only a part is taken) the rest stays pending; the next try is
// made when completions were consumed, or after a short time, because another
// process's operations may be what fills the queue pair.
//
// Locks: lock_ guards the lists, the slots and the ring, and is held during the
// asynchronous DS_IOC_SUBMIT, which does not wait. No lock is held while done()
// runs or while a thread sleeps.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "fabric/chain_list.hpp"
#include "fabric/fd.hpp"
#include "fabric/liveness.hpp"
#include "fabric/ring.hpp"

namespace ds::fabric {

class KernelFabric final : public Fabric {
public:
    /// -ENODEV: there is no such device.
    static int open(const char *device, uint32_t ring_entries, std::unique_ptr<Fabric> &fabric);

    const Limits &limits() const override { return limits_; }

    int open_space(uint32_t number, uint32_t access, SpaceInfo &space) override;
    void close_space(const SpaceInfo &space) override;
    int create_buffer(size_t length, int numa_node, BufferInfo &buffer) override;
    int pin_buffer(void *start, size_t length, BufferInfo &buffer) override;
    void close_buffer(const BufferInfo &buffer) override;
    int create_segment(const ds_ioc_seg_create &want, SegmentInfo &segment) override;
    void close_segment(const SegmentInfo &segment) override;

    void execute(std::span<const ds_op> ops, std::span<ds_cqe> ends, uint32_t timeout_ms) override;
    void start(std::span<ds_op> ops, std::span<ds_cqe> ends, uint32_t timeout_ms,
               uint32_t patience_ms, Late &late) override;
    bool collect(Late &late, std::span<ds_cqe> ends) override;
    void submit(std::span<Chain *const> chains) override;
    int poll(uint32_t timeout_ms) override;
    void drain(uint64_t deadline) override;
    int fd() override { return epoll_.get(); }

    uint64_t now_ns() const override;
    void sleep_until(uint64_t ns) override;

    int bind_service(uint32_t port, uint32_t queue, uint32_t &handle) override;
    void close_service(uint32_t handle) override;
    int send_message(ds_ioc_msg_send &message) override;
    int receive_message(ds_ioc_msg_recv &message) override;
    int reply_message(ds_ioc_msg_reply &message) override;

    int enroll(const SpaceInfo &space, Owner owner, uint64_t &place) override;
    int withdraw(const SpaceInfo &space) override;
    int client_alive(const SpaceInfo &space, Owner owner, uint64_t place,
                     uint64_t deadline) override;
    int fence(const SpaceInfo &space, Owner owner, uint64_t place, uint64_t deadline) override;

    int node_alive(uint32_t node) override;
    BackendCounters counters() const override;

private:
    explicit KernelFabric(uint32_t ring_entries) : ring_entries_(ring_entries) {}

    template <class Arg>
    int call(unsigned long request, Arg &arg) const;
    int query(ds_ioc_info &info) const;
    int run(std::span<const ds_op> ops, std::span<ds_cqe> ends, uint32_t timeout_ms,
            uint32_t patience_ms);
    bool add_late(Late &late, size_t count);
    int end_client(const SpaceInfo &space, uint64_t place, uint32_t flags, uint64_t deadline);
    int watch(int fd) const;
    void close_handle(uint32_t type, uint32_t handle) const;

    // With lock_ held.
    int make_ring();
    void pump();
    uint32_t stage(size_t most_chains);
    bool offer(uint32_t chains);
    void reap();
    void release_delayed(uint64_t now);
    void wait_in_line(Chain *chain);
    void expire(uint64_t now);
    void end(Chain *chain, int status, enum ds_outcome outcome);
    void finish(Chain *chain);
    void free_slot(Chain *chain);
    void arm_timer(uint64_t now);

    size_t progress();

    Fd device_;
    Fd timer_;  // for delayed chains and for asking the kernel again
    Fd epoll_;  // device_ and timer_
    Limits limits_{};
    const uint32_t ring_entries_;
    Liveness liveness_;

    std::mutex lock_;
    Ring ring_;
    std::vector<Chain *> slots_;  // user_data = slot << 16 | index in the chain
    std::vector<uint32_t> free_slots_;
    std::vector<Late *> lates_;  // user_data = late_bit | slot << 16 | index
    std::vector<ds_op> staged_;
    ChainList delayed_, pending_, ended_;
    uint64_t ask_again_ = 0;             // ns; 0 unless the kernel had no room for pending_
    uint64_t next_expiry_ = UINT64_MAX;  // ns; no chain of pending_ has an earlier deadline
    uint64_t armed_ = 0;                 // ns at which timer_ fires, 0 for never

    std::atomic<uint64_t> pieces_{0}, submits_{0}, refused_{0};
};

}  // namespace ds::fabric
