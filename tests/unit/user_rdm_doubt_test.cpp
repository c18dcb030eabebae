// SPDX-License-Identifier: Apache-2.0
// The client of the packet service where answers do not come, come late, or are another's: what
// it says has happened has, once, and where it cannot know it says so.
#include <algorithm>
#include <memory>

#include "rdm/client.hpp"
#include "user_cmocka.hpp"
#include "user_rdm_server.hpp"

namespace {

using namespace rdmtest;
using ds::rdm::Client;

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

/// Whoever is on the path may drop requests, and change or drop replies.
class MeddledLink : public NetworkLink {
public:
    using NetworkLink::NetworkLink;
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
    /// The server's answer to @p p, which did not get it.
    void refuse(const ds_packet &p, uint16_t status) {
        Packet packet(sizeof(ds_packet2_header));
        ds_packet reply = p;
        reply.status = status;
        reply.part = 0;
        ds_packet2_build(packet.data(), &reply, true, nullptr);
        replayed.push_back(packet);
    }
    std::function<bool(const ds_packet &, Bytes)> out;  // false: drops it
    std::function<bool(Packet &)> in;
    std::deque<Packet> replayed;

private:
    Packet mine_;
};

/// A client of version 2, and the link by which it reaches the server.
template <class MyLink>
struct Reached {
    Reached(Server &server, uint32_t timeout_ms, const uint8_t *with_key = nullptr) {
        auto made = std::make_unique<MyLink>(server, 2, 1472, Weather{}, 1);
        link = made.get();
        client = client_on(std::move(made), timeout_ms, with_key);
    }
    MyLink *link;
    std::unique_ptr<Client> client;
};

ds_packet parsed(Bytes packet, bool reply) {
    ds_packet p;
    auto size = static_cast<uint32_t>(packet.size());
    assert_int_equal(ds_packet2_parse(packet.data(), size, reply, &p), size);
    return p;
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

void an_answer_that_never_comes_leaves_doubt(void **) {
    Server server;
    Reached<DeafLink> by(server, 1000);
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 1);

    assert_int_equal(by.client->execute({&alloc, 1}, 1), 0);
    by.link->lose = 1000;
    assert_int_equal(by.client->execute({&alloc, 1}, 1), -ETIMEDOUT);
    assert_int_equal(alloc.outcome, DS_UNKNOWN);
    assert_int_equal(server.space.counters.ops[DS_PACKET_ALLOC], 2);
    by.link->lose = 0;
    assert_int_equal(by.client->execute({&alloc, 1}, 1), 0);
    assert_int_equal(server.space.counters.ops[DS_PACKET_ALLOC], 3);
}

// It has executed what was sent first, and then forgotten.
void what_was_sent_twice_is_not_made_in_a_new_session(void **) {
    Server server;
    Reached<DeafLink> by(server, 20'000);
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 1);

    assert_int_equal(by.client->execute({&alloc, 1}, 1), 0);
    by.link->lose = 1;
    by.link->then = [&] { server.forget_sessions(); };
    assert_int_equal(by.client->execute({&alloc, 1}, 1), -ECONNRESET);
    assert_int_equal(alloc.reason, DS_PACKET_SESSION);
    assert_int_equal(alloc.outcome, DS_UNKNOWN);
    assert_int_equal(server.space.counters.ops[DS_PACKET_ALLOC], 2);
    assert_int_equal(by.client->execute({&alloc, 1}, 1), 0);
    assert_int_equal(by.client->counts().sessions, 2);
}

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
            Reached<MeddledLink> by(server, 20'000);
            unsigned seen = 0;
            by.link->in = [&](Packet &packet) {
                ds_packet p;
                ds_packet2_parse(packet.data(), static_cast<uint32_t>(packet.size()), true, &p);
                if (p.op != DS_PACKET_ALLOC)
                    return true;
                p.status = static_cast<u16>(reason);
                ds_packet2_build(packet.data(), &p, true, nullptr);
                return first || ++seen > 1;
            };
            ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 1);
            assert_true(by.client->execute({&alloc, 1}, 1) < 0);
            assert_int_equal(alloc.reason, reason);
            if (!first || by.client->counts().resent == 0)
                assert_int_equal(alloc.outcome, one && !first ? DS_UNKNOWN : DS_NOT_EXECUTED);
        }
    }
}

void a_space_that_ends_after_the_change(void **) {
    Server server;
    Reached<DeafLink> by(server, 20'000);
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 8);

    assert_int_equal(by.client->execute({&alloc, 1}, 1), 0);
    ds_rdm_request add = request_of(DS_PACKET_FETCH_ADD, alloc.address, 8);
    by.link->lose = 1;
    by.link->then = [&] { server.space.attr.tenant++; };
    assert_int_equal(by.client->execute({&add, 1}, 1), -ENOENT);
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

// A client does what another has done, but its requests are lost, and what comes are the
// replies of then: the same opcode, space, tenant and address, and a MAC that is right.
void old_replies_answer_nothing(void **) {
    Server server(1 << 20, key);
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 4096);
    Reached<MeddledLink> owner(server, 20'000, key);
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
        Reached<MeddledLink> before(server, 20'000, key), now(server, 200, key);
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
        Reached<MeddledLink> by(server, 20'000);
        by.link->out = [&](const ds_packet &p, Bytes) {
            sessions.push_back(p.session);
            tags.push_back(p.tag);
            return true;
        };
        ds_rdm_request two[] = {request_of(DS_PACKET_PING), request_of(DS_PACKET_PING)};
        assert_int_equal(by.client->execute(two, 1), 0);
        if (by.client->counts().resent)
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
    Reached<MeddledLink> by(server, 500);
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 65536);
    std::vector<uint8_t> old(8192, 1), fresh(8192, 2), in(8192);
    std::vector<Packet> held;

    assert_int_equal(by.client->execute({&alloc, 1}, 1), 0);
    std::vector<ds_rdm_request> writes(
        DS_SESSION_PARTED, request_of(DS_PACKET_WRITE, alloc.address, old.size(), old.data()));
    by.link->out = [&](const ds_packet &p, Bytes bytes) {
        if (p.op != DS_PACKET_WRITE || p.offset + p.part != p.length)
            return true;
        held.emplace_back(bytes.begin(), bytes.end());
        return false;
    };
    assert_int_equal(by.client->execute(writes, 64), -ETIMEDOUT);
    for (const ds_rdm_request &r : writes)
        assert_int_equal(r.outcome, DS_UNKNOWN);

    by.link->out = nullptr;
    for (ds_rdm_request &r : writes)
        r.data = fresh.data();
    assert_int_equal(by.client->execute(writes, 64), 0);
    assert_int_equal(by.client->counts().sessions, 1);
    for (const Packet &packet : held)
        server.serve(packet, 2, 1472, [&](const Packet &reply) {
            assert_int_equal(parsed(reply, true).status, DS_PACKET_SEQUENCE);
        });
    ds_rdm_request read = request_of(DS_PACKET_READ, alloc.address, in.size(), in.data());
    assert_int_equal(by.client->execute({&read, 1}, 1), 0);
    assert_true(in == fresh);
}

// The same when it is the server that wants no more of it.
void parts_of_what_was_refused_take_no_room(void **) {
    Server server;
    Reached<MeddledLink> by(server, 500);
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 65536);
    std::vector<uint8_t> data(8192, 1);
    bool refuse = true;

    assert_int_equal(by.client->execute({&alloc, 1}, 1), 0);
    // The first part takes too much memory, the others do not.
    by.link->out = [&](const ds_packet &p, Bytes) {
        if (!refuse || p.op != DS_PACKET_WRITE || p.offset)
            return true;
        by.link->refuse(p, DS_PACKET_MEMORY);
        return false;
    };
    ds_rdm_request write = request_of(DS_PACKET_WRITE, alloc.address, data.size(), data.data());
    for (uint32_t i = 0; i < DS_SESSION_PARTED; i++)
        assert_int_equal(by.client->execute({&write, 1}, 1), -ENOMEM);
    refuse = false;
    assert_int_equal(by.client->execute({&write, 1}, 1), 0);
    assert_int_equal(by.client->counts().sessions, 1);
}

// A change that still waits for its answer is within the window, whatever was given up after it:
// it ends as it would have without.
void what_was_given_up_ends_no_other(void **) {
    Server server;
    Reached<MeddledLink> by(server, 20'000);
    ds_rdm_request alloc = request_of(DS_PACKET_ALLOC, 0, 65536);
    unsigned lose = 1;

    assert_int_equal(by.client->execute({&alloc, 1}, 1), 0);
    // The first FETCH_ADD is made, and its answer is lost; the CAS after it finds no room in a
    // packet; many more come.
    by.link->in = [&](Packet &packet) {
        return parsed(packet, true).op != DS_PACKET_FETCH_ADD || !lose || !lose--;
    };
    by.link->out = [&](const ds_packet &p, Bytes) {
        if (p.op != DS_PACKET_CAS)
            return true;
        by.link->refuse(p, DS_PACKET_MTU);
        return false;
    };
    std::vector<ds_rdm_request> many(100, request_of(DS_PACKET_FETCH_ADD, alloc.address, 8));
    for (ds_rdm_request &r : many)
        r.operand = 1;
    many[1] = request_of(DS_PACKET_CAS, alloc.address, 8);
    assert_int_equal(by.client->execute(many, 2), -EMSGSIZE);
    for (size_t i = 0; i < many.size(); i++)
        assert_int_equal(many[i].status, i == 1 ? -EMSGSIZE : 0);
    assert_int_equal(server.space.counters.ops[DS_PACKET_FETCH_ADD], 99);
    assert_int_equal(by.client->counts().sessions, 1);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
