// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes and times as people write and read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dsctl {

// Decimal, or hexadecimal after 0x. Nothing if it is not a number or too large.
std::optional<uint64_t> parse_number(std::string_view text);

// As parse_number(), also negative: the two's complement.
std::optional<uint64_t> parse_word(std::string_view text);

// Bytes: a number with an optional suffix K, M, G or T (powers of 1024),
// also written Ki or KiB.
std::optional<uint64_t> parse_size(std::string_view text);

// Milliseconds of a time: a number with the suffix ms, s or m. Without one it
// counts units of the given number of milliseconds.
std::optional<uint64_t> parse_duration(std::string_view text, uint64_t unit = 1);

// "500ms", "5s": as parse_duration() reads it.
std::string duration_text(uint64_t ms);

std::string hex(uint64_t value);

// "16 MiB"; one decimal where it is not a whole number.
std::string bytes_text(uint64_t bytes);

// "12.3 MiB/s"
std::string rate_text(double bytes_per_second);

// "1.23 us", "4.5 ms", "2.0 s"
std::string ns_text(double nanoseconds);

// With as few digits as tell it from all other numbers.
std::string shortest(double number);

// printf into a string.
std::string format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

}  // namespace dsctl
