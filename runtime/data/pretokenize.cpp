// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/pretokenize.h"

#include <algorithm>
#include <array>
#include <boost/spirit/home/support/char_encoding/unicode/query.hpp>
#include <cstdint>

namespace orrery {
namespace {

namespace ucd = boost::spirit::ucd;

enum class CharacterClass : std::uint8_t { letter, digit, space, other, end };

struct Character {
    CharacterClass kind = CharacterClass::end;
    std::size_t bytes = 0;
};

// Bytes of the UTF-8 character that begins with this byte; 1 if none can begin with it.
std::size_t length_of(unsigned char first) {
    return first < 0xC2 ? 1 : (first < 0xE0 ? 2 : (first < 0xF0 ? 3 : (first < 0xF5 ? 4 : 1)));
}

CharacterClass class_of(std::uint32_t code) {
    if (ucd::is_white_space(code)) {
        return CharacterClass::space;
    }
    switch (ucd::get_major_category(code)) {
        case ucd::properties::letter:
            return CharacterClass::letter;
        case ucd::properties::number:
            return CharacterClass::digit;
        default:
            return CharacterClass::other;
    }
}

Character character_at(std::string_view text, std::size_t at) {
    if (at >= text.size()) {
        return {};
    }
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const std::size_t length = length_of(byte(0));
    if (length == 1) {
        return {byte(0) < 0x80 ? class_of(byte(0)) : CharacterClass::other, 1};
    }
    std::uint32_t code = byte(0) & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if (at + i >= text.size() || (byte(i) & 0xC0) != 0x80) {
            return {CharacterClass::other, 1};
        }
        code = code << 6 | (byte(i) & 0x3Fu);
    }
    constexpr std::uint32_t kLargest = 0x10FFFF;
    return {code <= kLargest ? class_of(code) : CharacterClass::other, length};
}

std::size_t contraction(std::string_view text) {
    static constexpr std::array<std::string_view, 7> kContractions{
        "'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (const std::string_view c : kContractions) {
        if (text.starts_with(c)) {
            return c.size();
        }
    }
    return 0;
}

// The length of the word at a run of white space: the whole run at the end of the text, otherwise
// without its last character (at least one remains). For runs longer than `longest`, any length
// above `longest`.
std::size_t white_space(std::string_view text, std::size_t longest) {
    std::size_t end = 0;
    std::size_t last = 0;  // begin of the last character
    for (Character c = character_at(text, 0); c.kind == CharacterClass::space && last <= longest;
         c = character_at(text, end)) {
        last = end;
        end += c.bytes;
    }
    return end == text.size() || last == 0 ? end : last;
}

}  // namespace

std::string_view first_word(std::string_view text, std::size_t longest) {
    if (const std::size_t length = contraction(text); length > 0) {
        return text.substr(0, std::min(length, longest));
    }
    std::size_t end = text.starts_with(' ') ? 1 : 0;
    const CharacterClass kind = character_at(text, end).kind;
    if (kind == CharacterClass::space || kind == CharacterClass::end) {
        return text.substr(0, std::min(white_space(text, longest), longest));
    }
    for (Character c = character_at(text, end); c.kind == kind && end < longest;
         c = character_at(text, end)) {
        end += c.bytes;
    }
    return text.substr(0, std::min(end, longest));
}

}  // namespace orrery
