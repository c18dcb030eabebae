// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "sim/decode.hpp"

namespace ds::sim {
namespace {

using Bytes = std::span<const uint8_t>;

template <class T>
T at(Bytes bytes, size_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}

bool is_text(Bytes bytes) {
    return std::all_of(bytes.begin(), bytes.end(),
                       [](uint8_t c) { return std::isprint(c) || (c >= '\t' && c <= '\r'); });
}

/// Of text, the first line tells; its own decoder then checks all of it.
Format of_text(Bytes bytes) {
    std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    std::string_view line = text.substr(0, text.find_first_of("\r\n"));

    if (line.find(',') != line.npos)
        return Format::csv;
    if (line.starts_with("l ") || line.starts_with("s "))
        return Format::address;
    return line.find_first_of(" \t") != line.npos ? Format::lis : Format::integers;
}

/// Times that do not fall, and next requests that are of the same object, as far as it is seen.
bool is_oracle(Bytes bytes) {
    size_t count = bytes.size() / sizeof(OracleRecord);
    bool more = bytes.size() == Source::longest_peek;
    uint32_t last = 0;

    for (size_t i = 0; i < count; i++) {
        auto r = at<OracleRecord>(bytes, i);
        auto next = static_cast<uint64_t>(r.next);
        auto same = [&](uint64_t n) {
            return n > i && n < count && at<OracleRecord>(bytes, n).id == r.id;
        };
        bool unseen = next >= count && (next == UINT64_MAX || (more && next <= most_requests));
        if (r.seconds < last || !(unseen || same(next) || same(next - 1)))
            return false;
        last = r.seconds;
    }
    return count > 0;
}

/// Do the two halves of 64 bits belong together? Where the first one comes again, so does
/// the second, but for chance. Nothing if too few come again to tell.
std::optional<bool> halves_belong(Bytes bytes) {
    std::unordered_map<uint32_t, uint32_t> other;
    size_t again = 0, same = 0;

    for (size_t i = 0; i < bytes.size() / 8; i++) {
        uint32_t second = at<uint32_t>(bytes, 2 * i + 1);
        auto [place, is_new] = other.try_emplace(at<uint32_t>(bytes, 2 * i), second);
        again += !is_new;
        same += !is_new && place->second == second;
    }
    if (again < 8)
        return std::nullopt;
    return 10 * same > 9 * again;
}

template <class T, class Test>
bool all(Bytes bytes, Test &&test) {
    for (size_t i = 0; i < bytes.size() / sizeof(T); i++)
        if (!test(at<T>(bytes, i)))
            return false;
    return true;
}

/// Numbers without a header: small ones show their width by their zeros.
std::optional<Format> of_numbers(Bytes bytes) {
    if (bytes.size() >= 8 && all<uint64_t>(bytes, [](uint64_t n) { return n >> 40 == 0; }))
        return Format::u64le;
    if (all<uint32_t>(bytes, [](uint32_t n) { return be32toh(n) >> 24 == 0; }))
        return Format::u32be;
    if (auto belong = halves_belong(bytes))
        return *belong ? Format::u64le : Format::u32be;
    return std::nullopt;
}

}  // namespace

Format guess(Source &source) {
    Bytes bytes = source.peek(Source::longest_peek);
    std::string_view magic(reinterpret_cast<const char *>(bytes.data()),
                           std::min(bytes.size(), DsHeader::magic_text.size()));

    if (bytes.empty())
        throw Failure({EBADMSG, "'" + source.path() + "' is empty.", "Check the file.", false});
    if (magic == DsHeader::magic_text)
        return Format::ds;
    if (is_text(bytes))
        return of_text(bytes);
    if (is_oracle(bytes))
        return Format::oracle;
    if (auto format = of_numbers(bytes))
        return *format;
    throw Failure({EBADMSG, "The format of '" + source.path() + "' cannot be told from its bytes.",
                   "Name it: " + format_names() + ".", false});
}

}  // namespace ds::sim
