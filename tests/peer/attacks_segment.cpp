// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Attacks by requests for segments.
 */
#include <cerrno>

#include "attack.hpp"

namespace peer {

namespace {

void status_is(const Reply &reply, int status, const std::string &what) {
    expect(reply.status == status && reply.payload.empty(),
           what + " gave status " + std::to_string(reply.status) + " and " +
               std::to_string(reply.payload.size()) + " bytes, not status " +
               std::to_string(status));
}

void foreign(const Target &t) {
    Client client = t.client();
    client.open();
    status_is(client.segment_request(DS_SEG_ATTACH, Target::foreign), -EACCES, "ATTACH");
    status_is(client.segment_request(DS_SEG_DETACH, Target::foreign), -EACCES, "DETACH");
    Client other(t.address, t.other_identity());
    other.open();
    status_is(other.segment_request(DS_SEG_ATTACH, Target::scratch), -EACCES,
              "ATTACH from domain 2");
    other.attach(Target::foreign);
}

void unknown(const Target &t) {
    Client client = t.client();
    client.open();
    const std::uint64_t numbers[] = {0, 99, 1ULL << 32 | Target::scratch, ~0ULL};
    for (std::uint64_t segment : numbers)
        for (std::uint32_t verb : {DS_SEG_ATTACH, DS_SEG_DETACH})
            status_is(client.segment_request(verb, segment), -ENOENT,
                      "segment " + std::to_string(segment));
}

void first_chunk(const Target &t) {
    Client client = t.client();
    client.open();
    auto chunks = static_cast<std::uint32_t>(client.attach(Target::scratch).rkeys.size());
    for (std::uint32_t first : {chunks, chunks + 1, 0x7fffffffu, 0x80000000u, 0xffffffffu})
        status_is(client.segment_request(DS_SEG_ATTACH, Target::scratch, first), -EINVAL,
                  "ATTACH from chunk " + std::to_string(first));
    expect(client.attach(Target::scratch, chunks - 1).rkeys.size() == 1,
           "the last chunk has no key");
}

void verbs(const Target &t) {
    Client client = t.client();
    client.open();
    for (std::uint32_t verb : {0u, 3u, 0xffffffffu})
        status_is(client.segment_request(verb, Target::scratch), -EOPNOTSUPP,
                  "verb " + std::to_string(verb));
}

void malformed(const Target &t) {
    Client client = t.client();
    client.open();
    for (std::size_t size : {0, 1, 31, 33, 64, DS_MSG_MAX_PAYLOAD})
        status_is(client.request(DS_SERVICE_SEGMENT, Bytes(size)), -EINVAL,
                  "a request of " + std::to_string(size) + " bytes");
    ds_seg_req req = {};
    req.verb = DS_SEG_ATTACH;
    req.segment = Target::scratch;
    for (std::size_t i = 0; i < sizeof(req.reserved); i++) {
        Bytes bytes = bytes_of(req);
        bytes[offsetof(ds_seg_req, reserved) + i] = 0x80;
        status_is(client.request(DS_SERVICE_SEGMENT, bytes), -EINVAL, "a reserved byte");
    }
    client.attach(Target::scratch);
    status_is(client.segment_request(DS_SEG_DETACH, Target::scratch, 1), -EINVAL,
              "DETACH from a chunk on");
    status_is(client.segment_request(DS_SEG_DETACH, Target::scratch, 0, 1), -EINVAL,
              "DETACH that knows something");
    client.detach(Target::scratch);
}

void not_attached(const Target &t) {
    Client client = t.client();
    client.open();
    status_is(client.segment_request(DS_SEG_DETACH, Target::honest), -ENOENT,
              "DETACH of a segment that another host uses");
    client.attach(Target::scratch);
    client.detach(Target::scratch);
    status_is(client.segment_request(DS_SEG_DETACH, Target::scratch), -ENOENT, "DETACH twice");
}

// in_vm.sh lets a host attach four segments.
void too_many(const Target &t) {
    Client client = t.client();
    client.open();
    for (std::uint64_t segment :
         {Target::honest, Target::scratch, Target::read_only, Target::no_atomic})
        client.attach(segment);
    status_is(client.segment_request(DS_SEG_ATTACH, Target::revoked), -EDQUOT, "a fifth segment");
    client.attach(Target::scratch);  // again: no new one, but it is to be given back twice
    client.detach(Target::scratch);
    status_is(client.segment_request(DS_SEG_ATTACH, Target::revoked), -EDQUOT, "after one DETACH");
    client.detach(Target::scratch);
    client.attach(Target::revoked);
}

const Attack attacks[] = {
    {"segment of another domain", "status EACCES", foreign},
    {"segment that does not exist", "status ENOENT", unknown},
    {"ATTACH from a chunk past the last", "status EINVAL", first_chunk},
    {"unknown verb", "status EOPNOTSUPP", verbs},
    {"segment request of a wrong length or with reserved bytes", "status EINVAL", malformed},
    {"DETACH of what is not attached", "status ENOENT", not_attached},
    {"more segments than max_attaches", "status EDQUOT", too_many},
};

}  // namespace

std::span<const Attack> segment_attacks() {
    return attacks;
}

}  // namespace peer
