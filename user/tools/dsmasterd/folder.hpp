// SPDX-License-Identifier: Apache-2.0
// The folder of a store: who has it has the store.
#pragma once

#include <string>

#include "fabric/fd.hpp"

namespace dsmasterd {

class Folder {
public:
    /// Locks the folder for the life of the object. Throws Refused if it is
    /// another master's, or there is none; with @p create it is made.
    Folder(const std::string &path, bool create);

    std::string metadata() const { return path_ + "/metadata"; }

private:
    std::string path_;
    ds::fabric::Fd lock_;
};

}  // namespace dsmasterd
