// SPDX-License-Identifier: Apache-2.0
// What clients and dsmasterd make of each other when a reply is lost.
#include "master_world.hpp"

namespace {

using namespace master_test;

/// A byte from one process to another, when it is time.
class Signal {
public:
    Signal() {
        if (pipe(ends_))
            std::abort();
    }
    Signal(const Signal &) = delete;
    Signal &operator=(const Signal &) = delete;
    ~Signal() {
        close(ends_[0]);
        close(ends_[1]);
    }
    void give() const {
        if (write(ends_[1], "", 1) != 1)
            std::abort();
    }
    void wait() const {
        char byte;
        if (read(ends_[0], &byte, 1) != 1)
            std::abort();
    }

private:
    int ends_[2];
};

// The reply to its first or second request is lost. While it cannot repeat that,
// another client puts the key for itself, and may believe that it has it.
void delete_and_lose_a_reply(uint64_t lost, bool by_version) {
    World world;
    Signal ready, go;
    auto other = world.client();
    assert_int_equal(other->put("lock", "theirs", 1, DS_STORE_MUST_NOT_EXIST), 0);
    local::Child deleter([&] {
        auto c = world.client();
        ready.give();
        go.wait();
        return -c->del("lock", by_version ? other->version : 0);
    });
    ready.wait();
    world.kill();
    world.start("master_before_replies", lost);
    go.give();
    world.wait_for_death();
    deleter.stop();
    world.start();
    int rc = other->put("lock", "mine", 1, DS_STORE_MUST_NOT_EXIST);
    assert_true(rc == 0 || rc == -EEXIST);
    deleter.signal(SIGCONT);
    assert_int_equal(deleter.wait(), 0);
    assert_int_equal(other->stat("lock"), rc == 0 ? 0 : -ENOENT);
}

void a_delete_takes_no_later_object(void **) {
    for (uint64_t lost : {1, 2})
        for (bool by_version : {false, true})
            delete_and_lose_a_reply(lost, by_version);
}

enum Put { put, not_put, unknown };

// What a client says that puts, and that @p go wakes before its commit.
Put put_slowly(const World &world, const Signal &ready, const Signal &go) {
    struct {
        const Signal &ready, &go;
    } signals{ready, go};
    auto c = world.client();
    iovec part{const_cast<char *>("data"), 4};
    ds_store_put_options options{};
    options.size = sizeof(options);
    options.arg = &signals;
    options.progress = [](void *arg, uint64_t) {
        auto *s = static_cast<decltype(signals) *>(arg);
        s->ready.give();
        s->go.wait();
        return 0;
    };
    int rc = ds_store_put(c->store, "key", 3, &part, 1, &options, &c->version);
    if (rc != 0 && rc != -ESHUTDOWN)
        std::abort();
    return rc == 0 ? put : c->version == 0 ? not_put : unknown;
}

// A client that has written an object, and waits for @p go before it commits it.
struct Halfway {
    Halfway() { ready.wait(); }

    // The commit is carried out, and the master ends before it says so.
    void lose_the_reply() {
        world.kill();
        world.start("master_before_replies");
        go.give();
        world.wait_for_death();
    }

    World world;
    Signal ready, go;
    std::unique_ptr<Client> reader = world.client();
    Other other{world};
    local::Child client{[&] { return put_slowly(world, ready, go); }};
    static constexpr uint16_t member = 4;  // behind the first master, the reader and the other
};

// The commit is carried out, its reply is lost, and before the client can ask again it
// is fenced. Then it cannot say that nothing was put.
void a_put_that_nobody_knows_of(void **) {
    Halfway h;
    h.lose_the_reply();
    assert_int_equal(h.other.fence(h.member), 0);
    h.world.start();
    assert_int_equal(h.client.wait(), unknown);
    assert_int_equal(h.reader->stat("key"), 0);
}

// The commit is carried out, its reply is lost, and the next master is fenced before the
// client asks again. That is not the client's end.
void a_master_that_is_fenced_tells_nobody_so(void **) {
    Halfway h;
    h.lose_the_reply();
    h.client.stop();
    h.world.at[0].stuck = true;
    h.world.start();
    assert_int_equal(h.reader->stat("key"), 0);
    assert_int_equal(h.other.fence(1, 3), 0);  // the third one with this number
    h.client.signal(SIGCONT);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    h.world.at[0].stuck = false;
    assert_int_equal(h.client.wait(), put);
}

// The next master cannot tell whether the client is there, as the client table is away.
void a_commit_waits_for_server_0(void **) {
    Halfway h;
    h.lose_the_reply();
    h.client.stop();
    h.world.start();
    assert_int_equal(h.reader->stat("key"), 0);
    h.world.at[0].dead = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));  // that is seen
    auto before = std::chrono::steady_clock::now();
    h.client.signal(SIGCONT);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    h.world.at[0].dead = false;
    assert_int_equal(h.client.wait(), put);
    // It was told to ask again, and did not wait for a reply.
    assert_true(std::chrono::steady_clock::now() - before < std::chrono::seconds(4));
}

// One that is fenced before its commit: its space is taken back, and nothing is put.
void a_put_that_was_not_carried_out(void **) {
    Halfway h;
    assert_int_equal(h.other.fence(h.member), 0);
    eventually([&] { return h.reader->totals().reserved == 0; });
    h.go.give();
    assert_int_equal(h.client.wait(), not_put);
    assert_int_equal(h.reader->stat("key"), -ENOENT);
}

// The master reserves space, and then nobody waits for it any more.
void puts_that_got_no_answer(void **) {
    World world;
    auto c = world.client();
    world.kill();
    world.start("master_before_replies", 2, SIGSTOP);
    assert_int_equal(c->stat("key"), -ENOENT);
    world.stop();  // so they are one batch
    std::vector<std::thread> putting;
    for (int i = 0; i < 3; i++)
        putting.emplace_back([&] {
            ds_store_put_options options{};
            options.size = sizeof(options);
            options.timeout_ms = 3000;
            assert_int_equal(ds_store_put(c->store, "late", 4, nullptr, 0, &options, nullptr),
                             -ETIMEDOUT);
        });
    std::this_thread::sleep_for(std::chrono::seconds(1));
    world.resume();
    for (std::thread &thread : putting)
        thread.join();
    world.wait_for_stop();
    world.resume();
    assert_int_equal(c->stat("late"), -ENOENT);
    assert_int_equal(c->totals().reservations, 3);
    assert_int_equal(c->put("key", "y"), 0);
    assert_int_equal(c->totals().reserved, 0);
}

// A begin that waits unread when its client gives it back must not be carried out then.
void a_begin_is_not_overtaken(void **) {
    World world;
    auto c = world.client();
    assert_int_equal(c->put("key", "x"), 0);
    world.stop();
    // Somebody's new connection is the first to be looked at.
    ds_reply reply{};
    auto other = std::unique_ptr<ds_fabric, decltype(&ds_fabric_close)>(
        mortal::open(world.path(), world.at), ds_fabric_close);
    assert_int_equal(ds_message_call(other.get(), 1, DS_STORE_PORT, "x", 1, 100, &reply),
                     -ETIMEDOUT);
    assert_int_equal(c->put("late", noise(MiB), 1, 0, 200), -ETIMEDOUT);
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        world.resume();
    });
    assert_int_equal(c->put("key", "y"), 0);
    later.join();
    assert_int_equal(c->stat("key"), 0);
    assert_int_equal(c->totals().reserved, 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_delete_takes_no_later_object),
        cmocka_unit_test(a_put_that_nobody_knows_of),
        cmocka_unit_test(a_master_that_is_fenced_tells_nobody_so),
        cmocka_unit_test(a_commit_waits_for_server_0),
        cmocka_unit_test(a_put_that_was_not_carried_out),
        cmocka_unit_test(puts_that_got_no_answer),
        cmocka_unit_test(a_begin_is_not_overtaken),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
