// SPDX-License-Identifier: Apache-2.0
#include "units.hpp"

#include <array>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <vector>

namespace dsctl {

std::string format(const char *fmt, ...) {
    va_list args;

    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    int length = std::vsnprintf(nullptr, 0, fmt, args);
    va_end(args);
    std::vector<char> text(static_cast<size_t>(length) + 1);
    std::vsnprintf(text.data(), text.size(), fmt, again);
    va_end(again);
    return std::string(text.data(), static_cast<size_t>(length));
}

std::optional<uint64_t> parse_number(std::string_view text) {
    int base = 10;

    if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        text.remove_prefix(2);
    }
    uint64_t value = 0;
    const char *end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data(), end, value, base);
    if (text.empty() || error != std::errc() || stop != end)
        return std::nullopt;
    return value;
}

std::optional<uint64_t> parse_word(std::string_view text) {
    if (text.empty() || text[0] != '-')
        return parse_number(text);
    auto value = parse_number(text.substr(1));
    if (!value || *value > uint64_t(1) << 63)
        return std::nullopt;
    return ~*value + 1;
}

// Splits "12abc" into 12 and "abc".
static std::optional<uint64_t> split_number(std::string_view text, std::string_view &suffix) {
    size_t digits = 0;

    if (text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X")
        digits = text.size();
    else
        while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9')
            digits++;
    suffix = text.substr(digits);
    return parse_number(text.substr(0, digits));
}

std::optional<uint64_t> parse_size(std::string_view text) {
    std::string_view suffix;
    auto value = split_number(text, suffix);
    unsigned shift = 0;

    if (!value)
        return std::nullopt;
    if (!suffix.empty()) {
        size_t power = std::string_view("KMGT").find(suffix[0] & ~0x20);
        std::string_view rest = suffix.substr(1);
        if (suffix != "B" && power == std::string_view::npos)
            return std::nullopt;
        if (!rest.empty() && rest != "i" && rest != "iB")
            return std::nullopt;
        shift = suffix == "B" ? 0 : 10 * static_cast<unsigned>(power + 1);
    }
    if (*value > UINT64_MAX >> shift)
        return std::nullopt;
    return *value << shift;
}

std::optional<uint64_t> parse_duration(std::string_view text, uint64_t unit) {
    std::string_view suffix;
    auto value = split_number(text, suffix);

    if (!suffix.empty())
        unit = suffix == "ms" ? 1 : suffix == "s" ? 1000 : suffix == "m" ? 60000 : 0;
    if (!value || !unit || *value > UINT64_MAX / unit)
        return std::nullopt;
    return *value * unit;
}

std::string duration_text(uint64_t ms) {
    return ms % 1000 ? std::to_string(ms) + "ms" : std::to_string(ms / 1000) + "s";
}

std::string hex(uint64_t value) {
    return format("0x%llx", static_cast<unsigned long long>(value));
}

std::string bytes_text(uint64_t bytes) {
    static constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned power = 0;

    while (power + 1 < units.size() && bytes >> (10 * (power + 1)))
        power++;
    if (bytes & ((uint64_t(1) << (10 * power)) - 1))
        return format("%.1f %s",
                      static_cast<double>(bytes) / static_cast<double>(uint64_t(1) << (10 * power)),
                      units[power]);
    return format("%llu %s", static_cast<unsigned long long>(bytes >> (10 * power)), units[power]);
}

std::string rate_text(double bytes_per_second) {
    static constexpr std::array units{"B/s", "KiB/s", "MiB/s", "GiB/s"};
    unsigned power = 0;

    while (power + 1 < units.size() && bytes_per_second >= 1024) {
        bytes_per_second /= 1024;
        power++;
    }
    return format("%.1f %s", bytes_per_second, units[power]);
}

std::string ns_text(double nanoseconds) {
    if (nanoseconds < 1e6)
        return format("%.2f us", nanoseconds / 1e3);
    if (nanoseconds < 1e9)
        return format("%.2f ms", nanoseconds / 1e6);
    return format("%.2f s", nanoseconds / 1e9);
}

std::string shortest(double number) {
    std::array<char, 32> digits;

    return {digits.begin(), std::to_chars(digits.begin(), digits.end(), number).ptr};
}

}  // namespace dsctl
