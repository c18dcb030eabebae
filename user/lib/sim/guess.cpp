// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sim/decode.hpp"
#include "sim/foreign.hpp"

namespace ds::sim {
namespace {

using Bytes = std::span<const uint8_t>;

template <class T>
T at(Bytes bytes, size_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}

/// Or of letters that ASCII does not have, as names of columns may be.
bool is_text(Bytes bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](uint8_t c) {
        return std::isprint(c) || c >= 0x80 || (c >= '\t' && c <= '\r');
    });
}

/// The first one that is not blank.
std::string_view first_line(Bytes bytes) {
    std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    if (text.starts_with(Source::byte_order_mark))
        text.remove_prefix(Source::byte_order_mark.size());
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
    return text.substr(0, text.find_first_of("\r\n"));
}

/// Of text, the first line tells; its own decoder then checks all of it. Nothing for words, as of a
/// sentence, which are of no format.
std::optional<Format> of_text(std::string_view line) {
    bool is_word = line.find_first_of(" \t") == line.npos;
    bool is_number = line.find_first_of("0123456789") == 0;

    // Semicolons are those of a sentence, or of a decoder that refuses them, as it does tabs.
    if (line.find(',') != line.npos || has_tabs_for_commas(line) ||
        is_column_name(line.substr(0, line.find(';'))) ||
        (line.find(';') != line.npos && (is_word || is_number)))
        return Format::csv;
    if (line.starts_with("l ") || line.starts_with("s "))
        return Format::address;
    if (is_word)
        return Format::integers;
    return is_number ? std::optional(Format::lis) : std::nullopt;
}

/// What is seen of a file, which may be all of it.
struct Sight {
    Bytes bytes;
    bool whole;

    /// Is it, as far as that is known, records of this size and nothing else?
    bool fits(size_t record) const { return !whole || bytes.size() % record == 0; }
};

/// Is each size between the times before and behind it? Then it is a time itself, of records of a
/// time of 32 bits and an object of 64.
bool has_times_for_sizes(Bytes bytes) {
    size_t count = bytes.size() / sizeof(OracleRecord);

    for (size_t i = 0; i + 1 < count; i++) {
        auto r = at<OracleRecord>(bytes, i), after = at<OracleRecord>(bytes, i + 1);
        if (r.size < r.seconds || r.size > after.seconds)
            return false;
    }
    return count > 1;
}

/// Times that do not fall, sizes, and next requests that are of the same object, as far as they are
/// seen. Numbers of 32 or 64 bits do not look so: where they are small, there is no size.
bool is_oracle(Bytes bytes) {
    constexpr uint32_t largest = 1 << 30;
    size_t count = bytes.size() / sizeof(OracleRecord);
    std::unordered_map<uint64_t, uint64_t> announced;  // by object, as its last request has it
    uint32_t last = 0;

    for (size_t i = 0; i < count; i++) {
        auto r = at<OracleRecord>(bytes, i);
        uint64_t id = r.id;  // a record's lies where no reference may point to
        auto next = static_cast<uint64_t>(r.next);
        auto same = [&](uint64_t n) {
            return n > i && n < count && at<OracleRecord>(bytes, n).id == id;
        };
        // Of a file that was cut, the next request may be behind its end.
        bool unseen =
            next == UINT64_MAX || next == INT64_MAX || (next >= count && next <= most_requests);
        bool sized = r.size >= 1 && r.size <= largest;
        if (r.seconds < last || !sized || !(unseen || same(next) || same(next - 1)))
            return false;
        auto [before, is_new] = announced.try_emplace(id, next);
        if (!is_new && before->second != i && before->second != i + 1)
            return false;
        before->second = next;
        last = r.seconds;
    }
    return count > 0 && !has_times_for_sizes(bytes);
}

/// Do pairs of numbers of 32 bits, from number @p from on, belong together? Where the first one
/// comes again, so does the second, but for chance. Nothing if too few come again to tell.
std::optional<bool> pairs_belong(Bytes bytes, size_t from) {
    std::unordered_map<uint32_t, uint32_t> other;
    size_t again = 0, same = 0;

    for (size_t i = from; i + 1 < bytes.size() / 4; i += 2) {
        uint32_t second = at<uint32_t>(bytes, i + 1);
        auto [place, is_new] = other.try_emplace(at<uint32_t>(bytes, i), second);
        again += !is_new;
        same += !is_new && place->second == second;
    }
    if (again < 8)
        return std::nullopt;
    return 10 * same > 9 * again;
}

/// Are the halves of 64 bits near each other, or alike in their low 16 bits, if they are numbers of
/// 32 bits, big-endian? Then they may be so: handles in turn, or of a QP and of its CQ. Halves of
/// one number differ, but for chance.
bool halves_are_alike(Bytes bytes) {
    constexpr uint32_t near = 1 << 20;
    size_t rows = bytes.size() / 8, alike = 0;

    for (size_t i = 0; i < rows; i++) {
        uint32_t first = be32toh(at<uint32_t>(bytes, 2 * i));
        uint32_t second = be32toh(at<uint32_t>(bytes, 2 * i + 1));
        uint32_t low = first & 0xffff;
        alike += std::max(first, second) - std::min(first, second) < near ||
                 (low != 0 && low == (second & 0xffff));
    }
    return 10 * alike >= 9 * rows;
}

/// Are these numbers of 64 bits, by what comes again? Nothing if that does not tell: too few do; or
/// each half has always the same one behind it, as in a loop, whatever it is a loop of.
std::optional<bool> is_wide(Bytes bytes) {
    auto belong = pairs_belong(bytes, 0);

    if (belong && *belong && (pairs_belong(bytes, 1).value_or(true) || halves_are_alike(bytes)))
        return std::nullopt;
    return belong;
}

/// Numbers below 256 of 32 bits, little-endian: as 64 bits they are small, too, and most have
/// something in their high half, but nothing in the three bytes before.
bool is_of_short_pairs(Bytes bytes) {
    size_t rows = bytes.size() / 8, high = 0;

    for (size_t i = 0; i < rows; i++) {
        auto number = at<uint64_t>(bytes, i);
        if ((number & 0xffffff00) != 0)
            return false;
        high += number >> 32 != 0;
    }
    return 2 * high > rows;
}

/// A time of 32 bits and an object below 256: the low half of a number of 64 bits never falls,
/// while the high one does.
bool is_of_short_records(Bytes bytes) {
    size_t rows = bytes.size() / 8, falls = 0;

    for (size_t i = 1; i < rows; i++) {
        if (at<uint32_t>(bytes, 2 * i) < at<uint32_t>(bytes, 2 * i - 2))
            return false;
        falls += at<uint32_t>(bytes, 2 * i + 1) < at<uint32_t>(bytes, 2 * i - 1);
    }
    return falls > 8;
}

/// Are these numbers all of one kind? Then each can come at any place. The fields of a record come
/// again at their own places only: at every second or every third one, of most records.
template <class T>
bool of_one_kind(Bytes bytes) {
    struct Seen {
        size_t place;
        bool again, elsewhere;
    };

    for (size_t fields : {2, 3}) {
        std::unordered_map<T, Seen> numbers;
        for (size_t i = 0; i < bytes.size() / sizeof(T); i++) {
            auto [at_it, is_new] =
                numbers.try_emplace(at<T>(bytes, i), Seen{i % fields, false, false});
            at_it->second.again |= !is_new;
            at_it->second.elsewhere |= at_it->second.place != i % fields;
        }
        auto count = [&](bool Seen::*what) {
            return std::ranges::count_if(numbers, [&](const auto &n) { return n.second.*what; });
        };
        if (count(&Seen::again) < 8 || 4 * count(&Seen::elsewhere) < count(&Seen::again))
            return false;
    }
    return true;
}

/// Is there, at every second to tenth place, what never falls, while what is between falls, and is
/// seldom the same? Then these are records with a time. Scans that take turns all rise, and new
/// objects are used again.
template <class T, class Value>
bool has_times(Bytes bytes, Value &&value) {
    size_t count = bytes.size() / sizeof(T);
    auto rises = [&](size_t first, size_t step) {
        size_t places = 0;
        for (size_t i = first; i + step < count; i += step, places++)
            if (value(at<T>(bytes, i)) > value(at<T>(bytes, i + step)))
                return false;
        return places >= 8 &&
               value(at<T>(bytes, first)) < value(at<T>(bytes, first + places * step));
    };
    auto are_used_again = [&](const std::vector<size_t> &rising, size_t step) {
        std::unordered_set<T> here;
        size_t elsewhere = 0, common = 0;
        auto is_here = [&](size_t i) { return std::ranges::count(rising, i % step) > 0; };
        for (size_t i = 0; i < count; i++)
            if (is_here(i))
                here.insert(at<T>(bytes, i));
        for (size_t i = 0; i < count; i++)
            if (!is_here(i))
                elsewhere++, common += here.contains(at<T>(bytes, i));
        return 2 * common > elsewhere;
    };

    for (size_t fields = 2; fields <= 10; fields++) {
        std::vector<size_t> rising;
        for (size_t first = 0; first < fields; first++)
            if (rises(first, fields))
                rising.push_back(first);
        if (!rising.empty() && rising.size() < fields && !are_used_again(rising, fields))
            return true;
    }
    return false;
}

/// Are there, at two or more of three to ten places, nearly always the same, and others elsewhere?
/// Then these are records, with the high halves of small numbers or the like. One such place of
/// four is two of eight, which says no more; one of two tells only if it is 0, or if numbers may be
/// halves of addresses.
template <class T>
bool has_constants(Bytes bytes) {
    constexpr size_t most = 10;
    size_t count = bytes.size() / sizeof(T);
    std::array<size_t, most + 1> constant{};

    for (size_t fields = 2; fields <= most && count >= 8 * fields; fields++) {
        size_t rows = count / fields;
        for (size_t first = 0; first < fields; first++) {
            size_t same = 0;
            for (size_t i = first; i < rows * fields; i += fields)
                same += at<T>(bytes, i) == at<T>(bytes, first);
            constant[fields] += 10 * same >= 9 * rows;
            // Every second is the same: numbers that are twice as long.
            if (fields == 2 && constant[fields] == 1 && same == rows &&
                (sizeof(T) == 4 || !at<T>(bytes, first)))
                return true;
        }
        bool no_more = false;
        for (size_t part = 2; part < fields; part++)
            no_more = no_more ||
                      (fields % part == 0 && constant[fields] * part == constant[part] * fields);
        if (constant[fields] >= 2 && constant[fields] < fields && !no_more)
            return true;
    }
    return false;
}

/// Of numbers of 32 bits some bytes take many more values than others; or they are random, so that
/// all but the highest are as good as another: by chi-square, for which 390 of 255 degrees of
/// freedom is too much. A program is neither.
bool is_of_numbers(Bytes bytes) {
    constexpr double too_much = 390;
    std::unordered_set<uint32_t> numbers;
    std::array<std::array<size_t, 256>, 4> counts{};
    std::array<ptrdiff_t, 4> values;
    int random = 0;

    for (size_t i = 0; i < bytes.size() / 4; i++)
        numbers.insert(at<uint32_t>(bytes, i));
    for (uint32_t number : numbers)
        for (size_t i = 0; i < 4; i++)
            counts[i][number >> 8 * i & 0xff]++;
    double expected = static_cast<double>(numbers.size()) / 256;
    for (size_t i = 0; i < 4; i++) {
        values[i] = 256 - std::ranges::count(counts[i], 0);
        double chi = 0;
        for (size_t count : counts[i])
            chi += std::pow(static_cast<double>(count) - expected, 2) / expected;
        random += chi <= too_much;
    }
    return random >= 3 || 2 * std::ranges::min(values) <= std::ranges::max(values);
}

/// Each number is a request for itself.
template <class T>
bool has_no_fields(Bytes bytes) {
    if constexpr (sizeof(T) == sizeof(uint32_t))
        if (has_times<T>(bytes, [](T n) { return be32toh(n); }))
            return false;
    return !has_times<T>(bytes, std::identity()) && !has_constants<T>(bytes);
}

template <class T, class Test>
bool all(Bytes bytes, Test &&test) {
    for (size_t i = 0; i < bytes.size() / sizeof(T); i++)
        if (!test(at<T>(bytes, i)))
            return false;
    return bytes.size() >= sizeof(T);
}

/// What has no header. Small numbers show their width by their zeros. Of libCacheSim's records a
/// few are enough to be sure.
std::optional<Guess> of_records(const Sight &sight) {
    constexpr size_t enough = 8;  // records that look like oracle's by no chance
    constexpr std::optional<Guess> none;
    Bytes bytes = sight.bytes;
    bool many = bytes.size() >= enough * sizeof(OracleRecord);
    bool oracle = (many || sight.fits(sizeof(OracleRecord))) && is_oracle(bytes);
    bool wide = all<uint64_t>(bytes, [](uint64_t n) { return n >> 40 == 0; });
    bool narrow = all<uint32_t>(bytes, [](uint32_t n) { return be32toh(n) >> 24 == 0; });

    if (oracle && (many || !(wide || narrow)))
        return Guess{Format::oracle, !many};
    if (oracle || (wide && narrow))
        return none;
    if (wide && (is_of_short_pairs(bytes) || is_of_short_records(bytes)))
        return none;
    auto belong = is_wide(bytes);
    wide = wide || (!narrow && belong && *belong && of_one_kind<uint64_t>(bytes));
    narrow = narrow ||
             (!wide && belong && !*belong && of_one_kind<uint32_t>(bytes) && is_of_numbers(bytes));
    if (wide && has_no_fields<uint64_t>(bytes))
        return Guess{Format::u64le, true};
    if (narrow && has_no_fields<uint32_t>(bytes))
        return Guess{Format::u32be, true};
    return none;
}

/// The formats that it may be, none of which is clear.
std::string candidates(const Sight &sight) {
    std::string names;
    auto add = [&](bool possible, Format format) {
        if (possible)
            names += (names.empty() ? "" : " ") + std::string(name_of(format));
    };

    add(sight.fits(sizeof(uint32_t)), Format::u32be);
    add(sight.fits(sizeof(uint64_t)), Format::u64le);
    add(sight.fits(sizeof(OracleRecord)), Format::oracle);
    return names;
}

Failure of_words(const std::string &path, std::string_view line) {
    std::string sentence =
        "The format of '" + path + "' cannot be told: it is text that begins with ";

    if (line.starts_with('#'))
        return Failure({EBADMSG, sentence + "a comment, and no format has comments.",
                        "If it is a trace, remove such lines.", false});
    return Failure({EBADMSG, sentence + "no number.",
                    "If it is a trace, name its format with --format.", false});
}

Failure unclear(const std::string &path, const Sight &sight) {
    std::string names = candidates(sight),
                sentence = "The format of '" + path + "' cannot be told from its bytes";

    if (names.empty())
        return Failure({EBADMSG, sentence + ": it fits none, by its size.",
                        "Check whether it was cut, or name its format with --format.", false});
    return Failure({EBADMSG, sentence + ".",
                    "If it is one of these, name it with --format: " + names +
                        ". Other binary formats are not read.",
                    false});
}

}  // namespace

Guess guess(Source &source) {
    Bytes bytes = source.peek(Source::longest_peek);
    std::string_view magic(reinterpret_cast<const char *>(bytes.data()),
                           std::min(bytes.size(), DsHeader::magic_text.size()));

    if (bytes.empty())
        throw Failure({EBADMSG, "'" + source.path() + "' is empty.", "Check the file.", false});
    if (magic == DsHeader::magic_text)
        return {Format::ds};
    Sight sight{bytes, bytes.size() < Source::longest_peek};
    refuse_foreign(source.path(), bytes, sight.whole);
    if (is_text(bytes)) {
        std::string_view line = first_line(bytes);
        if (auto format = of_text(line))
            return {*format};
        throw of_words(source.path(), line);
    }
    if (auto guessed = of_records(sight))
        return *guessed;
    throw unclear(source.path(), sight);
}

}  // namespace ds::sim
