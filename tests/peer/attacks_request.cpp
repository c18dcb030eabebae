// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Attacks by the private data of a connection request.
 */
#include <functional>

#include "attack.hpp"

namespace peer {

namespace {

constexpr std::size_t cm_data_max = 56;

ds_cm_req request(const Target &t) {
    ds_cm_req req;
    ds_hs_make_req(&req, DS_ROLE_CONTROL, 0, t.group, 0, 0);
    return req;
}

void refused(const Target &t, const Bytes &data, unsigned reason, const std::string &what) {
    Lane lane(t.address, {1, 1, 7});
    expect_refused(lane.connect(data), reason, what);
}

// A request with one thing wrong.
void wrong(const Target &t, unsigned reason, const std::string &what,
           const std::function<void(ds_cm_req &)> &change) {
    ds_cm_req req = request(t);
    change(req);
    refused(t, bytes_of(req), reason, what);
}

void magic(const Target &t) {
    for (std::uint16_t value : {0x0000, 0x5344, 0x4452, 0xffff})
        wrong(t, DS_REJECT_MAGIC, "magic " + std::to_string(value),
              [=](ds_cm_req &r) { r.magic = value; });
}

void versions(const Target &t) {
    const std::pair<int, int> ranges[] = {{0, 0}, {1, 1}, {3, 3}, {3, 255}, {255, 0}, {3, 2}};
    for (auto [low, high] : ranges)
        wrong(t, DS_REJECT_VERSION,
              "versions " + std::to_string(low) + " to " + std::to_string(high), [=](ds_cm_req &r) {
                  r.version_min = static_cast<__u8>(low);
                  r.version_max = static_cast<__u8>(high);
              });
}

void group(const Target &t) {
    const std::uint64_t others[] = {0, t.group ^ 1, t.group ^ 1ULL << 63};
    for (std::uint64_t value : others)
        wrong(t, DS_REJECT_GROUP, "another group", [=](ds_cm_req &r) { r.group = value; });
}

void role(const Target &t) {
    for (int value : {3, 128, 255})
        wrong(t, DS_REJECT_MAGIC, "role " + std::to_string(value),
              [=](ds_cm_req &r) { r.role = static_cast<__u8>(value); });
}

void reserved(const Target &t) {
    for (std::size_t i = 0; i < sizeof(ds_cm_req::reserved); i++)
        wrong(t, DS_REJECT_MAGIC, "reserved byte " + std::to_string(i),
              [=](ds_cm_req &r) { r.reserved[i] = 1; });
}

void tail(const Target &t) {
    for (std::size_t at : {sizeof(ds_cm_req), cm_data_max - 1}) {
        Bytes data = bytes_of(request(t));
        data.resize(cm_data_max);
        data[at] = 1;
        refused(t, data, DS_REJECT_MAGIC, "a byte at " + std::to_string(at));
    }
}

void control_extras(const Target &t) {
    wrong(t, DS_REJECT_MAGIC, "a control lane with an index", [](ds_cm_req &r) { r.lane = 1; });
    wrong(t, DS_REJECT_MAGIC, "a control lane with a cookie", [](ds_cm_req &r) { r.cookie = 1; });
    wrong(t, DS_REJECT_MAGIC, "an urgent lane with an index", [](ds_cm_req &r) {
        r.role = DS_ROLE_URGENT;
        r.cookie = 1;
        r.lane = 1;
    });
}

void nic(const Target &t) {
    wrong(t, DS_REJECT_MAGIC, "a second pair of NICs", [](ds_cm_req &r) { r.nic = 1; });
}

// What is cut off arrives as zeros, so the cut decides what is wrong.
void truncated(const Target &t) {
    Bytes whole = bytes_of(request(t));
    for (std::size_t size = 0; size < 16; size++) {
        unsigned reason = size < 4   ? DS_REJECT_MAGIC
                          : size < 6 ? DS_REJECT_VERSION
                                     : DS_REJECT_GROUP;
        refused(t, Bytes(whole.begin(), whole.begin() + static_cast<long>(size)), reason,
                std::to_string(size) + " bytes");
    }
}

void no_cookie(const Target &t) {
    for (int role : {DS_ROLE_BULK, DS_ROLE_URGENT})
        wrong(t, DS_REJECT_COOKIE, "a data lane without a cookie",
              [=](ds_cm_req &r) { r.role = static_cast<__u8>(role); });
}

void noise(const Target &t) {
    Bytes data(cm_data_max);
    for (int i = 0; i < 8; i++) {
        for (std::size_t at = 0; at < data.size(); at += 8) {
            std::uint64_t value = random_u64();
            std::memcpy(&data[at], &value, 8);
        }
        data[3] = 0;  // never the magic
        refused(t, data, DS_REJECT_MAGIC, "random bytes");
    }
}

const Attack attacks[] = {
    {"request with a wrong magic", "refused: MAGIC", magic},
    {"request with no version in common", "refused: VERSION", versions},
    {"request of another group", "refused: GROUP", group},
    {"request with an unknown role", "refused: MAGIC", role},
    {"request with each reserved byte set", "refused: MAGIC", reserved},
    {"request that is longer, not with zeros", "refused: MAGIC", tail},
    {"control request with an index or a cookie", "refused: MAGIC", control_extras},
    {"request for a second pair of NICs", "refused: MAGIC", nic},
    {"request cut off at each byte up to the group", "refused: MAGIC, VERSION, GROUP", truncated},
    {"data lane without a cookie", "refused: COOKIE", no_cookie},
    {"request of random bytes", "refused: MAGIC", noise},
};

}  // namespace

void expect_refused(const Answer &answer, unsigned reason, const std::string &what) {
    expect(answer.kind == Answer::refused && refuses_for(answer.data, reason),
           what + " was " + describe(answer) + ", not refused: " + reject_name(reason));
}

std::span<const Attack> request_attacks() {
    return attacks;
}

}  // namespace peer
