// SPDX-License-Identifier: Apache-2.0
// dsmasterd when memory servers die, come back, and come back with other memory;
// when replicas are damaged; and when it is killed while it makes them anew.
#include "master.hpp"

#include <utility>

#include "../store/master.hpp"
#include "fabric/crash_point.hpp"
#include "pool/pool.hpp"
#include "store/label.hpp"
#include "user_mortal.hpp"

namespace {

using store_test::Client;

constexpr uint64_t MiB = 1 << 20;
constexpr uint32_t servers = 3;

std::string noise(size_t length, uint64_t seed) {
    std::string data(length, '\0');
    for (size_t i = 0; i < length; i++) {
        seed = seed * 6364136223846793005 + 1442695040888963407;
        data[i] = static_cast<char>(seed >> 56);
    }
    return data;
}

/// A pool with a master in a process of its own, and clients; all of them see the
/// same servers die.
class World {
public:
    World() : pool_(servers, mortal::shift) { start(); }
    World(const World &) = delete;
    World &operator=(const World &) = delete;

    void start(const std::string &crash_point = "") {
        master_ = std::make_unique<local::Child>([=, this] { return serve(crash_point); });
    }
    void kill() {
        master_->signal(SIGKILL);
        master_->wait();
    }
    /// Until it comes to its crash point.
    void wait_for_death() { assert_int_equal(master_->wait(), 128 + SIGKILL); }

    std::unique_ptr<Client> client() {
        return std::make_unique<Client>(pool_, mortal::open(pool_.folder.file(), at));
    }

    /// The server has other memory: zeros.
    void replace_memory(Client &c, uint32_t server) {
        ds_buffer *buffer;
        assert_int_equal(ds_buffer_alloc(c.fabric, MiB, -1, &buffer), 0);
        for (uint64_t offset = 0; offset < uint64_t{1} << mortal::shift; offset += MiB)
            assert_int_equal(
                ds_write(c.space, mortal::base + (uint64_t{server} << mortal::shift) + offset,
                         buffer, 0, MiB, 0, nullptr),
                0);
        ds_buffer_free(buffer);
    }

    mortal::Servers at;

private:
    int serve(const std::string &crash_point) {
        using namespace dsmasterd;
        if (!crash_point.empty())
            ds::test_points.crash_at(crash_point, 1);
        ds_fabric *fabric = mortal::open(pool_.folder.file(), at);
        ds_space *space;
        ds_service *service;
        std::unique_ptr<ds::pool::Pool> joined;
        if (ds_space_open(fabric, 1, DS_ACCESS_ALL, &space) < 0)
            return 1;
        Catalogue catalogue(pool_.folder.file("metadata"));
        if (!catalogue.shape()) {
            catalogue.make(
                {.store = 77, .space = 1, .servers = servers, .server_shift = mortal::shift});
            if (ds::pool::Pool::format(space) < 0 || ds::store::write_label(space, 77) < 0)
                return 2;
        }
        if (ds::pool::Pool::join(space, joined) < 0 ||
            ds_service_bind(fabric, DS_STORE_PORT, 64, &service) < 0)
            return 3;
        Master master(space, joined, catalogue, *catalogue.shape(), catalogue.begin_epoch());
        std::atomic<bool> stop{false};
        master.serve(service, stop);
        return 0;
    }

    store_test::Pool pool_;
    std::unique_ptr<local::Child> master_;
};

/// Waits until it is so.
template <class So>
void eventually(const So &so) {
    for (int i = 0; i < 600; i++) {
        if (so())
            return;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    fail_msg("not so after a minute");
}

bool is_down(Client &c, uint32_t server) {
    ds_store_totals t{};
    std::vector<ds_store_server> all(servers);
    t.size = sizeof(t);
    assert_int_equal(ds_store_get_totals(c.store, 0, &t, all.data(), all.size()), 0);
    return all[server].down;
}

int repair(Client &c, const std::string &key) {
    return ds_store_repair(c.store, key.data(), key.size(), 0);
}

/// Some objects of two replicas.
struct Objects {
    explicit Objects(Client &c) {
        for (size_t length :
             {size_t{0}, size_t{1}, size_t{64}, size_t{5000}, size_t{MiB}, size_t{3 * MiB + 17}}) {
            data.push_back(noise(length, length + 1));
            assert_int_equal(c.put(key(data.size() - 1), data.back(), 2), 0);
        }
        used = c.settled().used;
    }
    static std::string key(size_t i) { return "key" + std::to_string(i); }

    /// What is there is what was put.
    void same(Client &c) const {
        std::string got;
        for (size_t i = 0; i < data.size(); i++) {
            assert_int_equal(c.get(key(i), got), 0);
            assert_true(got == data[i]);
        }
    }

    /// And so it is in each replica, with no byte of space lost.
    void whole(Client &c) const {
        std::vector<ds_store_damage> damages;
        same(c);
        for (size_t i = 0; i < data.size(); i++)
            assert_int_equal(c.check(key(i), damages), 0);
        ds_store_totals t = c.settled();
        assert_int_equal(t.used, used);
        assert_int_equal(t.reserved, 0);
    }

    std::vector<std::string> data;
    uint64_t used;
};

// Where on this server these bytes are; 0: nowhere.
uint64_t find(Client &c, uint32_t server, const std::string &start) {
    ds_buffer *buffer;
    uint64_t found = 0, room = uint64_t{1} << mortal::shift;
    assert_int_equal(ds_buffer_alloc(c.fabric, room, -1, &buffer), 0);
    uint64_t first = mortal::base + server * room;
    assert_int_equal(ds_read(c.space, first, buffer, 0, room, 0, nullptr), 0);
    std::string_view memory(static_cast<char *>(ds_buffer_data(buffer)), room);
    if (size_t i = memory.find(start); i != memory.npos)
        found = first + i;
    ds_buffer_free(buffer);
    return found;
}

// Flips a bit of the object in one replica. False if none is on the server.
bool damage(Client &c, const std::string &data, uint32_t server) {
    uint64_t at = find(c, server, data.substr(0, 64));
    if (!at)
        return false;
    ds_result old;
    assert_int_equal(ds_fetch_add(c.space, at, 0, 0, &old), 0);
    assert_int_equal(ds_cas(c.space, at, old.value, old.value ^ 1, 0, nullptr), 0);
    return true;
}

// ---- the tests ----

void wrong_calls(void **) {
    World world;
    auto c = world.client();
    assert_int_equal(repair(*c, ""), -EINVAL);
    assert_int_equal(repair(*c, std::string(DS_STORE_MAX_KEY + 1, 'k')), -EINVAL);
    assert_int_equal(repair(*c, "none"), -ENOENT);
    assert_int_equal(c->totals().incomplete, 0);
}

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
    // All of it on the others; what the dead server had is retired until it is back.
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
    // The replicas of a shard are on different servers: each of those two has all.
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

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(wrong_calls),
        cmocka_unit_test(a_server_dies_and_comes_back),
        cmocka_unit_test(another_one_dies_before_the_first_is_replaced),
        cmocka_unit_test(a_server_has_other_memory),
        cmocka_unit_test(the_only_replica_is_gone),
        cmocka_unit_test(memory_is_replaced_in_the_middle_of_a_put),
        cmocka_unit_test(a_damaged_replica_is_made_anew),
        cmocka_unit_test(what_is_remembered_has_moved),
        cmocka_unit_test(killed_at_each_step),
        cmocka_unit_test(a_master_that_is_fenced_joins_anew),
        cmocka_unit_test(a_copy_that_nobody_knows_of),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
