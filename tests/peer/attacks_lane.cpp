// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Attacks by data lanes: cookies that are wrong, used, another's.
 */
#include <array>
#include <memory>
#include <thread>

#include "attack.hpp"

namespace peer {

namespace {

Answer try_lane(const Client &client, ds_role role, std::uint64_t cookie, std::uint16_t index,
                const std::string &from = {}) {
    Address to = client.address();
    to.from = from;
    Lane lane(to, {1, 0, 7});
    return lane.connect(client.lane_request(role, cookie, index));
}

// A control connection that is up, its lanes not yet connected.
std::unique_ptr<Client> proved(const Target &t) {
    auto client = std::make_unique<Client>(t.address, t.identity());
    client->connect();
    client->shake_hands();
    return client;
}

void forged(const Target &t) {
    auto client = proved(t);
    std::uint64_t good = client->auth_ok().bulk[0];
    const std::uint64_t cookies[] = {1, good ^ 1, good ^ 1ULL << 63, ~good, random_u64()};
    for (std::uint64_t cookie : cookies)
        expect_refused(try_lane(*client, DS_ROLE_BULK, cookie, 0), DS_REJECT_COOKIE,
                       "a forged cookie");
    client->open_lanes();
    client->heartbeat();
}

void misplaced(const Target &t) {
    auto client = proved(t);
    const ds_auth_ok &ok = client->auth_ok();
    std::uint16_t lanes = ok.lanes;
    expect_refused(try_lane(*client, DS_ROLE_BULK, ok.urgent, 0), DS_REJECT_COOKIE,
                   "the urgent cookie as bulk");
    expect_refused(try_lane(*client, DS_ROLE_URGENT, ok.bulk[0], 0), DS_REJECT_COOKIE,
                   "a bulk cookie as urgent");
    expect_refused(try_lane(*client, DS_ROLE_BULK, ok.bulk[0], 1), DS_REJECT_COOKIE,
                   "the cookie of another lane");
    expect_refused(try_lane(*client, DS_ROLE_BULK, ok.bulk[0], lanes), DS_REJECT_COOKIE,
                   "a lane more than allowed");
    expect_refused(try_lane(*client, DS_ROLE_BULK, ok.bulk[0], DS_MAX_LANES), DS_REJECT_MAGIC,
                   "lane 32");
    client->open_lanes();
    client->heartbeat();
}

void reused(const Target &t) {
    auto client = proved(t);
    std::uint64_t cookie = client->auth_ok().bulk[0];
    client->open_lanes();
    expect_refused(try_lane(*client, DS_ROLE_BULK, cookie, 0), DS_REJECT_COOKIE, "a used cookie");
    Keys keys = client->attach(Target::scratch);
    Bytes data(64);
    expect(!client->bulk().write(0, keys.rkeys[0], data), "the lane was lost by the attempt");
}

void from_elsewhere(const Target &t) {
    auto client = proved(t);
    expect_refused(try_lane(*client, DS_ROLE_BULK, client->auth_ok().bulk[0], 0, t.other_from),
                   DS_REJECT_COOKIE, "a good cookie from another address");
    client->open_lanes();
}

void too_late(const Target &t) {
    ds_auth_ok ok;
    auto client = proved(t);
    ok = client->auth_ok();
    client->control().disconnect();
    expect(client->control().closed(Clock::now() + 3s), "the connection did not end");
    std::this_thread::sleep_for(500ms);
    expect_refused(try_lane(*client, DS_ROLE_BULK, ok.bulk[0], 0), DS_REJECT_COOKIE,
                   "a cookie of a connection that has ended");
    auto next = proved(t);
    expect_refused(try_lane(*next, DS_ROLE_BULK, ok.bulk[0], 0), DS_REJECT_COOKIE,
                   "an earlier connection's cookie");
}

void too_early(const Target &t) {
    Client client = t.client();
    client.connect();
    client.hello_reply();
    for (std::uint64_t cookie : {std::uint64_t(1), random_u64()})
        expect_refused(try_lane(client, DS_ROLE_BULK, cookie, 0), DS_REJECT_COOKIE,
                       "a lane before AUTH");
}

// Four at a time with one cookie: one gets in.
void race(const Target &t) {
    auto client = proved(t);
    constexpr std::size_t count = 4;
    std::array<std::unique_ptr<Lane>, count> lanes;
    for (auto &lane : lanes)
        lane = std::make_unique<Lane>(t.address, QpSizes{1, 0, 7});
    Bytes request = client->lane_request(DS_ROLE_BULK, client->auth_ok().bulk[0], 0);
    std::array<Answer, count> answers;
    {
        std::array<std::jthread, count> threads;
        for (std::size_t i = 0; i < count; i++)
            threads[i] = std::jthread([&, i] { answers[i] = lanes[i]->connect(request); });
    }
    int accepted = 0;
    for (const Answer &answer : answers) {
        accepted += answer.kind == Answer::accepted;
        if (answer.kind != Answer::accepted)
            expect_refused(answer, DS_REJECT_COOKIE, "a lane with the same cookie");
    }
    expect(accepted == 1, std::to_string(accepted) + " lanes were accepted with one cookie");
}

void lane_lost(const Target &t) {
    auto client = proved(t);
    client->open_lanes();
    client->bulk_lane(0).disconnect();
    expect_end(client->ending(), {}, "a connection that lost a lane");
}

const Attack attacks[] = {
    {"lane with a forged cookie", "refused: COOKIE; the connection lives", forged},
    {"lane with a cookie of another role or index", "refused: COOKIE; the connection lives",
     misplaced},
    {"lane with a used cookie", "refused: COOKIE; the first lane lives", reused},
    {"lane with a good cookie from another address", "refused: COOKIE", from_elsewhere},
    {"lane with a cookie of a connection that has ended", "refused: COOKIE", too_late},
    {"lane before AUTH", "refused: COOKIE", too_early},
    {"four lanes at a time with one cookie", "one is accepted", race},
    {"disconnect of one lane", "the connection is closed", lane_lost},
};

}  // namespace

std::span<const Attack> lane_attacks() {
    return attacks;
}

}  // namespace peer
