// SPDX-License-Identifier: Apache-2.0
#include "file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "error.hpp"
#include "interrupt.hpp"
#include "units.hpp"

namespace dsctl {

std::string file_remedy(int errnum) {
    switch (errnum) {
    case ENOENT:
        return "check the name of the file";
    case EACCES:
    case EPERM:
        return "check the file's owner and mode";
    case EEXIST:
        return "choose another name, or remove the file first";
    case EISDIR:
        return "name a file, not a folder";
    case ENOSPC:
    case EDQUOT:
        return "make room on the file system";
    default:
        return "check the file and its file system";
    }
}

void File::fail(const char *what) const {
    int errnum = errno;

    throw from_errno("FIL", errnum,
                     "cannot " + std::string(what) + " '" + path_ + "': " + errno_text(errnum),
                     file_remedy(errnum))
        .with("file", path_);
}

File::File(const std::string &path, int flags, mode_t mode, const std::string &name)
    : path_(name.empty() ? path : name), owned_(path != "-") {
    if (owned_)
        fd_ = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    else
        fd_ = (flags & O_ACCMODE) == O_RDONLY ? STDIN_FILENO : STDOUT_FILENO;
    if (fd_ < 0)
        fail(flags & O_CREAT ? "make" : "open");
}

File::~File() {
    if (owned_ && fd_ >= 0)
        ::close(fd_);
}

size_t File::read(void *data, size_t size) {
    size_t done = 0;

    while (done < size) {
        ssize_t got = ::read(fd_, static_cast<char *>(data) + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            fail("read");
        if (got == 0)
            break;
        done += static_cast<size_t>(got);
    }
    return done;
}

void File::write(const void *data, size_t size) {
    size_t done = 0;

    while (done < size) {
        ssize_t put = ::write(fd_, static_cast<const char *>(data) + done, size - done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            fail("write");
        done += static_cast<size_t>(put);
    }
}

void File::close() {
    int fd = fd_;

    if (!owned_)
        return;
    fd_ = -1;
    if (::close(fd) != 0)
        fail("write");
}

mode_t File::mode() const {
    struct stat status;

    if (fstat(fd_, &status) != 0)
        fail("look at");
    return status.st_mode;
}

std::optional<uint64_t> File::size() const {
    struct stat status;

    if (fstat(fd_, &status) != 0)
        fail("look at");
    if (!S_ISREG(status.st_mode))
        return std::nullopt;
    return static_cast<uint64_t>(status.st_size);
}

std::string contents_of(const std::string &path) {
    constexpr size_t read_at_once = 1 << 20;
    File file(path, O_RDONLY);
    std::string text;
    size_t got;

    do {
        size_t before = text.size();
        text.resize(before + read_at_once);
        got = file.read(text.data() + before, read_at_once);
        text.resize(before + got);
    } while (got > 0);
    return text;
}

// ---- a file that is replaced as a whole ----

NewFile::Draft::Draft(std::string path) : path_(std::move(path)) {
    if (!path_.empty())
        remove_if_killed(path_.c_str());
}

NewFile::Draft::~Draft() {
    if (!path_.empty() && !kept_)
        std::remove(path_.c_str());
    remove_if_killed(nullptr);
}

NewFile::Place NewFile::place_of(const std::string &path) {
    std::string draft = path + format(".%d.tmp", getpid());
    struct stat status;

    if (path == "-")
        return {path, path, 0};
    if (stat(path.c_str(), &status) != 0)
        return {path, draft, 0666};
    std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), std::free);
    if (!S_ISREG(status.st_mode) || !real)
        return {path, path, 0};
    draft.replace(0, path.size(), real.get());
    return {real.get(), draft, status.st_mode & ACCESSPERMS};
}

NewFile::NewFile(const std::string &path)
    : place_(place_of(path)),
      draft_(place_.is_replaced() ? place_.draft : ""),
      file_(place_.draft, O_WRONLY | O_CREAT | O_TRUNC, place_.mode, path) {}

void NewFile::keep() {
    file_.close();
    if (place_.is_replaced() && std::rename(place_.draft.c_str(), place_.path.c_str()) != 0)
        throw from_errno("FIL", errno, "cannot make '" + place_.path + "': " + errno_text(errno),
                         "check the folder and its file system");
    draft_.keep();
}

}  // namespace dsctl
