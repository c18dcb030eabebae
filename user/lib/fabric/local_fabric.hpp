// SPDX-License-Identifier: Apache-2.0
// ds::fabric::LocalFabric: the backend on a file that processes share.
//
// A chain is run by the thread that submits it, at once; what is asynchronous
// is only that its end is told by poll(). A chain that is to wait
// (Chain::not_before) is run by poll() when its time has come.
//
// A fabric that is enrolled as client of the pool runs each chain, and each
// change of the extents, between enter() and leave() of fabric/local_clients.hpp,
// so that it can be fenced.
//
// Locks: handles_lock_ guards the tables of handles, lock_ the lists of chains.
// No lock is held while memory is copied, while done() runs or while a thread
// sleeps.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "fabric/chain_list.hpp"
#include "fabric/fd.hpp"
#include "fabric/local_clients.hpp"
#include "fabric/local_file.hpp"
#include "fabric/local_message_port.hpp"
#include "fabric/local_message_sender.hpp"

namespace ds::fabric {

class LocalFabric final : public Fabric {
public:
    /// As ds_local_describe(), and -ENOMEM: more than the process can map.
    static int open(const char *path, std::unique_ptr<Fabric> &fabric);

    const Limits &limits() const override;

    int open_space(uint32_t number, uint32_t access, SpaceInfo &space) override;
    void close_space(const SpaceInfo &space) override;
    int create_buffer(size_t length, int numa_node, BufferInfo &buffer) override;
    int pin_buffer(void *start, size_t length, BufferInfo &buffer) override;
    void close_buffer(const BufferInfo &buffer) override;
    int create_segment(const ds_ioc_seg_create &want, SegmentInfo &segment) override;
    void close_segment(const SegmentInfo &segment) override;

    void execute(std::span<const ds_op> ops, std::span<ds_cqe> ends, uint32_t timeout_ms) override;
    void submit(std::span<Chain *const> chains) override;
    int poll(uint32_t timeout_ms) override;
    void drain(uint64_t deadline) override;
    int fd() override;

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
    struct Local;  // a buffer
    struct Step;   // an operation with its addresses found

    LocalFabric() = default;

    int add_buffer(std::shared_ptr<Local> local, BufferInfo &buffer);
    std::shared_ptr<LocalPort> find_port(uint32_t handle) const;
    int find(const ds_op &op, Step &step) const;
    int find_chain(std::span<const ds_op> ops, std::span<Step> steps, size_t &wrong) const;
    void run(std::span<const ds_op> ops, std::span<ds_cqe> ends);
    void run_steps(std::span<const ds_op> ops, std::span<const Step> steps, std::span<ds_cqe> ends);

    // With lock_ held.
    void arm_timer();

    size_t progress();
    int wait(uint64_t ns);

    std::unique_ptr<LocalFile> file_;
    std::unique_ptr<LocalClients> clients_;
    PortFolder folder_;
    std::unique_ptr<LocalSender> sender_;
    Fd timer_;  // has expired while poll() has something to do and somebody watches it

    mutable std::mutex handles_lock_;
    uint32_t next_handle_ = 1;
    std::map<uint32_t, uint32_t> spaces_;  // to the rights of each
    std::map<uint32_t, std::shared_ptr<Local>> buffers_;
    std::map<uint32_t, std::shared_ptr<LocalPort>> ports_;

    std::mutex lock_;
    ChainList delayed_, ended_;
    uint64_t armed_ = 0;     // ns at which timer_ expires, 0 for never
    uint32_t watchers_ = 0;  // of timer_: threads that sleep in poll(), and who called fd()

    std::atomic<uint64_t> pieces_{0}, submits_{0};
};

}  // namespace ds::fabric
