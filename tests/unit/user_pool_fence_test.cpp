// SPDX-License-Identifier: Apache-2.0
// ds::pool::Pool on the local fabric: clients that die, hang, or are fenced.
#include "pool/pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "fabric/engine.hpp"
#include "fabric/handles.hpp"
#include "fabric/local_clients.hpp"
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
using local::Member;
using local::word;

constexpr uint64_t base = DS_LAYOUT_BASE;
constexpr uint64_t MiB = 1 << 20;
constexpr uint32_t leaves = 14336;  // of a server at k = 0

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

// Who has fenced him died, or could not go on, before he gave back what he had.
void one_who_leaves_fenced_and_not_cleared(void **) {
    Formatted file(2);
    auto fenced = std::make_unique<Member>(file.file());
    fenced->node();
    {
        std::unique_ptr<LocalFile> other;
        assert_int_equal(LocalFile::open(file.file().c_str(), other), 0);
        assert_int_equal(LocalClients(*other).fence(fenced->pool->self(), 0), 0);
    }
    fenced.reset();
    Member m(file.file());
    NodeAddress node;
    uint32_t nodes = 0;
    while (m.pool->alloc_node(0, node) == 0)
        nodes++;
    assert_int_equal(nodes, 2 * leaves);
}

// He was slow, and taken for dead: the number is another's before he comes out.
void one_who_comes_out_late(void **) {
    Folder folder;
    assert_int_equal(ds_local_create(folder.file().c_str(), nullptr), 0);
    std::unique_ptr<LocalFile> file, other;
    assert_int_equal(LocalFile::open(folder.file().c_str(), file), 0);
    assert_int_equal(LocalFile::open(folder.file().c_str(), other), 0);
    LocalClients slow(*file), next(*other);
    assert_int_equal(slow.enroll({3, 7}), 0);
    auto inside = std::make_unique<LocalClients::Passage>(slow);
    assert_true(inside->open());
    assert_int_equal(next.enroll({3, 8}), 0);
    inside.reset();
    assert_true(LocalClients::Passage(next).open());
    assert_false(LocalClients::Passage(slow).open());
    assert_int_equal(slow.withdraw(), 0);
    assert_int_equal(next.withdraw(), 0);
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
        cmocka_unit_test(the_dead_lose_what_they_did_not_write),
        cmocka_unit_test(who_finds_the_pool_full_looks_for_the_dead),
        cmocka_unit_test(fence_refuses),
        cmocka_unit_test(a_living_client_is_fenced),
        cmocka_unit_test(a_client_may_fence_itself),
        cmocka_unit_test(a_stopped_client_writes_nothing),
        cmocka_unit_test(a_client_killed_inside_an_operation),
        cmocka_unit_test(nobody_is_inside_after_a_fence),
        cmocka_unit_test(one_that_is_fenced_before_it_enrolls),
        cmocka_unit_test(one_who_leaves_fenced_and_not_cleared),
        cmocka_unit_test(one_who_comes_out_late),
        cmocka_unit_test(nothing_is_lost_in_a_crowd),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
