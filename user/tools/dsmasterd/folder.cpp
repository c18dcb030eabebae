// SPDX-License-Identifier: Apache-2.0
#include "folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "error.hpp"

namespace dsmasterd {

Folder::Folder(const std::string &path, bool create) : path_(path) {
    is_made_ = create && mkdir(path.c_str(), 0700) == 0;
    if (create && !is_made_ && errno != EEXIST)
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
    struct stat ours, named;
    if (fstat(lock_.get(), &ours) < 0 || stat((path + "/lock").c_str(), &named) < 0 ||
        ours.st_ino != named.st_ino || ours.st_dev != named.st_dev)
        throw Refused("another dsmasterd was just removing the folder '" + path + "'",
                      "start again", 5);
    is_draft_ = access(metadata().c_str(), F_OK) < 0;
}

Folder::~Folder() {
    if (!is_draft_)
        return;
    for (const char *suffix : {"", "-wal", "-shm", "-journal"})
        unlink((metadata() + suffix).c_str());
    if (!is_made_)
        return;
    unlink((path_ + "/lock").c_str());
    rmdir(path_.c_str());
}

}  // namespace dsmasterd
