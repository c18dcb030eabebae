// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Attacks by one-sided operations: whatever they try, memory that was not
 * granted does not change, and the connection that tried it ends.
 */
#include <algorithm>
#include <functional>
#include <thread>

#include "attack.hpp"

namespace peer {

namespace {

using Act = std::function<int(Client &, const Keys &)>;

const Bytes mark(64, 0xee);

std::string hex(std::uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

// A connection of its own does what must fail and breaks by it: the lane at
// once, the rest when the server has seen it.
void fails(const Target &t, Target::Segment segment, const std::string &what, const Act &act) {
    Client client = t.client();
    client.open();
    Keys keys = client.attach(segment);
    int status = act(client, keys);
    expect(status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR ||
               status == IBV_WC_REM_OP_ERR,
           what + " gave status " + std::to_string(status));
    Bytes bytes(8);
    expect(client.bulk().read(0, keys.rkeys[0], bytes), what + " left the lane usable");
    expect_end(client.ending(), {}, what);
}

Bytes content(const Target &t, Target::Segment segment, std::uint64_t at, std::size_t size) {
    Client client = t.client();
    client.open();
    Keys keys = client.attach(segment);
    Bytes bytes(size);
    expect(!client.bulk().read(at, keys.rkeys.at(at / keys.chunk_size()), bytes), "a READ failed");
    return bytes;
}

int write(Client &client, std::uint64_t at, std::uint32_t key) {
    return client.bulk().write(at, key, mark);
}

void past_the_end(const Target &t) {
    constexpr std::uint64_t end = Target::scratch_length;
    Bytes before = content(t, Target::scratch, end - 64, 64);
    const std::uint64_t places[] = {end - 32, end, end + (1 << 20), 1ULL << 63, ~0ULL - 31};
    for (std::uint64_t at : places)
        fails(t, Target::scratch, "WRITE at " + hex(at),
              [&](Client &c, const Keys &k) { return write(c, at, k.rkeys.back()); });
    fails(t, Target::scratch, "READ across the end", [&](Client &c, const Keys &k) {
        Bytes bytes(64);
        return c.bulk().read(end - 32, k.rkeys.back(), bytes);
    });
    fails(t, Target::scratch, "FETCH_ADD at the end", [&](Client &c, const Keys &k) {
        std::uint64_t old;
        return c.bulk().fetch_add(end, k.rkeys.back(), 1, old);
    });
    expect(content(t, Target::scratch, end - 64, 64) == before, "the segment's end has changed");
}

void other_chunk(const Target &t) {
    fails(t, Target::scratch, "a key with another chunk's address",
          [](Client &c, const Keys &k) { return write(c, k.chunk_size(), k.rkeys[0]); });
    fails(t, Target::scratch, "a WRITE across two chunks",
          [](Client &c, const Keys &k) { return write(c, k.chunk_size() - 32, k.rkeys[0]); });
}

void read_only(const Target &t) {
    Bytes before = content(t, Target::read_only, 0, 64);
    std::uint64_t old;
    fails(t, Target::read_only, "WRITE",
          [](Client &c, const Keys &k) { return write(c, 0, k.rkeys[0]); });
    fails(t, Target::read_only, "CAS", [&](Client &c, const Keys &k) {
        return c.bulk().compare_swap(0, k.rkeys[0], 0, 1, old);
    });
    fails(t, Target::read_only, "FETCH_ADD",
          [&](Client &c, const Keys &k) { return c.bulk().fetch_add(0, k.rkeys[0], 1, old); });
    expect(content(t, Target::read_only, 0, 64) == before, "read-only memory has changed");
}

void no_atomic(const Target &t) {
    Bytes before = content(t, Target::no_atomic, 0, 64);
    std::uint64_t old;
    fails(t, Target::no_atomic, "CAS", [&](Client &c, const Keys &k) {
        return c.bulk().compare_swap(0, k.rkeys[0], 0, 1, old);
    });
    fails(t, Target::no_atomic, "FETCH_ADD",
          [&](Client &c, const Keys &k) { return c.bulk().fetch_add(0, k.rkeys[0], 1, old); });
    expect(content(t, Target::no_atomic, 0, 64) == before, "memory without atomics has changed");
}

// A key that is right, on a queue pair of another trust domain.
void foreign_key(const Target &t) {
    Client owner(t.address, t.other_identity());
    owner.open();
    Keys stolen = owner.attach(Target::foreign);
    Bytes before(64), after(64);
    expect(!owner.bulk().read(0, stolen.rkeys[0], before), "a READ in domain 2 failed");
    fails(t, Target::scratch, "WRITE with a key of domain 2",
          [&](Client &c, const Keys &) { return write(c, 0, stolen.rkeys[0]); });
    fails(t, Target::scratch, "READ with a key of domain 2", [&](Client &c, const Keys &) {
        Bytes bytes(64);
        return c.bulk().read(0, stolen.rkeys[0], bytes);
    });
    expect(!owner.bulk().read(0, stolen.rkeys[0], after) && before == after,
           "memory of domain 2 has changed");
}

void control_lane(const Target &t) {
    Client prover = t.client();
    prover.open();
    int denied = prover.control().qp().write(0, prover.attach(Target::scratch).rkeys[0], mark);
    expect(denied == IBV_WC_REM_ACCESS_ERR || denied == IBV_WC_REM_INV_REQ_ERR ||
               denied == IBV_WC_REM_OP_ERR,
           "WRITE on the control lane gave status " + std::to_string(denied));
    expect_end(prover.ending(), {}, "WRITE on the control lane");
    // Before any proof, with a key that was seen on the network.
    Client client = t.second_client(), thief = t.client();
    client.open();
    Keys keys = client.attach(Target::scratch);
    thief.connect();
    int status = thief.control().qp().write(0, keys.rkeys[0], mark);
    expect(status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR ||
               status == IBV_WC_REM_OP_ERR,
           "a host without a proof wrote: status " + std::to_string(status));
    expect_end(thief.ending(), {}, "WRITE without a proof");
}

// Nobody reads messages on a data lane, short or long.
void sends_on_lane(const Target &t) {
    for (const Bytes &message : {Bytes(), mark}) {
        Client client = t.client();
        client.open();
        client.bulk(0).send(message);
        expect_end(client.ending(), {},
                   "SEND of " + std::to_string(message.size()) + " bytes on a data lane");
    }
}

// One lane is broken, by an access error, and the client says nothing of it.
// The server has posted nothing on that lane; it must see it all the same.
void broken_lane(const Target &t) {
    auto lanes = {std::function([](Client &c) -> Qp & { return c.bulk(1); }),
                  std::function([](Client &c) -> Qp & { return c.urgent(); })};
    for (const auto &lane : lanes) {
        Client client = t.client();
        client.open();
        Keys keys = client.attach(Target::read_only);
        expect(lane(client).write(0, keys.rkeys[0], mark), "read-only memory was written");
        expect_end(client.ending(6s), {}, "a connection with a broken lane");
    }
}

// SEND that asks the receiver's device to invalidate a key. Soft-RoCE looks the
// key up in all protection domains, so a host without any proof can do it; but
// it is closed, and those who used the key get a new one.
void remote_invalidate(const Target &t) {
    Client thief = t.client();
    {
        Client user = t.second_client();
        user.open();
        Keys keys = user.attach(Target::scratch);
        thief.connect();
        thief.control().qp().send(pack(make_message(DS_MSG_CREDIT)), IBV_WR_SEND_WITH_INV,
                                  keys.rkeys[0]);
        expect_end(thief.ending(), {}, "SEND_WITH_INV");
    }
    Client user = t.second_client();
    user.open();
    Keys keys = user.attach(Target::scratch);
    expect(!write(user, 0, keys.rkeys[0]), "after a new ATTACH the key is dead");
}

void after_detach(const Target &t) {
    fails(t, Target::scratch, "WRITE after DETACH", [](Client &c, const Keys &k) {
        c.detach(Target::scratch);
        return write(c, 0, k.rkeys[0]);
    });
}

// The attacher does not answer REVOKE and goes on writing.
void after_revoke(const Target &t) {
    Client stubborn = t.client();
    stubborn.open();
    Keys old = stubborn.attach(Target::revoked);
    expect(!write(stubborn, 0, old.rkeys[0]), "a WRITE before the revoke failed");
    Bytes blank(64, 0x11);
    expect(!stubborn.bulk().write(0, old.rkeys[0], blank), "a WRITE before the revoke failed");
    t.run("dsctl seg revoke " + std::to_string(Target::revoked));
    auto told = stubborn.receive();
    expect(told && told->hdr.type == DS_MSG_REQUEST && told->hdr.service == DS_SERVICE_REVOKE &&
               struct_of<ds_seg_revoke>(told->payload).segment == Target::revoked,
           "no REVOKE came");
    int status = write(stubborn, 0, old.rkeys[0]);
    expect(status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR ||
               status == IBV_WC_REM_OP_ERR,
           "a WRITE after the revoke gave status " + std::to_string(status));

    fails(t, Target::revoked, "a revoked key on another connection", [&](Client &c, const Keys &k) {
        expect(k.rkeys != old.rkeys, "the keys after the revoke are those of before");
        return write(c, 0, old.rkeys[0]);
    });
    expect(content(t, Target::revoked, 0, 64) == blank, "a WRITE after the revoke was executed");
}

// Keys next to a good one. Each guess costs the guesser its connection.
void guessed_keys(const Target &t) {
    for (std::uint32_t step = 1; step <= 32; step++)
        fails(t, Target::scratch, "key guess " + std::to_string(step),
              [&](Client &c, const Keys &k) {
                  Bytes bytes(64);
                  return c.bulk().read(0, (k.rkeys[0] & ~0xffu) | ((k.rkeys[0] + step * 7) & 0xff),
                                       bytes);
              });
}

const Attack attacks[] = {
    {"access past the end of a segment", "access error; nothing written", past_the_end},
    {"key of a chunk with another chunk's address", "access error", other_chunk},
    {"WRITE and atomics on a read-only segment", "access error; nothing written", read_only},
    {"atomics on a segment without them", "access error; nothing written", no_atomic},
    {"key of another domain", "access error; nothing written", foreign_key},
    {"WRITE on the control lane", "access error; closed", control_lane},
    {"SEND on a data lane", "closed", sends_on_lane},
    {"access error on the second and on the urgent lane", "closed within 6 s", broken_lane},
    {"SEND_WITH_INV of a key in use", "closed; a new ATTACH gives a good key", remote_invalidate},
    {"key after DETACH", "access error", after_detach},
    {"key after a revoke that is not answered", "access error; nothing written; new keys",
     after_revoke},
    {"32 guessed keys", "access error each", guessed_keys},
};

}  // namespace

std::span<const Attack> memory_attacks() {
    return attacks;
}

}  // namespace peer
