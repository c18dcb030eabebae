// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Who the test peer says it is, and what the portable handshake needs of user
 * space: HMAC by OpenSSL, random bytes, the key.
 */
#ifndef DSPEER_IDENTITY_HPP
#define DSPEER_IDENTITY_HPP

#include <array>
#include <span>

#include "bytes.hpp"

extern "C" {
#include "handshake.h"
}

namespace peer {

using Key = std::array<std::uint8_t, DS_HS_KEY_LEN>;
using Mac = std::array<std::uint8_t, DS_MAC_LEN>;

/** A host and the key of its one trust domain. */
struct Identity {
    ds_hs_host host = {};
    Key key = {};

    /** A host with a random uuid and incarnation, two lanes, one NIC. */
    Identity(std::uint32_t node, std::uint64_t group, std::uint32_t domain, const Key &key);
};

/** The callbacks of the handshake; their context is an Identity. */
extern const ds_hs_ops identity_ops;

Mac hmac(const Key &key, std::span<const std::uint8_t> bytes);

/** Proof of a side ("client" or "server") over both hellos, by the rules of the protocol. */
Mac proof(const Key &key, const char *side, const ds_hello &hello, const ds_hello &reply);

std::uint64_t random_u64();

/** The 32 bytes of a key file; Broken when it cannot be read. */
Key read_key(const std::string &path);

const char *reject_name(unsigned reject);

}  // namespace peer

#endif
