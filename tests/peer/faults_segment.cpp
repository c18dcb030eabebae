// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * How a server misbehaves when a host attaches a segment.
 */
#include <cerrno>

#include "server.hpp"

namespace peer {

namespace {

using Change = std::function<void(Session &, AttachAnswer &)>;

// What most faults change.
Change head(const std::function<void(ds_seg_keys &)> &change) {
    return [=](Session &, AttachAnswer &a) { change(a.head); };
}

Change length(std::uint64_t value) {
    return head([=](ds_seg_keys &h) { h.length = value; });
}

Change shift(std::uint32_t value) {
    return head([=](ds_seg_keys &h) { h.chunk_shift = value; });
}

Change status(int value) {
    return [=](Session &, AttachAnswer &a) { a.status = value; };
}

Change count(std::uint32_t said, std::size_t sent) {
    return [=](Session &, AttachAnswer &a) {
        a.head.count = said;
        a.rkeys.resize(sent, 1);
    };
}

// A segment whose keys take two answers, the second with something wrong.
Change second(const std::function<void(AttachAnswer &)> &change) {
    return [=](Session &s, AttachAnswer &a) {
        a.rkeys.assign(1, s.good_key());
        a.head.count = 1;
        if (a.first)
            change(a);
    };
}

Bytes revoke(std::uint64_t segment, std::uint8_t gone, std::size_t size = sizeof(ds_seg_revoke)) {
    ds_seg_revoke r = {};
    r.segment = segment;
    r.gone = gone;
    Bytes payload = bytes_of(r);
    payload.resize(size);
    return pack(make_message(DS_MSG_REQUEST, payload, DS_SERVICE_REVOKE, 1));
}

// Segment numbers of other servers, of nobody, and malformed requests.
void strange_revokes(Session &, AttachAnswer &a) {
    for (std::uint64_t segment : {0, 1, 77})
        for (std::uint8_t gone : {0, 1})
            a.after.push_back(revoke(segment, gone));
    a.after.push_back(revoke(1, 2));
    for (std::size_t size : {0, 1, 15, 17, 4096})
        a.after.push_back(revoke(1, 0, size));
}

// Answers with wrong numbers before the right one; and the right one twice.
void extra_responses(Session &, AttachAnswer &a) {
    for (std::uint64_t seq : {0, 1000000}) {
        Message m = make_message(DS_MSG_RESPONSE, Bytes(4096, 0xff), DS_SERVICE_SEGMENT, seq);
        m.hdr.credits = 65535;
        a.before.push_back(pack(m));
        a.after.push_back(pack(m));
    }
}

void unknown_type(Session &, AttachAnswer &a) {
    Message m = make_message(DS_MSG_CREDIT);
    m.hdr.type = 200;
    a.before.push_back(pack(m));
}

// 60 requests at once, where 32 are allowed.
void requests(Session &, AttachAnswer &a) {
    for (std::uint64_t seq = 1; seq <= 60; seq++)
        a.before.push_back(pack(make_message(DS_MSG_REQUEST, Bytes(100), 500, seq)));
}

void nothing(Session &, AttachAnswer &) {}

constexpr std::uint64_t mebi = 1 << 20;

const SegmentFault faults[] = {
    {"a key that is wrong", 0, [](Session &, AttachAnswer &a) { a.rkeys.assign(2, 0xdeadbe00); },
     EREMOTEIO},
    {"no access", 0, head([](ds_seg_keys &h) { h.access = 0; }), EACCES},
    {"access bits that are unknown", 0, head([](ds_seg_keys &h) { h.access = 0xffffffff; })},
    {"REVOKE of segments that are not ours", 0, strange_revokes},
    {"REVOKE at once", 0,
     [](Session &, AttachAnswer &a) { a.after.push_back(revoke(fault_segments + 4, 0)); },
     EKEYREVOKED},
    {"responses that nobody asked for", 0, extra_responses},
    {"twice as many requests as allowed", 0, requests},
    {"two answers of one key each", 0, second([](AttachAnswer &) {})},
    {"an answer after a while", 0, [](Session &, AttachAnswer &a) { a.delay = 300ms; }},
    {"length 0", EPROTO, length(0)},
    {"a length of more than the space's server", EFBIG, length(16 * mebi + 1)},
    {"length 2^63", EFBIG, length(1ULL << 63)},
    {"length 2^64 - 1", EFBIG, length(~0ULL)},
    {"chunk_shift 0", EPROTO, shift(0)},
    {"chunk_shift 11", EPROTO, shift(11)},
    {"chunk_shift 31", EPROTO, shift(31)},
    {"chunk_shift 64", EPROTO, shift(64)},
    {"chunk_shift 2^32 - 1", EPROTO, shift(0xffffffff)},
    {"so short chunks that they would take many tokens", EPROTO, head([](ds_seg_keys &h) {
         h.length = 16 * mebi;
         h.chunk_shift = 12;
     })},
    {"fewer chunks than keys", EPROTO, shift(22)},
    {"count 0", EPROTO, count(0, 0)},
    {"count 0 with keys", EPROTO, count(0, 2)},
    {"count that is more than the keys", EPROTO, count(3, 2)},
    {"count that is less than the keys", EPROTO, count(1, 2)},
    {"1001 keys", EPROTO, count(1001, 1001)},
    {"count 2^30, whose bytes overflow to none", EPROTO, count(1u << 30, 0)},
    {"more keys than chunks", EPROTO, count(1000, 1000)},
    {"first that was not asked for", EPROTO, head([](ds_seg_keys &h) { h.first = 1; })},
    {"first 2^32 - 1", EPROTO, head([](ds_seg_keys &h) { h.first = 0xffffffff; })},
    {"a cut off answer", EPROTO, [](Session &, AttachAnswer &a) { a.cut = 1; }},
    {"an answer without keys", EPROTO, [](Session &, AttachAnswer &a) { a.cut = 8; }},
    {"an empty answer", EPROTO, [](Session &, AttachAnswer &a) { a.cut = 40; }},
    {"a second answer of another length", EPROTO,
     second([](AttachAnswer &a) { a.head.length += 4096; })},
    {"a second answer of another chunk_shift", EPROTO,
     second([](AttachAnswer &a) { a.head.chunk_shift = 20; })},
    {"a second answer with more keys than there are chunks", EPROTO, second([](AttachAnswer &a) {
         a.rkeys.resize(3, 1);
         a.head.count = 3;
     })},
    {"a second answer that begins again", EPROTO,
     second([](AttachAnswer &a) { a.head.first = 0; })},
    {"no second answer", ETIMEDOUT, second([](AttachAnswer &a) { a.send = false; })},
    {"status 5, which is no errno", EPROTO, status(5)},
    {"status -4096", EPROTO, status(-4096)},
    {"status -2^31", EPROTO, status(-2147483647 - 1)},
    {"status -512, which is no user's errno", EPROTO, status(-512)},
    {"status EINTR, to which netlink gives no answer", EPROTO, status(-EINTR)},
    {"status EIO", EIO, status(-EIO)},
    {"fenced clients that never were", 0, nothing, 0, {.tokens = {1, 2, ~0ULL}}},
    {"all clients fenced", 0, nothing, 0, {.all = 1}},
    {"500 fenced clients", 0, nothing, 0, {.tokens = std::vector<std::uint64_t>(500, 7)}},
    {"501 fenced clients", EPROTO, nothing, 0, {.tokens = std::vector<std::uint64_t>(501, 7)}},
    {"fewer fenced clients than it says", EPROTO, nothing, 0, {.count = 1, .tokens = {1}}},
    {"fenced clients whose bytes overflow to none", EPROTO, nothing, 0, {.count = 1u << 29}},
    {"an answer about fenced clients that is cut off", EPROTO, nothing, 0, {.cut = 1}},
    {"an empty answer about fenced clients", EPROTO, nothing, 0, {.cut = sizeof(ds_fenced)}},
    {"status EIO about fenced clients", EPROTO, nothing, 0, {.status = -EIO}},
    {"no answer", ETIMEDOUT, [](Session &, AttachAnswer &a) { a.send = false; }},
    {"an answer after the time limit", ETIMEDOUT,
     [](Session &, AttachAnswer &a) { a.delay = 2500ms; }},
    {"a closed connection instead of an answer", ENOTCONN,
     [](Session &, AttachAnswer &a) {
         a.send = false;
         a.close = true;
     }},
    {"a message of an unknown type instead of an answer", ENOTCONN, unknown_type},
};

}  // namespace

std::span<const SegmentFault> segment_faults() {
    return faults;
}

}  // namespace peer
