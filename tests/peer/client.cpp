// SPDX-License-Identifier: Apache-2.0
#include "client.hpp"

#include <algorithm>
#include <utility>

namespace peer {

namespace {

Message message_of(const ds_hs_out &out, std::uint64_t epoch) {
    auto *payload = reinterpret_cast<const std::uint8_t *>(&out.payload);
    Message message =
        make_message(ds_msg_type(out.type), Bytes(payload, payload + out.length), 0, 0, epoch);
    message.hdr.status = out.status;
    return message;
}

Message take_apart(const Bytes &bytes) {
    Message message = {struct_of<ds_msg_hdr>(bytes), {}};
    expect(!ds_msg_check_hdr(&message.hdr, static_cast<u32>(bytes.size())),
           "a malformed message of " + std::to_string(bytes.size()) + " bytes arrived");
    message.payload.assign(bytes.begin() + sizeof(ds_msg_hdr), bytes.end());
    return message;
}

}  // namespace

Message make_message(ds_msg_type type, const Bytes &payload, std::uint16_t service,
                     std::uint64_t seq, std::uint64_t epoch) {
    Message message = {{}, payload};
    message.hdr.magic = DS_WIRE_MAGIC;
    message.hdr.version = DS_WIRE_VERSION;
    message.hdr.type = type;
    message.hdr.service = service;
    message.hdr.length = static_cast<std::uint32_t>(payload.size());
    message.hdr.seq = seq;
    message.hdr.epoch = epoch;
    return message;
}

Bytes pack(const Message &message) {
    Bytes bytes(sizeof(message.hdr) + message.payload.size());
    std::memcpy(bytes.data(), &message.hdr, sizeof(message.hdr));
    std::copy(message.payload.begin(), message.payload.end(), bytes.begin() + sizeof(message.hdr));
    return bytes;
}

bool refuses_for(const Bytes &data, unsigned reason) {
    return data.size() >= sizeof(ds_cm_rep) &&
           ds_hs_check_rep(data.data(), static_cast<u32>(data.size())) == reason;
}

std::string describe(const Answer &answer) {
    switch (answer.kind) {
    case Answer::accepted:
        return "accepted";
    case Answer::refused:
        return std::string("refused: ") +
               (answer.data.size() >= sizeof(ds_cm_rep)
                    ? reject_name(ds_hs_check_rep(answer.data.data(), answer.data.size()))
                    : "without a reason") +
               ", status " + std::to_string(answer.status);
    case Answer::failed:
        return "failed with status " + std::to_string(answer.status);
    default:
        return "not answered";
    }
}

std::string describe(const Ending &ending) {
    std::string text = ending.closed ? "closed" : "left open";
    return ending.reason ? text + " after REFUSE " + reject_name(*ending.reason) : text;
}

Client::Client(const Address &to, const Identity &self, const QpSizes &sizes)
    : to_(to), self_(self), sizes_(sizes), control_(std::make_unique<Lane>(to, sizes)) {
    ds_hs_init(&hs_, false, &self_.host, &identity_ops, &self_);
}

void Client::connect() {
    ds_cm_req req;
    ds_hs_make_req(&req, DS_ROLE_CONTROL, 0, self_.host.group, 0, 0);
    Answer answer = control_->connect(bytes_of(req));
    if (answer.kind == Answer::refused && refuses_for(answer.data, DS_REJECT_BUSY))
        throw Busy("the control connection was " + describe(answer));
    expect(answer.kind == Answer::accepted, "the control connection was " + describe(answer));
    expect(!ds_hs_check_rep(answer.data.data(), static_cast<u32>(answer.data.size())),
           "the private data of the acceptance is malformed");
}

ds_hello Client::hello() {
    ds_hs_out out;
    hs_.ctx = &self_;
    ds_hs_hello(&hs_, &out);
    return out.payload.hello;
}

Message Client::hello_reply() {
    send(make_message(DS_MSG_HELLO, bytes_of(hello()), 0, 0, epoch()));
    auto reply = receive();
    expect(reply && reply->hdr.type == DS_MSG_HELLO_REPLY,
           reply ? "instead of HELLO_REPLY came a message of type " +
                       std::to_string(reply->hdr.type) + " with status " +
                       reject_name(reply->hdr.status)
                 : "no HELLO_REPLY came");
    return *reply;
}

// Give a message to the handshake, which must take it.
void Client::step(const Message &in, ds_hs_out &out, int wanted) {
    int ret = ds_hs_input(&hs_, &in.hdr, in.payload.data(), &out);
    expect(ret == wanted, std::string("the handshake failed: ") + reject_name(hs_.reject));
}

void Client::shake_hands() {
    ds_hs_out out;
    step(hello_reply(), out, 0);
    send(message_of(out, epoch()));
    auto ok = receive();
    expect(ok.has_value(), "no AUTH_OK came");
    step(*ok, out, 1);
}

Bytes Client::lane_request(ds_role role, std::uint64_t cookie, std::uint16_t index) const {
    ds_cm_req req;
    ds_hs_make_req(&req, role, 0, self_.host.group, cookie, index);
    return bytes_of(req);
}

void Client::open_lanes() {
    auto add = [&](ds_role role, std::uint64_t cookie, std::uint16_t index) {
        auto lane = std::make_unique<Lane>(to_, QpSizes{16, 0, sizes_.rnr_retries});
        Answer answer = lane->connect(lane_request(role, cookie, index));
        expect(answer.kind == Answer::accepted, "a lane was " + describe(answer));
        return lane;
    };
    for (std::uint16_t i = 0; i < hs_.auth_ok.lanes; i++)
        bulk_.push_back(add(DS_ROLE_BULK, hs_.auth_ok.bulk[i], i));
    urgent_ = add(DS_ROLE_URGENT, hs_.auth_ok.urgent, 0);
}

void Client::open() {
    connect();
    shake_hands();
    open_lanes();
}

void Client::send(const Message &message) {
    Message sent = message;
    if (sent.hdr.type >= DS_MSG_REQUEST && !sent.hdr.credits)
        sent.hdr.credits = std::exchange(owed_, 0);
    send_raw(pack(sent));
}

void Client::send_raw(const Bytes &bytes) {
    control_->qp().send(bytes);
}

std::optional<Message> Client::receive(Millis limit) {
    auto bytes = control_->receive(Clock::now() + limit);
    if (!bytes)
        return {};
    Message message = take_apart(*bytes);
    owed_ += message.hdr.type == DS_MSG_REQUEST || message.hdr.type == DS_MSG_ONE_WAY;
    return message;
}

Ending Client::ending(Millis limit) {
    Ending ending = {};
    auto until = Clock::now() + limit;
    while (auto bytes = control_->receive(until)) {
        Message message = take_apart(*bytes);
        if (message.hdr.type == DS_MSG_REFUSE)
            ending.reason = unsigned{message.hdr.status};
    }
    ending.closed = control_->closed(until);
    return ending;
}

Reply Client::request(std::uint16_t service, const Bytes &payload, Millis limit) {
    std::uint64_t seq = next_seq();
    auto until = Clock::now() + limit;
    send(make_message(DS_MSG_REQUEST, payload, service, seq, epoch()));
    while (auto bytes = control_->receive(until)) {
        Message message = take_apart(*bytes);
        if (message.hdr.type == DS_MSG_RESPONSE && message.hdr.seq == seq) {
            expect(message.hdr.service == service, "a response names another service");
            return {static_cast<std::int32_t>(message.hdr.status), message.payload};
        }
    }
    throw Failed("no response to a request to service " + std::to_string(service) +
                 (control_->closed(Clock::now()) ? ": the connection was closed" : ""));
}

Reply Client::segment_request(std::uint32_t verb, std::uint64_t segment, std::uint32_t first,
                              std::uint64_t knows) {
    ds_seg_req req = {};
    req.verb = verb;
    req.first = first;
    req.segment = segment;
    req.knows = knows;
    return request(DS_SERVICE_SEGMENT, bytes_of(req));
}

Keys Client::attach(std::uint64_t segment, std::uint32_t first, std::uint64_t knows) {
    Reply reply = segment_request(DS_SEG_ATTACH, segment, first, knows);
    expect(!reply.status, "ATTACH of segment " + std::to_string(segment) + " gave status " +
                              std::to_string(reply.status));
    expect(reply.payload.size() >= sizeof(ds_seg_keys), "the answer to ATTACH is too short");
    ds_seg_keys head;
    std::memcpy(&head, reply.payload.data(), sizeof(head));
    std::size_t size = head.count * sizeof(std::uint32_t);
    expect(reply.payload.size() == sizeof(head) + size,
           "the answer to ATTACH has another length than its count says");
    Keys keys = {head.length, head.access, head.chunk_shift, head.first, {}};
    keys.rkeys.resize(head.count);
    std::memcpy(keys.rkeys.data(), &reply.payload[sizeof(head)], size);
    return keys;
}

void Client::detach(std::uint64_t segment) {
    Reply reply = segment_request(DS_SEG_DETACH, segment);
    expect(!reply.status, "DETACH gave status " + std::to_string(reply.status));
}

void Client::heartbeat() {
    Reply reply = request(DS_SERVICE_LINK, {});
    expect(!reply.status && reply.payload.empty(), "a heartbeat was answered with an error");
}

}  // namespace peer
