// SPDX-License-Identifier: Apache-2.0
#include "folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "error.hpp"

namespace dsmasterd {

Folder::Folder(const std::string &path, bool create) : path_(path) {
    if (create && mkdir(path.c_str(), 0700) < 0 && errno != EEXIST)
        throw Refused("cannot make the folder '" + path + "': " + std::strerror(errno),
                      "choose another one");
    lock_ = ds::fabric::Fd(
        open((path + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock_.open() && errno == ENOENT)
        throw Refused("there is no folder '" + path + "'", "make a store with --create", 4);
    if (!lock_.open())
        throw Refused("cannot use the folder '" + path + "': " + std::strerror(errno),
                      "see who may write there, and whether there is room");
    if (flock(lock_.get(), LOCK_EX | LOCK_NB) < 0)
        throw Refused("another dsmasterd serves the store in '" + path + "'",
                      "use that one, or stop it first", 5);
}

}  // namespace dsmasterd
