// SPDX-License-Identifier: Apache-2.0
/*
 * DS: fencing: requests that nobody may make, and a host that does not answer them.
 */
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <ds/ioctl.h>

#include "attack.hpp"

namespace peer {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t token = 0x123456789abc;
constexpr std::uint32_t nobody = 60000;  // a node that is not there

ds_fence_req fence_of(ds_fence_verb verb, std::uint32_t node, std::uint64_t client = token) {
    ds_fence_req req = {};
    req.verb = verb;
    req.node = node;
    req.segment = Target::scratch;
    req.token = client;
    return req;
}

int status_of(Client &client, const ds_fence_req &req) {
    return client.request(DS_SERVICE_FENCE, bytes_of(req), 20s).status;
}

void is(const std::string &what, int status, int wanted) {
    expect(status == wanted,
           what + ": status " + std::to_string(status) + ", wanted " + std::to_string(wanted));
}

// What the server says of clients of this node that were fenced.
std::vector<std::uint64_t> missed(Client &client) {
    std::vector<std::uint64_t> tokens;
    ds_fenced head = {};
    do {
        ds_fence_req req = fence_of(DS_FENCE_MISSED, 0, head.last);
        Reply reply = client.request(DS_SERVICE_FENCE, bytes_of(req));
        is("MISSED", reply.status, 0);
        head = struct_of<ds_fenced>(reply.payload);
        expect(reply.payload.size() == sizeof(head) + head.count * sizeof(std::uint64_t),
               "the answer to MISSED has a strange length");
        expect(!head.more || head.count == DS_FENCED_MAX, "there are more, and there is room");
        std::size_t before = tokens.size();
        tokens.resize(before + head.count);
        std::memcpy(&tokens[before], reply.payload.data() + sizeof(head), head.count * 8);
    } while (head.more);
    return tokens;
}

void malformed(const Target &t) {
    Client client = t.client();
    client.open();
    ds_fence_req good = fence_of(DS_FENCE_NODE, nobody);
    is("not attached", status_of(client, good), -EACCES);
    client.attach(Target::scratch);
    is("of nobody", status_of(client, good), 0);

    ds_fence_req bad = good;
    bad.segment = 1 << 30;
    is("no such segment", status_of(client, bad), -ENOENT);
    bad = good;
    bad.node = 0;
    is("node 0", status_of(client, bad), -EINVAL);
    bad = good;
    bad.token = 0;
    is("client 0", status_of(client, bad), -EINVAL);
    bad = good;
    bad.flags = 2;
    is("unknown flag", status_of(client, bad), -EINVAL);
    bad = good;
    bad.reserved[3] = 1;
    is("reserved byte", status_of(client, bad), -EINVAL);
    bad = good;
    bad.verb = 4;
    is("unknown verb", status_of(client, bad), -EOPNOTSUPP);
    is("CLIENT from who connected", status_of(client, fence_of(DS_FENCE_CLIENT, 0)), -EPERM);
    is("CLIENT with a node", status_of(client, fence_of(DS_FENCE_CLIENT, 1)), -EINVAL);
    for (std::size_t size : {0, 31, 33, 4000})
        is(std::to_string(size) + " bytes",
           client.request(DS_SERVICE_FENCE, Bytes(size)).status, -EINVAL);
    client.send(make_message(DS_MSG_ONE_WAY, bytes_of(good), DS_SERVICE_FENCE));
    client.heartbeat();
}

// It is not waited for, cannot go on with its keys, and is told when it is back.
void silent(const Target &t) {
    Client fencer = t.client();
    fencer.open();
    fencer.attach(Target::scratch);
    Client victim = t.second_client();
    victim.open();
    Keys keys = victim.attach(Target::scratch);
    expect(missed(victim).empty(), "there was something to miss");

    is("a fence", status_of(fencer, fence_of(DS_FENCE_NODE, victim.self().host.node)), 0);
    auto asked = victim.receive();
    expect(asked && asked->hdr.service == DS_SERVICE_FENCE, "the victim was not asked");
    expect_end(victim.ending(), {}, "the victim's connection");
    Bytes bytes(64, 0x5a);
    expect(victim.bulk().write(0, keys.rkeys[0], bytes), "the victim could still write");

    Client again = t.second_client();
    again.open();
    expect(missed(again) == std::vector{token}, "it was not told what it has missed");
    expect(missed(again) == std::vector{token}, "it was told once only, and might have lost that");
    again.attach(Target::scratch);
    expect(missed(again).empty(), "it was told again after it had attached");
    Client other = t.client();
    other.open();
    expect(missed(other).empty(), "another node was told");
}

// Who was not there when it happened is told as well.
void absent(const Target &t) {
    Client fencer = t.client();
    fencer.open();
    fencer.attach(Target::scratch);
    Client victim = t.second_client();
    ds_fence_req req = fence_of(DS_FENCE_NODE, victim.self().host.node, token + 1);
    is("a fence", status_of(fencer, req), 0);
    req.flags = DS_FENCE_IF_GONE;
    req.token = token + 2;
    is("to look whether it is gone", status_of(fencer, req), 0);
    victim.open();
    expect(missed(victim) == std::vector{token + 1, token + 2}, "it was not told");
    victim.attach(Target::scratch);
}

// Clients are made up until the server remembers no more: nobody else is hurt.
void made_up(const Target &t) {
    constexpr std::uint64_t first = 1ull << 32;
    Client fencer = t.client();
    fencer.open();
    fencer.attach(Target::scratch);
    Client victim = t.second_client();
    const std::uint32_t node = victim.self().host.node;
    std::uint64_t next = first;
    int status;
    while (!(status = status_of(fencer, fence_of(DS_FENCE_NODE, node, next))))
        next++;
    is("one too many", status, -EDQUOT);
    expect(next - first > DS_FENCED_KEPT / 2 - 50 && next - first <= DS_FENCED_KEPT / 2,
           std::to_string(next - first) + " were remembered");
    is("one that is there", status_of(fencer, fence_of(DS_FENCE_NODE, node, first)), 0);

    victim.open();
    victim.attach(Target::scratch);
    is("one of another host", status_of(victim, fence_of(DS_FENCE_NODE, nobody, next)), 0);
    auto told = missed(victim);
    expect(told.size() == next - first && told.front() == first && told.back() == next - 1,
           "it was told of " + std::to_string(told.size()) + " clients");
    victim.detach(Target::scratch);
    victim.attach(Target::scratch);
    expect(missed(victim).empty(), "it was told again after it had attached");
    is("one more", status_of(fencer, fence_of(DS_FENCE_NODE, nobody)), 0);
}

const Attack attacks[] = {
    {"FENCE that is malformed, or not the sender's to ask for", "EINVAL, EACCES, EPERM", malformed},
    {"a host that does not answer FENCE", "its connection is closed", silent},
    {"a client of a host that is not there", "told when it comes", absent},
    {"clients that never were, as many as it can", "EDQUOT; others have room", made_up},
};

}  // namespace

std::span<const Attack> fence_attacks() {
    return attacks;
}

}  // namespace peer
