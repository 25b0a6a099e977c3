// SPDX-License-Identifier: Apache-2.0
// Text of a shell script, each character with its offset in the file, so that a word that was put
// together from variables still names the place of its first character.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

// Around what a script alone does not say: a variable that it never sets (empty for a shell), and
// what only a shell could expand ("$(hostname)"). The text between is the script's own.
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

// For people: the marks left out.
std::string readable(std::string_view marked);
// For comparisons: variables that are never set are empty. False if a shell would have to say.
bool known_text(std::string_view marked, std::string& text);

}  // namespace orrery
