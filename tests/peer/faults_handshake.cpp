// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * How a server misbehaves while a host connects to it.
 */
#include <algorithm>
#include <cerrno>

#include "server.hpp"

namespace peer {

namespace {

using Answers = std::vector<Message>;
using Step = std::function<void(Session &, Answers &)>;
using AcceptStep = std::function<void(Acceptance &)>;

void silence(Acceptance &a) {
    a.what = Acceptance::silence;
}

// The private data of the acceptance, with one thing wrong.
AcceptStep wrong_rep(const std::function<void(ds_cm_rep &)> &change) {
    return [=](Acceptance &a) {
        auto rep = struct_of<ds_cm_rep>(a.data);
        change(rep);
        a.data = bytes_of(rep);
    };
}

AcceptStep reject(unsigned reason) {
    return [=](Acceptance &a) {
        ds_cm_rep rep;
        ds_hs_make_rep(&rep, ds_reject(reason));
        a = {Acceptance::reject, bytes_of(rep)};
    };
}

AcceptStep reject_without_words() {
    return [](Acceptance &a) { a = {Acceptance::reject, {}}; };
}

// Change the answer of this type, if it is among what is about to be sent.
Step on(ds_msg_type type, const std::function<void(Session &, Message &, Answers &)> &change) {
    return [=](Session &session, Answers &answers) {
        Answers all = answers;
        for (std::size_t i = 0; i < all.size(); i++)
            if (all[i].hdr.type == type)
                change(session, answers[i], answers);
    };
}

Step drop(ds_msg_type type) {
    return on(type, [](Session &, Message &, Answers &all) { all.clear(); });
}

Step payload_of(ds_msg_type type, std::size_t size) {
    return on(type, [=](Session &, Message &m, Answers &) {
        m.payload.resize(size);
        m.hdr.length = static_cast<std::uint32_t>(size);
    });
}

Step header(ds_msg_type type, const std::function<void(ds_msg_hdr &)> &change) {
    return on(type, [=](Session &, Message &m, Answers &) { change(m.hdr); });
}

// HELLO_REPLY with a wrong field and, unless it is the proof, a right proof over it.
Step reply(const std::function<void(Session &, ds_hello &)> &change, bool prove = true) {
    return on(DS_MSG_HELLO_REPLY, [=](Session &session, Message &m, Answers &) {
        auto hello = struct_of<ds_hello>(m.payload);
        if (prove)
            std::fill(std::begin(hello.mac), std::end(hello.mac), 0);
        change(session, hello);
        if (prove) {
            Mac mac = proof(session.self().key, "server", session.clients_hello(), hello);
            std::copy(mac.begin(), mac.end(), hello.mac);
        }
        m.payload = bytes_of(hello);
    });
}

Step auth_ok(const std::function<void(ds_auth_ok &)> &change) {
    return on(DS_MSG_AUTH_OK, [=](Session &, Message &m, Answers &) {
        auto ok = struct_of<ds_auth_ok>(m.payload);
        change(ok);
        m.payload = bytes_of(ok);
    });
}

Step after_auth_ok(const std::function<void(Session &, Answers &)> &add) {
    return on(DS_MSG_AUTH_OK, [=](Session &s, Message &, Answers &all) { add(s, all); });
}

Message refuse(std::uint32_t status, std::uint64_t epoch) {
    Message m = make_message(DS_MSG_REFUSE, {}, 0, 0, epoch);
    m.hdr.status = status;
    return m;
}

// A message of the handshake that answers nothing.
Message unasked(ds_msg_type type, std::size_t size) {
    return make_message(type, Bytes(size));
}

Step refuse_instead(std::uint32_t status) {
    return [=](Session &s, Answers &all) { all = {refuse(status, s.epoch())}; };
}

// The end right behind the refusal: the reason must not be lost over it.
Step refuse_and_leave(std::uint32_t status) {
    return [=](Session &s, Answers &all) {
        all.clear();
        s.control().try_send(pack(refuse(status, s.epoch())));
        s.control().sent(Clock::now() + 2s);
        s.close();
    };
}

void another_key(Session &s, ds_hello &h) {
    Key key = s.self().key;
    key[31] ^= 0x80;
    ds_hello unproved = h;
    std::fill(std::begin(unproved.mac), std::end(unproved.mac), 0);
    Mac mac = proof(key, "server", s.clients_hello(), unproved);
    std::copy(mac.begin(), mac.end(), h.mac);
}

// A server may send requests as soon as it has sent AUTH_OK.
void early_requests(Session &s, Answers &all) {
    all.push_back(make_message(DS_MSG_REQUEST, {}, DS_SERVICE_LINK, 1, s.epoch()));
    all.push_back(make_message(DS_MSG_ONE_WAY, Bytes(64), 999, 0, s.epoch()));
}

void early_nonsense(Session &s, Answers &all) {
    for (std::uint64_t seq = 0; seq < 20; seq++) {
        Message credit = make_message(DS_MSG_CREDIT, {}, 0, 0, s.epoch());
        credit.hdr.credits = 65535;
        all.push_back(credit);
        all.push_back(
            make_message(DS_MSG_RESPONSE, Bytes(seq * 100), DS_SERVICE_SEGMENT, seq, s.epoch()));
    }
}

constexpr int refused = ECONNREFUSED, late = ETIMEDOUT;

const HandshakeFault faults[] = {
    {"a good server", 0, {}, {}, {}},
    {"requests at once after AUTH_OK", 0, {}, after_auth_ok(early_requests), {}},
    {"responses and credits that nobody asked for", 0, {}, after_auth_ok(early_nonsense), {}},
    {"a rejection without words", refused, reject_without_words(), {}, {}},
    {"a rejection for an unknown reason", refused, reject(99), {}, {}},
    {"a rejection for reason NONE", refused, reject(0), {}, {}},
    {"an acceptance with a wrong magic",
     refused,
     wrong_rep([](ds_cm_rep &r) { r.magic = 0; }),
     {},
     {}},
    {"an acceptance of version 3", refused, wrong_rep([](ds_cm_rep &r) { r.version = 3; }), {}, {}},
    {"an acceptance with a reason", refused, wrong_rep([](ds_cm_rep &r) { r.reason = 5; }), {}, {}},
    {"an acceptance with reserved bytes",
     refused,
     wrong_rep([](ds_cm_rep &r) { r.reserved[9] = 1; }),
     {},
     {}},
    {"no answer to the connection request", late, silence, {}, {}},
    {"no HELLO_REPLY", late, {}, drop(DS_MSG_HELLO_REPLY), {}},
    {"HELLO_REPLY proved with another key", refused, {}, reply(another_key, false), {}},
    {"HELLO_REPLY with a proof of zeros",
     refused,
     {},
     reply([](Session &, ds_hello &h) { std::fill(std::begin(h.mac), std::end(h.mac), 0); }, false),
     {}},
    {"HELLO_REPLY cut off", refused, {}, payload_of(DS_MSG_HELLO_REPLY, 127), {}},
    {"HELLO_REPLY that is longer", refused, {}, payload_of(DS_MSG_HELLO_REPLY, 129), {}},
    {"HELLO_REPLY longer than any buffer", late, {}, payload_of(DS_MSG_HELLO_REPLY, 5000), {}},
    {"HELLO_REPLY of another exchange",
     refused,
     {},
     header(DS_MSG_HELLO_REPLY, [](ds_msg_hdr &h) { h.epoch ^= 1; }),
     {}},
    {"HELLO_REPLY of version 3",
     late,
     {},
     header(DS_MSG_HELLO_REPLY, [](ds_msg_hdr &h) { h.version = 3; }),
     {}},
    {"HELLO_REPLY whose header lies about its length",
     late,
     {},
     header(DS_MSG_HELLO_REPLY, [](ds_msg_hdr &h) { h.length = 4096; }),
     {}},
    {"HELLO_REPLY of node 0", refused, {}, reply([](Session &, ds_hello &h) { h.node = 0; }), {}},
    {"HELLO_REPLY of node 65536",
     refused,
     {},
     reply([](Session &, ds_hello &h) { h.node = 65536; }),
     {}},
    {"HELLO_REPLY of the client's node",
     refused,
     {},
     reply([](Session &s, ds_hello &h) { h.node = s.clients_hello().node; }),
     {}},
    {"HELLO_REPLY of another peer's node",
     refused,
     {},
     reply([](Session &, ds_hello &h) { h.node = 2; }),
     {}},
    {"HELLO_REPLY of the client's uuid",
     refused,
     {},
     reply([](Session &s, ds_hello &h) { std::copy_n(s.clients_hello().uuid, 16, h.uuid); }),
     {}},
    {"HELLO_REPLY of another group",
     refused,
     {},
     reply([](Session &, ds_hello &h) { h.group ^= 1; }),
     {}},
    {"HELLO_REPLY for another domain",
     refused,
     {},
     reply([](Session &, ds_hello &h) { h.domain = 2; }),
     {}},
    {"HELLO_REPLY with another page size",
     refused,
     {},
     reply([](Session &, ds_hello &h) { h.page_size = 65536; }),
     {}},
    {"HELLO_REPLY with another byte order",
     refused,
     {},
     reply([](Session &, ds_hello &h) { h.order = 0x04030201; }),
     {}},
    {"HELLO_REPLY with reserved bytes",
     refused,
     {},
     reply([](Session &, ds_hello &h) { h.reserved[11] = 1; }),
     {}},
    {"the client's own HELLO as HELLO_REPLY",
     refused,
     {},
     reply([](Session &s, ds_hello &h) { h = s.clients_hello(); }, false),
     {}},
    {"REFUSE with status 0", refused, {}, refuse_instead(0), {}},
    {"REFUSE with an unknown status", refused, {}, refuse_instead(99), {}},
    {"REFUSE and the end of the connection at once",
     refused,
     {},
     refuse_and_leave(DS_REJECT_AUTH),
     {}},
    {"no AUTH_OK", late, {}, drop(DS_MSG_AUTH_OK), {}},
    {"AUTH_OK cut off", refused, {}, payload_of(DS_MSG_AUTH_OK, 271), {}},
    {"AUTH_OK with 0 lanes", refused, {}, auth_ok([](ds_auth_ok &a) { a.lanes = 0; }), {}},
    {"AUTH_OK with 33 lanes", refused, {}, auth_ok([](ds_auth_ok &a) { a.lanes = 33; }), {}},
    {"AUTH_OK with fewer lanes than agreed",
     refused,
     {},
     auth_ok([](ds_auth_ok &a) { a.lanes = 1; }),
     {}},
    {"AUTH_OK with 65535 lanes", refused, {}, auth_ok([](ds_auth_ok &a) { a.lanes = 65535; }), {}},
    {"AUTH_OK without an urgent cookie",
     refused,
     {},
     auth_ok([](ds_auth_ok &a) { a.urgent = 0; }),
     {}},
    {"AUTH_OK without a bulk cookie",
     refused,
     {},
     auth_ok([](ds_auth_ok &a) { a.bulk[1] = 0; }),
     {}},
    {"AUTH_OK with a cookie too many",
     refused,
     {},
     auth_ok([](ds_auth_ok &a) { a.bulk[31] = 1; }),
     {}},
    {"AUTH_OK with reserved bytes",
     refused,
     {},
     auth_ok([](ds_auth_ok &a) { a.reserved[5] = 1; }),
     {}},
    {"HELLO_REPLY before HELLO",
     refused,
     {},
     {},
     {},
     true,
     {unasked(DS_MSG_HELLO_REPLY, sizeof(ds_hello))}},
    {"AUTH_OK before HELLO",
     refused,
     {},
     {},
     {},
     true,
     {unasked(DS_MSG_AUTH_OK, sizeof(ds_auth_ok))}},
    {"REFUSE before HELLO", refused, {}, {}, {}, true, {refuse(DS_REJECT_BUSY, 0)}},
    {"no answers to heartbeats", 0, {}, {}, {}, false},
    {"lanes that are rejected", refused, {}, {}, reject(DS_REJECT_COOKIE)},
    {"lanes that are accepted with a wrong magic", refused, {}, {}, wrong_rep([](ds_cm_rep &r) {
         r.magic = 0;
     })},
    {"lanes that are not answered", late, {}, {}, silence},
    {"lanes that may have no READ under way", late, {}, {}, [](Acceptance &a) { a.depth = 0; }},
};

}  // namespace

std::span<const HandshakeFault> handshake_faults() {
    return faults;
}

}  // namespace peer
