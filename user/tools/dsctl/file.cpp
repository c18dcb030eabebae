// SPDX-License-Identifier: Apache-2.0
#include "file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

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
        return "check owner and mode of the file, and of its folder";
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

// As errno says.
static Error file_error(const char *what, const std::string &path) {
    int errnum = errno;

    return from_errno("FIL", errnum,
                      "cannot " + std::string(what) + " '" + path + "': " + errno_text(errnum),
                      file_remedy(errnum))
        .with("file", path);
}

void File::fail(const char *what) const {
    throw file_error(what, path_);
}

File::File(const std::string &path, int flags, mode_t mode) : path_(path), owned_(path != "-") {
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

void File::become_like(const struct stat &other) {
    // Whoever may not give it away keeps it. First, as that can change the mode.
    [[maybe_unused]] int given = fchown(fd_, other.st_uid, other.st_gid);

    if (fchmod(fd_, other.st_mode & ACCESSPERMS) != 0)
        fail("make");
}

std::optional<uint64_t> File::size() const {
    struct stat status;

    if (fstat(fd_, &status) != 0)
        fail("look at");
    if (!S_ISREG(status.st_mode))
        return std::nullopt;
    return static_cast<uint64_t>(status.st_size);
}

bool is_stdout(const std::string &path) {
    struct stat file, out;

    if (path == "-")
        return true;
    return stat(path.c_str(), &file) == 0 && fstat(STDOUT_FILENO, &out) == 0 &&
           file.st_dev == out.st_dev && file.st_ino == out.st_ino && !S_ISCHR(file.st_mode);
}

std::string contents_of(const std::string &path) {
    constexpr size_t read_at_once = 1 << 20;
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    File file(path, O_RDONLY);
    std::string text;
    size_t got;

    do {
        size_t before = text.size();
        text.resize(before + read_at_once);
        got = file.read(text.data() + before, read_at_once);
        text.resize(before + got);
        // Of what has no end, such as /dev/zero, there would be no memory for all.
        if (size_t zero = text.find('\0', before); zero != text.npos)
            throw from_errno("FIL", EBADMSG,
                             format("'%s' is no text: byte %zu of it is 0", path.c_str(), zero),
                             "name a file of text")
                .with("file", path);
    } while (got > 0);
    if (text.starts_with(byte_order_mark))
        text.erase(0, byte_order_mark.size());
    return text;
}

// ---- a file that is replaced as a whole ----

// What the last of some symbolic links names, be it there or not.
static std::string end_of_links(const std::string &path) {
    constexpr int most_links = 40;  // as for the kernel
    std::filesystem::path end = path;
    std::error_code no_link;

    for (int i = 0; i < most_links && !no_link; i++) {
        std::filesystem::path next = std::filesystem::read_symlink(end, no_link);
        if (!no_link)
            end = end.parent_path() / next;
    }
    return end;
}

NewFile::Place NewFile::place_of(const std::string &path) {
    struct stat old, named;

    if (path == "-")
        return {path, false, {}};
    bool is_there = stat(path.c_str(), &old) == 0;
    // Opening it fails as well, and says why.
    if (!is_there && (errno != ENOENT || path.empty()))
        return {path, false, {}};
    std::string end = end_of_links(path);
    if (!is_there)
        return {end, true, {}};
    // A link of /proc may lead to a file that has no name any more.
    if (!S_ISREG(old.st_mode) || lstat(end.c_str(), &named) != 0 || named.st_dev != old.st_dev ||
        named.st_ino != old.st_ino)
        return {path, false, {}};
    return {end, true, old};
}

NewFile::Draft::Draft(const Place &place, const std::string &name) {
    mode_t mode = place.old ? place.old->st_mode & ACCESSPERMS : 0666;

    if (!place.is_replaced)
        return;
    // To replace a file takes a right of its folder only. Who has protected the file means it.
    if (place.old && faccessat(AT_FDCWD, place.path.c_str(), W_OK, AT_EACCESS) != 0)
        throw file_error("write", name);
    // What has the name already, a link too, is not ours to write to or to remove; so no signal may
    // come between the making of the draft and the word that it is one.
    Blocked blocked;
    // In the same folder; the file's own name may leave no room for another end.
    auto folder = std::filesystem::path(place.path).parent_path();
    for (int i = 0; fd_ < 0; i++) {
        path_ = folder / format(".dsctl.%d.%d.tmp", getpid(), i);
        fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd_ < 0 && errno != EEXIST)
            throw file_error("make", name);
    }
    remove_if_killed(path_.c_str());
}

NewFile::Draft::~Draft() {
    if (fd_ >= 0 && !kept_)
        std::remove(path_.c_str());
    remove_if_killed(nullptr);
}

void NewFile::Draft::keep(const Place &place) {
    if (fd_ >= 0 && std::rename(path_.c_str(), place.path.c_str()) != 0)
        throw from_errno("FIL", errno, "cannot make '" + place.path + "': " + errno_text(errno),
                         "check the folder and its file system");
    kept_ = true;
}

NewFile::NewFile(const std::string &path)
    : place_(place_of(path)),
      draft_(place_, path),
      file_(place_.is_replaced ? File(draft_.fd(), path)
                               : File(path, O_WRONLY | O_CREAT | O_TRUNC)) {
    if (place_.old)
        file_.become_like(*place_.old);
}

void NewFile::keep() {
    file_.close();
    draft_.keep(place_);
}

}  // namespace dsctl
