// SPDX-License-Identifier: Apache-2.0
// What tests of the store share: a pool, a master in a process of its own, a client.
#pragma once

#include <ds/ds.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../unit/user_local.hpp"

namespace store_test {

constexpr uint64_t MiB = 1 << 20;

/// The program, from DSMASTERD in the environment.
inline std::string program() {
    const char *path = std::getenv("DSMASTERD");
    if (!path)
        std::abort();
    return path;
}

/// The same for the same seed.
inline std::string noise(size_t length, uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    std::string data(length, '\0');
    for (char &c : data)
        c = static_cast<char>(random());
    return data;
}

/// A pool in a folder that goes with it.
class Pool {
public:
    explicit Pool(uint32_t servers, uint32_t shift = 24) {
        ds_local_options options = local::shape(servers, shift);
        if (ds_local_create(folder.file().c_str(), &options))
            std::abort();
    }
    local::Folder folder;
};

/// dsmasterd on a pool.
class Master {
public:
    Master(const Pool &pool, std::vector<std::string> more, const std::string &crash_point = "",
           rlim_t file_bytes = RLIM_INFINITY) {
        std::vector<std::string> words{program(), "--fabric", DS_LOCAL_PREFIX + pool.folder.file(),
                                       "--store", pool.folder.file("store")};
        words.insert(words.end(), more.begin(), more.end());
        // Other threads may be inside malloc() at the fork: the child must not need it.
        std::vector<char *> args, environment;
        std::string point = "DS_CRASH_POINT=" + crash_point;
        for (std::string &word : words)
            args.push_back(word.data());
        args.push_back(nullptr);
        for (char **variable = environ; *variable; variable++)
            environment.push_back(*variable);
        if (!crash_point.empty())
            environment.push_back(point.data());
        environment.push_back(nullptr);
        int out[2];
        if (pipe2(out, O_CLOEXEC))
            std::abort();
        pid_ = fork();
        if (pid_ == 0) {
            dup2(out[1], 1);
            dup2(out[1], 2);
            rlimit limit{file_bytes, file_bytes};
            setrlimit(RLIMIT_FSIZE, &limit);
            execve(args[0], args.data(), environment.data());
            _exit(127);
        }
        close(out[1]);
        alive().insert(pid_);
        out_ = out[0];
        // Until it is ready, or has said why it is not.
        char c;
        while (said_.find('\n') == said_.npos && read(out_, &c, 1) == 1)
            said_ += c;
    }
    Master(const Master &) = delete;
    Master &operator=(const Master &) = delete;
    ~Master() {
        signal(SIGKILL);
        wait();
        close(out_);
    }

    /// From here on nobody reads what it says.
    void deafen() { close(std::exchange(out_, -1)); }

    void signal(int number) const {
        if (pid_ > 0)
            kill(pid_, number);
    }

    /// Its exit status, or 128 + the signal that ended it.
    int wait() {
        int status = 0;
        if (pid_ <= 0)
            return -1;
        waitpid(pid_, &status, 0);
        alive().erase(pid_);
        pid_ = -1;
        char text[4096];
        for (ssize_t n; (n = read(out_, text, sizeof(text))) > 0;)
            said_.append(text, static_cast<size_t>(n));
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

    /// Those that a test which failed has left behind.
    static void kill_all() {
        for (pid_t pid : alive())
            kill(pid, SIGKILL);
    }

    /// What it has said: the first line, or when it has ended all.
    const std::string &said() const { return said_; }

private:
    static std::set<pid_t> &alive() {
        static std::set<pid_t> pids;
        return pids;
    }

    pid_t pid_;
    int out_;
    std::string said_;
};

/// An open store.
class Client {
public:
    /// On this fabric, if one is given.
    explicit Client(const Pool &pool, ds_fabric *opened = nullptr) : fabric(opened) {
        if ((!opened && local::open(pool.folder.file(), &fabric)) ||
            ds_space_open(fabric, 1, DS_ACCESS_ALL, &space) ||
            ds_store_open(fabric, nullptr, &store))
            std::abort();
    }
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;
    ~Client() {
        ds_store_close(store);
        ds_space_close(space);
        ds_fabric_close(fabric);
    }

    int put(const std::string &key, const std::string &data, uint32_t replicas = 1,
            uint32_t flags = 0, uint32_t timeout_ms = 0) {
        iovec part{const_cast<char *>(data.data()), data.size()};
        ds_store_put_options options{};
        options.size = sizeof(options);
        options.replicas = replicas;
        options.flags = flags;
        options.timeout_ms = timeout_ms;
        return ds_store_put(store, key.data(), key.size(), &part, 1, &options, &version);
    }

    int get(const std::string &key, std::string &data, uint64_t room = UINT64_MAX,
            uint64_t offset = 0) {
        ds_store_get_options options{};
        options.size = sizeof(options);
        options.offset = offset;
        return get(key, data, room, options);
    }

    int get(const std::string &key, std::string &data, uint64_t room,
            const ds_store_get_options &options) {
        if (room == UINT64_MAX) {
            room = stat(key) == 0 ? object.length : 0;
        }
        data.assign(room, '\x55');
        iovec part{data.data(), data.size()};
        object = {};
        object.size = sizeof(object);
        int rc = ds_store_get(store, key.data(), key.size(), &part, 1, &options, &object);
        return rc;
    }

    int stat(const std::string &key) {
        object = {};
        object.size = sizeof(object);
        return ds_store_stat(store, key.data(), key.size(), 0, &object);
    }

    int del(const std::string &key, int64_t which = 0) {
        return ds_store_del(store, key.data(), key.size(), which, 0);
    }

    int check(const std::string &key, std::vector<ds_store_damage> &damages) {
        damages.clear();
        return ds_store_check(
            store, key.data(), key.size(), 0,
            [](void *arg, const ds_store_damage *damage) {
                static_cast<std::vector<ds_store_damage> *>(arg)->push_back(*damage);
            },
            &damages, nullptr);
    }

    /// What is free by the account is free on the servers.
    ds_store_totals totals() {
        ds_store_totals t{};
        std::vector<ds_store_server> servers(16);
        t.size = sizeof(t);
        if (ds_store_get_totals(store, 0, &t, servers.data(), servers.size()))
            std::abort();
        uint64_t free = 0;
        for (const ds_store_server &server : servers)
            free += server.free;
        assert_int_equal(free, t.free);
        return t;
    }

    /// When nothing is on its way any more.
    ds_store_totals settled() {
        for (int i = 0;; i++) {
            ds_store_totals t = totals();
            if ((t.reserved == 0 && t.retired == 0) || i == 1200)
                return t;
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    }

    ds_fabric *fabric = nullptr;
    ds_space *space = nullptr;
    ds_store *store = nullptr;
    int64_t version = 0;
    ds_store_object object{};
};

}  // namespace store_test
