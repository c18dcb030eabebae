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
#include <thread>
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
struct Missed {
    std::vector<std::uint64_t> tokens;
    bool all;
    std::uint64_t last;
};

Missed missed(Client &client) {
    Reply reply = client.request(DS_SERVICE_FENCE, bytes_of(fence_of(DS_FENCE_MISSED, 0, 0)));
    is("MISSED", reply.status, 0);
    auto head = struct_of<ds_fenced>(reply.payload);
    expect(reply.payload.size() == sizeof(head) + head.count * sizeof(std::uint64_t),
           "the answer to MISSED has a strange length");
    std::vector<std::uint64_t> tokens(head.count);
    std::memcpy(tokens.data(), reply.payload.data() + sizeof(head), head.count * 8);
    return {tokens, head.all != 0, head.last};
}

bool nothing_missed(Client &client) {
    Missed m = missed(client);
    return m.tokens.empty() && !m.all;
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
    is("MISSED with a client", status_of(client, fence_of(DS_FENCE_MISSED, 0)), -EINVAL);
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
    expect(nothing_missed(victim), "there was something to miss");

    is("a fence", status_of(fencer, fence_of(DS_FENCE_NODE, victim.self().host.node)), 0);
    auto asked = victim.receive();
    expect(asked && asked->hdr.service == DS_SERVICE_FENCE, "the victim was not asked");
    expect_end(victim.ending(), {}, "the victim's connection");
    Bytes bytes(64, 0x5a);
    expect(victim.bulk().write(0, keys.rkeys[0], bytes), "the victim could still write");

    Client again = t.second_client();
    again.open();
    const std::vector wanted{token};
    const Missed first = missed(again);
    expect(first.tokens == wanted && !first.all, "it was not told what it has missed");
    expect(missed(again).tokens == wanted, "it was told once only, and might have lost that");
    again.attach(Target::scratch, 0, first.last - 1);
    expect(missed(again).tokens == wanted, "it was not told again of what it does not know");
    again.attach(Target::scratch, 0, first.last);
    expect(nothing_missed(again), "it was told again after it had attached");
    Client other = t.client();
    other.open();
    expect(nothing_missed(other), "another node was told");
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
    const Missed told = missed(victim);
    expect(told.tokens == std::vector{token + 1, token + 2}, "it was not told");
    victim.attach(Target::scratch, 0, told.last);
}

// Who only looks ends nobody, nor does who attaches meanwhile escape a fence.
void looked_for(const Target &t) {
    Client looker = t.client();
    looker.open();
    looker.attach(Target::scratch);
    Client victim = t.second_client();
    victim.open();
    victim.attach(Target::scratch);
    ds_fence_req look = fence_of(DS_FENCE_NODE, victim.self().host.node, token + 3);
    look.flags = DS_FENCE_IF_GONE;
    int found = 0;
    std::thread looking([&] { found = status_of(looker, look); });
    auto asked = victim.receive();
    Missed m = missed(victim);
    victim.attach(Target::scratch, 0, m.last);
    looking.join();
    expect(asked && asked->hdr.service == DS_SERVICE_FENCE, "its node was not asked");
    expect(m.tokens.empty() && !m.all, "it was told that a client was fenced");
    is("the look", found, -EEXIST);
    expect(nothing_missed(victim), "it was told afterwards");
}

// Clients are made up without end: only their own node is hurt, and only until it knows.
void made_up(const Target &t) {
    Client fencer = t.client();
    fencer.open();
    fencer.attach(Target::scratch);
    Client victim = t.second_client();
    const std::uint32_t node = victim.self().host.node;
    const std::uint64_t first = 1ull << 32;
    auto fence = [&](std::uint32_t of, std::uint64_t n) {
        is("a fence", status_of(fencer, fence_of(DS_FENCE_NODE, of, first + n)), 0);
    };
    for (unsigned n = 0; n < 2 * DS_FENCED_MAX; n++)
        fence(nobody, n);
    for (unsigned n = 0; n < DS_FENCED_MAX; n++)
        fence(node, n);
    fence(node, 0);  // once more

    victim.open();
    Missed m = missed(victim);
    expect(m.tokens.size() == DS_FENCED_MAX && m.tokens.back() == first + DS_FENCED_MAX - 1 &&
               !m.all,
           "it was told of " + std::to_string(m.tokens.size()) + " clients");
    victim.attach(Target::scratch, 0, m.last);
    expect(nothing_missed(victim), "it was told again after it had attached");
}

// As many nodes as are remembered at all are made up.
void made_up_nodes(const Target &t) {
    Client fencer = t.client();
    fencer.open();
    fencer.attach(Target::scratch);
    const std::uint32_t node = t.second_client().self().host.node;
    for (unsigned n = 0; n <= DS_FENCED_MAX; n++)
        is("a fence", status_of(fencer, fence_of(DS_FENCE_NODE, node, token + n)), 0);
    for (unsigned n = 0; n < 4200; n++)
        is("a fence", status_of(fencer, fence_of(DS_FENCE_NODE, 10000 + n)), 0);
    // One of them is of the node that has to make room for it.
    for (unsigned n = 0; n < 200; n++)
        is("another there", status_of(fencer, fence_of(DS_FENCE_NODE, 10000 + n, token + 1)), 0);
    is("of no node", status_of(fencer, fence_of(DS_FENCE_NODE, DS_NODE_MAX + 1)), -EINVAL);
    Client victim = t.second_client();
    victim.open();
    Missed m = missed(victim);
    expect(m.all && m.tokens.empty(), "it was not told that all are fenced");
    victim.attach(Target::scratch, 0, m.last);
    expect(nothing_missed(victim), "it was told again after it had attached");
}

// All its clients were fenced, and it knows. One that it ends itself afterwards is no news to it.
void answered(const Target &t) {
    Client fencer = t.client();
    fencer.open();
    fencer.attach(Target::scratch);
    Client victim = t.second_client();
    const std::uint32_t node = victim.self().host.node;
    for (unsigned n = 0; n <= DS_FENCED_MAX; n++)
        is("a fence", status_of(fencer, fence_of(DS_FENCE_NODE, node, token + n)), 0);
    victim.open();
    Missed m = missed(victim);
    expect(m.all, "it was not told that all are fenced");

    int fenced = -1;
    std::thread fencing(
        [&] { fenced = status_of(fencer, fence_of(DS_FENCE_NODE, node, token - 1)); });
    auto asked = victim.receive();
    expect(asked && asked->hdr.service == DS_SERVICE_FENCE, "its node was not asked");
    victim.attach(Target::scratch, 0, m.last);
    expect(missed(victim).all, "what it does not know yet was forgotten");
    victim.send(make_message(DS_MSG_RESPONSE, {}, DS_SERVICE_FENCE, asked->hdr.seq,
                             victim.epoch()));
    fencing.join();
    is("the fence that it has answered", fenced, 0);
    expect(nothing_missed(victim), "it was told of what it has answered");
}

const Attack attacks[] = {
    {"FENCE that is malformed, or not the sender's to ask for", "EINVAL, EACCES, EPERM", malformed},
    {"a host that does not answer FENCE", "its connection is closed", silent},
    {"a client of a host that is not there", "told when it comes", absent},
    {"who only looks for a client", "nobody is ended", looked_for},
    {"clients that never were, without end", "their node alone is told", made_up},
    {"nodes that never were, without end", "all fences are kept", made_up_nodes},
    {"a fence of a host all of whose clients are fenced", "it is told once", answered},
};

}  // namespace

std::span<const Attack> fence_attacks() {
    return attacks;
}

}  // namespace peer
