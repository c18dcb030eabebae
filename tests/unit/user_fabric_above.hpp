// SPDX-License-Identifier: Apache-2.0
// A fabric above another one, which it hands everything on to but what a test
// wants otherwise.
#pragma once

#include <ds/fabric.hpp>

#include <memory>
#include <utility>

namespace ds::fabric {

class FabricAbove : public Fabric {
public:
    explicit FabricAbove(std::unique_ptr<Fabric> fabric) : below(std::move(fabric)) {}

    void execute(std::span<const ds_op> ops, std::span<ds_cqe> ends, uint32_t timeout_ms) override {
        below->execute(ops, ends, timeout_ms);
    }
    const Limits &limits() const override { return below->limits(); }
    int open_space(uint32_t number, uint32_t access, SpaceInfo &space) override {
        return below->open_space(number, access, space);
    }
    void close_space(const SpaceInfo &space) override { below->close_space(space); }
    int create_buffer(size_t length, int numa_node, BufferInfo &buffer) override {
        return below->create_buffer(length, numa_node, buffer);
    }
    int pin_buffer(void *start, size_t length, BufferInfo &buffer) override {
        return below->pin_buffer(start, length, buffer);
    }
    void close_buffer(const BufferInfo &buffer) override { below->close_buffer(buffer); }
    int create_segment(const ds_ioc_seg_create &want, SegmentInfo &segment) override {
        return below->create_segment(want, segment);
    }
    void close_segment(const SegmentInfo &segment) override { below->close_segment(segment); }
    void submit(std::span<Chain *const> chains) override { below->submit(chains); }
    int poll(uint32_t timeout_ms) override { return below->poll(timeout_ms); }
    void drain(uint64_t deadline) override { below->drain(deadline); }
    int fd() override { return below->fd(); }
    uint64_t now_ns() const override { return below->now_ns(); }
    void sleep_until(uint64_t ns) override { below->sleep_until(ns); }
    int bind_service(uint32_t port, uint32_t queue, uint32_t &handle) override {
        return below->bind_service(port, queue, handle);
    }
    void close_service(uint32_t handle) override { below->close_service(handle); }
    int send_message(ds_ioc_msg_send &message) override { return below->send_message(message); }
    int receive_message(ds_ioc_msg_recv &message) override {
        return below->receive_message(message);
    }
    int reply_message(ds_ioc_msg_reply &message) override { return below->reply_message(message); }
    int enroll(const SpaceInfo &space, Owner owner, uint64_t &place) override {
        return below->enroll(space, owner, place);
    }
    int withdraw(const SpaceInfo &space) override { return below->withdraw(space); }
    int client_alive(const SpaceInfo &space, Owner owner, uint64_t place,
                     uint64_t deadline) override {
        return below->client_alive(space, owner, place, deadline);
    }
    int fence(const SpaceInfo &space, Owner owner, uint64_t place, uint64_t deadline) override {
        return below->fence(space, owner, place, deadline);
    }
    int node_alive(uint32_t node) override { return below->node_alive(node); }
    BackendCounters counters() const override { return below->counters(); }

    std::unique_ptr<Fabric> below;
};

}  // namespace ds::fabric
