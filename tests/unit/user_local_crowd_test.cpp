// SPDX-License-Identifier: Apache-2.0
// A service on the local fabric to which more connect than it has descriptors for.
#include <ds/ds.h>

#include <sys/resource.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "user_local.hpp"

namespace {

constexpr uint32_t port = 0x321;
constexpr rlim_t connections = 3;

/// A fabric of its own, so a connection of its own.
class Caller {
public:
    explicit Caller(const std::string &path) {
        if (local::open(path, &fabric_))
            std::abort();
    }
    Caller(const Caller &) = delete;
    Caller &operator=(const Caller &) = delete;
    ~Caller() { ds_fabric_close(fabric_); }

    int call(uint32_t timeout_ms = 5000) const {
        ds_reply reply{};
        return ds_message_call(fabric_, 1, port, "x", 1, timeout_ms, &reply);
    }

private:
    ds_fabric *fabric_;
};

// Answers all, and has no room for more connections.
int serve(const std::string &path) {
    ds_fabric *fabric;
    ds_service *service;
    if (local::open(path, &fabric) || ds_service_bind(fabric, port, 16, &service))
        return 1;
    int next = dup(0);
    close(next);
    rlimit limit{static_cast<rlim_t>(next) + connections, static_cast<rlim_t>(next) + connections};
    setrlimit(RLIMIT_NOFILE, &limit);
    for (;;) {
        char byte;
        ds_message message;
        int rc = ds_service_receive(service, 100, &byte, 1, &message);
        if (rc == 0)
            ds_service_reply(service, message.cookie, 0, nullptr, 0);
        else if (rc == -EMFILE)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        else if (rc != -ETIMEDOUT)
            return 2;
    }
}

void one_connection_too_many(void **) {
    local::Folder folder;
    ds_local_options options = local::shape(1);
    assert_int_equal(ds_local_create(folder.file().c_str(), &options), 0);
    Caller first(folder.file());
    local::Child service([&] { return serve(folder.file()); });
    while (first.call() == -ECONNREFUSED)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));

    std::vector<std::unique_ptr<Caller>> others;
    for (rlim_t i = 0; i < 2 * connections; i++) {
        others.push_back(std::make_unique<Caller>(folder.file()));
        assert_int_equal(others.back()->call(i + 1 < connections ? 5000 : 100),
                         i + 1 < connections ? 0 : -ETIMEDOUT);
    }
    // Who is connected is served.
    assert_int_equal(first.call(), 0);
    assert_int_equal(others[0]->call(), 0);
    // And when some of them are gone the next ones are.
    others.clear();
    assert_int_equal(first.call(), 0);
    assert_int_equal(Caller(folder.file()).call(), 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(one_connection_too_many),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
