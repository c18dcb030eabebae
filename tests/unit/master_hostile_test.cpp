// SPDX-License-Identifier: Apache-2.0
// Messages that no client of the store sends, to dsmasterd; and replies to a client that no
// master gives.
#include "master_world.hpp"

#include <cstring>
#include <functional>

namespace {

using namespace master_test;
int begin(Client &c, uint16_t client) {
    wire::Begin begin{};
    begin.head = head(wire::begin, sizeof(begin) + 3, client);
    begin.length = MiB;
    begin.key_length = 3;
    begin.memory_replicas = 1;
    return call(c, bytes_of(begin, "key"));
}

// Space is reserved for numbers that can be found to be gone.
void clients_that_cannot_be(void **) {
    World world;
    auto c = world.client();
    for (uint16_t client : {0, 8000, 0xffff})
        assert_int_equal(begin(*c, client), -EINVAL);
    assert_int_equal(begin(*c, 9), 0);  // a number that nobody has
    eventually([&] { return c->totals().reserved == 0; });
}

// The master's own reservations are nobody else's.
void in_the_masters_name(void **) {
    World world;
    auto c = world.client();
    std::string data = noise(5000);
    world.kill();
    world.start("master_copied", 1, SIGSTOP);
    assert_int_equal(c->put("key", data, 2), 0);
    assert_true(damage(*c, data, 1));
    assert_int_equal(repair(*c, "key"), 0);
    world.wait_for_stop();
    int64_t number = c->version + 1;  // of its copy
    std::thread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        world.resume();
    });
    wire::Named abort{};
    abort.head = head(wire::abort, sizeof(abort) + 3, 1, static_cast<uint64_t>(number));
    abort.head.incarnation = 2;
    abort.key_length = 3;
    assert_int_equal(call(*c, bytes_of(abort, "key")), -EACCES);
    later.join();
    std::vector<ds_store_damage> damages;
    eventually([&] { return c->totals().incomplete == 0; });
    assert_int_equal(c->check("key", damages), 0);
    assert_int_equal(c->settled().reserved, 0);
}

// Who has seen a later master of another store is not told that there is a later one of this.
void of_another_store(void **) {
    World world;
    auto c = world.client();
    wire::Stat stat{};
    stat.head = head(wire::stat, sizeof(stat), 1);
    stat.head.store = 78;
    stat.head.epoch = 1000;
    assert_int_equal(call(*c, bytes_of(stat, "")), -EXDEV);
    stat.head.store = 77;
    assert_int_equal(call(*c, bytes_of(stat, "")), -ECONNABORTED);
}

// What the master does by itself it does also while messages come that want no reply.
void messages_that_want_no_reply(void **) {
    World world;
    auto c = world.client();
    local::Child sender([&] {
        ds_fabric *fabric = mortal::open(world.path(), world.at);
        for (;;) {
            ds_message_send(fabric, 1, DS_STORE_PORT, "x", 1, 0);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        return 0;
    });
    die_with_a_reservation(world);
    std::this_thread::sleep_for(std::chrono::seconds(3));
    assert_int_equal(c->totals().reserved, 0);
}

/// A master that replies what it is told to.
class Impostor {
public:
    using Reply = std::function<std::vector<std::byte>(const wire::Head &, int32_t &status)>;

    Impostor(const World &world, Reply reply)
        : fabric_(mortal::open(world.path(), world.at)), reply_(std::move(reply)) {
        if (ds_service_bind(fabric_, DS_STORE_PORT, 16, &service_))
            std::abort();
        thread_ = std::thread([this] { serve(); });
    }
    Impostor(const Impostor &) = delete;
    Impostor &operator=(const Impostor &) = delete;
    ~Impostor() {
        stop_ = true;
        thread_.join();
        ds_service_close(service_);
        ds_fabric_close(fabric_);
    }

private:
    void serve() {
        std::array<std::byte, wire::most_bytes> request;
        ds_message message;
        while (!stop_) {
            if (ds_service_receive(service_, 10, request.data(), request.size(), &message))
                continue;
            wire::Head head;
            std::memcpy(&head, request.data(), sizeof(head));
            int32_t status = 0;
            std::vector<std::byte> reply = reply_(head, status);
            ds_service_reply(service_, message.cookie, status, reply.data(),
                             static_cast<uint32_t>(reply.size()));
        }
    }

    ds_fabric *fabric_;
    ds_service *service_;
    Reply reply_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

// For a while another store's master is at the port.
void a_master_of_another_store(void **) {
    World world;
    auto c = world.client();
    assert_int_equal(c->put("key", "x"), 0);
    world.kill();
    for (int32_t says : {-EXDEV, 0}) {
        Impostor other(world, [=](const wire::Head &asked, int32_t &status) {
            wire::Head head = asked;
            head.length = sizeof(head);
            head.store = 78;
            head.epoch = 1000;
            status = says;
            return bytes_of(head, "");
        });
        assert_int_equal(c->put("key", "y"), says ? says : -EPROTO);
    }
    world.start();
    assert_int_equal(c->put("key", "z"), 0);
    assert_int_equal(c->stat("key"), 0);
}

// It is there when a put fails, and does not want its space back.
void a_put_that_ends_meanwhile(void **) {
    World world;
    auto c = world.client();
    std::unique_ptr<Impostor> other;
    std::function<void()> meanwhile = [&] {
        world.kill();
        other = std::make_unique<Impostor>(world, [](const wire::Head &asked, int32_t &status) {
            wire::Head head = asked;
            head.length = sizeof(head);
            head.store = 78;
            status = -EXDEV;
            return bytes_of(head, "");
        });
    };
    ds_store_put_options options{};
    options.size = sizeof(options);
    options.arg = &meanwhile;
    options.progress = [](void *arg, uint64_t) {
        (*static_cast<std::function<void()> *>(arg))();
        return 1;
    };
    assert_int_equal(ds_store_put(c->store, "key", 3, nullptr, 0, &options, nullptr), -EINTR);
    other.reset();
    world.start();
    assert_true(c->totals().reserved > 0);
    assert_int_equal(c->put("key", "x"), 0);
    assert_int_equal(c->totals().reserved, 0);
}

// A list whose keys do not grow, or are others than were asked for.
void a_list_that_cannot_be(void **) {
    World world;
    auto c = world.client();
    world.kill();
    for (std::string key : {"a", "key", "kez"}) {
        Impostor master(world, [=](const wire::Head &asked, int32_t &) {
            struct {
                wire::Listed listed;
                wire::Entry entry;
            } list{};
            std::string padded = key;
            padded.resize(8);
            list.listed.head = asked;
            list.listed.head.epoch = 1;
            list.listed.head.length = sizeof(list) + 8;
            list.listed.count = list.listed.more = 1;
            list.entry.key_length = static_cast<uint16_t>(key.size());
            return bytes_of(list, padded);
        });
        int n = 0;
        auto entry = [](void *arg, const void *, size_t, const ds_store_object *) {
            return ++*static_cast<int *>(arg) == 10 ? 1 : 0;
        };
        assert_int_equal(ds_store_list(c->store, "key", 3, "ke", 2, 0, entry, &n), -EPROTO);
        assert_int_equal(n, key == "key");
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(clients_that_cannot_be),    cmocka_unit_test(in_the_masters_name),
        cmocka_unit_test(of_another_store),          cmocka_unit_test(messages_that_want_no_reply),
        cmocka_unit_test(a_master_of_another_store), cmocka_unit_test(a_put_that_ends_meanwhile),
        cmocka_unit_test(a_list_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
