// SPDX-License-Identifier: Apache-2.0
// The local fabric through ds/ds.h: operations, callbacks, processes.
#include <ds/layout.h>

#include <fcntl.h>
#include <poll.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "fabric/local_fabric.hpp"
#include "user_local.hpp"

namespace {

using local::Child;
using local::Client;
using local::Folder;

constexpr uint64_t base = DS_LAYOUT_BASE;
constexpr uint64_t MiB = 1 << 20;

ds_operation operation(const Client &c, uint16_t opcode, uint64_t addr, uint64_t length,
                       uint32_t flags = 0) {
    ds_operation op{};
    op.opcode = opcode;
    op.flags = flags;
    op.space = c.space;
    op.addr = addr;
    op.length = length;
    op.buffer = opcode <= DS_OP_WRITE ? c.buffer : nullptr;
    return op;
}

uint64_t add(const Client &c, uint64_t addr, uint64_t n) {
    ds_result r;
    assert_int_equal(ds_fetch_add(c.space, addr, n, 0, &r), 0);
    return r.value;
}

// ---- spaces, buffers, and what there is not ----

void spaces_and_rights(void **) {
    Folder folder;
    ds_local_options options = local::shape(2);
    options.access = DS_ACCESS_READ | DS_ACCESS_ATOMIC;
    assert_int_equal(ds_local_create(folder.file().c_str(), &options), 0);
    ds_fabric *fabric;
    ds_space *space;
    assert_int_equal(local::open(folder.file(), &fabric), 0);
    assert_int_equal(ds_space_open(fabric, 2, DS_ACCESS_READ, &space), -ENOENT);
    assert_int_equal(ds_space_open(fabric, 0, DS_ACCESS_READ, &space), -ENOENT);
    assert_int_equal(ds_space_open(fabric, 1, 0, &space), -EINVAL);
    assert_int_equal(ds_space_open(fabric, 1, 8, &space), -EOPNOTSUPP);
    assert_int_equal(ds_space_open(fabric, 1, DS_ACCESS_WRITE, &space), -EACCES);
    assert_int_equal(ds_space_open(fabric, 1, DS_ACCESS_READ, &space), 0);

    ds_space_info info{};
    info.size = sizeof(info);
    assert_int_equal(ds_space_get_info(space, &info), 0);
    assert_int_equal(info.servers, 2);
    assert_int_equal(info.server_shift, 24);
    assert_int_equal(info.base, base);
    assert_int_equal(info.last, base + 32 * MiB - 1);

    // Rights that were not asked for are not there.
    ds_result r;
    assert_int_equal(ds_fetch_add(space, base, 1, 0, &r), -EACCES);
    assert_int_equal(r.outcome, DS_NOT_EXECUTED);
    ds_space_close(space);
    ds_fabric_close(fabric);
}

void handles_have_a_limit(void **) {
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    ds_fabric *fabric;
    assert_int_equal(local::open(folder.file(), &fabric), 0);
    std::vector<ds_space *> spaces(1025);
    for (int i = 0; i < 1024; i++)
        assert_int_equal(ds_space_open(fabric, 1, DS_ACCESS_READ, &spaces[i]), 0);
    assert_int_equal(ds_space_open(fabric, 1, DS_ACCESS_READ, &spaces[1024]), -EDQUOT);
    ds_space_close(spaces[0]);
    assert_int_equal(ds_space_open(fabric, 1, DS_ACCESS_READ, &spaces[0]), 0);
    spaces.pop_back();
    for (ds_space *space : spaces)
        ds_space_close(space);
    ds_fabric_close(fabric);
}

void buffers(void **) {
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    Client c(folder.file());
    ds_buffer *buffer;
    assert_int_equal(ds_buffer_alloc(c.fabric, 0, -1, &buffer), -EINVAL);
    assert_int_equal(ds_buffer_alloc(c.fabric, (1 << 30) + 1, -1, &buffer), -E2BIG);
    alignas(4096) static char mine[8192];
    assert_int_equal(ds_buffer_pin(c.fabric, mine + 1, 4096, &buffer), -EINVAL);
    assert_int_equal(ds_buffer_pin(c.fabric, mine, 100, &buffer), -EINVAL);
    assert_int_equal(ds_buffer_pin(c.fabric, mine, 0, &buffer), -EINVAL);
    assert_int_equal(ds_buffer_pin(c.fabric, mine, 8192, &buffer), 0);
    strcpy(mine, "pinned");
    assert_int_equal(ds_write(c.space, base, buffer, 0, 8, 0, nullptr), 0);
    assert_int_equal(ds_read(c.space, base, c.buffer, 0, 8, 0, nullptr), 0);
    assert_string_equal(reinterpret_cast<char *>(c.bytes), "pinned");
    ds_buffer_free(buffer);
    strcpy(mine, "still mine");
    assert_int_equal(ds_buffer_alloc(c.fabric, 1, -1, &buffer), 0);
    assert_int_equal(ds_buffer_length(buffer), 4096);
    assert_int_equal(*static_cast<char *>(ds_buffer_data(buffer)), 0);
    ds_buffer_free(buffer);
}

void what_there_is_not(void **) {
    Folder folder;
    ds_local_options options = local::shape(2);
    assert_int_equal(ds_local_create(folder.file().c_str(), &options), 0);
    Client c(folder.file());
    ds_segment_options segment{};
    segment.size = sizeof(segment);
    segment.length = 4096;
    segment.access = DS_ACCESS_ALL;
    ds_segment *made;
    assert_int_equal(ds_segment_create(c.fabric, &segment, &made), -EOPNOTSUPP);
    assert_int_equal(ds_node_alive(c.fabric, 0), -ENOENT);
    assert_int_equal(ds_node_alive(c.fabric, 1), 1);
    assert_int_equal(ds_node_alive(c.fabric, 2), 1);
    assert_int_equal(ds_node_alive(c.fabric, 3), -ENOENT);
}

// ---- operations ----

void addresses_outside(void **) {
    Folder folder;
    ds_local_options options = local::shape(2);
    assert_int_equal(ds_local_create(folder.file().c_str(), &options), 0);
    Client c(folder.file());
    uint64_t end = base + 32 * MiB;
    for (uint64_t addr : {uint64_t{0}, base - 8, end, end + 8, UINT64_MAX - 7})
        assert_int_equal(ds_fetch_add(c.space, addr, 1, 0, nullptr), -ERANGE);
    assert_int_equal(ds_read(c.space, base - 1, c.buffer, 0, 2, 0, nullptr), -ERANGE);
    assert_int_equal(ds_read(c.space, end - 1, c.buffer, 0, 2, 0, nullptr), -ERANGE);
    assert_int_equal(ds_write(c.space, end - 1, c.buffer, 0, 1, 0, nullptr), 0);
    assert_int_equal(ds_cas(c.space, base + 4, 0, 1, 0, nullptr), -EINVAL);
    assert_int_equal(ds_read(c.space, base, c.buffer, 8 * MiB - 1, 2, 0, nullptr), -EINVAL);
}

void copies_at_every_alignment(void **) {
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    Client c(folder.file());
    std::vector<uint8_t> model(256, 0);
    std::mt19937 random(1);
    for (int round = 0; round < 4000; round++) {
        size_t at = random() % 64, length = 1 + random() % 100, from = random() % 64;
        for (size_t i = 0; i < length; i++)
            c.bytes[from + i] = model[at + i] = static_cast<uint8_t>(random());
        ds_result r;
        assert_int_equal(ds_write(c.space, base + at, c.buffer, from, length, 0, &r), 0);
        assert_int_equal(r.length, length);
        size_t to = 512 + random() % 64;
        memset(c.bytes + 500, 0xaa, 400);
        at = random() % 64;
        length = 1 + random() % 190;
        assert_int_equal(ds_read(c.space, base + at, c.buffer, to, length, 0, nullptr), 0);
        assert_memory_equal(c.bytes + to, model.data() + at, length);
        assert_int_equal(c.bytes[to - 1], 0xaa);
        assert_int_equal(c.bytes[to + length], 0xaa);
    }
}

void results_are_those_of_the_module(void **) {
    Folder folder;
    ds_local_options options = local::shape(3);
    assert_int_equal(ds_local_create(folder.file().c_str(), &options), 0);
    Client c(folder.file());
    ds_result r;
    assert_int_equal(ds_fetch_add(c.space, base + 32 * MiB, 5, 0, &r), 0);
    assert_int_equal(r.outcome, DS_EXECUTED);
    assert_int_equal(r.node, 3);
    assert_int_equal(r.attempts, 1);
    assert_int_equal(r.value, 0);
    assert_int_equal(ds_cas(c.space, base + 32 * MiB, 4, 9, 0, &r), 0);
    assert_int_equal(r.value, 5);
    assert_int_equal(ds_cas(c.space, base + 32 * MiB, 5, 9, 0, &r), 0);
    assert_int_equal(add(c, base + 32 * MiB, 0), 9);

    // Over a server's end, and longer than a piece behind it: three pieces.
    for (size_t i = 0; i < 6 * MiB; i++)
        c.bytes[i] = static_cast<uint8_t>(i * 7 + (i >> 12));
    assert_int_equal(ds_write(c.space, base + 15 * MiB, c.buffer, 0, 6 * MiB, 0, &r), 0);
    assert_int_equal(r.length, 6 * MiB);
    std::vector<uint8_t> before(c.bytes, c.bytes + 6 * MiB);
    memset(c.bytes, 0, 6 * MiB);
    assert_int_equal(ds_read(c.space, base + 15 * MiB, c.buffer, 0, 6 * MiB, 0, nullptr), 0);
    assert_memory_equal(c.bytes, before.data(), before.size());

    ds_counters n{};
    n.size = sizeof(n);
    assert_int_equal(ds_fabric_counters(c.fabric, &n), 0);
    assert_int_equal(n.atomics, 4);
    assert_int_equal(n.reads, 1);
    assert_int_equal(n.writes, 1);
    assert_int_equal(n.bytes_read, 6 * MiB);
    assert_int_equal(n.pieces, 4 + 3 + 3);
    assert_int_equal(n.submits, 6);
    assert_int_equal(n.failed, 0);
}

void a_wrong_operation_stops_its_chain(void **) {
    Folder folder;
    ds_local_options options = local::shape(2);
    assert_int_equal(ds_local_create(folder.file().c_str(), &options), 0);
    Client c(folder.file(), DS_ACCESS_READ | DS_ACCESS_ATOMIC);
    ds_result r[4];
    // No right to write: nothing of the chain happens, the one behind it does.
    ds_operation ops[] = {operation(c, DS_OP_FETCH_ADD, base, 8, DS_OP_CHAIN),
                          operation(c, DS_OP_WRITE, base + 8, 8, DS_OP_CHAIN),
                          operation(c, DS_OP_FETCH_ADD, base, 8),
                          operation(c, DS_OP_FETCH_ADD, base + 16, 8)};
    for (ds_operation &op : ops)
        op.compare_add = 1;
    assert_int_equal(ds_execute(c.fabric, ops, 4, 0, r), -ECANCELED);
    assert_int_equal(r[0].status, -ECANCELED);
    assert_int_equal(r[1].status, -EACCES);
    assert_int_equal(r[2].status, -ECANCELED);
    for (int i = 0; i < 3; i++)
        assert_int_equal(r[i].outcome, DS_NOT_EXECUTED);
    assert_int_equal(r[3].outcome, DS_EXECUTED);
    assert_int_equal(add(c, base, 0), 0);
    assert_int_equal(add(c, base + 16, 0), 1);
}

void a_chain_runs_in_order(void **) {
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    Client c(folder.file());
    memset(c.bytes, 0x5a, 64);
    ds_operation ops[] = {operation(c, DS_OP_CAS, base, 8, DS_OP_CHAIN),
                          operation(c, DS_OP_WRITE, base + 8, 64, DS_OP_CHAIN),
                          operation(c, DS_OP_READ, base, 72, DS_OP_CHAIN),
                          operation(c, DS_OP_CAS, base, 8)};
    ops[0].swap = ops[3].compare_add = 7;
    ops[2].buffer_offset = 100;
    ds_result r[4];
    assert_int_equal(ds_execute(c.fabric, ops, 4, 0, r), 0);
    assert_int_equal(c.bytes[100], 7);
    assert_memory_equal(c.bytes + 108, c.bytes, 64);
    assert_int_equal(r[3].value, 7);
    // A CAS that finds another value has happened: the chain goes on.
    ops[0].compare_add = 1;
    assert_int_equal(ds_execute(c.fabric, ops, 4, 0, r), 0);
    assert_int_equal(r[0].value, 0);
}

// What the library above never lets through the backend refuses by itself.
void the_backend_checks_too(void **) {
    Folder folder;
    ds_local_options options = local::shape(2);
    assert_int_equal(ds_local_create(folder.file().c_str(), &options), 0);
    std::unique_ptr<ds::fabric::Fabric> fabric;
    assert_int_equal(ds::fabric::LocalFabric::open(folder.file().c_str(), fabric), 0);
    ds::fabric::SpaceInfo space{}, closed{};
    ds::fabric::BufferInfo buffer{};
    assert_int_equal(fabric->open_space(1, DS_ACCESS_ALL, space), 0);
    assert_int_equal(fabric->open_space(1, DS_ACCESS_ALL, closed), 0);
    fabric->close_space(closed);
    assert_int_equal(fabric->create_buffer(4096, -1, buffer), 0);
    ds_op good{};
    good.opcode = DS_OP_READ;
    good.space = space.handle;
    good.buf = buffer.handle;
    good.addr = base;
    good.length = 8;
    const auto with = [&](auto &&change) {
        ds_op op = good;
        change(op);
        return op;
    };
    const struct {
        ds_op op;
        int status;
    } cases[] = {
        {good, 0},
        {with([&](ds_op &op) { op.space = 999; }), -EBADF},
        {with([&](ds_op &op) { op.space = closed.handle; }), -EBADF},
        {with([&](ds_op &op) { op.buf = space.handle; }), -EBADF},
        {with([](ds_op &op) { op.buf_offset = 4089; }), -EINVAL},
        {with([](ds_op &op) { op.buf_offset = UINT64_MAX; }), -EINVAL},
        {with([](ds_op &op) { op.length = 0; }), -EINVAL},
        {with([](ds_op &op) { op.addr = base - 1; }), -ERANGE},
        {with([](ds_op &op) { op.addr = base + 16 * MiB - 4; }), -ERANGE},
        {with([](ds_op &op) { op.opcode = DS_OP_CAS; }), -EINVAL},
        {with([](ds_op &op) { op.opcode = DS_OP_CAS, op.buf = 0, op.addr = base + 4; }), -EINVAL},
        {with([](ds_op &op) { op.opcode = DS_OP_CAS, op.buf = 0, op.length = 4; }), -EINVAL},
    };
    for (const auto &x : cases) {
        ds_cqe end{};
        fabric->execute({&x.op, 1}, {&end, 1}, 1000);
        assert_int_equal(end.status, x.status);
        assert_int_equal(end.outcome, x.status ? DS_NOT_EXECUTED : DS_EXECUTED);
    }
    // Chains over two servers, and of more operations than a chain may have.
    std::vector<ds_op> chain(17, with([](ds_op &op) { op.flags = DS_OP_CHAIN; }));
    std::vector<ds_cqe> ends(17);
    chain[1].addr = base + 16 * MiB;
    chain[2].flags = 0;
    fabric->execute({chain.data(), 3}, {ends.data(), 3}, 1000);
    assert_int_equal(ends[0].status, -ECANCELED);
    assert_int_equal(ends[1].status, -EXDEV);
    assert_int_equal(ends[2].status, -ECANCELED);
    chain[1] = chain[2] = chain[0];
    fabric->execute(chain, ends, 1000);
    assert_int_equal(ends[0].status, -E2BIG);
    assert_int_equal(ends[16].status, -ECANCELED);
    assert_int_equal(fabric->counters().pieces, 1);
}

// ---- callbacks ----

struct Ended {
    int calls = 0;
    int status = 1;
    ds_result result{};
};

void note(void *arg, int status) {
    auto *ended = static_cast<Ended *>(arg);
    ended->calls++;
    ended->status = status;
}

bool readable(int fd, int timeout_ms = 0) {
    pollfd p{fd, POLLIN, 0};
    return ::poll(&p, 1, timeout_ms) == 1;
}

void callbacks_run_only_while_polling(void **) {
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    Client c(folder.file());
    int fd = ds_fabric_fd(c.fabric);
    assert_false(readable(fd));
    assert_int_equal(ds_fabric_poll(c.fabric, 1), 0);
    ds_operation op = operation(c, DS_OP_FETCH_ADD, base, 8);
    op.compare_add = 3;
    Ended ended[3];
    for (Ended &e : ended)
        assert_int_equal(ds_submit(c.fabric, &op, 1, 0, &e.result, note, &e), 0);
    assert_int_equal(ended[0].calls, 0);
    assert_int_equal(ds_fabric_outstanding(c.fabric), 3);
    assert_true(readable(fd, 1000));
    while (ds_fabric_outstanding(c.fabric) > 0)
        assert_int_equal(ds_fabric_poll(c.fabric, 1000), 1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(ended[i].calls, 1);
        assert_int_equal(ended[i].status, 0);
        assert_int_equal(ended[i].result.value, 3 * i);
        assert_int_equal(ended[i].result.attempts, 1);
    }
    assert_false(readable(fd));
}

void a_sleeping_poll_is_woken(void **) {
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    Client c(folder.file());
    for (int round = 0; round < 50; round++) {
        Ended ended;
        std::thread submitter([&] {
            std::this_thread::sleep_for(std::chrono::microseconds(100 * (round % 10)));
            ds_operation op = operation(c, DS_OP_FETCH_ADD, base, 8);
            ds_submit(c.fabric, &op, 1, 0, &ended.result, note, &ended);
        });
        auto start = std::chrono::steady_clock::now();
        assert_int_equal(ds_fabric_poll(c.fabric, 60000), 1);
        assert_true(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
        assert_int_equal(ended.calls, 1);
        submitter.join();
    }
    // Whoever asks for the descriptor late is told too.
    Ended ended;
    ds_operation op = operation(c, DS_OP_FETCH_ADD, base, 8);
    assert_int_equal(ds_submit(c.fabric, &op, 1, 0, &ended.result, note, &ended), 0);
    assert_true(readable(ds_fabric_fd(c.fabric), 1000));
    assert_int_equal(ds_fabric_poll(c.fabric, 0), 1);
    assert_false(readable(ds_fabric_fd(c.fabric)));
}

void closing_runs_what_is_left(void **) {
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    Ended ended;
    {
        Client c(folder.file());
        ds_operation op = operation(c, DS_OP_FETCH_ADD, base, 8);
        assert_int_equal(ds_submit(c.fabric, &op, 1, 0, &ended.result, note, &ended), 0);
    }
    assert_int_equal(ended.calls, 1);
    assert_int_equal(ended.status, 0);
}

// ---- several at once ----

void memory_is_shared_and_stays(void **) {
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    {
        Client a(folder.file()), b(folder.file());
        assert_int_equal(add(a, base + 64, 1), 0);
        assert_int_equal(add(b, base + 64, 1), 1);
    }
    Client c(folder.file());
    assert_int_equal(add(c, base + 64, 0), 2);
}

void atomics_between_processes(void **) {
    constexpr int processes = 4, rounds = 20000;
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < processes; i++)
        children.push_back(std::make_unique<Child>([&] {
            Client c(folder.file());
            for (int n = 0; n < rounds; n++) {
                ds_result r{};
                uint64_t seen = 0;
                do {  // counts by CAS, on the word that others count on by FETCH_ADD
                    seen = r.value;
                    ds_cas(c.space, base, seen, seen + 1, 0, &r);
                } while (r.value != seen);
                if (ds_fetch_add(c.space, base, 1, 0, nullptr))
                    return 1;
            }
            return 0;
        }));
    for (auto &child : children)
        assert_int_equal(child->wait(), 0);
    Client c(folder.file());
    assert_int_equal(add(c, base, 0), 2 * processes * rounds);
}

// Bytes of one word belong to different writers.
void neighbours_in_a_word_are_not_lost(void **) {
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    Client c(folder.file());
    std::vector<std::thread> threads;
    std::atomic<int> lost{0};
    for (uint64_t i = 0; i < 4; i++)
        threads.emplace_back([&, i] {
            uint64_t mine = 4096 * i;
            for (int n = 0; n < 20000; n++) {
                c.bytes[mine] = static_cast<uint8_t>(n);
                ds_write(c.space, base + 2 * i, c.buffer, mine, 1, 0, nullptr);
                ds_read(c.space, base + 2 * i, c.buffer, mine + 8, 1, 0, nullptr);
                lost += c.bytes[mine + 8] != static_cast<uint8_t>(n);
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    assert_int_equal(lost, 0);
}

// What is promised, and no more: aligned words are whole.
void words_are_not_torn(void **) {
    constexpr size_t words = 128;
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    Client c(folder.file());
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        auto *out = reinterpret_cast<uint64_t *>(c.bytes);
        for (uint64_t n = 1; !stop; n++) {
            std::fill_n(out, words, (n & 0xff) * 0x0101010101010101);
            ds_write(c.space, base + 1024, c.buffer, 0, words * 8, 0, nullptr);
        }
    });
    int torn = 0;
    auto *in = reinterpret_cast<uint64_t *>(c.bytes + 65536);
    for (int n = 0; n < 5000; n++) {
        ds_read(c.space, base + 1024, c.buffer, 65536, words * 8, 0, nullptr);
        for (size_t i = 0; i < words; i++)
            torn += in[i] != (in[i] & 0xff) * 0x0101010101010101;
    }
    stop = true;
    writer.join();
    assert_int_equal(torn, 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(spaces_and_rights),
        cmocka_unit_test(handles_have_a_limit),
        cmocka_unit_test(buffers),
        cmocka_unit_test(what_there_is_not),
        cmocka_unit_test(addresses_outside),
        cmocka_unit_test(copies_at_every_alignment),
        cmocka_unit_test(results_are_those_of_the_module),
        cmocka_unit_test(a_wrong_operation_stops_its_chain),
        cmocka_unit_test(a_chain_runs_in_order),
        cmocka_unit_test(the_backend_checks_too),
        cmocka_unit_test(callbacks_run_only_while_polling),
        cmocka_unit_test(a_sleeping_poll_is_woken),
        cmocka_unit_test(closing_runs_what_is_left),
        cmocka_unit_test(memory_is_shared_and_stays),
        cmocka_unit_test(atomics_between_processes),
        cmocka_unit_test(neighbours_in_a_word_are_not_lost),
        cmocka_unit_test(words_are_not_torn),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
