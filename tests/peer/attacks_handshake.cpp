// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Attacks on the handshake, by a host that has no key or does not keep the rules.
 */
#include <algorithm>
#include <functional>

#include "attack.hpp"

namespace peer {

namespace {

// A new control connection, one message, its end.
Ending ending_after(const Target &t, const Bytes &message) {
    Client client = t.client();
    client.connect();
    client.send_raw(message);
    return client.ending();
}

Message hello_message(Client &client) {
    return make_message(DS_MSG_HELLO, bytes_of(client.hello()), 0, 0, client.epoch());
}

// HELLO with one thing wrong.
void wrong_hello(const Target &t, std::optional<unsigned> reason, const std::string &what,
                 const std::function<void(ds_hello &, Message &)> &change) {
    Client client = t.client();
    client.connect();
    ds_hello hello = client.hello();
    Message message = hello_message(client);
    change(hello, message);
    message.payload = bytes_of(hello);
    client.send_raw(pack(message));
    expect_end(client.ending(), reason, what);
}

void wrong_key(const Target &t) {
    Client client = t.client();
    client.connect();
    Message reply = client.hello_reply();
    Key key = t.key;
    key[0] ^= 1;
    Mac mac = proof(key, "client", client.handshake().hello, struct_of<ds_hello>(reply.payload));
    client.send(make_message(DS_MSG_AUTH, bytes_of(mac), 0, 0, client.epoch()));
    expect_end(client.ending(), DS_REJECT_AUTH, "AUTH with a key that differs in one bit");
}

void unknown_domain(const Target &t) {
    for (std::uint32_t domain : {0u, 7u, 0xffffffffu})
        wrong_hello(t, DS_REJECT_DOMAIN, "domain " + std::to_string(domain),
                    [=](ds_hello &h, Message &) { h.domain = domain; });
}

// The key of one domain does not open another.
void other_domains_key(const Target &t) {
    Identity self = t.identity();
    self.host.domain = Target::other_domain;
    Client client(t.address, self);
    client.connect();
    Message reply = client.hello_reply();
    Mac mac = proof(t.key, "client", client.handshake().hello, struct_of<ds_hello>(reply.payload));
    client.send(make_message(DS_MSG_AUTH, bytes_of(mac), 0, 0, client.epoch()));
    expect_end(client.ending(), DS_REJECT_AUTH, "AUTH for domain 2 with the key of domain 1");
}

// Whose key was proved when the hello came is not the domain that was made since.
void replaced_key(const Target &t) {
    const std::string add = "dsctl -q node domain add 9 --key ", del = "dsctl -q node domain del 9";
    Identity self = t.identity();
    self.host.domain = 9;
    t.run(add + "/run/domain1.key");
    Client client(t.address, self);
    client.connect();
    Message reply = client.hello_reply();
    t.run(del);
    t.run(add + "/run/domain2.key");
    Mac mac = proof(t.key, "client", client.handshake().hello, struct_of<ds_hello>(reply.payload));
    client.send(make_message(DS_MSG_AUTH, bytes_of(mac), 0, 0, client.epoch()));
    expect_end(client.ending(), {}, "AUTH with the key of before");
    t.run(del);
}

void short_hellos(const Target &t) {
    Client maker = t.client();
    Bytes whole = bytes_of(maker.hello());
    for (std::size_t size = 0; size < whole.size(); size += size < 124 ? 4 : 1) {
        Bytes part(whole.begin(), whole.begin() + static_cast<long>(size));
        expect_end(ending_after(t, pack(make_message(DS_MSG_HELLO, part, 0, 0, maker.epoch()))),
                   DS_REJECT_MAGIC, "HELLO of " + std::to_string(size) + " bytes");
    }
}

void short_headers(const Target &t) {
    Client maker = t.client();
    Bytes whole = pack(hello_message(maker));
    for (std::size_t size = 0; size < sizeof(ds_msg_hdr); size += size < 24 ? 8 : 1)
        expect_end(ending_after(t, Bytes(whole.begin(), whole.begin() + static_cast<long>(size))),
                   {}, "a message of " + std::to_string(size) + " bytes");
}

void long_hellos(const Target &t) {
    Client maker = t.client();
    for (std::size_t size : {129, 136, 1024, DS_MSG_MAX_PAYLOAD}) {
        Bytes payload = bytes_of(maker.hello());
        payload.resize(size);
        expect_end(ending_after(t, pack(make_message(DS_MSG_HELLO, payload, 0, 0, maker.epoch()))),
                   DS_REJECT_MAGIC, "HELLO of " + std::to_string(size) + " bytes");
    }
}

void too_long(const Target &t) {
    Client maker = t.client();
    for (std::size_t size : {DS_MSG_MAX_PAYLOAD + 1, 8000}) {
        Bytes payload(size);
        expect_end(ending_after(t, pack(make_message(DS_MSG_HELLO, payload, 0, 0, maker.epoch()))),
                   {}, "a message with a payload of " + std::to_string(size) + " bytes");
    }
}

void length_lies(const Target &t) {
    Client maker = t.client();
    for (std::uint32_t length : {0u, 127u, 129u, 4097u, 0x80000080u, 0xffffffffu}) {
        Message message = hello_message(maker);
        message.hdr.length = length;
        expect_end(ending_after(t, pack(message)), {},
                   "HELLO that says " + std::to_string(length) + " bytes");
    }
}

void identity_fields(const Target &t) {
    Client server = t.client();
    server.connect();
    ds_hello theirs = struct_of<ds_hello>(server.hello_reply().payload);
    using Change = std::function<void(ds_hello &, Message &)>;
    const std::tuple<const char *, unsigned, Change> fields[] = {
        {"incarnation", DS_REJECT_MAGIC, [](ds_hello &h, Message &) { h.incarnation ^= 1; }},
        {"epoch", DS_REJECT_MAGIC, [](ds_hello &, Message &m) { m.hdr.epoch ^= 1; }},
        {"group", DS_REJECT_GROUP, [](ds_hello &h, Message &) { h.group ^= 1; }},
        {"node 0", DS_REJECT_NODE, [](ds_hello &h, Message &) { h.node = 0; }},
        {"node 65536", DS_REJECT_NODE, [](ds_hello &h, Message &) { h.node = 65536; }},
        {"the server's node", DS_REJECT_NODE,
         [&](ds_hello &h, Message &) { h.node = theirs.node; }},
        {"the server's uuid", DS_REJECT_NODE,
         [&](ds_hello &h, Message &) { std::copy_n(theirs.uuid, sizeof(h.uuid), h.uuid); }},
        {"page size", DS_REJECT_PLATFORM, [](ds_hello &h, Message &) { h.page_size = 65536; }},
        {"byte order", DS_REJECT_PLATFORM, [](ds_hello &h, Message &) { h.order = 0x04030201; }},
        {"a first MAC byte", DS_REJECT_MAGIC, [](ds_hello &h, Message &) { h.mac[0] = 1; }},
        {"a last MAC byte", DS_REJECT_MAGIC, [](ds_hello &h, Message &) { h.mac[31] = 1; }},
    };
    for (const auto &[name, reason, change] : fields)
        wrong_hello(t, reason, std::string("HELLO with a wrong field: ") + name, change);
    for (std::size_t i = 0; i < sizeof(theirs.reserved); i++)
        wrong_hello(t, DS_REJECT_MAGIC, "HELLO with a reserved byte",
                    [=](ds_hello &h, Message &) { h.reserved[i] = 1; });
}

void header_fields(const Target &t) {
    using Change = std::function<void(ds_msg_hdr &)>;
    const std::pair<const char *, Change> fields[] = {
        {"magic", [](ds_msg_hdr &h) { h.magic ^= 1; }},
        {"version 0", [](ds_msg_hdr &h) { h.version = 0; }},
        {"version 1", [](ds_msg_hdr &h) { h.version = 1; }},
        {"version 3", [](ds_msg_hdr &h) { h.version = 3; }},
        {"type 0", [](ds_msg_hdr &h) { h.type = 0; }},
        {"type 10", [](ds_msg_hdr &h) { h.type = 10; }},
        {"type 255", [](ds_msg_hdr &h) { h.type = 255; }},
        {"service", [](ds_msg_hdr &h) { h.service = 1; }},
        {"status", [](ds_msg_hdr &h) { h.status = 1; }},
        {"seq", [](ds_msg_hdr &h) { h.seq = 1; }},
    };
    for (const auto &[name, change] : fields)
        wrong_hello(t, {}, std::string("HELLO with a wrong header: ") + name,
                    [&](ds_hello &, Message &m) { change(m.hdr); });
}

// A host that proves its key, and says that it is the one that uses the memory.
void taken_number(const Target &t) {
    Identity self = t.identity();
    self.host.node = Target::honest_node;
    Client client(t.address, self);
    client.connect();
    Message reply = client.hello_reply();
    Mac mac = proof(t.key, "client", client.handshake().hello, struct_of<ds_hello>(reply.payload));
    client.send(make_message(DS_MSG_AUTH, bytes_of(mac), 0, 0, client.epoch()));
    expect_end(client.ending(), DS_REJECT_NODE, "the number of a connected host");
}

// A uuid is no secret: a host of another domain has it, and the number, of one that is connected.
void taken_uuid(const Target &t) {
    Client victim = t.second_client();
    victim.open();
    Identity self = t.other_identity();
    std::memcpy(self.host.uuid, victim.self().host.uuid, sizeof(self.host.uuid));
    Client client({t.address.host, t.address.port, t.other_from}, self);
    client.connect();
    Message reply = client.hello_reply();
    Mac mac =
        proof(t.other_key, "client", client.handshake().hello, struct_of<ds_hello>(reply.payload));
    client.send(make_message(DS_MSG_AUTH, bytes_of(mac), 0, 0, client.epoch()));
    expect_end(client.ending(), DS_REJECT_NODE, "the number and uuid of a connected host");
    victim.heartbeat();
    // At its own address it is a host that is in two domains.
    Client both(t.address, self);
    both.open();
    both.heartbeat();
    victim.heartbeat();
}

// All that an earlier connection said, said again.
void replay(const Target &t) {
    Client first = t.client();
    first.connect();
    Message reply = first.hello_reply();
    Bytes hello =
        pack(make_message(DS_MSG_HELLO, bytes_of(first.handshake().hello), 0, 0, first.epoch()));
    ds_hs_out out;
    expect(!ds_hs_input(&first.handshake(), &reply.hdr, reply.payload.data(), &out), "no AUTH");
    Bytes auth = pack(make_message(DS_MSG_AUTH, bytes_of(out.payload.auth), 0, 0, first.epoch()));
    first.send_raw(auth);
    auto ok = first.receive();
    expect(ok && ok->hdr.type == DS_MSG_AUTH_OK, "the handshake to be replayed failed");
    first.control().disconnect();

    Client second = t.client();
    second.connect();
    second.send_raw(hello);
    auto again = second.receive();
    expect(again && again->hdr.type == DS_MSG_HELLO_REPLY, "no answer to a replayed HELLO");
    expect(again->payload != reply.payload, "the server used a nonce twice");
    second.send_raw(auth);
    expect_end(second.ending(), DS_REJECT_AUTH, "a replayed AUTH");
}

// The server's own words, sent back to it.
void reflection(const Target &t) {
    Client client = t.client();
    client.connect();
    Message reply = client.hello_reply();
    ds_hello theirs = struct_of<ds_hello>(reply.payload);
    client.send_raw(pack(reply));
    expect_end(client.ending(), DS_REJECT_MAGIC, "HELLO_REPLY sent back");

    Client auth = t.client();
    auth.connect();
    theirs = struct_of<ds_hello>(auth.hello_reply().payload);
    auth.send(
        make_message(DS_MSG_AUTH, Bytes(theirs.mac, theirs.mac + DS_MAC_LEN), 0, 0, auth.epoch()));
    expect_end(auth.ending(), DS_REJECT_AUTH, "the server's own proof as AUTH");

    wrong_hello(t, DS_REJECT_NODE, "the server's own hello as HELLO", [&](ds_hello &h, Message &m) {
        h = theirs;
        std::fill(std::begin(h.mac), std::end(h.mac), 0);
        m.hdr.epoch = h.incarnation;
    });
}

void wrong_order(const Target &t) {
    Client maker = t.client();
    const std::pair<ds_msg_type, std::size_t> first[] = {{DS_MSG_AUTH, DS_MAC_LEN},
                                                         {DS_MSG_AUTH_OK, sizeof(ds_auth_ok)},
                                                         {DS_MSG_HELLO_REPLY, sizeof(ds_hello)}};
    for (auto [type, size] : first)
        expect_end(ending_after(t, pack(make_message(type, Bytes(size), 0, 0, maker.epoch()))),
                   DS_REJECT_MAGIC, "type " + std::to_string(type) + " first");

    Client twice = t.client();
    twice.connect();
    twice.hello_reply();
    twice.send(hello_message(twice));
    expect_end(twice.ending(), DS_REJECT_MAGIC, "HELLO twice");

    Client after = t.client();
    after.connect();
    after.shake_hands();
    after.send(hello_message(after));
    expect_end(after.ending(), {}, "HELLO after the handshake");
}

void refuses_first(const Target &t) {
    for (std::uint32_t status : {0u, 7u, 99u, 0xffffffffu}) {
        Message message = make_message(DS_MSG_REFUSE);
        message.hdr.status = status;
        expect_end(ending_after(t, pack(message)), {}, "REFUSE from the client");
    }
}

void auth_skipped(const Target &t) {
    for (ds_msg_type type : {DS_MSG_REQUEST, DS_MSG_ONE_WAY, DS_MSG_RESPONSE, DS_MSG_CREDIT}) {
        Message message = make_message(type);
        expect_end(ending_after(t, pack(message)), {},
                   "type " + std::to_string(type) + " instead of HELLO");
        Client client = t.client();
        client.connect();
        client.hello_reply();
        client.send(message);
        expect_end(client.ending(), {}, "type " + std::to_string(type) + " instead of AUTH");
    }
}

void attach_unproved(const Target &t) {
    Client client = t.client();
    client.connect();
    client.hello_reply();
    ds_seg_req req = {};
    req.verb = DS_SEG_ATTACH;
    req.segment = Target::scratch;
    client.send(make_message(DS_MSG_REQUEST, bytes_of(req), DS_SERVICE_SEGMENT, 1, client.epoch()));
    auto reply = client.receive();
    expect(!reply || reply->hdr.type == DS_MSG_REFUSE,
           "a host without a key got an answer to ATTACH");
    expect_end(client.ending(), {}, "ATTACH without AUTH");
}

// Neither a silent host nor one that stops half-way keeps its place for long.
void silence(const Target &t) {
    Client mute = t.client(), half = t.client();
    auto start = Clock::now();
    mute.connect();
    half.connect();
    half.hello_reply();
    for (Client *client : {&mute, &half}) {
        Ending ending = client->ending(9s);
        auto took = std::chrono::duration_cast<Millis>(Clock::now() - start);
        expect(ending.closed && took >= 4s, "a silent host's connection was " + describe(ending) +
                                                " after " + std::to_string(took.count()) + " ms");
    }
}

const Attack attacks[] = {
    {"AUTH with a key that differs in one bit", "refused: AUTH", wrong_key},
    {"HELLO for an unknown domain", "refused: DOMAIN", unknown_domain},
    {"AUTH with a key that was replaced since HELLO", "closed", replaced_key},
    {"AUTH for one domain with the key of another", "refused: AUTH", other_domains_key},
    {"HELLO cut off at each length", "refused: MAGIC", short_hellos},
    {"message cut off within its header", "closed", short_headers},
    {"HELLO that is longer", "refused: MAGIC", long_hellos},
    {"message longer than any buffer", "closed", too_long},
    {"HELLO whose header lies about its length", "closed", length_lies},
    {"HELLO with each field wrong", "refused with that field's reason", identity_fields},
    {"HELLO with each header field wrong", "closed", header_fields},
    {"HELLO with the number of a connected host", "refused: NODE", taken_number},
    {"HELLO with the number and uuid of a host of another domain", "refused: NODE", taken_uuid},
    {"HELLO and AUTH of an earlier connection", "new nonce; refused: AUTH", replay},
    {"the server's own messages sent back", "refused: MAGIC, AUTH, NODE", reflection},
    {"handshake messages in the wrong order", "refused: MAGIC", wrong_order},
    {"REFUSE from the client", "closed", refuses_first},
    {"messages instead of HELLO or AUTH", "closed", auth_skipped},
    {"ATTACH without AUTH", "no answer; closed", attach_unproved},
    {"silence instead of HELLO, and instead of AUTH", "closed after 5 s", silence},
};

}  // namespace

void expect_end(const Ending &ending, std::optional<unsigned> reason, const std::string &what) {
    expect(ending.closed && ending.reason == reason,
           what + ": the connection was " + describe(ending) + ", not closed" +
               (reason ? std::string(" after REFUSE ") + reject_name(*reason) : ""));
}

std::span<const Attack> handshake_attacks() {
    return attacks;
}

}  // namespace peer
