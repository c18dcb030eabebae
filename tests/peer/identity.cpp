// SPDX-License-Identifier: Apache-2.0
#include "identity.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <fstream>

namespace peer {

namespace {

void fill_random(void *bytes, std::size_t count) {
    if (RAND_bytes(static_cast<unsigned char *>(bytes), static_cast<int>(count)) != 1)
        throw Broken("no random bytes");
}

int make_hmac(void *, const u8 *key, u32 keylen, const ds_hs_vec *vec, u32 n, u8 mac[DS_MAC_LEN]) {
    Bytes all;
    for (u32 i = 0; i < n; i++) {
        auto *part = static_cast<const std::uint8_t *>(vec[i].data);
        all.insert(all.end(), part, part + vec[i].len);
    }
    unsigned length = DS_MAC_LEN;
    return HMAC(EVP_sha256(), key, static_cast<int>(keylen), all.data(), all.size(), mac, &length)
               ? 0
               : -ENOMEM;
}

void make_random(void *, void *bytes, u32 count) {
    fill_random(bytes, count);
}

int find_key(void *context, u32 domain, u8 key[DS_HS_KEY_LEN]) {
    auto *self = static_cast<const Identity *>(context);
    if (domain != self->host.domain)
        return -ENOENT;
    std::copy(self->key.begin(), self->key.end(), key);
    return 0;
}

}  // namespace

const ds_hs_ops identity_ops = {make_hmac, make_random, find_key};

Identity::Identity(std::uint32_t node, std::uint64_t group, std::uint32_t domain, const Key &k)
    : key(k) {
    fill_random(host.uuid, sizeof(host.uuid));
    host.incarnation = random_u64();
    host.group = group;
    host.node = node;
    host.domain = domain;
    host.lanes = 2;
    host.nics = 1;
}

Mac hmac(const Key &key, std::span<const std::uint8_t> bytes) {
    const ds_hs_vec all = {bytes.data(), static_cast<u32>(bytes.size())};
    Mac mac;
    if (make_hmac(nullptr, key.data(), key.size(), &all, 1, mac.data()))
        throw Broken("no HMAC");
    return mac;
}

Mac proof(const Key &key, const char *side, const ds_hello &hello, const ds_hello &reply) {
    std::string label = std::string("DS1 ") + side;
    Bytes all(label.begin(), label.end());
    for (const ds_hello *part : {&hello, &reply}) {
        Bytes bytes = bytes_of(*part);
        all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return hmac(key, all);
}

std::uint64_t random_u64() {
    std::uint64_t value;
    fill_random(&value, sizeof(value));
    return value ? value : 1;
}

Key read_key(const std::string &path) {
    Key key;
    std::ifstream file(path, std::ios::binary);
    if (!file.read(reinterpret_cast<char *>(key.data()), key.size()))
        throw Broken(path + " holds no key of 32 bytes");
    return key;
}

const char *reject_name(unsigned reject) {
    static const char *const names[] = {"NONE", "MAGIC",  "VERSION", "GROUP",    "COOKIE",
                                        "BUSY", "DOMAIN", "AUTH",    "PLATFORM", "NODE"};
    return reject < std::size(names) ? names[reject] : "unknown";
}

}  // namespace peer
