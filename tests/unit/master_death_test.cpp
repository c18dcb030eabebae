// SPDX-License-Identifier: Apache-2.0
// dsmasterd when memory servers die and come back.
#include "master_world.hpp"

#include <utility>

namespace {

using namespace master_test;

void a_server_dies_and_comes_back(void **) {
    World world;
    auto c = world.client();
    Objects objects(*c);
    std::string data;
    for (const char *key : {"gone0", "gone1", "gone2"})
        assert_int_equal(c->put(key, "x", 3), 0);
    world.at[1].dead = true;
    objects.same(*c);
    eventually([&] { return is_down(*c, 1); });
    for (const char *key : {"gone0", "gone1", "gone2"})
        assert_int_equal(c->del(key), 0);
    assert_int_equal(c->put("more", "x", 3), -EHOSTDOWN);
    assert_int_equal(c->put("more", "x", 2), 0);
    eventually([&] { return c->totals().incomplete == 0; });
    // All of it on the others; what the dead server had is retired until it is
    // back.
    std::vector<ds_store_damage> damages;
    for (size_t i = 0; i < objects.data.size(); i++)
        assert_int_equal(c->check(Objects::key(i), damages), 0);
    ds_store_totals t = c->totals();
    assert_true(t.retired > 0);
    assert_int_equal(t.used + t.reserved + t.retired + t.free, t.total);
    // So it is on the disk, too.
    world.kill();
    world.start();
    assert_int_equal(c->totals().retired, t.retired);
    // The replicas of a shard are on different servers: each of those two has
    // all.
    for (uint32_t server : {0, 2}) {
        world.at[server].dead = true;
        assert_int_equal(c->get(Objects::key(5), data), 0);
        assert_true(data == objects.data[5]);
        world.at[server].dead = false;
    }

    world.at[1].dead = false;
    eventually([&] { return !is_down(*c, 1); });
    eventually([&] { return c->totals().retired == 0; });
    assert_int_equal(c->put("more", "x", 3), 0);
    assert_int_equal(c->del("more"), 0);
    objects.whole(*c);
}

void another_one_dies_before_the_first_is_replaced(void **) {
    World world;
    auto c = world.client();
    Objects objects(*c);
    for (uint32_t server : {1, 2})
        world.at[server].dead = true;
    eventually([&] { return is_down(*c, 1) && is_down(*c, 2); });
    // A master that is started then knows it before it answers anybody.
    world.kill();
    world.start();
    assert_int_equal(c->totals().incomplete, objects.data.size());
    assert_true(is_down(*c, 1) && is_down(*c, 2));
    std::this_thread::sleep_for(std::chrono::seconds(2));
    // There is no place for them: two replicas are not on one server.
    assert_int_equal(c->totals().incomplete, objects.data.size());
    world.at[2].dead = false;
    eventually([&] { return c->totals().incomplete == 0; });
    objects.same(*c);
    world.at[1].dead = false;
    eventually([&] { return c->totals().retired == 0; });
    objects.whole(*c);
}

// A write whose end is not known may still happen: its space is nobody else's.
void a_copy_that_nobody_knows_of(void **) {
    World world;
    auto c = world.client();
    Objects objects(*c);
    world.at[2].silent = true;
    world.at[1].dead = true;
    eventually([&] { return c->totals().reserved > 0; });
    std::this_thread::sleep_for(std::chrono::seconds(7));  // until a copy is given up
    world.at[2].silent = false;
    eventually([&] { return c->totals().incomplete == 0; });
    ds_store_totals t = c->totals();
    assert_true(t.reserved > 0);
    world.kill();
    world.at[1].dead = false;
    world.start();
    eventually([&] { return c->totals().reserved == 0; });
    objects.whole(*c);
}

// A master that is fenced joins anew, also if that does not succeed at once.
void the_master_is_fenced(void **) {
    for (auto hindrance : {&mortal::Server::silent_of_cas, &mortal::Server::stuck}) {
        World world;
        auto c = world.client();
        Other other(world);
        world.at[0].*hindrance = true;
        assert_int_equal(other.fence(1), 0);
        std::this_thread::sleep_for(std::chrono::seconds(4));  // it has tried
        world.at[0].*hindrance = false;
        bool seen = false;  // it looks each second, and may have done so between these two
        for (int i = 0; i < 5 && !seen; i++) {
            die_with_a_reservation(world);
            seen = c->totals().reserved > 0;
        }
        assert_true(seen);
        eventually([&] { return c->totals().reserved == 0; });
    }
}

// The master asks the client table whether who reserves lives. That must not keep it long
// from answering.
void server_0_dies(void **) {
    World world;
    auto c = world.client(), slow = world.client();
    assert_int_equal(c->put("key", "x", 3), 0);
    std::atomic<bool> begun{false}, done{false};
    std::thread putting([&] {
        iovec part{const_cast<char *>("x"), 1};
        ds_store_put_options options{};
        struct {
            std::atomic<bool> &begun, &done;
        } flags{begun, done};
        options.size = sizeof(options);
        options.arg = &flags;
        options.progress = [](void *arg, uint64_t) {
            auto *f = static_cast<decltype(flags) *>(arg);
            f->begun = true;
            f->begun.notify_one();
            f->done.wait(false);
            return 1;
        };
        ds_store_put(slow->store, "slow", 4, &part, 1, &options, nullptr);
    });
    begun.wait(false);
    for (int i = 0; i < 3; i++) {
        world.at[0].dead = true;
        auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        while (std::chrono::steady_clock::now() < end) {
            ds_store_object object{};
            object.size = sizeof(object);
            assert_int_equal(ds_store_stat(c->store, "key", 3, 3000, &object), 0);
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        world.at[0].dead = false;
        eventually([&] { return !is_down(*c, 0); });
    }
    done = true;
    done.notify_one();
    putting.join();
}

// A client is gone, and a server does not say that nothing of it is under way: on a host that
// hangs.
void a_client_cannot_be_fenced(void **) {
    World world;
    auto c = world.client();
    assert_int_equal(c->put("key", "x"), 0);
    world.at[0].hung = 3;  // behind the master and the client
    die_with_a_reservation(world);
    int slow = 0;
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(6);
    for (auto now = std::chrono::steady_clock::now(); now < end;) {
        assert_int_equal(c->stat("key"), 0);
        auto then = std::exchange(now, std::chrono::steady_clock::now());
        slow += now - then > std::chrono::seconds(3);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    assert_true(slow < 2);  // one by a machine that stood still
    assert_true(c->totals().reserved > 0);
    world.at[0].hung = 0;
    eventually([&] { return c->totals().reserved == 0; });
}

// While server 0 is away a master that is fenced cannot join anew. What it is asked it answers.
void the_master_is_fenced_and_server_0_dies(void **) {
    World world;
    auto c = world.client();
    Other other(world);
    assert_int_equal(c->put("key", "x", 3), 0);
    world.at[0].dead = true;
    std::this_thread::sleep_for(std::chrono::seconds(2));  // that it was seen
    world.at[0].dead = false;
    assert_int_equal(other.fence(1), 0);
    world.at[0].dead = true;
    std::this_thread::sleep_for(std::chrono::seconds(5));  // it has left, and looked
    int slow = 0;
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(8);
    for (auto now = std::chrono::steady_clock::now(); now < end;) {
        assert_int_equal(c->stat("key"), 0);
        auto then = std::exchange(now, std::chrono::steady_clock::now());
        slow += now - then > std::chrono::milliseconds(700);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    assert_true(slow < 5);  // of twenty, if all were
    world.at[0].dead = false;
    die_with_a_reservation(world);
    eventually([&] { return c->totals().reserved == 0; });
}

// Of the one before it is not known that nothing of it is under way.
void the_last_master_cannot_be_fenced(void **) {
    World world;
    auto c = world.client();
    assert_int_equal(c->put("key", "x"), 0);
    world.kill();
    world.at[0].hung = 1;
    world.start();
    assert_int_equal(world.wait_for_end(), 4);
    world.at[0].hung = 0;
    world.start();
    assert_int_equal(c->stat("key"), 0);
}

// While it is fenced and cannot join anew, a master with a copy of its folder takes over.
void another_master_takes_over(void **) {
    World world;
    auto c = world.client();
    Other other(world);
    std::string data;
    assert_int_equal(c->put("key", "value"), 0);
    world.at[0].stuck = true;
    assert_int_equal(other.fence(1), 0);
    eventually([&] { return c->put("probe", "x", 1, 0, 1000) == -ETIMEDOUT; });  // it knows
    // From here on it gives nobody what may be another's.
    assert_int_equal(c->put("key", "late", 1, 0, 1000), -ETIMEDOUT);
    assert_int_equal(ds_store_del(c->store, "key", 3, 0, 1000), -ETIMEDOUT);
    assert_int_equal(c->get("key", data), 0);
    assert_string_equal(data.c_str(), "value");
    ds::store::Term term, next;
    assert_int_equal(ds::store::read_term(c->space, term), 0);
    next = {.epoch = term.epoch + 1, .client = 9, .incarnation = 1};
    assert_int_equal(ds::store::swap_term(c->space, term, next, term), 0);
    world.at[0].stuck = false;
    assert_int_equal(world.wait_for_end(), 5);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_server_dies_and_comes_back),
        cmocka_unit_test(another_one_dies_before_the_first_is_replaced),
        cmocka_unit_test(a_copy_that_nobody_knows_of),
        cmocka_unit_test(the_master_is_fenced),
        cmocka_unit_test(server_0_dies),
        cmocka_unit_test(a_client_cannot_be_fenced),
        cmocka_unit_test(the_master_is_fenced_and_server_0_dies),
        cmocka_unit_test(the_last_master_cannot_be_fenced),
        cmocka_unit_test(another_master_takes_over),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
