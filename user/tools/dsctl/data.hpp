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

// LEN and --out of a read fit together; @p other is a further way for what is too long to show.
void check_read(const Call &call, const std::string &other = "");

// What a read of LEN bytes at ADDR has brought: @p shown, or a file that is written already.
void answer_read(Call &call, std::span<const std::byte> shown);

// What a compare-and-swap of OLD and NEW has found; throws if it swapped nothing. @p more is
// told, too.
void answer_cas(Call &call, uint64_t found, const Json &more = {});

// The same of an addition of N.
void answer_add(Call &call, uint64_t old, const Json &more = {});

// DATA, as text or with --hex; or --file, or standard input. Throws if it is both, or
// too long for one command.
std::vector<std::byte> data_to_write(Call &call);

}  // namespace dsctl
