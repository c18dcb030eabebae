// SPDX-License-Identifier: Apache-2.0
// The bytes of a file, unpacked on the way: gzip, xz and zstd are known by their first bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ds::sim {

/// Is told how many bytes of a file, as it is stored, have been read.
using BytesRead = std::function<void(uint64_t bytes)>;

/// Bytes from somewhere.
class Stream {
public:
    virtual ~Stream() = default;

    /// Fills the buffer as far as there is something; less means that it was the end.
    virtual size_t read(std::span<uint8_t> buffer) = 0;

    /// Throws Failure if it is packed and what comes, up to some amount, is damaged.
    virtual void check_packing() {}
};

/// @p packed without its compression. Its read() throws Failure (EBADMSG) if the data is
/// damaged or ends too early; @p path is for that message.
std::unique_ptr<Stream> unpacked(std::unique_ptr<Stream> packed, const std::string &path);

/// What a decoder reads from. Offsets count unpacked bytes.
class Source {
public:
    static constexpr size_t longest_peek = 256 << 10;
    static constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

    /// Throws Failure if the file cannot be opened; "-" is standard input. @p told: called as it is
    /// read, if set.
    explicit Source(const std::string &path, const BytesRead &told = {});

    /// The next bytes, at most longest_peek; fewer than asked for only before the end.
    std::span<const uint8_t> peek(size_t size);
    void skip(size_t size) { begin_ += size; }

    /// The next line without its end, and the first one without a byte order mark of UTF-8; false
    /// at the end of the file.
    bool line(std::string_view &text);

    /// Has the line that was read last no end?
    bool is_in_line() const { return in_line_; }

    /// Failure (EBADMSG) that names the file and the line or record that was read last. @p hint: a
    /// sentence of what may help, before the usual remedy.
    [[noreturn]] void fail_line(const std::string &what, const std::string &hint = "") const;
    [[noreturn]] void fail_byte(const std::string &what) const;

    const std::string &path() const { return path_; }

    /// To be called when what was read is wrong: throws Failure if that is no wonder, as the file
    /// is packed and damaged.
    void check_packing() { stream_->check_packing(); }

    /// Errors say from now on that the format was guessed.
    void is_guessed(std::string_view format) { guessed_ = format; }

private:
    static constexpr size_t longest_line = 4096;

    std::string remedy() const;
    void refuse_cr(std::span<const uint8_t> line) const;

    std::string path_, guessed_;
    std::unique_ptr<Stream> stream_;
    std::vector<uint8_t> buffer_;
    size_t begin_ = 0, end_ = 0;  // of what is in the buffer
    uint64_t before_ = 0;         // bytes of the file in front of it
    uint64_t lines_ = 0;
    bool in_line_ = false;
};

}  // namespace ds::sim
