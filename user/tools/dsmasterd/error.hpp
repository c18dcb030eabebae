// SPDX-License-Identifier: Apache-2.0
// Why the master does not start, or ends: a sentence and a remedy.
#pragma once

#include <stdexcept>
#include <string>

namespace dsmasterd {

struct Refused : std::runtime_error {
    Refused(const std::string &sentence, std::string remedy, int status = 1)
        : runtime_error(sentence), remedy(std::move(remedy)), status(status) {}
    std::string remedy;
    int status;  ///< exit status, as of dsctl
};

}  // namespace dsmasterd
