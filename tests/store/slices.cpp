// SPDX-License-Identifier: Apache-2.0
// What happens to shards between their slices: chains that fail, or never end,
// memory that changes, seals that must come last. The test stands between the store and
// the fabric (--wrap): it sees all that is submitted, and may do something else instead.
#include <ds/ds.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "master.hpp"

extern "C" {
int __real_ds_submit(ds_fabric *, const ds_operation *, size_t, uint32_t, ds_result *, ds_done_fn,
                     void *);
int __real_ds_buffer_alloc(ds_fabric *, size_t, int, ds_buffer **);
void __real_ds_buffer_free(ds_buffer *);
}

namespace {

using namespace store_test;

constexpr uint64_t slice = 256 << 10;
const std::vector<std::string> create{"--create"};

/// Chains as they were given to ds_submit().
struct Submitted {
    ds_fabric *fabric;
    std::vector<ds_operation> ops;
    ds_result *results;
    ds_done_fn done;
    void *arg;

    bool is_write() const { return ops[0].opcode == DS_OP_WRITE; }
    int run() const {
        return __real_ds_submit(fabric, ops.data(), ops.size(), 0, results, done, arg);
    }
    void end(int status, ds_outcome outcome) const {
        for (size_t i = 0; i < ops.size(); i++) {
            results[i] = {};
            results[i].status = status;
            results[i].outcome = outcome;
        }
        done(arg, status);
    }
};

/// What the test does with each: true if it has taken it. Of this thread.
thread_local std::function<bool(const Submitted &)> meddle;

/// Those that ds_buffer_alloc() has made.
class Buffers {
public:
    void add(ds_buffer *buffer) {
        std::lock_guard guard(lock_);
        there_.insert(buffer);
    }
    void remove(ds_buffer *buffer) {
        std::lock_guard guard(lock_);
        there_.erase(buffer);
    }
    operator size_t() {
        std::lock_guard guard(lock_);
        return there_.size();
    }

private:
    std::mutex lock_;
    std::set<ds_buffer *> there_;
};
Buffers buffers;

class Meddle {
public:
    explicit Meddle(std::function<bool(const Submitted &)> with) { meddle = std::move(with); }
    Meddle(const Meddle &) = delete;
    Meddle &operator=(const Meddle &) = delete;
    ~Meddle() { meddle = nullptr; }
};

int put(Client &c, const std::string &data, uint32_t replicas, uint32_t timeout_ms = 0) {
    return c.put("key", data, replicas, 0, timeout_ms);
}

// ---- puts ----

// Whichever slice it is: the put fails, its space and its memory come back.
void a_slice_that_fails(void **) {
    Pool pool(2);
    Master master(pool, create);
    Client c(pool);
    std::string data = noise(5 * MiB + 5), back;
    assert_int_equal(put(c, data, 2), 0);
    ds_store_totals before = c.settled();
    size_t most = buffers;
    // 5 shards of 4 slices and one of one slice, two replicas of each.
    for (int fails : {0, 1, 5, 7, 8, 13, 30, 41}) {
        int n = 0;
        {
            Meddle with([&](const Submitted &s) {
                if (n++ != fails)
                    return false;
                s.end(-EACCES, DS_NOT_EXECUTED);
                return true;
            });
            assert_int_equal(put(c, noise(data.size(), 2), 2), -EACCES);
        }
        assert_true(n > fails);
        assert_int_equal(c.version, 0);
        ds_store_totals after = c.totals();
        assert_int_equal(after.reserved, 0);
        assert_int_equal(after.free, before.free);
        assert_int_equal(c.get("key", back), 0);
        assert_true(back == data);
    }
    assert_true(buffers <= most);
}

// Its space stays reserved, and its memory is nobody else's.
void a_slice_of_which_nobody_knows(void **) {
    Pool pool(1);
    Master master(pool, create);
    Client c(pool);
    ds_buffer *spoiled = nullptr;
    {
        Meddle with([&](const Submitted &s) {
            if (s.ops[0].buffer_offset != slice)
                return false;
            spoiled = s.ops[0].buffer;
            s.end(-EIO, DS_UNKNOWN);
            return true;
        });
        assert_int_equal(put(c, noise(MiB), 1), -EIO);
    }
    assert_true(c.totals().reserved > 0);
    size_t before = buffers;
    Meddle with([&](const Submitted &s) {
        assert_true(before < buffers || s.ops[0].buffer != spoiled);
        return false;
    });
    assert_int_equal(put(c, noise(MiB), 1), 0);
}

// One that does not end in time ends later: then its memory is free, not before.
void a_slice_that_is_late(void **) {
    Pool pool(1);
    Master master(pool, create);
    Client c(pool);
    std::deque<Submitted> held;
    std::string data = noise(2 * MiB), back;
    {
        Meddle with([&](const Submitted &s) {
            if (s.ops[0].buffer_offset != slice)
                return false;
            held.push_back(s);
            return true;
        });
        assert_int_equal(put(c, data, 1, 3000), -ETIMEDOUT);
    }
    assert_int_equal(held.size(), 2);
    assert_true(c.totals().reserved > 0);
    auto uses_held = [&](const Submitted &s) {
        return std::ranges::any_of(
            held, [&](const Submitted &h) { return h.ops[0].buffer == s.ops[0].buffer; });
    };
    {
        Meddle with([&](const Submitted &s) {
            assert_false(uses_held(s));
            return false;
        });
        assert_int_equal(put(c, data, 1), 0);
    }
    size_t before = buffers;
    for (const Submitted &h : held)
        assert_int_equal(h.run(), 0);
    assert_int_equal(c.get("key", back), 0);
    assert_true(back == data);
    bool used = false;
    Meddle with([&](const Submitted &s) {
        used |= uses_held(s);
        return false;
    });
    assert_int_equal(put(c, noise(9 * MiB), 1), 0);
    assert_true(used);
    assert_true(buffers <= before + 1);
}

// The seal is in a chain with the last of the data, and on the lane of all of them.
void a_put_writes_the_seal_last(void **) {
    Pool pool(1);
    Master master(pool, create);
    Client c(pool);
    for (uint64_t length : {uint64_t{0}, uint64_t{5}, slice, slice + 1, MiB, MiB + 1}) {
        std::map<uint64_t, uint64_t> end;  // of what was written of a shard, by its buffer
        std::map<uint64_t, uint16_t> lane;
        std::string data = noise(length);
        Meddle with([&](const Submitted &s) {
            uint64_t shard = reinterpret_cast<uintptr_t>(s.ops[0].buffer);
            lane.try_emplace(shard, s.ops[0].lane);
            assert_int_not_equal(s.ops[0].lane, 0);
            for (size_t i = 0; i < s.ops.size(); i++) {
                assert_int_equal(s.ops[i].lane, lane[shard]);
                assert_int_equal(s.ops[i].buffer_offset, end[shard]);
                assert_int_equal(bool(s.ops[i].flags & DS_OP_CHAIN), i + 1 < s.ops.size());
                end[shard] += s.ops[i].length;
            }
            return false;
        });
        assert_int_equal(put(c, data, 1), 0);
        uint64_t sum = 0;
        for (auto &[shard, bytes] : end)
            sum += bytes;
        uint64_t shards = std::max<uint64_t>(1, (length + MiB - 1) / MiB);
        assert_int_equal(sum, (length + 63) / 64 * 64 + 64 * shards);
    }
}

// ---- gets ----

// The seal of a shard of several slices is asked for when all of them are there.
void a_get_reads_the_seal_last(void **) {
    Pool pool(1);
    Master master(pool, create);
    Client c(pool);
    std::string data = noise(MiB), back;
    assert_int_equal(put(c, data, 1), 0);
    std::vector<std::thread> late;
    std::atomic<int> ended{0};
    int seals = 0;
    struct Counted {
        Submitted s;
        std::atomic<int> *ended;
    };
    Meddle with([&](const Submitted &s) {
        assert_false(s.is_write());
        if (s.ops[0].buffer_offset >= MiB) {
            seals++;
            assert_int_equal(ended, 4);
            return false;
        }
        // The first slices come last.
        auto wait = std::chrono::milliseconds(200 - s.ops[0].buffer_offset * 150 / MiB);
        late.emplace_back([s, wait, &ended] {
            std::this_thread::sleep_for(wait);
            auto *counted = new Counted{s, &ended};
            assert_int_equal(__real_ds_submit(
                                 s.fabric, s.ops.data(), s.ops.size(), 0, s.results,
                                 [](void *arg, int status) {
                                     std::unique_ptr<Counted> of(static_cast<Counted *>(arg));
                                     (*of->ended)++;
                                     of->s.done(of->s.arg, status);
                                 },
                                 counted),
                             0);
        });
        return true;
    });
    assert_int_equal(c.get("key", back), 0);
    for (std::thread &thread : late)
        thread.join();
    assert_int_equal(seals, 1);
    assert_true(back == data);
}

// A byte of any slice that changes after the first one was read.
void memory_that_changes_between_slices(void **) {
    Pool pool(2);
    Master master(pool, create);
    Client c(pool);
    std::string data = noise(3 * MiB), back;
    assert_int_equal(put(c, data, 1), 0);
    for (uint64_t which = 1; which < 12; which++) {
        uint64_t n = 0, word = 0;
        auto flip = [&] {
            ds_result old;
            assert_int_equal(ds_fetch_add(c.space, word, 0, 0, &old), 0);
            assert_int_equal(ds_cas(c.space, word, old.value, ~old.value, 0, nullptr), 0);
        };
        {
            Meddle with([&](const Submitted &s) {
                if (s.ops[0].length != slice || n++ != which)
                    return false;
                word = s.ops[0].addr + slice - 8;
                flip();
                return false;
            });
            assert_int_equal(c.get("key", back), -EBADMSG);
        }
        assert_true(word != 0);
        flip();
        assert_int_equal(c.get("key", back), 0);
        assert_true(back == data);
    }
}

// A replica that does not answer: another one is asked, and what the first one says in the
// end comes into memory that nobody else has.
void a_replica_that_is_late(void **) {
    Pool pool(2);
    Master master(pool, create);
    Client c(pool);
    std::string data = noise(MiB), back;
    assert_int_equal(put(c, data, 2), 0);
    std::deque<Submitted> held;
    {
        Meddle with([&](const Submitted &s) {
            if (held.size() >= 3)
                return false;
            held.push_back(s);
            return true;
        });
        assert_int_equal(c.get("key", back), 0);
        assert_true(back == data);
        assert_int_equal(c.object.damaged, 0);
    }
    for (const Submitted &h : held)
        std::memset(static_cast<char *>(ds_buffer_data(h.ops[0].buffer)) + h.ops[0].buffer_offset,
                    0x55, h.ops[0].length);
    Meddle with([&](const Submitted &s) {
        assert_true(s.ops[0].buffer != held[0].ops[0].buffer);
        return false;
    });
    assert_int_equal(c.get("key", back), 0);
    assert_true(back == data);
    for (const Submitted &h : held)
        h.end(0, DS_EXECUTED);
}

// Gets that fail for ever do not use up memory.
void failures_leave_no_buffers(void **) {
    Pool pool(1);
    Master master(pool, create);
    Client c(pool);
    std::string data = noise(9 * MiB), back;
    assert_int_equal(put(c, data, 1), 0);
    for (int i = 0; i < 60; i++) {
        int n = 0;
        Meddle with([&](const Submitted &s) {
            if (n++ % 20 != i % 20)
                return false;
            s.end(-EACCES, DS_NOT_EXECUTED);
            return true;
        });
        assert_int_equal(c.get("key", back), -EACCES);
        assert_true(buffers <= 16);  // what the last ones have left is used by the next
    }
}

// ---- many at the same time ----

void threads_share_a_fabric(void **) {
    Pool pool(2, 26);
    Master master(pool, create);
    Client c(pool);
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; t++)
        threads.emplace_back([&c, t] {
            std::string key = "key" + std::to_string(t), data = noise(3 * MiB + 100, t), back;
            back.resize(data.size());
            for (int i = 0; i < 5; i++) {
                iovec part{data.data(), data.size()}, there{back.data(), back.size()};
                ds_store_put_options options{};
                options.size = sizeof(options);
                options.replicas = 2;
                if (ds_store_put(c.store, key.data(), key.size(), &part, 1, &options, nullptr) ||
                    ds_store_get(c.store, key.data(), key.size(), &there, 1, nullptr, nullptr) ||
                    back != data)
                    std::abort();
                data[static_cast<size_t>(i) * 700000]++;
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    ds_store_totals t = c.settled();
    assert_int_equal(t.objects, 6);
}

// Fewer operations may be under way than a put has.
void a_small_fabric(void **) {
    Pool pool(2, 26);
    Master master(pool, create);
    std::string device = DS_LOCAL_PREFIX + pool.folder.file(), data = noise(9 * MiB), back = data;
    ds_fabric_options options{};
    options.size = sizeof(options);
    options.max_outstanding = 3;
    options.device = device.c_str();
    ds_fabric *fabric;
    ds_store *store;
    assert_int_equal(ds_fabric_open(&options, &fabric), 0);
    assert_int_equal(ds_store_open(fabric, nullptr, &store), 0);
    iovec part{data.data(), data.size()}, there{back.data(), back.size()};
    back.assign(back.size(), '\0');
    ds_store_put_options two{};
    two.size = sizeof(two);
    two.replicas = 2;
    assert_int_equal(ds_store_put(store, "key", 3, &part, 1, &two, nullptr), 0);
    assert_int_equal(ds_store_get(store, "key", 3, &there, 1, nullptr, nullptr), 0);
    assert_true(back == data);
    ds_store_close(store);
    ds_fabric_close(fabric);
}

// A test that has failed may have left its own.
int no_meddling(void **) {
    meddle = nullptr;
    return 0;
}

int no_buffers_are_left(void **) {
    Master::kill_all();
    return buffers == 0 ? 0 : -1;
}

}  // namespace

extern "C" {

int __wrap_ds_submit(ds_fabric *fabric, const ds_operation *ops, size_t count, uint32_t timeout_ms,
                     ds_result *results, ds_done_fn done, void *arg) {
    if (meddle && meddle({fabric, {ops, ops + count}, results, done, arg}))
        return 0;
    return __real_ds_submit(fabric, ops, count, timeout_ms, results, done, arg);
}

int __wrap_ds_buffer_alloc(ds_fabric *fabric, size_t length, int numa_node, ds_buffer **buffer) {
    int rc = __real_ds_buffer_alloc(fabric, length, numa_node, buffer);
    if (rc == 0)
        buffers.add(*buffer);
    return rc;
}

void __wrap_ds_buffer_free(ds_buffer *buffer) {
    buffers.remove(buffer);
    __real_ds_buffer_free(buffer);
}
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_slice_that_fails, no_meddling),
        cmocka_unit_test_setup(a_slice_of_which_nobody_knows, no_meddling),
        cmocka_unit_test_setup(a_slice_that_is_late, no_meddling),
        cmocka_unit_test_setup(a_put_writes_the_seal_last, no_meddling),
        cmocka_unit_test_setup(a_get_reads_the_seal_last, no_meddling),
        cmocka_unit_test_setup(memory_that_changes_between_slices, no_meddling),
        cmocka_unit_test_setup(a_replica_that_is_late, no_meddling),
        cmocka_unit_test_setup(failures_leave_no_buffers, no_meddling),
        cmocka_unit_test_setup(threads_share_a_fabric, no_meddling),
        cmocka_unit_test_setup(a_small_fabric, no_meddling),
    };
    return cmocka_run_group_tests(tests, nullptr, no_buffers_are_left);
}
