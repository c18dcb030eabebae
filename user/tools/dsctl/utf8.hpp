// SPDX-License-Identifier: Apache-2.0
// Characters of a text that somebody else may have written.
#pragma once

#include <cstddef>
#include <string_view>

namespace dsctl {

// Bytes of the UTF-8 character at the start of the text, which is not empty; 0 if there is
// none (a stray byte, an overlong form, a surrogate, a number above U+10FFFF).
inline size_t character_bytes(std::string_view text) {
    auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    unsigned first = byte(0);
    size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    if (length == 0 || first > 0xf4 || length > text.size())
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((byte(i) & 0xc0) != 0x80)
            return 0;
    if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
        (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f))
        return 0;
    return length;
}

// Is this character one that commands a terminal: C0, DEL, or C1 (U+0080 to U+009F)?
inline bool is_control(std::string_view character) {
    auto last = static_cast<unsigned char>(character.back());

    if (character.size() == 1)
        return last < 0x20 || last == 0x7f;
    return character.size() == 2 && character[0] == '\xc2' && last < 0xa0;
}

}  // namespace dsctl
