// SPDX-License-Identifier: Apache-2.0
// Keys in files: raw bytes or hexadecimal digits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ds/netlink.h>
#include <ds/packet.h>

#include "output.hpp"

namespace dsctl {

constexpr size_t domain_key_bytes = DS_DOMAIN_KEY_LEN;
constexpr size_t packet_key_bytes = DS_PACKET_KEY_LEN;

// Reads a key. Warns if others than the owner can read the file.
std::vector<uint8_t> read_key(const std::string &path, size_t bytes, Output &out);

// Makes a random key in a new file that only its owner can read. Throws
// Exit::exists if there is a file of that name: it may be a key in use.
void make_key(const std::string &path, size_t bytes);

}  // namespace dsctl
