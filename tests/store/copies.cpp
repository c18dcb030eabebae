// SPDX-License-Identifier: Apache-2.0
// Copies of a store's folder: of all that are alike, one master goes on.
#include <filesystem>

#include "master.hpp"

namespace {

using namespace store_test;

/// A store with an object, and its master.
struct Served {
    Served() { assert_int_equal(client()->put("first", first), 0); }

    std::unique_ptr<Client> client() const { return std::make_unique<Client>(pool); }

    /// Of the folder as it is now.
    void copy() const {
        std::filesystem::copy(pool.folder.file("store"), pool.folder.file("copy"),
                              std::filesystem::copy_options::recursive);
    }
    /// Of the copy. It may be on any host of /dev/ds, so its port is no hindrance.
    std::unique_ptr<Master> copied(const std::string &port = "512") const {
        return std::make_unique<Master>(
            pool, std::vector<std::string>{"--store", pool.folder.file("copy"), "--port", port});
    }
    void start(const std::string &crash_point = "") {
        master = std::make_unique<Master>(pool, std::vector<std::string>{}, crash_point);
    }
    void end(int signal = SIGTERM) const {
        master->signal(signal);
        assert_int_equal(master->wait(), signal == SIGTERM ? 0 : 128 + signal);
    }
    /// All is there that was put.
    void whole() const {
        std::string data;
        auto c = client();
        assert_int_equal(c->get("first", data), 0);
        assert_true(data == first);
        if (!has_second)
            return;
        assert_int_equal(c->get("second", data), 0);
        assert_true(data == second);
    }
    void put_second() {
        assert_int_equal(client()->put("second", second), 0);
        has_second = true;
    }

    Pool pool{2};
    std::unique_ptr<Master> master =
        std::make_unique<Master>(pool, std::vector<std::string>{"--create"});
    std::string first = noise(3 * MiB, 1), second = noise(3 * MiB, 2);
    bool has_second = false;
};

void refused(Master &master, const std::string &why) {
    if (master.said().find(" serves space ") != std::string::npos)
        fail_msg("it serves");
    assert_int_equal(master.wait(), 5);
    if (master.said().find(why) == std::string::npos)
        fail_msg("'%s' is not in '%s'", why.c_str(), master.said().c_str());
}

void while_the_master_serves(void **) {
    Served store;
    store.copy();
    for (int i = 0; i < 3; i++)  // to be refused makes nobody later
        refused(*store.copied("600"), "another dsmasterd serves the store");
    store.put_second();
    store.whole();
    store.end();
    store.start();
    store.whole();
}

void while_the_master_is_stopped(void **) {
    Served store;
    store.copy();
    store.master->signal(SIGSTOP);
    refused(*store.copied("600"), "another dsmasterd serves the store");
    store.master->signal(SIGCONT);
    store.put_second();
    store.whole();
}

// It knows nothing of what was put since.
void that_was_made_while_a_master_ran(void **) {
    Served store;
    store.copy();
    store.put_second();
    store.end();
    for (int i = 0; i < 3; i++)
        refused(*store.copied(), "from another folder since");
    store.start();
    refused(*store.copied("600"), "from another folder since");
    store.end(SIGKILL);
    refused(*store.copied(), "from another folder since");
    store.start();
    store.whole();
}

// It is as good as the folder.
void that_was_made_after_the_end(void **) {
    for (bool copy_first : {true, false}) {
        Served store;
        store.put_second();
        store.end();
        store.copy();
        if (copy_first)
            store.master = store.copied();
        else
            store.start();
        store.whole();
        store.end();
        if (copy_first)
            store.start();
        else
            store.master = store.copied();
        refused(*store.master, "from another folder since");
    }
}

// Nobody can tell which of the two is the copy.
void of_a_master_that_was_killed(void **) {
    Served store;
    store.copy();
    store.end(SIGKILL);
    store.master = store.copied();
    store.whole();
    store.put_second();
    store.end(SIGKILL);
    auto other = std::make_unique<Master>(store.pool, std::vector<std::string>{});
    refused(*other, "from another folder since");
    store.master = store.copied();
    store.whole();
}

void at_the_same_time(void **) {
    for (int i = 0; i < 10; i++) {
        Served store;
        store.end();
        store.copy();
        std::unique_ptr<Master> copied;
        std::thread starting([&] { copied = store.copied("600"); });
        store.start();
        starting.join();
        bool first = store.master->said().find(" serves space ") != std::string::npos;
        bool second = copied->said().find(" serves space ") != std::string::npos;
        assert_int_equal(first + second, 1);
        assert_int_equal((first ? *copied : *store.master).wait(), 5);
    }
}

// Between its disk and the space, at its start and at its end.
void killed_when_it_takes_the_space(void **) {
    Served store;
    store.copy();
    store.put_second();
    store.end();
    for (int i = 0; i < 3; i++) {
        store.start("master_term:1");
        assert_int_equal(store.master->wait(), 128 + SIGKILL);
        refused(*store.copied(), "from another folder since");
    }
    store.start("master_term:2");
    store.whole();
    store.master->signal(SIGTERM);
    assert_int_equal(store.master->wait(), 128 + SIGKILL);
    refused(*store.copied(), "from another folder since");
    store.start();
    store.whole();
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(while_the_master_serves),
        cmocka_unit_test(while_the_master_is_stopped),
        cmocka_unit_test(that_was_made_while_a_master_ran),
        cmocka_unit_test(that_was_made_after_the_end),
        cmocka_unit_test(of_a_master_that_was_killed),
        cmocka_unit_test(at_the_same_time),
        cmocka_unit_test(killed_when_it_takes_the_space),
    };
    int failed = cmocka_run_group_tests(tests, nullptr, nullptr);
    Master::kill_all();
    return failed;
}
