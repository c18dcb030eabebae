// SPDX-License-Identifier: Apache-2.0
// A local fabric whose memory servers can die, in all processes that share the
// switches: what it is asked of one that is dead does not happen, and ends as on
// /dev/ds when a node is not connected.
#pragma once

#include <ds/ds.h>

#include <sys/mman.h>

#include <atomic>
#include <memory>

#include "fabric/engine.hpp"
#include "fabric/handles.hpp"
#include "fabric/local_fabric.hpp"

namespace mortal {

using namespace ds::fabric;

constexpr uint32_t servers = 4, shift = 24;
constexpr uint64_t base = 0x10000000;

struct Server {
    std::atomic<bool> dead;
    std::atomic<bool> silent;  ///< WRITEs happen, and nobody hears of it
};

/// The switches.
class Servers {
public:
    Servers()
        : servers_(static_cast<Server *>(
              mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
    Servers(const Servers &) = delete;
    Servers &operator=(const Servers &) = delete;
    ~Servers() { munmap(servers_, bytes); }
    Server &operator[](uint64_t server) const { return servers_[server]; }

private:
    static constexpr size_t bytes = servers * sizeof(Server);
    Server *servers_;
};

class MortalFabric final : public Fabric {
public:
    MortalFabric(std::unique_ptr<Fabric> inner, const Servers &servers)
        : inner_(std::move(inner)), servers_(servers) {}

    void execute(std::span<const ds_op> ops, std::span<ds_cqe> ends, uint32_t timeout_ms) override {
        for (size_t first = 0, end; first < ops.size(); first = end) {
            for (end = first; ops[end++].flags & DS_OP_CHAIN;) {
            }
            auto chain = ops.subspan(first, end - first);
            auto its_ends = ends.subspan(first, end - first);
            Server &server = servers_[(chain[0].addr - base) >> shift];
            if (!server.dead)
                inner_->execute(chain, its_ends, timeout_ms);
            if (server.dead)
                std::ranges::fill(its_ends, ended(-ENOTCONN, DS_NOT_EXECUTED));
            else if (server.silent && chain[0].opcode == DS_OP_WRITE)
                std::ranges::fill(its_ends, ended(-ETIMEDOUT, DS_UNKNOWN));
        }
    }

    // The rest is the local fabric's.
    const Limits &limits() const override { return inner_->limits(); }
    int open_space(uint32_t number, uint32_t access, SpaceInfo &space) override {
        return inner_->open_space(number, access, space);
    }
    void close_space(const SpaceInfo &space) override { inner_->close_space(space); }
    int create_buffer(size_t length, int numa_node, BufferInfo &buffer) override {
        return inner_->create_buffer(length, numa_node, buffer);
    }
    int pin_buffer(void *start, size_t length, BufferInfo &buffer) override {
        return inner_->pin_buffer(start, length, buffer);
    }
    void close_buffer(const BufferInfo &buffer) override { inner_->close_buffer(buffer); }
    int create_segment(const ds_ioc_seg_create &want, SegmentInfo &segment) override {
        return inner_->create_segment(want, segment);
    }
    void close_segment(const SegmentInfo &segment) override { inner_->close_segment(segment); }
    void submit(std::span<Chain *const> chains) override { inner_->submit(chains); }
    int poll(uint32_t timeout_ms) override { return inner_->poll(timeout_ms); }
    void drain(uint64_t deadline) override { inner_->drain(deadline); }
    int fd() override { return inner_->fd(); }
    uint64_t now_ns() const override { return inner_->now_ns(); }
    void sleep_until(uint64_t ns) override { inner_->sleep_until(ns); }
    int bind_service(uint32_t port, uint32_t queue, uint32_t &handle) override {
        return inner_->bind_service(port, queue, handle);
    }
    void close_service(uint32_t handle) override { inner_->close_service(handle); }
    int send_message(ds_ioc_msg_send &message) override { return inner_->send_message(message); }
    int receive_message(ds_ioc_msg_recv &message) override {
        return inner_->receive_message(message);
    }
    int reply_message(ds_ioc_msg_reply &message) override { return inner_->reply_message(message); }
    int enroll(const SpaceInfo &space, Owner owner, uint64_t &place) override {
        return inner_->enroll(space, owner, place);
    }
    int withdraw(const SpaceInfo &space) override { return inner_->withdraw(space); }
    int client_alive(const SpaceInfo &space, Owner owner, uint64_t place) override {
        return inner_->client_alive(space, owner, place);
    }
    int fence(const SpaceInfo &space, Owner owner, uint64_t place, uint64_t deadline) override {
        return inner_->fence(space, owner, place, deadline);
    }
    int node_alive(uint32_t node) override { return inner_->node_alive(node); }
    BackendCounters counters() const override { return inner_->counters(); }

private:
    std::unique_ptr<Fabric> inner_;
    const Servers &servers_;
};

/// Opens a pool's file so. For ds_fabric_close().
inline ds_fabric *open(const std::string &path, const Servers &servers) {
    std::unique_ptr<Fabric> local;
    if (LocalFabric::open(path.c_str(), local) < 0)
        std::abort();
    auto fabric = std::make_unique<MortalFabric>(std::move(local), servers);
    return new ds_fabric{std::make_shared<Engine>(std::move(fabric), 1024)};
}

}  // namespace mortal
