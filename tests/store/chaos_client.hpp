// SPDX-License-Identifier: Apache-2.0
// What a client of the test chaos does, and what all of its processes share.
//
// Shared keys are everybody's: what is read must be a whole object, and no older
// than the last put of its key that was acknowledged before. A private key has one
// writer, which notes in shared memory what it is about to do and what was
// acknowledged: whatever is killed, the object is one of these two.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include <ds/ds.h>

#include "pattern.hpp"

namespace chaos {

inline constexpr int max_clients = 16, max_keys = 4096;

struct Settings {
    uint64_t seed = 1;
    uint64_t clients = 3;
    uint64_t kills = 60;
    uint64_t keys = 40;  // shared ones, and private ones of each client
    uint64_t longest = 2 << 20;
    uint64_t orders = 4;  // powers of two that lengths are spread over
    uint64_t servers = 3;
    uint64_t shift = 24;    // log2 of a server's bytes
    uint64_t pause = 60;    // ms between kills
    uint64_t replicas = 0;  // of each object; 0: one or two
    char device[256] = "";  // none: a local pool
};

// What a client has done to one of its private keys. 0: no object.
struct Private {
    std::atomic<uint64_t> acked, intended;
};

struct Shared {
    Settings settings;
    std::atomic<uint64_t> puts, gets, dels, lists, refused, lost, violations, crashes, servers;
    std::atomic<uint64_t> nonce;
    std::atomic<int64_t> acked_version[max_keys];  // of shared keys
    std::atomic<int> stop;
    Private keys[max_clients][max_keys];
    char report[4096];
};

inline Shared *shared;
inline std::string folder, master_path, server_killer;

inline void violation(const char *what, const std::string &key, long long a = 0, long long b = 0) {
    if (shared->violations++ < 20)
        std::printf("# VIOLATION: %s: key %s (%lld, %lld)\n", what, key.c_str(), a, b);
    std::fflush(stdout);
}

inline std::string pool_device() {
    if (shared->settings.device[0])
        return shared->settings.device;
    return DS_LOCAL_PREFIX + folder + "/pool";
}

inline void map_shared(bool create) {
    int fd = open((folder + "/shared").c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0), 0600);
    if (fd < 0 || ftruncate(fd, sizeof(Shared)) < 0)
        std::abort();
    void *at = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        std::abort();
    close(fd);
    shared = static_cast<Shared *>(at);
}

// ---- A client ----

class Client {
public:
    Client(int number, uint64_t seed) : number_(number), random_(seed) {
        std::string device = pool_device();
        ds_fabric_options options{};
        options.size = sizeof(options);
        options.device = device.c_str();
        if (ds_fabric_open(&options, &fabric_))
            std::abort();
        int rc = -1;
        for (int i = 0; rc && i < 300 && !shared->stop; i++) {
            rc = ds_store_open(fabric_, nullptr, &store_);
            if (rc)
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        if (rc && shared->stop)
            std::exit(0);  // the run ended before the master was there
        if (rc) {
            std::printf("# client %d: open: %s\n", number, ds_errname(rc));
            std::exit(2);
        }
    }
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;
    ~Client() {
        ds_store_close(store_);
        ds_fabric_close(fabric_);
    }

    void work() {
        while (!shared->stop) {
            size_t key = random_() % shared->settings.keys;
            bool mine = random_() % 2;
            unsigned what = random_() % 20;
            if (what < 8)
                mine ? put_private(key) : put_shared(key);
            else if (what < 17)
                mine ? get_private(key) : get_shared(key);
            else if (what < 19)
                mine ? del_private(key) : del_shared(key);
            else
                list();
        }
    }

    /// What is there of the private keys is what was acknowledged, or begun.
    void settle() {
        for (size_t key = 0; key < shared->settings.keys; key++)
            get_private(key);
    }

    ds_store *store() const { return store_; }

    struct Got {
        int rc;
        int64_t version;
        std::vector<char> bytes;
    };

    Got get(const std::string &key, uint32_t flags = 0) {
        Got got{};
        got.bytes.resize(shared->settings.longest + 1);
        ds_store_get_options options{};
        options.size = sizeof(options);
        options.flags = flags;
        ds_store_object object{};
        object.size = sizeof(object);
        // In two parts.
        size_t half = random_() % (shared->settings.longest + 1);
        iovec parts[2] = {{got.bytes.data(), half},
                          {got.bytes.data() + half, got.bytes.size() - half}};
        got.rc = ds_store_get(store_, key.data(), key.size(), parts, 2, &options, &object);
        got.version = object.version;
        got.bytes.resize(got.rc == 0 ? object.copied : 0);
        if (got.rc == 0 && object.copied != object.length)
            violation("short", key, object.copied, object.length);
        // A server that has come back has other memory before the master notices.
        if (got.rc == 0 && object.damaged && !shared->settings.device[0])
            violation("damaged", key, object.damaged);
        shared->gets++;
        return got;
    }

private:
    static std::string shared_name(size_t key) { return "shared/" + std::to_string(key); }
    std::string private_name(size_t key) const {
        return "private/" + std::to_string(number_) + "/" + std::to_string(key);
    }
    size_t length() {
        const Settings &s = shared->settings;
        return random_() % 4 ? random_() % ((s.longest >> random_() % s.orders) + 1)
                             : random_() % 100;
    }

    int put(const std::string &key, uint64_t nonce, size_t length, int64_t &version) {
        std::vector<char> bytes = pattern::make(key, nonce, length);
        size_t cut = length ? random_() % length : 0;
        iovec parts[2] = {{bytes.data(), cut}, {bytes.data() + cut, length - cut}};
        ds_store_put_options options{};
        options.size = sizeof(options);
        uint64_t most = std::min<uint64_t>(2, shared->settings.servers);
        uint64_t fixed = shared->settings.replicas;
        options.replicas = static_cast<uint32_t>(fixed ? fixed : 1 + random_() % most);
        int rc = ds_store_put(store_, key.data(), key.size(), parts, 2, &options, &version);
        shared->puts += rc == 0;
        shared->refused += rc == -ENOSPC;
        if (rc && rc != -ENOSPC && !lost_server(rc))
            failed("put", key, rc);
        return rc;
    }

    void put_shared(size_t key) {
        int64_t version;
        std::string name = shared_name(key);
        if (put(name, ++shared->nonce, length(), version))
            return;
        auto &acked = shared->acked_version[key];
        int64_t before = acked;
        while (before < version && !acked.compare_exchange_weak(before, version)) {
        }
    }

    void get_shared(size_t key) {
        std::string name = shared_name(key);
        int64_t before = shared->acked_version[key];
        bool cached = random_() % 4 == 0;
        Got got = get(name, cached ? DS_STORE_CACHED : 0);
        if (got.rc == -ENOENT)
            return;
        if (got.rc)
            return failed("get", name, got.rc);
        if (!pattern::check(name, got.bytes))
            violation("torn or foreign", name, got.version,
                      static_cast<long long>(got.bytes.size()));
        if (!cached && got.version < before)
            violation("older than an acknowledged put", name, got.version, before);
    }

    void del_shared(size_t key) { del(shared_name(key)); }

    int del(const std::string &key) {
        int rc = ds_store_del(store_, key.data(), key.size(), 0, 0);
        shared->dels += rc == 0;
        if (rc && rc != -ENOENT)
            failed("del", key, rc);
        return rc;
    }

    // At least as long as a nonce, so that it is known which one is there.
    void put_private(size_t key) {
        Private &state = shared->keys[number_][key];
        uint64_t nonce = ++shared->nonce;
        int64_t version;
        state.intended = nonce;
        int rc =
            put(private_name(key), nonce, 8 + length() % (shared->settings.longest - 7), version);
        if (rc == 0)
            state.acked = nonce;
        else if (version == 0)
            state.intended = state.acked.load();
    }

    void del_private(size_t key) {
        Private &state = shared->keys[number_][key];
        state.intended = 0;
        int rc = del(private_name(key));
        if (rc == 0 || rc == -ENOENT)
            state.acked = 0;
    }

    void get_private(size_t key) {
        Private &state = shared->keys[number_][key];
        std::string name = private_name(key);
        Got got = get(name);
        uint64_t found = 0;
        if (got.rc == 0) {
            auto nonce = pattern::check(name, got.bytes);
            if (!nonce)
                return violation("torn or foreign", name, got.version);
            found = *nonce;
        } else if (got.rc != -ENOENT) {
            return failed("get", name, got.rc);
        }
        if (found != state.acked && found != state.intended)
            violation("an acknowledged put is lost", name, static_cast<long long>(found),
                      static_cast<long long>(state.acked));
        state.acked = state.intended = found;
    }

    void list() {
        struct Seen {
            std::string last;
            size_t count = 0;
        } seen;
        int rc = ds_store_list(
            store_, "private/", 8, nullptr, 0, 0,
            [](void *arg, const void *key, size_t length, const ds_store_object *) {
                auto *s = static_cast<Seen *>(arg);
                std::string name(static_cast<const char *>(key), length);
                if (name <= s->last || !name.starts_with("private/"))
                    violation("list is out of order", name);
                s->last = name;
                s->count++;
                return 0;
            },
            &seen);
        shared->lists++;
        if (rc)
            failed("list", "", rc);
    }

    // A put may fail when a server dies under it (ENODATA: it is back, with other memory).
    // A get may not: there is a replica.
    static bool lost_server(int rc) {
        bool lost =
            shared->settings.device[0] && (rc == -EIO || rc == -ENOTCONN || rc == -EHOSTDOWN ||
                                           rc == -ETIMEDOUT || rc == -ENODATA);
        shared->lost += lost;
        return lost;
    }

    static void failed(const char *what, const std::string &key, int rc) {
        violation(what, key + ": " + ds_errname(rc));
    }

    int number_;
    std::mt19937_64 random_;
    ds_fabric *fabric_ = nullptr;
    ds_store *store_ = nullptr;
};

inline int run_client(int number, uint64_t seed) {
    Client client(number, seed);
    client.settle();
    client.work();
    return 0;
}

}  // namespace chaos
