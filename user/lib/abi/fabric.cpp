// SPDX-License-Identifier: Apache-2.0
// ds/ds.h: fabric, spaces, buffers, segments.
#include <cerrno>
#include <string_view>

#include "abi/guard.hpp"
#include "fabric/engine.hpp"
#include "fabric/handles.hpp"
#include "fabric/kernel_fabric.hpp"
#include "fabric/local_fabric.hpp"

using namespace ds::fabric;
using ds::abi::fill;
using ds::abi::guard;
using ds::abi::take;

namespace {

constexpr uint32_t default_ring_entries = 1024;
constexpr uint32_t max_ring_entries = 65536;
constexpr uint32_t default_max_outstanding = 65536;

int open_backend(const char *device, uint32_t ring_entries, std::unique_ptr<Fabric> &backend) {
    constexpr std::string_view local = DS_LOCAL_PREFIX;
    if (std::string_view(device).starts_with(local))
        return LocalFabric::open(device + local.size(), backend);
    return KernelFabric::open(device, ring_entries, backend);
}

}  // namespace

int ds_fabric_open(const ds_fabric_options *options, ds_fabric **fabric) {
    ds_fabric_options o{};
    if (options)
        if (int rc = take(options, o); rc < 0)
            return rc;
    uint32_t entries = o.ring_entries ? o.ring_entries : default_ring_entries;
    if (o.reserved || entries > max_ring_entries || (entries & (entries - 1)))
        return -EINVAL;
    uint32_t outstanding = o.max_outstanding ? o.max_outstanding : default_max_outstanding;
    return guard([&] {
        std::unique_ptr<Fabric> backend;
        const char *device = o.device ? o.device : "/dev/ds";
        if (int rc = open_backend(device, entries, backend); rc < 0)
            return rc;
        *fabric = new ds_fabric{std::make_shared<Engine>(std::move(backend), outstanding)};
        return 0;
    });
}

void ds_fabric_close(ds_fabric *fabric) {
    if (!fabric)
        return;
    fabric->engine->close();
    delete fabric;
}

int ds_fabric_limits(ds_fabric *fabric, ds_limits *limits) {
    const Limits &l = fabric->engine->fabric().limits();
    return fill(limits, ds_limits{
                            .size = 0,
                            .node = l.node,
                            .max_ops = l.max_ops,
                            .max_chain = l.max_chain,
                            .max_op_bytes = l.max_op_bytes,
                            .max_msg_bytes = l.max_msg_bytes,
                            .max_buf_bytes = l.max_buf_bytes,
                            .features = l.features,
                        });
}

int ds_fabric_counters(ds_fabric *fabric, ds_counters *counters) {
    ds_counters now;
    fabric->engine->counters(now);
    return fill(counters, now);
}

uint64_t ds_fabric_now(ds_fabric *fabric) {
    return fabric->engine->fabric().now_ns();
}

int ds_node_alive(ds_fabric *fabric, uint32_t node) {
    return guard([&] { return fabric->engine->fabric().node_alive(node); });
}

// ---- Spaces ----

int ds_space_open(ds_fabric *fabric, uint32_t number, uint32_t access, ds_space **space) {
    return guard([&] {
        auto made = std::make_unique<ds_space>(ds_space{fabric->engine, {}});
        made->access = access;
        int rc = fabric->engine->fabric().open_space(number, access, made->info);
        if (rc == 0)
            *space = made.release();
        return rc;
    });
}

void ds_space_close(ds_space *space) {
    if (!space)
        return;
    space->engine->fabric().close_space(space->info);
    delete space;
}

void ds_space_set_timeout(ds_space *space, uint32_t timeout_ms) {
    space->timeout_ms = timeout_ms;
}

int ds_space_get_info(const ds_space *space, struct ds_space_info *info) {
    const SpaceInfo &s = space->info;
    return fill(info, {
                          .size = 0,
                          .number = s.number,
                          .servers = s.servers,
                          .server_shift = s.server_shift,
                          .base = s.base,
                          .last = s.last,
                      });
}

// ---- Buffers ----

int ds_buffer_alloc(ds_fabric *fabric, size_t length, int numa_node, ds_buffer **buffer) {
    return guard([&] {
        auto made = std::make_unique<ds_buffer>(ds_buffer{fabric->engine, {}});
        int rc = fabric->engine->fabric().create_buffer(length, numa_node, made->info);
        if (rc == 0)
            *buffer = made.release();
        return rc;
    });
}

int ds_buffer_pin(ds_fabric *fabric, void *start, size_t length, ds_buffer **buffer) {
    return guard([&] {
        auto made = std::make_unique<ds_buffer>(ds_buffer{fabric->engine, {}});
        int rc = fabric->engine->fabric().pin_buffer(start, length, made->info);
        if (rc == 0)
            *buffer = made.release();
        return rc;
    });
}

void ds_buffer_free(ds_buffer *buffer) {
    if (!buffer)
        return;
    buffer->engine->fabric().close_buffer(buffer->info);
    delete buffer;
}

void *ds_buffer_data(const ds_buffer *buffer) {
    return buffer->info.data;
}

size_t ds_buffer_length(const ds_buffer *buffer) {
    return buffer->info.length;
}

// ---- Segments ----

int ds_segment_create(ds_fabric *fabric, const ds_segment_options *options, ds_segment **segment) {
    ds_segment_options o;
    if (int rc = take(options, o); rc < 0)
        return rc;
    ds_ioc_seg_create want{};
    want.flags = o.start ? DS_SEG_USER_MEMORY : 0;
    want.length = o.length;
    want.addr = reinterpret_cast<uintptr_t>(o.start);
    want.domain = o.domain;
    want.access = o.access;
    want.numa_node = o.numa_node;
    return guard([&] {
        auto made = std::make_unique<ds_segment>(ds_segment{fabric->engine, {}});
        int rc = fabric->engine->fabric().create_segment(want, made->info);
        if (rc == 0)
            *segment = made.release();
        return rc;
    });
}

uint64_t ds_segment_number(const ds_segment *segment) {
    return segment->info.number;
}

void ds_segment_close(ds_segment *segment) {
    if (!segment)
        return;
    segment->engine->fabric().close_segment(segment->info);
    delete segment;
}
