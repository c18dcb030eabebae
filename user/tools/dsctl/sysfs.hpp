// SPDX-License-Identifier: Apache-2.0
// Small files of the kernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dsctl {

// The first line, without its newline; nothing if it cannot be read.
std::optional<std::string> read_line(const std::string &path);

bool exists(const std::string &path);

// Names in a folder, sorted; none if it cannot be read.
std::vector<std::string> entries(const std::string &path);

}  // namespace dsctl
