// SPDX-License-Identifier: Apache-2.0
// The store through ds/store.h: wrong calls, lengths, damaged bytes, masters that
// are not there, twice there, killed at each step, or without room on their disk.
#include <ds/store.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "master.hpp"

namespace {

using namespace store_test;

const std::vector<std::string> create{"--create"};

// The addresses at which some bytes are in the space.
std::vector<uint64_t> places(Client &c, const std::string &bytes) {
    struct ds_space_info info {};
    info.size = sizeof(info);
    ds_space_get_info(c.space, &info);
    ds_buffer *buffer;
    assert_int_equal(ds_buffer_alloc(c.fabric, 2 * MiB, -1, &buffer), 0);
    std::vector<uint64_t> found;
    std::string_view memory(static_cast<char *>(ds_buffer_data(buffer)), 2 * MiB);
    for (uint64_t at = info.base; at < info.last; at += MiB) {
        uint64_t n = std::min(2 * MiB, info.last + 1 - at);
        assert_int_equal(ds_read(c.space, at, buffer, 0, n, 0, nullptr), 0);
        std::string_view part = memory.substr(0, n);
        for (size_t i = part.find(bytes); i < MiB; i = part.find(bytes, i + 1))
            found.push_back(at + i);
    }
    ds_buffer_free(buffer);
    return found;
}

void flip(Client &c, uint64_t addr) {
    ds_result old;
    uint64_t word = addr & ~uint64_t{7};
    assert_int_equal(ds_fetch_add(c.space, word, 0, 0, &old), 0);
    assert_int_equal(
        ds_cas(c.space, word, old.value, old.value ^ uint64_t{1} << (8 * (addr & 7)), 0, nullptr),
        0);
}

// ---- wrong calls ----

void open_refuses(void **) {
    Pool pool(1);
    ds_fabric *fabric;
    ds_store *store;
    ds_store_options options{};
    assert_int_equal(local::open(pool.folder.file(), &fabric), 0);
    options.size = 2;
    assert_int_equal(ds_store_open(fabric, &options, &store), -EINVAL);
    options.size = sizeof(options);
    options.reserved = 1;
    assert_int_equal(ds_store_open(fabric, &options, &store), -EINVAL);
    options.reserved = 0;
    options.timeout_ms = 100;
    options.space = 2;
    assert_int_equal(ds_store_open(fabric, &options, &store), -ENOENT);
    options.space = 0;
    assert_int_equal(ds_store_open(fabric, &options, &store), -ECONNREFUSED);
    options.node = 9;
    assert_int_equal(ds_store_open(fabric, &options, &store), -ENOTCONN);
    options.node = 0;
    options.port = 5;
    assert_int_equal(ds_store_open(fabric, &options, &store), -EINVAL);
    options.port = 0;

    Master master(pool, create);
    assert_int_equal(ds_store_open(fabric, &options, &store), 0);
    ds_store *second;
    assert_int_equal(ds_store_open(fabric, &options, &second), -EBUSY);
    ds_store_close(store);
    assert_int_equal(ds_store_open(fabric, &options, &second), 0);
    ds_store_close(second);
    ds_store_close(nullptr);
    ds_fabric_close(fabric);
}

void calls_refuse(void **) {
    Pool pool(2);
    Master master(pool, create);
    Client c(pool);
    std::string data, longest(DS_STORE_MAX_KEY, 'k'), longer(DS_STORE_MAX_KEY + 1, 'k');
    for (const std::string &key : {std::string(), longer}) {
        assert_int_equal(c.put(key, "x"), -EINVAL);
        assert_int_equal(c.get(key, data, 0), -EINVAL);
        assert_int_equal(c.del(key), -EINVAL);
        assert_int_equal(c.stat(key), -EINVAL);
    }
    assert_int_equal(c.put("k", "x", 3), -EINVAL);  // two servers
    assert_int_equal(c.put("k", "x", 4), -EINVAL);
    assert_int_equal(c.put("k", "x", 1, 2), -EOPNOTSUPP);
    ds_store_get_options get{};
    get.size = sizeof(get);
    get.flags = 2;
    assert_int_equal(c.get("k", data, 0, get), -EOPNOTSUPP);
    get.flags = 0;
    get.reserved = 1;
    assert_int_equal(c.get("k", data, 0, get), -EINVAL);
    get.reserved = 0;
    get.min_version = -1;
    assert_int_equal(c.get("k", data, 0, get), -EINVAL);
    assert_int_equal(c.del("k", -1), -EINVAL);
    assert_int_equal(
        ds_store_list(c.store, longer.data(), longer.size(), nullptr, 0, 0, nullptr, nullptr),
        -EINVAL);
    iovec huge[2] = {{&data, SIZE_MAX}, {&data, SIZE_MAX}};
    assert_int_equal(ds_store_put(c.store, "k", 1, huge, 2, nullptr, nullptr), -EFBIG);
    assert_int_equal(ds_store_put(c.store, "k", 1, huge, 1, nullptr, nullptr), -EFBIG);

    assert_int_equal(c.get("k", data, 1), -ENOENT);
    assert_int_equal(c.del("k"), -ENOENT);
    assert_int_equal(c.stat("k"), -ENOENT);
    assert_int_equal(c.totals().free, c.totals().total);

    // Any bytes are a key.
    for (const std::string &key : {longest, std::string("\0", 1), std::string("\xff\xff", 2)}) {
        assert_int_equal(c.put(key, key), 0);
        assert_int_equal(c.get(key, data), 0);
        assert_true(data == key);
    }
}

// ---- put and get ----

void lengths(void **) {
    Pool pool(3);
    Master master(pool, create);
    Client c(pool);
    std::string data;
    for (uint64_t length :
         {uint64_t{0}, uint64_t{1}, uint64_t{63}, uint64_t{64}, uint64_t{65}, uint64_t{4031},
          uint64_t{4032}, uint64_t{4033}, MiB - 1, MiB, MiB + 1, 5 * MiB + 7, 20 * MiB}) {
        for (uint32_t replicas : {1u, 2u, 3u}) {
            if (length * replicas > 45 * MiB)
                continue;
            std::string put = noise(length, length + replicas);
            assert_int_equal(c.put("key", put, replicas), 0);
            assert_int_equal(c.get("key", data), 0);
            assert_true(data == put);
            assert_int_equal(c.object.length, length);
            assert_int_equal(c.object.copied, length);
            assert_int_equal(c.object.replicas, replicas);
            assert_int_equal(c.object.version, c.version);
            assert_int_equal(c.del("key"), 0);
            ds_store_totals t = c.settled();
            assert_int_equal(t.used, 0);
            assert_int_equal(t.free, t.total);
        }
    }
}

void parts_of_objects(void **) {
    Pool pool(2);
    Master master(pool, create);
    Client c(pool);
    std::string put = noise(3 * MiB + 5), data;
    uint64_t done;
    ds_store_get_options get{};
    get.size = sizeof(get);
    get.arg = &done;
    get.progress = [](void *arg, uint64_t so_far) {
        *static_cast<uint64_t *>(arg) = so_far;
        return 0;
    };
    assert_int_equal(c.put("key", put), 0);
    for (uint64_t offset : {uint64_t{0}, uint64_t{1}, MiB - 1, MiB, 2 * MiB + 3, 3 * MiB + 4,
                            3 * MiB + 5, 3 * MiB + 6, uint64_t{1} << 40, UINT64_MAX})
        for (uint64_t room : {uint64_t{0}, uint64_t{1}, uint64_t{100}, MiB, 4 * MiB}) {
            get.offset = offset;
            assert_int_equal(c.get("key", data, room, get), 0);
            uint64_t left = offset < put.size() ? put.size() - offset : 0;
            uint64_t n = std::min(room, left);
            assert_int_equal(c.object.copied, n);
            assert_int_equal(done, n);
            assert_true(n == 0 || put.compare(offset, n, data, 0, n) == 0);
            // What is left of the room is as it was.
            assert_true(data.find_first_not_of('\x55', n) == data.npos);
        }
}

void versions(void **) {
    Pool pool(1);
    Master master(pool, create);
    Client c(pool);
    std::string data;
    ds_store_get_options get{};
    get.size = sizeof(get);
    assert_int_equal(c.put("key", "one", 1, DS_STORE_MUST_NOT_EXIST), 0);
    int64_t one = c.version;
    assert_int_equal(c.put("key", "two", 1, DS_STORE_MUST_NOT_EXIST), -EEXIST);
    assert_int_equal(c.version, 0);
    assert_int_equal(c.put("key", "two"), 0);
    int64_t two = c.version;
    assert_true(two > one && one > 0);
    get.min_version = two;
    assert_int_equal(c.get("key", data, 3, get), 0);
    assert_string_equal(data.c_str(), "two");
    get.min_version = two + 1;
    assert_int_equal(c.get("key", data, 3, get), -EAGAIN);
    assert_int_equal(c.object.version, two);
    get.min_version = 0;
    get.version = one;
    assert_int_equal(c.get("key", data, 3, get), -ESTALE);
    assert_int_equal(c.del("key", one), -ESTALE);
    assert_int_equal(c.del("key", two), 0);
    assert_int_equal(c.put("key", "six", 1, DS_STORE_MUST_NOT_EXIST), 0);
    assert_true(c.version > two);
}

// Another client changes the object behind the back of one that remembers where it was.
void what_is_remembered_may_be_gone(void **) {
    Pool pool(1);
    Master master(pool, create);
    Client c(pool), other(pool);
    std::string data;
    ds_store_get_options cached{};
    cached.size = sizeof(cached);
    cached.flags = DS_STORE_CACHED;
    assert_int_equal(c.put("key", std::string(5000, 'a')), 0);
    assert_int_equal(c.get("key", data, 5000, cached), 0);
    uint64_t before = 0;
    ds_counters counters{};
    counters.size = sizeof(counters);
    ds_fabric_counters(c.fabric, &counters);
    before = counters.messages_sent;
    assert_int_equal(c.get("key", data, 5000, cached), 0);
    ds_fabric_counters(c.fabric, &counters);
    assert_int_equal(counters.messages_sent, before);  // the master was not asked

    assert_int_equal(other.put("key", std::string(6000, 'b')), 0);
    other.settled();
    // Into the space of the first version.
    for (int i = 0; i < 4; i++)
        assert_int_equal(other.put("more" + std::to_string(i), std::string(5000, 'c')), 0);
    assert_int_equal(c.get("key", data, 6000, cached), 0);
    assert_true(data == std::string(6000, 'b'));
    assert_int_equal(c.object.damaged, 0);
    assert_int_equal(other.del("key"), 0);
    other.settled();
    assert_int_equal(c.get("key", data, 6000, cached), -ENOENT);
}

// While one puts, another one does so too, and deletes.
struct Meanwhile {
    Client &other;
    bool put, del;
};

int put_meanwhile(Client &c, Meanwhile meanwhile, uint32_t flags) {
    iovec part{const_cast<char *>("slow"), 4};
    ds_store_put_options options{};
    options.size = sizeof(options);
    options.flags = flags;
    options.progress = [](void *arg, uint64_t) {
        auto *m = static_cast<Meanwhile *>(arg);
        if (m->put)
            assert_int_equal(m->other.put("key", "fast"), 0);
        if (m->del)
            assert_int_equal(m->other.del("key"), 0);
        return 0;
    };
    options.arg = &meanwhile;
    return ds_store_put(c.store, "key", 3, &part, 1, &options, &c.version);
}

// Versions of a key never go back: a put that is overtaken happened before.
void a_put_may_be_overtaken(void **) {
    Pool pool(1);
    Master master(pool, create);
    Client c(pool), other(pool);
    std::string data;
    assert_int_equal(put_meanwhile(c, {other, true, false}, 0), 0);
    assert_true(other.version > c.version);
    assert_int_equal(c.get("key", data), 0);
    assert_string_equal(data.c_str(), "fast");
    assert_int_equal(c.object.version, other.version);

    assert_int_equal(put_meanwhile(c, {other, true, true}, 0), 0);
    assert_int_equal(c.stat("key"), -ENOENT);
    // One that wants to be the only one says so if there was another, though it is gone.
    assert_int_equal(put_meanwhile(c, {other, true, true}, DS_STORE_MUST_NOT_EXIST), -EEXIST);
    assert_int_equal(c.version, 0);
    assert_int_equal(c.stat("key"), -ENOENT);
    assert_int_equal(put_meanwhile(c, {other, true, false}, DS_STORE_MUST_NOT_EXIST), -EEXIST);
    assert_int_equal(c.version, 0);
    assert_int_equal(c.get("key", data), 0);
    assert_string_equal(data.c_str(), "fast");
    ds_store_totals t = c.settled();
    assert_int_equal(t.used, 4096);
    assert_int_equal(t.used + t.free, t.total);
}

void too_large(void **) {
    Pool pool(2);
    Master master(pool, create);
    Client c(pool);
    assert_int_equal(c.put("a", std::string(10 * MiB, 'a'), 2), 0);
    ds_store_totals before = c.settled();
    assert_int_equal(c.put("b", std::string(10 * MiB, 'b'), 2), -ENOSPC);
    assert_int_equal(c.put("a", std::string(10 * MiB, 'b'), 2), -ENOSPC);  // the old one stays
    ds_store_totals after = c.settled();
    assert_int_equal(after.used, before.used);
    assert_int_equal(after.free, before.free);
    assert_int_equal(c.del("a"), 0);
    // Its space is there for the next one at once.
    assert_int_equal(c.put("b", std::string(10 * MiB, 'b'), 2), 0);
}

void from_cpp(void **) {
    Pool pool(2);
    Master master(pool, create);
    std::string device = DS_LOCAL_PREFIX + pool.folder.file(), text = noise(3 * MiB);
    ds_fabric_options options{};
    options.size = sizeof(options);
    options.device = device.c_str();
    auto fabric = ds::Fabric::open(&options);
    auto store = ds::Store::open(*fabric);
    assert_true(bool(store));
    assert_int_equal(store->get("key").error().code, ENOENT);
    auto version = store->put("key", std::as_bytes(std::span(text)), {.replicas = 2});
    assert_int_equal(store->stat("key")->version, *version);
    assert_int_equal(
        store->put("key", std::span<const std::byte>(), {.must_not_exist = true}).error().code,
        EEXIST);
    auto bytes = store->get("key");
    assert_true(bytes->size() == text.size() &&
                memcmp(bytes->data(), text.data(), text.size()) == 0);
    assert_int_equal(store->get("key", {.offset = 3 * MiB - 7})->size(), 7);
    assert_int_equal(store->get("key", {.min_version = *version + 1}).error().code, EAGAIN);
    int seen = 0;
    auto count = [&](std::string_view key, const ds_store_object &object) {
        seen += key == "key" && object.length == text.size();
        return true;
    };
    assert_true(bool(store->list("k", "", count)));
    assert_int_equal(seen, 1);
    assert_int_equal(store->del("key", *version + 1).error().code, ESTALE);
    assert_true(bool(store->del("key")));
    assert_int_equal(store->totals()->objects, 0);
}

void lists(void **) {
    Pool pool(1);
    Master master(pool, create);
    Client c(pool);
    std::vector<std::string> keys{"a", "b", std::string("b\0", 2), "b/1", "b/2", "b\xff", "c"};
    for (int i = 0; i < 200; i++)
        keys.push_back("page/" + std::string(500, 'x') + std::to_string(1000 + i));
    for (const std::string &key : keys)
        assert_int_equal(c.put(key, key), 0);
    std::sort(keys.begin(), keys.end());
    auto list = [&](const std::string &prefix, const std::string &after, size_t most) {
        struct Taken {
            std::vector<std::string> keys;
            size_t most;
        } taken{{}, most};
        assert_int_equal(
            ds_store_list(
                c.store, prefix.data(), prefix.size(), after.data(), after.size(), 0,
                [](void *arg, const void *key, size_t length, const ds_store_object *o) {
                    auto *t = static_cast<Taken *>(arg);
                    t->keys.emplace_back(static_cast<const char *>(key), length);
                    return o->length != length || t->keys.size() == t->most ? 1 : 0;
                },
                &taken),
            0);
        return taken.keys;
    };
    auto wanted = [&](const std::string &prefix, const std::string &after, size_t most) {
        std::vector<std::string> found;
        for (const std::string &key : keys)
            if (key.starts_with(prefix) && (after.empty() || key > after) && found.size() < most)
                found.push_back(key);
        return found;
    };
    for (const std::string &prefix : {std::string(), std::string("b"), std::string("b/"),
                                      std::string("page/"), std::string("zz"), std::string("\xff")})
        for (const std::string &after :
             {std::string(), std::string("a"), std::string("b/1"), std::string("b/15"),
              std::string("page/"), keys[150], std::string("\xff\xff")})
            for (size_t most : {size_t{1}, size_t{3}, SIZE_MAX})
                assert_true(list(prefix, after, most) == wanted(prefix, after, most));
}

// ---- damage ----

void a_damaged_byte_is_found(void **) {
    Pool pool(2);
    Master master(pool, create);
    Client c(pool);
    std::string put = noise(2 * MiB + 100), data;
    assert_int_equal(c.put("key", put, 2), 0);
    std::vector<uint64_t> starts = places(c, put.substr(MiB, 64));
    assert_int_equal(starts.size(), 2);
    std::vector<ds_store_damage> damages;
    assert_int_equal(c.check("key", damages), 0);

    // Each byte would do; the seal's and the last one of the data are among them.
    for (uint64_t offset : {uint64_t{0}, uint64_t{777}, MiB - 1, MiB + 8, MiB + 24, MiB + 63}) {
        flip(c, starts[0] + offset);
        bool found = false;
        for (int i = 0; i < 4; i++) {
            // Which replica it begins with depends on its number.
            std::vector<std::unique_ptr<Client>> readers;
            for (int j = 0; j <= i; j++)
                readers.push_back(std::make_unique<Client>(pool));
            Client &reader = *readers.back();
            assert_int_equal(reader.get("key", data), 0);
            assert_true(data == put);
            found = found || reader.object.damaged == 1;
            assert_int_equal(c.get("key", data, 100), 0);  // of another shard
            assert_int_equal(c.object.damaged, 0);
        }
        assert_true(found);
        assert_int_equal(c.check("key", damages), -EBADMSG);
        assert_int_equal(damages.size(), 1);
        assert_int_equal(damages[0].status, -EBADMSG);
        assert_int_equal(damages[0].addr, starts[0]);
        assert_int_equal(damages[0].offset, MiB);
        assert_int_equal(damages[0].length, MiB);

        // In the other one too: refused, and no byte of it is taken for good.
        flip(c, starts[1] + offset);
        assert_int_equal(c.get("key", data), -EBADMSG);
        assert_int_equal(c.check("key", damages), -EBADMSG);
        assert_int_equal(damages.size(), 2);
        assert_int_equal(c.get("key", data, 100), 0);
        flip(c, starts[1] + offset);
        flip(c, starts[0] + offset);
        assert_int_equal(c.check("key", damages), 0);
    }
    assert_int_equal(c.put("key", put, 2), 0);
    assert_int_equal(c.get("key", data), 0);
}

// ---- masters ----

void says(const Master &master, const char *what) {
    if (master.said().find(what) == std::string::npos)
        fail_msg("'%s' is not in '%s'", what, master.said().c_str());
}

void masters_that_are_refused(void **) {
    Pool pool(1), other(1);
    Master none(pool, {});
    assert_int_equal(none.wait(), 4);
    says(none, "there is no folder");
    std::string folder = pool.folder.file("folder");
    assert_int_equal(mkdir(folder.c_str(), 0700), 0);
    Master nothing(pool, {"--store", folder});
    assert_int_equal(nothing.wait(), 4);
    says(nothing, "there is no store");
    // Nor is there what looks like one to the service.
    assert_int_equal(access((folder + "/metadata").c_str(), F_OK), -1);
    for (const std::vector<std::string> &wrong :
         std::vector<std::vector<std::string>>{{"--port", "5"},
                                               {"--port", "x"},
                                               {"--space", "0"},
                                               {"--what"},
                                               {"word"},
                                               {"--port"}}) {
        Master master(pool, wrong);
        assert_int_equal(master.wait(), 2);
        says(master, "fix: see 'dsmasterd --help'");
    }
    Master master(pool, create);
    { assert_int_equal(Client(pool).put("key", "value"), 0); }
    Master second(pool, {});
    assert_int_equal(second.wait(), 5);
    says(second, "another dsmasterd serves the store");
    Master elsewhere(pool, {"--create", "--store", pool.folder.file("second")});
    assert_int_equal(elsewhere.wait(), 5);
    says(elsewhere, "the space belongs to another store");
    master.signal(SIGTERM);
    assert_int_equal(master.wait(), 0);
    Master again(pool, create);
    assert_int_equal(again.wait(), 5);
    says(again, "there is a store");
    Master foreign(other, {"--store", pool.folder.file("store")});
    assert_int_equal(foreign.wait(), 1);
    says(foreign, "memory is new");
}

void a_client_outlives_masters(void **) {
    Pool pool(1);
    auto master = std::make_unique<Master>(pool, create);
    Client c(pool);
    std::string data;
    assert_int_equal(c.put("key", "value"), 0);
    int64_t first = c.version;
    for (int signal : {SIGTERM, SIGKILL}) {
        master->signal(signal);
        master->wait();
        assert_int_equal(c.put("key", "lost", 1, 0, 300), -ECONNREFUSED);
        assert_int_equal(c.version, 0);
        std::thread later([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            master = std::make_unique<Master>(pool, std::vector<std::string>{});
        });
        assert_int_equal(c.get("key", data, 5), 0);  // waits for it
        later.join();
        assert_string_equal(data.c_str(), "value");
    }
    assert_int_equal(c.put("key", "newer"), 0);
    assert_true(c.version >> 44 == (first >> 44) + 2);  // the epoch
}

void killed_at_each_step(void **) {
    for (const char *point : {"master_before_commit", "master_before_replies",
                              "master_after_replies", "master_seals_cleared"})
        for (int count = 1; count <= 13; count++) {
            Pool pool(2);
            { Master first(pool, create); }
            auto master = std::make_unique<Master>(pool, std::vector<std::string>{},
                                                   point + (":" + std::to_string(count)));
            std::atomic<bool> done{false};
            std::thread keeper([&] {  // starts it again when it has died
                master->wait();
                if (!done)
                    master = std::make_unique<Master>(pool, std::vector<std::string>{});
            });
            {
                Client c(pool);
                std::string data;
                assert_int_equal(c.put("a", "one", 2), 0);
                assert_int_equal(c.put("a", "two", 2), 0);
                assert_int_equal(c.put("b", "new", 1, DS_STORE_MUST_NOT_EXIST), 0);
                assert_int_equal(c.del("a"), 0);
                assert_int_equal(c.put("a", "six"), 0);
                assert_int_equal(c.get("a", data), 0);
                assert_string_equal(data.c_str(), "six");
                assert_int_equal(c.get("b", data), 0);
                assert_string_equal(data.c_str(), "new");
                ds_store_totals t = c.settled();
                assert_int_equal(t.objects, 2);
                assert_int_equal(t.used, 2 * 4096);
                assert_int_equal(t.used + t.free, t.total);
            }
            done = true;
            master->signal(SIGKILL);
            keeper.join();
        }
}

void what_a_dead_client_had_comes_back(void **) {
    Pool pool(2);
    Master master(pool, create);
    Client c(pool);
    assert_int_equal(c.put("key", std::string(MiB, 'a')), 0);
    ds_store_totals before = c.settled();
    for (int i = 0; i < 3; i++) {
        local::Child child([&] {
            Client other(pool);
            std::string data(3 * MiB, 'b');
            iovec part{data.data(), data.size()};
            ds_store_put_options options{};
            options.size = sizeof(options);
            options.progress = [](void *, uint64_t) { return raise(SIGKILL); };
            ds_store_put(other.store, "key", 3, &part, 1, &options, nullptr);
            return 0;
        });
        assert_int_equal(child.wait(), 128 + SIGKILL);
    }
    assert_true(c.totals().reserved > 0);
    ds_store_totals after = c.settled();
    assert_int_equal(after.reserved, 0);
    assert_int_equal(after.free, before.free);
    std::string data;
    assert_int_equal(c.get("key", data), 0);
    assert_true(data == std::string(MiB, 'a'));
}

void a_put_may_be_given_up(void **) {
    Pool pool(1);
    Master master(pool, create);
    Client c(pool);
    std::string data(9 * MiB, 'b');
    iovec part{data.data(), data.size()};
    ds_store_put_options options{};
    options.size = sizeof(options);
    options.progress = [](void *, uint64_t) { return 1; };
    assert_int_equal(ds_store_put(c.store, "key", 3, &part, 1, &options, nullptr), -EINTR);
    assert_int_equal(c.totals().reserved, 0);
    assert_int_equal(c.stat("key"), -ENOENT);
}

// A disk that is full, by a limit on the length of files: none is longer.
void no_room_for_metadata(void **) {
    Pool pool(1);
    { Master first(pool, create); }
    Master master(pool, {}, "", 200 << 10);
    Client c(pool);
    std::string data;
    int stored = 0, rc;
    while ((rc = c.put("key" + std::to_string(stored), "value" + std::to_string(stored))) == 0)
        assert_true(++stored < 3000);
    assert_int_equal(rc, -EROFS);
    assert_int_equal(c.version, 0);
    assert_true(stored > 3);
    assert_int_equal(c.get("key3", data), 0);
    assert_string_equal(data.c_str(), "value3");
    assert_int_equal(c.put("more", "x"), -EROFS);
    master.signal(SIGTERM);
    assert_int_equal(master.wait(), 0);
    says(master, "make room in the file system");
    {
        // Nobody needs to read what it says.
        Master unheard(pool, {}, "", 200 << 10);
        unheard.deafen();
        while ((rc = c.put("key0", "value0")) == 0) {
        }
        assert_int_equal(rc, -EROFS);
        assert_int_equal(c.get("key3", data), 0);
    }

    Master roomy(pool, {});
    for (int i = 0; i < stored; i++) {
        assert_int_equal(c.get("key" + std::to_string(i), data), 0);
        assert_true(data == "value" + std::to_string(i));
    }
    ds_store_totals t = c.settled();
    assert_int_equal(t.objects, stored);
    assert_int_equal(t.used, 4096 * stored);
    // A put that was refused at its end could not be given back either.
    assert_int_equal(t.used + t.reserved + t.free, t.total);
    // The next one does that.
    assert_int_equal(c.put("more", "x"), 0);
    assert_int_equal(c.totals().reserved, 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(open_refuses),
        cmocka_unit_test(calls_refuse),
        cmocka_unit_test(lengths),
        cmocka_unit_test(parts_of_objects),
        cmocka_unit_test(versions),
        cmocka_unit_test(what_is_remembered_may_be_gone),
        cmocka_unit_test(a_put_may_be_overtaken),
        cmocka_unit_test(too_large),
        cmocka_unit_test(from_cpp),
        cmocka_unit_test(lists),
        cmocka_unit_test(a_damaged_byte_is_found),
        cmocka_unit_test(masters_that_are_refused),
        cmocka_unit_test(a_client_outlives_masters),
        cmocka_unit_test(killed_at_each_step),
        cmocka_unit_test(what_a_dead_client_had_comes_back),
        cmocka_unit_test(a_put_may_be_given_up),
        cmocka_unit_test(no_room_for_metadata),
    };
    int failed = cmocka_run_group_tests(tests, nullptr, nullptr);
    Master::kill_all();
    return failed;
}
