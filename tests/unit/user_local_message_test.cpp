// SPDX-License-Identifier: Apache-2.0
// Messages on the local fabric: what is refused, how long waits last, what
// becomes of messages when one end is gone.
#include <ds/ds.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <barrier>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "unread.hpp"
#include "user_local.hpp"

namespace {

using local::Child;
using local::Folder;

constexpr uint32_t port = 0x321;

uint64_t now_ms() {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

/// A pool and an open fabric on it.
class Pool {
public:
    Pool() {
        ds_local_options options = local::shape(2);
        if (ds_local_create(folder.file().c_str(), &options))
            std::abort();
        fabric = open();
    }
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;
    ~Pool() { ds_fabric_close(fabric); }

    ds_fabric *open() const {
        ds_fabric *made;
        if (local::open(folder.file(), &made))
            std::abort();
        return made;
    }
    ds_service *bind(uint32_t queue = 16) const {
        ds_service *service;
        if (ds_service_bind(fabric, port, queue, &service))
            std::abort();
        return service;
    }
    std::string socket() const { return folder.file() + ".ports/" + std::to_string(port); }

    Folder folder;
    ds_fabric *fabric;
};

struct Answer {
    int rc;
    ds_reply reply;
    std::string text;
};

Answer call(ds_fabric *fabric, const std::string &text, uint32_t timeout_ms = 5000,
            uint32_t room = 4096, uint32_t node = 1) {
    Answer a{};
    a.text.resize(4096);
    a.reply.data = a.text.data();
    a.reply.room = room;
    a.reply.outcome = 77;
    a.rc = ds_message_call(fabric, node, port, text.data(), static_cast<uint32_t>(text.size()),
                           timeout_ms, &a.reply);
    a.text.resize(a.rc == 0 ? a.reply.length : 0);
    return a;
}

ds_message receive(ds_service *service, std::string &text) {
    ds_message message{};
    text.resize(4096);
    assert_int_equal(ds_service_receive(service, 5000, text.data(), 4096, &message), 0);
    text.resize(message.length);
    return message;
}

void answer_one(ds_service *service, int32_t status = 0) {
    std::string text;
    ds_message message = receive(service, text);
    text = "re: " + text;
    assert_int_equal(ds_service_reply(service, message.cookie, status, text.data(),
                                      static_cast<uint32_t>(text.size())),
                     0);
}

void bind_refuses(void **) {
    Pool pool;
    ds_service *service;
    for (uint32_t number : {0u, 1u, 0xffu, 0x10000u, 0x10321u, ~0u})
        assert_int_equal(ds_service_bind(pool.fabric, number, 1, &service), -EINVAL);
    for (uint32_t queue : {0u, 1025u, ~0u})
        assert_int_equal(ds_service_bind(pool.fabric, port, queue, &service), -EINVAL);
    for (uint32_t number : {0x100u, 0xffffu}) {
        assert_int_equal(ds_service_bind(pool.fabric, number, 1024, &service), 0);
        ds_service_close(service);
    }
    ds_service_close(nullptr);
}

void as_many_services_as_dev_ds(void **) {
    Pool pool;
    std::vector<ds_service *> services(64);
    for (uint32_t i = 0; i < services.size(); i++)
        assert_int_equal(ds_service_bind(pool.fabric, 0x100 + i, 1, &services[i]), 0);
    ds_service *service;
    assert_int_equal(ds_service_bind(pool.fabric, 0x200, 1, &service), -EDQUOT);
    for (ds_service *s : services)
        ds_service_close(s);
}

void a_port_is_bound_once(void **) {
    Pool pool;
    ds_fabric *other = pool.open();
    ds_service *service = pool.bind(), *second;
    assert_int_equal(ds_service_bind(pool.fabric, port, 1, &second), -EADDRINUSE);
    assert_int_equal(ds_service_bind(other, port, 1, &second), -EADDRINUSE);
    Child child([&] {
        ds_service *third;
        return -ds_service_bind(pool.open(), port, 1, &third);
    });
    assert_int_equal(child.wait(), EADDRINUSE);
    ds_service_close(service);
    assert_int_equal(access(pool.socket().c_str(), F_OK), -1);
    assert_int_equal(ds_service_bind(other, port, 1, &second), 0);
    ds_service_close(second);
    ds_fabric_close(other);
}

void receive_waits_as_long_as_it_is_told(void **) {
    Pool pool;
    ds_service *service = pool.bind();
    ds_message message;
    char byte;
    assert_int_equal(ds_service_receive(service, 0, &byte, 1, &message), -EAGAIN);
    uint64_t start = now_ms();
    assert_int_equal(ds_service_receive(service, 200, &byte, 1, &message), -ETIMEDOUT);
    assert_in_range(now_ms() - start, 199, 3000);
    ds_service_close(service);
}

void reply_refuses(void **) {
    Pool pool;
    ds_service *service = pool.bind();
    char data[4097] = {};
    assert_int_equal(ds_service_reply(service, 1, 0, data, 4097), -E2BIG);
    for (int status : {-ECONNREFUSED, -EBUSY, -ECONNRESET})
        assert_int_equal(ds_service_reply(service, 1, status, nullptr, 0), -EINVAL);
    for (uint64_t cookie : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}})
        assert_int_equal(ds_service_reply(service, cookie, 0, data, 16), -ENOENT);
    ds_service_close(service);
}

void send_refuses(void **) {
    Pool pool;
    ds_service *service = pool.bind();
    std::string most(4096, 'x'), more(4097, 'x');
    ds_reply reply{};
    for (uint32_t number : {0u, 1u, 0xffu, 0x10321u, ~0u}) {
        reply.outcome = 77;
        assert_int_equal(ds_message_call(pool.fabric, 1, number, "x", 1, 0, &reply), -EINVAL);
        assert_int_equal(reply.outcome, DS_NOT_EXECUTED);
        assert_int_equal(ds_message_send(pool.fabric, 1, number, "x", 1, 0), -EINVAL);
    }
    assert_int_equal(ds_message_call(pool.fabric, 1, port, "x", 1, 0, nullptr), -EINVAL);
    assert_int_equal(call(pool.fabric, more).rc, -E2BIG);
    assert_int_equal(ds_message_send(pool.fabric, 1, port, more.data(), 4097, 0), -E2BIG);
    for (uint32_t node : {0u, 3u, ~0u}) {
        Answer a = call(pool.fabric, "x", 5000, 4096, node);
        assert_int_equal(a.rc, -ENOTCONN);
        assert_int_equal(a.reply.outcome, DS_NOT_EXECUTED);
        assert_int_equal(ds_message_send(pool.fabric, node, port, "x", 1, 0), -ENOTCONN);
    }
    ds_service_close(service);
}

void nobody_listens(void **) {
    Pool pool;
    Answer a = call(pool.fabric, "x");
    assert_int_equal(a.rc, -ECONNREFUSED);
    assert_int_equal(a.reply.outcome, DS_NOT_EXECUTED);
    ds_service_close(pool.bind());  // now there is a folder
    assert_int_equal(call(pool.fabric, "x").rc, -ECONNREFUSED);
    assert_int_equal(ds_message_send(pool.fabric, 1, port, "x", 1, 0), -ECONNREFUSED);
    // Something that is no socket of ours.
    std::ofstream(pool.socket()) << "text";
    assert_int_equal(call(pool.fabric, "x").rc, -ECONNREFUSED);
    ds_service_close(pool.bind());
}

void a_request_is_received_and_answered(void **) {
    Pool pool;
    ds_service *service = pool.bind();
    std::thread server([&] {
        for (int status : {0, 5, -ENOSPC, INT32_MIN})
            answer_one(service, status);
    });
    ds_fabric *other = pool.open();
    for (int status : {0, 5, -ENOSPC, INT32_MIN}) {
        Answer a = call(status == 5 ? other : pool.fabric, "hello", 5000, 4096, 2);
        assert_int_equal(a.rc, 0);
        assert_int_equal(a.reply.status, status);
        assert_int_equal(a.reply.outcome, DS_EXECUTED);
        assert_string_equal(a.text.c_str(), "re: hello");
    }
    server.join();
    ds_counters counters{};
    counters.size = sizeof(counters);
    ds_fabric_counters(pool.fabric, &counters);
    assert_int_equal(counters.messages_sent, 3);
    assert_int_equal(counters.messages_received, 4);
    ds_fabric_close(other);
    ds_service_close(service);
}

void lengths_up_to_the_limit(void **) {
    Pool pool;
    ds_service *service = pool.bind();
    for (size_t length : {0u, 1u, 4095u, 4096u}) {
        std::string sent(length, 'y'), got;
        std::thread server([&] {
            ds_message message = receive(service, got);
            ds_service_reply(service, message.cookie, 0, got.data(), message.length);
        });
        Answer a = call(pool.fabric, sent);
        server.join();
        assert_int_equal(a.rc, 0);
        assert_true(got == sent && a.text == sent);
    }
    ds_service_close(service);
}

void what_does_not_fit_stays(void **) {
    Pool pool;
    ds_service *service = pool.bind();
    assert_int_equal(ds_message_send(pool.fabric, 1, port, "12345", 5, 0), 0);
    char room[8];
    ds_message message;
    for (uint32_t n : {0u, 4u}) {
        assert_int_equal(ds_service_receive(service, 1000, room, n, &message), -EMSGSIZE);
        assert_int_equal(message.length, 5);
    }
    assert_int_equal(ds_service_receive(service, 1000, room, 5, &message), 0);
    assert_memory_equal(room, "12345", 5);
    assert_int_equal(message.want_reply, 0);
    assert_int_equal(ds_service_reply(service, message.cookie, 0, nullptr, 0), -ENOENT);

    std::thread server([&] { answer_one(service); });
    Answer a = call(pool.fabric, "long", 5000, 7);
    server.join();
    assert_int_equal(a.rc, -EMSGSIZE);
    assert_int_equal(a.reply.length, 8);
    assert_int_equal(a.reply.outcome, DS_EXECUTED);
    ds_service_close(service);
}

void the_queue_is_bounded(void **) {
    Pool pool;
    ds_service *service = pool.bind(2);
    std::atomic<unsigned> busy{0}, answered{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < 5; i++)
        callers.emplace_back([&] {
            ds_fabric *fabric = pool.open();
            Answer a = call(fabric, "x", 20000);
            busy += a.rc == -EBUSY && a.reply.outcome == DS_NOT_EXECUTED;
            answered += a.rc == 0;
            ds_fabric_close(fabric);
        });
    // Until all have sent. Some are refused at once: only so many may wait to connect.
    for (int i = 0; i < 1000 && unread().sockets + busy < 5; i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    answer_one(service);
    answer_one(service);
    for (std::thread &caller : callers)
        caller.join();
    assert_int_equal(answered, 2);
    assert_int_equal(busy, 3);
    ds_message message;
    assert_int_equal(ds_service_receive(service, 0, &message, 1, &message), -EAGAIN);
    ds_service_close(service);
}

void a_late_reply_is_nobodys(void **) {
    Pool pool;
    ds_service *service = pool.bind();
    std::thread caller([&] {
        Answer first = call(pool.fabric, "first", 1000);
        assert_int_equal(first.rc, -ETIMEDOUT);
        assert_int_equal(first.reply.outcome, DS_UNKNOWN);
        Answer second = call(pool.fabric, "second");
        assert_int_equal(second.rc, 0);
        assert_string_equal(second.text.c_str(), "re: second");
    });
    std::string text;
    ds_message late = receive(service, text);
    assert_string_equal(text.c_str(), "first");
    answer_one(service);
    assert_int_equal(ds_service_reply(service, late.cookie, 0, "late", 4), -ENOENT);
    caller.join();
    ds_service_close(service);
}

// It does not come behind what its sender has sent since.
void what_is_given_up_unread_is_not_received(void **) {
    Pool pool;
    ds_service *service = pool.bind();
    ds_message message;
    Answer a = call(pool.fabric, "first", 100);
    assert_int_equal(a.rc, -ETIMEDOUT);
    assert_int_equal(a.reply.outcome, DS_UNKNOWN);
    assert_int_equal(ds_message_send(pool.fabric, 1, port, "kept", 4, 0), 0);
    std::string text;
    receive(service, text);
    assert_string_equal(text.c_str(), "kept");
    assert_int_equal(ds_service_receive(service, 0, text.data(), 4, &message), -EAGAIN);
    ds_service_close(service);
}

void replies_in_any_order(void **) {
    Pool pool;
    ds_service *service = pool.bind(1024);
    std::string text;
    std::vector<std::thread> callers;
    for (int i = 0; i < 8; i++)
        callers.emplace_back([&] { assert_int_equal(call(pool.fabric, "x").rc, 0); });
    std::vector<ds_message> waiting;
    for (int i = 0; i < 8; i++)
        waiting.push_back(receive(service, text));
    // In any order.
    for (size_t i = waiting.size(); i-- > 0;)
        assert_int_equal(ds_service_reply(service, waiting[i].cookie, 0, "y", 1), 0);
    assert_int_equal(ds_service_reply(service, waiting[0].cookie, 0, "y", 1), -ENOENT);
    for (std::thread &caller : callers)
        caller.join();
    ds_service_close(service);
}

// ---- one end is gone ----

void closed_before_and_after_it_was_received(void **) {
    Pool pool;
    ds_service *service = pool.bind();
    Answer unread{}, read{};
    std::thread first([&] { read = call(pool.fabric, "read"); });
    std::string text;
    receive(service, text);
    std::thread second([&] { unread = call(pool.fabric, "unread"); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ds_service_close(service);
    first.join();
    second.join();
    assert_int_equal(read.rc, -ECONNRESET);
    assert_int_equal(read.reply.outcome, DS_UNKNOWN);
    assert_int_equal(unread.rc, -ECONNREFUSED);
    assert_int_equal(unread.reply.outcome, DS_NOT_EXECUTED);
}

void queued_but_not_received(void **) {
    Pool pool;
    ds_service *service = pool.bind();
    Answer first{}, second{};
    std::thread one([&] { first = call(pool.fabric, "1"); });
    std::thread two([&] { second = call(pool.fabric, "2"); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::string text;
    receive(service, text);  // takes both in, and hands out one
    ds_service_close(service);
    one.join();
    two.join();
    bool first_was_read = text == "1";
    assert_int_equal(first.rc, first_was_read ? -ECONNRESET : -ECONNREFUSED);
    assert_int_equal(second.rc, first_was_read ? -ECONNREFUSED : -ECONNRESET);
}

// A service in a process of its own that answers @p answers requests and takes one more.
Child server(const Pool &pool, int ready, int answers) {
    return Child([&pool, ready, answers] {
        ds_fabric *fabric = pool.open();
        ds_service *service;
        if (ds_service_bind(fabric, port, 16, &service))
            return 1;
        if (write(ready, "r", 1) != 1)
            return 2;
        for (int i = 0;; i++) {
            char text[4096];
            ds_message message;
            if (ds_service_receive(service, 10000, text, sizeof(text), &message))
                return 3;
            if (i == answers)
                raise(SIGKILL);
            ds_service_reply(service, message.cookie, 0, text, message.length);
        }
    });
}

void the_next_one_takes_a_port_over_from_the_dead(void **) {
    Pool pool;
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    for (int round = 0; round < 3; round++) {
        Child child = server(pool, ready[1], 2);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        // The connection that the last round left leads to a dead process.
        assert_int_equal(call(pool.fabric, "a").rc, 0);
        assert_int_equal(call(pool.fabric, "b").rc, 0);
        Answer a = call(pool.fabric, "c");
        assert_int_equal(a.rc, -ECONNRESET);
        assert_int_equal(a.reply.outcome, DS_UNKNOWN);
        assert_int_equal(child.wait(), 128 + SIGKILL);
        assert_int_equal(access(pool.socket().c_str(), F_OK), 0);
        assert_int_equal(call(pool.fabric, "d").rc, -ECONNREFUSED);
    }
    close(ready[0]);
    close(ready[1]);
}

void the_sender_is_killed(void **) {
    Pool pool;
    ds_service *service = pool.bind();
    Child child([&] {
        call(pool.open(), "x", 10000);
        return 0;
    });
    std::string text;
    ds_message message = receive(service, text);
    child.signal(SIGKILL);
    child.wait();
    assert_int_equal(ds_service_reply(service, message.cookie, 0, "y", 1), -ENOENT);
    ds_service_close(service);
}

// What is no frame of ours ends that connection, and nothing else.
void strangers_at_the_socket(void **) {
    Pool pool;
    ds_service *service = pool.bind();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, pool.socket().c_str());
    const std::vector<std::string> wrong{"x",
                                         std::string(16, '\0'),
                                         std::string(5000, 'D'),
                                         std::string("DSM1\7\0\0\0\0\0\0\0\0\0\0\0", 16),
                                         std::string("DSM1\3\0\0\0\0\0\0\0\0\0\0\0", 16),
                                         std::string("DSM1\1\0\0\0\0\0\0\0\1\0\0\0", 16)};
    std::vector<int> sockets;
    for (const std::string &packet : wrong) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
        assert_int_equal(send(fd, packet.data(), packet.size(), 0), packet.size());
        sockets.push_back(fd);
    }
    ds_message message;
    char room[16];
    assert_int_equal(ds_service_receive(service, 200, room, 16, &message), -ETIMEDOUT);
    for (int fd : sockets) {
        char byte;
        assert_true(recv(fd, &byte, 1, 0) <= 0);
        close(fd);
    }
    std::thread server([&] { answer_one(service); });
    assert_int_equal(call(pool.fabric, "x").rc, 0);
    server.join();
    ds_service_close(service);
}

void whose_pool_may_only_be_read(void **) {
    Pool pool;
    chmod(pool.folder.path().c_str(), 0755);
    chmod(pool.folder.file().c_str(), 0444);
    Child child([&] {
        if (getuid() == 0 && setuid(65534) < 0)
            return 1;
        ds_service *service;
        return -ds_service_bind(pool.open(), port, 1, &service);
    });
    assert_int_equal(child.wait(), EACCES);
}

void the_path_may_be_long(void **) {
    Folder folder;
    std::string path = folder.path();
    for (int i = 0; i < 5; i++) {
        path += "/" + std::string(60, 'a');
        mkdir(path.c_str(), 0700);
    }
    path += "/pool";
    ds_local_options options = local::shape(1);
    assert_int_equal(ds_local_create(path.c_str(), &options), 0);
    ds_fabric *fabric;
    ds_service *service;
    assert_int_equal(local::open(path, &fabric), 0);
    assert_int_equal(ds_service_bind(fabric, port, 1, &service), 0);
    std::thread server([&] { answer_one(service); });
    assert_int_equal(call(fabric, "x").rc, 0);
    server.join();
    ds_service_close(service);
    ds_fabric_close(fabric);
}

/// What one receiver has taken in beside his own message is there for the other, who may just be
/// about to wait for it.
void who_takes_in_two_leaves_one(void **) {
    Pool pool;
    ds_service *service = pool.bind(16);
    constexpr int rounds = 3000;
    std::atomic<int> received{0};
    std::barrier round(3);
    auto receiver = [&] {
        for (int i = 0; i < rounds; i++) {
            std::string text(16, 0);
            ds_message message{};
            round.arrive_and_wait();
            received += ds_service_receive(service, 2000, text.data(), 16, &message) == 0;
        }
    };
    std::thread one(receiver), other(receiver);
    for (int i = 0; i < rounds; i++) {
        round.arrive_and_wait();
        for (int k = 0; k < 2; k++)
            assert_int_equal(ds_message_send(pool.fabric, 1, port, "x", 1, 0), 0);
    }
    one.join();
    other.join();
    assert_int_equal(received, 2 * rounds);
    ds_service_close(service);
}

void many_at_once(void **) {
    Pool pool;
    ds_service *service = pool.bind(1024);
    constexpr int callers = 4, calls = 500;
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < callers; t++)
        threads.emplace_back([&, t] {
            for (int i = 0; i < calls; i++) {
                std::string text = std::to_string(t) + ":" + std::to_string(i);
                good += call(pool.fabric, text).text == "re: " + text;
            }
        });
    std::atomic<int> left{callers * calls};
    for (int t = 0; t < 2; t++)
        threads.emplace_back([&] {
            while (left.fetch_sub(1) > 0)
                answer_one(service);
        });
    for (std::thread &thread : threads)
        thread.join();
    assert_int_equal(good, callers * calls);
    ds_service_close(service);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(bind_refuses),
        cmocka_unit_test(as_many_services_as_dev_ds),
        cmocka_unit_test(a_port_is_bound_once),
        cmocka_unit_test(receive_waits_as_long_as_it_is_told),
        cmocka_unit_test(reply_refuses),
        cmocka_unit_test(send_refuses),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(a_request_is_received_and_answered),
        cmocka_unit_test(lengths_up_to_the_limit),
        cmocka_unit_test(what_does_not_fit_stays),
        cmocka_unit_test(the_queue_is_bounded),
        cmocka_unit_test(a_late_reply_is_nobodys),
        cmocka_unit_test(what_is_given_up_unread_is_not_received),
        cmocka_unit_test(replies_in_any_order),
        cmocka_unit_test(closed_before_and_after_it_was_received),
        cmocka_unit_test(queued_but_not_received),
        cmocka_unit_test(the_next_one_takes_a_port_over_from_the_dead),
        cmocka_unit_test(the_sender_is_killed),
        cmocka_unit_test(strangers_at_the_socket),
        cmocka_unit_test(whose_pool_may_only_be_read),
        cmocka_unit_test(the_path_may_be_long),
        cmocka_unit_test(who_takes_in_two_leaves_one),
        cmocka_unit_test(many_at_once),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
