// SPDX-License-Identifier: Apache-2.0
// Bytes that a command shows, or takes from its command line.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "call.hpp"

namespace dsctl {

std::string hex_of(std::span<const std::byte> bytes);

// "0x10000000  48 65 6c 6c  6f ...  |Hello|", 16 bytes a line.
void dump(Output &out, uint64_t address, std::span<const std::byte> bytes);

// DATA, as text or with --hex; or --file, or standard input. Throws if it is both, or
// too long for one command.
std::vector<std::byte> data_to_write(Call &call);

}  // namespace dsctl
