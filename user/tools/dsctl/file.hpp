// SPDX-License-Identifier: Apache-2.0
// A file whose errors say its name. "-" is standard input or output.
#pragma once

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
    // Errors call it @p name, if it has another one for the user.
    File(const std::string &path, int flags, mode_t mode = 0666, const std::string &name = "");
    ~File();
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    // Fills the buffer as far as the file goes; returns the bytes read.
    size_t read(void *data, size_t size);

    void write(const void *data, size_t size);

    // Ends writing. An error that the system reports only here is not lost.
    void close();

    mode_t mode() const;

    // Bytes of a regular file; nothing for a pipe or a terminal.
    std::optional<uint64_t> size() const;

private:
    [[noreturn]] void fail(const char *what) const;

    std::string path_;
    int fd_;
    bool owned_;
};

// All that is in a file.
std::string contents_of(const std::string &path);

// The file to be written: complete or absent, never half, also if a signal ends dsctl. One that is
// there is replaced, with its mode, behind a symbolic link too. A device or a pipe is never
// replaced, but written to. There is one at a time.
class NewFile {
public:
    explicit NewFile(const std::string &path);

    void write(std::span<const std::byte> bytes) { file_.write(bytes.data(), bytes.size()); }

    // Gives it its name.
    void keep();

private:
    struct Place {
        std::string path;
        std::string draft;  // may be the same
        mode_t mode;

        bool is_replaced() const { return draft != path; }
    };

    // Goes, unless it is kept: also with a signal, from before it is made.
    class Draft {
    public:
        explicit Draft(std::string path);  // empty: there is none
        ~Draft();
        Draft(const Draft &) = delete;
        Draft &operator=(const Draft &) = delete;

        void keep() { kept_ = true; }

    private:
        std::string path_;
        bool kept_ = false;
    };

    static Place place_of(const std::string &path);

    Place place_;
    Draft draft_;
    File file_;
};

}  // namespace dsctl
