// SPDX-License-Identifier: Apache-2.0
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <ds/result.hpp>

#include "sim/source.hpp"

namespace ds::sim {
namespace {

// What a file may make a decoder take; of zstd it is the window, which the decoder has besides
// buffers of some hundred KiB.
constexpr uint64_t most_memory = 256 << 20;
constexpr int most_window_log = 27;

/// What a step of a decoder reads and writes; it moves both on.
struct Room {
    std::span<const uint8_t> in;
    std::span<uint8_t> out;
};

/// Runs a decoder over a file of one compressed piece or more.
class Unpacker : public Stream {
public:
    Unpacker(std::unique_ptr<Stream> packed, std::string path)
        : packed_(std::move(packed)), path_(std::move(path)), buffer_(64 << 10) {}

    size_t read(std::span<uint8_t> buffer) override {
        Room room{{}, buffer};

        while (!room.out.empty()) {
            if (left_.empty() && !at_end_)
                refill();
            if (complete_)
                skip_padding();
            if (left_.empty() && at_end_ && complete_)
                break;
            if (left_.empty() && !at_end_)
                continue;
            room.in = left_.first(std::min(left_.size(), most_at_once));
            size_t before = room.out.size(), given = room.in.size();
            complete_ = step(room);
            // Without input, a decoder that still has output gives some.
            if (left_.empty() && at_end_ && !complete_ && room.out.size() == before)
                fail("ends in the middle of its compressed data", get_again);
            left_ = left_.subspan(given - room.in.size());
        }
        return buffer.size() - room.out.size();
    }

    void check_packing() override {
        std::vector<uint8_t> scratch(64 << 10);

        for (uint64_t done = 0; done < most_checked; done += scratch.size())
            if (read(scratch) < scratch.size())
                return;
    }

protected:
    /// Decodes as much as it can; true if that was the end of a piece.
    virtual bool step(Room &room) = 0;

    [[noreturn]] void damaged() const { fail("is damaged", get_again); }
    [[noreturn]] void too_large(uint64_t needed, uint64_t most) const {
        fail("needs " + std::to_string(needed >> 20) + " MiB of memory to be unpacked, and " +
                 std::to_string(most >> 20) + " MiB are the most that it may take",
             "Unpack it by the program that packed it, and name what comes out.");
    }

private:
    static constexpr uint64_t most_checked = 1 << 30;  // some seconds

    /// A decoder does not say where in what it was given the damage is.
    static constexpr size_t most_at_once = 4 << 10;
    static constexpr const char *get_again = "Get the file again, from where it came.";

    [[noreturn]] void fail(const std::string &what, const char *remedy) const {
        throw Failure({EBADMSG,
                       "'" + path_ + "' " + what + ", near byte " +
                           std::to_string(taken_ - left_.size()) + " of the compressed file.",
                       remedy, false});
    }

    /// Zeros behind a piece, as tapes and xz have them; no piece begins with one.
    void skip_padding() {
        auto zeros = std::ranges::find_if(left_, [](uint8_t byte) { return byte != 0; });
        left_ = left_.subspan(static_cast<size_t>(zeros - left_.begin()));
    }

    void refill() {
        size_t size = packed_->read(buffer_);
        taken_ += size;
        at_end_ = size < buffer_.size();
        left_ = std::span(buffer_).first(size);
    }

    std::unique_ptr<Stream> packed_;
    std::string path_;
    std::vector<uint8_t> buffer_;
    std::span<const uint8_t> left_;
    uint64_t taken_ = 0;
    bool at_end_ = false;
    bool complete_ = false;
};

class Gzip : public Unpacker {
public:
    Gzip(std::unique_ptr<Stream> packed, const std::string &path)
        : Unpacker(std::move(packed), path) {
        if (inflateInit2(&z_, 15 + 16) != Z_OK)
            throw std::bad_alloc();
    }
    ~Gzip() override { inflateEnd(&z_); }

protected:
    bool step(Room &room) override {
        z_.next_in = const_cast<uint8_t *>(room.in.data());
        z_.avail_in = static_cast<uInt>(room.in.size());
        z_.next_out = room.out.data();
        z_.avail_out = static_cast<uInt>(room.out.size());
        int rc = inflate(&z_, Z_NO_FLUSH);
        if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
            damaged();
        room = {room.in.last(z_.avail_in), room.out.last(z_.avail_out)};
        if (rc != Z_STREAM_END)
            return false;
        inflateReset(&z_);
        return true;
    }

private:
    z_stream z_{};
};

class Xz : public Unpacker {
public:
    Xz(std::unique_ptr<Stream> packed, const std::string &path)
        : Unpacker(std::move(packed), path) {
        begin();
    }
    ~Xz() override { lzma_end(&x_); }

protected:
    bool step(Room &room) override {
        x_.next_in = room.in.data();
        x_.avail_in = room.in.size();
        x_.next_out = room.out.data();
        x_.avail_out = room.out.size();
        lzma_ret rc = lzma_code(&x_, LZMA_RUN);
        if (rc == LZMA_MEM_ERROR)
            throw std::bad_alloc();
        if (rc == LZMA_MEMLIMIT_ERROR)
            too_large(lzma_memusage(&x_), most_memory);
        if (rc != LZMA_OK && rc != LZMA_STREAM_END && rc != LZMA_BUF_ERROR)
            damaged();
        room = {room.in.last(x_.avail_in), room.out.last(x_.avail_out)};
        if (rc != LZMA_STREAM_END)
            return false;
        begin();
        return true;
    }

private:
    void begin() {
        if (lzma_stream_decoder(&x_, most_memory, 0) != LZMA_OK)
            throw std::bad_alloc();
    }

    lzma_stream x_ = LZMA_STREAM_INIT;
};

class Zstd : public Unpacker {
public:
    Zstd(std::unique_ptr<Stream> packed, const std::string &path)
        : Unpacker(std::move(packed), path), z_(ZSTD_createDStream(), ZSTD_freeDStream) {
        if (!z_ ||
            ZSTD_isError(ZSTD_DCtx_setParameter(z_.get(), ZSTD_d_windowLogMax, most_window_log)))
            throw std::bad_alloc();
    }

protected:
    bool step(Room &room) override {
        if (std::exchange(at_start_, false))
            header_.clear();
        size_t more = std::min(room.in.size(), longest_header - header_.size());
        header_.insert(header_.end(), room.in.begin(),
                       room.in.begin() + static_cast<ptrdiff_t>(more));
        ZSTD_inBuffer in{room.in.data(), room.in.size(), 0};
        ZSTD_outBuffer out{room.out.data(), room.out.size(), 0};
        size_t rc = ZSTD_decompressStream(z_.get(), &out, &in);
        if (ZSTD_getErrorCode(rc) == ZSTD_error_frameParameter_windowTooLarge)
            too_large(window(), uint64_t(1) << most_window_log);
        if (ZSTD_isError(rc))
            damaged();
        room = {room.in.subspan(in.pos), room.out.subspan(out.pos)};
        at_start_ = rc == 0;
        return at_start_;
    }

private:
    static constexpr size_t longest_header = 18;

    /// Of the frame whose header was read: RFC 8878, 3.1.1.1. One of a single segment has the size
    /// of its content for it; all others say it in a byte, as a power of two and eighths.
    uint64_t window() const {
        constexpr size_t descriptor = 4;
        constexpr uint8_t single_segment = 1 << 5;

        if (header_[descriptor] & single_segment)
            return ZSTD_getFrameContentSize(header_.data(), header_.size());
        unsigned byte = header_[descriptor + 1];
        uint64_t base = uint64_t(1) << (10 + (byte >> 3));
        return base + base / 8 * (byte & 7);
    }

    bool at_start_ = true;         // of a frame
    std::vector<uint8_t> header_;  // the frame's first bytes
    std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> z_;
};

/// Bytes that were looked at, then the rest.
class Again : public Stream {
public:
    Again(std::vector<uint8_t> first, std::unique_ptr<Stream> rest)
        : first_(std::move(first)), rest_(std::move(rest)) {}

    size_t read(std::span<uint8_t> buffer) override {
        size_t size = std::min(buffer.size(), first_.size());

        std::copy_n(first_.begin(), size, buffer.begin());
        first_.erase(first_.begin(), first_.begin() + static_cast<ptrdiff_t>(size));
        return size + rest_->read(buffer.subspan(size));
    }

private:
    std::vector<uint8_t> first_;
    std::unique_ptr<Stream> rest_;
};

/// With flags that there are: a binary trace may begin with the first two bytes, too.
bool is_gzip(std::string_view magic) {
    using namespace std::string_view_literals;

    return magic.starts_with("\x1f\x8b\x08"sv) && (magic.size() < 4 || !(magic[3] & 0xe0));
}

/// Also of one that begins with a frame to be skipped, as those of pzstd do.
bool is_zstd(std::string_view magic) {
    using namespace std::string_view_literals;
    bool to_skip = !magic.empty() && (magic[0] & 0xf0) == 0x50 &&
                   magic.substr(1).starts_with("\x2a\x4d\x18"sv);

    return to_skip || magic.starts_with("\x28\xb5\x2f\xfd"sv);
}

}  // namespace

std::unique_ptr<Stream> unpacked(std::unique_ptr<Stream> packed, const std::string &path) {
    using namespace std::string_view_literals;
    std::vector<uint8_t> first(6);

    first.resize(packed->read(first));
    std::string magic(first.begin(), first.end());
    auto whole = std::make_unique<Again>(std::move(first), std::move(packed));
    if (is_gzip(magic))
        return std::make_unique<Gzip>(std::move(whole), path);
    if (magic.starts_with("\xfd"
                          "7zXZ\0"sv))
        return std::make_unique<Xz>(std::move(whole), path);
    if (is_zstd(magic))
        return std::make_unique<Zstd>(std::move(whole), path);
    return whole;
}

}  // namespace ds::sim
