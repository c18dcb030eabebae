// SPDX-License-Identifier: Apache-2.0
// What dsmasterd makes of replicas that were lost before they became an object's: of puts
// that are under way when a server dies or has other memory, and of its own copies.
#include "master_world.hpp"

namespace {

using namespace master_test;
using std::chrono::seconds;

/// Puts "key" with two replicas; does @p meanwhile when all is written and nothing committed.
int put_and(Client &c, const std::string &data, std::function<void()> meanwhile) {
    iovec part{const_cast<char *>(data.data()), data.size()};
    ds_store_put_options options{};
    options.size = sizeof(options);
    options.replicas = 2;
    options.timeout_ms = 60000;
    options.arg = &meanwhile;
    options.progress = [](void *arg, uint64_t) {
        (*static_cast<std::function<void()> *>(arg))();
        return 0;
    };
    return ds_store_put(c.store, "key", 3, &part, 1, &options, &c.version);
}

/// The servers that have the start of these bytes.
std::vector<uint32_t> holders(Client &c, const std::string &data) {
    std::vector<uint32_t> found;
    for (uint32_t server = 0; server < servers; server++)
        if (find(c, server, data.substr(0, 64)))
            found.push_back(server);
    return found;
}

/// In time both replicas are what was put.
void whole(Client &c, const std::string &data) {
    std::vector<ds_store_damage> damages;
    std::string got;
    eventually([&] { return c.totals().incomplete == 0; });
    assert_int_equal(c.check("key", damages), 0);
    assert_int_equal(c.get("key", got), 0);
    assert_true(got == data);
}

void a_server_dies_before_the_commit(void **) {
    World world;
    auto c = world.client();
    std::string data = noise(5000);
    uint32_t dead = 0;
    assert_int_equal(put_and(*c, data,
                             [&] {
                                 dead = holders(*c, data).back();
                                 world.at[dead].dead = true;
                                 eventually([&] { return is_down(*c, dead); });
                             }),
                     0);
    whole(*c, data);
    world.at[dead].dead = false;
}

// The master looks again at what was there when memory was replaced. Of a put that is
// committed later nothing was there.
void memory_is_replaced_and_then_the_master(bool before_commit) {
    World world;
    auto c = world.client();
    std::string data = noise(5000);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // it was seen
    if (!before_commit) {
        world.kill();
        world.start("master_reserved");
    }
    assert_int_equal(put_and(*c, data,
                             [&] {
                                 world.replace_memory(*c, holders(*c, data).back());
                                 std::this_thread::sleep_for(seconds(7));  // more than a round
                                 if (before_commit) {
                                     world.kill();
                                     world.start();
                                 }
                             }),
                     0);
    if (!before_commit) {
        world.wait_for_death();
        world.start();
    }
    whole(*c, data);
}

void a_later_master_has_the_commit(void **) {
    memory_is_replaced_and_then_the_master(true);
}

void a_later_master_has_the_doubt(void **) {
    memory_is_replaced_and_then_the_master(false);
}

// Memory is replaced where a copy was written that cannot be put into the metadata yet.
void a_copy_is_lost(void **) {
    World world;
    auto c = world.client();
    std::string data = noise(5000);
    world.kill();
    world.start("master_copied", 1, SIGSTOP);
    assert_int_equal(put_and(*c, data, [] {}), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // all memory was seen
    assert_true((holders(*c, data) == std::vector<uint32_t>{0, 1}));
    assert_true(damage(*c, data, 1));
    assert_int_equal(repair(*c, "key"), 0);
    world.wait_for_stop();
    world.replace_memory(*c, 2);
    world.fill_disk(true);
    world.resume();
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    world.fill_disk(false);
    whole(*c, data);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_server_dies_before_the_commit),
        cmocka_unit_test(a_later_master_has_the_commit),
        cmocka_unit_test(a_later_master_has_the_doubt),
        cmocka_unit_test(a_copy_is_lost),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
