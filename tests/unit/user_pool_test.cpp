// SPDX-License-Identifier: Apache-2.0
// ds::pool::Pool on the local fabric: formatting, numbers and nodes, of clients that end well.
#include "pool/pool.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "user_pool.hpp"

namespace {

using ds::pool::NodeAddress;
using ds::pool::Owner;
using ds::pool::Pool;
using local::Client;
using local::Folder;
using local::Formatted;
using local::Member;
using local::word;

constexpr uint64_t base = DS_LAYOUT_BASE;
constexpr uint64_t MiB = 1 << 20;
constexpr uint32_t leaves = 14336;  // of a server at k = 0

void set_word(const Client &c, uint64_t addr, uint64_t value) {
    memcpy(c.bytes, &value, 8);
    assert_int_equal(ds_write(c.space, addr, c.buffer, 0, 8, 0, nullptr), 0);
}

uint64_t client_entry(Owner owner) {
    return base + 0x8000 + owner.client * 16;
}

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
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
