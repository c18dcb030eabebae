// SPDX-License-Identifier: Apache-2.0
// dsmasterd when memory servers come back with other memory; when replicas are
// damaged; when it is fenced, or killed while it makes them anew.
#include "master_world.hpp"

#include <utility>

namespace {

using namespace master_test;

void wrong_calls(void **) {
    World world;
    auto c = world.client();
    assert_int_equal(repair(*c, ""), -EINVAL);
    assert_int_equal(repair(*c, std::string(DS_STORE_MAX_KEY + 1, 'k')), -EINVAL);
    assert_int_equal(repair(*c, "none"), -ENOENT);
    assert_int_equal(c->totals().incomplete, 0);
}

void a_server_has_other_memory(void **) {
    World world;
    auto c = world.client();
    Objects objects(*c);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // it was seen
    // Also while no master looks.
    for (bool while_away : {false, true}) {
        if (while_away)
            world.kill();
        world.replace_memory(*c, 1);
        if (while_away)
            world.start();
        objects.same(*c);
        std::this_thread::sleep_for(std::chrono::milliseconds(2500));
        eventually([&] { return c->totals().incomplete == 0; });
        objects.whole(*c);
    }
}

// What has no other replica is gone, and said to be.
void the_only_replica_is_gone(void **) {
    World world;
    auto c = world.client();
    std::string data = noise(3 * MiB, 1), got;
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    assert_int_equal(c->put("key", data), 0);  // a shard on each server
    assert_int_equal(c->put("two", data, 2), 0);
    world.replace_memory(*c, 1);
    eventually([&] { return c->totals().incomplete > 0; });
    eventually([&] { return c->totals().incomplete == 1; });
    assert_int_equal(c->get("key", got), -EBADMSG);
    assert_int_equal(c->get("two", got), 0);
    assert_true(got == data);
    // Put anew it is well again.
    assert_int_equal(c->put("key", data), 0);
    eventually([&] { return c->totals().incomplete == 0; });
}

// Memory is replaced between two pieces of a put.
void memory_is_replaced_in_the_middle_of_a_put(void **) {
    World world;
    auto c = world.client();
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    struct Arg {
        World &world;
        Client &c;
        int calls = 0;
    } arg{world, *c};
    std::string data = noise(6 * MiB, 3), got;
    iovec part{data.data(), data.size()};
    ds_store_put_options options{};
    options.size = sizeof(options);
    options.replicas = 2;
    options.progress = [](void *p, uint64_t) {
        auto *a = static_cast<Arg *>(p);
        if (a->calls++ == 0) {
            a->world.replace_memory(a->c, 1);
            std::this_thread::sleep_for(std::chrono::milliseconds(2500));  // it is seen
        }
        return 0;
    };
    options.arg = &arg;
    assert_int_equal(ds_store_put(c->store, "key", 3, &part, 1, &options, nullptr), 0);
    assert_true(arg.calls > 1);
    std::vector<ds_store_damage> damages;
    eventually([&] { return c->totals().incomplete == 0; });
    assert_int_equal(c->check("key", damages), 0);
    assert_int_equal(c->get("key", got), 0);
    assert_true(got == data);
}

void a_damaged_replica_is_made_anew(void **) {
    World world;
    auto c = world.client();
    Objects objects(*c);
    std::vector<ds_store_damage> damages;
    for (size_t i = 3; i < objects.data.size(); i++) {
        bool done = false;
        for (uint32_t server = 0; server < servers && !done; server++)
            done = damage(*c, objects.data[i], server);
        assert_true(done);
        assert_int_equal(c->check(Objects::key(i), damages), -EBADMSG);
        assert_int_equal(repair(*c, Objects::key(i)), 0);
        eventually([&] { return c->totals().incomplete == 0; });
        assert_int_equal(c->check(Objects::key(i), damages), 0);
    }
    objects.whole(*c);
    // In all of them: nothing is made from what is damaged.
    for (uint32_t server = 0; server < servers; server++)
        damage(*c, objects.data[3], server);
    assert_int_equal(repair(*c, Objects::key(3)), 0);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    assert_int_equal(c->totals().incomplete, 1);
    assert_int_equal(c->check(Objects::key(3), damages), -EBADMSG);
    assert_int_equal(damages.size(), 2);
    assert_int_equal(c->del(Objects::key(3)), 0);
    eventually([&] { return c->totals().incomplete == 0; });
}

// All replicas that a reader remembers are somewhere else.
void what_is_remembered_has_moved(void **) {
    World world;
    auto c = world.client(), reader = world.client();
    std::string data = noise(5000, 1), got;
    ds_store_get_options cached{};
    cached.size = sizeof(cached);
    cached.flags = DS_STORE_CACHED;
    assert_int_equal(c->put("key", data, 2), 0);
    assert_int_equal(reader->get("key", got, data.size(), cached), 0);
    std::vector<uint64_t> places;
    for (uint32_t server = 0; server < servers; server++)
        if (uint64_t at = find(*c, server, data.substr(0, 64)))
            places.push_back(at);
    assert_int_equal(places.size(), 2);
    for (uint64_t at : places) {
        ds_result old;
        assert_int_equal(ds_fetch_add(c->space, at, 1, 0, &old), 0);
        assert_int_equal(repair(*c, "key"), 0);
        eventually([&] { return c->totals().incomplete == 0 && c->totals().retired == 0; });
    }
    assert_int_equal(reader->get("key", got, data.size(), cached), 0);
    assert_true(got == data);
    assert_int_equal(reader->object.damaged, 0);
}

void killed_at_each_step(void **) {
    for (const char *point :
         {"master_reserved", "master_copied", "master_swapped", "master_seals_cleared"}) {
        World world;
        auto c = world.client();
        Objects objects(*c);
        world.kill();
        world.start(point);
        for (uint32_t server = 0; server < servers; server++)
            if (damage(*c, objects.data.back(), server))
                break;
        std::string key = Objects::key(objects.data.size() - 1);
        assert_int_equal(repair(*c, key), 0);
        world.wait_for_death();
        world.start();
        objects.same(*c);
        assert_int_equal(repair(*c, key), 0);
        eventually([&] { return c->totals().incomplete == 0; });
        objects.whole(*c);
    }
}

// It is the first client of the pool, and somebody takes it for dead.
void a_master_that_is_fenced_joins_anew(void **) {
    World world;
    auto c = world.client(), other = world.client();
    Objects objects(*c);
    ds_store_close(std::exchange(other->store, nullptr));
    std::unique_ptr<ds::pool::Pool> pool;
    assert_int_equal(ds::pool::Pool::join(other->space, pool), 0);
    assert_int_equal(pool->fence({.client = 1, .incarnation = 1}), 0);
    // What it does by itself it can do.
    world.replace_memory(*c, 1);
    objects.same(*c);
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    eventually([&] { return c->totals().incomplete == 0; });
    objects.whole(*c);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(wrong_calls),
        cmocka_unit_test(a_server_has_other_memory),
        cmocka_unit_test(the_only_replica_is_gone),
        cmocka_unit_test(memory_is_replaced_in_the_middle_of_a_put),
        cmocka_unit_test(a_damaged_replica_is_made_anew),
        cmocka_unit_test(what_is_remembered_has_moved),
        cmocka_unit_test(killed_at_each_step),
        cmocka_unit_test(a_master_that_is_fenced_joins_anew),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
