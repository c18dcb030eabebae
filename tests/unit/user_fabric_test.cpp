// SPDX-License-Identifier: Apache-2.0
// The rest of ds/ds.h, on the fake device: opening, spaces, buffers, segments,
// messages, addresses, and structs that grow.
#include <ds/ds.h>
#include <ds/layout.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "user_cmocka.hpp"
#include "user_device.hpp"

namespace {

ds_fabric *fabric;

int setup(void **) {
    fake::device.reset();
    return ds_fabric_open(nullptr, &fabric);
}

int teardown(void **) {
    ds_fabric_close(fabric);
    return 0;
}

int open_with(ds_fabric_options options) {
    ds_fabric *f;
    int rc = ds_fabric_open(&options, &f);
    if (rc == 0)
        ds_fabric_close(f);
    return rc;
}

ds_fabric_options options() {
    ds_fabric_options o{};
    o.size = sizeof(o);
    return o;
}

void opening_says_what_is_wrong(void **) {
    ds_fabric_options o = options();
    o.size = 2;
    assert_int_equal(open_with(o), -EINVAL);
    o = options();
    o.reserved = 1;
    assert_int_equal(open_with(o), -EINVAL);
    o = options();
    o.ring_entries = 48;
    assert_int_equal(open_with(o), -EINVAL);
    o.ring_entries = 131072;
    assert_int_equal(open_with(o), -EINVAL);

    o = options();
    o.device = "/nowhere/ds";
    assert_int_equal(open_with(o), -ENODEV);
    o.device = "/dev/null";
    assert_int_equal(open_with(o), -ENOTTY);

    fake::device.open_errno = EACCES;
    assert_int_equal(open_with(options()), -EACCES);
    fake::device.open_errno = 0;
    fake::device.info.out_abi = 0;
    assert_int_equal(open_with(options()), -EOPNOTSUPP);
    fake::device.info.out_abi = DS_ABI_VERSION + 1;  // newer kernels keep what we need
    assert_int_equal(open_with(options()), 0);
    ds_fabric_close(nullptr);
}

void options_may_be_longer_or_shorter(void **) {
    struct {
        ds_fabric_options known;
        uint64_t unknown;
    } longer{options(), 0};
    longer.known.size = sizeof(longer);
    ds_fabric *f;
    assert_int_equal(ds_fabric_open(&longer.known, &f), 0);
    ds_fabric_close(f);
    longer.unknown = 1;
    assert_int_equal(ds_fabric_open(&longer.known, &f), -E2BIG);

    ds_fabric_options shorter = options();
    shorter.size = 4;
    shorter.ring_entries = 48;  // behind what the caller says it knows
    assert_int_equal(open_with(shorter), 0);
}

void structs_are_filled_as_far_as_they_go(void **) {
    struct {
        ds_limits known;
        uint64_t unknown;
    } longer;
    memset(&longer, 0xff, sizeof(longer));
    longer.known.size = sizeof(longer);
    assert_int_equal(ds_fabric_limits(fabric, &longer.known), 0);
    assert_int_equal(longer.known.size, sizeof(longer));
    assert_int_equal(longer.known.node, 7);
    assert_int_equal(longer.known.max_op_bytes, 1 << 20);
    assert_int_equal(longer.unknown, 0);

    ds_limits shorter;
    memset(&shorter, 0xff, sizeof(shorter));
    shorter.size = 8;
    assert_int_equal(ds_fabric_limits(fabric, &shorter), 0);
    assert_int_equal(shorter.node, 7);
    assert_int_equal(shorter.max_ops, 0xffffffff);
    shorter.size = 3;
    assert_int_equal(ds_fabric_limits(fabric, &shorter), -EINVAL);
}

void spaces(void **) {
    ds_space *space;
    assert_int_equal(ds_space_open(fabric, 2, DS_ACCESS_READ, &space), -ENOENT);
    assert_int_equal(ds_space_open(fabric, 1, 0, &space), -EINVAL);
    assert_int_equal(ds_space_open(fabric, 1, DS_ACCESS_READ, &space), 0);
    struct ds_space_info info {};
    info.size = sizeof(info);
    assert_int_equal(ds_space_get_info(space, &info), 0);
    assert_int_equal(info.number, 1);
    assert_int_equal(info.servers, 4);
    assert_int_equal(info.server_shift, 24);
    assert_int_equal(info.base, 0x10000000);
    assert_int_equal(info.last, 0x13ffffff);
    ds_space_close(space);
    ds_space_close(nullptr);
}

void buffers(void **) {
    ds_buffer *buffer;
    assert_int_equal(ds_buffer_alloc(fabric, 0, -1, &buffer), -EINVAL);
    assert_int_equal(ds_buffer_alloc(fabric, (1ull << 30) + 1, -1, &buffer), -E2BIG);
    assert_int_equal(ds_buffer_alloc(fabric, SIZE_MAX, -1, &buffer), -E2BIG);
    fake::device.mmap_errno = ENOMEM;  // and the handle is given back: see reset()
    assert_int_equal(ds_buffer_alloc(fabric, 4096, -1, &buffer), -ENOMEM);
    fake::device.mmap_errno = 0;

    assert_int_equal(ds_buffer_alloc(fabric, 5000, -1, &buffer), 0);
    assert_int_equal(ds_buffer_length(buffer), 8192);
    memset(ds_buffer_data(buffer), 1, 8192);
    ds_buffer_free(buffer);
    ds_buffer_free(nullptr);

    alignas(4096) static char memory[8192];
    assert_int_equal(ds_buffer_pin(fabric, memory + 1, 4096, &buffer), -EINVAL);
    assert_int_equal(ds_buffer_pin(fabric, memory, 4096, &buffer), 0);
    assert_ptr_equal(ds_buffer_data(buffer), memory);
    ds_buffer_free(buffer);
    memory[0] = 1;  // still the caller's
}

void segments(void **) {
    alignas(4096) static char memory[4096];
    ds_segment_options o{};
    o.size = sizeof(o);
    o.domain = 3;
    o.access = DS_ACCESS_READ;
    o.numa_node = -1;
    o.length = 4096;
    ds_segment *segment;
    assert_int_equal(ds_segment_create(fabric, &o, &segment), 0);
    assert_int_equal(ds_segment_number(segment), 42);
    assert_int_equal(fake::device.segments[0].flags, 0);
    assert_int_equal(fake::device.segments[0].domain, 3);
    assert_int_equal(fake::device.segments[0].numa_node, -1);
    ds_segment_close(segment);
    o.start = memory;
    assert_int_equal(ds_segment_create(fabric, &o, &segment), 0);
    assert_int_equal(fake::device.segments[1].flags, DS_SEG_USER_MEMORY);
    assert_int_equal(fake::device.segments[1].addr, reinterpret_cast<uintptr_t>(memory));
    ds_segment_close(segment);
    ds_segment_close(nullptr);
    o.size = 1;
    assert_int_equal(ds_segment_create(fabric, &o, &segment), -EINVAL);
}

void calls(void **) {
    fake::device.on_send = [](ds_ioc_msg_send &m) {
        assert_int_equal(m.flags, 0);
        assert_int_equal(m.node, 9);
        assert_int_equal(m.service, 0x200);
        assert_int_equal(m.timeout_ms, 30000);
        assert_memory_equal(reinterpret_cast<void *>(m.data), "ping", m.length);
        assert_int_equal(m.reply_size, 16);
        memcpy(reinterpret_cast<void *>(m.reply), "pong!", 5);
        m.out_reply_length = 5;
        m.out_status = -3;
        m.out_outcome = DS_EXECUTED;
        return 0;
    };
    char room[16];
    ds_reply reply{room, sizeof(room), 0, 0, 0};
    assert_int_equal(ds_message_call(fabric, 9, 0x200, "ping", 4, 0, &reply), 0);
    assert_int_equal(reply.length, 5);
    assert_int_equal(reply.status, -3);
    assert_int_equal(reply.outcome, DS_EXECUTED);
    assert_memory_equal(room, "pong!", 5);

    // Not sent again, whatever is known.
    int calls = 0;
    fake::device.on_send = [&](ds_ioc_msg_send &m) {
        calls++;
        m.out_outcome = DS_UNKNOWN;
        return -ETIMEDOUT;
    };
    assert_int_equal(ds_message_call(fabric, 9, 0x200, "ping", 4, 5, &reply), -ETIMEDOUT);
    assert_int_equal(reply.outcome, DS_UNKNOWN);
    assert_int_equal(calls, 1);
    assert_int_equal(ds_message_call(fabric, 9, 0x200, "ping", 4, 5, nullptr), -EINVAL);
    assert_int_equal(calls, 1);
}

void one_way_messages(void **) {
    fake::device.on_send = [](ds_ioc_msg_send &m) {
        assert_int_equal(m.flags, DS_SEND_ONE_WAY);
        assert_int_equal(m.reply, 0);
        assert_int_equal(m.reply_size, 0);
        assert_int_equal(m.timeout_ms, 77);
        return 0;
    };
    assert_int_equal(ds_message_send(fabric, 9, 0x200, nullptr, 0, 77), 0);
    ds_counters c{};
    c.size = sizeof(c);
    ds_fabric_counters(fabric, &c);
    assert_int_equal(c.messages_sent, 1);
}

void services(void **) {
    ds_service *service;
    assert_int_equal(ds_service_bind(fabric, 0xff, 8, &service), -EINVAL);
    assert_int_equal(ds_service_bind(fabric, 0x200, 8, &service), 0);
    fake::device.on_receive = [](ds_ioc_msg_recv &m) {
        assert_int_equal(m.timeout_ms, 10);
        assert_int_equal(m.data_size, 8);
        m.out_length = 100;
        return -EMSGSIZE;
    };
    char room[8];
    ds_message message;
    assert_int_equal(ds_service_receive(service, 10, room, sizeof(room), &message), -EMSGSIZE);
    assert_int_equal(message.length, 100);
    fake::device.on_receive = [](ds_ioc_msg_recv &m) {
        memcpy(reinterpret_cast<void *>(m.data), "abc", 3);
        m.out_length = 3;
        m.out_node = 4;
        m.out_want_reply = 1;
        m.out_cookie = 0xc00c1e;
        return 0;
    };
    assert_int_equal(ds_service_receive(service, 10, room, sizeof(room), &message), 0);
    assert_int_equal(message.length, 3);
    assert_int_equal(message.node, 4);
    assert_int_equal(message.want_reply, 1);
    assert_int_equal(ds_service_reply(service, message.cookie, 5, "xy", 2), 0);
    assert_int_equal(fake::device.replies.size(), 1);
    assert_int_equal(fake::device.replies[0].cookie, 0xc00c1e);
    assert_int_equal(fake::device.replies[0].status, 5);
    assert_int_equal(fake::device.replies[0].length, 2);
    assert_int_equal(fake::device.replies[0].reserved, 0);
    ds_counters c{};
    c.size = sizeof(c);
    ds_fabric_counters(fabric, &c);
    assert_int_equal(c.messages_received, 1);
    ds_service_close(service);
    ds_service_close(nullptr);
}

void own_node_is_alive(void **) {
    assert_int_equal(ds_node_alive(fabric, 7), 1);
    // Another node is asked of the kernel, which has no ds.ko in this test.
    fake::device.info.out_node = 0;
    assert_true(ds_node_alive(fabric, 0) < 0);
}

void the_clock_runs(void **) {
    uint64_t before = ds_fabric_now(fabric);
    usleep(1000);
    assert_true(ds_fabric_now(fabric) - before >= 1000000);
}

void addresses(void **) {
    static const struct {
        uint64_t addr;
        uint32_t server, region;
        uint64_t offset, in_region;
        const char *name;
    } golden[] = {
        {0x12300000, 2, DS_REGION_LEAF, 0x300000, 0x100000, "leaf"},
        {0x11250000, 1, DS_REGION_LEAF, 0x250000, 0x50000, "leaf"},
        {0x12200000, 2, DS_REGION_LEAF, 0x200000, 0, "leaf"},
        {0x13010000, 3, DS_REGION_LEVEL1, 0x10000, 0, "level 1"},
        {0x10000000, 0, DS_REGION_ROOT, 0, 0, "root"},
        {0x13ffffff, 3, DS_REGION_LEAF, 0xffffff, 0xdfffff, "leaf"},
    };
    ds_address at;
    for (auto &g : golden) {
        assert_int_equal(ds_addr_resolve(g.addr, 4, 0, &at), 0);
        assert_int_equal(at.server, g.server);
        assert_int_equal(at.region, g.region);
        assert_int_equal(at.offset, g.offset);
        assert_int_equal(at.offset_in_region, g.in_region);
        assert_string_equal(ds_addr_region_name(at.region), g.name);
    }
    assert_int_equal(ds_addr_resolve(0x0fffffff, 4, 0, &at), -ERANGE);
    assert_int_equal(ds_addr_resolve(0x14000000, 4, 0, &at), -ERANGE);
    assert_int_equal(ds_addr_resolve(0x10000000, 0, 0, &at), -EINVAL);
    assert_int_equal(ds_addr_resolve(0x10000000, 4, 17, &at), -EINVAL);
    assert_int_equal(ds_addr_resolve(0x10000000, 4, UINT32_MAX - 23, &at), -EINVAL);
    assert_string_equal(ds_addr_region_name(5), "unknown");
}

}  // namespace

int main() {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const CMUnitTest tests[] = {
        TEST(opening_says_what_is_wrong),
        TEST(options_may_be_longer_or_shorter),
        TEST(structs_are_filled_as_far_as_they_go),
        TEST(spaces),
        TEST(buffers),
        TEST(segments),
        TEST(calls),
        TEST(one_way_messages),
        TEST(services),
        TEST(own_node_is_alive),
        TEST(the_clock_runs),
        TEST(addresses),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
