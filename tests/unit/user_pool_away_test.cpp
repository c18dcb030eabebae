// SPDX-License-Identifier: Apache-2.0
// ds::pool::Pool when a server of its space does not answer.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <set>
#include <thread>

#include "pool/pool.hpp"
#include "pool/usage.hpp"
#include "user_mortal.hpp"
#include "user_pool.hpp"

namespace {

using ds::pool::NodeAddress;
using ds::pool::Pool;

constexpr uint32_t leaves = 14336;  // of a server at k = 0

/// A process whose servers can go away.
class Host {
public:
    Host(const std::string &path, const mortal::Servers &servers)
        : fabric_(mortal::open(path, servers)) {
        assert_int_equal(ds_space_open(fabric_, 1, DS_ACCESS_ALL, &space), 0);
    }
    Host(const Host &) = delete;
    Host &operator=(const Host &) = delete;
    ~Host() {
        ds_space_close(space);
        ds_fabric_close(fabric_);
    }

private:
    ds_fabric *fabric_;

public:
    ds_space *space = nullptr;
};

/// One that is a client of the pool.
class Member {
public:
    Member(const std::string &path, const mortal::Servers &servers) : host_(path, servers) {
        assert_int_equal(Pool::join(host_.space, pool), 0);
    }

    /// The server of a node that the pool gives.
    uint64_t server_of_next(uint32_t timeout_ms) const {
        NodeAddress node{};
        assert_int_equal(pool->alloc_node(0, node, timeout_ms), 0);
        return server_of(node);
    }
    static uint64_t server_of(const NodeAddress &node) {
        return (node.addr - mortal::base) >> mortal::shift;
    }

private:
    Host host_;

public:
    std::unique_ptr<Pool> pool;
};

/// A pool of two servers, and one who looks at it.
struct Watched {
    local::Formatted file{2};
    mortal::Servers at;
    local::Client looker{file.file()};

    ds::pool::Usage usage() const {
        ds::pool::Usage usage;
        assert_int_equal(ds::pool::look_at(looker.space, usage), 0);
        return usage;
    }
};

// Each has an extent of 16 nodes in hand, so what it has left there is still given out.
void who_does_not_answer_is_passed_over(void **) {
    local::Formatted file(2);
    mortal::Servers at;
    Member m(file.file(), at);
    m.server_of_next(0);
    m.server_of_next(0);
    at[1].dead = true;
    uint32_t there[2] = {};
    for (int i = 0; i < 200; i++)
        there[m.server_of_next(20)]++;
    assert_in_range(there[1], 1, 15);
    at[1].dead = false;
    there[1] = 0;
    for (int i = 0; i < 200; i++)
        there[m.server_of_next(20)]++;
    assert_true(there[1] >= 99);

    at[0].dead = at[1].dead = true;
    NodeAddress node;
    int rc = 0;
    for (int i = 0; i < 33 && rc == 0; i++)
        rc = m.pool->alloc_node(0, node, 20);
    assert_int_equal(rc, -ENOTCONN);
    at[0].dead = at[1].dead = false;
    m.server_of_next(0);
}

// Its server did not take what was to be written there.
void a_node_that_came_back_is_not_the_next(void **) {
    local::Formatted file(2);
    mortal::Servers at;
    Member m(file.file(), at);
    NodeAddress back{}, node{};
    do
        assert_int_equal(m.pool->alloc_node(0, back), 0);
    while (m.server_of(back) != 1);
    at[1].dead = true;
    m.pool->free_node(0, back);
    for (int i = 0; i < 40; i++) {
        assert_true(m.pool->node_at_hand(0, node) || m.pool->alloc_node(0, node, 20) == 0);
        assert_int_equal(m.server_of(node), 0);
    }
    at[1].dead = false;
    bool found = false;
    for (int i = 0; i < 3 && !found; i++) {
        assert_int_equal(m.pool->alloc_node(0, node, 20), 0);
        found = node.addr == back.addr;
    }
    assert_true(found);
}

void to_give_a_node_back_waits_for_no_server(void **) {
    local::Formatted file(2);
    mortal::Servers at;
    Member m(file.file(), at);
    NodeAddress back{};
    assert_int_equal(m.pool->alloc_node(0, back), 0);
    at[0].dead = at[1].dead = true;
    std::atomic<bool> waiting{true};
    std::thread waits([&] {
        NodeAddress node;
        assert_int_equal(m.pool->alloc_node(1, node, 2000), -ENOTCONN);
        waiting = false;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    m.pool->free_node(0, back);
    assert_true(waiting);
    waits.join();
    at[0].dead = at[1].dead = false;
}

// What it has there is given back by the next one who joins.
void who_leaves_meanwhile_loses_nothing(void **) {
    local::Formatted file(2);
    mortal::Servers at;
    {
        Member m(file.file(), at);
        for (int i = 0; i < 4; i++)
            m.server_of_next(0);
        at[1].dead = true;
    }
    at[1].dead = false;
    Member m(file.file(), at);
    NodeAddress node;
    std::set<uint64_t> nodes;
    while (m.pool->alloc_node(0, node) == 0)
        assert_true(nodes.insert(node.addr).second);
    assert_int_equal(nodes.size(), 2 * leaves - 2);  // those of the server that was there
}

// An extent that is used up cannot be given back then; it is later.
void who_is_done_with_an_extent_keeps_it(void **) {
    Watched pool;
    {
        Member m(pool.file.file(), pool.at);
        for (int i = 0; i < 32; i++)
            m.server_of_next(0);
        pool.at[1].dead = true;
        for (int i = 0; i < 40; i++)
            assert_int_equal(m.server_of_next(20), 0);
        pool.at[1].dead = false;
    }
    assert_int_equal(pool.usage().servers[1].owned, 0);
    assert_int_equal(pool.usage().servers[1].full, 1);
}

// One that does what it is asked, and is not heard. Extents of which a client was not told
// are given back when it leaves.
void who_is_not_told_what_it_has_loses_nothing(void **) {
    Watched pool;
    {
        Member m(pool.file.file(), pool.at);
        pool.at[1].silent_of_cas = true;
        for (int i = 0; i < 4; i++)
            assert_int_equal(m.server_of_next(20), 0);
        pool.at[1].silent_of_cas = false;
        assert_in_range(pool.usage().servers[1].owned, 1, 4);
    }
    assert_int_equal(pool.usage().servers[0].owned, 0);
    assert_int_equal(pool.usage().servers[1].owned, 0);
    assert_int_equal(pool.usage().clients, 0);
}

// An extent was used up and given back, and the client finds out by trying again.
void who_is_not_told_that_it_gave_back_goes_on(void **) {
    Watched pool;
    {
        Member m(pool.file.file(), pool.at);
        for (int i = 0; i < 32; i++)
            m.server_of_next(0);
        pool.at[1].silent_of_cas = true;
        assert_int_equal(m.server_of_next(20), 0);
        assert_int_equal(m.server_of_next(20), 0);
        pool.at[1].silent_of_cas = false;
        assert_int_equal(pool.usage().servers[1].full, 1);
        uint32_t there[2] = {};
        for (int i = 0; i < 20; i++)
            there[m.server_of_next(20)]++;
        assert_in_range(there[1], 9, 11);
    }
    assert_int_equal(pool.usage().servers[1].owned, 0);
    assert_int_equal(pool.usage().servers[1].full, 1);
}

// It has nothing on a server that did not answer, and knows that.
void who_was_refused_leaves_at_once(void **) {
    Watched pool;
    {
        Member m(pool.file.file(), pool.at);
        pool.at[1].dead = true;
        for (int i = 0; i < 4; i++)
            assert_int_equal(m.server_of_next(20), 0);
    }
    assert_int_equal(pool.usage().clients, 0);
}

// It does not wait long for the server that has the numbers of clients.
void who_leaves_is_not_held_up(void **) {
    local::Formatted file(2);
    mortal::Servers at;
    auto m = std::make_unique<Member>(file.file(), at);
    at[0].dead = true;
    auto start = std::chrono::steady_clock::now();
    m.reset();
    assert_true(std::chrono::steady_clock::now() - start < std::chrono::seconds(15));
    at[0].dead = false;
    Member next(file.file(), at);
    assert_int_equal(next.pool->self().client, 1);
    assert_int_equal(next.pool->self().incarnation, 2);
}

// The server with the numbers of clients is away: each call waits as long as it was told.
void who_opens_waits_as_told(void **) {
    local::Formatted file(2);
    mortal::Servers at;
    Host host(file.file(), at);
    ds_tree_info infos[DS_TREE_MAX_ID];
    ds_tree_options options{};
    std::unique_ptr<Pool> pool;
    ds_tree *tree;
    options.size = sizeof(options);
    options.timeout_ms = 50;
    at[0].dead = true;
    auto start = std::chrono::steady_clock::now();
    ds_space_set_timeout(host.space, 50);
    assert_int_equal(Pool::join(host.space, pool), -ENOTCONN);
    assert_int_equal(ds_tree_create(host.space, 1), -ENOTCONN);
    assert_int_equal(ds_tree_list(host.space, infos), -ENOTCONN);
    assert_int_equal(ds_tree_open(host.space, 1, nullptr, &tree), -ENOTCONN);
    ds_space_set_timeout(host.space, 0);
    assert_int_equal(ds_tree_open(host.space, 1, &options, &tree), -ENOTCONN);
    assert_true(std::chrono::steady_clock::now() - start < std::chrono::seconds(25));
}

/// A client that has taken some nodes, and is stopped.
class Stopped {
public:
    Stopped(const std::string &path, const mortal::Servers &servers, uint32_t nodes)
        : child_([&] {
              Member m(path, servers);
              for (uint32_t i = 0; i < nodes; i++)
                  m.server_of_next(0);
              raise(SIGSTOP);
              return 0;
          }) {
        child_.wait_for_stop();
    }
    void kill() {
        child_.signal(SIGKILL);
        assert_int_equal(child_.wait(), 128 + SIGKILL);
    }

private:
    local::Child child_;
};

// Its process is gone, and a server does not say that nothing of it is under way.
void who_cannot_be_fenced_holds_nobody_up(void **) {
    local::Formatted file(1);
    mortal::Servers at;
    Member m(file.file(), at);
    Stopped second(file.file(), at, 1), third(file.file(), at, 1);
    second.kill();
    third.kill();
    at[0].hung = 2;

    auto start = std::chrono::steady_clock::now();
    std::set<uint64_t> nodes;
    int failed = 0;
    while (nodes.size() < leaves - 16 && failed < 4) {
        NodeAddress node{};
        int rc = m.pool->alloc_node(0, node, 200);
        assert_true(rc == 0 ? nodes.insert(node.addr).second : rc == -ETIMEDOUT);
        failed += rc < 0;
    }
    assert_int_equal(nodes.size(), leaves - 16);  // what the third had is there
    assert_true(failed > 0);
    Host host(file.file(), at);
    std::unique_ptr<Pool> pool;
    ds_space_set_timeout(host.space, 200);
    assert_int_equal(Pool::join(host.space, pool), 0);
    assert_true(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
    pool.reset();

    at[0].hung = 0;
    NodeAddress node;
    for (int i = 0; i < 16; i++)
        assert_int_equal(m.pool->alloc_node(0, node, 200), 0);
    assert_int_equal(m.pool->alloc_node(0, node, 200), -ENOSPC);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(who_does_not_answer_is_passed_over),
        cmocka_unit_test(a_node_that_came_back_is_not_the_next),
        cmocka_unit_test(to_give_a_node_back_waits_for_no_server),
        cmocka_unit_test(who_leaves_meanwhile_loses_nothing),
        cmocka_unit_test(who_is_done_with_an_extent_keeps_it),
        cmocka_unit_test(who_is_not_told_what_it_has_loses_nothing),
        cmocka_unit_test(who_is_not_told_that_it_gave_back_goes_on),
        cmocka_unit_test(who_was_refused_leaves_at_once),
        cmocka_unit_test(who_leaves_is_not_held_up),
        cmocka_unit_test(who_opens_waits_as_told),
        cmocka_unit_test(who_cannot_be_fenced_holds_nobody_up),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
