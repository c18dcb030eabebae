// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * The peer behaves well: another implementation of the protocol gets what the
 * protocol promises.
 */
#include <algorithm>
#include <array>

#include "attack.hpp"
#include "hand.hpp"

namespace peer {

namespace {

// Write, read and check at the edges of the segment's chunks.
void use_memory(Client &client, const Keys &keys, std::uint64_t length) {
    Bytes out(4096), in(4096);
    std::uint64_t chunk = keys.chunk_size();
    std::uint8_t mark = 1;
    for (std::uint64_t at = 0; at < length; at += chunk) {
        std::uint64_t end = std::min(at + chunk, length);
        for (std::uint64_t place : {at, end - out.size()}) {
            std::fill(out.begin(), out.end(), mark++);
            std::uint32_t key = keys.rkeys.at(place / chunk);
            Qp &lane = client.bulk(place / chunk % client.lanes());
            expect(!lane.write(place, key, out), "a WRITE within the segment failed");
            expect(!lane.read(place, key, in), "a READ within the segment failed");
            expect(in == out, "what was read is not what was written");
        }
    }
}

void use_atomics(Client &client, const Keys &keys) {
    Qp &lane = client.bulk();
    std::uint64_t old = 0, zero = 0;
    Bytes word = bytes_of(zero);
    expect(!lane.write(64, keys.rkeys[0], word), "a WRITE of a word failed");
    expect(!lane.compare_swap(64, keys.rkeys[0], 0, 41, old) && old == 0, "CAS of 0 failed");
    expect(!lane.compare_swap(64, keys.rkeys[0], 0, 99, old) && old == 41,
           "CAS of another value did not give the old one");
    expect(!lane.fetch_add(64, keys.rkeys[0], 1, old) && old == 41, "FETCH_ADD failed");
    expect(!lane.read(64, keys.rkeys[0], word) && struct_of<std::uint64_t>(word) == 42,
           "the word has another value than the atomics gave it");
}

void attach_and_use(const Target &t) {
    Client client = t.client();
    client.open();
    expect(client.handshake().peer.node == t.node, "the host has another number");
    Keys keys = client.attach(Target::scratch);
    expect(keys.length == Target::scratch_length, "the segment has another length");
    expect(
        keys.rkeys.size() == (Target::scratch_length + keys.chunk_size() - 1) / keys.chunk_size(),
        "the segment has another number of chunks");
    use_memory(client, keys, Target::scratch_length);
    use_atomics(client, keys);
    Keys tail = client.attach(Target::scratch, 2);
    expect(tail.first == 2 && tail.rkeys.size() == keys.rkeys.size() - 2 &&
               tail.rkeys[0] == keys.rkeys[2],
           "ATTACH from chunk 2 on gave other keys");
    client.heartbeat();
    client.detach(Target::scratch);
}

void urgent_lane(const Target &t) {
    Client client = t.client();
    client.open();
    Keys keys = client.attach(Target::scratch);
    std::uint64_t old;
    expect(!client.urgent().fetch_add(128, keys.rkeys[0], 1, old),
           "FETCH_ADD on the urgent lane failed");
    client.detach(Target::scratch);
}

void more_lanes(const Target &t) {
    for (std::uint16_t wish : {0, 3, 65535}) {
        Identity self = t.identity();
        self.host.lanes = wish;
        Client client(t.address, self);
        client.connect();
        client.shake_hands();
        unsigned lanes = client.auth_ok().lanes,
                 wanted = std::clamp<unsigned>(wish, 2, DS_MAX_LANES);
        expect(lanes == wanted,
               "a wish for " + std::to_string(wish) + " lanes gave " + std::to_string(lanes));
    }
}

void version_range(const Target &t) {
    Client client = t.client();
    ds_cm_req req;
    ds_hs_make_req(&req, DS_ROLE_CONTROL, 0, t.group, 0, 0);
    req.version_min = 0;
    req.version_max = 255;
    Answer answer = client.control().connect(bytes_of(req));
    expect(answer.kind == Answer::accepted, "versions 0 to 255 were " + describe(answer));
    client.shake_hands();
}

const Attack cases[] = {
    {"a good client", "attaches, reads, writes, swaps, adds, detaches", attach_and_use},
    {"a handshake written from docs/protocol.md by byte offsets", "goes through", hand_handshake},
    {"the urgent lane", "works like a bulk lane", urgent_lane},
    {"wishes for 0, 3 and 65535 lanes", "are answered with 2, 3 and 32", more_lanes},
    {"a client that speaks versions 0 to 255", "is accepted", version_range},
};

}  // namespace

std::span<const Attack> good_cases() {
    return cases;
}

}  // namespace peer
