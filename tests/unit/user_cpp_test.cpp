// SPDX-License-Identifier: Apache-2.0
// ds/ds.hpp: objects, results and coroutines, on the fake device.
#include <ds/ds.hpp>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "user_cmocka.hpp"
#include "user_device.hpp"

namespace {

constexpr uint64_t base = fake::Device::base;

int setup(void **) {
    fake::device.reset();
    return 0;
}

struct World {
    ds::Fabric fabric = ds::Fabric::open().or_throw();
    ds::Space space = fabric.open_space(1).or_throw();
    ds::Buffer buffer = fabric.alloc(1 << 20).or_throw();
};

uint64_t &word(uint64_t addr) {
    return *reinterpret_cast<uint64_t *>(fake::device.memory(addr));
}

void results(void **) {
    ds::Result<int> good(7);
    ds::Result<int> bad(ds::Error::from(-EBADF));
    assert_true(good.ok() && !bad);
    assert_int_equal(*good, 7);
    assert_int_equal(bad.error().code, EBADF);
    assert_string_equal(bad.error().sentence.c_str(), ds_strerror(EBADF));
    assert_string_equal(bad.error().remedy.c_str(), ds_remedy(EBADF));
    int thrown = 0;
    try {
        (void)bad.value();
    } catch (const std::logic_error &) {
        thrown++;
    }
    try {
        (void)good.error();
    } catch (const std::logic_error &) {
        thrown++;
    }
    try {
        std::move(bad).or_throw();
    } catch (const ds::Failure &failure) {
        assert_int_equal(failure.error().code, EBADF);
        thrown++;
    }
    assert_int_equal(thrown, 3);
    assert_true(ds::Result<void>().ok());
    assert_false(ds::Result<void>(ds::Error::from(EIO)).ok());

    // One that has a name keeps its value.
    good.or_throw() = 8;
    assert_int_equal(*good, 8);
    const ds::Result<std::string> text(std::string("text"));
    assert_string_equal(text.or_throw().c_str(), "text");
    assert_string_equal(text->c_str(), "text");
    const ds::Result<void> nothing;
    nothing.or_throw();
    ds::Result<std::unique_ptr<int>> moved(std::make_unique<int>(9));
    assert_int_equal(*std::move(moved).or_throw(), 9);
    assert_null(moved->get());
}

void opening_fails_in_words(void **) {
    fake::device.open_errno = ENOENT;
    auto fabric = ds::Fabric::open();
    assert_false(fabric.ok());
    assert_int_equal(fabric.error().code, ENODEV);
    assert_non_null(strstr(fabric.error().remedy.c_str(), "load ds.ko"));
}

void synchronous(void **) {
    World w;
    strcpy(&w.buffer.at<char>(), "bytes");
    assert_true(w.space.write(base + 64, w.buffer.slice(0, 6)).ok());
    assert_true(w.space.read(base + 64, w.buffer.slice(512, 6)).ok());
    assert_string_equal(&w.buffer.at<char>(512), "bytes");
    assert_int_equal(*w.space.fetch_add(base, 4), 0);
    assert_int_equal(*w.space.cas(base, 4, 9), 4);
    assert_int_equal(word(base), 9);
    assert_int_equal(w.space.info().servers, 4);
    assert_int_equal(w.fabric.limits().max_chain, 8);
    assert_int_equal(w.fabric.counters().atomics, 2);

    auto outside = w.space.read(base - 8, w.buffer.slice(0, 8));
    assert_int_equal(outside.error().code, ERANGE);
    assert_false(outside.error().unknown);
}

void the_space_says_how_long(void **) {
    World w;
    w.space.set_timeout(ds::Timeout(5000));
    assert_true(w.space.fetch_add(base, 1).ok());
    assert_true(w.space.fetch_add(base, 1, ds::Timeout(20000)).ok());
    w.space.set_timeout(ds::default_timeout);
    assert_true(w.space.fetch_add(base, 1).ok());
    const auto &submits = fake::device.submits;
    assert_int_equal(submits.size(), 3);
    assert_in_range(submits[0].timeout_ms, 1, 5000);
    assert_in_range(submits[1].timeout_ms, 5001, 20000);
    assert_in_range(submits[2].timeout_ms, 20001, DS_TIMEOUT_DEFAULT);
}

// Of a deadline that has passed, or that is less than 1 ms away, nothing is left: that
// must not become the 30 s of a 0 in C.
void no_time_left_is_not_the_default(void **) {
    World w;
    std::vector<uint32_t> asked;
    fake::device.on_send = [&](ds_ioc_msg_send &m) { return asked.push_back(m.timeout_ms), 0; };
    fake::device.on_receive = [&](ds_ioc_msg_recv &m) {
        return asked.push_back(m.timeout_ms), -EAGAIN;
    };
    std::byte room[8];
    auto left = std::chrono::duration_cast<ds::Timeout>(std::chrono::microseconds(900));
    for (ds::Timeout timeout : {ds::Timeout(-5), ds::Timeout(0), left, ds::Timeout(1),
                                ds::Timeout(7), ds::Timeout::max(), ds::default_timeout})
        assert_true(w.fabric.call(2, 0x300, {}, room, timeout).ok());
    assert_true(w.fabric.send(2, 0x300, {}).ok());
    ds::Service service = w.fabric.bind(0x300, 4).or_throw();
    assert_true(service.receive(room, ds::Timeout(-5)).ok());  // there it is not to wait
    assert_true(asked == (std::vector<uint32_t>{1, 1, 1, 1, 7, UINT32_MAX, DS_TIMEOUT_DEFAULT,
                                                DS_TIMEOUT_DEFAULT, 0}));
    assert_false(*w.fabric.poll(ds::Timeout(-5)));

    w.space.set_timeout(ds::Timeout(-5));
    assert_true(w.space.fetch_add(base, 1).ok());
    assert_true(w.space.fetch_add(base, 1, ds::Timeout(-5)).ok());
    for (const auto &submit : fake::device.submits)
        assert_int_equal(submit.timeout_ms, 1);
}

void errors_name_node_and_doubt(void **) {
    World w;
    fake::device.on_op = [](const ds_op &) {
        return std::optional(fake::End{-ENOTCONN, DS_UNKNOWN});
    };
    auto old = w.space.fetch_add(base + (2 << 24), 1);
    assert_false(old.ok());
    assert_true(old.error().unknown);
    assert_non_null(strstr(old.error().sentence.c_str(), "on node 3:"));
    assert_non_null(strstr(old.error().sentence.c_str(), "not known whether"));
}

void batches(void **) {
    World w;
    word(base) = 1;
    ds::Batch batch;
    batch.cas(w.space, base, 1, 2).chained();
    batch.read(w.space, base, w.buffer.slice(0, 8)).fenced();
    batch.write(w.space, base + (1 << 24), w.buffer.slice(64, 8)).idempotent();
    batch.fetch_add(w.space, base + 8, 3);
    assert_true(w.fabric.execute(batch).ok());
    assert_int_equal(batch.results().size(), 4);
    assert_int_equal(batch.results()[0].value, 1);
    assert_int_equal(w.buffer.at<uint64_t>(), 2);
    auto &ops = fake::device.submits[0].ops;
    assert_int_equal(ops[0].flags, DS_OP_CHAIN);
    assert_int_equal(ops[1].flags, DS_OP_FENCE);
    assert_int_equal(ops[2].flags, 0);

    fake::device.on_op = [](const ds_op &op) -> std::optional<fake::End> {
        if (op.opcode == DS_OP_WRITE)
            return fake::End{-EACCES, DS_NOT_EXECUTED};
        return std::nullopt;
    };
    auto failed = w.fabric.execute(batch);
    assert_int_equal(failed.error().code, EACCES);
    assert_non_null(strstr(failed.error().sentence.c_str(), "on node 2:"));
    assert_int_equal(batch.results()[3].status, 0);
}

ds::Task<uint64_t> count_to(const ds::Space &space, uint64_t n) {
    uint64_t old = 0;
    for (uint64_t i = 0; i < n; i++)
        old = (co_await space.async_fetch_add(base, 1)).or_throw();
    co_return old + 1;
}

ds::Task<std::string> nested(const ds::Space &space, const ds::Buffer &buffer) {
    uint64_t n = co_await count_to(space, 10);
    strcpy(&buffer.at<char>(), "nested");
    (co_await space.async_write(base + 64, buffer.slice(0, 7))).or_throw();
    (co_await space.async_read(base + 64, buffer.slice(64, 7))).or_throw();
    auto old = co_await space.async_cas(base, n, 0);
    co_return std::string(&buffer.at<char>(64)) + " " + std::to_string(*old);
}

void coroutines(void **) {
    World w;
    std::string text = w.fabric.run(nested(w.space, w.buffer));
    assert_string_equal(text.c_str(), "nested 10");
    assert_int_equal(word(base), 0);
}

ds::Task<> add_many(const ds::Space &space, int n) {
    for (int i = 0; i < n; i++)
        (co_await space.async_fetch_add(base, 1)).or_throw();
}

void many_coroutines_at_once(void **) {
    World w;
    std::vector<ds::Task<>> tasks;
    for (int i = 0; i < 50; i++)
        tasks.push_back(add_many(w.space, 20));
    w.fabric.run_all(std::move(tasks));
    assert_int_equal(word(base), 1000);
}

ds::Task<> batch_task(const World &w, ds::Batch &batch) {
    (co_await w.fabric.async(batch)).or_throw();
}

void batches_in_coroutines(void **) {
    World w;
    ds::Batch batch;
    for (int i = 0; i < 5; i++)
        batch.fetch_add(w.space, base, 1);
    w.fabric.run(batch_task(w, batch));
    assert_int_equal(word(base), 5);
    assert_int_equal(batch.results()[4].value, 4);
}

ds::Task<int> refused(const ds::Space &space, const ds::Buffer &buffer) {
    auto r = co_await space.async_read(base - 1, buffer.slice(0, 1));
    co_return r.error().code;
}

ds::Task<ds::Result<void>> adds_nothing_to(const ds::Space &space) {
    if (auto r = co_await space.async_fetch_add(base - 8, 0); !r)
        co_return r.error();
    co_return {};
}

ds::Task<ds::Result<void>> adds_nothing() {
    co_return {};
}

ds::Task<> throws(const ds::Space &space) {
    co_await add_many(space, 1);
    throw std::runtime_error("from the task");
}

void failures_in_coroutines(void **) {
    World w;
    assert_int_equal(w.fabric.run(refused(w.space, w.buffer)), ERANGE);
    assert_int_equal(w.fabric.run(adds_nothing_to(w.space)).error().code, ERANGE);
    assert_true(w.fabric.run(adds_nothing()).ok());
    bool thrown = false;
    try {
        w.fabric.run(throws(w.space));
    } catch (const std::runtime_error &e) {
        thrown = !strcmp(e.what(), "from the task");
    }
    assert_true(thrown);
    fake::device.on_op = [](const ds_op &) {
        return std::optional(fake::End{-EACCES, DS_NOT_EXECUTED});
    };
    thrown = false;
    try {
        w.fabric.run(count_to(w.space, 3));
    } catch (const ds::Failure &failure) {
        thrown = failure.error().code == EACCES;
    }
    assert_true(thrown);
}

void objects_may_outlive_the_fabric(void **) {
    std::optional<World> w(std::in_place);
    ds::Space space = std::move(w->space);
    ds::Buffer buffer = std::move(w->buffer);
    w.reset();
    buffer.at<char>() = 1;
}

void messages(void **) {
    World w;
    fake::device.on_send = [](ds_ioc_msg_send &m) {
        if (m.flags & DS_SEND_ONE_WAY)
            return -EBUSY;
        memcpy(reinterpret_cast<void *>(m.reply), reinterpret_cast<void *>(m.data), m.length);
        m.out_reply_length = m.length;
        m.out_status = m.length == 1 ? -ESTALE : 0;
        m.out_outcome = DS_EXECUTED;
        return 0;
    };
    std::byte payload[4]{}, room[16];
    payload[3] = std::byte{42};
    auto reply = w.fabric.call(2, 0x300, payload, room);
    assert_int_equal(reply->size(), 4);
    assert_int_equal(room[3], 42);
    assert_int_equal(w.fabric.call(2, 0x300, std::span(payload, 1), room).error().code, ESTALE);
    assert_int_equal(w.fabric.send(2, 0x300, payload).error().code, EBUSY);

    ds::Service service = w.fabric.bind(0x300, 4).or_throw();
    fake::device.on_receive = [](ds_ioc_msg_recv &) { return -ETIMEDOUT; };
    auto none = service.receive(room, ds::Timeout(1));
    assert_true(none.ok() && !none->has_value());
    fake::device.on_receive = [](ds_ioc_msg_recv &m) {
        m.out_length = 2;
        m.out_cookie = 77;
        return 0;
    };
    auto message = service.receive(room, ds::Timeout(1)).or_throw();
    assert_int_equal(message->payload.size(), 2);
    assert_true(service.reply(*message, 0, payload).ok());
    assert_int_equal(fake::device.replies[0].cookie, 77);
}

}  // namespace

int main() {
#define TEST(f) cmocka_unit_test_setup(f, setup)
    const CMUnitTest tests[] = {
        TEST(results),
        TEST(opening_fails_in_words),
        TEST(synchronous),
        TEST(the_space_says_how_long),
        TEST(no_time_left_is_not_the_default),
        TEST(errors_name_node_and_doubt),
        TEST(batches),
        TEST(coroutines),
        TEST(many_coroutines_at_once),
        TEST(batches_in_coroutines),
        TEST(failures_in_coroutines),
        TEST(objects_may_outlive_the_fabric),
        TEST(messages),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
