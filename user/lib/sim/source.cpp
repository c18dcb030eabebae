// SPDX-License-Identifier: Apache-2.0
#include "sim/source.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <ds/result.hpp>

#include "fabric/fd.hpp"

namespace ds::sim {
namespace {

class PlainFile : public Stream {
public:
    PlainFile(const std::string &path, const BytesRead &told)
        : path_(path),
          told_(told),
          // /dev/stdin cannot be opened if it is a socket.
          fd_(path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                          : open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (!fd_.open())
            fail("open");
    }

    size_t read(std::span<uint8_t> buffer) override {
        size_t done = 0;

        while (done < buffer.size()) {
            ssize_t n = ::read(fd_.get(), buffer.data() + done, buffer.size() - done);
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0)
                fail("read");
            if (n == 0)
                break;
            done += static_cast<size_t>(n);
        }
        read_ += done;
        if (told_)
            told_(read_);
        return done;
    }

private:
    [[noreturn]] void fail(const char *what) const {
        int code = errno;
        throw Failure(Error::from(
            code, std::string("Cannot ") + what + " '" + path_ + "': " + strerror(code) + "."));
    }

    std::string path_;
    BytesRead told_;
    fabric::Fd fd_;
    uint64_t read_ = 0;
};

}  // namespace

Source::Source(const std::string &path, const BytesRead &told)
    : path_(path),
      stream_(unpacked(std::make_unique<PlainFile>(path, told), path)),
      buffer_(2 * longest_peek) {}

std::span<const uint8_t> Source::peek(size_t size) {
    if (end_ - begin_ < size) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        before_ += begin_;
        end_ -= begin_;
        begin_ = 0;
        end_ += stream_->read(std::span(buffer_).subspan(end_));
    }
    return std::span(buffer_).subspan(begin_, std::min(size, end_ - begin_));
}

bool Source::line(std::string_view &text) {
    auto bytes = peek(longest_line + 1);

    if (bytes.empty())
        return false;
    lines_++;
    const void *stop = std::memchr(bytes.data(), '\n', bytes.size());
    size_t length = stop ? static_cast<size_t>(static_cast<const uint8_t *>(stop) - bytes.data())
                         : bytes.size();
    if (lines_ == 1 && !stop)
        refuse_cr(bytes);
    if (length > longest_line)
        fail_line("is longer than any line of a trace");
    text = {reinterpret_cast<const char *>(bytes.data()), length};
    skip(length + (stop ? 1 : 0));
    in_line_ = !stop;
    if (text.ends_with('\r'))
        text.remove_suffix(1);
    if (lines_ == 1 && text.starts_with(byte_order_mark))
        text.remove_prefix(byte_order_mark.size());
    return true;
}

/// As old Macs wrote them; all of the file would be one line. The last one may have such an end.
void Source::refuse_cr(std::span<const uint8_t> line) const {
    auto is_control = [](uint8_t c) { return c < ' ' && !(c >= '\t' && c <= '\r'); };

    if (std::ranges::find(line.first(line.size() - 1), '\r') == line.end() - 1 ||
        std::ranges::any_of(line, is_control))
        return;
    throw Failure({EBADMSG, "'" + path_ + "' cannot be read: its lines end with CR alone.",
                   "Write LF at the end of each, as tr '\\r' '\\n' does.", false});
}

std::string Source::remedy() const {
    const std::string remedy = "Check the file, or name another format with --format";

    return remedy + (guessed_.empty() ? "." : ": it was taken for '" + guessed_ + "'.");
}

void Source::fail_line(const std::string &what, const std::string &hint) const {
    throw Failure({EBADMSG, "Line " + std::to_string(lines_) + " of '" + path_ + "' " + what + ".",
                   hint.empty() ? remedy() : hint + " " + remedy(), false});
}

void Source::fail_byte(const std::string &what) const {
    throw Failure({EBADMSG,
                   "'" + path_ + "' " + what + " at byte " + std::to_string(before_ + begin_) + ".",
                   remedy(), false});
}

}  // namespace ds::sim
