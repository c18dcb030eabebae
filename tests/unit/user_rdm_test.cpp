// SPDX-License-Identifier: Apache-2.0
// The client of the packet service: what it refuses, what it makes of a server's
// refusals and of silence, each request by each way.
#include <ds/ds.h>
#include <ds/rdm.hpp>

#include <chrono>
#include <memory>
#include <numeric>
#include <thread>

#include "rdm/client.hpp"
#include "rdm/peer_link.hpp"
#include "user_cmocka.hpp"
#include "user_rdm_server.hpp"

namespace {

using namespace rdmtest;
using ds::Rdm;
using ds::rdm::Client;
using ds::rdm::PeerLink;

uint64_t now_ms() {
    return ds::fabric::monotonic_ns() / 1'000'000;
}

/// A packet is sent again after 20 ms at the earliest, on a busy machine too; then an answer may
/// come twice. @p begin: before the first one, in ms.
template <class Counts>
void assert_calm(const Counts &counts, uint64_t begin) {
    if (now_ms() - begin < 20)
        assert_int_equal(counts.resent, 0);
    if (counts.resent == 0)
        assert_int_equal(counts.ignored, 0);
}

/// A server with a port, and a client of it.
struct Pair {
    explicit Pair(uint32_t wire = DS_RDM_WIRE_2, uint64_t size = 16 << 20)
        : server(size), udp(server, wire), options(options_for(udp, wire)) {
        if (wire == DS_RDM_WIRE_1)
            options.flags = DS_RDM_WRITES_ANSWERED;
    }
    Rdm open() const { return Rdm::open(options).or_throw(); }
    int run(ds_rdm_request &r) const { return ds_rdm_execute(open().get(), &r, 1, 0); }

    Server server;
    UdpServer udp;
    ds_rdm_options options;
};

void wrong_options_are_refused(void **) {
    Pair pair;
    ds_rdm *rdm = nullptr;
    auto refused = [&](auto &&change) {
        ds_rdm_options o = pair.options;
        change(o);
        return ds_rdm_open(&o, &rdm) == -EINVAL;
    };

    assert_true(refused([](auto &o) { o.size = 3; }));
    assert_true(refused([](auto &o) { o.wire = 0; }));
    assert_true(refused([](auto &o) { o.wire = 4; }));
    assert_true(refused([](auto &o) { o.ipv4 = 0; }));
    assert_true(refused([](auto &o) { o.port = 65536; }));
    assert_true(refused([](auto &o) { o.space = DS_PACKET_SPACES; }));
    assert_true(refused([](auto &o) { o.node = 1; }));
    assert_true(refused([](auto &o) { o.reserved = 1; }));
    assert_true(refused([](auto &o) { o.flags = 2; }));
    assert_true(refused([](auto &o) { o.flags = DS_RDM_WRITES_ANSWERED; }));
    assert_true(refused([](auto &o) { o.wire = DS_RDM_WIRE_1; }));  // has a tenant
    assert_true(refused([](auto &o) { o.wire = DS_RDM_WIRE_1, o.tenant = 0, o.space = 256; }));
    assert_true(refused([](auto &o) { o.wire = DS_RDM_WIRE_1, o.tenant = 0, o.key = key; }));
    assert_true(refused([](auto &o) { o.wire = DS_RDM_WIRE_PEER; }));
    assert_true(
        refused([](auto &o) { o.wire = DS_RDM_WIRE_PEER, o.ipv4 = o.port = 0, o.node = 1; }));
    assert_null(rdm);
    ds_rdm_close(nullptr);
}

void wrong_requests_are_not_sent(void **) {
    Pair pair;
    Rdm rdm = pair.open();
    char data[8];
    std::vector<ds_rdm_request> wrong;
    auto add = [&](ds_rdm_request r, auto &&change) {
        change(r);
        wrong.push_back(r);
    };
    auto as_is = [](auto &) {};

    for (uint32_t opcode : {0u, 8u, 9u, 11u, 0xffffffffu})
        add(request_of(opcode), as_is);
    for (uint32_t opcode : {DS_PACKET_READ, DS_PACKET_WRITE, DS_PACKET_WRITE_PERSISTENT}) {
        add(request_of(opcode, 0, 8), as_is);
        add(request_of(opcode, 0, 0, data), as_is);
        add(request_of(opcode, UINT64_MAX - 6, 8, data), as_is);
        add(request_of(opcode, 0, 8, data), [](auto &r) { r.operand = 1; });
        add(request_of(opcode, 0, 8, data), [](auto &r) { r.compare = 1; });
        add(request_of(opcode, 0, 8, data), [](auto &r) { r.reserved = 1; });
    }
    add(request_of(DS_PACKET_ALLOC), as_is);
    add(request_of(DS_PACKET_ALLOC, 0, 1), [](auto &r) { r.operand = DS_ACCESS_ALL + 1; });
    add(request_of(DS_PACKET_ALLOC, 0, 1, data), as_is);
    add(request_of(DS_PACKET_FREE, 0, 0, data), as_is);
    add(request_of(DS_PACKET_CAS, 0, 7), as_is);
    add(request_of(DS_PACKET_CAS, 0, 8, data), as_is);
    add(request_of(DS_PACKET_FETCH_ADD, 0, 8), [](auto &r) { r.compare = 1; });
    add(request_of(DS_PACKET_PING, 8), as_is);
    add(request_of(DS_PACKET_PING, 0, 8), as_is);

    assert_int_equal(ds_rdm_execute(rdm.get(), wrong.data(), wrong.size(), 0), -EINVAL);
    for (const ds_rdm_request &r : wrong) {
        assert_int_equal(r.status, -EINVAL);
        assert_int_equal(r.outcome, DS_NOT_EXECUTED);
    }
    std::vector<char> long_data(70'000);
    assert_int_equal(ds_rdm_ping(rdm.get(), long_data.data(), 70'000), -EMSGSIZE);
    assert_int_equal(rdm.counters().sent, 0);
    assert_int_equal(ds_rdm_execute(rdm.get(), nullptr, 0, 0), 0);
}

void version_1_has_four_requests(void **) {
    Pair pair(DS_RDM_WIRE_1);
    Rdm rdm = pair.open();
    uint64_t old;

    assert_int_equal(ds_rdm_free(rdm.get(), 4096), -EOPNOTSUPP);
    assert_int_equal(ds_rdm_cas(rdm.get(), 4096, 0, 1, &old), -EOPNOTSUPP);
    assert_int_equal(ds_rdm_fetch_add(rdm.get(), 4096, 1, &old), -EOPNOTSUPP);
    assert_int_equal(ds_rdm_ping(rdm.get(), nullptr, 0), -EOPNOTSUPP);
    assert_int_equal(ds_rdm_alloc(rdm.get(), 64, DS_ACCESS_READ, &old), -EOPNOTSUPP);
    assert_int_equal(rdm.counters().sent, 0);
}

void nobody_listens(void **) {
    ds_rdm_options o;
    {
        Pair pair;
        o = pair.options;
    }
    uint64_t begin = now_ms();
    auto alloc = Rdm::open(o).or_throw().alloc(1);
    assert_int_equal(alloc.error().code, ECONNREFUSED);
    assert_true(now_ms() - begin < o.timeout_ms);
}

// A port that takes packets and says nothing.
void silence_ends_in_time(void **) {
    Server server;
    UdpServer udp(server, 2, {.lost = 1000});
    ds_rdm_options o = options_for(udp);
    char byte = 0;
    ds_rdm_request read = request_of(DS_PACKET_READ, 4096, 1, &byte);

    o.timeout_ms = 1600;
    uint64_t begin = now_ms();
    Rdm rdm = Rdm::open(o).or_throw();
    assert_int_equal(ds_rdm_execute(rdm.get(), &read, 1, 0), -ETIMEDOUT);
    assert_true(now_ms() - begin >= 1600);
    assert_int_equal(read.outcome, DS_NOT_EXECUTED);
    assert_true(rdm.counters().resent >= 1 &&
                rdm.counters().resent <= 5);  // 100, 300, 700, 1500 ms
    assert_int_equal(rdm.counters().received, 0);
    assert_true(rdm.counters().lost >= 1);
    // No session, no change.
    ds_rdm_request add = request_of(DS_PACKET_FETCH_ADD, 4096, 8);
    assert_int_equal(ds_rdm_execute(rdm.get(), &add, 1, 0), -ETIMEDOUT);
    assert_int_equal(add.outcome, DS_NOT_EXECUTED);
}

void all_that_version_2_does(void **) {
    uint64_t begin = now_ms();
    Pair pair;
    Rdm rdm = pair.open();
    uint64_t address = rdm.alloc(200'000).or_throw();
    std::vector<std::byte> out(200'000), in(200'000);
    struct ds_vspace_usage usage;

    for (size_t i = 0; i < out.size(); i++)
        out[i] = static_cast<std::byte>(i * 7 + i / 256);
    rdm.write(address, out).or_throw();
    rdm.read(address, in).or_throw();
    assert_true(in == out);
    rdm.read(address + 65'535, std::span(in).first(3)).or_throw();
    assert_memory_equal(in.data(), out.data() + 65'535, 3);

    uint64_t word = 0;
    rdm.write(address + 8, std::as_bytes(std::span(&word, 1))).or_throw();
    assert_int_equal(rdm.fetch_add(address + 8, 5).or_throw(), 0);
    assert_int_equal(rdm.cas(address + 8, 4, 1).or_throw(), 5);
    assert_int_equal(rdm.cas(address + 8, 5, 77).or_throw(), 5);
    assert_int_equal(rdm.fetch_add(address + 8, 0).or_throw(), 77);
    rdm.ping().or_throw();
    rdm.ping(std::span(out).first(1000)).or_throw();

    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 1);
    assert_int_equal(ds_rdm_execute(rdm.get(), &alloc, 1, 0), 0);
    assert_int_equal(alloc.generation, 1);
    assert_int_equal(alloc.outcome, DS_EXECUTED);
    rdm.free(alloc.address).or_throw();
    rdm.free(address).or_throw();
    ds_vspace_usage(pair.server.space.map, &usage);
    assert_int_equal(usage.allocations, 0);
    assert_int_equal(rdm.counters().sessions, 1);
    assert_calm(rdm.counters(), begin);
}

void all_that_version_1_does(void **) {
    Pair pair(DS_RDM_WIRE_1);
    Rdm rdm = pair.open();
    uint64_t address = rdm.alloc(200'000).or_throw(), other = rdm.alloc(1).or_throw();
    std::vector<std::byte> out(200'000), in(200'000);

    assert_int_not_equal(address, other);
    for (size_t i = 0; i < out.size(); i++)
        out[i] = static_cast<std::byte>(i * 11 + i / 256);
    rdm.write(address, out).or_throw();
    rdm.read(address, in).or_throw();
    assert_true(in == out);
    // A READ and a WRITE of one address at once fail each by its own reply.
    ds_rdm_request two[] = {request_of(DS_PACKET_READ, address - 4096, 8, in.data()),
                            request_of(DS_PACKET_WRITE, address - 4096, 8, in.data())};
    assert_int_equal(ds_rdm_execute(rdm.get(), two, 2, 2), -ERANGE);
    assert_int_equal(two[0].status, -ERANGE);
    assert_int_equal(two[1].status, -ERANGE);
    assert_int_equal(rdm.alloc(1ull << 40).error().code, EINVAL);
    assert_int_equal(rdm.write_persistent(address, std::span(out).first(1)).error().code,
                     EOPNOTSUPP);

    // Nobody answers a WRITE: it is sent, that is all.
    pair.server.answer_writes = false;
    pair.options.flags = 0;
    ds_rdm_request write = request_of(DS_PACKET_WRITE, address, 5, const_cast<char *>("hello"));
    assert_int_equal(pair.run(write), 0);
    assert_int_equal(write.outcome, DS_UNKNOWN);
    rdm.read(address, std::span(in).first(5)).or_throw();
    assert_memory_equal(in.data(), "hello", 5);
}

void refusals_are_told_apart(void **) {
    Pair pair(DS_RDM_WIRE_2, 1 << 20);
    Rdm rdm = pair.open();
    uint64_t address = rdm.alloc(4096, DS_ACCESS_READ | DS_ACCESS_WRITE).or_throw();
    char data[16]{};
    auto refused = [&](ds_rdm_request r, int status, uint32_t reason) {
        int rc = ds_rdm_execute(rdm.get(), &r, 1, 0);
        return rc == status && r.status == status && r.reason == reason &&
               r.outcome == DS_NOT_EXECUTED;
    };

    assert_true(
        refused(request_of(DS_PACKET_READ, address + 4090, 7, data), -ERANGE, DS_PACKET_ADDRESS));
    assert_true(
        refused(request_of(DS_PACKET_WRITE, address - 1, 7, data), -ERANGE, DS_PACKET_ADDRESS));
    assert_true(refused(request_of(DS_PACKET_CAS, address, 8), -EACCES, DS_PACKET_PERMISSION));
    assert_true(refused(request_of(DS_PACKET_CAS, address + 4, 8), -EINVAL, DS_PACKET_ALIGNMENT));
    assert_true(refused(request_of(DS_PACKET_WRITE_PERSISTENT, address, 8, data), -EOPNOTSUPP,
                        DS_PACKET_NOT_PERSISTENT));
    assert_true(refused(request_of(DS_PACKET_ALLOC, 0, 2 << 20), -EINVAL, DS_PACKET_LENGTH));
    assert_true(refused(request_of(DS_PACKET_ALLOC, 0, 1 << 20), -ENOSPC, DS_PACKET_FULL));
    assert_true(refused(request_of(DS_PACKET_FREE, address + 1), -ERANGE, DS_PACKET_ADDRESS));

    pair.options.tenant++;
    rdm = pair.open();
    assert_true(refused(request_of(DS_PACKET_READ, address, 1, data), -ENOENT, DS_PACKET_NO_SPACE));
    // The session is refused, and with it all that needs one; a READ does not.
    ds_rdm_request three[] = {request_of(DS_PACKET_FREE, address),
                              request_of(DS_PACKET_READ, address, 1, data),
                              request_of(DS_PACKET_FREE, address)};
    assert_int_equal(ds_rdm_execute(rdm.get(), three, 3, 1), -ENOENT);
    for (const ds_rdm_request &r : three)
        assert_int_equal(r.reason, DS_PACKET_NO_SPACE);
}

void every_reason_has_words(void **) {
    assert_string_equal(ds_rdm_strerror(DS_PACKET_OK), "Success.");
    assert_string_equal(ds_rdm_remedy(DS_PACKET_OK), "");
    for (uint32_t reason = 1; reason <= DS_PACKET_STATUS_COUNT; reason++) {
        for (const char *text : {ds_rdm_strerror(reason), ds_rdm_remedy(reason)}) {
            assert_in_range(strlen(text), 15, 200);
            assert_int_equal(text[strlen(text) - 1], '.');
        }
    }
}

void a_key_is_needed_on_both_sides(void **) {
    Server server(1 << 20, key);
    UdpServer udp(server);
    ds_rdm_options o = options_for(udp);
    uint8_t other[DS_PACKET_KEY_LEN] = {1};

    o.timeout_ms = 200;
    assert_int_equal(Rdm::open(o).or_throw().ping().error().code, ETIMEDOUT);
    o.key = other;
    assert_int_equal(Rdm::open(o).or_throw().ping().error().code, ETIMEDOUT);
    o.key = key;
    o.timeout_ms = 20'000;
    Rdm rdm = Rdm::open(o).or_throw();
    rdm.free(rdm.alloc(1).or_throw()).or_throw();

    // A server that has no key is not the one that was meant.
    Pair pair;
    pair.options.key = key;
    pair.options.timeout_ms = 200;
    assert_int_equal(pair.open().ping().error().code, ETIMEDOUT);
}

void a_busy_server_is_asked_again(void **) {
    Pair pair;
    std::vector<Rdm> others;
    for (uint32_t i = 0; i < DS_SESSIONS_PEER_MAX; i++) {
        others.push_back(pair.open());
        others.back().alloc(1).or_throw();
    }
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 1);
    pair.options.timeout_ms = 2000;
    Rdm rdm = pair.open();
    assert_int_equal(ds_rdm_execute(rdm.get(), &alloc, 1, 0), -EBUSY);
    assert_int_equal(alloc.reason, DS_PACKET_BUSY);
    others.pop_back();
    assert_int_equal(ds_rdm_execute(rdm.get(), &alloc, 1, 0), 0);
}

void a_busy_server_may_be_free_in_time(void **) {
    Pair pair;
    std::vector<Rdm> others;
    for (uint32_t i = 0; i < DS_SESSIONS_PEER_MAX; i++) {
        others.push_back(pair.open());
        others.back().alloc(1).or_throw();
    }
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 1);
    Rdm rdm = pair.open();
    std::thread leaver([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        others.pop_back();
    });
    int rc = ds_rdm_execute(rdm.get(), &alloc, 1, 0);
    leaver.join();
    assert_int_equal(rc, 0);
    assert_int_equal(alloc.reason, DS_PACKET_OK);
}

/// A peer's packet service, as kernel/rdm/packet_msg.c.
struct PeerService {
    PeerLink::Answer answer(Bytes message, std::span<uint8_t> room) {
        messages++;
        if (fail < 0)
            return {fail, 0, arrives};
        size_t used = 0;
        while (!message.empty()) {
            ds_packet p;
            int size =
                ds_packet2_parse(message.data(), static_cast<uint32_t>(message.size()), false, &p);
            assert_true(size > 0);
            server.serve(message.first(static_cast<size_t>(size)), 2,
                         static_cast<uint32_t>(room.size() - used), [&](const Packet &reply) {
                             assert_true(used + reply.size() <= room.size());
                             memcpy(room.data() + used, reply.data(), reply.size());
                             used += (reply.size() + 7) & ~size_t{7};
                         });
            message = message.subspan(std::min(message.size(), (size_t(size) + 7) & ~size_t{7}));
        }
        return {0, static_cast<uint32_t>(std::min(used, room.size())), true};
    }
    std::unique_ptr<Client> client(uint32_t timeout_ms = 20'000) {
        auto exchange = [this](Bytes message, std::span<uint8_t> room) {
            return answer(message, room);
        };
        return client_on(std::make_unique<PeerLink>(exchange, 4096), timeout_ms);
    }

    Server server;
    int fail = 0;
    bool arrives = false;
    unsigned messages = 0;
};

void messages_hold_many_packets(void **) {
    uint64_t begin = now_ms();
    PeerService service;
    auto client = service.client();
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 100'000);
    std::vector<uint8_t> out(100'000), in(100'000);
    std::iota(out.begin(), out.end(), 3);

    assert_int_equal(client->execute({&alloc, 1}, 1), 0);
    ds_rdm_request write = request_of(DS_PACKET_WRITE, alloc.address, out.size(), out.data());
    assert_int_equal(client->execute({&write, 1}, 64), 0);
    ds_rdm_request read = request_of(DS_PACKET_READ, alloc.address, in.size(), in.data());
    assert_int_equal(client->execute({&read, 1}, 64), 0);
    assert_true(in == out);

    // 16 READs of 64 bytes are one message, and so are their answers.
    std::vector<ds_rdm_request> reads;
    for (uint64_t i = 0; i < 160; i++)
        reads.push_back(request_of(DS_PACKET_READ, alloc.address + 64 * i, 64, &in[64 * i]));
    std::fill(in.begin(), in.end(), 0);
    service.messages = 0;
    assert_int_equal(client->execute(reads, 16), 0);
    if (client->counts().resent == 0)
        assert_int_equal(service.messages, 10);
    assert_memory_equal(in.data(), out.data(), 160 * 64);
    // The next packet begins at a multiple of eight, wherever the one before has ended.
    for (uint64_t i = 0; i < 160; i++)
        reads[i] = request_of(DS_PACKET_READ, alloc.address + 61 * i, 61, &in[61 * i]);
    std::fill(in.begin(), in.end(), 0);
    assert_int_equal(client->execute(reads, 16), 0);
    assert_memory_equal(in.data(), out.data(), 160 * 61);
    assert_calm(client->counts(), begin);
}

void what_a_peer_did_not_get_did_not_happen(void **) {
    PeerService service;
    auto client = service.client(300);
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 100'000);
    std::vector<uint8_t> data(9000);

    assert_int_equal(client->execute({&alloc, 1}, 1), 0);
    ds_rdm_request write = request_of(DS_PACKET_WRITE, alloc.address, data.size(), data.data());
    service.fail = -ENOTCONN;
    assert_int_equal(client->execute({&write, 1}, 1), -ENOTCONN);
    assert_int_equal(write.outcome, DS_NOT_EXECUTED);
    service.arrives = true;
    assert_int_equal(client->execute({&write, 1}, 1), -ENOTCONN);
    assert_int_equal(write.outcome, DS_NOT_EXECUTED);  // the first of three messages
    ds_rdm_request add = request_of(DS_PACKET_FETCH_ADD, alloc.address, 8);
    assert_int_equal(client->execute({&add, 1}, 1), -ENOTCONN);
    assert_int_equal(add.outcome, DS_UNKNOWN);
    // One that may pass is tried until the time is over, and is then the reason.
    service.fail = -ECONNRESET;
    service.messages = 0;
    assert_int_equal(client->execute({&add, 1}, 1), -ECONNRESET);
    assert_true(service.messages > 1);
    service.fail = 0;
    assert_int_equal(client->execute({&add, 1}, 1), 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(wrong_requests_are_not_sent),
        cmocka_unit_test(version_1_has_four_requests),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(silence_ends_in_time),
        cmocka_unit_test(all_that_version_2_does),
        cmocka_unit_test(all_that_version_1_does),
        cmocka_unit_test(refusals_are_told_apart),
        cmocka_unit_test(every_reason_has_words),
        cmocka_unit_test(a_key_is_needed_on_both_sides),
        cmocka_unit_test(a_busy_server_is_asked_again),
        cmocka_unit_test(a_busy_server_may_be_free_in_time),
        cmocka_unit_test(messages_hold_many_packets),
        cmocka_unit_test(what_a_peer_did_not_get_did_not_happen),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
