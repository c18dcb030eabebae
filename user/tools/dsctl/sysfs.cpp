// SPDX-License-Identifier: Apache-2.0
#include "sysfs.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace dsctl {

std::optional<std::string> read_line(const std::string &path) {
    std::ifstream file(path);
    std::string line;

    if (!std::getline(file, line))
        return std::nullopt;
    return line;
}

bool exists(const std::string &path) {
    std::error_code error;

    return std::filesystem::exists(path, error);
}

std::vector<std::string> entries(const std::string &path) {
    std::vector<std::string> names;
    std::error_code error;

    for (const auto &entry : std::filesystem::directory_iterator(path, error))
        names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace dsctl
