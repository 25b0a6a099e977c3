// SPDX-License-Identifier: Apache-2.0
// Fields of a table's rows (engine/base/field.h): read from the keys of a map, and written in the
// reader's syntax.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "engine/base/field.h"
#include "scenarios/format/document/map_reader.h"

namespace orrery {

// Whether the key exists with a valid value; otherwise `value` is unchanged.
template <class Row, class T>
bool read_field(MapReader& reader, const Row& row, T& value) {
    const Presence presence =
        row.use == FieldUse::required ? Presence::required : Presence::optional;
    if constexpr (std::is_same_v<T, bool>) {
        return reader.boolean(row.name, value);
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
        return reader.integer(row.name, value, row.values, presence);
    } else if constexpr (std::is_same_v<T, double>) {
        return reader.real(row.name, value, row.values.least, row.values.most);
    } else if constexpr (std::is_same_v<T, std::string>) {
        return reader.word(row.name, value, presence);
    } else if constexpr (std::is_enum_v<T>) {
        return reader.choice(row.name, value, row.values, presence);
    } else if constexpr (std::is_same_v<T, std::uint32_t>) {
        std::vector<std::uint32_t> bits;
        const Presence none = value == 0 ? Presence::optional : Presence::required;
        if (!reader.choices(row.name, bits, row.values, none)) {
            return false;
        }
        value = 0;
        for (const std::uint32_t bit : bits) {
            value |= bit;
        }
        return true;
    } else {
        static_assert(std::is_same_v<T, std::vector<std::int64_t>>);
        return reader.integers(row.name, value, row.values);
    }
}

namespace field_text_detail {

inline void add(std::string& list, std::string_view item) {
    list += (list.size() > 1 ? ", " : "") + std::string{item};
}

}  // namespace field_text_detail

// The shortest text that reads as the same number.
std::string number_text(double value);

// "8", "true", "selective", "[core_attn, mlp]", "[4, 4]"
template <class Row, class T>
std::string field_text(const Row& row, const T& value) {
    using field_text_detail::add;
    if constexpr (std::is_same_v<T, bool>) {
        return value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
        return std::to_string(value);
    } else if constexpr (std::is_same_v<T, double>) {
        return number_text(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
        return value;
    } else if constexpr (std::is_enum_v<T>) {
        return std::string{word_of(value, row.values)};
    } else {
        std::string list = "[";
        if constexpr (std::is_same_v<T, std::uint32_t>) {
            for (const auto& [word, bit] : row.values) {
                if ((value & bit) != 0) {
                    add(list, word);
                }
            }
        } else {
            for (const std::int64_t item : value) {
                add(list, std::to_string(item));
            }
        }
        return list + "]";
    }
}

// The first word of each value: "none, selective, full".
template <class T>
std::string words_text(Choices<T> choices) {
    std::string list;
    for (const Choice<T>& choice : choices) {
        if (word_of(choice.value, choices) == choice.word) {
            list += (list.empty() ? "" : ", ") + std::string{choice.word};
        }
    }
    return list;
}

// "1 to 4000000 ranks", "true, false", "none, selective, full", "a list of core_attn, mlp"
template <class Row>
std::string values_text(const Row& row) {
    using T = typename MemberValue<decltype(Row::member)>::Type;
    if constexpr (std::is_same_v<T, bool>) {
        return "true, false";
    } else if constexpr (std::is_same_v<T, std::string>) {
        return "a name";
    } else if constexpr (std::is_enum_v<T>) {
        return words_text(row.values);
    } else if constexpr (std::is_same_v<T, std::uint32_t>) {
        return "a list of " + words_text(row.values);
    } else {
        std::string range;
        if constexpr (std::is_same_v<T, double>) {
            range = number_text(row.values.least) + " to " + number_text(row.values.most);
        } else {
            range = std::to_string(row.values.least) + " to " + std::to_string(row.values.most);
        }
        const bool list = std::is_same_v<T, std::vector<std::int64_t>>;
        return (list ? "a list of " : "") + range +
               (row.unit.empty() ? "" : " " + std::string{row.unit});
    }
}

}  // namespace orrery
