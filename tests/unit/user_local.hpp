// SPDX-License-Identifier: Apache-2.0
// What tests with a local fabric share: a folder for files, an open fabric,
// and child processes.
#pragma once

#include <ds/ds.h>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "user_cmocka.hpp"

namespace local {

/// A folder that goes with the object.
class Folder {
public:
    Folder() {
        char name[] = "/tmp/ds-local-XXXXXX";
        if (!mkdtemp(name))
            std::abort();
        path_ = name;
    }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;
    ~Folder() { std::filesystem::remove_all(path_); }

    std::string file(const std::string &name = "pool") const { return path_ + "/" + name; }
    const std::string &path() const { return path_; }

private:
    std::string path_;
};

inline ds_local_options shape(uint32_t servers, uint32_t server_shift = 24) {
    ds_local_options options{};
    options.size = sizeof(options);
    options.servers = servers;
    options.server_shift = server_shift;
    return options;
}

inline int open(const std::string &path, ds_fabric **fabric) {
    std::string device = DS_LOCAL_PREFIX + path;
    ds_fabric_options options{};
    options.size = sizeof(options);
    options.device = device.c_str();
    return ds_fabric_open(&options, fabric);
}

/// An open file with its space and a buffer.
class Client {
public:
    explicit Client(const std::string &path, uint32_t access = DS_ACCESS_ALL) {
        if (open(path, &fabric) || ds_space_open(fabric, 1, access, &space) ||
            ds_buffer_alloc(fabric, 8 << 20, -1, &buffer))
            std::abort();
        bytes = static_cast<uint8_t *>(ds_buffer_data(buffer));
    }
    Client(const Client &) = delete;
    Client &operator=(const Client &) = delete;
    ~Client() {
        ds_buffer_free(buffer);
        ds_space_close(space);
        ds_fabric_close(fabric);
    }

    ds_fabric *fabric = nullptr;
    ds_space *space = nullptr;
    ds_buffer *buffer = nullptr;
    uint8_t *bytes = nullptr;
};

/// A process that runs a function and exits with what it returns. It does not
/// outlive the test, also if that fails in between.
class Child {
public:
    explicit Child(const std::function<int()> &body) : pid_(fork()) {
        if (pid_ < 0)
            std::abort();
        if (pid_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm(120);
            _exit(body());
        }
    }
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;
    ~Child() {
        if (pid_ > 0) {
            signal(SIGKILL);
            wait();
        }
    }

    void signal(int number) const { kill(pid_, number); }

    pid_t pid() const { return pid_; }

    /// Until it is stopped by SIGSTOP.
    void stop() const {
        signal(SIGSTOP);
        wait_for_stop();
    }

    /// The same, if it does that by itself.
    void wait_for_stop() const {
        int status;
        waitpid(pid_, &status, WUNTRACED);
        if (!WIFSTOPPED(status))
            std::abort();
    }

    /// Its exit status, or 128 + the signal that ended it.
    int wait() {
        int status = 0;
        waitpid(pid_, &status, 0);
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

private:
    pid_t pid_;
};

}  // namespace local
