// SPDX-License-Identifier: Apache-2.0
// What dsmasterd makes of requests that come together, and of what it cannot write now.
#include "master_world.hpp"
#include "unread.hpp"

namespace {

using namespace master_test;
using std::chrono::milliseconds;

/// Requests that the master finds together, in this order.
class Together {
public:
    explicit Together(World &world, Client &c) : world_(world), c_(c) { world_.stop(); }
    Together(const Together &) = delete;
    Together &operator=(const Together &) = delete;
    ~Together() { answers(); }

    void send(std::vector<std::byte> request) {
        uint64_t before = unread().bytes;
        std::unique_lock guard(lock_);
        size_t n = statuses_.size();
        statuses_.push_back(1);
        guard.unlock();
        threads_.emplace_back([this, n, request = std::move(request)] {
            int status = call(c_, request);
            std::lock_guard guard(lock_);
            statuses_[n] = status;
        });
        eventually([&] { return unread().bytes > before; });
    }
    std::vector<int> answers() {
        world_.resume();
        for (std::thread &thread : std::exchange(threads_, {}))
            thread.join();
        return statuses_;
    }

private:
    World &world_;
    Client &c_;
    std::mutex lock_;
    std::vector<int> statuses_;
    std::vector<std::thread> threads_;
};

wire::Named named(wire::Op op, const std::string &key, uint64_t request) {
    wire::Named named{};
    named.head = head(op, sizeof(named) + key.size(), 2, request);  // behind the master
    named.key_length = static_cast<uint16_t>(key.size());
    return named;
}

// Its client does not wait any more for a begin that finds no space before a delete has
// given some back.
void a_begin_is_given_back_while_it_waits(void **) {
    World world;
    auto c = world.client();
    int filled = 0;
    while (c->put("key" + std::to_string(filled), noise(MiB)) == 0)
        filled++;
    assert_in_range(filled, 30, 48);
    ds_store_totals before = c->settled();
    wire::Begin begin{};
    begin.head = head(wire::begin, sizeof(begin) + 4, 2, 1000);
    begin.length = MiB;
    begin.key_length = 4;
    begin.memory_replicas = 1;

    Together batch(world, *c);
    batch.send(bytes_of(named(wire::remove, "key0", 999), "key0"));
    batch.send(bytes_of(begin, "late"));
    batch.send(bytes_of(named(wire::abort, "late", 1000), "late"));
    assert_true((batch.answers() == std::vector<int>{0, -ENOSPC, 0}));
    assert_int_equal(c->settled().reserved, 0);
    assert_true(c->totals().free > before.free);

    // One that is not given back gets it.
    Together again(world, *c);
    again.send(bytes_of(named(wire::remove, "key1", 1001), "key1"));
    begin.head.request = 1002;
    begin.length = 2 * MiB;
    again.send(bytes_of(begin, "late"));
    assert_true((again.answers() == std::vector<int>{0, 0}));
}

// Seals are cleared, and that cannot be written: it is tried again, but not all the time.
void a_full_disk_keeps_nobody_busy(void **) {
    World world;
    auto c = world.client();
    std::string data;
    world.kill();
    world.start("master_seals_cleared", 1, SIGSTOP);
    assert_int_equal(c->put("key", "one"), 0);
    assert_int_equal(c->put("key", "two"), 0);
    world.wait_for_stop();
    world.fill_disk(true);
    world.resume();
    assert_int_equal(c->get("key", data), 0);
    assert_string_equal(data.c_str(), "two");
    uint64_t before = world.busy_ns();
    std::this_thread::sleep_for(milliseconds(2000));
    assert_in_range(world.busy_ns() - before, 0, 500'000'000);
    world.fill_disk(false);
    eventually([&] { return c->totals().retired == 0; });
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_begin_is_given_back_while_it_waits),
        cmocka_unit_test(a_full_disk_keeps_nobody_busy),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
