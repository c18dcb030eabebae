// SPDX-License-Identifier: Apache-2.0
// Domain keys in files: 32 raw bytes or 64 hexadecimal digits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "output.hpp"

namespace dsctl {

// Reads a key. Warns if others than the owner can read the file.
std::vector<uint8_t> read_key(const std::string &path, Output &out);

// Makes a random key in a new file that only its owner can read. Throws
// Exit::exists if there is a file of that name: it may be a key in use.
void make_key(const std::string &path);

}  // namespace dsctl
