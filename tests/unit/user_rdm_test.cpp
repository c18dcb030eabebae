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

constexpr uint8_t key[DS_PACKET_KEY_LEN] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

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

ds_rdm_request request_of(uint32_t opcode, uint64_t address = 0, uint64_t length = 0,
                          void *data = nullptr) {
    ds_rdm_request r{};
    r.opcode = opcode;
    r.address = address;
    r.length = length;
    r.data = data;
    return r;
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
    assert_true(rdm.counters().resent >= 1 && rdm.counters().resent <= 5);  // 100, 300, 700, 1500 ms
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

std::unique_ptr<Client> client_on(std::unique_ptr<ds::rdm::Link> link, uint32_t timeout_ms) {
    auto client = std::make_unique<Client>(std::move(link), timeout_ms);
    client->use_wire2({.number = space_number, .tenant = tenant, .key = {}});
    return client;
}

void a_lost_session_is_opened_again(void **) {
    Server server;
    auto client = client_on(std::make_unique<NetworkLink>(server, 2, 1472, Weather{}, 1), 20'000);
    std::vector<ds_rdm_request> allocs(10, request_of(DS_PACKET_ALLOC, 0, 1));

    assert_int_equal(client->execute(allocs, 4), 0);
    server.forget_sessions();
    assert_int_equal(client->execute(allocs, 4), 0);
    assert_int_equal(client->counts().sessions, 2);
    assert_int_equal(server.space.counters.ops[DS_PACKET_ALLOC], 20);
    // The end of a client is the end of its session.
    assert_int_equal(server.space.sessions.count, 1);
    client.reset();
    assert_int_equal(server.space.sessions.count, 0);
}

/// Loses so many replies, and then does something.
class DeafLink : public NetworkLink {
public:
    using NetworkLink::NetworkLink;
    int receive(uint64_t ns, Bytes &bytes) override {
        int rc = NetworkLink::receive(ns, bytes);
        if (!bytes.empty() && lose) {
            bytes = {};
            if (--lose == 0 && then)
                then();
        }
        return rc;
    }
    int lose = 0;
    std::function<void()> then;
};

void an_answer_that_never_comes_leaves_doubt(void **) {
    Server server;
    auto link = std::make_unique<DeafLink>(server, 2, 1472, Weather{}, 1);
    DeafLink &deaf = *link;
    auto client = client_on(std::move(link), 1000);
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 1);

    assert_int_equal(client->execute({&alloc, 1}, 1), 0);
    deaf.lose = 1000;
    assert_int_equal(client->execute({&alloc, 1}, 1), -ETIMEDOUT);
    assert_int_equal(alloc.outcome, DS_UNKNOWN);
    assert_int_equal(server.space.counters.ops[DS_PACKET_ALLOC], 2);
    deaf.lose = 0;
    assert_int_equal(client->execute({&alloc, 1}, 1), 0);
    assert_int_equal(server.space.counters.ops[DS_PACKET_ALLOC], 3);
}

// It has executed what was sent first, and then forgotten.
void what_was_sent_twice_is_not_made_in_a_new_session(void **) {
    Server server;
    auto link = std::make_unique<DeafLink>(server, 2, 1472, Weather{}, 1);
    DeafLink &deaf = *link;
    auto client = client_on(std::move(link), 20'000);
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 1);

    assert_int_equal(client->execute({&alloc, 1}, 1), 0);
    deaf.lose = 1;
    deaf.then = [&] { server.forget_sessions(); };
    assert_int_equal(client->execute({&alloc, 1}, 1), -ECONNRESET);
    assert_int_equal(alloc.reason, DS_PACKET_SESSION);
    assert_int_equal(alloc.outcome, DS_UNKNOWN);
    assert_int_equal(server.space.counters.ops[DS_PACKET_ALLOC], 2);
    assert_int_equal(client->execute({&alloc, 1}, 1), 0);
    assert_int_equal(client->counts().sessions, 2);
}

/// Whoever is on the path may drop requests, and change or drop replies.
class MeddledLink : public NetworkLink {
public:
    explicit MeddledLink(Server &server, Weather weather = {})
        : NetworkLink(server, 2, 1472, weather, 1) {}
    int send(Bytes bytes, uint32_t reply) override {
        ds_packet p;
        ds_packet2_parse(bytes.data(), static_cast<uint32_t>(bytes.size()), false, &p);
        return !out || out(p, bytes) ? NetworkLink::send(bytes, reply) : 0;
    }
    int receive(uint64_t ns, Bytes &bytes) override {
        if (!replayed.empty()) {
            mine_ = std::move(replayed.front());
            replayed.pop_front();
            bytes = mine_;
            return 0;
        }
        int rc = NetworkLink::receive(ns, bytes);
        if (!bytes.empty() && in) {
            mine_.assign(bytes.begin(), bytes.end());
            bytes = in(mine_) ? Bytes(mine_) : Bytes();
        }
        return rc;
    }
    std::function<bool(const ds_packet &, Bytes)> out;  // false: drops it
    std::function<bool(Packet &)> in;
    std::deque<Packet> replayed;

private:
    Packet mine_;
};

// What it says of the second packet need not hold for the first.
void a_refusal_of_what_was_sent_twice(void **) {
    const std::vector<uint32_t> of_one = {DS_PACKET_MALFORMED, DS_PACKET_OPCODE, DS_PACKET_NO_SPACE,
                                          DS_PACKET_MEMORY, DS_PACKET_MTU};
    const std::vector<uint32_t> of_all = {DS_PACKET_PERMISSION, DS_PACKET_ADDRESS, DS_PACKET_FULL};

    for (bool first : {true, false}) {
        for (uint32_t reason = 1; reason < DS_PACKET_STATUS_COUNT; reason++) {
            bool one = std::ranges::count(of_one, reason), all = std::ranges::count(of_all, reason);
            if (!one && !all)
                continue;
            Server server;
            auto link = std::make_unique<MeddledLink>(server);
            MeddledLink &meddled = *link;
            auto client = client_on(std::move(link), 20'000);
            unsigned seen = 0;
            meddled.in = [&](Packet &packet) {
                ds_packet p;
                ds_packet2_parse(packet.data(), static_cast<uint32_t>(packet.size()), true, &p);
                if (p.op != DS_PACKET_ALLOC)
                    return true;
                p.status = static_cast<u16>(reason);
                ds_packet2_build(packet.data(), &p, true, nullptr);
                return first || ++seen > 1;
            };
            ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 1);
            assert_true(client->execute({&alloc, 1}, 1) < 0);
            assert_int_equal(alloc.reason, reason);
            if (!first || client->counts().resent == 0)
                assert_int_equal(alloc.outcome, one && !first ? DS_UNKNOWN : DS_NOT_EXECUTED);
        }
    }
}

void a_space_that_ends_after_the_change(void **) {
    Server server;
    auto link = std::make_unique<DeafLink>(server, 2, 1472, Weather{}, 1);
    DeafLink &deaf = *link;
    auto client = client_on(std::move(link), 20'000);
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 8);

    assert_int_equal(client->execute({&alloc, 1}, 1), 0);
    ds_rdm_request add = request_of(DS_PACKET_FETCH_ADD, alloc.address, 8);
    deaf.lose = 1;
    deaf.then = [&] { server.space.attr.tenant++; };
    assert_int_equal(client->execute({&add, 1}, 1), -ENOENT);
    assert_int_equal(server.space.counters.ops[DS_PACKET_FETCH_ADD], 1);
    assert_int_equal(add.outcome, DS_UNKNOWN);
}

// By version 1 a server runs again what comes again: the second ALLOC finds no room.
void version_1_remembers_nothing(void **) {
    Server server(1 << 20);
    auto link = std::make_unique<DeafLink>(server, 1, 1472, Weather{}, 1);
    DeafLink &deaf = *link;
    Client client(std::move(link), 20'000);
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 768 << 10);

    client.use_wire1(space_number, true);
    deaf.lose = 1;
    assert_int_equal(client.execute({&alloc, 1}, 1), -ENOSPC);
    assert_int_equal(alloc.outcome, DS_UNKNOWN);
    assert_int_equal(client.execute({&alloc, 1}, 1), -ENOSPC);
    if (client.counts().resent == 1)
        assert_int_equal(alloc.outcome, DS_NOT_EXECUTED);
}

ds_packet parsed(Bytes packet, bool reply) {
    ds_packet p;
    auto size = static_cast<uint32_t>(packet.size());
    assert_int_equal(ds_packet2_parse(packet.data(), size, reply, &p), size);
    return p;
}

/// A client of a space with a key.
struct Keyed {
    explicit Keyed(Server &server, uint32_t timeout_ms) {
        auto made = std::make_unique<MeddledLink>(server);
        link = made.get();
        client = std::make_unique<Client>(std::move(made), timeout_ms);
        std::array<uint8_t, DS_PACKET_KEY_LEN> copy;
        memcpy(copy.data(), key, sizeof(key));
        client->use_wire2({.number = space_number, .tenant = tenant, .key = copy});
    }
    MeddledLink *link;
    std::unique_ptr<Client> client;
};

// A client does what another has done, but its requests are lost, and what comes are the
// replies of then: the same opcode, space, tenant and address, and a MAC that is right.
void old_replies_answer_nothing(void **) {
    Server server(1 << 20, key);
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 4096);
    Keyed owner(server, 20'000);
    char data[16]{};

    assert_int_equal(owner.client->execute({&alloc, 1}, 1), 0);
    for (ds_rdm_request r :
         {request_of(DS_PACKET_READ, alloc.address, 16, data),
          request_of(DS_PACKET_PING, 0, 16, data),
          request_of(DS_PACKET_WRITE, alloc.address, 16, data),
          request_of(DS_PACKET_CAS, alloc.address, 8),
          request_of(DS_PACKET_FETCH_ADD, alloc.address, 8), request_of(DS_PACKET_ALLOC, 0, 64),
          request_of(DS_PACKET_FREE, alloc.address, 1),  // is refused
          request_of(DS_PACKET_READ, alloc.address, 5000, data)}) {
        std::vector<Packet> kept;
        Keyed before(server, 20'000), now(server, 200);
        before.link->in = [&](Packet &packet) {
            if (parsed(packet, true).op != DS_PACKET_OPEN)
                kept.push_back(packet);
            return true;
        };
        ds_rdm_request first = r;
        assert_int_not_equal(before.client->execute({&first, 1}, 1), -ETIMEDOUT);
        assert_false(kept.empty());
        now.link->out = [&](const ds_packet &p, Bytes) {
            if (p.op == DS_PACKET_OPEN || p.op == DS_PACKET_CLOSE)
                return true;
            // Whoever keeps many has one with the right tag.
            for (Packet packet : kept) {
                ds_packet reply = parsed(packet, true);
                reply.tag = p.tag;
                ds_packet2_build(packet.data(), &reply, true, key);
                now.link->replayed.push_back(packet);
            }
            return false;
        };
        assert_int_equal(now.client->execute({&r, 1}, 1), -ETIMEDOUT);
        assert_true(now.client->counts().ignored > 0);
    }
}

// Tags come again after a time; two READs are told apart all the same.
void no_two_requests_are_alike(void **) {
    Server server;
    std::vector<uint64_t> sessions;
    std::vector<uint32_t> tags;

    for (int i = 0; i < 2; i++) {
        auto link = std::make_unique<MeddledLink>(server);
        link->out = [&](const ds_packet &p, Bytes) {
            sessions.push_back(p.session);
            tags.push_back(p.tag);
            return true;
        };
        auto client = client_on(std::move(link), 20'000);
        ds_rdm_request two[] = {request_of(DS_PACKET_PING), request_of(DS_PACKET_PING)};
        assert_int_equal(client->execute(two, 1), 0);
        if (client->counts().resent)
            return;
    }
    assert_int_equal(sessions.size(), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(std::ranges::count(sessions, sessions[i]), 1);
        assert_int_equal(std::ranges::count(tags, tags[i]), 1);
    }
}

// The server keeps room for WRITEs of which a part is missing, but not for ever; and a part that
// comes when others have written there changes nothing any more.
void writes_that_were_given_up_take_no_room(void **) {
    Server server;
    auto link = std::make_unique<MeddledLink>(server);
    MeddledLink &meddled = *link;
    auto client = client_on(std::move(link), 500);
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 65536);
    std::vector<uint8_t> old(8192, 1), fresh(8192, 2), in(8192);
    std::vector<Packet> held;

    assert_int_equal(client->execute({&alloc, 1}, 1), 0);
    std::vector<ds_rdm_request> writes(
        DS_SESSION_PARTED, request_of(DS_PACKET_WRITE, alloc.address, old.size(), old.data()));
    meddled.out = [&](const ds_packet &p, Bytes bytes) {
        if (p.op != DS_PACKET_WRITE || p.offset + p.part != p.length)
            return true;
        held.emplace_back(bytes.begin(), bytes.end());
        return false;
    };
    assert_int_equal(client->execute(writes, 64), -ETIMEDOUT);
    for (const ds_rdm_request &r : writes)
        assert_int_equal(r.outcome, DS_UNKNOWN);

    meddled.out = nullptr;
    for (ds_rdm_request &r : writes)
        r.data = fresh.data();
    assert_int_equal(client->execute(writes, 64), 0);
    assert_int_equal(client->counts().sessions, 1);
    for (const Packet &packet : held)
        server.serve(packet, 2, 1472, [&](const Packet &reply) {
            assert_int_equal(parsed(reply, true).status, DS_PACKET_SEQUENCE);
        });
    ds_rdm_request read = request_of(DS_PACKET_READ, alloc.address, in.size(), in.data());
    assert_int_equal(client->execute({&read, 1}, 1), 0);
    assert_true(in == fresh);
}

// The same when it is the server that wants no more of it.
void parts_of_what_was_refused_take_no_room(void **) {
    Server server;
    auto link = std::make_unique<MeddledLink>(server);
    MeddledLink &meddled = *link;
    auto client = client_on(std::move(link), 500);
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 65536);
    std::vector<uint8_t> data(8192, 1);
    bool refuse = true;

    assert_int_equal(client->execute({&alloc, 1}, 1), 0);
    // The first part takes too much memory, the others do not.
    meddled.out = [&](const ds_packet &p, Bytes) {
        if (!refuse || p.op != DS_PACKET_WRITE || p.offset)
            return true;
        ds_packet reply = p;
        reply.status = DS_PACKET_MEMORY;
        reply.part = 0;
        Packet packet(sizeof(ds_packet2_header));
        ds_packet2_build(packet.data(), &reply, true, nullptr);
        meddled.replayed.push_back(packet);
        return false;
    };
    ds_rdm_request write = request_of(DS_PACKET_WRITE, alloc.address, data.size(), data.data());
    for (uint32_t i = 0; i < DS_SESSION_PARTED; i++)
        assert_int_equal(client->execute({&write, 1}, 1), -ENOMEM);
    refuse = false;
    assert_int_equal(client->execute({&write, 1}, 1), 0);
    assert_int_equal(client->counts().sessions, 1);
}

// A change that still waits for its answer is within the window, whatever was given up after it:
// it ends as it would have without.
void what_was_given_up_ends_no_other(void **) {
    Server server;
    auto link = std::make_unique<MeddledLink>(server);
    MeddledLink &meddled = *link;
    auto client = client_on(std::move(link), 20'000);
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 65536);
    unsigned lose = 1;

    assert_int_equal(client->execute({&alloc, 1}, 1), 0);
    // The first FETCH_ADD is made, and its answer is lost; the CAS after it finds no room in a
    // packet; many more come.
    meddled.in = [&](Packet &packet) {
        return parsed(packet, true).op != DS_PACKET_FETCH_ADD || !lose || !lose--;
    };
    meddled.out = [&](const ds_packet &p, Bytes) {
        if (p.op != DS_PACKET_CAS)
            return true;
        ds_packet reply = p;
        reply.status = DS_PACKET_MTU;
        reply.part = 0;
        Packet packet(sizeof(ds_packet2_header));
        ds_packet2_build(packet.data(), &reply, true, nullptr);
        meddled.replayed.push_back(packet);
        return false;
    };
    std::vector<ds_rdm_request> many(100, request_of(DS_PACKET_FETCH_ADD, alloc.address, 8));
    for (ds_rdm_request &r : many)
        r.operand = 1;
    many[1] = request_of(DS_PACKET_CAS, alloc.address, 8);
    assert_int_equal(client->execute(many, 2), -EMSGSIZE);
    for (size_t i = 0; i < many.size(); i++)
        assert_int_equal(many[i].status, i == 1 ? -EMSGSIZE : 0);
    assert_int_equal(server.space.counters.ops[DS_PACKET_FETCH_ADD], 99);
    assert_int_equal(client->counts().sessions, 1);
}

void a_busy_server_is_asked_again(void **) {
    Pair pair;
    std::vector<Rdm> others;
    pair.options.timeout_ms = 300;
    for (uint32_t i = 0; i < DS_SESSIONS_PEER_MAX; i++) {
        others.push_back(pair.open());
        others.back().alloc(1).or_throw();
    }
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 1);
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
        cmocka_unit_test(a_lost_session_is_opened_again),
        cmocka_unit_test(an_answer_that_never_comes_leaves_doubt),
        cmocka_unit_test(what_was_sent_twice_is_not_made_in_a_new_session),
        cmocka_unit_test(a_refusal_of_what_was_sent_twice),
        cmocka_unit_test(a_space_that_ends_after_the_change),
        cmocka_unit_test(version_1_remembers_nothing),
        cmocka_unit_test(old_replies_answer_nothing),
        cmocka_unit_test(no_two_requests_are_alike),
        cmocka_unit_test(writes_that_were_given_up_take_no_room),
        cmocka_unit_test(parts_of_what_was_refused_take_no_room),
        cmocka_unit_test(what_was_given_up_ends_no_other),
        cmocka_unit_test(a_busy_server_is_asked_again),
        cmocka_unit_test(a_busy_server_may_be_free_in_time),
        cmocka_unit_test(messages_hold_many_packets),
        cmocka_unit_test(what_a_peer_did_not_get_did_not_happen),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
