// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Attacks by messages, from a host that has proved its key.
 */
#include <algorithm>
#include <cerrno>
#include <functional>
#include <thread>

#include "attack.hpp"

namespace peer {

namespace {

// One bad message on a connection that is up, and its end.
void closes(const Target &t, const std::string &what, const Bytes &bytes) {
    Client client = t.client();
    client.connect();
    client.shake_hands();
    client.send_raw(bytes);
    expect_end(client.ending(), {}, what);
}

void unknown_types(const Target &t) {
    for (int type : {0, 10, 128, 255}) {
        Message message = make_message(DS_MSG_REQUEST);
        message.hdr.type = static_cast<__u8>(type);
        closes(t, "a message of type " + std::to_string(type), pack(message));
    }
}

void wrong_lengths(const Target &t) {
    Message message = make_message(DS_MSG_REQUEST, Bytes(32), DS_SERVICE_SEGMENT, 1);
    for (std::uint32_t length : {0u, 31u, 33u, 4096u, 4097u, 0xffffffe0u, 0xffffffffu}) {
        message.hdr.length = length;
        closes(t, "a request that says " + std::to_string(length) + " bytes", pack(message));
    }
}

void oversize(const Target &t) {
    for (std::size_t size : {DS_MSG_MAX_PAYLOAD + 1, 8000})
        closes(t, "a request of " + std::to_string(size) + " bytes",
               pack(make_message(DS_MSG_REQUEST, Bytes(size), DS_SERVICE_LINK, 1)));
}

void unused_fields(const Target &t) {
    using Change = std::function<void(Message &)>;
    const std::tuple<const char *, ds_msg_type, Change> cases[] = {
        {"REQUEST with a status", DS_MSG_REQUEST, [](Message &m) { m.hdr.status = 1; }},
        {"ONE_WAY with a seq", DS_MSG_ONE_WAY, [](Message &m) { m.hdr.seq = 1; }},
        {"CREDIT with a service", DS_MSG_CREDIT, [](Message &m) { m.hdr.service = 1; }},
        {"CREDIT with a payload", DS_MSG_CREDIT,
         [](Message &m) { m = make_message(DS_MSG_CREDIT, Bytes(8)); }},
        {"REQUEST of version 3", DS_MSG_REQUEST, [](Message &m) { m.hdr.version = 3; }},
        {"REQUEST without the magic", DS_MSG_REQUEST, [](Message &m) { m.hdr.magic = 0; }},
    };
    for (const auto &[what, type, change] : cases) {
        Message message = make_message(type);
        change(message);
        closes(t, what, pack(message));
    }
}

void unasked_responses(const Target &t) {
    Client client = t.client();
    client.open();
    for (std::uint64_t i = 0; i < 200; i++) {
        std::uint64_t seq = i < 100 ? i : random_u64();
        Message message = make_message(DS_MSG_RESPONSE, Bytes(i * 16), DS_SERVICE_REVOKE, seq);
        message.hdr.status = static_cast<__u32>(i);
        client.send(message);
    }
    client.heartbeat();
}

void credit_overflow(const Target &t) {
    Client client = t.client();
    client.open();
    for (int i = 0; i < 200; i++) {
        Message message = make_message(DS_MSG_CREDIT);
        message.hdr.credits = 65535;
        client.send(message);
    }
    client.heartbeat();
}

void unknown_services(const Target &t) {
    Client client = t.client();
    client.open();
    for (int service : {5, 255, 256, 65535}) {
        auto number = static_cast<std::uint16_t>(service);
        client.send(make_message(DS_MSG_ONE_WAY, Bytes(100), number));
        Reply reply = client.request(number, Bytes(DS_MSG_MAX_PAYLOAD));
        expect(reply.status == -ECONNREFUSED, "service " + std::to_string(service) +
                                                  " answered with status " +
                                                  std::to_string(reply.status));
    }
}

void strange_revokes(const Target &t) {
    Client client = t.client();
    client.open();
    ds_seg_revoke revoke = {};
    revoke.segment = Target::honest;
    Reply reply = client.request(DS_SERVICE_REVOKE, bytes_of(revoke));
    expect(!reply.status, "REVOKE of a segment that is not used by us was refused");
    revoke.gone = 2;
    expect(client.request(DS_SERVICE_REVOKE, bytes_of(revoke)).status == -EINVAL,
           "gone = 2 was taken");
    revoke.gone = 0;
    revoke.reserved[6] = 1;
    expect(client.request(DS_SERVICE_REVOKE, bytes_of(revoke)).status == -EINVAL,
           "reserved bytes were taken");
    for (std::size_t size : {0, 15, 17})
        expect(client.request(DS_SERVICE_REVOKE, Bytes(size)).status == -EINVAL,
               "REVOKE of " + std::to_string(size) + " bytes was taken");
}

constexpr uint16_t unbound_service = 0x4242;

// Far more requests than credits allow: the queue pair makes the sender wait. (Of
// so many heartbeats the server would drop answers: they take no credit.)
void request_flood(const Target &t) {
    constexpr int count = 1000;
    Client client(t.address, t.identity(), {.sends = 64, .receives = 64});
    client.open();
    for (int i = 0; i < count; i++)
        client.send(make_message(DS_MSG_REQUEST, Bytes(64), unbound_service, client.next_seq()));
    int answers = 0;
    while (answers < count && client.receive(5s))
        answers++;
    expect(answers == count,
           std::to_string(answers) + " of " + std::to_string(count) + " requests were answered");
    client.heartbeat();
}

// Requests from a host that takes no answers: it costs the server no more than one worker.
void deaf_flood(const Target &t) {
    Client deaf(t.address, t.identity(), {.sends = 64, .receives = 16});
    deaf.connect();
    deaf.shake_hands();
    deaf.control().qp().stop_receiving();
    int sent = 0;
    const auto begun = Clock::now();
    // More than 100 at least, however slow the machine is.
    while (sent < 300 && Clock::now() < begun + (sent > 100 ? 4s : 20s)) {
        if (deaf.try_send(
                make_message(DS_MSG_REQUEST, Bytes(64), unbound_service, deaf.next_seq())))
            sent++;
        else
            std::this_thread::sleep_for(5ms);
    }
    expect(sent > 100, "only " + std::to_string(sent) + " requests were taken");
    Client other = t.second_client();
    other.open();
    auto start = Clock::now();
    other.heartbeat();
    expect(Clock::now() - start < 4s, "another host's heartbeat took longer than 4 s");
}

// Credits that were due while the server's send queue was full come when there
// is room again, though the server has nothing else to say.
void late_credits(const Target &t) {
    constexpr int heartbeats = 200;  // more than the 128 answers that the queue holds
    constexpr unsigned messages = 16;
    Client client(t.address, t.identity(), {.sends = 64, .receives = 16});
    client.connect();
    client.shake_hands();
    client.control().qp().stop_receiving();
    for (int i = 0; i < heartbeats; i++)
        client.send(make_message(DS_MSG_REQUEST, {}, DS_SERVICE_LINK, client.next_seq()));
    for (unsigned i = 0; i < messages; i++)
        client.send(make_message(DS_MSG_ONE_WAY, Bytes(64), unbound_service));
    expect(client.control().qp().sent(Clock::now() + 5s) == IBV_WC_SUCCESS,
           "the messages were not taken");
    std::this_thread::sleep_for(200ms);  // until they are handled
    client.control().qp().start_receiving();
    int answers = 0;
    unsigned credits = 0;
    while (auto message = client.receive(3s)) {
        answers += message->hdr.type == DS_MSG_RESPONSE;
        credits += message->hdr.credits;
        if (credits >= messages)
            break;
    }
    expect(answers < heartbeats, "the server's send queue was not full");
    expect(credits == messages, std::to_string(credits) + " credits came back for " +
                                    std::to_string(messages) + " messages");
}

void many_attaches(const Target &t) {
    Client client = t.client();
    client.open();
    for (int i = 0; i < 50; i++) {
        client.attach(Target::scratch);
        client.detach(Target::scratch);
    }
}

const Attack attacks[] = {
    {"message of an unknown type", "closed", unknown_types},
    {"request whose header lies about its length", "closed", wrong_lengths},
    {"request longer than any buffer", "closed", oversize},
    {"message with a field that its type has not", "closed", unused_fields},
    {"responses that nobody asked for", "ignored", unasked_responses},
    {"200 times 65535 credits", "ignored", credit_overflow},
    {"requests to services that are not there", "status ECONNREFUSED", unknown_services},
    {"REVOKE from a host that owns nothing", "no effect; malformed: EINVAL", strange_revokes},
    {"1000 requests without regard to credits", "all answered", request_flood},
    {"300 requests from a host that takes no answers", "others are served", deaf_flood},
    {"one-way messages while the send queue is full of answers", "their credits come later",
     late_credits},
    {"50 times ATTACH and DETACH", "all answered", many_attaches},
};

}  // namespace

std::span<const Attack> message_attacks() {
    return attacks;
}

}  // namespace peer
