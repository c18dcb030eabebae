// SPDX-License-Identifier: Apache-2.0
// ds::pool::Pool on the local fabric: formatting, numbers, nodes, and clients
// that end well, die, or hang.
#include "pool/pool.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "fabric/engine.hpp"
#include "fabric/handles.hpp"
#include "fabric/local_clients.hpp"
#include "pool/superblock.hpp"
#include "user_pool.hpp"

namespace {

using ds::fabric::LocalClients;
using ds::fabric::LocalFile;
using ds::pool::NodeAddress;
using ds::pool::Owner;
using ds::pool::Pool;
using local::Child;
using local::Client;
using local::Folder;
using local::Formatted;

constexpr uint64_t base = DS_LAYOUT_BASE;
constexpr uint64_t MiB = 1 << 20;
constexpr uint32_t leaves = 14336;  // of a server at k = 0

/// A client that has joined.
class Member : public Client {
public:
    explicit Member(const std::string &path) : Client(path) {
        if (int rc = Pool::join(space, pool); rc < 0) {
            fprintf(stderr, "join: %s\n", ds_errname(rc));
            std::abort();
        }
    }
    ~Member() { pool.reset(); }

    NodeAddress node(unsigned height = 0) const {
        NodeAddress node{};
        assert_int_equal(pool->alloc_node(height, node), 0);
        return node;
    }

    // As the tree writes it.
    void write(const NodeAddress &node) const {
        uint16_t mark[2] = {node.generation, 0xd5b7};
        memcpy(bytes, mark, sizeof(mark));
        assert_int_equal(ds_write(space, node.addr + 8, buffer, 0, 1016, 0, nullptr), 0);
    }

    std::unique_ptr<Pool> pool;
};

uint64_t word(const Client &c, uint64_t addr) {
    assert_int_equal(ds_read(c.space, addr, c.buffer, 8 * MiB - 8, 8, 0, nullptr), 0);
    uint64_t value;
    memcpy(&value, c.bytes + 8 * MiB - 8, 8);
    return value;
}

void set_word(const Client &c, uint64_t addr, uint64_t value) {
    memcpy(c.bytes, &value, 8);
    assert_int_equal(ds_write(c.space, addr, c.buffer, 0, 8, 0, nullptr), 0);
}

uint64_t client_entry(Owner owner) {
    return base + 0x8000 + owner.client * 16;
}

/// What processes tell each other.
struct Shared {
    std::atomic<uint32_t> step;
    std::atomic<int32_t> status;
    Owner owner;
    NodeAddress nodes[64];
};

class SharedPage {
public:
    SharedPage()
        : page_(static_cast<Shared *>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
    SharedPage(const SharedPage &) = delete;
    SharedPage &operator=(const SharedPage &) = delete;
    ~SharedPage() { munmap(page_, sizeof(Shared)); }
    Shared *operator->() const { return page_; }

    void wait_for(uint32_t step) const {
        for (int i = 0; page_->step < step && i < 20000; i++)
            usleep(1000);
        if (page_->step < step)
            std::abort();
    }

private:
    Shared *page_;
};

// ---- formatting ----

void join_needs_a_pool(void **) {
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    Client c(folder.file());
    std::unique_ptr<Pool> pool;
    assert_int_equal(Pool::join(c.space, pool), -ENOENT);
    Client reader(folder.file(), DS_ACCESS_READ);
    assert_int_equal(Pool::format(reader.space), -EACCES);
    assert_int_equal(Pool::join(c.space, pool), -ENOENT);
    assert_int_equal(Pool::format(c.space), 0);
    assert_int_equal(Pool::format(c.space), -EEXIST);
    assert_int_equal(Pool::join(reader.space, pool), -EACCES);
    assert_null(pool.get());
    assert_int_equal(Pool::join(c.space, pool), 0);
}

void format_spares_what_is_there(void **) {
    const uint64_t places[] = {0, 16, 64, 0x8000, 0x8000 + 16 * 1000, 0xc000, 16 * MiB + 0xc008};
    for (uint64_t place : places) {
        Folder folder;
        ds_local_options options = local::shape(2);
        assert_int_equal(ds_local_create(folder.file().c_str(), &options), 0);
        Client c(folder.file());
        set_word(c, base + place, 77);
        assert_int_equal(Pool::format(c.space), -EEXIST);
        assert_int_equal(word(c, base + place), 77);
        assert_int_equal(word(c, base), place ? 0 : 77);
    }
}

void format_goes_on_where_another_died(void **) {
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    Client c(folder.file());
    assert_int_equal(Pool::format(c.space), 0);
    assert_int_equal(ds_cas(c.space, base + 64, 1, 0, 0, nullptr), 0);  // before its last step
    std::unique_ptr<Pool> pool;
    assert_int_equal(Pool::join(c.space, pool), -ENOENT);
    assert_int_equal(Pool::format(c.space), 0);
    assert_int_equal(Pool::join(c.space, pool), 0);
}

void join_refuses_what_it_does_not_know(void **) {
    const struct {
        uint64_t place, value;
        int error;
    } cases[] = {
        {0, 12345, -EINVAL},
        {8, 2ull << 32 | 2, -EOPNOTSUPP},  // version 2
        {8, 3ull << 32 | 1, -EINVAL},      // servers
        {16, 25, -EINVAL},                 // log2 of a server's size
        {64, 2, -EINVAL},                  // state
    };
    for (const auto &x : cases) {
        Formatted file(2);
        Client c(file.file());
        set_word(c, base + x.place, x.value);
        std::unique_ptr<Pool> pool;
        assert_int_equal(Pool::join(c.space, pool), x.error);
    }
}

void superblock_is_as_written(void **) {
    Formatted file(3, 26);
    Client c(file.file());
    assert_int_equal(word(c, base), 0x314c4f4f50005344);
    assert_int_equal(word(c, base + 8), 3ull << 32 | 1);
    assert_int_equal(word(c, base + 16), 26);
    assert_int_equal(word(c, base + 64), 1);
}

// ---- numbers ----

void numbers(void **) {
    Formatted file(1);
    Owner first, second;
    {
        Member a(file.file()), b(file.file());
        first = a.pool->self();
        second = b.pool->self();
        assert_int_equal(first.client, 1);
        assert_int_equal(first.incarnation, 1);
        assert_int_equal(second.client, 2);
        assert_int_equal(word(a, client_entry(first)), 1ull << 63 | 1ull << 48 | 1ull << 32);
        assert_int_equal(static_cast<uint32_t>(word(a, client_entry(first) + 8)), getpid());
        std::unique_ptr<Pool> again;
        assert_int_equal(Pool::join(a.space, again), -EBUSY);
        assert_int_equal(word(a, client_entry({3, 1})) >> 63, 0);  // nothing is left of the try
    }
    Member c(file.file());
    assert_int_equal(c.pool->self().client, 1);
    assert_int_equal(c.pool->self().incarnation, 2);
    assert_int_equal(word(c, client_entry(second)), 1ull << 32);
    // A fabric may join again when it has left.
    c.pool.reset();
    assert_int_equal(word(c, client_entry(first)), 2ull << 32);
    assert_int_equal(Pool::join(c.space, c.pool), 0);
    assert_int_equal(c.pool->self().incarnation, 3);
}

void a_fabric_joins_once(void **) {
    Formatted file(1);
    Client c(file.file());
    for (int round = 0; round < 50; round++) {
        std::unique_ptr<Pool> pools[3];
        int codes[3];
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; i++)
            threads.emplace_back([&, i] { codes[i] = Pool::join(c.space, pools[i]); });
        for (std::thread &thread : threads)
            thread.join();
        assert_int_equal(std::ranges::count(codes, 0), 1);
        assert_int_equal(std::ranges::count(codes, -EBUSY), 2);
    }
    Member m(file.file());
    assert_int_equal(m.pool->self().client, 1);  // all numbers were given back
}

/// Who joins while another thread of the fabric leaves is not taken for the one who left.
void one_joins_while_another_leaves(void **) {
    Formatted file(1);
    Client c(file.file());
    std::atomic<int> joined = 0, wrong = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back([&] {
            for (int round = 0; round < 300; round++) {
                std::unique_ptr<Pool> pool;
                int rc = Pool::join(c.space, pool);
                joined += rc == 0;
                wrong += rc != 0 && rc != -EBUSY;
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    assert_int_equal(wrong, 0);
    assert_true(joined > 0);
    Member m(file.file());
    assert_int_equal(m.pool->self().client, 1);
}

void incarnations_wrap(void **) {
    Formatted file(1);
    Client c(file.file());
    // As if 65,534 clients had come and gone.
    uint64_t entry = client_entry({1, 1});
    assert_int_equal(ds_cas(c.space, entry, 0, 65534ull << 32, 0, nullptr), 0);
    for (uint16_t incarnation : {65535, 1, 2}) {
        Member m(file.file());
        assert_int_equal(m.pool->self().client, 1);
        assert_int_equal(m.pool->self().incarnation, incarnation);
        assert_int_equal(word(m, base + 0x8000 + 16) >> 63, 1);
    }
}

void the_table_is_full(void **) {
    rlimit files{4096, 4096};
    if (setrlimit(RLIMIT_NOFILE, &files) < 0)
        fail_msg("cannot have 4096 open files");
    Formatted file(1);
    std::vector<std::unique_ptr<Member>> members;
    for (int i = 1; i < 1024; i++)
        members.push_back(std::make_unique<Member>(file.file()));
    assert_int_equal(members.back()->pool->self().client, 1023);
    Client late(file.file());
    std::unique_ptr<Pool> pool;
    assert_int_equal(Pool::join(late.space, pool), -EUSERS);
    members[500].reset();
    assert_int_equal(Pool::join(late.space, pool), 0);
    assert_int_equal(pool->self().client, 501);
    pool.reset();
}

// ---- nodes ----

void nodes_lie_in_their_regions(void **) {
    Formatted file(3, 25);
    Member m(file.file());
    const uint64_t first[] = {0x400000, 0x80000, 0x40000, 0x20000, 0x20000};
    const uint64_t end[] = {0x2000000, 0x400000, 0x80000, 0x40000, 0x40000};
    std::set<uint64_t> seen;
    for (unsigned height = 0; height < 5; height++)
        for (int i = 0; i < 50; i++) {
            NodeAddress node = m.node(height);
            uint64_t offset = (node.addr - base) % (32 * MiB);
            assert_in_range(offset, first[height], end[height] - 1024);
            assert_int_equal(offset % 1024, 0);
            assert_int_equal(node.generation, 1);
            assert_true(seen.insert(node.addr).second);
        }
}

void servers_take_turns(void **) {
    constexpr uint32_t servers = 4;
    Formatted file(servers);
    std::map<uint64_t, int> count;
    for (int round = 0; round < 30; round++) {
        Member a(file.file()), b(file.file());
        for (int i = 0; i < 77; i++)
            count[(a.node().addr - base) >> 24]++, count[(b.node().addr - base) >> 24]++;
    }
    assert_int_equal(count.size(), servers);
    auto [least, most] =
        std::ranges::minmax_element(count, {}, [](const auto &entry) { return entry.second; });
    // At most 1 % apart.
    assert_true((most->second - least->second) * 100 <= most->second);
}

void a_full_server_is_passed_over(void **) {
    Formatted file(2);
    Member a(file.file());
    // 64 nodes of the highest level on each server.
    std::set<uint64_t> seen;
    for (int i = 0; i < 128; i++)
        assert_true(seen.insert(a.node(3).addr).second);
    NodeAddress node;
    assert_int_equal(a.pool->alloc_node(3, node), -ENOSPC);
    assert_int_equal(a.pool->alloc_node(7, node), -ENOSPC);
    a.node(2);  // other regions have room
    // What is given back is there again, for others too.
    a.pool->free_node(3, {*seen.begin(), 1});
    assert_int_equal(a.node(3).addr, *seen.begin());
    assert_int_equal(a.pool->alloc_node(3, node), -ENOSPC);
}

void what_a_client_leaves_others_use(void **) {
    Formatted file(1);
    NodeAddress first, second;
    {
        Member a(file.file());
        first = a.node();
        second = a.node();
        NodeAddress third = a.node();
        a.pool->free_node(0, third);
        a.pool->free_node(0, second);
    }
    {
        Member b(file.file());
        NodeAddress next = b.node();
        assert_int_equal(next.addr, second.addr);
        assert_int_equal(next.generation, first.generation);
    }
    Formatted other(1);
    {
        Member a(other.file());
        a.pool->free_node(0, a.node());
    }
    Member b(other.file());  // wholly free: what was there is of another generation
    assert_int_equal(b.node().generation, 2);
}

void every_node_is_found(void **) {
    Formatted file(1);
    uint32_t mine = 0, theirs = 0;
    Member a(file.file());
    {
        Member b(file.file());
        NodeAddress node;
        for (int i = 0; i < 100; i++)
            b.node();
        while (a.pool->alloc_node(0, node) == 0)
            mine++;
        while (b.pool->alloc_node(0, node) == 0)
            theirs++;
        assert_int_equal(mine + theirs + 100, leaves);
        for (int i = 0; i < 5; i++)
            b.pool->free_node(0, node);
    }
    assert_int_equal(theirs, 12);  // what was left of its last extent
}

// ---- the dead ----

void the_dead_lose_what_they_did_not_write(void **) {
    Formatted file(2);
    SharedPage shared;
    Child child([&] {
        Member m(file.file());
        for (int i = 0; i < 20; i++) {
            shared->nodes[i] = m.node();
            if (i < 7)
                m.write(shared->nodes[i]);
        }
        shared->owner = m.pool->self();
        shared->step = 1;
        pause();
        return 0;
    });
    shared.wait_for(1);
    {
        Member m(file.file());  // while it lives nothing is taken from it
        assert_int_not_equal(m.pool->self().client, shared->owner.client);
        assert_true(word(m, client_entry(shared->owner)) >> 63);
    }
    child.signal(SIGKILL);
    assert_int_equal(child.wait(), 128 + SIGKILL);
    Member m(file.file());
    assert_int_equal(m.pool->self().client, shared->owner.client);
    assert_int_equal(m.pool->self().incarnation, shared->owner.incarnation + 1);
    std::set<uint64_t> nodes;
    NodeAddress node;
    while (m.pool->alloc_node(0, node) == 0)
        assert_true(nodes.insert(node.addr).second);
    assert_int_equal(nodes.size(), 2 * leaves - 7);
    for (int i = 0; i < 20; i++)
        assert_int_equal(nodes.count(shared->nodes[i].addr), i >= 7);
}

void who_finds_the_pool_full_looks_for_the_dead(void **) {
    Formatted file(1);
    SharedPage shared;
    Member m(file.file());
    Child child([&] {
        Member other(file.file());
        for (uint32_t i = 0; i < leaves - 8; i++)
            other.node();
        shared->step = 1;
        pause();
        return 0;
    });
    shared.wait_for(1);
    NodeAddress node;
    assert_int_equal(m.pool->alloc_node(0, node), -ENOSPC);
    child.signal(SIGKILL);
    child.wait();
    // 895 extents were given back as full; in the last one nothing was written.
    for (int i = 0; i < 16; i++)
        assert_int_equal(m.pool->alloc_node(0, node), 0);
    assert_int_equal(m.pool->alloc_node(0, node), -ENOSPC);
}

// ---- fencing ----

void fence_refuses(void **) {
    Formatted file(1);
    Member m(file.file());
    assert_int_equal(m.pool->fence({0, 1}), -EINVAL);
    assert_int_equal(m.pool->fence({1024, 1}), -EINVAL);
    assert_int_equal(m.pool->fence({8191, 1}), -EINVAL);
    // One that was never there cannot do anything.
    assert_int_equal(m.pool->fence({9, 1}), 0);
    assert_int_equal(m.pool->fence({1, 9}), 0);
    m.node();
}

void a_living_client_is_fenced(void **) {
    Formatted file(1);
    Member a(file.file()), b(file.file());
    Owner victim = a.pool->self();
    NodeAddress node = a.node();
    assert_int_equal(ds_cas(a.space, node.addr, 0, 5, 0, nullptr), 0);
    assert_int_equal(b.pool->fence(victim), 0);

    ds_result r;
    assert_int_equal(ds_cas(a.space, node.addr, 5, 6, 0, &r), -ESHUTDOWN);
    assert_int_equal(r.outcome, DS_NOT_EXECUTED);
    assert_int_equal(ds_write(a.space, node.addr, a.buffer, 0, 64, 0, &r), -ESHUTDOWN);
    assert_int_equal(ds_read(a.space, node.addr, a.buffer, 0, 64, 0, &r), -ESHUTDOWN);
    assert_int_equal(a.pool->alloc_node(1, node), -ESHUTDOWN);
    assert_int_equal(a.pool->fence(b.pool->self()), -ESHUTDOWN);
    assert_int_equal(word(b, node.addr), 5);

    // Its number and its nodes are another's.
    Member c(file.file());
    assert_int_equal(c.pool->self().client, victim.client);
    assert_int_equal(c.pool->self().incarnation, victim.incarnation + 1);
    assert_int_equal(c.node().addr, node.addr);
    // To fence the old life once more, or its end, changes nothing for the new one.
    assert_int_equal(b.pool->fence(victim), 0);
    a.pool.reset();
    assert_int_equal(word(c, client_entry(victim)) >> 63, 1);
    c.node();
    assert_int_equal(b.pool->fence(c.pool->self()), 0);
    assert_int_equal(c.pool->alloc_node(1, node), -ESHUTDOWN);
}

void a_client_may_fence_itself(void **) {
    Formatted file(1);
    Member m(file.file());
    m.node();
    // It is fenced, so it cannot let go of its number; the next one does.
    assert_int_equal(m.pool->fence(m.pool->self()), -ESHUTDOWN);
    Member other(file.file());
    NodeAddress node;
    assert_int_equal(m.pool->alloc_node(1, node), -ESHUTDOWN);
}

// Writes 4 MiB again and again, each time with another byte in each page, until
// it is refused; most of the time inside of the operation, or outside if it rests.
int write_until_fenced(const std::string &path, const SharedPage &shared, bool rests) {
    Member m(path);
    shared->owner = m.pool->self();
    alarm(20);  // it ends whatever happens
    for (uint8_t byte = 1;; byte++) {
        for (size_t page = 0; page < 4 * MiB; page += 4096)
            m.bytes[page] = byte;
        int rc = ds_write(m.space, base + 2 * MiB, m.buffer, 0, 4 * MiB, 0, nullptr);
        if (rc < 0) {
            m.pool.reset();
            return rc == -ESHUTDOWN ? 42 : 1;
        }
        shared->step = 1;
        if (rests)
            usleep(10000);
    }
}

// Stopped at any point: if fence() says 0, nothing is written after it.
void a_stopped_client_writes_nothing(void **) {
    Formatted file(1);
    Member m(file.file());
    std::vector<uint8_t> before(4 * MiB);
    int inside = 0, outside = 0;
    for (int round = 0; round < 60 && (inside < 5 || outside < 5); round++) {
        SharedPage shared;
        Child child([&] { return write_until_fenced(file.file(), shared, round % 2); });
        shared.wait_for(1);
        usleep(round * 379 % 3000);
        child.stop();
        ds::fabric::Fabric &fabric = m.space->engine->fabric();
        int rc = fabric.fence(m.space->info, shared->owner, 1, fabric.now_ns() + 5'000'000);
        if (rc < 0) {
            assert_int_equal(rc, -ETIMEDOUT);
            inside++;
            child.signal(SIGCONT);
            assert_int_equal(m.pool->fence(shared->owner), 0);
        } else {
            outside++;
        }
        assert_int_equal(ds_read(m.space, base + 2 * MiB, m.buffer, 0, 4 * MiB, 0, nullptr), 0);
        memcpy(before.data(), m.bytes, before.size());
        child.signal(SIGCONT);
        assert_int_equal(child.wait(), 42);
        assert_int_equal(ds_read(m.space, base + 2 * MiB, m.buffer, 0, 4 * MiB, 0, nullptr), 0);
        assert_memory_equal(m.bytes, before.data(), before.size());
    }
    print_message("# stopped inside of an operation %d times, outside %d times\n", inside, outside);
    assert_true(inside >= 5);
    assert_true(outside >= 5);
}

void a_client_killed_inside_an_operation(void **) {
    Formatted file(1);
    Member m(file.file());
    int counted = 0;
    for (int round = 0; round < 20; round++) {
        SharedPage shared;
        Child child([&] { return write_until_fenced(file.file(), shared, false); });
        shared.wait_for(1);
        usleep(round * 379 % 3000);
        child.signal(SIGKILL);
        child.wait();
        // The word is behind the header, one for each number.
        std::unique_ptr<LocalFile> raw;
        assert_int_equal(LocalFile::open(file.file().c_str(), raw), 0);
        counted += static_cast<uint32_t>(*raw->client_word(shared->owner.client)) != 0;
        assert_int_equal(m.pool->fence(shared->owner), 0);
        // Who takes the number over starts with nothing under way.
        Member next(file.file());
        assert_int_equal(next.pool->self().client, shared->owner.client);
        next.node();
        assert_int_equal(m.pool->fence(next.pool->self()), 0);
    }
    print_message("# killed inside of an operation %d times\n", counted);
    assert_true(counted > 0);
}

// Many threads enter and leave while another fences: what is plain memory here
// may be changed by the one who fenced, and the sanitizer looks whether it may.
// It knows a word by its address, so all have the same mapping, and the client
// fences itself.
void nobody_is_inside_after_a_fence(void **) {
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    std::unique_ptr<LocalFile> file;
    assert_int_equal(LocalFile::open(folder.file().c_str(), file), 0);
    for (uint16_t incarnation = 1; incarnation <= 200; incarnation++) {
        LocalClients clients(*file);
        Owner owner{1, incarnation};
        assert_int_equal(clients.enroll(owner), 0);
        struct {
            int value[3] = {};  // plain
            std::atomic<int> runs{0}, wrong{0};
            std::atomic<bool> stop{false};
        } state;
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; i++)
            threads.emplace_back([&, i] {
                while (!state.stop) {
                    LocalClients::Passage passage(clients);
                    if (!passage.open())
                        return;
                    state.wrong += state.value[i] == -1;
                    state.value[i]++;
                    state.runs++;
                }
            });
        while (state.runs < 20)
            std::this_thread::yield();
        assert_int_equal(clients.fence(owner, UINT64_MAX), 0);
        std::ranges::fill(state.value, -1);
        usleep(100);
        state.stop = true;  // by now they have ended by themselves
        for (std::thread &thread : threads)
            thread.join();
        assert_int_equal(state.wrong, 0);
        for (int value : state.value)
            assert_int_equal(value, -1);
        assert_int_equal(clients.enroll(owner), -EBUSY);
        assert_int_equal(clients.withdraw(), 0);
        assert_int_equal(clients.enroll(owner), -ESHUTDOWN);
    }
}

void one_that_is_fenced_before_it_enrolls(void **) {
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    std::unique_ptr<LocalFile> file;
    assert_int_equal(LocalFile::open(folder.file().c_str(), file), 0);
    LocalClients a(*file);
    assert_int_equal(a.enroll({0, 1}), -EINVAL);
    assert_int_equal(a.enroll({8192, 1}), -EINVAL);
    assert_int_equal(a.enroll({1, 0}), -EINVAL);
    assert_int_equal(a.fence({3, 7}, 0), 0);
    assert_int_equal(a.enroll({3, 7}), -ESHUTDOWN);
    assert_int_equal(a.enroll({3, 6}), -ESHUTDOWN);
    assert_false(a.alive({3, 7}));
    assert_int_equal(a.enroll({3, 8}), 0);
    assert_true(a.alive({3, 8}));
    assert_int_equal(a.fence({3, 7}, 0), 0);  // long over
    assert_true(LocalClients::Passage(a).open());
}

// All at once: who dies, who leaves, who joins. In the end all of it is free.
void nothing_is_lost_in_a_crowd(void **) {
    Formatted file(2);
    for (int round = 0; round < 6; round++) {
        std::vector<std::unique_ptr<Child>> children;
        for (int i = 0; i < 6; i++)
            children.push_back(std::make_unique<Child>([&, i] {
                for (int n = 0; n < 20; n++) {
                    Member m(file.file());
                    for (int k = 0; k < 30; k++)
                        m.pool->free_node(0, m.node());
                    if (n == 5 + i)
                        raise(SIGKILL);
                }
                return 0;
            }));
        for (auto &child : children)
            assert_int_equal(child->wait(), 128 + SIGKILL);
    }
    Member m(file.file());
    assert_int_equal(m.pool->self().client, 1);
    NodeAddress node;
    uint32_t nodes = 0;
    while (m.pool->alloc_node(0, node) == 0)
        nodes++;
    assert_int_equal(nodes, 2 * leaves);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(join_needs_a_pool),
        cmocka_unit_test(format_spares_what_is_there),
        cmocka_unit_test(format_goes_on_where_another_died),
        cmocka_unit_test(join_refuses_what_it_does_not_know),
        cmocka_unit_test(superblock_is_as_written),
        cmocka_unit_test(numbers),
        cmocka_unit_test(a_fabric_joins_once),
        cmocka_unit_test(one_joins_while_another_leaves),
        cmocka_unit_test(incarnations_wrap),
        cmocka_unit_test(the_table_is_full),
        cmocka_unit_test(nodes_lie_in_their_regions),
        cmocka_unit_test(servers_take_turns),
        cmocka_unit_test(a_full_server_is_passed_over),
        cmocka_unit_test(what_a_client_leaves_others_use),
        cmocka_unit_test(every_node_is_found),
        cmocka_unit_test(the_dead_lose_what_they_did_not_write),
        cmocka_unit_test(who_finds_the_pool_full_looks_for_the_dead),
        cmocka_unit_test(fence_refuses),
        cmocka_unit_test(a_living_client_is_fenced),
        cmocka_unit_test(a_client_may_fence_itself),
        cmocka_unit_test(a_stopped_client_writes_nothing),
        cmocka_unit_test(a_client_killed_inside_an_operation),
        cmocka_unit_test(nobody_is_inside_after_a_fence),
        cmocka_unit_test(one_that_is_fenced_before_it_enrolls),
        cmocka_unit_test(nothing_is_lost_in_a_crowd),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
