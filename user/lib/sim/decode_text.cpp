// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "sim/decode.hpp"

namespace ds::sim {
namespace {

constexpr uint64_t ns_per_second = 1'000'000'000;

std::optional<uint64_t> number(std::string_view text) {
    int base = text.starts_with("0x") ? 16 : 10;
    uint64_t value = 0;

    if (base == 16)
        text.remove_prefix(2);
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || stop != text.data() + text.size())
        return std::nullopt;
    return value;
}

/// Why number() has none for this: what comes behind "Line 3 of 'x' ". @p instead: what should be
/// there.
std::string no_number(std::string_view text, const std::string &instead) {
    std::string_view digits = text.substr(std::min<size_t>(text.starts_with('-'), text.size()));
    bool hex = digits.starts_with("0x");

    if (text.empty())
        return "is blank where there should be " + instead;
    if (digits.size() <= (hex ? 2 : 0) ||
        digits.substr(hex ? 2 : 0)
                .find_first_not_of(hex ? "0123456789abcdefABCDEF" : "0123456789") != digits.npos)
        return "has '" + std::string(text.substr(0, 40)) + "', which is not " + instead;
    return "has " + std::string(text.substr(0, 40)) +
           (digits == text ? ", which is too large: numbers go to 2^64 - 1"
                           : ", which is negative");
}

/// Seconds, which may have decimals, in nanoseconds; what is less is cut off.
std::optional<uint64_t> nanoseconds(std::string_view text) {
    constexpr size_t places = 9;
    size_t point = text.find('.');
    auto whole = number(text.substr(0, point));
    uint64_t part = 0;

    if (!whole || *whole > UINT64_MAX / ns_per_second)
        return std::nullopt;
    if (point != text.npos) {
        std::string decimals(text.substr(point + 1));
        if (decimals.empty() || decimals.find_first_not_of("0123456789") != decimals.npos)
            return std::nullopt;
        decimals.resize(places, '0');
        part = *number(decimals);
    }
    uint64_t ns = *whole * ns_per_second;
    return ns + part < ns ? std::nullopt : std::optional(ns + part);
}

/// Why there is no time: of number(), or of nanoseconds().
std::string no_time(std::string_view text, bool in_seconds) {
    if (!in_seconds)
        return no_number(text, "a time in whole nanoseconds");
    size_t point = std::min(text.find('.'), text.size());
    bool ends = point + 1 == text.size();
    bool is_time = number(text.substr(0, point)) && !ends &&
                   text.find_first_not_of("0123456789", point + 1) == text.npos;
    if (is_time)
        return "has " + std::string(text.substr(0, 40)) +
               ", which is too large: times go to 2^64 - 1 ns";
    return no_number(text, "a time in seconds, as 12 or 0.5");
}

constexpr std::string_view blanks = " \t";

/// The words of a line; more than there is room for are counted, not kept.
template <size_t N>
size_t split(std::string_view line, std::array<std::string_view, N> &words) {
    size_t count = 0;

    while (!line.empty()) {
        size_t length = std::min(line.find_first_of(blanks), line.size());
        if (length > 0 && count++ < N)
            words[count - 1] = line.substr(0, length);
        line.remove_prefix(std::min(length + 1, line.size()));
    }
    return count;
}

std::string_view trimmed(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// A line that has not what should be there: @p what, unless it is blank or a comment.
[[noreturn]] void fail_line(const Source &source, std::string_view line, const std::string &what,
                            const std::string &hint = "") {
    if (trimmed(line).starts_with('#'))
        source.fail_line("is a comment, and no format has comments", "Remove such lines.");
    source.fail_line(line.empty() ? "is blank" : what, hint);
}

/// What is between commas, which may be nothing, the same way. A blank line has none.
template <size_t N>
size_t split_at_commas(std::string_view line, std::array<std::string_view, N> &fields) {
    if (line.empty())
        return 0;
    for (size_t count = 1;; count++) {
        size_t length = line.find(',');
        if (count <= N)
            fields[count - 1] = trimmed(line.substr(0, length));
        if (length == line.npos)
            return count;
        line.remove_prefix(length + 1);
    }
}

std::string lower(std::string_view text) {
    std::string result(text);

    std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
    return result;
}

bool is_name(std::string_view text) {
    return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0]));
}

constexpr struct {
    std::string_view name;
    Operation op;
} operations[] = {
    {"read", Operation::read},   {"r", Operation::read},        {"get", Operation::read},
    {"28", Operation::read},     {"88", Operation::read},  // SCSI, hexadecimal
    {"write", Operation::write}, {"w", Operation::write},       {"set", Operation::write},
    {"put", Operation::write},   {"update", Operation::write},  {"2a", Operation::write},
    {"8a", Operation::write},    {"create", Operation::create}, {"free", Operation::free},
};

std::optional<Operation> operation(std::string_view text) {
    std::string name = lower(text);

    for (const auto &row : operations)
        if (row.name == name)
            return row.op;
    return std::nullopt;
}

/// "read, r, ... or free".
std::string operation_names() {
    std::string names;

    for (const auto &row : operations) {
        bool is_last = &row == std::end(operations) - 1;
        names += (names.empty() ? "" : is_last ? " or " : ", ") + std::string(row.name);
    }
    return names;
}

enum class Means : uint8_t { object, operation, time_ns, seconds };

constexpr struct {
    std::string_view name;
    Means means;
} column_names[] = {
    {"handle", Means::object}, {"id", Means::object},           {"key", Means::object},
    {"lbn", Means::object},    {"obj_id", Means::object},       {"object", Means::object},
    {"op", Means::operation},  {"operation", Means::operation}, {"time_ns", Means::time_ns},
    {"time", Means::seconds},
};

std::optional<Means> meaning(std::string_view name) {
    for (const auto &row : column_names)
        if (row.name == name)
            return row.means;
    return std::nullopt;
}

/// Which column is what. Without a header: handle, operation, time_ns. A header that names no
/// column of operations says that all read.
struct Columns {
    static constexpr size_t most = 16;
    static constexpr size_t none = SIZE_MAX;

    size_t object = 0;
    size_t operation = 1;
    size_t time = 2;
    std::string ignored;  // what may be one of operations, if there is none
    bool in_seconds = false;
    size_t count = 3;
    bool header = false;

    // Nothing if it names no objects.
    static std::optional<Columns> of_header(const Source &source, std::string_view line);
};

std::optional<Columns> Columns::of_header(const Source &source, std::string_view line) {
    std::array<std::string_view, most> names;
    Columns columns;

    columns.count = split_at_commas(line, names);
    columns.object = columns.operation = columns.time = none;
    columns.header = true;
    for (size_t i = 0; i < std::min(columns.count, most); i++) {
        std::string name = lower(names[i]);
        auto is = [&](size_t &column, const char *what) {
            if (column != none)
                source.fail_line("names two columns of " + std::string(what));
            column = i;
        };
        auto means = meaning(name);
        if (means == Means::object)
            is(columns.object, "objects");
        else if (means == Means::operation)
            is(columns.operation, "operations");
        else if (means)
            is(columns.time, "times"), columns.in_seconds = means == Means::seconds;
        else if (name == "type" || name == "rw" || name == "is_write" || name == "opcode")
            columns.ignored = name;
    }
    if (columns.operation != none)
        columns.ignored.clear();
    bool is_header = columns.object != none || is_name(names[0]);
    if (is_header && columns.count > most)
        source.fail_line("names more than " + std::to_string(most) + " columns");
    return columns.object != none ? std::optional(columns) : std::nullopt;
}

/// As some programs write them; they would be one column of an odd name.
void refuse_separators(const Source &source, std::string_view line) {
    if (line.find(',') != line.npos || line.starts_with('#'))
        return;
    if (line.find(';') != line.npos)
        source.fail_line("has semicolons where commas should be");
    if (line.find('\t') != line.npos)
        source.fail_line("has tabs where commas should be");
}

[[noreturn]] void fail_count(const Source &source, std::string_view line, size_t count,
                             const Columns &columns, bool is_first) {
    std::string has = "has " + std::to_string(count) + (count == 1 ? " column" : " columns");

    if (is_first)
        fail_line(source, line, has + ", not 2 or 3",
                  "Name the columns in a first line, as handle,operation,time_ns.");
    fail_line(source, line,
              has + ", not " + std::to_string(columns.count) + ", as the first line " +
                  (columns.header ? "names" : "has"));
}

}  // namespace

bool has_tabs_for_commas(std::string_view line) {
    size_t tab = line.find('\t');

    if (tab == line.npos)
        return false;
    if (number(trimmed(line.substr(0, tab))) && is_name(trimmed(line.substr(tab + 1))))
        return true;
    for (std::string_view rest = line;; rest.remove_prefix(rest.find('\t') + 1)) {
        if (is_column_name(rest.substr(0, rest.find('\t'))))
            return true;
        if (rest.find('\t') == rest.npos)
            return false;
    }
}

bool is_column_name(std::string_view text) {
    return meaning(lower(trimmed(text))).has_value();
}

void decode_integers(Source &source, Builder &builder) {
    bool marked = true;

    for (std::string_view line; source.line(line);) {
        // The traces of LIRS have marks between requests; alone they would be a file without end.
        if (line == "*" && !marked) {
            marked = true;
            continue;
        }
        auto key = number(line);
        if (!key)
            fail_line(source, line, no_number(line, "a number"));
        builder.add(*key, Operation::read);
        marked = false;
    }
}

void decode_lis(Source &source, Builder &builder) {
    std::array<std::string_view, 4> word;

    for (std::string_view line; source.line(line);) {
        if (split(line, word) != 4)
            fail_line(source, line, "is not four numbers: start, count and two more");
        auto start = number(word[0]), count = number(word[1]);
        if (!start)
            source.fail_line(no_number(word[0], "a number to start at"));
        if (!count)
            source.fail_line(no_number(word[1], "a count"));
        if (*count == 0)
            source.fail_line("has a count of 0");
        for (std::string_view ignored : {word[2], word[3]})
            if (!number(ignored))
                source.fail_line(no_number(ignored, "a number"));
        if (*start + (*count - 1) < *start)
            source.fail_line("goes on to an object above 2^64 - 1");
        builder.expect(*count);
        for (uint64_t i = 0; i < *count; i++)
            builder.add(*start + i, Operation::read);
    }
}

void decode_address(Source &source, Builder &builder, uint32_t block) {
    std::array<std::string_view, 3> word;

    for (std::string_view line; source.line(line);) {
        bool three = split(line, word) == 3;
        if (!three || (word[0] != "l" && word[0] != "s") || !word[1].starts_with("0x") ||
            !number(word[1]) || !number(word[2]))
            fail_line(source, line, "is not a load or store: l or s, 0xADDRESS and a number");
        builder.add(*number(word[1]) / block, word[0] == "s" ? Operation::write : Operation::read);
    }
}

void decode_csv(Source &source, Builder &builder) {
    std::array<std::string_view, Columns::most> word;
    Columns columns;
    constexpr size_t most_blank = 1000;
    size_t blank = 0;
    bool is_first = true;

    for (std::string_view line; source.line(line);) {
        // As editors leave them; alone they would be a file without end.
        if (trimmed(line).empty()) {
            if (++blank > most_blank)
                source.fail_line("is blank, as are the " + std::to_string(most_blank) +
                                 " before it");
            continue;
        }
        blank = 0;
        bool first = std::exchange(is_first, false);
        if (first)
            refuse_separators(source, trimmed(line));
        if (auto named = first ? Columns::of_header(source, line) : std::nullopt) {
            columns = *named;
            builder.ignore(columns.ignored);
            continue;
        }
        size_t count = split_at_commas(line, word);
        if (first) {
            columns.count = count;
            if (count == 2)
                columns.time = Columns::none;
        }
        if (first && is_name(word[0]))
            source.fail_line("names no column of objects: handle, id, key, lbn, obj_id or object");
        if (count != columns.count || (!columns.header && (count < 2 || count > 3)))
            fail_count(source, line, count, columns, first);
        auto key = number(word[columns.object]);
        auto op = columns.operation == Columns::none ? Operation::read
                                                     : operation(word[columns.operation]);
        if (!key)
            fail_line(source, line, no_number(word[columns.object], "the number of an object"));
        if (!op)
            source.fail_line("has '" + std::string(word[columns.operation].substr(0, 40)) +
                             "', which is no operation: " + operation_names());
        if (columns.time == Columns::none) {
            builder.add(*key, *op);
            continue;
        }
        auto time =
            columns.in_seconds ? nanoseconds(word[columns.time]) : number(word[columns.time]);
        if (!time)
            source.fail_line(no_time(word[columns.time], columns.in_seconds));
        builder.add(*key, *op, *time);
    }
}

}  // namespace ds::sim
