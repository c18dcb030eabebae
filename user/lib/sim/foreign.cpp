// SPDX-License-Identifier: Apache-2.0
#include "sim/foreign.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>

#include <ds/result.hpp>

#include "sim/ds_format.hpp"

namespace ds::sim {
namespace {

using namespace std::string_view_literals;
using Bytes = std::span<const uint8_t>;

struct Known {
    std::string_view magic;
    std::string_view what;    // the file is, by all of its magic
    std::string_view begins;  // what it was before it was cut in its magic; empty: nobody can tell
    std::string_view remedy;
    bool always = false;  // refused even if its format is named
};

constexpr std::string_view unpack = "Unpack it, and name the file that was in it.";
constexpr std::string_view again = "Unpack it once, and name what comes out.";
constexpr std::string_view other = "Unpack it, or pack it by gzip, xz or zstd.";
constexpr std::string_view utf8 = "Write it as UTF-8, or name its format with --format.";
constexpr std::string_view check = "Check the name of the file.";
constexpr std::string_view numbers =
    "Write its numbers alone, as by astype('<u8').tofile('FILE'), and name u64le with --format.";

// What was packed once by gzip, xz or zstd is unpacked already.
constexpr Known known[] = {
    {"\xff\xfe"sv, "looks like text of 16 bits a letter", "", utf8},
    {"\xfe\xff"sv, "looks like text of 16 bits a letter", "", utf8},
    {"\x1f\x8b\x08"sv, "was packed twice, the first time by gzip", "a file packed by gzip", again},
    {"\xfd\x37zXZ\0"sv, "was packed twice, the first time by xz", "a file packed by xz", again},
    {"\x28\xb5\x2f\xfd"sv, "was packed twice, the first time by zstd", "a file packed by zstd",
     again},
    {"\x04\x22\x4d\x18"sv, "is packed by lz4", "a file packed by lz4", other, true},
    {"\x02\x21\x4c\x18"sv, "is packed by lz4", "a file packed by lz4", other, true},
    {"\x1f\x9d\x90"sv, "is packed by compress", "a file packed by compress", other, true},
    {"BZh91AY&SY"sv, "is packed by bzip2", "a file packed by bzip2", other, true},
    {"7z\xbc\xaf\x27\x1c"sv, "is a 7z archive", "a 7z archive", unpack, true},
    {"Rar!\x1a\x07"sv, "is a rar archive", "a rar archive", unpack, true},
    {"PK\3\4"sv, "is a zip archive", "a zip archive", unpack, true},
    {"\x93NUMPY"sv, "is an array of numpy", "an array of numpy", numbers, true},
    {"\x7f\x45LF"sv, "is a program", "a program", check},
    {"\x89PNG\r\n\x1a\n"sv, "is a picture", "a picture", check},
    {"\xde\x12\x04\x95"sv, "is a file of translations", "a file of translations", check},
    {"\x95\x04\x12\xde"sv, "is a file of translations", "a file of translations", check},
    {DsHeader::magic_text, "", "a ds trace", ""},
};

std::string_view text_of(Bytes bytes) {
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

[[noreturn]] void refuse(const std::string &path, const std::string &what,
                         std::string_view remedy) {
    throw Failure({EBADMSG, "'" + path + "' " + what + ".", std::string(remedy), false});
}

/// With blocks of any size, and of any content or none.
bool is_bzip2(std::string_view text) {
    constexpr std::string_view block = "1AY&SY", end = "\x17\x72\x45\x38\x50\x90";

    if (!text.starts_with("BZh") || text.size() < 4 || text[3] < '1' || text[3] > '9')
        return false;
    return text.substr(4).starts_with(block) || text.substr(4).starts_with(end);
}

/// Of 9 to 16 bits a code, in blocks.
bool is_compress(std::string_view text) {
    return text.size() > 2 && text.starts_with("\x1f\x9d") && text[2] >= '\x89' &&
           text[2] <= '\x90';
}

/// Of the POSIX format, or GNU's, the first file's header says so; an older one has the right sum
/// of its bytes, in octal digits, counted as if spaces were in their place.
bool is_tar(std::string_view text) {
    constexpr size_t header = 512, format = 257, sum_at = 148, sum_length = 8;
    uint32_t sum = 0, said = 0;

    if (text.size() > format && text.substr(format).starts_with("ustar"))
        return true;
    if (text.size() < header)
        return false;
    for (size_t i = 0; i < header; i++)
        sum += i >= sum_at && i < sum_at + sum_length ? ' ' : static_cast<uint8_t>(text[i]);
    std::string_view digits = text.substr(sum_at, sum_length);
    digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
    auto [end, error] = std::from_chars(digits.begin(), digits.end(), said, 8);
    return error == std::errc() && end != digits.end() && (*end == '\0' || *end == ' ') &&
           said == sum;
}

/// It begins as what gzip packs does, but has flags that there are not.
bool is_no_gzip(std::string_view text) {
    return text.starts_with("\x1f\x8b\x08"sv) && text.size() > 3 && text[3] & 0xe0;
}

/// Of less than two bytes nobody can tell.
void refuse_cut(const std::string &path, std::string_view text) {
    for (const Known &row : known)
        if (!row.begins.empty() && text.size() >= 2 && text.size() < row.magic.size() &&
            row.magic.starts_with(text))
            refuse(path, "was cut: it begins as " + std::string(row.begins) + " does",
                   "Get the file again, from where it came.");
}

}  // namespace

void refuse_packed(const std::string &path, Bytes bytes) {
    std::string_view text = text_of(bytes);

    for (const Known &row : known)
        if (row.always && text.starts_with(row.magic))
            refuse(path, std::string(row.what), row.remedy);
    if (is_bzip2(text))
        refuse(path, "is packed by bzip2", other);
    if (is_compress(text))
        refuse(path, "is packed by compress", other);
    if (is_tar(text))
        refuse(path, "is a tar archive", unpack);
}

void refuse_foreign(const std::string &path, Bytes bytes, bool whole) {
    std::string_view text = text_of(bytes);

    refuse_packed(path, bytes);
    for (const Known &row : known)
        if (!row.what.empty() && text.starts_with(row.magic) && !is_no_gzip(text))
            refuse(path, std::string(row.what), row.remedy);
    if (whole)
        refuse_cut(path, text);
}

}  // namespace ds::sim
