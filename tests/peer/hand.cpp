// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * The handshake as docs/protocol.md describes it, by byte offsets: if this does
 * not go through, the document or the module is wrong.
 */
#include "hand.hpp"

#include <algorithm>

#include "attack.hpp"

namespace peer {

namespace {

void put(Bytes &bytes, std::size_t offset, std::size_t size, std::uint64_t value) {
    for (std::size_t i = 0; i < size; i++)
        bytes.at(offset + i) = static_cast<std::uint8_t>(value >> (8 * i));
}

std::uint64_t get(const Bytes &bytes, std::size_t offset, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;)
        value = value << 8 | bytes.at(offset + i);
    return value;
}

Bytes operator+(Bytes left, const Bytes &right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

Bytes text(const char *t) {
    return Bytes(t, t + std::strlen(t));
}

Bytes header(std::uint8_t type, std::size_t length, std::uint64_t epoch) {
    Bytes h(32);
    put(h, 0, 2, 0x4453);
    put(h, 2, 1, 2);
    put(h, 3, 1, type);
    put(h, 8, 4, length);
    put(h, 24, 8, epoch);
    return h;
}

Bytes connection_request(std::uint64_t group, std::uint8_t role, std::uint64_t cookie) {
    Bytes r(40);
    put(r, 2, 2, 0x4453);
    put(r, 4, 1, 2);
    put(r, 5, 1, 2);
    put(r, 6, 1, role);
    put(r, 8, 8, group);
    put(r, 16, 8, cookie);
    return r;
}

Bytes hello(const Identity &self) {
    Bytes h(128);
    std::copy(self.host.uuid, self.host.uuid + 16, h.begin());
    put(h, 16, 8, self.host.incarnation);
    put(h, 24, 8, self.host.group);
    put(h, 32, 4, self.host.node);
    put(h, 36, 4, self.host.domain);
    put(h, 40, 4, 4096);
    put(h, 44, 4, 0x01020304);
    put(h, 48, 2, 1);
    put(h, 50, 2, 1);
    for (std::size_t i = 0; i < 32; i += 8)
        put(h, 64 + i, 8, random_u64());
    return h;
}

Bytes receive(Lane &lane, std::uint8_t type, std::size_t length) {
    auto m = lane.receive(Clock::now() + 5s);
    expect(m && m->size() == 32 + length && get(*m, 0, 2) == 0x4453 && get(*m, 2, 1) == 2 &&
               get(*m, 3, 1) == type && get(*m, 8, 4) == length,
           "the message of type " + std::to_string(type) + " did not come");
    return Bytes(m->begin() + 32, m->end());
}

Bytes mac(const Key &key, const Bytes &covered) {
    Mac m = hmac(key, covered);
    return Bytes(m.begin(), m.end());
}

}  // namespace

void hand_handshake(const Target &t) {
    Identity self = t.identity();
    Lane control(t.address), lane(t.address, {4, 0, 7});

    Answer answer = control.connect(connection_request(t.group, 0, 0));
    expect(answer.kind == Answer::accepted && get(answer.data, 2, 2) == 0x4453 &&
               get(answer.data, 4, 1) == 2 && get(answer.data, 5, 1) == 0,
           "the connection was " + describe(answer));

    Bytes mine = hello(self);
    control.qp().send(header(1, 128, self.host.incarnation) + mine);
    Bytes theirs = receive(control, 2, 128);
    Bytes unproved = theirs;
    std::fill(unproved.begin() + 96, unproved.end(), 0);
    expect(Bytes(theirs.begin() + 96, theirs.end()) ==
               mac(t.key, text("DS1 server") + mine + unproved),
           "the server's proof is not what the document says");

    control.qp().send(header(3, 32, self.host.incarnation) +
                      mac(t.key, text("DS1 client") + mine + theirs));
    Bytes ok = receive(control, 4, 272);
    expect(get(ok, 0, 2) >= 1 && get(ok, 8, 8) && get(ok, 16, 8), "AUTH_OK without cookies");
    answer = lane.connect(connection_request(t.group, 1, get(ok, 16, 8)));
    expect(answer.kind == Answer::accepted, "the first bulk lane was " + describe(answer));

    Bytes beat = header(6, 0, self.host.incarnation);
    put(beat, 16, 8, 77);
    control.qp().send(beat);
    auto response = control.receive(Clock::now() + 5s);
    expect(response && get(*response, 3, 1) == 7 && get(*response, 16, 8) == 77 &&
               get(*response, 12, 4) == 0,
           "a heartbeat was not answered");
}

}  // namespace peer
