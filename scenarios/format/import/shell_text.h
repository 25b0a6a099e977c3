// SPDX-License-Identifier: Apache-2.0
// Text of a shell script with the offset of each character in the file, so that a word made from
// variables has the place of its first character.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

// Marks around parts that the script alone does not decide: a variable that it never sets (empty
// for a shell), and an expansion that only a shell can make ("$(hostname)"). The text between is
// the script's own.
inline constexpr char kUnsetBegin = '\x01';
inline constexpr char kUnknownBegin = '\x02';
inline constexpr char kMarkEnd = '\x03';

struct PlacedText {
    std::string chars;
    std::vector<std::uint32_t> at;  // offsets in the file

    void add(char c, std::uint32_t offset) {
        chars += c;
        at.push_back(offset);
    }
    void add(std::string_view text, std::uint32_t offset) {
        for (const char c : text) {
            add(c, offset);
        }
    }
    void add(const PlacedText& text) {
        chars += text.chars;
        at.insert(at.end(), text.at.begin(), text.at.end());
    }
    std::uint32_t place(std::uint32_t otherwise) const {
        return at.empty() ? otherwise : at.front();
    }
};

// The text without marks, for people.
std::string readable(std::string_view marked);
// The text for comparisons, with empty text for variables that are never set. False if only a shell
// knows it.
bool known_text(std::string_view marked, std::string& text);

}  // namespace orrery
