// SPDX-License-Identifier: Apache-2.0
// Arithmetic of $((…)) on 64-bit whole numbers, and the tests of [ ] and [[ ]]. Expressions that
// the script alone does not decide (files, patterns, overflow) have no value.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

enum class Truth : std::uint8_t { no, yes, unknown };

// The text of a variable; nothing if only a shell knows it.
using ShellLookup = std::function<std::optional<std::string>(std::string_view)>;

// Supports + - * / % **, comparisons, &&
//
// !, parentheses and names of variables.
std::optional<std::int64_t> shell_arithmetic(std::string_view expression,
                                             const ShellLookup& variable);

// A word between the brackets, with marks as in shell_text.h.
struct TestWord {
    std::string marked;
    bool quoted = false;  // never an operator
};
Truth shell_test(const std::vector<TestWord>& words);

}  // namespace orrery
