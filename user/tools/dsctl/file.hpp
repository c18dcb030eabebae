// SPDX-License-Identifier: Apache-2.0
// A file whose errors say its name. "-" is standard input or output.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace dsctl {

// What to do about an errno that came from a file.
std::string file_remedy(int errnum);

class File {
public:
    File(const std::string &path, int flags, mode_t mode = 0666);
    // Takes over what is open already. Errors call it @p name.
    File(int fd, const std::string &name) : path_(name), fd_(fd), owned_(true) {}
    ~File();
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    // Fills the buffer as far as the file goes; returns the bytes read.
    size_t read(void *data, size_t size);

    void write(const void *data, size_t size);

    // Ends writing. An error that the system reports only here is not lost.
    void close();

    mode_t mode() const;

    // Gives it the permissions of another file, and the owner if it may be given away.
    void become_like(const struct stat &other);

    // Bytes of a regular file; nothing for a pipe or a terminal.
    std::optional<uint64_t> size() const;

private:
    [[noreturn]] void fail(const char *what) const;

    std::string path_;
    int fd_;
    bool owned_;
};

// Does what is written to @p path go where standard output does? So it is with "-", and with
// another name of the same pipe or file, /dev/stdout for one. Terminals and /dev/null take both.
bool is_stdout(const std::string &path);

// All that is in a file of text, but for a byte order mark that it may begin with. What has a byte
// of 0 is none, and refused.
std::string contents_of(const std::string &path);

// The file to be written: complete or absent, never half, also if a signal but SIGKILL ends dsctl.
// One that is there is replaced: the new one has its permissions, and its owner and group as far as
// the user may give files away. Symbolic links stay, also several in a row: what the last one names
// is replaced, or made if it is not there. Until then the bytes are in a draft beside it, a new
// file with a name that nothing had. A device or a pipe is never replaced, but written to. There is
// one at a time.
class NewFile {
public:
    explicit NewFile(const std::string &path);

    void write(std::span<const std::byte> bytes) { file_.write(bytes.data(), bytes.size()); }

    // Nobody sees what is written, until it is kept; else it cannot be taken back.
    bool is_draft() const { return place_.is_replaced; }

    // Gives it its name.
    void keep();

private:
    struct Place {
        std::string path;
        bool is_replaced;                // else written to
        std::optional<struct stat> old;  // what is replaced, if there is something
    };

    // Goes, unless it is kept: also with a signal, from when it is made.
    class Draft {
    public:
        // Only for what is replaced. Errors call it @p name.
        Draft(const Place &place, const std::string &name);
        ~Draft();
        Draft(const Draft &) = delete;
        Draft &operator=(const Draft &) = delete;

        int fd() const { return fd_; }

        // Puts it there.
        void keep(const Place &place);

    private:
        std::string path_;
        int fd_ = -1;
        bool kept_ = false;
    };

    static Place place_of(const std::string &path);

    Place place_;
    Draft draft_;
    File file_;
};

}  // namespace dsctl
