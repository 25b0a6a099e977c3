// SPDX-License-Identifier: Apache-2.0
// A choice of the plan as a table. A row has a value, its word, its meaning and its effect. The
// words of the key and the sentence that explains it follow from the rows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "engine/base/field.h"

namespace orrery {

// The words of the rows. If the values are bits, T is their integer type.
template <class T, const auto& kRows>
inline constexpr auto kChoicesOf = [] {
    std::array<Choice<T>, std::size(kRows)> choices{};
    std::ranges::transform(kRows, choices.begin(), [](const auto& row) {
        return Choice<T>{row.word, static_cast<T>(row.value)};
    });
    return choices;
}();

namespace choice_rows_detail {

// "BEGIN: WORD (MEANING), WORD (MEANING)."
template <const auto& kRows>
constexpr std::size_t write_meaning(std::string_view begin, char* out) {
    std::size_t size = 0;
    const auto write = [&](std::string_view text) {
        if (out != nullptr) {
            std::ranges::copy(text, out + size);
        }
        size += text.size();
    };
    write(begin);
    std::string_view before = ": ";
    for (const auto& row : kRows) {
        write(before);
        write(row.word);
        write(" (");
        write(row.meaning);
        write(")");
        before = ", ";
    }
    write(".");
    return size;
}

template <const auto& kRows, const std::string_view& kBegin>
inline constexpr auto kText = [] {
    std::array<char, write_meaning<kRows>(kBegin, nullptr)> text{};
    write_meaning<kRows>(kBegin, text.data());
    return text;
}();

}  // namespace choice_rows_detail

// The sentence that explains a key with these choices.
template <const auto& kRows, const std::string_view& kBegin>
inline constexpr std::string_view kMeaningOf{choice_rows_detail::kText<kRows, kBegin>.data(),
                                             choice_rows_detail::kText<kRows, kBegin>.size()};

}  // namespace orrery
