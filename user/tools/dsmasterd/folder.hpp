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

    /// What was not there before goes, unless keep() was called: a store that could not be
    /// made, or metadata of none.
    ~Folder();
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;

    /// From here on the space may name the store: its metadata stay.
    void keep() { is_draft_ = false; }

    std::string metadata() const { return path_ + "/metadata"; }

private:
    std::string path_;
    bool is_made_ = false;   // the folder, by us
    bool is_draft_ = false;  // the metadata: they were not there before
    ds::fabric::Fd lock_;
};

}  // namespace dsmasterd
