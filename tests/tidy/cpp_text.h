// SPDX-License-Identifier: Apache-2.0
// What can be told of C++ source without a parser: its text without comments and literals, its
// includes, and where its functions begin and end (braces, matched; good for code that
// clang-format has laid out).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::tidy {

// The same text with comments and the insides of literals blanked; lines keep their numbers.
std::string without_comments_and_literals(std::string_view text);

struct Include {
    std::string path;
    bool quoted = false;
};
std::vector<Include> includes_of(std::string_view text);

struct Function {
    std::size_t line = 0;   // of its first line, from 1
    std::size_t lines = 0;  // from there to the closing brace
};
// Functions outside of any other: a lambda counts with the function that holds it.
std::vector<Function> functions_of(std::string_view text);

std::vector<std::string_view> lines_of(std::string_view text);
// Characters of UTF-8 text, not bytes.
std::size_t columns_of(std::string_view line);

}  // namespace orrery::tidy
